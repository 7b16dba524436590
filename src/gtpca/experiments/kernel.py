"""The kernel PCA of the paper; it needs no network."""

from __future__ import annotations

from sklearn.decomposition import KernelPCA

from gtpca import checks

__all__ = ["make_kpca"]


def make_kpca(n_components):
    """Return the kernel PCA of the paper: polynomial kernel of degree 3, with an inverse.

    Parameters
    ----------
    n_components : int

    Returns
    -------
    KernelPCA
        Unfitted; takes flat rows (n, d).
    """
    checks.integer("n_components", n_components, 1)
    return KernelPCA(n_components, kernel="poly", degree=3, fit_inverse_transform=True)

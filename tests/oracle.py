"""The whole method in plain NumPy: explicit matrices, exhaustive search, dense least squares.

Written from the documentation alone, as a second opinion: slow, and short enough to be read at
once. Rows are X (n, d), transforms T (m, d, L), weights W (k, L). ``joint``: all components share
one pose; ``upright``: scores are positive. NaN in rows: not observed, so it counts as zero with the
weight ``RHO``; a weighted problem of one row is a plain one with its features times the roots.
"""

from __future__ import annotations

import numpy as np

RHO = 0.02


def roots(X):
    """Square roots of the weights of all values, (n, d)."""
    return np.where(np.isnan(X), np.sqrt(RHO), 1.0)


def project(X, T, W, upright=False):
    """Best transforms (n,), coefficients (n, K) of the ``T w_k``, and their sum (n, d)."""
    B = T @ W.T
    if np.isnan(X).any():
        pairs = zip(np.nan_to_num(X) * roots(X), roots(X), strict=True)
        found = [project(x[None], T * r[:, None], W, upright) for x, r in pairs]
        best, coef = (np.concatenate([one[j] for one in found]) for j in (0, 1))
        return best, coef, np.einsum("ndk,nk->nd", B[best], coef)
    coef = np.linalg.pinv(B) @ X.T
    energy = np.sum((B @ coef) ** 2, axis=1)
    best = (energy * np.sign(coef[:, 0]) if upright else energy).argmax(axis=0)
    coef = coef[best, :, np.arange(len(X))]
    coef = np.maximum(coef, 0) if upright else coef
    return best, coef, np.einsum("ndk,nk->nd", B[best], coef)


def encode(X, T, W, joint=False, upright=False, sweeps=0):
    """Scores (n, k), transforms (n, k) or (n, 1), and the residual (n, d)."""
    blocks = [W] if joint else [w[None] for w in W]
    scores, index = np.zeros((len(X), len(W))), np.zeros((len(X), len(blocks)), dtype=int)
    rest, parts = X.copy(), np.zeros((len(blocks), *X.shape))
    for k, block in [*enumerate(blocks)] * (1 if joint else 1 + sweeps):
        rest = rest + parts[k]
        index[:, k], coef, parts[k] = project(rest, T, block, upright)
        lengths = np.linalg.norm(T[index[:, k]] @ block.T, axis=1)
        scores[:, slice(None) if joint else slice(k, k + 1)] = coef * lengths
        rest = rest - parts[k]
    return scores, index, rest


def decode(scores, index, T, W):
    """Samples ``sum_k score_k T_k w_k / |T_k w_k|``, (n, d)."""
    seen = np.einsum("nkdl,kl->nkd", T[np.broadcast_to(index, scores.shape)], W)
    return np.sum((scores / np.linalg.norm(seen, axis=2))[:, :, None] * seen, axis=1)


def resmse(X, T, W, joint=False, upright=False, sweeps=0):
    """Residual over energy after 1, .., k components, (k,); one pose is that of all of them."""
    index, left = encode(X, T, W, joint, upright, sweeps)[1][:, 0], []
    for k in range(1, len(W) + 1):
        if joint:
            rest = [
                x - project(x[None], T[[t]], W[:k])[2][0] for x, t in zip(X, index, strict=True)
            ]
        else:
            rest = encode(X, T, W[:k], joint, upright, sweeps)[2]
        left.append(np.nansum(np.square(rest)) / np.nansum(X**2))
    return np.array(left)


def align(X, index, T, taps):
    """The average at each weight of the values that it explains, zero where there are none.

    ``taps`` (m, d, L) are the shares in which values are counted, of either sign.
    """
    back, size = np.einsum("ndl,nd->nl", T[index], np.nan_to_num(X)), np.abs(taps[index])
    cover = np.einsum("ndl,nd->nl", size, size.sum(axis=2) * ~np.isnan(X))
    return np.where(cover > 1e-9, back / np.maximum(cover, 1e-9), 0.0)


def als_pass(X, T, W, upright=False):
    """The best weights (K, L) for the codes on ``W``, orthonormal; the unseen keep their value."""
    index, coef, _ = project(X, T, W, upright)
    A = np.concatenate([np.kron(c, T[t]) for t, c in zip(index, coef, strict=True)])
    A, x = A * roots(X).reshape(-1, 1), np.nan_to_num(X).ravel()
    new = W + (np.linalg.pinv(A, rcond=1e-9) @ (x - A @ W.ravel())).reshape(W.shape)
    U, _, Vt = np.linalg.svd(new, full_matrices=False)
    return U @ Vt


def with_ridge(X, T, ridge):
    """The plain problem that one with a ridge is: ``sqrt(rho) w`` as features, where rows are 0."""
    L = T.shape[2]
    more = np.broadcast_to(np.sqrt(ridge) * np.eye(L), (len(T), L, L))
    return np.hstack([X, np.zeros((len(X), L))]), np.concatenate([T, more], axis=1)

"""MixtureGTPCA: several kinds of samples, each with its own pattern; the estimator around EM."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, overload

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gtpca import checks
from gtpca._typing import ArrayLike, DaskT, Eager, KindT, Others, RandomState, Samples, Shape
from gtpca.data.containers import samples_in
from gtpca.data.energies import loud_share
from gtpca.families import Family
from gtpca.fitting import wording
from gtpca.fitting.cautions import cautions, loud_cautions
from gtpca.fitting.coloured import check_noise
from gtpca.fitting.fitted import FittedMixture, read
from gtpca.fitting.mixture import find_kinds, kinds_in_data_units, smoothed_kinds
from gtpca.model.mixture import kind_counts, pose_summary, rest_of_rows
from gtpca.probabilistic import RULES as DENSITY_RULES
from gtpca.probabilistic import BaseDensity, offset_and_poses

__all__ = ["MixtureGTPCA"]

SAME_RULES = ("prior", "polarity", "missing", "shrink", "max_iter", "tol", "batch_size")
RULES = {name: DENSITY_RULES[name] for name in SAME_RULES} | {
    "n_kinds": checks.at_least(1),
    "noise": partial(check_noise, names=("isotropic", "white", "stationary")),
    "progress": checks.one_of("auto", True, False),
}


class MixtureGTPCA(BaseDensity):
    r"""Several kinds of samples, each with its own pattern and components, as a density.

    .. math:: p(x) = \sum_g \pi_g p_g(x), \quad
        x = T_t (m_g + \sum_k z_k \sqrt{\lambda_{gk}} w_{gk}) + \text{noise}

    Every kind is a :class:`ProbabilisticGTPCA`, and all share the noise. The kind and the pose of
    each sample are found together, by soft expectation maximisation: nothing is aligned first.
    Kinds are ordered by their weight, the largest first.

    Kinds and components can replace each other: with too few components a kind that varies is split
    into several. Choose both by ``score`` on held-out samples, and look at ``kinds_``.

    EM starts from groups of rows of unit norm around single components: eight draws as in
    k-means++, with invariant distances, and moves that replace the kind that costs least to lose. A
    few passes from each decide which two continue. Of the better one, the kind that costs least
    likelihood to lose is given up for a split of another one, as long as that is more likely. If
    there are more than 2048 different rows, that many are drawn for this, by their values. There is
    no ``transform``: scores of different kinds cannot be compared; see :meth:`encode`.

    A fit can still end in a local maximum: of several with different ``random_state``, take the one
    with the largest ``score``.

    Parameters
    ----------
    n_kinds : int
    n_components : int
        Number of components of every kind, at least 0.
    family : Family, str or None
        As in :class:`GTPCA`.
    sample_shape : tuple of int or None
        Shape of one sample if ``X`` holds flat rows; default: ``X.shape[1:]``.
    sample_dim : str or None
        The dimension of a DataArray that holds the samples; default: its first one.
    noise : {"isotropic", "white", "stationary"}, array or StationaryNoise
        As in :class:`ProbabilisticGTPCA`; one variance per feature is not available.
    prior : {"uniform", "learned"}
        Prior of the transforms of every kind. A learned one is zero for transforms that no row
        took.
    polarity : {"positive", "both"}
        How the single components of the start match rows: upright, or also upside down.
    missing : {"error", "ignore"}
        How to treat NaN, masked values, None and pandas' NA: as an error, or as *not observed*. May
        be changed after a fit.
    shrink : bool
        Whether held-out rows decide how far patterns and components are smoothed along axes that
        move: those of few rows contain noise. Nothing is done where rows say enough.
    max_iter : int
        Maximum number of passes of EM over all rows.
    tol : float
        EM stops when a pass gains no more than this, in nats per sample.
    batch_size : int or None
        Rows per chunk; default: a few megabytes.
    n_jobs : int or None
        Threads over chunks of rows. It does not change the result.
    progress : {"auto", True, False}
        Whether to show the current step of a fit that takes some seconds, in notebooks and on
        terminals, as in :class:`GTPCA`.
    random_state : int, RandomState or None

    Attributes
    ----------
    fit_ : FittedMixture
        The result of the fit as one immutable value; the other attributes are read from it.
    kinds_ : dict of str to array
        A table with a row for every kind; see :attr:`kinds_`.
    kind_weights_ : array (G,)
        ``pi_g``.
    mean_patterns_ : array (G, \*weight_shape)
        ``m_g``.
    components_ : array (G, k, \*weight_shape)
        ``w_gk``, orthonormal in every kind, in descending order of their variance.
    explained_variance_ : array (G, k)
        ``lambda_gk``.
    noise_variance_ : float
        That of whitened rows, about 1, if the noise is stationary.
    noise_ : StationaryNoise or None
        The filter that whitens rows.
    whitened_weights_ : array (G, 1 + k, \*weight_shape) or None
        The whitened versions of patterns and loadings.
    pose_prior_ : array (G, m)
    kind_counts_ : array (G,)
        Number of training rows that are most likely of each kind, by sample weight.
    doubts_ : array (G,)
        The mean probability that a row assigned to this kind is of another one.
    history_ : array (n_iter + 1,)
        Mean over the rows of the log-likelihood at each pass; it never decreases except by
        rounding.
    n_iter_ : int
    smoothing_ : float
        The width of the Gaussian by which patterns and components were smoothed, in points.
    cautions_ : list of str
        Warnings of the fit: an offset that holds most of the energy, poses that accumulate, loud
        samples.
    n_components_ : int
    sample_shape_ : tuple of int
    labels_ : Labels or None
        Names, units and positions of the axes, if the samples have them. (These are not cluster
        labels, which ``predict`` returns.)
    operator_ : Operator
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import MixtureGTPCA, Shift
    >>> rng = np.random.default_rng(0)
    >>> X = 0.3 * rng.standard_normal((60, 24))
    >>> for i in range(60):
    ...     X[i, i % 20 : i % 20 + 5] += [[1, 3, 5, 3, 1], [5, 1, -2, 1, 5], [4, 2, 0, -2, -4]][
    ...         i % 3
    ...     ]
    >>> model = MixtureGTPCA(3, 0, Shift(window=5), random_state=0).fit(X)
    >>> len(set(model.predict(X[:3])))
    3
    >>> model.kinds_["weight"].round(2)
    array([0.33, 0.33, 0.33])
    """

    has_kinds = True
    _rules = RULES
    _pose_summary = staticmethod(pose_summary)
    fit_: FittedMixture
    kind_weights_: np.ndarray = read()
    mean_patterns_: np.ndarray = read()
    kind_counts_: np.ndarray = read()
    doubts_: np.ndarray = read()
    smoothing_: float = read()

    def __init__(
        self,
        n_kinds: int = 2,
        n_components: int = 0,
        family: Family | str | None = None,
        *,
        sample_shape: Shape | None = None,
        sample_dim: str | None = None,
        noise: Any = "isotropic",
        prior: Literal["uniform", "learned"] = "uniform",
        polarity: Literal["both", "positive"] = "positive",
        missing: Literal["error", "ignore"] = "error",
        shrink: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-5,
        batch_size: int | None = None,
        n_jobs: int | None = None,
        progress: Literal["auto", True, False] = "auto",
        random_state: RandomState = None,
    ):
        self.n_kinds = n_kinds
        self.n_components = n_components
        self.family = family
        self.sample_shape = sample_shape
        self.sample_dim = sample_dim
        self.noise = noise
        self.prior = prior
        self.polarity = polarity
        self.missing = missing
        self.shrink = shrink
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.n_jobs = n_jobs
        self.progress = progress
        self.random_state = random_state

    def fit_predict(
        self, X: Samples, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> np.ndarray:
        """The kinds of the rows of a fit, (n,)."""
        return np.asarray(self.fit(X, y, sample_weight).predict(X))

    @property
    def _n_densities(self):
        return self.n_kinds

    def _find(self, data, recipe, rng):
        chunks = data.chunks
        model, history, converged = find_kinds(chunks, recipe, self.n_kinds, rng)
        if not converged:
            checks.warn(wording.not_converged(self, history), ConvergenceWarning)
        width = 0.0
        if self.shrink:
            model, width = smoothed_kinds(chunks, recipe, model, history, rng)
        if recipe.whitening is not None:
            model = kinds_in_data_units(data.raw, model, width)
        counts, doubt = chunks.sum(kind_counts, model.e_step())
        said = [*cautions(chunks.operator, *offset_and_poses(chunks, model))]
        said += loud_cautions(loud_share(chunks))
        return FittedMixture.of(
            model,
            kind_counts=counts,
            doubts=np.divide(doubt, counts, out=np.zeros_like(doubt), where=counts > 0),
            history=np.array(history),
            n_iter=len(history) - 1,
            smoothing=width,
            cautions=said,
            **data.told,
        )

    def _check_count(self, n_rows, weight):
        """Check that there are at least as many rows as kinds."""
        count = n_rows if weight is None else int(np.count_nonzero(np.asarray(weight)))
        if count < self.n_kinds:
            raise ValueError(
                f"n_kinds={self.n_kinds} must be at most the number of samples of positive weight, "
                f"n_samples={count}."
            )

    def _rest_of(self, chunks, recipe, rng):
        model = find_kinds(chunks, recipe, self.n_kinds, rng)[0]
        return chunks.concat(rest_of_rows, model.e_step())

    @property
    def kinds_(self) -> dict[str, np.ndarray]:
        """A table with a row for every kind, the most frequent first.

        ``weight`` (G,), its probability; ``count`` (G,), the number of training rows assigned to
        it; ``pattern`` (G, \\*weight_shape); ``sizes`` (G, k), the standard deviations of its
        scores; ``strength`` (G,), the norm of the pattern in standard deviations of the noise, mean
        over the poses; ``doubt`` (G,), the mean probability that a row assigned to this kind is of
        another one.
        """
        strengths = [
            np.sqrt(e_step.gram[:, 0, 0] @ prior if len(e_step.gram) > 1 else e_step.gram[0, 0, 0])
            for e_step, prior in zip(self.model_.e_step(), self.pose_prior_, strict=True)
        ]
        return {
            "weight": self.kind_weights_,
            "count": self.kind_counts_,
            "pattern": self.mean_patterns_,
            "sizes": np.sqrt(self.explained_variance_),
            "strength": np.array(strengths),
            "doubt": self.doubts_,
        }

    @overload
    def predict(self, X: np.ndarray) -> np.ndarray: ...
    @overload
    def predict(self, X: DaskT) -> DaskT: ...
    @overload
    def predict(self, X: Eager) -> Any: ...
    def predict(self, X: Samples) -> Any:
        """The most likely kind of every sample, from 0 to G - 1, (n,)."""
        return self.model_.encode(self.chunks(X)).kind

    @overload
    def predict_proba(self, X: np.ndarray) -> np.ndarray: ...
    @overload
    def predict_proba(self, X: DaskT) -> DaskT: ...
    @overload
    def predict_proba(self, X: Eager) -> Any: ...
    def predict_proba(self, X: Samples) -> Any:
        """The probability of every kind, (n, G)."""
        return self.model_.probabilities(self.chunks(X))

    @overload
    def align(self, X: np.ndarray) -> np.ndarray: ...
    @overload
    def align(self, X: KindT) -> KindT: ...
    @overload
    def align(self, X: Others) -> Any: ...
    def align(self, X: Samples) -> Any:
        """Every sample brought to the reference pose of its most likely kind, (n, \\*weight_shape).

        As :meth:`GTPCA.align`. Patterns of different kinds are not aligned with each other.
        """
        rows = self._new_rows(X)
        aligned = self.model_.align(self._open(rows, self.operator_))
        return samples_in(rows.container, aligned, self.operator_.weight_grid)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "density_estimator"
        return tags

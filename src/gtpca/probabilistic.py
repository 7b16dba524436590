"""ProbabilisticGTPCA: one pose per sample, with a likelihood; the estimator around EM."""

from __future__ import annotations

from abc import abstractmethod
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Literal, Self, overload

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from gtpca import checks
from gtpca._typing import (
    ArrayLike,
    ArrayT,
    DaskT,
    Eager,
    OutlierMixin,
    RandomState,
    Samples,
    Shape,
)
from gtpca.base import BaseGTPCA, BaseModel
from gtpca.data.chunks import Chunks, as_chunks
from gtpca.data.codes import Codes
from gtpca.data.energies import energy, offset_energy
from gtpca.data.missing import MISSING
from gtpca.data.rows import training_rows
from gtpca.families import Family
from gtpca.families.text import as_family
from gtpca.fitting import bar, wording
from gtpca.fitting.cautions import cautions, colour_cautions
from gtpca.fitting.coloured import (
    check_noise,
    estimated_noise,
    given_noise,
    is_white,
    n_first_fits,
    residual_correlation,
    sampled,
)
from gtpca.fitting.cost import check_cost, guess_density
from gtpca.fitting.em import DensityRecipe, density_in_data_units, expectation_maximisation
from gtpca.fitting.fit import logger
from gtpca.fitting.fitted import FittedDensity, FittedRows, read
from gtpca.fitting.held_out import NEEDED, Trust, trusted
from gtpca.model import outputs
from gtpca.model.matching import POLARITIES
from gtpca.model.preprocessing import Preprocessing
from gtpca.model.probabilistic import (
    ProbabilisticModel,
    log_likelihoods,
    pose_summary,
    rest_of_rows,
)
from gtpca.operators.base import on_nodes
from gtpca.parameters import bind_family, warn_if_transposed, warn_of_domain

__all__ = ["BaseDensity", "PosePosterior", "ProbabilisticGTPCA", "offset_and_poses"]

FIRST_TOL = 1e-4  # of the fit whose residual is the noise, in nats per row


def _contamination(label, value):
    """``value`` as a float in (0, 0.5]."""
    return checks.number(label, value, "in (0, 0.5]", lambda v: 0 < v <= 0.5)


RULES = {
    "noise": partial(check_noise, names=("isotropic", "white", "features", "stationary")),
    "em": checks.one_of("soft", "hard"),
    "prior": checks.one_of("uniform", "learned"),
    "polarity": checks.one_of(*POLARITIES),
    "shrink": checks.one_of(False, True),
    "missing": checks.one_of(*MISSING),
    "output": checks.one_of(*outputs.OUTPUTS),
    "contamination": _contamination,
    "max_iter": checks.at_least(1),
    "tol": checks.non_negative,
    "batch_size": checks.optional(checks.at_least(1)),
}


@dataclass(frozen=True, eq=False)
class PosePosterior(Generic[ArrayT]):
    """How certain the poses of ``n`` samples are.

    Attributes
    ----------
    index : int array (n, n_poses)
        The most likely transforms, the most likely first.
    probability : array (n, n_poses)
        Theirs.
    poses : dict of str to array (n, n_poses)
        The same in physical units.
    std : dict of str to array (n,)
        Standard deviation over *all* transforms of every numeric quantity, in its units; for
        periodic quantities, such as angles, that of directions.
    entropy : array (n,)
        In nats: 0 if the pose is certain, ``log(m)`` if all transforms are equally likely.
    """

    index: ArrayT
    probability: ArrayT
    poses: dict[str, ArrayT]
    std: dict[str, ArrayT]
    entropy: ArrayT


@dataclass(frozen=True, eq=False)
class Training:
    """Rows that a density is fitted to.

    Attributes
    ----------
    chunks : Chunks
        Whitened, if the noise has a spectrum.
    raw : Chunks
        As they came.
    weight : array (n,) or None
        Of the samples.
    in_memory : bool
        Whether one more pass over the rows is cheap.
    told : dict
        Fields of the fitted value that are known in advance.
    """

    chunks: Chunks
    raw: Chunks
    weight: Any
    in_memory: bool
    told: dict[str, Any]


class BaseDensity(BaseModel):
    """A model with a likelihood: rows in double precision, whitened if the noise has a spectrum.

    Subclasses define the allowed parameters (``_rules``), how they are fitted (``_recipe``,
    ``_find``), the residual of rows (``_rest_of``) and the summary of poses (``_pose_summary``).
    """

    has_likelihood = True
    progress: Any = False
    n_components: int
    noise: Any
    prior: Literal["uniform", "learned"]
    polarity: Literal["both", "positive"]
    max_iter: int
    tol: float
    batch_size: int | None
    n_jobs: int | None
    random_state: RandomState
    explained_variance_: np.ndarray = read()
    pose_prior_: np.ndarray = read()
    noise_variance_: Any = read()
    whitened_weights_: np.ndarray | None = read()
    history_: np.ndarray = read()
    n_iter_: int = read()
    _rules: dict[str, Any]
    _pose_summary: Any

    @abstractmethod
    def _find(self, data: Training, recipe, rng) -> FittedRows:
        """The result of a fit."""

    @abstractmethod
    def _rest_of(self, chunks, recipe, rng):
        """The residual of rows, (n, d)."""

    def fit(self, X: Samples, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find patterns, components, noise and prior of ``X``.

        Parameters
        ----------
        X : array (n, \\*sample_shape), or (n, d) flat rows
            Also a memory map, an h5py dataset, a zarr array, a Dask array, or a container such as a
            DataArray or a data frame.
        y : ignored
        sample_weight : array (n,) or None
            Non-negative; weight 2 is equivalent to repeating a row.

        Returns
        -------
        self
        """
        check_density(self)
        rows, row_shape, shape = training_rows(self, X, self.sample_shape)
        told = {
            "labels": None if rows.container is None else rows.container.labels,
            "row_shape": row_shape,
            "feature_names_in": rows.feature_names,
        }
        operator, rng = self.bind(shape), check_random_state(self.random_state)
        warn_of_domain(self.family, operator)
        warn_if_transposed(operator, rows)
        rows = rows.preprocessed(partial(Preprocessing(), operator=operator))
        recipe, raw = self._recipe(operator), self._open(rows, operator, sample_weight)
        self._check_count(rows.n_rows, sample_weight)
        n_fits = self._n_densities * (1 + n_first_fits(self.noise, rows.n_rows))
        cost = guess_density(raw, recipe.n_components).times(n_fits)
        check_cost(cost, as_family(self.family), logger.debug)
        with bar.told(self.progress) as tell:
            recipe = replace(recipe, report=tell)
            if not is_white(self.noise):
                recipe = replace(recipe, whitening=self._noise_of(raw, recipe, rng))
            chunks = self._open(rows, operator, sample_weight, recipe.whitening)
            data = Training(chunks, raw, sample_weight, rows.in_memory, told)
            found = self._find(data, recipe, rng)
        self._warn(found)
        self.fit_ = found
        return self

    @property
    def _n_densities(self) -> int:
        """The number of densities that are fitted."""
        return 1

    def _recipe(self, operator):
        """What EM needs to know."""
        most = min(operator.n_weights, operator.n_features)
        return DensityRecipe(
            checks.integer("n_components", self.n_components, 0, most),
            prior=self.prior,
            polarity=self.polarity,
            max_iter=self.max_iter,
            tol=self.tol,
            n_jobs=self.n_jobs,
        )

    def _check_count(self, n_rows, weight):
        """Raise an error if there are too few rows; one is enough for a single density."""

    def _warn(self, found):
        """Warn about reasons to distrust a fit."""
        for caution in found.cautions:
            checks.warn(caution, UserWarning)

    def bind(self, sample_shape):
        """The operator of the family on samples of a shape; the density sums over its nodes."""
        operator = bind_family(self.family, sample_shape, feature_weight=False)
        return on_nodes(operator, "A density")

    def _noise_of(self, chunks, recipe, rng):
        """The given noise, or that of the rows, estimated again from the residual of a fit."""
        operator = chunks.operator
        given = given_noise(self.noise, operator, Preprocessing())
        if given is not None:
            return given
        chunk = sampled(chunks)
        quick = replace(recipe, tol=max(FIRST_TOL, recipe.tol))

        def rest_of(noise):
            rows = chunk.rows if noise is None else noise.whiten(chunk.rows)
            seen = as_chunks(
                rows, operator, chunk.weight, batch_size=self.batch_size, n_jobs=self.n_jobs
            )
            same = deepcopy(rng)  # the last fit uses the same seeds as a white one
            rest = self._rest_of(seen, replace(quick, whitening=noise), same)
            return rest if noise is None else noise.colour(rest)

        return estimated_noise(chunk, operator, rest_of)

    def _open(self, rows, operator, weight=None, whitening=None):
        """Rows as chunks, in double precision: a likelihood is a difference of large numbers."""
        if weight is not None:
            weight = checks.weights("sample_weight", weight, [(rows.n_rows,)])
        rows = rows.preprocessed(partial(np.asarray, dtype=np.float64))
        if whitening is not None:
            rows = rows.preprocessed(whitening.whiten)
        return as_chunks(rows, operator, weight, batch_size=self.batch_size, n_jobs=self.n_jobs)

    def _seen(self, rows, weight=None):
        rows = rows.preprocessed(partial(Preprocessing(), operator=self.operator_))
        return self._open(rows, self.operator_, weight, self.noise_)

    @overload
    def score_samples(self, X: np.ndarray) -> np.ndarray: ...
    @overload
    def score_samples(self, X: DaskT) -> DaskT: ...
    @overload
    def score_samples(self, X: Eager) -> Any: ...
    def score_samples(self, X: Samples) -> Any:
        """Log-likelihood of every sample, ``log p(x_i)``, (n,)."""
        return self.model_.score_samples(self.chunks(X))

    def score(self, X: Samples, y: Any = None) -> float:
        """Mean log-likelihood of the samples; for new ones it penalises too many components."""
        return float(np.mean(self.score_samples(X)))

    @overload
    def pose_posterior(self, X: np.ndarray, n_poses: int = 3) -> PosePosterior[np.ndarray]: ...
    @overload
    def pose_posterior(self, X: DaskT, n_poses: int = 3) -> PosePosterior[DaskT]: ...
    @overload
    def pose_posterior(self, X: Eager, n_poses: int = 3) -> PosePosterior[Any]: ...
    def pose_posterior(self, X: Samples, n_poses: int = 3) -> PosePosterior[Any]:
        """The most likely poses with their probabilities, and the spread of poses.

        Parameters
        ----------
        X : array (n, \\*sample_shape) or (n, d)
        n_poses : int
            Number of poses for every sample.

        Returns
        -------
        PosePosterior
        """
        chunks, model = self.chunks(X), self.model_
        most = self.operator_.n_transforms
        count = min(checks.integer("n_poses", n_poses, 1), most)
        found = chunks.concat(self._pose_summary, model.e_step(), count)
        index, probability, entropy = (found.pop(n) for n in ("index", "probability", "entropy"))
        std = {name.removeprefix("std_"): values for name, values in found.items()}
        return PosePosterior(index, probability, model.described(index), std, entropy)

    def sample(
        self, n_samples: int = 1, random_state: RandomState = None
    ) -> tuple[np.ndarray, Codes]:
        """Samples drawn from the model, (n, \\*sample_shape), and their codes.

        Parameters
        ----------
        n_samples : int
        random_state : int, RandomState or None

        Returns
        -------
        X : array (n, \\*sample_shape)
        codes : Codes
        """
        count = checks.integer("n_samples", n_samples, 1)
        X, codes = self.model_.sample(count, check_random_state(random_state))
        return X.reshape(-1, *self.sample_shape_), codes


class ProbabilisticGTPCA(OutlierMixin, BaseDensity, BaseGTPCA):
    r"""Transform-invariant principal components with one pose per sample, as a density.

    .. math:: x = T_t (m + \sum_k z_k \sqrt{\lambda_k} w_k) + \text{noise}, \quad z \sim N(0, I),
        \quad t \sim \text{prior}

    The pattern ``m`` moves along with the components; nothing else is centred. With the identity as
    the family this is probabilistic PCA; with ``n_components=0`` it is the pattern alone. Poses,
    scores and parameters are found by expectation maximisation, which starts from the poses of the
    single component that explains most energy: with several components in one pose, energy says
    little about the pose, because they compensate for a window that slides. A more likely start can
    have worse poses, so starts are not compared.

    Rows are converted to double precision. With ``missing="ignore"`` all likelihoods are those of
    the observed values. There is no ``feature_weight``: ``noise="features"`` estimates how
    informative each feature is. Poses that are known have no probabilities: for these use
    :meth:`GTPCA.fit`, or a density of rows that are moved back.

    Parameters
    ----------
    n_components : int
        At least 0.
    family : Family, str or None
        As in :class:`GTPCA`.
    sample_shape : tuple of int or None
        Shape of one sample if ``X`` holds flat rows; default: ``X.shape[1:]``.
    sample_dim : str or None
        The dimension of a DataArray that holds the samples; default: its first one.
    noise : {"isotropic", "white", "features", "stationary"}, array or StationaryNoise
        "isotropic", or "white": one variance for all features. "features": one for each.
        "stationary", samples of noise (n, \*sample_shape), or ``noise_`` of another model: the
        noise of rows has a spectrum, and is whitened first, as in :class:`GTPCA`. Likelihoods are
        those of the original rows, so that all of these can be compared by ``score``.
    em : {"soft", "hard"}
        Sums over all transforms weighted by probability, or over the most likely one alone. Hard EM
        is faster, but makes patterns too large under strong noise.
    prior : {"uniform", "learned"}
        Prior of the transforms. A learned one is zero for transforms that no row took.
    polarity : {"positive", "both"}
        How the single component of the start matches rows: upright, or also upside down, for data
        without a pattern that all samples share.
    shrink : bool
        Weights from few rows contain noise: patterns are too large, poses too certain. If the rows
        carry less than 100 nats per weight, a fifth of them is held out five times, and all weights
        are smoothed and shrunk by the amounts that make held-out rows most likely. In addition, at
        most 1000 rows are compared with surrogates of noise (``doubt_``). Such a fit takes several
        times as long; False does neither.
    missing : {"error", "ignore"}
        How to treat NaN, masked values, None and pandas' NA: as an error, or as *not observed*. May
        be changed after a fit.
    output : {"scores", "scores+poses", "scores+units", "aligned"}
        What ``transform`` returns, as in :class:`GTPCA`. May be changed after a fit.
    contamination : float in (0, 0.5]
        Share of the training rows that ``predict`` marks as outliers.
    max_iter : int
        Maximum number of passes of EM over all rows.
    tol : float
        EM stops when a pass gains no more than this, in nats per sample.
    batch_size : int or None
        Rows per chunk; default: a few megabytes.
    n_jobs : int or None
        Threads over chunks of rows. It does not change the result.
    random_state : int, RandomState or None

    Attributes
    ----------
    fit_ : FittedDensity
        The result of the fit as one immutable value; the other attributes are read from it.
    mean_pattern_ : array of the shape of a component
        ``m``.
    components_ : array (k, \*weight_shape)
        ``w_k``, orthonormal, in descending order of their variance.
    explained_variance_ : array (k,)
        ``lambda_k``.
    noise_variance_ : float or array of the shape of a sample
        That of whitened rows, about 1, if the noise is stationary.
    noise_ : StationaryNoise or None
        The filter that whitens rows; its ``spectrum()`` is that of the noise.
    residual_correlation_ : float or None
        See :class:`GTPCA`.
    strength_ : float
        Norm of the pattern in standard deviations of the noise; poses are clear from about 4 on.
    whitened_weights_ : array (1 + k, \*weight_shape) or None
        The whitened versions of the pattern and of the components times the root of their variance.
    pose_prior_ : array (m,)
    offset_ : float
        The log-likelihood below which a sample is an outlier.
    held_out_gain_ : float or None
        How much more likely held-out rows were with the pattern found by EM than with noise alone,
        in nats per row; None if none were held out.
    held_out_total_ : float or None
        The same for all rows together, in nats, with smoothed and shrunken weights.
    halves_gain_ : float or None
        How much more likely each half of (at most 1000) rows is given a short fit of the other,
        smoothed and shrunken, than with noise alone, in nats per row; None with ``shrink=False``.
    noise_gains_ : tuple of float or None
        The same for surrogates of noise, which have the colour, tails and loudness of the rows: at
        most 19, and fewer if one gains as much as the rows, or the first five far less.
    doubt_ : str or None
        Why there may be no pattern at all, in words: ``held_out_gain_`` is below 0 and
        ``held_out_total_`` below 10, or one of ``noise_gains_`` is as large as ``halves_gain_``.
    smoothing_, shrinkage_ : float
        Width of the Gaussian, in points, and the factor of all weights: 0 and 1 if no rows were
        held out.
    history_ : array (n_iter + 1,)
        Mean over the rows of the log-likelihood at each pass, or for hard EM of that of row and
        pose, before weights are smoothed; it never decreases except by rounding.
    n_iter_ : int
    cautions_ : list of str
        Warnings of the fit: an offset that holds most of the energy, poses that accumulate.
    n_components_ : int
    sample_shape_ : tuple of int
    labels_ : Labels or None
        Names, units and positions of the axes, if the samples have them.
    operator_ : Operator
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import ProbabilisticGTPCA, Shift
    >>> rng = np.random.default_rng(0)
    >>> X = 0.3 * rng.standard_normal((60, 24))
    >>> for i in range(60):
    ...     X[i, i % 20 : i % 20 + 5] += [1.0, 3.0, 5.0, 3.0, 1.0]
    >>> model = ProbabilisticGTPCA(0, Shift(window=5), random_state=0).fit(X)
    >>> model.poses(model.encode(X[:4]))["start"].ravel()
    array([0, 1, 2, 3])
    >>> bool(0.08 < model.noise_variance_ < 0.1)
    True
    """

    _precisions = ("float64",)
    _rules = RULES
    _pose_summary = staticmethod(pose_summary)
    fit_: FittedDensity
    mean_pattern_: np.ndarray = read()
    offset_: float = read()
    held_out_gain_: float | None = read()
    held_out_total_: float | None = read()
    halves_gain_: float | None = read()
    noise_gains_: tuple[float, ...] | None = read()
    smoothing_: float = read()
    shrinkage_: float = read()
    residual_correlation_: float | None = read()

    def __init__(
        self,
        n_components: int = 2,
        family: Family | str | None = None,
        *,
        sample_shape: Shape | None = None,
        sample_dim: str | None = None,
        noise: Any = "isotropic",
        em: Literal["soft", "hard"] = "soft",
        prior: Literal["uniform", "learned"] = "uniform",
        polarity: Literal["both", "positive"] = "positive",
        shrink: bool = True,
        missing: Literal["error", "ignore"] = "error",
        output: Literal["scores", "scores+poses", "scores+units", "aligned"] = "scores",
        contamination: float = 0.1,
        max_iter: int = 1000,
        tol: float = 1e-7,
        batch_size: int | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ):
        self.n_components = n_components
        self.family = family
        self.sample_shape = sample_shape
        self.sample_dim = sample_dim
        self.noise = noise
        self.em = em
        self.prior = prior
        self.polarity = polarity
        self.shrink = shrink
        self.missing = missing
        self.output = output
        self.contamination = contamination
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _find(self, data, recipe, rng):
        chunks = data.chunks
        model, history, converged = expectation_maximisation(chunks, recipe, rng)
        if not converged:
            checks.warn(wording.not_converged(self, history), ConvergenceWarning)
        trust = Trust()
        if self.shrink:
            model, trust = trusted(chunks, recipe, model, history, rng)
        if recipe.whitening is not None:
            model = density_in_data_units(data.raw, recipe, model, trust.width, trust.scale)
        scores = np.concatenate(chunks.collect(log_likelihoods, model.e_step()))
        said = list(cautions(chunks.operator, *offset_and_poses(chunks, model)))
        correlation = None
        if data.in_memory and recipe.whitening is None:
            correlation, more = _colour(chunks, model)
            said = wording.in_order([*said, *more])
        return FittedDensity.of(
            model,
            trust,
            self.noise_by_feature,
            offset=_threshold(scores, self.contamination, data.weight),
            history=np.array(history),
            n_iter=len(history) - 1,
            cautions=said,
            residual_correlation=correlation,
            **data.told,
        )

    def _warn(self, found):
        """Warn of cautions, and then of a doubt, for which colour can be the reason."""
        super()._warn(found)
        doubt = _doubt(found)
        if doubt is not None:
            coloured = wording.speak_of_colour(found.cautions)
            instead = wording.OTHER_NOISE if coloured else _instead(self.family)
            checks.warn(f"{doubt}. {instead}", UserWarning)

    @property
    def model_(self) -> ProbabilisticModel:
        """The fitted density as a value, which a later fit of this estimator does not change."""
        check_is_fitted(self)
        return self.fit_.model

    @property
    def doubt_(self) -> str | None:
        """Why there may be no pattern at all, in words; None if there is no such evidence."""
        check_is_fitted(self)
        return _doubt(self.fit_)

    @property
    def strength_(self) -> float:
        """Norm of the pattern in standard deviations of the noise: d', mean over the poses.

        From about 4 on, the poses of single samples can be determined; channels of equal strength
        with independent noise, and averages, add up in squares.
        """
        squares = self.model_.e_step().gram[:, 0, 0]
        return float(np.sqrt(squares[0] if len(squares) == 1 else self.pose_prior_ @ squares))

    def _recipe(self, operator):
        noise = {"noise": "features"} if self.noise_by_feature else {}
        return replace(super()._recipe(operator), em=self.em, **noise)

    def _rest_of(self, chunks, recipe, rng):
        model = expectation_maximisation(chunks, recipe, rng)[0]
        return chunks.concat(rest_of_rows, model.e_step())

    @property
    def noise_by_feature(self) -> bool:
        """Whether every feature has its own noise variance."""
        return isinstance(self.noise, str) and self.noise == "features"

    @overload
    def evidence(self, X: np.ndarray) -> np.ndarray: ...
    @overload
    def evidence(self, X: DaskT) -> DaskT: ...
    @overload
    def evidence(self, X: Eager) -> Any: ...
    def evidence(self, X: Samples) -> Any:
        """How much more likely every sample is than under noise alone, in nats, (n,).

        ``log p(x_i) - log N(x_i; 0, noise)``: whether a sample contains the pattern at all. A
        sample of little more than noise can be more likely than all others, since it has less that
        could be elsewhere; its evidence is about 0, or less. The noise is that of the model, white
        and Gaussian: rows of coloured or heavy-tailed noise also have evidence above 0. To find out
        whether there is a pattern beyond that, compare ``halves_gain_`` with ``noise_gains_``.
        """
        return self.model_.evidence(self.chunks(X))

    @overload
    def decision_function(self, X: np.ndarray) -> np.ndarray: ...
    @overload
    def decision_function(self, X: DaskT) -> DaskT: ...
    @overload
    def decision_function(self, X: Eager) -> Any: ...
    def decision_function(self, X: Samples) -> Any:
        """``score_samples(X) - offset_``, (n,): negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Samples) -> np.ndarray:
        """1 for inliers, -1 for outliers, (n,)."""
        return np.where(np.asarray(self.decision_function(X)) < 0, -1, 1)


def check_density(estimator):
    """Raise an error for parameters that make no sense."""
    checks.parameters(estimator, estimator._rules)
    as_family(estimator.family)


def _doubt(fit) -> str | None:
    """Why there may be no pattern at all, in words."""
    return wording.no_pattern(fit.trust, NEEDED) if fit.trust.speaks_against else None


def offset_and_poses(chunks, model):
    """Share of the energy in the means of samples, and the number of rows with each transform."""
    share = chunks.sum(offset_energy) / max(chunks.sum(energy), np.finfo(float).tiny)
    index = np.asarray(model.encode(chunks).index)[:, 0]
    return share, [np.unique(index, return_counts=True)]


def _instead(family) -> str:
    """What may help if there is no pattern; only a family with windows has other windows."""
    return wording.OTHER_WINDOWS if as_family(family).windows else wording.OTHER_FAMILIES


def _colour(chunks, model):
    """The correlation of the residual of rows, or None, and the caution about it."""
    correlation = residual_correlation(chunks, partial(rest_of_rows, e_step=model.e_step()))
    left = model.energies(chunks)
    share = float(left[-1] / max(left[0], np.finfo(float).tiny))
    return correlation, colour_cautions(
        correlation, share, chunks.n_rows * model.operator.n_features
    )


def _threshold(scores, share, weight):
    """A log-likelihood below which a share of the rows lies, half-way to the next one.

    Rows of weight 0 do not count.
    """
    if weight is not None:
        weight = np.asarray(weight, dtype=np.float64)
        scores, weight = scores[weight > 0], weight[weight > 0]
    last = float(np.quantile(scores, share, method="inverted_cdf", weights=weight))
    above = scores[scores > last]
    return (last + float(above.min())) / 2 if len(above) else float(np.nextafter(last, np.inf))

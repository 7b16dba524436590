"""The result of a fit as one value, from which estimators read their fitted attributes.

A value holds what a user reads and a file stores, in the units of the data; ``model`` is what
:mod:`gtpca.model` computes with. It is immutable: a fit, a batch of ``partial_fit`` and a file
create a new one, which an estimator adopts in one assignment.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from gtpca._typing import Shape
from gtpca.data.labels import Labels
from gtpca.fitting import wording
from gtpca.fitting.event_counts import EventCounts
from gtpca.fitting.event_sums import Advance, EventSums
from gtpca.fitting.fit import Fit
from gtpca.fitting.held_out import Trust
from gtpca.fitting.streaming import KeptRows, Stream
from gtpca.model.conventions import SAME, kept_signs
from gtpca.model.events import EventModel
from gtpca.model.mixture import MixtureModel
from gtpca.model.model import Model
from gtpca.model.preprocessing import Preprocessing
from gtpca.model.prices import Noise
from gtpca.model.probabilistic import ProbabilisticModel
from gtpca.model.row_coder import RowCoder
from gtpca.model.stationary import StationaryNoise
from gtpca.operators import Operator
from gtpca.solvers.base import SolverResult

__all__ = [
    "Fitted",
    "FittedComponents",
    "FittedDensity",
    "FittedEvents",
    "FittedMixture",
    "FittedRows",
    "read",
]

TINY = np.finfo(float).tiny


class Read:
    """A fitted attribute, ``name_``: the field ``name`` of the value ``fit_`` of an estimator.

    Before a fit there is none. Setting one creates a new value that differs in this field.

    Parameters
    ----------
    optional : bool
        Whether the attribute is missing if the value is None.
    """

    def __init__(self, optional=False):
        self.optional, self.__doc__ = optional, None

    def __set_name__(self, owner, name):
        self.attribute, self.name = name, name.removesuffix("_")

    def __get__(self, estimator, owner=None):
        if estimator is None:
            return self
        fit = vars(estimator).get("fit_")
        value = None if fit is None else getattr(fit, self.name)
        if fit is None or (self.optional and value is None):
            raise AttributeError(
                f"{type(estimator).__name__!r} object has no attribute {self.attribute!r}"
            )
        return value

    def __set__(self, estimator, value):
        fit = vars(estimator).get("fit_")
        if fit is None or self.name not in {field.name for field in fields(fit)}:
            raise AttributeError(f"{self.attribute} follows from a fit and cannot be set")
        estimator.fit_ = replace(fit, **{self.name: value})


def read(optional: bool = False) -> Any:
    """A :class:`Read`, which type checkers treat as the annotation next to it."""
    return Read(optional)


@dataclass(frozen=True, eq=False, kw_only=True)
class Fitted:
    """The result of any fit.

    Attributes
    ----------
    operator : Operator
        The family, bound to the shape of a sample. It is not stored in files.
    components : array
    labels : Labels or None
        What is known about the samples besides their values.
    cautions : list of str
        The warnings of the fit.
    noise : StationaryNoise or None
        The noise by which rows were whitened.
    """

    operator: Operator
    components: np.ndarray
    labels: Labels | None
    cautions: list[str]
    noise: StationaryNoise | None = None

    follows: ClassVar[tuple[str, ...]] = ("n_components", "sample_shape", "n_features_in")

    @property
    def n_components(self) -> int:
        """The number of components."""
        return len(self.components)

    @property
    def sample_shape(self) -> Shape:
        """Shape of a sample."""
        return self.operator.sample_shape

    @property
    def n_features_in(self) -> int:
        """Number of values of a sample."""
        return self.operator.n_features

    @classmethod
    def needed(cls) -> list[str]:
        """Names of the fields without a default."""
        return [field.name for field in fields(cls) if field.default is MISSING]


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedRows(Fitted):
    """The result of a fit to samples of one shape.

    Attributes
    ----------
    row_shape : tuple of int
        The original shape of a row.
    feature_names_in : array of str or None
        Names of the columns of a table.
    """

    row_shape: Shape
    feature_names_in: np.ndarray | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedComponents(FittedRows):
    """The fitted value of :class:`gtpca.GTPCA`; see its attributes of the same names."""

    explained_energy: np.ndarray
    explained_energy_ratio: np.ndarray
    n_iter: np.ndarray
    history: list[np.ndarray]
    ridge: np.ndarray
    mean: np.ndarray | None
    polarity: str
    center: bool | str
    shared_pose: bool
    n_samples_seen: int = 0
    whitened_components: np.ndarray | None = None
    data_resmse: np.ndarray | None = None
    residual_correlation: float | None = None
    row_weight: np.ndarray | None = None
    rejected: np.ndarray | None = None
    losses: list[np.ndarray] | None = None
    online: dict[str, Any] | None = None

    @classmethod
    def of(cls, found: Fit, **more: Any) -> Self:
        """The value from a model and how it was found; ``more`` are other attributes."""
        model, operator = found.model, found.model.operator
        mean, per_sample = model.preprocessing.mean, model.preprocessing.per_sample
        shape, shown, left = (-1, *operator.weight_shape), model.data_weights, found.data_left
        known = {"labels": None, "row_shape": operator.sample_shape, **more}
        return cls(
            operator=operator,
            components=(model.weights if shown is None else shown).reshape(shape),
            whitened_components=None if shown is None else model.weights.reshape(shape),
            noise=model.preprocessing.noise,
            data_resmse=None if left is None else left[1:] / max(left[0], TINY),
            explained_energy=found.explained,
            explained_energy_ratio=found.explained / found.total,
            n_iter=np.array([result.n_iter for result in found.results], dtype=int),
            history=[np.array(result.history) for result in found.results],
            ridge=np.array([result.ridge for result in found.results]),
            mean=None if mean is None else mean.reshape(operator.sample_shape),
            n_samples_seen=found.n_rows,
            cautions=list(found.cautions),
            **_set_aside(found.aside, operator.sample_shape),
            polarity=model.polarity,
            shared_pose=model.shared_pose,
            center="samples" if per_sample else mean is not None,
            **known,
        )

    @property
    def model(self) -> Model:
        """The model, without sweeps."""
        shown, seen = self.components.reshape(self.n_components, -1), self.whitened_components
        return Model(
            operator=self.operator,
            weights=shown if seen is None else seen.reshape(shown.shape),
            data_weights=None if seen is None else shown,
            polarity=self.polarity,
            shared_pose=self.shared_pose,
            preprocessing=Preprocessing(
                None if self.mean is None else self.mean.ravel(),
                self.center == "samples",
                self.noise,
            ),
        )

    def coder(self, model: Model, dtype: np.dtype) -> RowCoder:
        """The coder of few rows of a model of this fit, made once for all calls."""
        key = (dtype.char, model.sweeps)
        known = self._coders.get(key)
        if known is None or not known.belongs_to(model):
            known = self._coders[key] = model.coder(dtype)
        return known

    @cached_property
    def _coders(self) -> dict[tuple[str, int], RowCoder]:
        return {}

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "_coders"}

    def with_signs_of(self, old: FittedComponents) -> FittedComponents:
        """The same with the signs that components had in a fit to fewer rows."""
        new = self.components
        if new.shape != old.components.shape or self.polarity != "both":
            return self
        kept = kept_signs(new.reshape(len(new), -1), old.components.reshape(len(new), -1), SAME)
        kept = kept.reshape(-1, *(1,) * (new.ndim - 1))
        seen = None if self.noise is None else self.whitened_components * kept
        return replace(self, components=new * kept, whitened_components=seen)

    @property
    def kept_rows(self) -> KeptRows | None:
        """The first rows of a stream, as long as they are kept."""
        kept = None if self.online is None else self.online.get("kept")
        return None if kept is None else KeptRows(**kept)

    @property
    def stream(self) -> Stream:
        """The state of the stream; after a fit, what is known about its rows."""
        if self.online is not None:
            return Stream(**{n: value for n, value in self.online.items() if n != "kept"})
        if self.n_samples_seen == 0:  # the weights of a network
            return Stream.begin(self.model)
        total = self.explained_energy[0] / self.explained_energy_ratio[0]
        known = (self.explained_energy, total, self.n_samples_seen)
        return Stream.begin(self.model, *known, self.ridge)

    def followed(self, stream: Stream, kept: KeptRows | None) -> FittedComponents:
        """The fit after a batch: components of the stream, one more pass in its history."""
        past = zip(stream.weights, self.history, stream.explained, self.n_iter, strict=True)
        results = [SolverResult(W, [*before, now], n_iter + 1) for W, before, now, n_iter in past]
        for result, ridge in zip(results, stream.ridges, strict=True):
            result.ridge = float(ridge)
        found = replace(stream.fit(self.model, results), cautions=tuple(self.cautions))
        return self.of(
            found,
            labels=self.labels,
            row_shape=self.row_shape,
            feature_names_in=self.feature_names_in,
            online=vars(stream) | {"kept": None if kept is None else vars(kept)},
        )


def _set_aside(aside, shape):
    """What says which rows and values were set aside, by name."""
    if aside is None:
        return {}
    rejected = None if aside.rejected is None else aside.rejected.reshape(-1, *shape)
    return {"row_weight": aside.row_weight, "rejected": rejected, "losses": aside.losses}


class FittedPatterns(FittedRows):
    """The result of a fit of patterns, which share a pose with their components."""

    @property
    def shared_pose(self) -> bool:
        """Pattern and components share one pose."""
        return True

    @property
    def center(self) -> bool:
        """Nothing is subtracted: patterns are a part of the model."""
        return False

    @property
    def mean(self) -> None:
        """The mean of features, of which nothing is subtracted."""
        return None


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedDensity(FittedPatterns):
    """The fitted value of :class:`gtpca.ProbabilisticGTPCA`; see its attributes of these names."""

    mean_pattern: np.ndarray
    explained_variance: np.ndarray
    noise_variance: float | np.ndarray
    pose_prior: np.ndarray
    offset: float
    history: np.ndarray
    n_iter: int
    held_out_gain: float | None
    smoothing: float
    shrinkage: float
    held_out_total: float | None = None
    halves_gain: float | None = None
    noise_gains: tuple[float, ...] | None = None
    whitened_weights: np.ndarray | None = None
    residual_correlation: float | None = None

    @classmethod
    def of(cls, model: ProbabilisticModel, trust: Trust, by_feature: bool, **more: Any) -> Self:
        """The value from a model and how far it can be trusted; ``more`` are other attributes.

        ``by_feature`` says whether every feature has its own noise variance.
        """
        operator, shape = model.operator, model.operator.weight_shape
        one = float(model.noise[0])
        return cls(
            operator=operator,
            mean_pattern=model.visible[0].reshape(shape),
            components=unit_loadings(model).reshape(-1, *shape),
            whitened_weights=_whitened([model], (-1, *shape)),
            noise=model.whitening,
            explained_variance=model.sizes**2,
            noise_variance=model.noise.reshape(operator.sample_shape) if by_feature else one,
            pose_prior=np.exp(model.log_prior),
            held_out_gain=trust.gain,
            held_out_total=trust.total,
            halves_gain=trust.halves,
            noise_gains=trust.noise,
            smoothing=trust.width,
            shrinkage=trust.scale,
            **more,
        )

    @property
    def trust(self) -> Trust:
        """The evidence for the pattern from held-out rows and surrogates of noise."""
        found = (self.held_out_gain, self.smoothing, self.shrinkage, self.held_out_total)
        return Trust(*found, self.halves_gain, tuple(self.noise_gains or ()))

    @property
    def model(self) -> ProbabilisticModel:
        """The density."""
        parts = (self.mean_pattern, self.components, self.explained_variance, self.pose_prior)
        return _density(self, *parts, self.whitened_weights)


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedMixture(FittedPatterns):
    """The fitted value of :class:`gtpca.MixtureGTPCA`; see its attributes of the same names."""

    kind_weights: np.ndarray
    mean_patterns: np.ndarray
    explained_variance: np.ndarray
    noise_variance: float
    pose_prior: np.ndarray
    kind_counts: np.ndarray
    doubts: np.ndarray
    history: np.ndarray
    n_iter: int
    smoothing: float = 0.0
    whitened_weights: np.ndarray | None = None

    @classmethod
    def of(cls, model: MixtureModel, **more: Any) -> Self:
        """The value from a model; ``more`` are other attributes."""
        kinds, shape = model.kinds, model.operator.weight_shape
        return cls(
            operator=model.operator,
            kind_weights=np.exp(model.log_weights),
            mean_patterns=np.array([kind.visible[0].reshape(shape) for kind in kinds]),
            components=np.array([unit_loadings(kind).reshape(-1, *shape) for kind in kinds]),
            whitened_weights=_whitened(kinds, (len(kinds), -1, *shape)),
            noise=kinds[0].whitening,
            explained_variance=model.sizes**2,
            noise_variance=float(model.noise[0]),
            pose_prior=np.exp([kind.log_prior for kind in kinds]),
            **more,
        )

    @property
    def n_components(self) -> int:
        """The number of components of every kind."""
        return self.components.shape[1]

    @property
    def model(self) -> MixtureModel:
        """The densities of all kinds."""
        parts = (self.mean_patterns, self.components, self.explained_variance, self.pose_prior)
        seen = self.whitened_weights
        whitened = [None] * len(self.components) if seen is None else seen
        kinds = tuple(_density(self, *kind) for kind in zip(*parts, whitened, strict=True))
        return MixtureModel(kinds, np.log(self.kind_weights))


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedEvents(Fitted):
    """The fitted value of :class:`gtpca.EventGTPCA`; see its attributes of the same names."""

    whitened_components: np.ndarray | None
    event_counts: EventCounts
    counts_text: str
    prices: np.ndarray
    noise_level: np.ndarray
    crossings: np.ndarray
    score_scale: np.ndarray
    history: np.ndarray
    n_iter: int
    refractory: int
    shared_pose: bool
    polarity: str
    center: bool
    online: dict[str, Any] | None = None

    follows: ClassVar[tuple[str, ...]] = (*Fitted.follows, "n_channels")

    @property
    def n_channels(self) -> int:
        """The number of channels of a recording."""
        return 1 if len(self.sample_shape) == 1 else self.sample_shape[1]

    @property
    def n_features_in(self) -> int:
        """Number of values at a point in time."""
        return self.n_channels

    @property
    def model(self) -> EventModel:
        """The templates, which decode recordings."""
        shape = (1, self.n_components) if self.shared_pose else (self.n_components, 1)
        data = self.components.reshape(*shape, -1, self.n_channels)
        seen = self.whitened_components
        return EventModel(
            weights=data if seen is None else seen.reshape(data.shape),
            data_weights=data,
            scale=self.score_scale.reshape(shape),
            noise=self.noise,
            level=Noise(self.noise_level, self.crossings),
            positive=self.polarity == "positive" and shape[1] == 1,
            refractory=self.refractory,
            center=self.center,
        )

    @property
    def sums(self) -> EventSums | None:
        """What templates were solved from; None in files of earlier versions."""
        return None if self.online is None else EventSums(**self.online)

    def followed(self, after: Advance, cautions: list[str]) -> FittedEvents:
        """The fit after more recordings: templates keep their order, counts start anew."""
        scale = np.linalg.norm(after.data_weights, axis=(2, 3))
        data = after.data_weights / scale[..., None, None]
        seen = None if self.noise is None else after.weights.reshape(self.components.shape)
        counts = EventCounts(self.event_counts.fitted + after.n_events)
        return replace(
            self,
            components=data.reshape(self.components.shape),
            whitened_components=seen,
            event_counts=counts,
            counts_text=wording.event_counts(counts),
            prices=after.prices,
            noise_level=after.level.sigma,
            crossings=after.level.rate,
            score_scale=scale.ravel(),
            cautions=[*self.cautions, *(c for c in cautions if c not in self.cautions)],
            online=dict(vars(after.sums)),
        )


def unit_loadings(model: ProbabilisticModel) -> np.ndarray:
    """Loadings in the units of the data, each of unit norm, (K, L)."""
    sizes = model.sizes
    unit = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    return unit[:, None] * model.visible[1:]


def _whitened(kinds, shape):
    """Patterns and loadings as they appear in whitened rows; None if nothing is whitened."""
    if kinds[0].data_weights is None:
        return None
    return np.array([kind.weights for kind in kinds]).reshape(shape)


def _density(fit, pattern, components, variance, prior, whitened) -> ProbabilisticModel:
    """The density of a pattern and of components (K, ..) with variances (K,), in a fit's noise."""
    W = components.reshape(len(variance), fit.operator.n_weights)
    visible = np.concatenate([pattern.reshape(1, -1), np.sqrt(variance)[:, None] * W])
    seen = visible if fit.noise is None else whitened.reshape(visible.shape)
    return ProbabilisticModel(
        operator=fit.operator,
        pattern=seen[0],
        loadings=seen[1:],
        noise=np.ravel(fit.noise_variance),
        log_prior=np.log(prior, out=np.full(len(prior), -np.inf), where=prior > 0),
        whitening=fit.noise,
        data_weights=None if fit.noise is None else visible,
    )

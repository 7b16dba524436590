"""EventGTPCA: templates that occur many times in long recordings; the estimator around the fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from gtpca import checks
from gtpca._typing import RandomState
from gtpca.base import BaseFitted
from gtpca.data.containers.spikes import sorting_of
from gtpca.data.labels import Labels
from gtpca.data.opening import Opened, open_recordings
from gtpca.data.signals import Piecewise, parts_of
from gtpca.families import Family, Shift
from gtpca.families.text import as_family
from gtpca.fitting import bar, wording
from gtpca.fitting.coloured import check_noise, is_white
from gtpca.fitting.event_counts import EventCounts, count_events
from gtpca.fitting.event_noise import checked_noise, recording_noise
from gtpca.fitting.event_sums import advanced, data_sums, in_data
from gtpca.fitting.events import EventRecipe, fit_events
from gtpca.fitting.fitted import FittedEvents, read
from gtpca.fitting.threads import SINGLE_BLAS_THREAD
from gtpca.model.conventions import signs
from gtpca.model.event_stream import DELAY, EventStream
from gtpca.model.events import FEW_WINDOWS, EventModel, Events
from gtpca.model.matching import POLARITIES
from gtpca.operators.grid import Axis, Grid, length_in_points
from gtpca.parameters import bind_family

__all__ = ["EventGTPCA", "check_event_parameters"]

CLIPPED = 0.01  # share of points at the largest or the smallest value from which on a fit warns
FEW_CLIPPED = 3  # points that short recordings may have there
CONSTANT = 1e-12
DRIFTING = 0.05  # zero crossings per window of correlations with noise, below which it drifts


def _window(label, value):
    """A length in points, or as text such as "0.2s"."""
    return value if isinstance(value, str) else checks.integer(label, value, 1)


RULES = {
    "n_components": checks.at_least(1),
    "false_alarms": checks.positive,
    "refractory": checks.optional(_window),
    "polarity": checks.one_of(*POLARITIES),
    "shared_pose": checks.one_of(False, True),
    "noise": check_noise,
    "center": checks.one_of(False, True),
    "rate": checks.optional(checks.positive),
    "counts": checks.one_of(False, True),
    "n_init": checks.at_least(1),
    "max_iter": checks.at_least(1),
    "tol": checks.non_negative,
    "horizon": checks.optional(_window),
    "progress": checks.one_of("auto", True, False),
}


class EventGTPCA(BaseFitted):
    r"""Find templates that occur many times in long recordings, their positions and amplitudes.

    .. math:: \min \sum_r |y_r - \sum_e a_e T_{t_e} w_{k_e}|^2 + \sum_e \theta^2,
        \quad |w_k| = 1

    An event must gain more than its price: what noise alone, with the deviation and the smoothness
    of the residual, gains at the best of all positions. There is no penalty to choose. Events that
    overlap are decoded together. Prices are estimated in the first passes; from then on no pass
    raises the objective.

    Recordings are read in overlapping pieces: a memory map of any length needs a constant amount of
    memory.

    Parameters
    ----------
    n_components : int
        Number of templates.
    family : Shift, str or None
        ``Shift(window)``: the length of a template, in points or as text such as ``"0.7s"``. None
        is an error: the window defines what an event is.
    false_alarms : float
        Number of events that noise alone would produce, per recording and template. May be changed
        after a fit.
    refractory : int, str or None
        Minimum distance between two events of one template, in points or as text such as
        ``"0.2s"``; None: half a window.
    polarity : {"positive", "both"}
        "positive": templates are added, never subtracted. "both": events have a sign. Ignored for
        several templates that share a pose.
    shared_pose : bool
        False: every template has its own events, for several kinds of events. True: an event is one
        position with a score on every template, for events that vary.
    noise : {"white", "stationary"}, array (time, channels) or StationaryNoise
        "stationary": recordings are whitened by an autoregression, estimated twice, the second time
        without the events; or by one estimated from a recording of noise, or by ``noise_`` of
        another model.
    center : bool
        Whether to subtract the median of each channel of each recording.
    rate : float or None
        Points per second, if recordings do not provide it themselves: times are then in seconds.
    counts : bool
        Whether to compare the number of events with that found by templates of the other half of
        the recordings, and with that in noise: ``event_counts_``. This takes two fits to halves,
        and one to noise.
    n_init : int
        Number of starts, of which the best continues.
    max_iter : int
        Maximum number of passes with fixed prices.
    tol : float
        Stop when a pass gains no more than this share of the objective.
    horizon : int, str or None
        Approximate number of points that ``partial_fit`` remembers, or text such as ``"600s"``: an
        event that came ``a`` points ago has weight ``exp(-a / horizon)``. None: all events count
        the same, for recordings that do not drift.
    n_jobs : int or None
        Threads over pieces. It does not change the result.
    random_state : int, RandomState or None
    progress : {"auto", True, False}
        Whether to show the current step in a line on the terminal; "auto": if it is visible.

    Attributes
    ----------
    fit_ : FittedEvents
        The result of the fit as one immutable value; the other attributes are read from it.
    components_ : array (K, L) or (K, L, channels)
        Templates of norm 1, in the units of the data; those with more energy come first.
    whitened_components_ : array of the same shape or None
        Their whitened versions.
    event_counts_ : EventCounts
        Numbers of events ``fitted``, ``cross_fitted`` and in a ``surrogate``.
    counts_text_ : str
        The meaning of these numbers, in words.
    prices_ : array (R, K) or (R, 1)
        Energy that an event must gain, in every recording of the fit.
    noise_level_, crossings_ : array (K,) or (1,)
        Standard deviation, and zero up-crossings per point, of correlations with noise.
    noise_ : StationaryNoise or None
        The filter that whitens recordings.
    score_scale_ : array (K,)
        Scores on ``components_`` divided by those on unit-norm templates of whitened recordings.
    history_ : array (n_iter,)
        The objective after each pass with fixed prices. It never increases except by rounding.
    n_iter_ : int
    cautions_ : list of str
        What the fit warned of.
    refractory_ : int
        In points.
    n_components_ : int
    n_channels_ : int
    sample_shape_ : tuple of int
        Shape of a template.
    labels_ : Labels or None
        Unit of time and names of channels, as far as they are known.
    online_ : dict
        Sums over events, from which ``partial_fit`` goes on.
    operator_ : Operator

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import EventGTPCA, Shift
    >>> rng = np.random.default_rng(0)
    >>> recording, places = 0.1 * rng.standard_normal(4000), np.arange(50, 3900, 130)
    >>> for place in places:
    ...     recording[place : place + 20] += np.hanning(20)
    >>> model = EventGTPCA(1, Shift(20), random_state=0).fit(recording)
    >>> events = model.encode(recording)
    >>> len(events) == len(places), bool(np.all(np.abs(np.diff(events.start) - 130) <= 1))
    (True, True)
    """

    of_recordings = True
    fit_: FittedEvents
    whitened_components_: np.ndarray | None = read()
    event_counts_: EventCounts = read()
    counts_text_: str = read()
    prices_: np.ndarray = read()
    noise_level_: np.ndarray = read()
    crossings_: np.ndarray = read()
    score_scale_: np.ndarray = read()
    history_: np.ndarray = read()
    n_iter_: int = read()
    refractory_: int = read()
    n_channels_: int = read()
    shared_pose_: bool = read()
    polarity_: str = read()
    center_: bool = read()
    online_: dict[str, Any] | None = read(optional=True)

    def __init__(
        self,
        n_components: int = 1,
        family: Family | str | None = None,
        *,
        false_alarms: float = 1.0,
        refractory: int | str | None = None,
        polarity: Literal["positive", "both"] = "positive",
        shared_pose: bool = False,
        noise: Any = "white",
        center: bool = True,
        rate: float | None = None,
        counts: bool = True,
        n_init: int = 2,
        max_iter: int = 30,
        tol: float = 1e-4,
        horizon: int | str | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        progress: Literal["auto", True, False] = "auto",
    ):
        self.n_components = n_components
        self.family = family
        self.false_alarms = false_alarms
        self.refractory = refractory
        self.polarity = polarity
        self.shared_pose = shared_pose
        self.noise = noise
        self.center = center
        self.rate = rate
        self.counts = counts
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.horizon = horizon
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    # -- fit --------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find templates and their events.

        Parameters
        ----------
        X : array (time,) or (time, channels), or a list of these
            Recordings, possibly of unequal length; also memory maps, h5py datasets, zarr and Dask
            arrays, xarray DataArrays, pandas DataFrames, MNE Raw objects, and recordings of
            SpikeInterface, whose segments are separate recordings. NaN means not observed and never
            produces an event.
        y : ignored

        Returns
        -------
        self
        """
        with SINGLE_BLAS_THREAD, bar.told(self.progress) as tell:
            return self._fit(X, tell)

    def _fit(self, X, tell):
        check_event_parameters(self)
        opened = open_recordings(X, self.rate)
        length, refractory = self._lengths(opened)
        check_lengths(opened, length)
        cautions = look_at(opened)
        for caution in cautions:
            checks.warn(caution, UserWarning)
        rng = check_random_state(self.random_state)
        recipe = replace(self.recipe(length, refractory), rng=rng, report=tell)
        raw = [Piecewise.of(signal, self.center) for signal in opened.signals]
        noise = checked_noise(self.noise, raw[0].n_channels)
        if noise is None and not is_white(self.noise):
            noise = recording_noise(parts_of(raw, length, loud=True), recipe)
        seen = [replace(signal, noise=noise) for signal in raw]
        fit = fit_events(seen, recipe, parts_of(seen, length, loud=True))
        if noise is None and (points := drift_of(fit, seen, length)):
            cautions.append(wording.drifting(points))
            checks.warn(cautions[-1], UserWarning)
        counts = EventCounts(sum(map(len, fit.placed)))
        if self.counts:
            counts = count_events(seen, counts.fitted, recipe)
        self.fit_ = self._fitted(opened, fit, raw, noise, recipe, counts, cautions)
        return self

    def recipe(self, length: int, refractory: int) -> EventRecipe:
        """How the fit searches for templates of a given length in points."""
        return EventRecipe(
            n_components=self.n_components,
            length=length,
            false_alarms=self.false_alarms,
            refractory=refractory,
            positive=self._positive,
            shared_pose=self.shared_pose,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            n_jobs=self.n_jobs,
        )

    @property
    def _positive(self) -> bool:
        """Whether scores must be positive."""
        return self.polarity == "positive" and not (self.shared_pose and self.n_components > 1)

    def _lengths(self, opened: Opened) -> tuple[int, int]:
        """The window and the refractory time in points."""
        axis = Axis() if opened.axis is None else opened.axis
        window = length_in_points("Shift: window", _window_of(self.family), axis)
        if self.refractory is None:
            return window, max(1, window // 2)
        return window, length_in_points("refractory", self.refractory, axis)

    def _fitted(self, opened, fit, raw, noise, recipe, counts, cautions):
        """All that was found, with components in the units of the data."""
        W, sums = fit.dictionary.weights, fit.sums
        S, Q, L, C = W.shape
        if noise is not None:
            sums = replace(sums, data=data_sums(raw, fit.placed, W.shape, recipe))
        V = W if noise is None else in_data(sums, W)
        scale = np.linalg.norm(V, axis=(2, 3))
        order = _order(fit, scale)
        sums = sums.turned(np.eye(S * Q)[:, np.arange(S * Q).reshape(S, Q)[order].ravel()])
        V, W = (V / scale[..., None, None])[order], W[order]
        scale, prices = scale[order], fit.prices[:, order]
        level = [replace(one, sigma=one.sigma[order], rate=one.rate[order]) for one in fit.noise]
        if not self._positive:
            turned = signs(V.reshape(S * Q, -1)).reshape(S, Q, 1, 1)
            V, W, sums = V * turned, W * turned, sums.turned(np.diag(turned.ravel()))
        shape = (L,) if opened.flat else (L, C)
        grid, labels = _grid(opened, shape)
        return FittedEvents(
            operator=bind_family(Shift(window=L, axes=0), grid),
            components=V.reshape(S * Q, *shape),
            whitened_components=None if noise is None else W.reshape(S * Q, *shape),
            event_counts=counts,
            counts_text=wording.event_counts(counts),
            prices=prices,
            noise_level=np.median([one.sigma for one in level], axis=0),
            crossings=np.mean([one.rate for one in level], axis=0),
            noise=noise,
            score_scale=scale.ravel(),
            history=np.array(fit.history),
            n_iter=len(fit.history),
            cautions=cautions,
            refractory=int(recipe.refractory),
            labels=labels,
            shared_pose=self.shared_pose,
            polarity=self.polarity,
            center=self.center,
            online=dict(vars(sums)),
        )

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from further recordings, or from the next part of one.

        The first call is :meth:`fit`; it should hold some dozens of events of every template. Later
        ones read their recordings once: events are decoded with the templates so far, and add to
        sums from which new templates are solved, together with all earlier events. Templates keep
        their order. Whitening stays that of the fit. ``event_counts_`` then has the number of
        events of all calls, which is not compared with noise; ``prices_`` are those of the last
        call, and ``history_`` and ``n_iter_`` those of the fit.

        Parameters
        ----------
        X : array (time,) or (time, channels), or a list of these
            As in :meth:`fit`; events that its border cuts are not seen.
        y : ignored

        Returns
        -------
        self
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X)
        check_event_parameters(self)
        sums, opened = self.fit_.sums, self.opened(X)
        if sums is None:
            raise ValueError(
                "partial_fit needs the sums of the fit, which model files of earlier versions do "
                "not hold: fit again."
            )
        cautions = look_at(opened)
        for caution in cautions:
            checks.warn(caution, UserWarning)
        axis = Axis() if opened.axis is None else opened.axis
        horizon = self.horizon
        if horizon is not None:
            horizon = length_in_points("horizon", horizon, axis)
        with SINGLE_BLAS_THREAD:
            after = advanced(self.model_, sums, opened.signals, horizon)
        self.fit_ = self.fit_.followed(after, cautions)
        return self

    def bind(self, sample_shape):
        """The operator of a window that does not move, for plots of components."""
        return bind_family(Shift(window=int(sample_shape[0]), axes=0), sample_shape)

    @property
    def model_(self) -> EventModel:
        """The fitted model as a value."""
        check_is_fitted(self)
        return replace(self.fit_.model, false_alarms=self.false_alarms, n_jobs=self.n_jobs)

    # -- new recordings ---------------------------------------------------------------------------

    def opened(self, X) -> Opened:
        check_is_fitted(self)
        opened = open_recordings(X, self.rate)
        n_channels = opened.signals[0].n_channels
        if n_channels != self.n_channels_:
            raise ValueError(
                f"X has {n_channels} channels, but EventGTPCA was fitted to {self.n_channels_}."
            )
        time = Axis() if self.labels_ is None else self.labels_.axes[0]
        known = time.step
        step = None if opened.axis is None else opened.axis.step
        if known is not None and step is not None and abs(step - known) > 1e-3 * abs(known):
            raise ValueError(
                f"X has a point every {step:g}, but EventGTPCA was fitted to one every {known:g} "
                f"{time.unit}; resample it.".replace("  ", " ")
            )
        if opened.axis is None and known is not None:
            opened = replace(opened, axis=Axis(time.name, time.unit, np.array([0.0, known])))
        check_lengths(opened, self.sample_shape_[0])
        return opened

    def encode(self, X: Any) -> Events:
        """Events of recordings.

        Prices follow from the noise of each recording itself, or from that of the fit if a
        recording is shorter than 32 windows.

        Parameters
        ----------
        X : array (time,) or (time, channels), or a list of these
            As in :meth:`fit`.

        Returns
        -------
        Events
        """
        opened = self.opened(X)
        with SINGLE_BLAS_THREAD:
            return self.model_.encode(opened.signals, opened.axis)

    def stream(self, X: Any, *, delay: int | str | None = None) -> EventStream:
        """Events of a recording that is still going on, reported with a bounded delay.

        Every call of what is returned takes the next points and gives the events that have become
        certain; they are those that :meth:`encode` would find in the whole recording, if its level
        and its noise were those of ``X``.

        Parameters
        ----------
        X : array (time,) or (time, channels)
            A recording that tells level and noise, such as the first minute, of 32 windows or more;
            a shorter one has the noise of the fit. ``false_alarms`` are those in a recording of its
            length.
        delay : int, str or None
            How long after the end of its window an event is reported at the latest, in points or as
            text such as ``"0.5s"``; at least two windows. None: 16 windows. Events that overlap
            others over a longer time may differ from those of the whole recording.
        """
        opened = self.opened(X)
        if len(opened.signals) > 1:
            raise ValueError(f"X holds {len(opened.signals)} recordings, but must be one.")
        axis, length = opened.axis, self.sample_shape_[0]
        if delay is None:
            delay = DELAY * length
        points = length_in_points("delay", delay, Axis() if axis is None else axis)
        if points < 2 * length:
            raise ValueError(
                f"delay={delay!r} must be at least two windows, {2 * length} points: events that "
                "overlap are decoded together."
            )
        model = self.model_
        with SINGLE_BLAS_THREAD:
            [seen] = model.seen(opened.signals)
            prices = model.prices([seen])[0]
        return EventStream(model, prices, seen.centre, points, opened.flat, axis)

    def fit_encode(self, X: Any, y: Any = None) -> Events:
        """``fit(X).encode(X)``."""
        return self.fit(X).encode(X)

    def decode(self, events: Events) -> Any:
        """The sum of the events: an array of the shape of the recording, or a list of these.

        Levels that ``center`` subtracts are not restored.
        """
        check_is_fitted(self)
        _check_events(events, self)
        model = self.model_
        found = [
            model.render(events, r, 0, size).reshape(-1, *self.sample_shape_[1:])
            for r, size in enumerate(events.sizes)
        ]
        return found[0] if len(found) == 1 else found

    def residuals(self, X: Any) -> Any:
        """Recordings minus their levels and their events: an array like ``X``, or a list."""
        opened = self.opened(X)
        model = self.model_
        events = model.encode(opened.signals)
        found = [
            (signal.read(0, signal.n_points) - model.render(events, r, 0, signal.n_points)).reshape(
                -1, *self.sample_shape_[1:]
            )
            for r, signal in enumerate(model.raw(opened.signals))
        ]
        return found if opened.listed else found[0]

    def resmse(self, X: Any, *, events: Events | None = None, in_data: bool = False) -> float:
        """Residual energy relative to the energy of recordings minus their levels, where observed.

        Parameters
        ----------
        X : recordings
        events : Events or None
            Of these recordings; None: they are encoded.
        in_data : bool
            If recordings are whitened, energies are those of whitened ones; True: those in the
            units of the data.
        """
        opened = self.opened(X)
        model, left, total = self.model_, 0.0, 0.0
        events = model.encode(opened.signals) if events is None else events
        if model.noise is not None and not in_data:
            scores = events.scores / model.scale[events.component]
            events = replace(events, scores=scores)
            seen = model.seen(opened.signals)
            model = replace(model, data_weights=model.weights)
        else:
            seen = model.raw(opened.signals)
        for r, signal in enumerate(seen):
            for start in range(0, signal.n_points, 2**18):
                stop = min(signal.n_points, start + 2**18)
                Y = signal.read(start, stop)
                left += float(np.nansum((Y - model.render(events, r, start, stop)) ** 2))
                total += float(np.nansum(Y**2))
        return left / total if total > 0 else 1.0

    def score(self, X: Any, y: Any = None) -> float:
        """Share of the energy of recordings that their events explain: ``1 - resmse(X)``."""
        return 1.0 - self.resmse(X)

    def poses(self, events: Events) -> dict[str, np.ndarray]:
        """Where events are: ``start`` and ``centre`` of their windows, and their ``peak``, (n,).

        The peak is where the reconstructed event is farthest from zero. All are in the unit of time
        if that is known, such as seconds, and in points otherwise.
        """
        check_is_fitted(self)
        _check_events(events, self)
        W = self.model_.data_weights
        if self.shared_pose_:
            shapes = np.abs(np.einsum("eq,qlc->elc", events.scores, W[0]))
            peak = shapes.max(axis=2).argmax(axis=1)
        else:
            peak = np.abs(W[:, 0]).max(axis=2).argmax(axis=1)[events.component]
        time, step = events.time, events.step
        centre = time + (self.sample_shape_[0] - 1) / 2 * step
        return {"start": time, "centre": centre, "peak": time + peak * step}

    def to_sorting(self, events: Events, units: Any = None) -> Any:
        """Events as a NumpySorting of SpikeInterface, with spikes at their peaks.

        Parameters
        ----------
        events : Events
            Recordings become segments. Their rate must be known: from a recording of
            SpikeInterface, or by ``rate``.
        units : array (n,) or None
            The unit of each event, such as the kinds that :class:`MixtureGTPCA` found; None:
            ``events.component``.

        Returns
        -------
        NumpySorting
        """
        peak = self.poses(replace(events, axis=None))["peak"]
        if events.axis is None or events.axis.unit != "s":
            raise ValueError("events have no sampling rate: fit and encode with rate=..")
        units = events.component if units is None else units
        spikes = np.rint(peak).astype(np.int64)
        return sorting_of(spikes, units, events.recording, len(events.sizes), 1.0 / events.step)

    def cut(self, X: Any, events: Events, before: int = 0, after: int = 0) -> np.ndarray:
        """Windows around events, aligned: (n, before + L + after) or with channels behind.

        Suitable for the other estimators, averages and classifiers. In the units of the data,
        including levels; NaN beyond the ends of a recording.

        Parameters
        ----------
        X : recordings
        events : Events
            Of these recordings.
        before, after : int
            Additional points on either side.
        """
        opened = self.opened(X)
        _check_events(events, self)
        before, after = (checks.integer(n, v, 0) for n, v in (("before", before), ("after", after)))
        size = before + self.sample_shape_[0] + after
        out = np.full((len(events), size, self.n_channels_), np.nan)
        for i, (r, start) in enumerate(zip(events.recording, events.start - before, strict=True)):
            signal = opened.signals[int(r)]
            low, high = max(0, int(start)), min(signal.n_points, int(start) + size)
            out[i, low - int(start) : high - int(start)] = signal.read(low, high)
        return out.reshape(len(events), size, *self.sample_shape_[1:])

    def labelled_components(self) -> Any:
        """``components_``."""
        check_is_fitted(self)
        return self.components_

    # -- files and drawings -----------------------------------------------------------------------

    def plot_components(self, **how: Any) -> Any:
        """Plot the templates; see :func:`gtpca.plots.plot_components`."""
        from gtpca import plots

        return plots.plot_components(self, **how)

    def plot_events(self, X: Any, **how: Any) -> Any:
        """Plot a recording with its events; see :func:`gtpca.plots.plot_events`."""
        from gtpca import plots

        return plots.plot_events(self, X, **how)

    def plot_intervals(self, X: Any, **how: Any) -> Any:
        """Plot the times between events; see :func:`gtpca.plots.plot_intervals`."""
        from gtpca import plots

        return plots.plot_intervals(self, X, **how)


def _window_of(family):
    """The window of a family of shifts; an error for all others."""
    found: Any = as_family(family)
    plain = type(found) is Shift and np.ndim(found.window) == 0
    if not plain or found.window is None:
        raise ValueError(
            f"family={family!r} must be Shift(window=..) with one window: templates of that length "
            "occur at any place of a recording. For windows of it, other families go with GTPCA."
        )
    default = Shift(found.window)
    for name in ("boundary", "max_shift", "step"):
        if getattr(found, name) != getattr(default, name):
            raise ValueError(
                f"family={family!r}: {name} does not apply to recordings; leave it out."
            )
    if found.axes not in (None, 0, (0,), "time"):
        raise ValueError(f"family={family!r}: recordings move along time; leave axes out.")
    return found.window


def check_event_parameters(estimator) -> None:
    """Raise an error for parameters that make no sense."""
    checks.parameters(estimator, RULES)
    window = _window_of(estimator.family)
    if not isinstance(window, str):
        checks.integer("Shift: window", window, 2)


def check_lengths(opened: Opened, length: int) -> None:
    """Check that every recording is at least as long as a window."""
    for signal in opened.signals:
        if signal.n_points < length:
            turned = signal.n_channels >= length and not signal.turned
            hint = f" Its axes may be turned: give {signal.label}.T." if turned else ""
            raise ValueError(
                f"{signal.label} has {signal.n_points} points, less than the window of {length}; "
                f"give a longer recording or a shorter window.{hint}"
            )


def look_at(opened: Opened) -> list[str]:
    """Check recordings: raise an error if they are constant, return cautions if clipped."""
    found, alive, empty = [], False, True
    for signal in opened.signals:
        size = min(signal.n_points, 2**20)
        values = signal.read(0, size)
        values = values[:, ~np.isnan(values).all(axis=0)]
        if not values.size:
            continue
        empty = False
        low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
        alive |= bool(np.max(high - low) > CONSTANT * max(1.0, float(np.max(np.abs(high)))))
        at_ends = max(
            np.sum(values == end, axis=0)[high > low].max(initial=0) for end in (low, high)
        )
        several = np.unique(values[~np.isnan(values)][:4096]).size > 16
        if several and at_ends > max(CLIPPED * size, FEW_CLIPPED):
            found.append(wording.clipped(signal.label, at_ends / size))
    if not alive and all(signal.n_points <= 2**20 for signal in opened.signals):
        what = "no observed values" if empty else "nothing but constants"
        raise ValueError(f"X holds {what}: there is nothing to find events in.")
    return found


def drift_of(fit, signals, length) -> float:
    """For how many points noise keeps its sign, if these are many windows; 0 otherwise."""
    rates = [
        max(one.rate.max(), 0.5 / signal.n_points)
        for one, signal in zip(fit.noise, signals, strict=True)
        if signal.n_points >= FEW_WINDOWS * length and np.all(np.isfinite(one.sigma))
    ]
    rate = float(max(rates, default=1.0))
    return 0.5 / rate if rate * length < DRIFTING else 0.0


def _order(fit, scale):
    """Groups in descending order of the energy of their events."""
    energy = np.zeros(len(scale))
    for events in fit.placed:
        np.add.at(energy, events.group, np.sum(events.scores**2, axis=1))
    return np.argsort(-energy, kind="stable")


def _grid(opened: Opened, shape):
    """The grid of a template, and labels, if anything is known about them."""
    axis, size = opened.axis, shape[0]
    points = None if axis is None or axis.step is None else np.arange(size) * axis.step
    if axis is None and opened.channels is None:
        return shape, None
    time = Axis("time" if axis is None else axis.name, "" if axis is None else axis.unit, points)
    axes = (time,) if len(shape) == 1 else (time, Axis("channel", names=opened.channels))
    return Grid(shape, axes), Labels(axes, samples="event")


def _check_events(events, model) -> None:
    if not isinstance(events, Events):
        raise TypeError(f"events is a {type(events).__name__}; give what encode returned.")
    most = 0 if model.shared_pose_ else model.n_components_ - 1
    if len(events) and (
        events.component.max() > most or events.recording.max() >= len(events.sizes)
    ):
        raise ValueError("events are of another model: encode these recordings with this one.")

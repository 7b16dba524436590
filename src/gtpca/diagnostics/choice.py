"""``choose``: a window and a number of components for new samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state

from gtpca import checks
from gtpca.data.chunks import Chunk
from gtpca.data.rows import training_rows
from gtpca.diagnostics import wording
from gtpca.diagnostics.common import Diagnosis, each, excess, quietly, refit, seeds_from
from gtpca.diagnostics.kept import ResultCache, are_numbers, fingerprint
from gtpca.diagnostics.noise import noise_floor
from gtpca.diagnostics.poses import ends_of
from gtpca.diagnostics.warps import WarpChoice, choose_warp
from gtpca.diagnostics.wording import Commands
from gtpca.estimator import GTPCA
from gtpca.families import FreeWarp
from gtpca.families.text import as_family
from gtpca.model.coding import deflate
from gtpca.model.matching import match
from gtpca.operators.grid import axis_of
from gtpca.solvers.als import ALS

__all__ = ["Choice", "choose", "windows_between"]

RATIO = 1.25  # largest ratio of neighbouring windows
FINER = 1.12  # windows around the best one, once it is known
RULES = 3  # of a search: results stored by older versions are not used
MOST_BEYOND = 0.05  # share of the samples that may need a position which a window does not have
BY_NOISE = 0.95  # quantile of the explained shares of residuals, above which it is not noise
LEAST_PLACES = 0.25  # of the points of a sample: with fewer positions a window can hardly move
FEW_ROWS = 10  # in every fold
ROUGH_TOL = 1e-4  # of fits that only compare windows
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Choice(Diagnosis):
    """Suggested window and number of components.

    Attributes
    ----------
    windows : int array (w,)
        All windows that were tried, ascending; empty if the family has none.
    errors : array (w, n_folds)
        Held-out residual energy relative to the energy, for each, with ``n_components`` components,
        or the smallest number of them if no component is above noise. NaN in the second half of the
        folds for windows that are longer than the best one by more than half, or as much shorter.
    window : int or None
        The one with the smallest mean error among those that can move far enough, if there are any.
    flat : tuple of int
        The smallest and the largest of the windows around it that are equally good: the mean over
        folds of the difference between their error and that of ``window`` is at most its standard
        error. Folds are compared one by one, since some are harder than others for every window; so
        this standard error is much smaller than that of ``errors.mean(axis=1)``.
    n_components : int
        Number of components above noise; 0 if there are none.
    gains, band : array (k,)
        Share of the residual that each component explains, and the bar set by noise; NaN if not
        tested.
    level : float
        Of these tests.
    estimator : GTPCA
        The suggestion, not fitted.
    commands : Commands
        What may be run next.
    beyond : array (w,)
        Share of the held-out samples that each window cannot follow: the same components would
        match them best at a position where the window leaves the sample, and explain more there
        than they do of 95 % of the residuals. 0 if a window may leave the sample or is circular.
    ends : array (w,)
        Share of the held-out samples at the first or last position.
    tried : tuple of int
        The smallest and the largest of the windows and of the numbers of components to choose from,
        ``(window, window, k, k)``; ``(k, k)`` if there is no window.
    n_samples : int
    places, size : int or None
        Number of positions of ``window``, and of points of the sample; None if it is circular.
    step : float or None
        Length of one point in ``unit``, if that is known.
    unit : str
    """

    windows: np.ndarray
    errors: np.ndarray
    window: int | None
    flat: tuple[int, ...]
    n_components: int
    gains: np.ndarray
    band: np.ndarray
    level: float
    estimator: GTPCA
    commands: Commands
    beyond: np.ndarray
    ends: np.ndarray
    tried: tuple[int, ...]
    n_samples: int
    places: int | None = None
    size: int | None = None
    step: float | None = None
    unit: str = ""

    @property
    def confined(self) -> np.ndarray:
        """Which windows cannot move far enough, bool (w,)."""
        return self.beyond > MOST_BEYOND

    @property
    def doubts(self) -> list[str]:
        """Reasons not to take the suggestion as it is, a clause each."""
        return wording.choice_doubts(self, MOST_BEYOND, LEAST_PLACES, FEW_ROWS)

    @property
    def table(self) -> dict[str, np.ndarray]:
        """One row per window, by the names of the columns.

        ``more`` is the excess of the error over that of the best window, and ``+-`` the standard
        error of this difference over folds.
        """
        if self.window is None:
            number = np.arange(1, len(self.gains) + 1)
            columns = {"component": number, "gain": self.gains, "noise": self.band}
            return columns | {"real": number <= self.n_components}
        best = self.windows == self.window
        more, spread = excess(self.errors, int(best.argmax()))
        inside = (self.windows >= self.flat[0]) & (self.windows <= self.flat[1])
        inside &= ~self.confined | self.confined[best]
        columns = {"window": self.windows}
        if self.step is not None:
            columns[f"window ({self.unit})"] = self.windows * self.step
        columns |= {"error": self.errors[best].mean() + more, "more": more, "+-": spread}
        return columns | {"flat": inside, "beyond": self.beyond, "best": best}

    def said(self, commands) -> str:
        """The sentence, with one of the ``commands``."""
        return wording.choice(self, commands)

    def plot(self, ax=None):
        """Draw errors over windows; see :func:`gtpca.plots.plot_choice`."""
        from gtpca.plots import plot_choice

        return plot_choice(self, ax=ax)


@dataclass(frozen=True, eq=False)
class Search:
    """What all steps of a search share.

    Parameters
    ----------
    estimator : GTPCA
    name : str or None
        Name of the window among its parameters.
    samples : array (n, \\*sample_shape)
    labels : Labels or None
    folds : list of (train, test)
    kept : ResultCache
    run : callable
        :func:`~gtpca.diagnostics.common.each` with threads and progress.
    test : callable
        :func:`noise_floor` with all arguments but model and samples.
    told : dict
        Parameters of the estimator as the user gave them, for the command to run next.
    skips : bool
        Whether windows are a grid, of which not all need to be tried.
    """

    estimator: GTPCA
    name: str | None
    samples: np.ndarray
    labels: Any
    folds: list
    kept: ResultCache
    run: Callable
    test: Callable
    told: dict[str, Any]
    skips: bool = False

    def model(self, window, count) -> GTPCA:
        """An estimator with a window and a number of components."""
        how = {} if window is None else {str(self.name): window}
        return clone(self.estimator).set_params(n_components=count, **how)

    def tried(self, window, count) -> GTPCA:
        """The same for a fit of the search, which does not start more often than it is told to."""
        model = self.model(window, count)
        if model.n_restarts == "auto":
            model.set_params(n_restarts=1)
        if model.solver is None:
            model.set_params(solver=ALS(tol=ROUGH_TOL))
        return model

    def held_out(self, case) -> dict[str, float]:
        """Results on held-out samples for a window, a number of components and a fold."""
        return self.kept.get(case, partial(self._held_out, **case), _is_held_out)

    def _held_out(self, window, n_components, fold):
        train, test = self.folds[fold]
        model = refit(self.tried(window, n_components), self.samples[train], self.labels)
        codes, energies = model.measure(self.samples[test])
        shares, _ = ends_of(model, codes.index[:, :1])
        return {
            "error": float(energies[:, -1].sum() / max(energies[:, 0].sum(), TINY)),
            "ends": max((float(share[0]) for share in shares.values()), default=0.0),
            "beyond": self._beyond(model, window, self.samples[test]),
        }

    def _beyond(self, model, window, samples) -> float:
        """Share of the samples that match best where the window would leave them."""
        if window is None or self.estimator.get_params()[self._boundary] != "valid":
            return 0.0
        within = model.operator_
        free = clone(model).set_params(**{self._boundary: "partial"}).bind(within.grid)
        chunks = model.chunks(samples)
        rows = chunks.take(np.arange(chunks.n_rows)).rows
        [block, *_] = replace(model.model_, operator=free).blocks(rows.dtype)
        chunk = Chunk(rows, free)
        found, left = match(chunk, block), match(deflate(chunk, block), block)
        clear = found.explained > np.quantile(left.explained, BY_NOISE)
        return float(np.mean(clear & _outside(within, free, found.index)))

    def look(self, windows, count, folds) -> dict[int, list]:
        """Results on held-out samples of some folds for several windows, fold by fold."""
        cases = [
            {"window": int(window), "n_components": count, "fold": fold}
            for window in windows
            for fold in folds
        ]
        text = f"windows with {count} components"
        found = iter(self.run(self.held_out, cases, text=text))
        return {int(window): [next(found) for _ in folds] for window in windows}

    def best_window(self, windows, count, around=None) -> dict[int, list]:
        """What is known of windows, ascending, after a closer look around the best of them.

        Of a grid every second window is tried, then the neighbours of the best one. Where none can
        move far enough, shorter ones are tried. With ``around``, windows between the best one and
        its neighbours follow; then those that are at most two steps from the best are tried in all
        folds, the others in half of them.

        Parameters
        ----------
        windows : list of int
        count : int
            Number of components.
        around : int or None
            A window; others are tried first up to half and twice as long. None: all, in one fold.
        """
        folds = range(1 if around is None else (len(self.folds) + 1) // 2)
        first = {*windows[:: 2 if self.skips else 1], *([windows[-1]] if around is None else [])}
        if around is not None:
            first = {w for w in first if around / 2 <= w <= 2 * around} | {around}
        found = self.look(sorted(first), count, folds)
        while more := _beside(found, windows, self.skips):
            found |= self.look(more, count, folds)
        if around is not None:
            best = _best(found)
            between = {round(best * FINER), round(best / FINER)}
            inside = [w for w in between if windows[0] <= w <= windows[-1] and w not in found]
            found |= self.look(sorted(inside), count, folds)
            found |= self.look(_near(found), count, range(len(self.folds)))
            while len(found[_best(found)]) < len(self.folds):  # all of those turned out unable
                found |= self.look(_near(found), count, range(len(self.folds)))
        return dict(sorted(found.items()))

    def real(self, window, most) -> dict[str, Any]:
        """Number, gains and band of components above noise, and the windows for which they hold.

        They hold for windows that are at most a step longer or shorter. In one pose they are
        counted with a window that is a step longer and may reach beyond the ends of samples: what a
        window misses of the patterns is no noise, be it too short for them, or be it that it does
        not fit where they are near an end.
        """
        case: dict[str, Any] = {"window": window, "most": int(most)}
        holds = (0, 0) if window is None else (window / RATIO, max(window + 1, window * RATIO))
        if self._may_be_longer(window):
            case |= {"window": max(window + 1, round(window * RATIO)), "boundary": "partial"}
        good = partial(_is_real, most=most)
        return self.kept.get(case, partial(self._real, **case), good) | {"holds": holds}

    def _may_be_longer(self, window):
        """Whether components are counted with a longer window."""
        shared = window is not None and self.estimator.shared_pose
        return shared and self.estimator.get_params()[self._boundary] != "circular"

    def room(self, window) -> dict[str, Any]:
        """The number of positions of a window, of points, and the length of one point."""
        if window is None:
            return {}
        grid = _grid(self.samples, self.labels)
        operator = self.model(window, 1).bind(grid)
        axis = min(operator.moved_axes, key=lambda axis: grid[axis])
        known = axis_of(grid, axis)
        step = abs(known.step) if known.unit and known.step else None
        units = {"step": step, "unit": known.unit}
        if self.estimator.get_params()[self._boundary] == "circular":
            return units
        poses = operator.describe(np.arange(operator.n_transforms))
        starts = [np.unique(poses[name]) for name in poses if name.startswith("start")]
        return units | {"places": min(map(len, starts)), "size": int(grid[axis])}

    @property
    def _boundary(self):
        """Name of the boundary among the parameters of the estimator."""
        return str(self.name).removesuffix("window") + "boundary"

    def _real(self, window, most, boundary=None):
        how = {} if boundary is None else {self._boundary: boundary}
        model = self.tried(window, most).set_params(**how)
        found = self.test(refit(model, self.samples, self.labels), self.samples)
        return {"n": found.n_real, "gains": found.gains.tolist(), "band": found.band.tolist()}


def _is_held_out(result) -> bool:
    """Whether a result is what held-out samples say: an error, and shares of the samples."""
    if not isinstance(result, dict) or result.keys() != {"error", "ends", "beyond"}:
        return False
    return all(type(value) is float and 0 <= value < np.inf for value in result.values())


def _is_real(result, most) -> bool:
    """Whether a result is the number, gains and band of components above noise."""
    if not isinstance(result, dict) or result.keys() != {"n", "gains", "band"}:
        return False
    lists = [found for found in (result["gains"], result["band"]) if isinstance(found, list)]
    alike = len(lists) == 2 and len(lists[0]) == len(lists[1]) and all(map(are_numbers, lists))
    return alike and type(result["n"]) is int and 0 <= result["n"] <= most


def choose(
    X,
    family="shift",
    windows=None,
    n_components=(1, 5),
    *,
    n_folds=4,
    n_surrogates=19,
    surrogate="innovations",
    level=0.05,
    kept=None,
    n_jobs=None,
    random_state=0,
    progress=None,
    **parameters,
) -> Choice | WarpChoice:
    """Choose the window by held-out error, and the number of components by what noise explains.

    The window is the one with the smallest cross-validated error at a fixed number of components:
    first the smallest number, then the one that was found. Held-out error decreases with every
    component, so it cannot determine their number: instead, components are counted that explain
    more than in surrogates (:func:`noise_floor`), with the window that was found, or one within a
    quarter of it; with ``shared_pose=True``, with one that is a quarter longer and may extend
    beyond the ends of samples, so that it misses nothing.

    A window that must stay inside the sample and is nearly as long cannot follow a pattern to all
    positions, however small its error is. Windows that 5 % of the samples would have to leave are
    chosen only if there is no other, and the sentence says so. The sentence and a warning also
    report if the window or the number of components is at the end of the range that was tried, if
    the window can hardly move, if poses accumulate at its ends, or if there are few samples.
    Components are counted on the samples that were used to choose the window, and the level is not
    corrected for that.

    Free warps have knots instead of a window: for :class:`~gtpca.FreeWarp`, this is
    :func:`choose_warp`.

    Parameters
    ----------
    X : array (n, \\*sample_shape)
        Held in memory as a whole.
    family : Family or str
        With any window, which is replaced.
    windows : tuple (smallest, largest), sequence of int, or None
        A pair is a grid of neighbours of ratio at most 1.25, of which every second one is tried,
        and all around the best; windows of a longer sequence are all tried. None: from an eighth
        of the shortest moved axis (at least 4 points, if it has more) to all but a twentieth of
        it. For families
        without a window nothing is tried.
    n_components : tuple (smallest, largest) or int
    n_folds : int
        Of the cross-validation.
    n_surrogates, surrogate, level
        See :func:`noise_floor`.
    kept : path or None
        A file with one line for every fit: an interrupted search continues from there.
    n_jobs : int or None
        Threads, over fits.
    random_state : int, RandomState or None
    progress : callable or None
        Such as ``tqdm``: ``progress(iterable, total=.., desc=..)``.
    **parameters
        Of :class:`~gtpca.GTPCA`, such as ``shared_pose=True``.

    Returns
    -------
    Choice, or WarpChoice of free warps

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca.diagnostics import choose
    >>> rng = np.random.default_rng(0)
    >>> X = 0.5 * rng.standard_normal((60, 60))
    >>> for i in range(60):
    ...     X[i, i % 50 : i % 50 + 10] += [2, 3, -1, 0, 4, 4, 1, -2, -3, -2]
    >>> found = choose(X, "shift", windows=(6, 20), n_components=(1, 2), n_folds=2)
    >>> found.window, found.n_components
    (10, 1)
    """
    if isinstance(as_family(family), FreeWarp):
        if windows is not None or kept is not None:
            raise ValueError("FreeWarp has no window to choose: leave out windows and kept.")
        return choose_warp(
            X,
            family,
            n_components=n_components,
            n_folds=n_folds,
            n_jobs=n_jobs,
            random_state=random_state,
            progress=progress,
            **parameters,
        )
    low, high = _range("n_components", n_components)
    seed = seeds_from(check_random_state(random_state), 1)[0]
    estimator = GTPCA(low, as_family(family), random_state=seed, **parameters)
    samples, labels = _read(clone(estimator), X)
    told = {"random_state": random_state, "n_jobs": n_jobs}
    told["sample_shape"] = estimator.sample_shape
    estimator.set_params(sample_shape=None)
    name = _window_name(estimator)
    folds = list(KFold(_n_folds(n_folds, samples), shuffle=True, random_state=seed).split(samples))
    tests = {"n_surrogates": n_surrogates, "surrogate": surrogate, "level": level}
    settings = (RULES, repr(clone(estimator)), len(folds), repr(tests), seed)
    test = partial(
        noise_floor, verdict_only=True, random_state=seed, n_jobs=n_jobs, progress=progress, **tests
    )
    run = partial(each, n_jobs=n_jobs, progress=progress)
    store = ResultCache(kept, fingerprint(samples, *settings))
    grid, skips = _windows(windows, estimator, _grid(samples, labels)) if name else ([], False)
    search = Search(estimator, name, samples, labels, folds, store, run, test, told, skips)
    found = _chosen(search, grid, low, high, level)
    for doubt in found.doubts:
        checks.warn(f"choose: {doubt}.", UserWarning)
    return found


@quietly
def _read(estimator, X):
    """Samples (n, \\*sample_shape) and their labels, as ``fit`` reads them."""
    rows, _, shape = training_rows(estimator, X, estimator.sample_shape)
    samples = rows.take(np.arange(rows.n_rows)).astype(np.float64, copy=False)
    labels = None if rows.container is None else rows.container.labels
    return samples.reshape(-1, *shape), labels


@quietly
def _chosen(search, grid, low, high, level):
    """Window and number of components, each given what was found for the other."""
    found: dict[int, list] = {}
    window: Any = None
    if len(grid):
        window = _best(search.best_window(grid, low))
    real = search.real(window, high)
    if len(grid):
        found = search.best_window(grid, max(low, real["n"]), window)
        window, (shortest, longest) = _best(found), real["holds"]
        if not shortest <= window <= longest:
            real = search.real(window, high)
    estimator = search.model(window, max(low, real["n"]))
    estimator.set_params(sample_shape=search.told["sample_shape"])
    errors = {size: _errors(folds, len(search.folds)) for size, folds in found.items()}
    able = [size for size in found if _is_able(found[size])] or list(found)
    return Choice(
        windows=np.array(list(found), dtype=int),
        errors=np.array(list(errors.values())).reshape(-1, len(search.folds)),
        window=window,
        flat=_flat({size: errors[size] for size in able}, window),
        n_components=real["n"],
        gains=np.array(real["gains"]),
        band=np.array(real["band"]),
        level=level,
        estimator=estimator,
        commands=Commands.of(clone(estimator).set_params(**search.told)),
        beyond=np.array([_mean(folds, "beyond") for folds in found.values()]),
        ends=np.array([_mean(folds, "ends") for folds in found.values()]),
        tried=(*((grid[0], grid[-1]) if len(grid) else ()), low, high),
        n_samples=len(search.samples),
        **search.room(window),
    )


def _mean(folds, name) -> float:
    """The mean over folds of the results on held-out samples."""
    return float(np.mean([one[name] for one in folds]))


def _errors(folds, n_folds):
    """The error in every fold, (n_folds,); NaN in those that were not run."""
    known = [one["error"] for one in folds]
    return np.array(known + [np.nan] * (n_folds - len(known)))


def _is_able(folds) -> bool:
    """Whether a window can move far enough."""
    return _mean(folds, "beyond") <= MOST_BEYOND


def _best(found):
    """The window with the smallest mean error, of those that can move far enough if any can.

    Of these, only those that were tried in the most folds.
    """
    able = [window for window in found if _is_able(found[window])] or list(found)
    most = max(len(found[window]) for window in able)
    tried = [window for window in able if len(found[window]) == most]
    return min(tried, key=lambda window: _mean(found[window], "error"))


def _near(found):
    """Windows at most two steps from the best one, ascending."""
    best = _best(found)
    return sorted(w for w in found if best / RATIO**2 <= w <= best * RATIO**2)


def _beside(found, windows, skips) -> list[int]:
    """Windows to try after those that were ``found``: the neighbours of the best one.

    Where it cannot move far enough, the next shorter one.
    """
    best, rest = _best(found), [window for window in windows if window not in found]
    shorter = [window for window in rest if window < best]
    if not _is_able(found[best]):
        return shorter[-1:]
    if not skips:
        return []
    place = windows.index(best)
    return [window for window in windows[max(place - 1, 0) : place + 2] if window in rest]


def _outside(within, free, index):
    """Which of the transforms ``index`` (n,) of an operator are beyond the range of another's."""
    found, outside = free.describe(index), np.zeros(len(index), dtype=bool)
    for name, possible in within.describe(np.arange(within.n_transforms)).items():
        if possible.dtype.kind in "iufM":
            outside |= (found[name] < possible.min()) | (found[name] > possible.max())
    return outside


def _flat(errors, window):
    """The range of windows around the best whose errors are not clearly larger."""
    if window is None:
        return ()
    sizes = np.array(list(errors))
    place = int(np.flatnonzero(sizes == window)[0])
    more, spread = excess(np.array(list(errors.values())), place)
    near = more <= spread
    below, above = np.flatnonzero(~near[:place]), np.flatnonzero(~near[place:])
    first = below[-1] + 1 if len(below) else 0
    last = place + above[0] - 1 if len(above) else len(sizes) - 1
    return int(sizes[first]), int(sizes[last])


def _range(label, given) -> tuple[int, int]:
    """A pair of integers, the first of which is not larger."""
    pair = (given, given) if np.ndim(given) == 0 else tuple(given)
    if len(pair) != 2:
        raise ValueError(f"{label}={given!r} must be a pair (smallest, largest) or an integer.")
    low = checks.integer(f"{label}[0]", pair[0], 1)
    return low, checks.integer(f"{label}[1]", pair[1], low)


def _n_folds(n_folds, samples):
    count = checks.integer("n_folds", n_folds, 2)
    if len(samples) < 2 * count:
        raise ValueError(
            f"n_folds={count} needs at least {2 * count} samples, but X has {len(samples)}."
        )
    return count


def _window_name(estimator):
    """The parameter that is the window; None if the family has none."""
    names = as_family(estimator.family).windows
    return f"family__{min(names, key=len)}" if names else None


def _grid(samples, labels):
    """The shape of a sample, with what is known about its axes."""
    shape = samples.shape[1:]
    return shape if labels is None else labels.grid(shape)


def _windows(windows, estimator, grid):
    """The windows to choose from, ascending, and whether they are a grid of which some will do."""
    if windows is None:
        size = min(grid[axis] for axis in as_family(estimator.family).bind(grid).moved_axes)
        if size == 1:
            raise ValueError(
                f"samples of shape {tuple(grid)} have a single point along an axis that moves: "
                "no window can be chosen. Give X or sample_shape another shape, or "
                "family='identity'."
            )
        longest = size - max(1, size // 20)
        return windows_between(min(longest, max(4, size // 8)), longest), True
    if isinstance(windows, Sequence | np.ndarray) and len(windows) == 2:
        return windows_between(*_range("windows", windows)), True
    return sorted({checks.integer("windows", window, 1) for window in np.ravel(windows)}), False


def windows_between(low: int, high: int, ratio: float = RATIO) -> list[int]:
    """Integers from ``low`` to ``high``, neighbours of a ratio of at most ``ratio``, or 1 apart.

    Examples
    --------
    >>> from gtpca.diagnostics.choice import windows_between
    >>> windows_between(16, 64)
    [16, 20, 25, 31, 38, 47, 58, 64]
    """
    found = [int(low)]
    while found[-1] < high:
        found.append(min(int(high), max(found[-1] + 1, int(found[-1] * ratio))))
    return found

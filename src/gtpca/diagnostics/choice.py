"""``choose``: a window and a number of components for samples that nobody has looked at yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state

from gtpca import checks
from gtpca.data.rows import training_rows
from gtpca.diagnostics import wording
from gtpca.diagnostics.common import Found, each, quietly, refit, seeds_from
from gtpca.diagnostics.kept import Kept, fingerprint
from gtpca.diagnostics.noise import noise_floor
from gtpca.estimator import GTPCA
from gtpca.families.text import as_family

__all__ = ["Choice", "choose", "window_grid"]

RATIO = 1.25  # of neighbouring windows, at most
FINER = (1.12, 1.06)  # windows beside the best one, once it is known


@dataclass(frozen=True, eq=False)
class Choice(Found):
    """Suggested window and number of components.

    Attributes
    ----------
    windows : int array (w,)
        All that were tried, ascending; empty if the family has none.
    errors : array (w, n_folds)
        Held-out residual energy over energy of each, with ``n_components`` components, or the
        smallest number of them where no component is above noise.
    window : int or None
        That with the smallest mean error.
    flat : tuple of int
        The smallest and the largest of the run of windows around it that are as good: the mean over
        folds of how much larger their error is than that of ``window`` is at most its standard
        error. Folds are compared one by one, since some are harder than others for every window;
        so this error is much smaller than that of ``errors.mean(axis=1)``.
    n_components : int
        How many components are above noise; 0 if none is.
    gains, band : array (k,)
        Share of what is left that each component explains, and the bar that noise sets; NaN where
        nothing was tested.
    level : float
        Of these tests.
    estimator : GTPCA
        The suggestion, not fitted.
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

    @property
    def table(self) -> dict[str, np.ndarray]:
        """One row per window, by the names of the columns.

        ``more`` is how much larger the error is than that of the best window, and ``+-`` the
        standard error of this difference over folds.
        """
        if self.window is None:
            number = np.arange(1, len(self.gains) + 1)
            columns = {"component": number, "gain": self.gains, "noise": self.band}
            return columns | {"real": number <= self.n_components}
        best = self.windows == self.window
        more, spread = _excess(self.errors, self.errors[best])
        inside = (self.windows >= self.flat[0]) & (self.windows <= self.flat[1])
        columns = {"window": self.windows, "error": self.errors.mean(axis=1), "more": more}
        return columns | {"+-": spread, "flat": inside, "best": best}

    def advice(self, model="MODEL", data="DATA") -> str:
        """The sentence with the names of files."""
        return wording.choice(self, model, data)

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
        What the window is called among its parameters.
    samples : array (n, \\*sample_shape)
    labels : Labels or None
    folds : list of (train, test)
    kept : Kept
    run : callable
        :func:`~gtpca.diagnostics.common.each` with threads and progress.
    test : callable
        :func:`noise_floor` with all but model and samples.
    """

    estimator: GTPCA
    name: str | None
    samples: np.ndarray
    labels: Any
    folds: list
    kept: Kept
    run: Callable
    test: Callable

    def model(self, window, count) -> GTPCA:
        """An estimator with a window and a number of components."""
        how = {} if window is None else {str(self.name): window}
        return clone(self.estimator).set_params(n_components=count, **how)

    def error(self, case) -> float:
        """Held-out error of a window, a number of components and a fold."""
        return self.kept.get(case, partial(self._error, **case))

    def _error(self, window, n_components, fold):
        train, test = self.folds[fold]
        model = refit(self.model(window, n_components), self.samples[train], self.labels)
        return float(model.resmse(self.samples[test])[-1])

    def errors(self, windows, count) -> dict[int, list[float]]:
        """Errors of all folds by window."""
        n_folds = len(self.folds)
        cases = [
            {"window": int(window), "n_components": count, "fold": fold}
            for window in windows
            for fold in range(n_folds)
        ]
        text = f"windows with {count} components"
        found = np.reshape(list(self.run(self.error, cases, text=text)), (-1, n_folds))
        return dict(zip(map(int, windows), found.tolist(), strict=True))

    def best_window(self, windows, count) -> dict[int, list[float]]:
        """Errors by window, after a closer look around the best of them."""
        found = self.errors(windows, count)
        best = min(found, key=lambda window: np.mean(found[window]))
        near = {round(best * r) for r in FINER} | {round(best / r) for r in FINER}
        inside = [w for w in near if min(windows) <= w <= max(windows) and w not in found]
        found |= self.errors(sorted(inside), count)
        return dict(sorted(found.items()))

    def real(self, window, most) -> dict[str, Any]:
        """Number, gains and band of components above noise, and the windows for which they hold.

        In one pose they are counted with a window that is a step longer and may reach beyond the
        ends of samples: what a window misses of the patterns is no noise, be it too short for
        them, or be it that it does not fit where they are near an end.
        """
        case, holds = {"window": window, "most": int(most)}, (window, window)
        if self._may_be_longer(window):
            case |= {"window": max(window + 1, round(window * RATIO)), "boundary": "partial"}
            holds = (window / RATIO, case["window"])
        return self.kept.get(case, partial(self._real, **case)) | {"holds": holds}

    def _may_be_longer(self, window):
        """Whether components are counted with a longer window."""
        shared = window is not None and self.estimator.shared_pose
        return shared and self.estimator.get_params()[self._boundary] != "circular"

    @property
    def _boundary(self):
        """What the boundary is called among the parameters of the estimator."""
        return str(self.name).removesuffix("window") + "boundary"

    def _real(self, window, most, boundary=None):
        how = {} if boundary is None else {self._boundary: boundary}
        model = self.model(window, most).set_params(**how)
        found = self.test(refit(model, self.samples, self.labels), self.samples)
        return {"n": found.n_real, "gains": found.gains.tolist(), "band": found.band.tolist()}


@quietly
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
) -> Choice:
    """Choose the window by held-out error, and the number of components by what noise explains.

    The window is that with the smallest cross-validated error at a fixed number of components: the
    smallest number first, then that which was found. Held-out error falls with every component,
    and cannot choose their number: components are counted that explain more than in surrogates
    (:func:`noise_floor`), at the window that was found; with ``shared_pose=True`` at one that is a
    quarter longer and may reach beyond the ends of samples, so that it misses nothing.

    Parameters
    ----------
    X : array (n, \\*sample_shape)
        All of it is held in memory.
    family : Family or str
        With any window: it is replaced.
    windows : tuple (smallest, largest), sequence of int, or None
        A pair is a grid of neighbours of ratio at most 1.25. None: from an eighth of the shortest
        moved axis (at least 4 points) to all but a twentieth of it. For families without a window
        nothing is tried.
    n_components : tuple (smallest, largest) or int
    n_folds : int
        Of the cross-validation.
    n_surrogates, surrogate, level
        See :func:`noise_floor`.
    kept : path or None
        A file with one line for every fit: a search that was interrupted goes on from there.
    n_jobs : int or None
        Threads, over fits.
    random_state : int, RandomState or None
    progress : callable or None
        Such as ``tqdm``: ``progress(iterable, total=.., desc=..)``.
    **parameters
        Of :class:`~gtpca.GTPCA`, such as ``shared_pose=True``.

    Returns
    -------
    Choice

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
    low, high = _range("n_components", n_components)
    seed = seeds_from(check_random_state(random_state), 1)[0]
    estimator = GTPCA(low, as_family(family), random_state=seed, **parameters)
    samples, labels = _read(clone(estimator), X)
    estimator.set_params(sample_shape=None)
    name = _window_name(estimator)
    folds = list(KFold(_n_folds(n_folds, samples), shuffle=True, random_state=seed).split(samples))
    tests = {"n_surrogates": n_surrogates, "surrogate": surrogate, "level": level}
    settings = (repr(clone(estimator)), len(folds), repr(tests), seed)
    test = partial(
        noise_floor, verdict_only=True, random_state=seed, n_jobs=n_jobs, progress=progress, **tests
    )
    run = partial(each, n_jobs=n_jobs, progress=progress)
    store = Kept(kept, fingerprint(samples, *settings))
    search = Search(estimator, name, samples, labels, folds, store, run, test)
    grid = [] if name is None else _windows(windows, estimator, samples.shape[1:], labels)
    return _chosen(search, grid, low, high, level)


def _read(estimator, X):
    """Samples (n, \\*sample_shape) and their labels, as ``fit`` reads them."""
    rows, _, shape = training_rows(estimator, X, estimator.sample_shape)
    samples = rows.take(np.arange(rows.n_rows)).astype(np.float64, copy=False)
    labels = None if rows.container is None else rows.container.labels
    return samples.reshape(-1, *shape), labels


def _chosen(search, grid, low, high, level):
    """Window and number of components, each at what was found of the other."""
    errors: dict[int, list[float]] = {}
    window: Any = None
    if len(grid):
        errors = search.best_window(grid, low)
        window = _best(errors)
    real = search.real(window, high)
    if len(grid) and max(low, real["n"]) != low:
        near = [size for size in grid if window / 2 <= size <= 2 * window]
        errors = search.best_window(near, real["n"])
        window, (shortest, longest) = _best(errors), real["holds"]
        if not shortest <= window <= longest:
            real = search.real(window, high)
    return Choice(
        windows=np.array(list(errors), dtype=int),
        errors=np.array(list(errors.values())).reshape(-1, len(search.folds)),
        window=window,
        flat=_flat(errors, window),
        n_components=real["n"],
        gains=np.array(real["gains"]),
        band=np.array(real["band"]),
        level=level,
        estimator=search.model(window, max(low, real["n"])),
    )


def _best(errors):
    """The window with the smallest mean error."""
    return min(errors, key=lambda window: np.mean(errors[window]))


def _excess(errors, best):
    """Mean over folds of ``errors`` (w, n_folds) less those of the best, and its standard error."""
    more = errors - best
    return more.mean(axis=1), more.std(axis=1, ddof=1) / np.sqrt(errors.shape[1])


def _flat(errors, window):
    """The run of windows around the best whose errors are not clearly larger."""
    if window is None:
        return ()
    sizes = np.array(list(errors))
    more, spread = _excess(np.array(list(errors.values())), np.array(errors[window]))
    near = more <= spread
    place = int(np.flatnonzero(sizes == window)[0])
    below, above = np.flatnonzero(~near[:place]), np.flatnonzero(~near[place:])
    first = below[-1] + 1 if len(below) else 0
    last = place + above[0] - 1 if len(above) else len(sizes) - 1
    return int(sizes[first]), int(sizes[last])


def _range(label, given) -> tuple[int, int]:
    """A pair of integers, of which the first is not larger."""
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
    names = [name for name in estimator.get_params() if name.endswith("__window")]
    return min(names, key=len) if names else None


def _windows(windows, estimator, shape, labels):
    """The windows that are tried, ascending."""
    if windows is None:
        size = min(shape[axis] for axis in _moved(estimator, shape, labels))
        return window_grid(max(4, size // 8), max(4, size - max(1, size // 20)))
    if isinstance(windows, Sequence | np.ndarray) and len(windows) == 2:
        return window_grid(*_range("windows", windows))
    return sorted({checks.integer("windows", window, 1) for window in np.ravel(windows)})


def _moved(estimator, shape, labels):
    """The axes that a family moves."""
    grid = shape if labels is None else labels.grid(shape)
    return as_family(estimator.family).bind(grid).moved_axes


def window_grid(low: int, high: int, ratio: float = RATIO) -> list[int]:
    """Integers from ``low`` to ``high``, neighbours of a ratio of at most ``ratio``, or 1 apart.

    Examples
    --------
    >>> from gtpca.diagnostics.choice import window_grid
    >>> window_grid(16, 64)
    [16, 20, 25, 31, 38, 47, 58, 64]
    """
    found = [int(low)]
    while found[-1] < high:
        found.append(min(int(high), max(found[-1] + 1, int(found[-1] * ratio))))
    return found

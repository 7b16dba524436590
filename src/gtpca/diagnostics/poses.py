"""``pose_confidence``: how much better the best pose of every sample is than the next best."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from scipy import ndimage
from sklearn.utils.validation import check_is_fitted

from gtpca.data.codes import Codes
from gtpca.data.energies import n_hidden
from gtpca.data.rows import counted
from gtpca.diagnostics import wording
from gtpca.diagnostics.common import Diagnosis, directions, is_density
from gtpca.diagnostics.energies import noise_levels, pose_energies
from gtpca.diagnostics.wording import Commands
from gtpca.fitting.cautions import has_ends, scale_of
from gtpca.model.coding import deflate, projection, sweep
from gtpca.model.matching import make_block, match
from gtpca.model.posterior import moved, with_one
from gtpca.model.probabilistic import encode as density_encode
from gtpca.model.probabilistic import pose_summary
from gtpca.operators.poses import has_own_search
from gtpca.views.measures import MOST_TRANSFORMS, pose_columns

__all__ = ["PoseConfidence", "ends_of", "pose_confidence"]

CLEAR = float(np.log(19))  # odds of 19 to 1: the other pose has 5 % of the two
LOBE = 0.25  # a pose that sees this much of another, without a dip between them, is the same
MOST_AMBIGUOUS = 0.1  # share of the samples
TINY = 1e-300
FLOOR = 1e-12  # noise below this share of the largest energy is rounding


@dataclass(frozen=True, eq=False)
class PoseConfidence(Diagnosis):
    """How certain the poses of ``n`` samples are, for ``p`` components, or all if they share one.

    Attributes
    ----------
    index : int array (n, p)
        The best transform.
    margin : array (n, p)
        How much more likely it is than the best *distinct* alternative, in nats; infinite if there
        is none.
    ambiguous : array (p,)
        Share of the samples with a margin below ``clear``.
    ends : dict of str to array (p,)
        Share of the samples at the first or last value, for every quantity that has ends.
    end_bars : dict of str to float
        What these shares are compared with.
    clear : float
    commands : Commands
        What may be run next.
    """

    index: np.ndarray
    margin: np.ndarray
    ambiguous: np.ndarray
    ends: dict[str, np.ndarray]
    end_bars: dict[str, float]
    clear: float
    commands: Commands

    @property
    def table(self) -> dict[str, np.ndarray]:
        """One row per component, by the names of the columns."""
        number, middle = np.arange(1, len(self.ambiguous) + 1), np.median(self.margin, axis=0)
        columns = {"component": number, "median margin": middle, "ambiguous": self.ambiguous}
        return columns | {f"{name} at ends": share for name, share in self.ends.items()}

    @property
    def passed(self) -> bool:
        """Whether poses are clear, and few of them are at the ends of their range."""
        ends = any(np.any(v > self.end_bars[name]) for name, v in self.ends.items())
        return not ends and bool(np.all(self.ambiguous <= MOST_AMBIGUOUS))

    def said(self, commands) -> str:
        """The sentence, with one of the ``commands``."""
        return wording.pose_confidence(self, commands, MOST_AMBIGUOUS)

    def plot(self, ax=None):
        """Draw the margins; see :func:`gtpca.plots.plot_pose_confidence`."""
        from gtpca.plots import plot_pose_confidence

        return plot_pose_confidence(self, ax=ax)


def pose_confidence(model, X, *, n_jobs=None, progress=None) -> PoseConfidence:
    """Compare the best pose of every sample with the best *distinct* alternative.

    With ``e_t`` the energy of a sample that a component explains under transform ``t``, and ``s^2``
    its mean in the residual of all components (noise, as the component sees it), the margin of the
    best transform over another is ``(e_best - e_other) / (2 s^2)``: in white noise, the logarithm
    of their odds. For a density it is computed from its probabilities. Poses in the same local
    maximum as the best one do not count as alternatives: neighbours in which a component sees at
    least a quarter of its own energy, with no dip below that in between.

    Parameters
    ----------
    model : GTPCA or ProbabilisticGTPCA
        Fitted.
    X : array (n, \\*sample_shape) or (n, d)
        Without gaps.
    n_jobs : int or None
        Threads over chunks; None is that of the model.
    progress : callable or None
        Such as ``tqdm``: ``progress(iterable, total=.., desc=..)``, over two passes.

    Returns
    -------
    PoseConfidence

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import GTPCA, Shift
    >>> from gtpca.diagnostics import pose_confidence
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 40))
    >>> for i in range(60):
    ...     X[i, i % 30 : i % 30 + 8] += 9 * np.hanning(8)
    >>> model = GTPCA(1, Shift(window=8), random_state=0).fit(X)
    >>> bool(pose_confidence(model, X).ambiguous[0] < 0.05)
    True
    """
    check_is_fitted(model)
    if has_own_search(model.operator_):
        raise ValueError(wording.OWN_POSES)
    chunks = _with_jobs(model, n_jobs).chunks(counted(X, model))
    if chunks.sum(n_hidden):
        raise ValueError("X has gaps: pose_confidence needs all values; see GTPCA.impute.")
    steps = _likely(model, chunks) if is_density(model) else _energetic(model, chunks)
    *_, found = steps if progress is None else progress(steps, total=2, desc="poses")
    ends, bars = ends_of(model, found["index"])
    ambiguous = np.mean(found["margin"] < CLEAR, axis=0)
    return PoseConfidence(
        **found,
        ambiguous=ambiguous,
        ends=ends,
        end_bars=bars,
        clear=CLEAR,
        commands=Commands.of(model),
    )


def _with_jobs(model, n_jobs):
    """The same fitted model with another number of threads."""
    return model if n_jobs is None else copy(model).set_params(n_jobs=n_jobs)


def confidence_if_complete(model, X, n_jobs=None, progress=None) -> PoseConfidence | None:
    """:func:`pose_confidence`; None if values were not observed, or there is no list of poses."""
    if has_own_search(model.operator_):
        return None
    gaps = model.chunks(counted(X, model)).sum(n_hidden)
    return None if gaps else pose_confidence(model, X, n_jobs=n_jobs, progress=progress)


def _energetic(model, chunks):
    """The noise that each component sees, then indices and margins by energy."""
    blocks = model.model_.blocks(chunks.dtype)
    noise = noise_levels(chunks, blocks)
    yield noise
    yield chunks.concat(_margins, blocks, noise, Places.of(model))


def _margins(chunk, blocks, noise, places):
    """Best transforms and their margins, (n, p) each."""
    chunk, found = sweep(chunk, []), []
    for block, level in zip(blocks, noise, strict=True):
        matched = match(chunk, block)
        part = projection(chunk.operator, block, matched.index, matched.coef, np.float64)
        energies = pose_energies(chunk, block)
        logits = energies / (2 * max(level, FLOOR * energies.max(), TINY))
        found.append((matched.index, _margin(chunk, block, part, logits, places)))
        chunk = deflate(chunk, block)
    index, margin = (np.stack(columns, axis=1) for columns in zip(*found, strict=True))
    return {"index": index, "margin": margin}


def _margin(chunk, block, part, logits, places):
    """Best logit minus the best one in another local maximum, (n,); ``part`` is explained."""
    rows = replace(chunk, rows=part.astype(chunk.rows.dtype))
    seen, total = pose_energies(rows, block), np.sum(part**2, axis=1)
    best = logits.argmax(axis=1)
    hill = places.hill(seen >= LOBE * np.maximum(total, TINY)[:, None], best)
    other = np.where(hill, -np.inf, logits).max(axis=1)
    return logits[np.arange(len(logits)), best] - other


def _likely(model, chunks):
    """Indices and margins by probability; the local maximum is that of all directions."""
    block = make_block(model.operator_, directions(model))
    yield None
    yield chunks.concat(_likely_margins, model.model_.e_step(), block, Places.of(model))


def _likely_margins(chunk, e_step, block, places):
    """Most likely transforms and their margins, (n, 1) each."""
    found = pose_summary(chunk, e_step, chunk.operator.n_transforms)
    logits = np.empty(found["index"].shape)
    logs = np.log(np.maximum(found["probability"], TINY))
    np.put_along_axis(logits, found["index"], logs, axis=1)
    best = found["index"][:, 0]
    coef = with_one(density_encode(chunk, e_step, 1.0).scores)
    part = moved(chunk.operator, e_step.weights, coef, best)
    return {"index": best[:, None], "margin": _margin(chunk, block, part, logits, places)[:, None]}


@dataclass(frozen=True, eq=False)
class Places:
    """The positions of transforms on a grid of poses.

    Parameters
    ----------
    shape : tuple of int or None
        Sizes of the grid; None if the transforms are not on one.
    place : int array (m,)
        Flat position of every transform.
    ordered, periodic : tuple of bool
        Whether neighbours along each axis are close to each other, and whether it is periodic.
    """

    shape: tuple[int, ...] | None
    place: np.ndarray
    ordered: tuple[bool, ...] = ()
    periodic: tuple[bool, ...] = ()

    @classmethod
    def of(cls, model) -> Places:
        """The positions of the operator of a model."""
        operator = model.operator_
        every = np.arange(operator.n_transforms)
        columns = pose_columns(model, Codes(np.empty((0, 1)), np.empty((0, 1), dtype=int)))
        ranks = [np.unique(pose.possible, return_inverse=True)[1] for pose in columns.values()]
        shape = tuple(int(rank.max()) + 1 for rank in ranks)
        if len(every) > MOST_TRANSFORMS or not ranks or np.prod(shape) != len(every):
            return cls(None, every)
        place = np.ravel_multi_index(ranks, shape)
        if len(np.unique(place)) < len(place):
            return cls(None, every)
        ordered = tuple(pose.possible.dtype.kind in "iuf" for pose in columns.values())
        axes = operator.pose_space.named
        periodic = tuple(axes[name].period is not None for name in columns)
        return cls(shape, place, ordered, periodic)

    def hill(self, near, best) -> np.ndarray:
        """Transforms (n, m) in the local maximum of the ``best`` (n,) among those ``near`` it.

        All that are near, if there is no grid.
        """
        if self.shape is None:
            return near
        order, rows = self._centred(self.shape, best), np.arange(len(best))[:, None]
        masks = np.zeros(near.shape, dtype=bool)
        masks[rows, order] = near
        cross = np.zeros((3,) * (1 + len(self.shape)), dtype=bool)
        cross[(1,) * cross.ndim] = True
        for axis in np.flatnonzero(self.ordered):
            cross[(1,) * (axis + 1) + (slice(None),) + (1,) * (cross.ndim - axis - 2)] = True
        groups, _ = ndimage.label(masks.reshape(-1, *self.shape), cross)
        groups = groups.reshape(near.shape)[rows, order]
        own = groups[rows[:, 0], best][:, None]
        return (groups == own) & (own > 0)

    def _centred(self, shape, best):
        """Flat positions (n, m), rotated along periodic axes until the best is in the middle."""
        ranks, found = np.unravel_index(self.place, shape), []
        for rank, size, turns in zip(ranks, shape, self.periodic, strict=True):
            turn = (size // 2 - rank[best])[:, None] if turns else 0
            found.append((rank + turn) % size + np.zeros((len(best), 1), dtype=int))
        return np.ravel_multi_index(tuple(found), shape)


def ends_of(model, index):
    """Shares of poses (n, p) at the first or last value of each quantity, and their bars."""
    ends, bars = {}, {}
    for name, pose in pose_columns(model, Codes(np.empty(index.shape), index)).items():
        values = scale_of(pose.possible)
        if values is None or not has_ends(model.operator_, name):
            continue
        ends[name] = np.isin(pose.values, [values[0], values[-1]]).mean(axis=0)
        bars[name] = wording.end_bar(len(values))
    return ends, bars

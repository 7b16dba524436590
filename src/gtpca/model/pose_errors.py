r"""Standard errors of poses, from the curvature of the objective.

At the pose ``theta`` of a row, let ``M`` be the moved components ``T w_k``, and ``J`` the
derivatives of their sum by the parameters of all poses, ``J_a = sum_k c_k dT w_k / d theta_a``.
With the coefficients projected out,

    A = J'J - J'M (M'M)^-1 M'J,    cov(theta) = sigma^2 A^-1,

where products are over observed values, in the inner product of the operator. The noise
``sigma^2`` is that of the row: the energy of its residual, divided by the number of observed values
minus that of scores and parameters. A density knows its noise, and its scores have a prior:
``M'M + sigma^2 I`` takes the place of ``M'M``.

Poses on a grid with steps ``h`` are rounded to it, which adds ``h^2 / 12`` to the variance. The
derivatives are differences between the two neighbours on the grid: with coarse steps these are too
small, and errors too large. Poses between the nodes are not rounded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gtpca.model.coding import ordinary, sweep
from gtpca.operators.base import add_projection
from gtpca.operators.poses import is_pose

__all__ = [
    "PoseSteps",
    "PosedPart",
    "errors_of_parts",
    "ordered",
    "parameters",
    "pose_errors",
    "pose_steps",
    "seen_values",
]

PIECE = 2**22  # values of moved components and derivatives that are computed at once
SMALL = 1e-9  # eigenvalues of A, relative to the largest, along which poses are not determined
FINE = 0.02  # of the distance between nodes: the step of derivatives between them
WRAPS = 1.5  # longest step across the period, relative to the others


@dataclass(frozen=True)
class PoseSteps:
    """The neighbours of all nodes along each parameter of a pose.

    Attributes
    ----------
    names : tuple of str
        All quantities.
    columns : dict of str to (int, float)
        For quantities that have an order, the number of the parameter that determines it, and how
        much it changes with that.
    below, above : int arrays (p, m)
        The neighbours; a node itself where it has none.
    span : array (p, m)
        How far apart these are.
    step : array (p, m)
        The distance of neighbours.
    axes : list of PoseAxis
        The parameters.
    """

    names: tuple[str, ...]
    columns: dict[str, tuple[int, float]]
    below: np.ndarray
    above: np.ndarray
    span: np.ndarray
    step: np.ndarray
    axes: list


def pose_steps(operator) -> PoseSteps:
    """The :class:`PoseSteps` of an operator."""
    told = operator.describe(np.arange(operator.n_transforms))
    groups = {name: np.unique(v, return_inverse=True)[1].ravel() for name, v in told.items()}
    axes = {name: axis for name, axis in operator.pose_space.named.items() if name in told}
    values = dict(zip(operator.pose_space.named, operator.pose_space.nodes.T, strict=True))
    columns: dict[str, tuple[int, float]] = {}
    kept: list[str] = []
    for name in axes:
        if not _has_order(operator, name, told[name], groups[name]):
            continue
        same = next((k for k in kept if _same(groups[name], groups[k])), None)
        if same is None:
            columns[name] = (len(kept), 1.0)
            kept.append(name)
        else:
            columns[name] = (kept.index(same), _slope(values[same], values[name]))
    found = [
        _neighbours(
            values[name],
            [g for g in groups.values() if not _same(g, groups[name])],
            axes[name],
        )
        for name in kept
    ]
    shape = (len(kept), 4, operator.n_transforms)
    below, above, span, step = np.array(found).reshape(shape).transpose(1, 0, 2)
    ends = (below.astype(np.int64), above.astype(np.int64))
    return PoseSteps(tuple(told), columns, *ends, span, step, [axes[n] for n in kept])


def _has_order(operator, name, values, groups):
    """Whether a quantity is a number, of which neighbours are alike, with several values."""
    number = np.asarray(values).dtype.kind in "iuf"
    return number and operator.pose_space.named[name].ordered and bool(groups.any())


def ordered(operator) -> list[str]:
    """The names of quantities that have standard errors."""
    if operator.continuous is not None:
        return [axis.name for axis in operator.pose_space.axes]
    return list(pose_steps(operator).columns)


def parameters(operator) -> list[str]:
    """Of these, one for each parameter: not the centre of a window besides its start."""
    if operator.continuous is not None:
        return ordered(operator)
    return [axis.name for axis in pose_steps(operator).axes]


def _same(a, b):
    """Whether two columns of group numbers (m,) are the same partition."""
    pairs = a.astype(np.int64) * (b.max() + 1) + b
    return len(np.unique(pairs)) == a.max() + 1 == b.max() + 1


def _slope(x, y):
    """How much ``y`` changes with ``x``, both (m,): the most frequent ratio of steps."""
    x, first = np.unique(x, return_index=True)
    return float(np.median(np.abs(np.diff(y[first]) / np.diff(x))))


def _neighbours(values, others, axis):
    """Neighbours below and above along one quantity, their distance, and the step."""
    m = len(values)
    order = np.lexsort((values, *others))
    key = np.stack([*others, np.zeros(m, dtype=np.int64)])[:, order]
    joined = np.all(key[:, 1:] == key[:, :-1], axis=0)
    below, above = np.arange(m), np.arange(m)
    below[order[1:][joined]], above[order[:-1][joined]] = order[:-1][joined], order[1:][joined]
    if axis.period is not None:
        _close(values, axis, order, joined, below, above)
    sides = (below != np.arange(m)).astype(int) + (above != np.arange(m))
    up = np.abs(axis.difference(values[above], values))
    down = np.abs(axis.difference(values, values[below]))
    span = np.where(sides > 0, up + down, np.nan)
    return below, above, span, span / np.maximum(sides, 1)


def _close(values, axis, order, joined, below, above):
    """Make the first and the last of each run neighbours if they are close across the period."""
    ends = np.flatnonzero(np.append(~joined, True))
    starts = np.append(0, ends[:-1] + 1)
    for start, end in zip(order[starts], order[ends], strict=True):
        across = axis.difference(values[start], values[end])
        if 0 < across <= WRAPS * abs(values[above[start]] - values[start]):
            below[start], above[end] = end, start


@dataclass(frozen=True)
class PosedPart:
    """Components of rows that are in one pose.

    Attributes
    ----------
    weights : array (K, L)
    index : int array (n,), or poses (n, p)
    coef : array (n, K)
    free : bool array (K,)
        Which coefficients were estimated.
    """

    weights: np.ndarray
    index: np.ndarray
    coef: np.ndarray
    free: np.ndarray

    def __getitem__(self, rows):
        return PosedPart(self.weights, self.index[rows], self.coef[rows], self.free)

    def moved(self, operator, index=None):
        """The sum of the moved components, (n, d)."""
        total = np.zeros((len(self.coef), operator.n_features))
        at = self.index if index is None else index
        add_projection(operator, total, self.weights, at, self.coef)
        return total

    def each(self, operator):
        """The moved components with estimated coefficients, (n, K, d)."""
        some = self.weights[self.free]
        moved = [operator.apply_at(w, self.index) for w in some]
        none = np.zeros((len(self.coef), 0, operator.n_features))
        return np.stack(moved, axis=1) if moved else none

    def slopes(self, operator, steps):
        """Derivatives by all parameters, (n, p, d), and the variance of rounding, (n, p)."""
        if is_pose(self.index):
            return self._slopes_between(operator)
        found, rounding = [], []
        for below, above, span, step in zip(
            steps.below, steps.above, steps.span, steps.step, strict=True
        ):
            t = self.index
            ends = self.moved(operator, above[t]) - self.moved(operator, below[t])
            found.append(ends / span[t][:, None])
            rounding.append(step[t] ** 2 / 12)
        return np.stack(found, axis=1), np.stack(rounding, axis=1)

    def _slopes_between(self, operator):
        found = []
        for j, axis in enumerate(operator.pose_space.axes):
            at = np.unique(operator.pose_space.nodes[:, j])
            step = FINE * (np.median(np.diff(at)) if len(at) > 1 else axis.high - axis.low)
            ends = [self.index.copy(), self.index.copy()]
            for end, sign in zip(ends, (1, -1), strict=True):
                end[:, j] = axis.within(end[:, j] + sign * step)
            apart = axis.difference(ends[0][:, j], ends[1][:, j])[:, None]
            moved = self.moved(operator, ends[0]) - self.moved(operator, ends[1])
            found.append(moved / np.where(apart > 0, apart, np.nan))
        return np.stack(found, axis=1), np.zeros((len(self.index), len(found)))


def pose_errors(chunk, steps, blocks, sweeps=0):
    """Standard errors of all quantities, (n, poses) each, of the rows of a chunk."""
    chunk = ordinary(chunk)[0]
    done = sweep(chunk, blocks, sweeps)
    operator, scores, parts, used = chunk.operator, done.codes.scores, [], 0
    for column, block in enumerate(blocks):
        index = done.codes.index[:, column]
        coef = block.coef(operator, scores[:, used : used + len(block)], index)
        parts.append(PosedPart(block.weights, index, coef, np.ones(len(block), dtype=bool)))
        used += len(block)
    n_parameters = scores.shape[1] + len(parts) * _n_axes(operator, steps, parts)
    seen = seen_values(chunk)
    free = np.maximum(seen.sum(axis=1) - n_parameters, 0)
    noise = done.energies / np.where(free > 0, free, np.nan)
    return errors_of_parts(operator, steps, parts, seen, noise)


def _n_axes(operator, steps, parts):
    """The number of parameters of a pose."""
    return len(operator.pose_space.axes) if is_pose(parts[0].index) else len(steps.axes)


def seen_values(chunk):
    """Where values were observed and are compared, (1, d) or (n, d)."""
    domain = chunk.operator.domain
    inside = np.ones(chunk.operator.n_features, dtype=bool) if domain is None else domain
    return inside & chunk.seen


def errors_of_parts(operator, steps, parts, seen, noise, prior=0.0):
    """Standard errors of all quantities, (n, parts) each, some rows at a time.

    Parameters
    ----------
    operator : Operator
    steps : PoseSteps
    parts : list of PosedPart
    seen : bool array (1, d) or (n, d)
        Which values were observed.
    noise : array (n,)
        The variance of the noise.
    prior : float
        The variance of the noise, if coefficients have a standard normal prior; else 0.
    """
    n, n_axes = len(noise), _n_axes(operator, steps, parts)
    width = sum(int(part.free.sum()) + 2 * n_axes + 1 for part in parts) * operator.n_features
    size, found = max(1, PIECE // width), [np.empty((0, len(parts), n_axes))]
    V = seen * (1.0 if operator.feature_weight is None else operator.feature_weight)
    for start in range(0, n if n_axes else 0, size):
        rows = slice(start, start + size)
        some = [part[rows] for part in parts]
        weights = V if len(V) == 1 else V[rows]
        found.append(_errors(operator, steps, some, weights, noise[rows], prior))
    return dict(_named(operator, steps, parts, np.concatenate(found), n))


def _named(operator, steps, parts, errors, n):
    """The errors of each quantity, (n, poses); NaN of those without an order."""
    if is_pose(parts[0].index):
        columns = {axis.name: (j, 1.0) for j, axis in enumerate(operator.pose_space.axes)}
    else:
        columns = steps.columns
    for name in steps.names:
        if name in columns:
            j, slope = columns[name]
            yield name, slope * errors[:, :, j]
        else:
            yield name, np.full((n, len(parts)), np.nan)


def _errors(operator, steps, parts, V, noise, prior):
    """Standard errors (n, parts, p)."""
    M = np.concatenate([part.each(operator) for part in parts], axis=1)
    each, rounding = zip(*(part.slopes(operator, steps) for part in parts), strict=True)
    J = np.concatenate(each, axis=1)
    weighed = M * V[:, None]
    MM = weighed @ M.transpose(0, 2, 1)
    JM = J @ weighed.transpose(0, 2, 1)
    MM += prior * np.eye(M.shape[1])
    A = (J * V[:, None]) @ J.transpose(0, 2, 1)
    A = A - JM @ np.linalg.pinv(MM, rcond=SMALL, hermitian=True) @ JM.transpose(0, 2, 1)
    variance = noise[:, None] * _inverse_diagonals(A) + np.concatenate(rounding, axis=1)
    return np.sqrt(variance).reshape(len(noise), len(parts), -1)


def _inverse_diagonals(A):
    """The diagonals of inverses (n, p, p); NaN where a parameter is not determined."""
    scale = np.sqrt(np.einsum("npp->np", A).clip(0.0))
    good = np.isfinite(scale) & (scale > 0)
    scale = np.where(good, scale, 1.0)
    unit = np.where(np.isfinite(A), A, 0.0) / scale[:, :, None] / scale[:, None]
    unit = np.where(good[:, :, None] & good[:, None], unit, np.eye(A.shape[1]))
    values, vectors = np.linalg.eigh(unit)
    weak = (values <= SMALL)[:, None] & (vectors**2 > SMALL)
    inverse = np.einsum("npk,nk->np", vectors**2, 1 / np.maximum(values, SMALL))
    return np.where(good & ~weak.any(axis=2), inverse / scale**2, np.nan)

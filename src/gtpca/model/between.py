r"""The best of all shifts between samples, without computing the products with all of them.

Between the whole offsets ``o`` and ``o + 1``, products with Keys' cubic are

    b(f) = (1 - f) b_o + f b_{o+1} - f (1 - f) / 2 ((1 - f) s_o + f s_{o+1})

with the second differences ``s_o = b_{o-1} - 2 b_o + b_{o+1}``. As ``f (1 - f) <= 1 / 4``,

    |root_t b(f)| <= r (max(|b_o|, |b_{o+1}|) + max(|s_o|, |s_{o+1}|) / 8),

where ``r`` is the largest factor by which a ``root_t`` of the interval lengthens a vector. The
interval with the largest bound is looked at first, then the next one, until no bound exceeds what
was found: the result is the best of all transforms. Rows that need more than a few intervals, in
which nothing stands out, are compared with all transforms.
"""

from __future__ import annotations

import numpy as np

from gtpca.model.ties import TIED, first_best
from gtpca.operators.fractions import TAPS, FractionalShiftOperator, keys_taps

__all__ = ["best_between", "searches"]

ROUNDS = 4  # intervals per row before it is compared with all transforms
SMALL = 1e-12  # eigenvalues of a Gram matrix of weights below this share of the largest


def searches(operator) -> bool:
    """Whether an operator has shifts between samples along one axis, and no others."""
    if not isinstance(operator, FractionalShiftOperator):
        return False
    return max(operator.counts) == operator.n_transforms > 1


def best_between(operator, P, stack, root, positive=False, lengths=None):
    """The best transforms of rows for S blocks of weights, and the whitened products there.

    Parameters
    ----------
    operator : FractionalShiftOperator
    P : rows, as prepared by the operator
    stack : array (S, K, L)
    root : array (S, m, K, K)
        ``G_t^(-1/2)`` of each block.
    positive : bool
        The largest product instead of the longest; K is 1.
    lengths : callable or None
        See :func:`gtpca.model.ties.first_best`.

    Returns
    -------
    index : int array (S, n)
    z : array (S, n, K), float64
    """
    S, K, L = stack.shape
    wide = operator.whole.correlate(P, stack.reshape(-1, L))
    n = wide.shape[1]
    products = wide.reshape(S, K, n, -1).transpose(0, 2, 1, 3).reshape(S * n, K, -1)
    root = root.astype(products.dtype)
    owner = np.repeat(np.arange(S), n)
    found = _Search(operator, products, stack, root, owner, positive)
    row_lengths = None if lengths is None else lambda rows: lengths(rows % n)
    index = found.run(row_lengths)
    z = np.einsum("rjk,rk->rj", root[owner, index], found.products_at(index)[:, :, 0])
    return index.reshape(S, n), z.reshape(S, n, K).astype(np.float64)


class _Search:
    """Rows (R,), each with products (K, wide offsets) and the block that they belong to."""

    def __init__(self, operator, products, stack, root, owner, positive):
        self.operator, self.root, self.owner = operator, root, owner
        self.positive = positive
        [self.axis] = [axis for axis in operator.fine if axis.parts > 1]
        if self.axis.closed:
            products = np.concatenate([products[..., -1:], products, products[..., :2]], axis=-1)
        self.wide = np.ascontiguousarray(products)
        self.taps = keys_taps(np.arange(self.axis.parts + 1) / self.axis.parts)
        self.taps = self.taps.astype(products.dtype)
        self.bounds = self._bounds(stack)

    def _bounds(self, stack):
        """Upper bounds of what each interval holds, (R, intervals)."""
        nodes, u = self._nodes(np.arange(self.wide.shape[-1] - len(TAPS) + 1)), self.wide
        stretch = self.root[:, :, 0, 0]
        if u.shape[1] > 1:
            factor, inverse = (each.astype(u.dtype) for each in _factors(stack))
            stretch = np.linalg.norm(self.root @ factor[:, None], 2, (2, 3))
            u = np.einsum("rjk,rkt->rjt", inverse[self.owner], u)
        sizes, bends = self._size(u[..., 1:-1]), self._size(self._bend(u))
        bounds = np.maximum(bends[:, :-1], bends[:, 1:])
        if self.positive:
            np.maximum(bounds, 0, out=bounds)
        bounds /= 8
        bounds += np.maximum(sizes[:, :-1], sizes[:, 1:])
        each = bounds.reshape(len(stretch), -1, bounds.shape[1])
        each *= stretch[:, nodes].max(axis=2)[:, None]
        return bounds

    @staticmethod
    def _bend(u):
        """Second differences ``-b_{o-1} + 2 b_o - b_{o+1}`` along the last axis."""
        slope = u[..., :-1] - u[..., 1:]
        return slope[..., 1:] - slope[..., :-1]

    def _size(self, u):
        """Lengths of vectors (R, K, ..), or values where only positive ones count."""
        if u.shape[1] > 1:
            return np.sqrt(np.einsum("rkt,rkt->rt", u, u))
        return u[:, 0] if self.positive else np.abs(u[:, 0])

    def _nodes(self, intervals):
        """The transforms of intervals (R,) with both ends, (R, parts + 1)."""
        nodes = intervals[:, None] * self.axis.parts + np.arange(self.axis.parts + 1)
        return nodes % self.axis.count if self.axis.closed else nodes

    def _values(self, rows, intervals):
        """What the transforms of an interval explain of rows, as a length, (r, parts + 1)."""
        _, K, width = self.wide.shape
        first = (rows * (K * width) + intervals)[:, None] + width * np.arange(K)
        b = self.wide.ravel().take(first[:, :, None] + np.arange(len(TAPS))) @ self.taps.T
        places = self.owner[rows, None] * self.root.shape[1] + self._nodes(intervals)
        root = self.root.reshape(-1, K, K).take(places, axis=0)
        if K == 1:
            b *= root[:, None, :, 0, 0]
            return self._size(b)
        return self._size(np.einsum("rtjk,rkt->rjt", root, b))

    def products_at(self, index, rows=slice(None)):
        """Products at transforms (r,) or (r, p), shape (r, K, p)."""
        index = index.reshape(len(index), -1)
        last = self.wide.shape[-1] - len(TAPS)
        intervals = np.minimum(index // self.axis.parts, last)
        parts = index - intervals * self.axis.parts
        mine = self.wide[rows]
        each = np.arange(len(mine))[:, None, None, None], np.arange(mine.shape[1])[:, None, None]
        quads = mine[(*each, (intervals[:, :, None] + np.arange(len(TAPS)))[:, None])]
        return np.einsum("rkpt,rpt->rkp", quads, self.taps[parts])

    def run(self, lengths):
        """The best transform of every row, (R,)."""
        R, parts = self.bounds.shape[0], self.axis.parts
        index, best = np.zeros(R, dtype=np.int64), np.full(R, -np.inf, self.bounds.dtype)
        rows, interval = np.arange(R), self.bounds.argmax(axis=1)
        for _ in range(ROUNDS):
            values = self._values(rows, interval)
            part = values.argmax(axis=1)
            value = values[np.arange(len(rows)), part]
            self._keep(rows, index, best, interval * parts + part, value)
            self.bounds[rows, interval] = -np.inf
            left = self.bounds if len(rows) == R else self.bounds[rows]
            interval = left.argmax(axis=1)
            more = left[np.arange(len(rows)), interval] > self._enough(best[rows])
            rows, interval = rows[more], interval[more]
            if not len(rows):
                break
        if self.positive:  # bounds are for products that are
            rows = np.union1d(rows, np.flatnonzero(best <= 0))
        if len(rows):
            index[rows] = self._exhaustive(rows, lengths)
        return index % self.axis.count if self.axis.closed else index

    def _enough(self, best):
        """What a bound must exceed to be looked at: less than the best by rounding errors."""
        return best * (1 - TIED * np.finfo(best.dtype).eps)

    def _keep(self, rows, index, best, found, value):
        """Take what is better, or as good up to rounding and before the other, in place."""
        close = TIED * np.finfo(best.dtype).eps * np.abs(value)
        old, new = index[rows], value > best[rows] + close
        tied = ~new & (value >= best[rows] - close) & (found < old)
        index[rows] = np.where(new | tied, found, old)
        best[rows] = np.maximum(best[rows], value)

    def _exhaustive(self, rows, lengths):
        """The first of the best of all transforms of some rows, (r,)."""
        wide = self.wide[rows]
        wide = wide[..., 1:-2] if self.axis.closed else wide
        b = self.operator.interpolate(wide)
        root = self.root[self.owner[rows]]
        if b.shape[1] == 1:
            values = self._size(b * root[:, None, :, 0, 0])
        else:
            values = self._size(np.einsum("rtjk,rkt->rjt", root, b))
        return first_best(values, None if lengths is None else lambda some: lengths(rows[some]))


def _factors(stack):
    """``A`` with ``A A' = W W'`` up to small eigenvalues, and ``A^-1``, (S, K, K) each."""
    values, vectors = np.linalg.eigh(stack @ stack.transpose(0, 2, 1))
    least = SMALL * values.max(axis=1, keepdims=True, initial=np.finfo(float).tiny)
    sizes = np.sqrt(np.maximum(values, least))[:, None]
    return vectors * sizes, (vectors / sizes).transpose(0, 2, 1)

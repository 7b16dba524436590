"""Codes of few rows, one after the other: what depends on the model is computed once.

Matches are those of :mod:`gtpca.model.matching`, one row and one component at a time: from the same
blocks, the same products of the operator (:mod:`gtpca.operators.ready`) and the same rule for ties,
but without chunks. Rows with gaps, blocks that share a pose and rows whose squares would overflow
are coded by :mod:`gtpca.model.coding`.
"""

from __future__ import annotations

import math

import numpy as np

from gtpca.data.chunks import Chunk
from gtpca.data.codes import Codes
from gtpca.data.energies import ORDINARY, row_energies
from gtpca.model import coding
from gtpca.model.ties import first_of_row

__all__ = ["FEW_ROWS", "ChunkCoder", "RowCoder"]

FEW_ROWS = 8  # rows up to which one after the other is faster than all at once
LARGEST = 4.0 ** (ORDINARY - 1)  # energies below it need no scaling, nor do those
SMALLEST = 4.0 ** (1 - ORDINARY)  # above it, for every feature


class Component:
    """One component, ready to be matched with single rows; see :func:`gtpca.model.matching.match`.

    Parameters
    ----------
    operator : Operator
    block : Block
        Of one component.
    dtype : data type of the rows
    """

    def __init__(self, operator, block, dtype):
        root, norms = block.root[:, 0, 0], block.norms[:, 0]
        self.constant = len(root) == 1
        self.positive = block.polarity == "positive"
        self.root, self.norms, self.prepare = root, norms, operator.prepare
        self.scale = None if self.constant else root.astype(dtype)
        w = block.weights[0]
        self.ready = operator.ready(w * root[0] if self.constant else w, dtype)
        self.weight = operator.feature_weight

    def match(self, r: np.ndarray) -> tuple[int, float, float]:
        """The best transform of a row (d,), the amount of what is ready there, and the score."""
        weighed = r if self.weight is None else r * self.weight.astype(r.dtype, copy=False)
        products = self.ready.products(self.prepare(weighed[None]))[0]
        if self.scale is not None:
            products = products * self.scale
        sizes = products if self.positive else np.abs(products)
        index = first_of_row(sizes, lambda: math.sqrt(row_energies(r[None], self.weight)[0]))
        z = float(products[index])
        z = max(z, 0.0) if self.positive else z
        at = 0 if self.constant else index
        coef = z * float(self.root[at])
        return index, z if self.constant else coef, coef * float(self.norms[at])

    def part(self, index: int, amount: float) -> np.ndarray:
        """The projection on ``T_index w``, (d,)."""
        return amount * self.ready.moved(index)


class ChunkCoder:
    """Codes of rows by a function of chunks, whose other arguments are computed once.

    Parameters
    ----------
    operator : Operator
    seen : callable
        From rows (n, d) to rows as components see them.
    code : callable
        From a chunk to codes.
    """

    def __init__(self, operator, seen, code):
        self.operator, self.seen, self.code = operator, seen, code

    def __call__(self, rows: np.ndarray) -> Codes:
        """Codes of rows (n, d), which may have gaps."""
        return self.code(Chunk(self.seen(rows), self.operator))

    def one(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scores (k,) and transforms of one row (d,), which may have gaps."""
        codes = self(x[None])
        return codes.scores[0], codes.index[0]


class RowCoder:
    """Codes of rows on a :class:`~gtpca.model.model.Model`, one row after the other.

    Parameters
    ----------
    model : Model
    dtype : data type of the rows
    """

    def __init__(self, model, dtype):
        self.operator, self.sweeps, self.units = model.operator, model.sweeps, model.units
        self.blocks, self.preprocessing = model.blocks(dtype), model.preprocessing
        mean = model.preprocessing.mean
        self._known = (model.weights.copy(), None if mean is None else mean.copy())
        self._as_is = model.preprocessing.changes_nothing and model.operator.domain is None
        self._components: list[Component] = []
        if all(len(block) == 1 for block in self.blocks):
            self._components = [Component(self.operator, b, dtype) for b in self.blocks]

    def belongs_to(self, model) -> bool:
        """Whether a model still has the weights and the mean of this one."""
        weights, mean = self._known
        same = mean is None or np.array_equal(mean, model.preprocessing.mean)
        return same and np.array_equal(weights, model.weights)

    def __call__(self, rows: np.ndarray) -> Codes:
        """Codes of rows (n, d), which may have gaps."""
        rows = self._seen(rows)
        if not all(map(self._plain, rows)):
            return coding.encode(Chunk(rows, self.operator), self.blocks, self.sweeps, self.units)
        found = [self._coded(x) for x in rows]
        return Codes(*(np.array(parts) for parts in zip(*found, strict=True)))

    def one(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scores (k,) and transforms of one row (d,), which may have gaps."""
        if self._as_is and self._plain(x):
            return self._coded(x)
        codes = self(x[None])
        return codes.scores[0], codes.index[0]

    def _seen(self, rows):
        """Rows (n, d) as components see them."""
        return rows if self._as_is else self.preprocessing(rows, self.operator)

    def _plain(self, x):
        """Whether a row (d,) has no gaps, no square of it overflows or vanishes, and no components
        share their pose.
        """
        energy = float(np.vdot(x, x))  # says nothing of an overflow
        ordinary = energy < LARGEST and (energy > SMALLEST * len(x) or energy == 0)
        return ordinary and len(self._components) > 0

    def _coded(self, x):
        """Scores and transforms of a row (d,): greedy, then swept."""
        codes, components = [], self._components
        for k, component in enumerate(components):
            if k:
                x = x - components[k - 1].part(*codes[-1][:2])
            codes.append(component.match(x))
        if self.sweeps and len(components) > 1:
            x = x - components[-1].part(*codes[-1][:2])
            for _ in range(self.sweeps):
                for k, component in enumerate(components):
                    x = x + component.part(*codes[k][:2])
                    codes[k] = component.match(x)
                    x = x - component.part(*codes[k][:2])
        index, _, scores = zip(*codes, strict=True)
        return self._in_units(np.array(scores), np.array(index, dtype=np.int32), x.dtype)

    def _in_units(self, scores, index, dtype):
        """Scores and transforms (k,), with scores in the units and the precision of the rows."""
        if self.units is not None:
            scores = coding.in_units(scores[None], index[None], self.units)[0]
        return scores.astype(dtype, copy=False), index

"""Codes of few rows, one after the other: what depends on the model is computed once.

Matches are those of :mod:`gtpca.model.matching`, one row and one component at a time: from the same
blocks, the same products of the operator (:mod:`gtpca.operators.ready`) and the same rule for ties,
but without chunks. Rows with gaps, blocks that share a pose and poses between the transforms of a
list are coded by :mod:`gtpca.model.coding`.
"""

from __future__ import annotations

import math

import numpy as np

from gtpca.data.chunks import Chunk
from gtpca.data.codes import Codes
from gtpca.data.energies import ORDINARY, row_energies, row_exponents
from gtpca.model import coding
from gtpca.model.picking import sizes_of, upright
from gtpca.model.ties import first_of_row

__all__ = ["FEW_ROWS", "ChunkCoder", "RowCoder"]

FEW_ROWS = 8  # rows up to which one after the other is faster than all at once


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
        self.polarity = block.polarity
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
        index = first_of_row(
            sizes_of(products, self.polarity),
            lambda: math.sqrt(row_energies(r[None], self.weight)[0]),
        )
        z = float(upright(products[index], self.polarity))
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
        largest = (
            1.0 if self.operator.feature_weight is None else self.operator.feature_weight.max()
        )
        # energies between them are those of rows of ordinary size, whatever their features are
        self._most = 4.0 ** (ORDINARY - 1) / largest
        self._least = 4.0 ** (1 - ORDINARY) / largest * self.operator.n_features
        self._as_is = model.preprocessing.changes_nothing and model.operator.domain is None
        self._components: list[Component] = []
        if all(len(block) == 1 and not block.fine for block in self.blocks):
            self._components = [Component(self.operator, b, dtype) for b in self.blocks]

    def belongs_to(self, model) -> bool:
        """Whether a model still has the weights and the mean of this one."""
        weights, mean = self._known
        same = mean is None or np.array_equal(mean, model.preprocessing.mean)
        return same and np.array_equal(weights, model.weights)

    def __call__(self, rows: np.ndarray) -> Codes:
        """Codes of rows (n, d), which may have gaps."""
        found = [self._coded(x) for x in self._seen(rows)]
        scores, index = (np.array(parts) for parts in zip(*found, strict=True))
        return Codes(scores, index)

    def one(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scores (k,) and transforms of one row (d,), which may have gaps."""
        return self._coded(x if self._as_is else self._seen(x[None])[0])

    def _seen(self, rows):
        """Rows (n, d) as components see them."""
        return rows if self._as_is else self.preprocessing(rows, self.operator)

    def _coded(self, x):
        """Scores and transforms of a row (d,), in units in which no square overflows."""
        energy = float(np.vdot(x, x))  # a dot product would warn of an overflow
        if not self._components or math.isnan(energy):
            chunk = Chunk(x[None], self.operator)
            codes = coding.encode(chunk, self.blocks, self.sweeps, self.units)
            return codes.scores[0], codes.index[0]
        exponent = 0
        if not self._least < energy < self._most and energy != 0:
            exponent = int(row_exponents(x[None], self.operator.feature_weight)[0, 0])
        codes = self._matched(np.ldexp(x, -exponent) if exponent else x)
        index, _, scores = zip(*codes, strict=True)
        return self._in_units(np.array(scores), np.array(index, np.int32), exponent, x.dtype)

    def _in_units(self, scores, index, exponent, dtype):
        """Scores and transforms (k,), with scores in the units and the precision of the rows."""
        if self.units is not None:
            scores = coding.in_units(scores[None], index[None], self.units)[0]
        scores = np.ldexp(scores, exponent) if exponent else scores
        return scores.astype(dtype, copy=False), index

    def _matched(self, x):
        """The matches of all components with a row (d,): greedy, then swept."""
        components = self._components
        codes: list[tuple[int, float, float]] = []
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
        return codes

"""Match, statistics, deflate, encode, decode: pure functions of one chunk of rows.

For one component with weights ``w`` and a residual row ``r_i``

    t_i = argmax_t |<r_i, T_t w>| / |T_t w|,   s_i = <r_i, T w> / |T w|,   a_i = s_i / |T w|

are the transform (*index*), the signed *score* and the coefficient of the projection
``a_i T_{t_i} w``. Components that share a pose are matched together, as a block; see
:mod:`gtpca.model.block`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gtpca.data.codes import Codes
from gtpca.operators.base import sum_by_index

__all__ = [
    "Chunk",
    "Match",
    "Stats",
    "decode",
    "deflate",
    "encode",
    "energy",
    "match",
    "statistics",
]

POLARITIES = ("both", "positive")


@dataclass(frozen=True)
class Chunk:
    """Some rows of the data.

    Parameters
    ----------
    rows : array (n, d)
    weight : array (n,) or None
        Sample weights.
    start : int
        Number of the first row.
    codes : Codes or None
        Codes on the components found so far; ``rows`` is then the residual.
    cache : dict or None
        Where to keep what an operator prepared of these rows.
    """

    rows: np.ndarray
    weight: np.ndarray | None = None
    start: int = 0
    codes: Codes | None = None
    cache: Any = field(default=None, repr=False, compare=False)

    def prepared(self, operator):
        """``operator.prepare(rows)``, kept if there is a cache."""
        if self.cache is None:
            return operator.prepare(self.rows)
        return self.cache.get(self.start, lambda: operator.prepare(self.rows))

    def weigh(self, values):
        """``values`` (n,) times the sample weights."""
        return values if self.weight is None else values * self.weight


@dataclass(frozen=True)
class Stats:
    """All that an update needs to know of the rows: additive over chunks, float64.

    Parameters
    ----------
    rhs : array (K, L)
        ``sum_i a_i T_i* r_i``.
    weight : array (m, K, K), or (1, K, K) for isometries
        ``sum_{i: t_i = t} a_i a_i'``, summed over ``t`` for isometries.
    explained : float
        Explained energy ``sum_i |z_i|^2``; ``sum_i s_i^2`` for one component.
    """

    rhs: np.ndarray
    weight: np.ndarray
    explained: float

    def __add__(self, other: Stats) -> Stats:
        return Stats(
            self.rhs + other.rhs, self.weight + other.weight, self.explained + other.explained
        )

    def __rmul__(self, factor: float) -> Stats:
        return Stats(factor * self.rhs, factor * self.weight, factor * self.explained)


@dataclass(frozen=True)
class Match:
    """The best transform of every row, and the projection on a block of K components there.

    Attributes
    ----------
    index : int array (n,)
    score : array (n, K)
        ``coef_k |T w_k|``, the signed length of each part of the projection.
    coef : array (n, K)
        The projection is ``sum_k coef_k T w_k``.
    explained : array (n,)
        Energy of the projection.
    """

    index: np.ndarray
    score: np.ndarray
    coef: np.ndarray
    explained: np.ndarray


def match(P, operator, block, polarity="both") -> Match:
    """Find the transform under which a block holds most of each row.

    Parameters
    ----------
    P : array
        ``operator.prepare(X)`` for rows ``X`` (n, d).
    operator : Operator
    block : Block
    polarity : {"both", "positive"}
        Largest absolute or largest signed product, for one component. With "positive" a row that
        nothing fits upright scores 0.
    """
    pick = _pick_single if len(block) == 1 else _pick_joint
    index, z = pick(P, operator, block, polarity)
    coef = np.einsum("nj,njk->nk", z, block.at(block.root, index))
    return Match(index, coef * block.at(block.norms, index), coef, np.sum(z**2, axis=1))


def _pick_single(P, operator, block, polarity):
    """Best transform (n,) and ``z`` (n, 1) of one component, with its sign."""
    if len(block.root) == 1:
        products = operator.correlate(P, block.root[0, 0, 0] * block.weights[0])
    else:
        products = operator.correlate(P, block.weights[0])
        products *= block.root[:, 0, 0].astype(products.dtype)
    rows = np.arange(len(products))
    index = products.argmax(axis=1)
    z = products[rows, index]
    if polarity == "positive":
        z = np.maximum(z, 0)
    else:
        low = products.argmin(axis=1)
        flipped = -products[rows, low] > z
        index, z = np.where(flipped, low, index), np.where(flipped, products[rows, low], z)
    return index, z.astype(np.float64)[:, None]


def _pick_joint(P, operator, block, polarity):
    """Best transform (n,) and ``z`` (n, K) of a block."""
    if len(block.root) == 1:
        z = np.stack([operator.correlate(P, w) for w in block.root[0] @ block.weights])
    else:
        b = np.stack([operator.correlate(P, w) for w in block.weights], axis=-1)
        root = block.root.astype(b.dtype).transpose(0, 2, 1)
        z = (b.transpose(1, 0, 2) @ root).transpose(2, 1, 0)
    index = np.einsum("knm,knm->nm", z, z).argmax(axis=1)
    return index, z[:, np.arange(len(index)), index].T.astype(np.float64)


def statistics(chunk, operator, block, polarity):
    """Match a chunk and reduce it to its :class:`Stats`."""
    found = match(chunk.prepared(operator), operator, block, polarity)
    weighted = (chunk.weigh(found.coef.T)).T
    if len(block) == 1:
        rhs = operator.adjoint_at(chunk.rows, found.index, weighted[:, 0])[None]
    else:
        rhs = weighted.T @ operator.adjoint_rows(chunk.rows, found.index)
    weight = _second_moments(operator, found, weighted)
    return Stats(rhs, weight, float(np.sum(chunk.weigh(found.explained))))


def _second_moments(operator, found, weighted):
    """``sum_{i: t_i = t} a_i a_i'``, shape (m, K, K); the sum over ``t`` for isometries."""
    if operator.isometric:
        return (weighted.T @ found.coef)[None]
    n, K = weighted.shape
    outer = (weighted[:, :, None] * found.coef[:, None]).reshape(n, K * K)
    return sum_by_index(outer, found.index, np.ones(n), operator.n_transforms).reshape(-1, K, K)


def row_energies(rows):
    """``|x_i|^2`` in float64, shape (n,)."""
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)


def weighted_energies(chunk):
    """``|x_i|^2`` times the sample weights, shape (n,)."""
    return chunk.weigh(row_energies(chunk.rows))


def weighted_sums(chunk):
    """``sum_i q_i x_i`` and ``sum_i q_i`` with the sample weights ``q``, in float64, (d + 1,)."""
    weight = chunk.weigh(np.ones(len(chunk.rows)))
    sums = np.einsum("n,nd->d", weight, chunk.rows, dtype=np.float64)
    return np.append(sums, weight.sum())


def energy(chunk):
    """``sum_i |x_i|^2``, weighted."""
    return float(np.sum(weighted_energies(chunk)))


def projection(operator, block, index, coef, dtype):
    """The rows ``sum_k coef_ik T_{index_i} w_k`` in ``dtype``, shape (n, d)."""
    total = np.zeros((len(index), operator.n_features), dtype=dtype)
    Q = operator.prepare_weights(block.weights.astype(dtype))
    index = np.broadcast_to(index[:, None], coef.shape)
    operator.add_moved(total, Q, index, coef.astype(dtype))
    return total


def deflate(chunk, operator, block, polarity):
    """Match a chunk, subtract the projection and add the codes: the next residual."""
    found = match(chunk.prepared(operator), operator, block, polarity)
    rows = chunk.rows - projection(operator, block, found.index, found.coef, chunk.rows.dtype)
    new = Codes(found.score, found.index[:, None].astype(np.int32))
    return replace(chunk, rows=rows, codes=_append(chunk.codes, new))


def _append(codes, new):
    if codes is None:
        return new
    return Codes(np.hstack([codes.scores, new.scores]), np.hstack([codes.index, new.index]))


def restore(chunk, operator, block, k):
    """Put the part of component ``k`` back into the residual."""
    index = chunk.codes.index[:, k]
    coef = block.coef(chunk.codes.scores[:, k, None], index)
    return replace(
        chunk, rows=chunk.rows + projection(operator, block, index, coef, chunk.rows.dtype)
    )


def rematch(chunk, operator, block, k, polarity):
    """Match component ``k`` anew on a restored residual and subtract it again."""
    done = deflate(replace(chunk, codes=None), operator, block, polarity)
    scores, index = chunk.codes.scores.copy(), chunk.codes.index.copy()
    scores[:, k], index[:, k] = done.codes.scores[:, 0], done.codes.index[:, 0]
    return replace(done, codes=Codes(scores, index))


def encode(chunk, operator, blocks, polarity, sweeps=0):
    """Codes and residual of a chunk on a list of blocks.

    Greedy, one block after the other; then ``sweeps`` times each component is matched anew against
    the residual plus its own part. A single block is matched as a whole: nothing is left to sweep.
    """
    for block in blocks:
        chunk = deflate(replace(chunk, cache=None), operator, block, polarity)
    for _ in range(sweeps if len(blocks) > 1 else 0):
        for k, block in enumerate(blocks):
            chunk = rematch(restore(chunk, operator, block, k), operator, block, k, polarity)
    return chunk


def encode_to_codes(chunk, *args):
    """Codes of a chunk, with the scores in the precision of the rows."""
    codes = encode(chunk, *args).codes
    return Codes(codes.scores.astype(chunk.rows.dtype), codes.index)


def explained_shares(chunk, *args):
    """Share of the energy of every row that all components explain, (n,); 0 for zero rows."""
    total, left = row_energies(chunk.rows), row_energies(encode(chunk, *args).rows)
    return 1 - np.divide(left, total, out=np.ones_like(total), where=total > 0)


def align(chunk, operator, enter, column, *args):
    """Rows as they came, brought back from the pose of a component, (n, \\*weight_shape)."""
    entered = replace(chunk, rows=enter(chunk.rows), cache=None)
    index = encode(entered, operator, *args).codes.index[:, column]
    aligned = bring_back(chunk.rows, operator.plain, index)
    return aligned.reshape(-1, *operator.weight_shape)


def bring_back(rows, operator, index):
    """``T_i* x_i / T_i* T_i 1`` of every row: the average value at each weight, (n, L)."""
    used, place = np.unique(index, return_inverse=True)
    cover = operator.adjoint_rows(operator.apply_at(np.ones(operator.n_weights), used), used)
    scale = np.where(cover > 1e-9, 1 / np.maximum(cover, 1e-9), 0.0)
    return (operator.adjoint_rows(rows, index) * scale[place]).astype(rows.dtype)


def decode(codes, operator, blocks, dtype=np.float64):
    """``sum_k a_k T_k w_k`` without the feature weight, shape (n, d)."""
    total = np.zeros((len(codes), operator.n_features), dtype=dtype)
    used = 0
    for block, index in zip(blocks, codes.index.T, strict=False):
        scores = codes.scores[:, used : used + len(block)].astype(np.float64)
        total += projection(operator.plain, block, index, block.coef(scores, index), dtype)
        used += len(block)
    return total


def measure(chunk, operator, blocks, polarity, sweeps=0):
    """Codes of a chunk, and ``|r_i|^2`` after 0, 1, .., k components, in one go.

    Greedy codes are nested; with sweeps the codes are found again for every number of components.
    Within a block the pose of the whole block is kept.

    Returns
    -------
    dict
        ``scores`` (n, k) and ``index`` (n, k) or (n, 1) as in :class:`Codes`, ``energies``
        (n, k + 1).
    """
    chunk = replace(chunk, cache=None)
    columns = [row_energies(chunk.rows)]
    rest = swept = chunk
    for number, block in enumerate(blocks, start=1):
        before, rest = rest, deflate(rest, operator, block, polarity)
        if len(block) > 1:
            columns += list(_nested_energies(before, operator, block, rest.codes.index[:, -1]))
        swept = rest if sweeps == 0 else encode(chunk, operator, blocks[:number], polarity, sweeps)
        columns.append(row_energies(swept.rows))
    scores = swept.codes.scores.astype(chunk.rows.dtype)
    return {"scores": scores, "index": swept.codes.index, "energies": np.stack(columns, axis=1)}


def residual_energies(chunk, *args):
    """``|r_i|^2`` after 0, 1, .., k components, shape (n, k + 1)."""
    return measure(chunk, *args)["energies"]


def _nested_energies(chunk, operator, block, index):
    """``|r_i|^2`` after 1, .., K - 1 components of a block in fixed poses.

    With ``G_t = C C'`` and ``z = C^-1 b``, the first k components explain ``z_1^2 + .. + z_k^2``.
    """
    b = [products_at(chunk.rows, operator, w, index) for w in block.weights]
    z = np.einsum("njk,kn->jn", block.at(block.nested_root, index), np.array(b))
    return np.maximum(row_energies(chunk.rows) - np.cumsum(z**2, axis=0), 0.0)[:-1]


def nested_energies(chunk, *args):
    """Residual energies of a chunk after 0, 1, .., k components, (k + 1,), weighted."""
    return chunk.weigh(residual_energies(chunk, *args).T).sum(axis=1)


def products_at(rows, operator, w, index):
    """``<x_i, T_{index_i} w>``, shape (n,)."""
    moved = operator.apply_at(w.astype(rows.dtype), index)
    return np.einsum("ij,ij->i", rows, moved, dtype=np.float64)


def energy_shares(chunk, operator, blocks):
    """``e_k = sum_i <p_ik, x_i + r_i>``, shape (k,): they add up to ``sum_i |x_i|^2 - |r_i|^2``.

    ``x_i = r_i + sum_k p_ik``: how the energy that a joint fit explains divides among components.
    """
    scores, index = chunk.codes.scores, chunk.codes.index
    parts = []
    for k, block in enumerate(blocks):
        coef = block.coef(scores[:, k, None], index[:, k])
        parts.append(projection(operator, block, index[:, k], coef, np.float64))
    both = np.sum(parts, axis=0) + 2.0 * chunk.rows
    return np.array([np.sum(chunk.weigh(np.sum(part * both, axis=1))) for part in parts])

"""Match, statistics, deflate, encode, decode: pure functions of one chunk of rows.

For one component with weights ``w`` and a residual row ``r_i``

    t_i = argmax_t |<r_i, T_t w>| / |T_t w|,   s_i = <r_i, T w> / |T w|,   a_i = s_i / |T w|

are the transform (*index*), the signed *score* and the coefficient of the projection
``a_i T_{t_i} w``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

__all__ = [
    "Chunk",
    "Codes",
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
class Codes:
    """Scores and transforms of ``n`` rows on ``k`` components.

    Parameters
    ----------
    scores : array (n, k)
        Signed length of each projection.
    index : int array (n, k)
        Which transform each component took; ``GTPCA.poses`` says it in a person's units.

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import Codes
    >>> len(Codes(np.ones((5, 2)), np.zeros((5, 2), dtype=int))[:3])
    3
    """

    scores: np.ndarray
    index: np.ndarray

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, rows) -> Codes:
        if isinstance(rows, (int, np.integer)):
            rows = np.array([rows])
        return Codes(self.scores[rows], self.index[rows])

    def first(self, n_components: int) -> Codes:
        """The codes on the first components only."""
        return Codes(self.scores[:, :n_components], self.index[:, :n_components])

    def save(self, path: str | os.PathLike) -> None:
        """Write both arrays to one ``.npz`` file, without pickle."""
        with open(path, "wb") as file:
            np.savez(file, scores=self.scores, index=self.index)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Codes:
        """Read what :meth:`save` wrote."""
        with np.load(path, allow_pickle=False) as arrays:
            return cls(arrays["scores"], arrays["index"])


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
    weight : array (m, K, K)
        ``sum_{i: t_i = t} a_i a_i'``.
    explained : float
        ``sum_i s_i^2``.
    """

    rhs: np.ndarray
    weight: np.ndarray
    explained: float

    def __add__(self, other: Stats) -> Stats:
        return Stats(
            self.rhs + other.rhs, self.weight + other.weight, self.explained + other.explained
        )


def match(P, operator, w, polarity="both"):
    """Best transform of every row.

    Parameters
    ----------
    P : array
        ``operator.prepare(X)`` for rows ``X`` (n, d).
    operator : Operator
    w : array (L,)
    polarity : {"both", "positive"}
        Largest absolute or largest signed product. With "positive" a row that nothing fits upright
        scores 0.

    Returns
    -------
    index, score, coef : arrays (n,)
    """
    products = operator.correlate(P, w)
    inverse = inverse_norms(operator, w, products.dtype)
    if not operator.isometric:
        products *= inverse.astype(products.dtype)
    rows = np.arange(len(products))
    index = products.argmax(axis=1)
    score = products[rows, index]
    if polarity == "positive":
        score = np.maximum(score, 0)
    else:
        low = products.argmin(axis=1)
        flipped = -products[rows, low] > score
        index, score = np.where(flipped, low, index), np.where(flipped, products[rows, low], score)
    score = score.astype(np.float64)
    if operator.isometric:
        score *= inverse[0]
    return index, score, score * inverse[index]


def inverse_norms(operator, w, dtype):
    """``1 / |T_t w|``, and 0 where ``T_t w`` is too faint for products in ``dtype``."""
    norms = operator.norms(w)
    faint = norms <= max(np.sqrt(np.finfo(dtype).eps), 1e-6) * norms.max(initial=0.0)
    return np.where(faint, 0.0, 1 / np.where(faint, 1.0, norms))


def statistics(chunk, operator, w, polarity):
    """Match a chunk and reduce it to its :class:`Stats`."""
    index, score, coef = match(chunk.prepared(operator), operator, w, polarity)
    weighted = chunk.weigh(coef)
    rhs = operator.adjoint_at(chunk.rows, index, weighted)
    weight = np.bincount(index, weighted * coef, minlength=operator.n_transforms)
    return Stats(rhs[None], weight[:, None, None], float(np.sum(chunk.weigh(score**2))))


def row_energies(rows):
    """``|x_i|^2`` in float64, shape (n,)."""
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)


def energy(chunk):
    """``sum_i |x_i|^2``, weighted."""
    return float(np.sum(chunk.weigh(row_energies(chunk.rows))))


def _parts(operator, w, index, coef, dtype):
    """The rows ``coef_i T_{index_i} w`` in ``dtype``, shape (n, d)."""
    parts = operator.apply_at(w.astype(dtype), index).astype(dtype, copy=False)
    parts *= coef.astype(dtype)[:, None]
    return parts


def _coef(operator, w, score, index):
    return score * inverse_norms(operator, w, np.float64)[index]


def deflate(chunk, operator, w, polarity):
    """Match a chunk, subtract the projection and add the codes: the next residual."""
    index, score, coef = match(chunk.prepared(operator), operator, w, polarity)
    rows = chunk.rows - _parts(operator, w, index, coef, chunk.rows.dtype)
    return replace(chunk, rows=rows, codes=_append(chunk.codes, score, index))


def _append(codes, score, index):
    new = Codes(score[:, None], index[:, None].astype(np.int32))
    if codes is None:
        return new
    return Codes(np.hstack([codes.scores, new.scores]), np.hstack([codes.index, new.index]))


def restore(chunk, operator, w, k):
    """Put the part of component ``k`` back into the residual; its code becomes zero."""
    score, index = chunk.codes.scores[:, k], chunk.codes.index[:, k]
    coef = _coef(operator, w, score, index)
    rows = chunk.rows + _parts(operator, w, index, coef, chunk.rows.dtype)
    return replace(chunk, rows=rows)


def rematch(chunk, operator, w, k, polarity):
    """Match component ``k`` anew on a restored residual and subtract it again."""
    done = deflate(replace(chunk, codes=None), operator, w, polarity)
    scores, index = chunk.codes.scores.copy(), chunk.codes.index.copy()
    scores[:, k], index[:, k] = done.codes.scores[:, 0], done.codes.index[:, 0]
    return replace(done, codes=Codes(scores, index))


def encode(chunk, operator, weights, polarity, sweeps=0):
    """Codes and residual of a chunk on the components ``weights`` (k, L).

    Greedy, one component after the other; then ``sweeps`` times each component is matched anew
    against the residual plus its own part.
    """
    for w in weights:
        chunk = deflate(replace(chunk, cache=None), operator, w, polarity)
    for _ in range(sweeps):
        for k, w in enumerate(weights):
            chunk = rematch(restore(chunk, operator, w, k), operator, w, k, polarity)
    return chunk


def decode(codes, operator, weights, dtype=np.float64):
    """``sum_k a_k T_k w_k`` without the feature weight, shape (n, d)."""
    total = np.zeros((len(codes), operator.n_features), dtype=dtype)
    for k, w in enumerate(weights[: codes.scores.shape[1]]):
        index = codes.index[:, k]
        coef = _coef(operator, w, codes.scores[:, k].astype(np.float64), index)
        total += _parts(operator.plain, w, index, coef, total.dtype)
    return total


def residual_energies(chunk, operator, weights, polarity, sweeps=0):
    """``|r_i|^2`` after 0, 1, .., k components, shape (n, k + 1).

    Greedy codes are nested; with sweeps the codes are found anew for every number of components.
    """
    chunk = replace(chunk, cache=None)
    columns = [row_energies(chunk.rows)]
    rest = chunk
    for k, w in enumerate(weights, start=1):
        rest = deflate(rest, operator, w, polarity)
        swept = rest if sweeps == 0 else encode(chunk, operator, weights[:k], polarity, sweeps)
        columns.append(row_energies(swept.rows))
    return np.stack(columns, axis=1)


def energy_shares(chunk, operator, weights):
    """``e_k = sum_i <p_ik, x_i + r_i>``, shape (k,): they add up to ``sum_i |x_i|^2 - |r_i|^2``.

    ``x_i = r_i + sum_k p_ik``: how the energy that a joint fit explains divides among components.
    """
    scores, index = chunk.codes.scores, chunk.codes.index
    coefs = [_coef(operator, w, scores[:, k], index[:, k]) for k, w in enumerate(weights)]
    parts = [
        _parts(operator, w, index[:, k], coef, np.float64)
        for k, (w, coef) in enumerate(zip(weights, coefs, strict=True))
    ]
    both = np.sum(parts, axis=0) + 2.0 * chunk.rows
    return np.array([np.sum(chunk.weigh(np.sum(part * both, axis=1))) for part in parts])

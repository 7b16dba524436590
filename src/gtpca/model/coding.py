"""From rows to codes and back: deflate, encode, sweep, decode, align, and residual energies.

A component is matched, its projection ``a_i T_{t_i} w`` is subtracted, and the next one is matched
on the residual. All functions take a chunk, which knows its operator, and blocks.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gtpca.data.chunks import Chunk, known_rows
from gtpca.data.codes import Codes
from gtpca.data.energies import row_exponents, zero_filled
from gtpca.model.gaps import HIDDEN_WEIGHT, gram_at
from gtpca.model.matching import match_at, match_given, moved_products, products_in, regular
from gtpca.operators.base import add_projection, lengths_at
from gtpca.operators.poses import is_pose

__all__ = [
    "align",
    "appended",
    "bring_back",
    "code",
    "coefficients",
    "data_energies",
    "decode",
    "deflate",
    "encode",
    "energy_shares",
    "explained_shares",
    "filled_in",
    "impute",
    "in_units",
    "measure",
    "nested_energies",
    "nested_energies_at",
    "pulls",
    "recoded",
    "rematch",
    "restore",
]

ROUNDS = 10  # of poses and scores, if some poses are given and others are free


def projection(operator, block, index, coef, dtype):
    """The rows ``sum_k coef_ik T_{index_i} w_k`` in ``dtype``, shape (n, d)."""
    total = np.zeros((len(index), operator.n_features), dtype=dtype)
    add_projection(operator, total, block.weights.astype(dtype), index, coef.astype(dtype))
    return total


def deflate(chunk, block, before=None, column=None):
    """Match a chunk, subtract the projection and add the codes: the next residual.

    Poses ``before`` (n, p) between the nodes, if there are any, do not become worse. The block is
    that of a component whose poses may be given: ``column``, by default the next one.
    """
    found = match_given(chunk, block, chunk.turn if column is None else column, before)
    codes = appended(chunk.codes, found)
    return chunk.plus(block.weights, found.index, -found.coef, codes)


def appended(codes, found):
    """The codes, extended by those of a match."""
    index = found.index if is_pose(found.index) else found.index.astype(np.int32)
    new = Codes(found.score, index[:, None])
    if codes is None:
        return new
    return Codes(np.hstack([codes.scores, new.scores]), np.hstack([codes.index, new.index]))


def restore(chunk, block, k):
    """Add the contribution of component ``k`` back to the residual."""
    index = chunk.codes.index[:, k]
    coef = block.coef(chunk.operator, chunk.codes.scores[:, k, None], index)
    return chunk.plus(block.weights, index, coef, chunk.codes)


def rematch(chunk, block, k):
    """Match component ``k`` again on a restored residual and subtract it again."""
    done = deflate(chunk.with_codes(None), block, chunk.codes.index[:, k], k)
    scores, index = chunk.codes.scores.copy(), chunk.codes.index.copy()
    scores[:, k], index[:, k] = done.codes.scores[:, 0], done.codes.index[:, 0]
    return done.with_codes(Codes(scores, index))


def sweep(chunk, blocks, sweeps=0):
    """Codes and residual of a chunk on a list of blocks.

    Greedy, one block after the other; then, ``sweeps`` times, each component is matched again
    against the residual plus its own contribution. A single block is matched as a whole: there is
    nothing to sweep. If poses are given, the codes are :func:`recoded` instead.
    """
    chunk = chunk.afresh()
    chunk = chunk.owning() if blocks else chunk
    for block in blocks:
        chunk = deflate(chunk, block)
    if chunk.given is not None and len(blocks) > 1:
        return recoded(chunk, blocks, max(sweeps, ROUNDS))
    for _ in range(sweeps if len(blocks) > 1 else 0):
        for k, block in enumerate(blocks):
            chunk = rematch(restore(chunk, block, k), block, k)
    return chunk


def recoded(chunk, blocks, rounds=1):
    """Codes and residual of a chunk with codes on separate blocks, all of which are matched again.

    In each of some ``rounds``, components whose poses are free are matched one after the other;
    then the scores of all of them are those of least squares, ``G c = b`` with ``b_k = <x, T_k
    w_k>`` and ``G_jk = <T_j w_j, T_k w_k>``. With ``polarity="positive"`` every component is
    matched in its turn instead. Neither raises the energy of the residual.
    """
    alone = blocks[0].polarity == "positive"
    again = [k for k in range(len(blocks)) if alone or _is_free(chunk, k)]
    for _ in range(rounds if again else 1):
        for k in again:
            chunk = rematch(restore(chunk, blocks[k], k), blocks[k], k)
        chunk = chunk if alone else _jointly(chunk, blocks)
    return chunk


def _is_free(chunk, k):
    """Whether the pose of a component is free in some of the rows."""
    given = chunk.given_on(k)
    return given is None or not known_rows(given).all()


def _jointly(chunk, blocks):
    """The chunk with the scores of least squares on separate blocks in their poses.

    What they are corrected by solves the normal equations with the residual on the right. In gaps
    each component is pulled towards zero on its own, as in a match.
    """
    operator, index, dtype = chunk.operator, chunk.codes.index, chunk.rows.dtype
    W = [block.weights[0] for block in blocks]
    each = [operator.apply_at(w.astype(dtype), index[:, k]) for k, w in enumerate(W)]
    moved = np.stack(each, axis=1).astype(dtype, copy=False)
    coef = coefficients(chunk, blocks)
    (b, G), rho = moved_products(chunk.filled, chunk.value_weights(), moved), pulls(chunk)
    if rho.any():
        pull = np.einsum("nkd,nd->nk", moved.astype(np.float64) ** 2, rho)
        b, G = b - pull * coef, G + pull[:, :, None] * np.eye(len(W))
    least = max(block.floor for block in blocks) * np.einsum("nkk->n", G)
    G += np.where(least > 0, least, 1.0)[:, None, None] * np.eye(len(W))
    more = np.linalg.solve(G, b[:, :, None])[:, :, 0]
    lengths = [lengths_at(operator, w[None], index[:, k]) for k, w in enumerate(W)]
    codes = Codes((coef + more) * np.hstack(lengths), index)
    for k, w in enumerate(W):
        chunk = chunk.plus(w[None], index[:, k], -more[:, [k]], codes)
    return chunk


def pulls(chunk):
    """The weights with which gaps pull a component towards zero, (n, d); zero elsewhere.

    (1, d) if all values were observed.
    """
    return chunk.value_weights(HIDDEN_WEIGHT) * ~chunk.seen


def coefficients(chunk, blocks):
    """Coefficients (n, k) of the codes on separate blocks."""
    scores, index = chunk.codes.scores, chunk.codes.index
    each = [b.coef(chunk.operator, scores[:, [k]], index[:, k]) for k, b in enumerate(blocks)]
    return np.hstack(each)


def code(chunk, blocks, sweeps=0) -> Codes:
    """The codes of :func:`sweep`, without subtracting the last match."""
    if (sweeps or chunk.given is not None) and len(blocks) > 1:
        return sweep(chunk, blocks, sweeps).codes
    rest = sweep(chunk, blocks[:-1])
    return appended(rest.codes, match_given(rest, blocks[-1], rest.turn))


def ordinary(chunk):
    """The chunk in units in which no square overflows or vanishes, a power of two for each row.

    Returns
    -------
    chunk : Chunk
    exponent : int array (n, 1)
        Rows were divided by ``2**exponent``.
    """
    exponent = row_exponents(chunk.rows, chunk.operator.feature_weight)
    if np.any(exponent):
        chunk = replace(chunk, rows=np.ldexp(chunk.rows, -exponent))
    return chunk, exponent


def encode(chunk, blocks, sweeps=0, units=None) -> Codes:
    """Codes of a chunk, with the scores in the precision of the rows.

    ``units`` are those of :attr:`gtpca.model.model.Model.units`.
    """
    chunk, exponent = ordinary(chunk)
    codes = code(chunk, blocks, sweeps)
    scores = in_units(codes.scores, chunk.operator.pose_space.nearest(codes.index), units)
    return Codes(np.ldexp(scores, exponent).astype(chunk.rows.dtype), codes.index)


def in_units(scores, index, units):
    """Scores (n, k) times the ``units`` (m, k) of their transforms; None means 1."""
    if units is None:
        return scores
    if len(units) == 1:
        return scores * units[0]
    index = np.broadcast_to(index, scores.shape)
    return scores * units[index, np.arange(scores.shape[1])]


def explained_shares(chunk, blocks, sweeps=0):
    """The share of the energy of every row that all components explain, (n,); 0 for zero rows."""
    chunk, _ = ordinary(chunk)
    total, left = chunk.energies, sweep(chunk, blocks, sweeps).energies
    return 1 - np.divide(left, total, out=np.ones_like(total), where=total > 0)


def align(chunk, preprocessing, column, blocks, sweeps=0):
    """Original rows, moved back from the pose of a component, (n, \\*weight_shape)."""
    operator = chunk.operator
    seen = replace(chunk, rows=preprocessing(chunk.rows, operator))
    index = code(ordinary(seen)[0], blocks, sweeps).index[:, column]
    aligned = bring_back(chunk.rows, operator, index)
    return aligned.reshape(-1, *operator.weight_shape)


def impute(chunk, preprocessing, blocks, sweeps=0, units=None, shown=None):
    """Original rows, with gaps filled by the prediction of the components, (n, \\*sample_shape).

    Outside the domain there is no prediction.
    """
    operator, dtype = chunk.operator, chunk.rows.dtype

    def decoded():
        seen = replace(chunk, rows=preprocessing(chunk.rows, operator))
        codes = encode(seen, blocks, sweeps, units)
        values = decode(codes, operator, blocks if shown is None else shown, dtype)
        return preprocessing.undo(values, chunk.rows, operator)

    return filled_in(chunk, decoded)


def filled_in(chunk, predict):
    """Rows with the predictions ``predict()`` (n, d) in gaps within the domain.

    Nothing is predicted where there are none. Of shape (n, \\*sample_shape).
    """
    rows, domain = chunk.rows, chunk.operator.domain
    where = ~chunk.seen if domain is None else ~chunk.seen & domain
    if where.any():
        rows = np.where(where, predict(), rows)
    return rows.reshape(-1, *chunk.operator.sample_shape)


def data_energies(chunk, preprocessing, blocks, sweeps, units, shown):
    """Energies of centred rows in the data after 0, 1, .., k components, weighted, (k + 1,)."""
    operator = chunk.operator
    rest = preprocessing.centred(chunk.rows, operator)
    seen = replace(chunk, rows=preprocessing.whitened(rest, operator))
    codes = encode(seen, blocks, sweeps, units)
    columns = [chunk.energies_of(preprocessing.judged(rest, operator))]
    rest = rest.astype(np.float64)
    for k in range(codes.scores.shape[1]):
        column = min(k, codes.index.shape[1] - 1)
        one = Codes(codes.scores[:, [k]], codes.index[:, [column]])
        rest = rest - decode(one, operator, [_single(shown, k)], np.float64)
        columns.append(chunk.energies_of(preprocessing.judged(rest, operator)))
    return chunk.weigh(np.stack(columns)).sum(axis=1)


def _single(blocks, k):
    """The block of component ``k`` alone."""
    if len(blocks) > 1 or len(blocks[0]) == 1:
        return blocks[k]
    return replace(blocks[0], weights=blocks[0].weights[[k]], norms=blocks[0].norms[:, [k]])


def bring_back(rows, operator, index):
    """``T_i* x_i / |T_i|* |T_i| 1`` of every row: the average value at each weight, (n, L).

    Absolute values are used because the entries of a difference would cancel; between samples,
    linear interpolation takes their place, since cubic taps already add up to 1. Unobserved values
    are left out of both.
    """
    if is_pose(index):
        back = operator.continuous.bring_back(rows, index)
        if back is not None:
            return back.astype(rows.dtype)
    chunk, whole, one = Chunk(rows, operator), operator._averaging, np.ones(operator.n_weights)
    used, place = index, np.arange(len(index))
    if _alike(chunk, index):
        used, place = np.unique(index, return_inverse=True)
    cover = whole.adjoint_at(whole.apply_at(one, used) * chunk.seen, used)
    shown = cover > 1e-9 * cover.max(axis=1, keepdims=True, initial=0.0)
    scale = np.divide(1.0, cover, out=np.zeros_like(cover), where=shown)
    return (operator.adjoint_at(chunk.filled, index) * scale[place]).astype(rows.dtype)


def decode(codes, operator, blocks, dtype=np.float64):
    """``sum_k a_k T_k w_k``, shape (n, d)."""
    total = np.zeros((len(codes), operator.n_features), dtype=dtype)
    exponent = row_exponents(codes.scores)
    scores, used = np.ldexp(codes.scores.astype(np.float64), -exponent), 0
    for k, block in enumerate(blocks[: codes.index.shape[1]]):
        index = codes.index[:, k]
        coef = block.coef(operator, scores[:, used : used + len(block)], index)
        total += projection(operator, block, index, coef, dtype)
        used += len(block)
    return np.ldexp(total, exponent) if np.any(exponent) else total


def measure(chunk, blocks, sweeps=0, units=None):
    """Codes of a chunk, and ``|r_i|^2`` after 0, 1, .., k components, in one pass.

    Greedy codes are nested; with sweeps the codes are computed again for every number of
    components. Within a block the pose of the whole block is kept.

    Returns
    -------
    dict
        ``scores`` (n, k) and ``index`` (n, k) or (n, 1) as in :class:`Codes`, ``energies``
        (n, k + 1).
    """
    chunk, exponent = ordinary(chunk)
    columns = [chunk.energies]
    rest = swept = chunk = chunk.afresh()
    for number, block in enumerate(blocks, start=1):
        before, rest = rest, deflate(rest, block)
        if len(block) > 1:
            columns += list(_nested_energies(before, block, rest.codes.index[:, -1]))
        greedy = sweeps == 0 and chunk.given is None
        swept = rest if greedy else sweep(chunk, blocks[:number], sweeps)
        columns.append(swept.energies)
    scores = in_units(
        swept.codes.scores, chunk.operator.pose_space.nearest(swept.codes.index), units
    )
    scores = np.ldexp(scores, exponent).astype(chunk.rows.dtype)
    energies = np.ldexp(np.stack(columns, axis=1), 2 * exponent)
    return {"scores": scores, "index": swept.codes.index, "energies": energies}


def nested_energies(chunk, blocks, sweeps=0):
    """Residual energies of a chunk after 0, 1, .., k components, (k + 1,), weighted."""
    return chunk.weigh(measure(chunk, blocks, sweeps)["energies"].T).sum(axis=1)


def nested_energies_at(chunk, block, index):
    """Residual energies after 0, 1, .., K components of a block in fixed poses, weighted."""
    found = match_at(chunk, block, index)
    left = chunk.energies_of(
        chunk.rows - projection(chunk.operator, block, index, found.coef, chunk.rows.dtype)
    )
    each = _nested_energies(chunk, block, index) if len(block) > 1 else []
    return chunk.weigh(np.stack([chunk.energies, *each, left])).sum(axis=1)


def _nested_energies(chunk, block, index):
    """``|r_i|^2`` after 1, .., K - 1 components of a block in fixed poses.

    With ``G_t = C C'`` and ``z = C^-1 b``, the first k components explain ``z_1^2 + .. + z_k^2``.
    """
    if is_pose(index) and chunk.hidden is None:
        b, G = products_in(chunk, block, index)
        C = np.linalg.cholesky(regular(G, block.floor))
        z = np.linalg.solve(C, b[:, :, None])[:, :, 0].T
        return np.maximum(chunk.energies - np.cumsum(z**2, axis=0), 0.0)[:-1]
    b = np.array([products_at(chunk, w, index) for w in block.weights])
    if not _alike(chunk, index):
        return _nested_energies_one_by_one(chunk, block, index, b)
    z = np.einsum("njk,kn->jn", block.at(block.nested_root, index), b)
    return np.maximum(chunk.energies - np.cumsum(z**2, axis=0), 0.0)[:-1]


def _alike(chunk, index):
    """Whether rows in the same pose see the same: at nodes, if there are no gaps."""
    return chunk.hidden is None and not is_pose(index)


def _nested_energies_one_by_one(chunk, block, index, b):
    """The same without a table of Gram matrices, over observed values.

    With gaps, what is explained counts for more than these.
    """
    G = gram_at(chunk, block, index)
    for k in range(1, len(block)):
        coef = np.linalg.solve(G[:, :k, :k], b[:k].T[:, :, None])[:, :, 0]
        first = replace(block, weights=block.weights[:k])
        part = projection(chunk.operator, first, index, coef, chunk.rows.dtype)
        yield chunk.energies_of(chunk.rows - part)


def products_at(chunk, w, index):
    """``<x_i, T_{index_i} w>``, shape (n,)."""
    moved = chunk.operator.apply_at(w.astype(chunk.rows.dtype), index)
    return np.einsum("ij,ij->i", chunk.weighed, moved, dtype=np.float64)


def energy_shares(chunk, blocks):
    """``e_k = sum_i <p_ik, x_i + r_i>``, shape (k,): they add up to ``sum_i |x_i|^2 - |r_i|^2``.

    ``x_i = r_i + sum_k p_ik``: this is how the energy explained by a joint fit divides among
    components.
    """
    scores, index = chunk.codes.scores, chunk.codes.index
    parts = []
    for k, block in enumerate(blocks):
        coef = block.coef(chunk.operator, scores[:, k, None], index[:, k])
        parts.append(projection(chunk.operator, block, index[:, k], coef, np.float64))
    both = zero_filled(np.sum(parts, axis=0) + 2.0 * chunk.rows)
    both = both if chunk.operator.feature_weight is None else both * chunk.operator.feature_weight
    return np.array([np.sum(chunk.weigh(np.sum(part * both, axis=1))) for part in parts])

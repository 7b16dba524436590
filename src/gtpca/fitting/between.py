"""Passes at poses between the nodes, which follow the search for components on the nodes.

    pose:    each row's pose is refined from where it is      (never worse)
    update:  N w = rhs  at these poses                        (never worse)

Poses are kept as codes of the rows, wherever these are stored, so that the explained energy cannot
fall from pass to pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from gtpca.data.codes import Codes
from gtpca.data.energies import energy
from gtpca.data.sampling import nested_samples
from gtpca.model.coding import nested_energies_at
from gtpca.model.conventions import summarise
from gtpca.model.matching import coded_statistics, match, match_at, orthonormal, update
from gtpca.solvers.als import SETTLE_ROWS, UPDATE_STEPS, Coarse, coarsened, extrapolate

__all__ = ["at_codes", "codes_poses", "nested_at_codes", "refined", "rough", "spread", "stepped"]

MOST_PASSES = 30
MANY = 2  # times SETTLE_ROWS: rows from which on some of them come first
TOLERANCE = 1e-4  # gain of a pass, relative to what is left, below which there are no more


def rough(problem, recipe):
    """Where components are searched for on the nodes, as a :class:`Coarse` problem.

    If poses are refined afterwards: few rows, on the coarsest grid that they allow.
    """
    between = problem.chunks.operator.continuous
    if between is None or not between.from_nodes:
        return Coarse(problem)
    [chunks], _ = nested_samples(problem.chunks, [SETTLE_ROWS], recipe.rng, recipe.n_jobs)
    return coarsened(replace(problem, chunks=chunks, rough=True))


def spread(coarse, problem, result):
    """What was found on few rows of a coarse grid: only its weights hold for the problem."""
    if coarse.problem is problem:
        return result
    return replace(result, weights=orthonormal(coarse.spread(result.weights)), history=[])


def refined(problem, recipe, result, blocks):
    """A component, or a block, after passes at poses between the nodes.

    If there are many rows, first on some of them, so that few passes touch all.

    Parameters
    ----------
    problem : Problem
        The residual of the components before.
    recipe : Recipe
    result : SolverResult
        What was found on the nodes.
    blocks : list of Block
        The components before, which the residual lacks.

    Returns
    -------
    chunks : Chunks
        The same residual, with codes of the component in its last column.
    result : SolverResult
    """
    chunks, k = problem.chunks, len(blocks)
    if chunks.n_rows > MANY * SETTLE_ROWS:
        [few], _ = nested_samples(chunks, [SETTLE_ROWS], recipe.rng, recipe.n_jobs)
        begun = replace(result, history=[])
        begun = refined(replace(problem, chunks=few), recipe, begun, [])[1]
        result = replace(result, weights=begun.weights)
    start = result.weights
    one = Climb(start, start, chunks.sum(energy))
    while len(one.history) < MOST_PASSES and not one.done:
        block = problem.block_for_codes(one.point)
        chunks = chunks.update(posed, block, k, one.age > 0, blocks=[*blocks, None, None])
        stats = chunks.sum(at_found, k)
        one.take(float(stats.explained[0]), stepped(problem, stats, one.point))
    chunks = chunks.update(settled, k, one.age > 0, blocks=[*blocks, None])
    history = [explained for explained in one.history if explained >= result.explained]
    passes = result.n_iter + one.n_iter
    found = replace(result, weights=one.weights, n_iter=passes)
    found.history = [*result.history, *history]
    return chunks, found


@dataclass
class Climb:
    """The state of the passes, each but the first at a ``point`` beyond the last update.

    If that explains less than before, it is rejected, and the next pass is at the update itself,
    from the poses before it: so the history cannot fall.

    Attributes
    ----------
    point, weights : arrays (K, L)
    total : float
        Energy of the rows.
    age : int
        The number of points that were accepted one after the other; 0 after a rejection.
    """

    point: np.ndarray
    weights: np.ndarray
    total: float
    history: list[float] = field(default_factory=list)
    age: int = 0
    n_iter: int = 0
    done: bool = False

    def take(self, explained, new):
        """Continue with what the point explains, and its update (K, L)."""
        self.n_iter += 1
        if self.history and explained < self.history[-1] and self.age:
            self.point, self.age = self.weights, 0
            return
        gain = explained - self.history[-1] if self.history else np.inf
        self.history.append(explained)
        self.age += 1
        [self.point] = extrapolate(new[None], self.weights[None], np.array([self.age]))
        self.weights = new
        self.done = gain <= TOLERANCE * (self.total - explained)


def stepped(problem, stats, W):
    """The weights (K, L) after an update from statistics at poses."""
    return update(problem.chunks.operator, stats, W[None], UPDATE_STEPS)[0]


def posed(chunk, block, k, accepted):
    """The chunk with poses of a block: known ones in column ``k``, and refined ones after it.

    Known are those refined last, if they were ``accepted``, and otherwise those before; if there
    are none, poses are searched for everywhere. Rows remain as they are. For :func:`at_found`, the
    scores from ``k`` on are coefficients at the refined poses, and what they explain.
    """
    codes, before = chunk.codes, None
    if codes is not None and codes.index.shape[1] > k + 1:
        before = codes.index[:, k + accepted]
    found = match(chunk, block, before, anew=False)
    known = found.index if before is None else before
    index = [known[:, None], found.index[:, None]]
    scores = [found.coef, found.explained[:, None]]
    if k:
        index, scores = [codes.index[:, :k], *index], [codes.scores[:, :k], *scores]
    return chunk.with_codes(Codes(np.hstack(scores), np.hstack(index)))


def at_found(chunk, k):
    """:class:`Stats` of the block whose poses :func:`posed` refined."""
    coef, explained = chunk.codes.scores[:, k:-1], chunk.codes.scores[:, -1]
    total = np.array([np.sum(chunk.weigh(explained))])
    return coded_statistics(chunk, chunk.codes.index[:, k + 1], coef, total)


def settled(chunk, k, accepted):
    """The chunk with the poses of column ``k`` that were accepted last, and no scores there."""
    codes = chunk.codes
    index = np.hstack([codes.index[:, :k], codes.index[:, [k + accepted]]])
    scores = np.hstack([codes.scores[:, :k], np.zeros((len(codes), 1))])
    return chunk.with_codes(Codes(scores, index))


def at_codes(chunk, block, k):
    """:class:`Stats` of a block at the poses of column ``k`` of the codes."""
    found = match_at(chunk, block, chunk.codes.index[:, k])
    explained = np.array([np.sum(chunk.weigh(found.explained))])
    return coded_statistics(chunk, found.index, found.coef, explained)


def codes_poses(chunk, block):
    """:class:`TakenPoses` of a block at the poses of the codes."""
    found = match_at(chunk, block, chunk.codes.index[:, 0])
    return summarise(chunk, found.score, found.explained, found.index)


def nested_at_codes(chunk, block):
    """Residual energies after 0, 1, .., K components at the poses of the codes, weighted."""
    return nested_energies_at(chunk, block, chunk.codes.index[:, 0])

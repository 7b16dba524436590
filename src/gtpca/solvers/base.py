"""What all solvers share: the problem that they receive and the result that they return.

A solver takes a :class:`Problem` and returns a :class:`SolverResult`. This one is complete; it
works in your own code as well as in :mod:`gtpca.solvers`:

>>> from sklearn.base import BaseEstimator
>>> from sklearn.utils import check_random_state
>>> from gtpca import GTPCA, Shift, checks
>>> from gtpca.model.matching import orthonormal, statistics, update
>>> from gtpca.solvers.base import SolverResult
>>> class OneStart(BaseEstimator):
...     def __init__(self, max_iter=50):
...         self.max_iter = max_iter
...
...     def check(self):
...         checks.parameters(self, {"max_iter": checks.at_least(1)})
...
...     def solve(
...         self, problem, random_state=None, *, n_jobs=None, start=None, more=False, report=None
...     ):
...         rng = check_random_state(random_state)
...         white = orthonormal(rng.standard_normal((1, problem.chunks.operator.n_weights)))
...         return self._climb(problem, white if start is None else start, self.max_iter, report)
...
...     def polish(self, problem, W, n_passes=1):
...         return self._climb(problem, W, n_passes)
...
...     def _climb(self, problem, W, n_passes, report=None):
...         result = SolverResult(W, stopped="max_iter")
...         while result.n_iter < n_passes and result.stopped != "callback":
...             stats = problem.chunks.sum(statistics, [problem.block_for_codes(result.weights)])
...             [result.weights] = update(problem.chunks.operator, stats, result.weights[None])
...             result.history.append(float(stats.explained[0]))
...             result.n_iter += 1
...             if report is not None and report(result.n_iter, result.explained):
...                 result.stopped = "callback"
...         return result
>>> from gtpca.datasets import make_spikes
>>> X, _ = make_spikes(40, random_state=0)
>>> GTPCA(1, Shift(64), solver=OneStart(5), random_state=0).fit(X).n_iter_
array([5])

- ``check`` raises an error for parameters that make no sense.
- ``solve`` returns one component (1, L), or the block that ``start`` (K, L) leads to. Up to
  ``n_jobs`` threads may be used; they must not change the result. ``more`` tells whether another
  component will be searched for in the residual. ``report(iteration, explained)``, called after
  every pass over all rows, returns True if a callback wants to stop.
- ``polish`` makes a few passes from ``W`` (K, L): one step of a joint sweep.
- ``problem.chunks`` iterates over the rows: ``sum(fn, *args)`` takes a module-level function, so
  that it can be sent to workers. ``problem.chunks.operator`` holds the transforms, and
  ``problem.block_for_codes(W)`` is what a match needs to know about weights.
  ``dataclasses.replace(problem, chunks=..)`` is the same problem on other rows, such as a
  subsample.
- The solver is a ``BaseEstimator`` whose ``__init__`` only stores, so that it can be cloned,
  printed and searched over (``solver__max_iter``). ``joint = False`` in the class rules out
  ``shared_pose=True``, for solvers that cannot improve a block; ``ridged = True`` says that the
  solver uses ``problem.ridge``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from gtpca.data.chunks import Chunks, as_chunks
from gtpca.data.energies import energy
from gtpca.model.matching import Block, explained_energy, make_blocks

__all__ = ["Problem", "SolverResult"]


@dataclass(frozen=True, eq=False)
class Problem:
    """All that a solver sees: rows, which know their operator, and how components may match them.

    Parameters
    ----------
    chunks : Chunks
    polarity : {"both", "positive"}
    complete : bool
        Whether all values of the rows were observed.
    ridge : float
        ``rho`` of :mod:`gtpca.model.ridge`, with which components are found.
    cost : float
        The largest share by which the ridge may raise the residual energy; components for which it
        would raise it more are found without a ridge.
    rough : bool
        Whether the rows are a sample to search in: ties between transforms are then decided by
        rounding.
    """

    chunks: Chunks
    polarity: str = "both"
    complete: bool = True
    ridge: float = 0.0
    cost: float = np.inf
    rough: bool = False

    @property
    def plain(self) -> Problem:
        """The same problem without a ridge."""
        return replace(self, ridge=0.0)

    def on(self, numbers: np.ndarray) -> Problem:
        """The same problem on some of the rows, in memory."""
        chunk = self.chunks.take(numbers)
        n_jobs = getattr(self.chunks, "n_jobs", None)
        how = {"n_jobs": n_jobs, "given": chunk.given}
        chunks = as_chunks(chunk.rows, chunk.operator, chunk.weight, **how)
        return replace(self, chunks=chunks)

    def block_for_codes(self, W: np.ndarray) -> Block:
        """The block of weights ``W`` (K, L) for encoding these rows: without the ridge."""
        how = (self.chunks.dtype, self.polarity, 0.0, self.rough)
        return make_blocks(self.chunks.operator, W[None], *how)[0]

    def blocks_for_fit(self, stack: np.ndarray) -> list[Block]:
        """The blocks of several weights (S, K, L) during the search: with the ridge, on nodes."""
        how = (self.chunks.dtype, self.polarity, self.ridge, self.rough)
        return make_blocks(self.chunks.operator, stack, *how, fine=False)

    def left(self, W: np.ndarray) -> float:
        """The energy of the residual of these rows on the block of weights ``W`` (K, L)."""
        return self.chunks.sum(energy) - self.chunks.sum(explained_energy, self.block_for_codes(W))


@dataclass
class SolverResult:
    """One component, or a block of components that share a pose, and how it was found.

    Attributes
    ----------
    weights : array (K, L)
        Orthonormal.
    history : list of float
        Explained energy at each pass over all rows, minus the penalty of a ridge; never decreases.
    n_iter : int
        Number of passes over all rows, including those of rejected moves.
    stopped : str
        Why it stopped: "converged", "max_iter", "callback" or "no energy"; "given" for
        templates, which were not searched for.
    ridge : float
        The ridge with which the component was found.
    """

    weights: np.ndarray
    history: list[float] = field(default_factory=list)
    n_iter: int = 0
    stopped: str = "converged"
    ridge: float = 0.0

    @property
    def explained(self) -> float:
        """Explained energy at the last pass."""
        return self.history[-1] if self.history else 0.0

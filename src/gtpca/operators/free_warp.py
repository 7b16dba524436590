"""The operator of free monotone warps of one axis: :class:`gtpca.FreeWarp` on a grid.

It has a single node, the identity, and poses of its own between and beyond: the displacements of
the knots of a warp, in points. See :mod:`gtpca.operators.warping` for formulas.
"""

from __future__ import annotations

import numpy as np

from gtpca.operators import warping
from gtpca.operators.base import Operator
from gtpca.operators.grid import axis_of
from gtpca.operators.normal import CG_STEPS, Normal
from gtpca.operators.poses import Continuous, PoseAxis, is_pose
from gtpca.operators.warping import Lattice

__all__ = ["FreeWarpOperator"]

STRENGTHS = np.linspace(-0.6, 0.6, 7)  # of the warps from which a search begins


class Layout:
    """Flat vectors as (.., C, d): channels, and times on the last axis.

    Parameters
    ----------
    shape : tuple of int
        That of a sample.
    axis : int
        The axis of time.
    """

    def __init__(self, shape, axis):
        self.shape, self.axis = tuple(shape), axis

    def split(self, X):
        """Flat vectors (.., C d), shape (.., C, d)."""
        each = X.reshape(*X.shape[:-1], *self.shape)
        moved = np.moveaxis(each, each.ndim - len(self.shape) + self.axis, -1)
        return moved.reshape(*X.shape[:-1], -1, self.shape[self.axis])

    def join(self, X):
        """The inverse of :meth:`split`."""
        others = self.shape[: self.axis] + self.shape[self.axis + 1 :]
        each = X.reshape(*X.shape[:-2], *others, X.shape[-1])
        moved = np.moveaxis(each, -1, each.ndim - len(self.shape) + self.axis)
        return moved.reshape(*X.shape[:-2], -1)


class FreeWarpOperator(Operator):
    """All warps of one axis that a lattice allows.

    Parameters
    ----------
    sample_shape : tuple of int
    axis : int
        The axis of time; the others are channels, which move along.
    lattice : Lattice
    """

    def __init__(self, sample_shape, axis, lattice: Lattice):
        super().__init__(sample_shape, sample_shape, 1, moved_axes=(axis,))
        self.warps = self.continuous = Warps(sample_shape, axis, lattice)

    @property
    def lattice(self) -> Lattice:
        """The warps that a search may choose from."""
        return self.warps.lattice

    def apply(self, w):
        return self.warps.apply(w, self.pose_space.nodes)

    def adjoint(self, M):
        return self.warps.adjoint(M, self.pose_space.nodes)[0]

    def describe(self, index):
        """Of the only node, the identity, all parameters are zero."""
        pose = np.asarray(index)
        if not is_pose(pose):
            pose = np.zeros((*pose.shape, len(self.warps.axes)))
        return self.warps.describe(pose)


class Warps(Continuous):
    """Warps at any pose, and their search.

    Parameters
    ----------
    sample_shape, axis, lattice
        See :class:`FreeWarpOperator`.
    """

    from_nodes = False

    def __init__(self, sample_shape, axis, lattice):
        self.layout, self.lattice = Layout(sample_shape, axis), lattice
        time = axis_of(sample_shape, axis)
        self.step, unit = time.step, time.unit if time.step else ""
        numbers = range(len(lattice.knots))[lattice.moving]
        reach = lattice.reach
        self.axes = tuple(PoseAxis(f"knot_{j}", -reach, reach, unit) for j in numbers)

    def _smooth(self, W):
        return self.lattice.smooth(self.layout.split(np.asarray(W, dtype=np.float64)))

    def apply(self, w, pose):
        lattice, W = self.lattice, self._smooth(w)
        if w.ndim == 1:
            return self.layout.join(warping.moved(lattice, W[None], pose)[:, 0])
        return self.layout.join(warping.moved_each(lattice, W, lattice.warp(pose)))

    def adjoint(self, X, pose):
        rows = self.layout.split(np.asarray(X, dtype=np.float64))
        return self.layout.join(self._spread(warping.adjoint(self.lattice, rows, pose)))

    def _spread(self, nodes):
        """Values at nodes (.., L) as weights (.., d), zero in between."""
        W = np.zeros((*nodes.shape[:-1], self.lattice.n_times))
        W[..., self.lattice.nodes] = nodes
        return W

    def sums(self, pose, coef, V):
        V = self.layout.split(np.asarray(V, dtype=np.float64))
        alike = len(V) == 1 and np.all(V[:, :1] == V)
        found = warping.chain_sums(self.lattice, V[:, :1] if alike else V, pose, coef.T)
        shape = (len(coef), V.shape[1], *found.shape[2:])
        return np.broadcast_to(found, shape).reshape(len(coef), -1)

    def normal(self, sums):
        L = len(self.lattice.nodes)
        return Chain(sums.reshape(*sums.shape[:3], -1, 2, L), self.layout, self.lattice)

    def search(self, X, V, W, starts, positive=False, rough=False):
        """Near ``starts`` if there are any, and otherwise on the whole lattice."""
        rows = self._rows(X, V)
        if starts is not None:
            begin = list(np.moveaxis(starts, 1, 0))
            return warping.refine(self.lattice, rows, self._smooth(W), begin, positive).pose
        begin = [np.zeros((1, len(self.axes))), *warping.global_poses(self.lattice, STRENGTHS)]
        begin = [np.broadcast_to(pose, (len(X), len(self.axes))) for pose in begin]
        return warping.search(
            self.lattice, rows, self._smooth(W), begin, positive, rough=rough
        ).pose

    def price(self, pose, energies):
        """``rho |x|^2 int (gamma' - 1)^2``."""
        return self.lattice.rho * energies * self.lattice.roughness(pose)

    def _rows(self, X, V):
        """``v x``, ``v`` and ``|x|^2``, as :mod:`gtpca.operators.warping` takes them."""
        X, V = (self.layout.split(np.asarray(A, dtype=np.float64)) for A in (X, V))
        return X * V, V, np.einsum("nct,nct->n", X * V, X)

    def describe(self, pose):
        scale = 1.0 if self.step is None else self.step
        return {axis.name: scale * pose[..., j] for j, axis in enumerate(self.axes)}

    def standardised(self, W, pose):
        """``w(mean(t))``, where the mean warp of the rows is that of the pose (q,)."""
        reads = self.lattice.reads(self.lattice.warp(pose[None])[0])
        return self.layout.join(self.lattice.smooth(warping.interpolated(self._smooth(W), *reads)))

    def bring_back(self, X, pose):
        """Rows (n, C d) in the time of the component; NaN next to values that are NaN."""
        rows = self.layout.split(np.asarray(X, dtype=np.float64))
        return self.layout.join(warping.unwarp(self.lattice, rows, pose))


class Chain(Normal):
    """Normal equations that couple neighbouring nodes of a channel: block tridiagonal.

    Parameters
    ----------
    sums : array (S, K, K, C, 2, L)
        Those of :func:`gtpca.operators.warping.chain_sums`.
    layout : Layout
    lattice : Lattice
    """

    def __init__(self, sums, layout, lattice):
        self.sums, self.layout, self.lattice = sums, layout, lattice

    def _nodes(self, W):
        return self.layout.split(W)[..., self.lattice.nodes]

    def _each(self, fn, *arrays):
        """``fn`` of every system and channel, whose arrays are (K, .., L), (S, K, C, L)."""
        S, C = self.sums.shape[0], self.sums.shape[3]
        found = [
            [fn(self.sums[s, :, :, c], *(A[s, :, c] for A in arrays)) for c in range(C)]
            for s in range(S)
        ]
        return np.moveaxis(np.array(found), 1, 2)

    def times(self, W):
        found = np.zeros((*W.shape[:2], self.sums.shape[3], self.lattice.n_times))
        found[..., self.lattice.nodes] = self._each(warping.chain_times, self._nodes(W))
        return self.layout.join(found)

    def solve(self, rhs, start, steps=CG_STEPS):
        """Exact; weights between nodes are interpolated."""
        nodes = self._each(warping.solve_chain, self._nodes(rhs), self._nodes(start))
        return self._whole(nodes)

    def _whole(self, nodes):
        reads = self.lattice.node_reads(self.lattice.times)
        return self.layout.join(warping.interpolated(nodes, *reads))

    @property
    def cover(self):
        return self._whole(np.einsum("skkcl->scl", self.sums[..., 0, :]))

    def __rmul__(self, factor):
        return Chain(factor * self.sums, self.layout, self.lattice)

"""Poses as parameters: their axes, and transforms at poses that are not nodes.

The finite list of transforms of an operator are the *nodes* of its poses. Wherever a method takes
the transforms of rows, it takes either of

- ``index``, an int array (n,): the numbers of nodes;
- ``pose``, a float array (n, p): the parameters themselves, one column for each axis,

and :func:`is_pose` tells them apart. The second is possible if the operator has a
:class:`Continuous` part, which computes ``T_theta w`` for any pose ``theta``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from gtpca.operators.normal import Normal

__all__ = [
    "DEGREES",
    "Continuous",
    "PoseAxis",
    "PoseSpace",
    "declared_axes",
    "has_own_search",
    "is_pose",
    "is_still",
]


@dataclass(frozen=True)
class PoseAxis:
    """One parameter of a pose.

    Attributes
    ----------
    name : str
        That of the quantity in :meth:`~gtpca.operators.base.Operator.describe`.
    low, high : float
        The range of its values. An operator need not declare that of its list of transforms.
    unit : str
        That of the quantity; empty if it has none, or if it is not known.
    period : float or None
        The difference after which values are the same pose again, if the parameter is periodic. The
        range may be shorter.
    angle : bool
        Whether it is an angle in degrees.
    ordered : bool
        Whether neighbours are alike. Otherwise values only number the transforms, and a range of
        them has no ends.
    """

    name: str
    low: float = -math.inf
    high: float = math.inf
    unit: str = ""
    period: float | None = None
    angle: bool = False
    ordered: bool = True

    @property
    def wraps(self) -> bool:
        """Whether the range goes all the way round."""
        return self.period is not None and self.high - self.low >= self.period

    def difference(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """``a - b``, the shorter way round if the parameter is periodic."""
        if self.period is None:
            return a - b
        return (a - b + self.period / 2) % self.period - self.period / 2

    def within(self, values: np.ndarray) -> np.ndarray:
        """Values moved into the range: by periods if it goes all the way round, or to its ends."""
        if self.period is None or not self.wraps:
            return np.clip(values, self.low, self.high)
        return self.low + (values - self.low) % self.period


DEGREES = PoseAxis("degrees", period=360.0, angle=True)


@dataclass(frozen=True, eq=False)
class PoseSpace:
    """The poses of an operator.

    Attributes
    ----------
    axes : tuple of PoseAxis
        One for each quantity of :meth:`~gtpca.operators.base.Operator.describe`.
    nodes : array (m, p)
        The poses of all transforms of the list, in the order of the axes. A quantity that is not a
        number is replaced by the number of the transform.
    """

    axes: tuple[PoseAxis, ...]
    nodes: np.ndarray

    def at(self, index: np.ndarray) -> np.ndarray:
        """The parameters (.., p) of transforms (..); poses remain as they are."""
        return index if is_pose(index) else self.nodes[index]

    def nearest(self, pose: np.ndarray) -> np.ndarray:
        """The numbers (..) of the nodes nearest to poses (.., p); numbers remain as they are.

        Differences are compared with the range of their axis.
        """
        if not is_pose(pose):
            return pose
        far = np.zeros((*pose.shape[:-1], len(self.nodes)))
        for j, axis in enumerate(self.axes):
            steps = axis.difference(pose[..., j, None], self.nodes[:, j])
            far += (steps / max(axis.high - axis.low, np.finfo(float).tiny)) ** 2
        return far.argmin(axis=-1)

    @property
    def named(self) -> dict[str, PoseAxis]:
        """The axes by their names."""
        return {axis.name: axis for axis in self.axes}

    @property
    def units(self) -> dict[str, str]:
        """The units of the quantities that have any, by their names."""
        return {axis.name: axis.unit for axis in self.axes if axis.unit}


def is_pose(index) -> bool:
    """Whether transforms are given by their parameters, (.., p), and not by numbers of nodes."""
    return np.dtype(index.dtype).kind == "f"


def is_still(operator) -> bool:
    """Whether nothing moves: an operator has one transform only."""
    return operator.n_transforms == 1 and operator.continuous is None


def has_own_search(operator) -> bool:
    """Whether the poses of an operator are found row by row, without a list of transforms."""
    return operator.continuous is not None and not operator.continuous.from_nodes


def declared_axes(operator) -> dict[str, PoseAxis]:
    """What an operator declares of its quantities, by their names, without ranges."""
    told = {axis.name: axis for axis in operator.quantities}
    names = operator.describe(np.zeros(1, dtype=np.int64))
    return {name: told.get(name, PoseAxis(name)) for name in names}


class Continuous(ABC):
    r"""The transforms ``T_theta`` of an operator at any pose ``theta``, with their own search.

    Letters as in :class:`~gtpca.operators.base.Operator`, and ``p`` parameters of a pose. Weights
    of values ``V`` are (1, d), or (n, d) if rows have gaps: they contain the feature weight.

    Attributes
    ----------
    axes : tuple of PoseAxis
    from_nodes : bool
        Whether the nodes of the operator find the neighbourhood of a pose. Components are then
        searched for on the nodes alone, and refined with their poses afterwards. Otherwise
        :meth:`search` finds poses on its own, in every pass.
    """

    axes: tuple[PoseAxis, ...]
    from_nodes = True

    @abstractmethod
    def apply(self, w: np.ndarray, pose: np.ndarray) -> np.ndarray:
        """``T_{theta_i} w``, or ``T_{theta_i} w_i`` of weights (n, L), shape (n, d)."""

    def products(
        self, X: np.ndarray, V: np.ndarray, W: np.ndarray, pose: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """``b_k = <v_i, x_i (T_i w_k)>`` (n, K) and ``G_jk = <v_i, (T_i w_j) (T_i w_k)>``.

        Of weights (K, L), computed in the precision of the rows, and returned in float64.
        """
        moved = np.stack([self.apply(w, pose) for w in W], axis=1).astype(X.dtype, copy=False)
        weighed = moved * V[:, None].astype(X.dtype)
        b, G = weighed @ X[:, :, None], weighed @ moved.transpose(0, 2, 1)
        return b[:, :, 0].astype(np.float64), G.astype(np.float64)

    @abstractmethod
    def adjoint(self, X: np.ndarray, pose: np.ndarray) -> np.ndarray:
        """``T_{theta_i}* x_i`` of every row, (n, d) to (n, L), float64."""

    @abstractmethod
    def sums(self, pose: np.ndarray, coef: np.ndarray, V: np.ndarray) -> np.ndarray:
        """``N_s = sum_i coef_si T_i* diag(v_i) T_i`` in a compact form of its own, (S, q).

        Coefficients are (S, n). Additive over rows; :meth:`normal` interprets it.
        """

    @abstractmethod
    def normal(self, sums: np.ndarray) -> Normal:
        """The normal equations with the blocks ``N_jk`` of :meth:`sums`, (S, K, K, q)."""

    @abstractmethod
    def search(
        self,
        X: np.ndarray,
        V: np.ndarray,
        W: np.ndarray,
        starts: np.ndarray | None,
        positive: bool = False,
        rough: bool = False,
    ) -> np.ndarray:
        """A pose for each row that explains as much of it as possible, (n, p).

        That is ``b' G^-1 b`` with ``b_k = <v, x T w_k>`` and ``G_jk = <v, (T w_j) (T w_k)>``.

        Parameters
        ----------
        X : array (n, d)
            Zero where nothing was observed.
        V : array (1, d) or (n, d)
        W : array (K, L)
        starts : array (n, C, p) or None
            Poses to begin with: nodes, the pose so far, or both. None: there are no such poses.
        positive : bool
            Whether a single component must have a positive product.
        rough : bool
            Whether rows are a sample on which components are compared: poses need not be refined.
        """

    def price(self, pose: np.ndarray, energies: np.ndarray) -> np.ndarray | float:
        """What the poses (n, p) of rows cost, in units of energy, (n,); 0 for most.

        A search maximises the explained energy minus this price.
        """
        return 0.0

    def standardised(self, W: np.ndarray, pose: np.ndarray) -> np.ndarray:
        """Weights (K, L), moved so that the mean pose of rows, ``pose`` (p,), becomes neutral."""
        return W

    def bring_back(self, X: np.ndarray, pose: np.ndarray) -> np.ndarray | None:
        """Rows (n, d) moved back from their poses, (n, L); None: by the adjoint."""
        return None

    def best_nodes(self, energies: np.ndarray) -> np.ndarray:
        """The nodes at which to begin, (n, C), from what each node explains of a row, (n, m).

        Several, since the best pose need not be next to the best node. Only if ``from_nodes``.
        """
        return energies.argmax(axis=1)[:, None]

    def describe(self, pose: np.ndarray) -> dict[str, np.ndarray]:
        """Poses (.., p) as physical quantities, one named column (..) per quantity."""
        return {axis.name: pose[..., j] for j, axis in enumerate(self.axes)}

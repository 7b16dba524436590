"""Poses as parameters: their axes, and transforms at poses that are not nodes.

The finite list of transforms of an operator are the *nodes* of its poses. Wherever a method takes
the transforms of rows, it takes either of

- ``index``, an int array (n,): the numbers of nodes;
- ``pose``, a float array (n, p): the parameters themselves, one column for each axis,

and :func:`is_pose` tells them apart. The second is possible if the operator has a
:class:`Continuous` part, which computes ``T_theta w`` for any pose ``theta``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from gtpca.operators.normal import Normal

__all__ = ["Continuous", "PoseAxis", "is_pose"]


@dataclass(frozen=True)
class PoseAxis:
    """One parameter of a pose.

    Attributes
    ----------
    name : str
        That of the quantity in :meth:`~gtpca.operators.base.Operator.describe`.
    low, high : float
        The range of its values.
    unit : str
        Empty if it has none, or if it is not known.
    period : float or None
        The period, if the parameter is periodic.
    """

    name: str
    low: float
    high: float
    unit: str = ""
    period: float | None = None

    def difference(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """``a - b``, the shorter way round if the parameter is periodic."""
        if self.period is None:
            return a - b
        return (a - b + self.period / 2) % self.period - self.period / 2

    def within(self, values: np.ndarray) -> np.ndarray:
        """Values moved into the range: by periods, or to its ends."""
        if self.period is None:
            return np.clip(values, self.low, self.high)
        return self.low + (values - self.low) % self.period


def is_pose(index) -> bool:
    """Whether transforms are given by their parameters, (.., p), and not by numbers of nodes."""
    return np.dtype(index.dtype).kind == "f"


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

"""The codes of rows on a model: scores and transforms.

They belong to this layer because a chunk holds the codes of its rows, from which residuals are
computed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Any, Generic

import numpy as np

from gtpca._typing import ArrayT
from gtpca.data.containers import Container
from gtpca.data.rows import by_rows
from gtpca.files import atomic_file, check_regular
from gtpca.operators.base import Operator
from gtpca.operators.poses import is_pose

__all__ = ["Codes"]


@dataclass(frozen=True, eq=False)
class Codes(Generic[ArrayT]):
    """Scores and transforms of ``n`` rows on ``k`` components.

    ``index`` has one column per component, or a single one if all components share the pose.

    Parameters
    ----------
    scores : array (n, k)
        Signed length of each projection.
    index : int array (n, k) or (n, 1), or float array (n, k, p) or (n, 1, p)
        Which transform each component took; ``GTPCA.poses`` converts it to physical units. For
        families whose poses lie between the transforms of a list, it holds the poses themselves.
    shapes : int array (n, r) or None
        Shapes of the samples, if these came as a list of unequal sizes: ``GTPCA.decode`` then
        returns such a list.
    container : Container or None
        The container of the samples, such as a DataArray: ``GTPCA.decode`` and ``GTPCA.poses``
        return the same type. It is not saved.
    kind : int array (n,) or None
        The kind of each row, if a model has several: see :class:`gtpca.MixtureGTPCA`.
    operator : Operator or None
        The transforms, from which :attr:`pose` is computed. It is not saved.

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import Codes
    >>> len(Codes(np.ones((5, 2)), np.zeros((5, 2), dtype=int))[:3])
    3
    """

    scores: ArrayT
    index: ArrayT
    shapes: np.ndarray | None = None
    container: Container | None = None
    kind: ArrayT | None = None
    operator: Operator | None = field(default=None, repr=False)

    @property
    def pose(self) -> ArrayT:
        """The parameters of all poses, (n, k, p), or (n, 1, p) if they are shared.

        ``p`` are the axes ``GTPCA.operator_.pose_space.axes``. Only for codes of ``GTPCA.encode``,
        which know their operator, and for poses that are not nodes.
        """
        index: Any = self.index
        if is_pose(index):
            return index
        if self.operator is None:
            raise ValueError(
                "these codes do not know their transforms; use codes of encode(X), or "
                "operator_.pose_space.at(codes.index) of the model."
            )
        return by_rows(self.operator.pose_space.at, index)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "operator": None}

    @staticmethod
    def check(codes: Any) -> None:
        """Raise a TypeError for anything but codes, such as the scores from ``transform``."""
        if not isinstance(codes, Codes):
            raise TypeError(
                f"codes is {_kind_of(codes)}, but must be what encode(X) returns: scores and poses."
            )

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, rows: Any) -> Codes[ArrayT]:
        if isinstance(rows, (int, np.integer)):
            rows = np.array([rows])
        shapes = None if self.shapes is None else self.shapes[rows]
        container = None if self.container is None else self.container.take(rows)
        kind = None if self.kind is None else self.kind[rows]
        return Codes(self.scores[rows], self.index[rows], shapes, container, kind, self.operator)

    def first(self, n_components: int) -> Codes[ArrayT]:
        """The codes on the first components only; a shared pose is kept."""
        index: Any = self.index
        index = index if index.shape[1] == 1 else index[:, :n_components]
        return replace(self, scores=self.scores[:, :n_components], index=index)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all arrays to one ``.npz`` file, atomically and without pickle."""
        arrays: dict[str, Any] = {"scores": self.scores, "index": self.index}
        for name in ("shapes", "kind"):
            if getattr(self, name) is not None:
                arrays[name] = getattr(self, name)
        with atomic_file(path) as file:
            np.savez(file, **arrays)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Codes:
        """Read what :meth:`save` wrote."""
        check_regular(path)
        with np.load(path, allow_pickle=False) as arrays:
            beside = {name: arrays.get(name) for name in ("shapes", "kind")}
            return Codes(arrays["scores"], arrays["index"], **beside)


def _kind_of(value) -> str:
    """The type of a value, and its shape if it has one."""
    shape = getattr(value, "shape", None)
    return f"a {type(value).__name__}{'' if shape is None else f' of shape {tuple(shape)}'}"

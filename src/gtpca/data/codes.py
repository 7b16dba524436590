"""What a fitted model says of samples: scores and transforms."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

__all__ = ["Codes"]


@dataclass(frozen=True, eq=False)
class Codes:
    """Scores and transforms of ``n`` rows on ``k`` components.

    ``index`` has one column per component, or a single one if all components share the pose.

    Parameters
    ----------
    scores : array (n, k)
        Signed length of each projection.
    index : int array (n, k) or (n, 1)
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

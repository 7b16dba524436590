"""scikit-fda functions on a grid."""

from __future__ import annotations

import copy

import numpy as np

from gtpca.data.containers.base import Container, axes_of
from gtpca.data.labels import Labels
from gtpca.operators.grid import Axis
from gtpca.optional import require

__all__ = ["Functions"]


class Functions(Container):
    """An FDataGrid, whose grid defines the weights of the inner product (trapezoidal rule).

    Parameters
    ----------
    X : FDataGrid
    sample_dim : ignored
    labels : ignored
    """

    def __init__(self, X, sample_dim=None, labels: Labels | None = None):
        if not hasattr(X, "data_matrix"):
            raise TypeError(f"X is a {type(X).__name__}; give an FDataGrid, as X.to_grid() does.")
        self._X = X
        values = X.data_matrix
        rows = values[..., 0] if X.dim_codomain == 1 else values
        super().__init__(rows, Labels(tuple(_axes(X)), "skfda", weighted=True))

    def take(self, numbers):
        part = copy.copy(self)
        part._X = self._X[np.arange(len(self._X))[numbers]]
        return part

    def samples(self, values, grid):
        axes, X = axes_of(grid, self.labels, values.shape[1:]), self._X
        values = np.asarray(values)
        if values.shape[1:] == self.rows.shape[1:]:
            return X.copy(data_matrix=values.reshape(-1, *X.data_matrix.shape[1:]))
        points = _points(axes, X.dim_domain)
        if points is None:
            return values
        names = {name: getattr(X, name) for name in ("argument_names", "coordinate_names")}
        matrix = values if X.dim_codomain > 1 else values[..., None]
        return type(X)(matrix, points, sample_names=X.sample_names, **names)

    @classmethod
    def components(cls, values, grid, labels):
        skfda = require("skfda", "dev")
        axes = axes_of(grid, labels, values.shape[1:])
        rank = sum(axis.points is not None for axis in axes)
        points = _points(axes, rank)
        if points is None:
            return values
        matrix = values if rank < len(axes) else values[..., None]
        return skfda.FDataGrid(matrix, points, argument_names=[a.name for a in axes[:rank]])


def _points(axes, rank) -> list[np.ndarray] | None:
    """The positions on the first axes, if they are known."""
    points = [axis.points for axis in axes[:rank]]
    return None if not rank or any(p is None for p in points) else points


def _axes(X):
    """One axis per argument of the functions, and one for values that are vectors."""
    for j, (name, points) in enumerate(zip(X.argument_names, X.grid_points, strict=True)):
        yield Axis(name or f"argument {j}", points=np.asarray(points, dtype=np.float64))
    if X.dim_codomain > 1:
        names = [name or str(i) for i, name in enumerate(X.coordinate_names)]
        yield Axis("coordinate", names=tuple(names))

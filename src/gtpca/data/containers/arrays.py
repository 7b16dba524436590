"""xarray DataArrays and torch tensors."""

from __future__ import annotations

import copy
import sys

import numpy as np

from gtpca.data.containers.base import Container, axes_of
from gtpca.data.labels import Labels
from gtpca.operators.grid import DATES, Axis, is_dates
from gtpca.optional import require
from gtpca.text import did_you_mean

__all__ = ["DataArrays", "Tensors"]


class DataArrays(Container):
    """An xarray DataArray, one of whose dimensions is that of the samples.

    Parameters
    ----------
    X : DataArray
    sample_dim : str or None
        Default: the first dimension.
    labels : Labels or None
        Labels of a fitted model, whose axes define the order of the dimensions.
    """

    def __init__(self, X, sample_dim=None, labels: Labels | None = None):
        if not hasattr(X, "dims") or not hasattr(X, "coords") or hasattr(X, "data_vars"):
            raise TypeError(
                f"X is a {type(X).__name__} of xarray; give a DataArray, such as X['name'] or "
                "X.to_array()."
            )
        dim = _sample_dim(X, sample_dim)
        self._X = X = X.transpose(dim, *_order(X, dim, labels))
        axes = tuple(_axis(X, name) for name in X.dims[1:])
        super().__init__(X.data, Labels(axes, "xarray", str(dim)))

    def take(self, numbers):
        part = copy.copy(self)
        part._X = self._X[numbers]
        return part

    def samples(self, values, grid):
        X = self._X
        if isinstance(values, list):
            return values
        axes = axes_of(grid, self.labels, values.shape[1:])
        if values.shape == X.shape and _same(axes, self.labels.axes):
            return X.copy(data=values)
        known = {str(dim): dim for dim in X.dims}  # which need not be text
        names = [axis.name or f"axis_{j}" for j, axis in enumerate(axes)]
        names = [known.get(name, name) for name in names]
        return _data_array(values, X.dims[:1], self._beside(), names, axes, X.name, X.attrs)

    def table(self, values, names):
        component = _component_dim(self._X.dims[:1])
        dims = (self._X.dims[0], component)
        coords = {**self._beside(component), component: list(names)}
        return sys.modules["xarray"].DataArray(values, dims=dims, coords=coords)

    def poses(self, poses):
        component = _component_dim(self._X.dims[:1])
        dims, coords = self._X.dims[:1] if poses.shared else (self._X.dims[0], component), {}
        columns = {}
        for name, values in poses.items():
            about = {"units": poses.units[name]} if name in poses.units else {}
            columns[name] = (dims, values[:, 0] if poses.shared else values, about)
            coords = {} if poses.shared else {component: _component_names(values.shape[1])}
        return sys.modules["xarray"].Dataset(
            columns, coords=self._beside(*columns, component) | coords
        )

    def _beside(self, *taken):
        """The coordinates that belong to the samples alone, except for names already in use."""
        coords, dim = self._X.coords, self._X.dims[0]
        return {n: c for n, c in coords.items() if set(c.dims) <= {dim} and n not in taken}

    @classmethod
    def components(cls, values, grid, labels):
        require("xarray", "dev")
        axes = axes_of(grid, labels, values.shape[1:])
        names = [axis.name or f"axis_{j}" for j, axis in enumerate(axes)]
        dim = _component_dim(names)
        return _data_array(values, (dim,), {dim: _component_names(len(values))}, names, axes)


def _component_dim(taken) -> str:
    """The name of the axis of the components, different from existing dimensions."""
    return next(name for name in ("component", "gtpca_component") if name not in taken)


def _component_names(count) -> list[str]:
    """The names that ``GTPCA.get_feature_names_out`` gives to the scores."""
    return [f"gtpca{k}" for k in range(count)]


def _sample_dim(X, sample_dim):
    if X.ndim < 2:
        raise ValueError(f"X has the dimensions {X.dims}, but needs at least two: samples first.")
    if sample_dim is None:
        return X.dims[0]
    if sample_dim not in X.dims:
        hint = did_you_mean(str(sample_dim), list(map(str, X.dims)))
        raise ValueError(f"sample_dim={sample_dim!r} is not a dimension of X, {X.dims}.{hint}")
    return sample_dim


def _order(X, dim, labels):
    """The dimensions of a sample, ordered as in the fit if they have the same names."""
    own = {str(name): name for name in X.dims if name != dim}
    wanted = [] if labels is None else [str(axis.name) for axis in labels.axes]
    return [own[name] for name in wanted] if sorted(wanted) == sorted(own) else own.values()


def _axis(X, dim) -> Axis:
    """A dimension with its coordinate, if that is numbers, times or names."""
    name = str(dim)
    if dim not in X.coords:
        return Axis(name)
    values, unit = X.coords[dim].values, str(X.coords[dim].attrs.get("units", ""))
    if values.ndim != 1:
        return Axis(name)
    _check_coordinate(dim, values)
    if values.dtype.kind == "M":
        return Axis(name, *_dates(values))
    if values.dtype.kind == "m":
        return Axis(name, "s", values / np.timedelta64(1, "s"))
    if values.dtype.kind in "iuf":
        return Axis(name, unit, _numbers(values))
    return Axis(name, unit, names=tuple(map(str, values)))


def _dates(values) -> tuple[str, np.ndarray]:
    """The unit of dates, nanoseconds if their range suffices, and the numbers since 1970."""
    fine = values.astype(DATES)
    kept = fine if np.array_equal(fine.astype(values.dtype), values) else values
    return str(kept.dtype), kept.astype(np.int64)


def _numbers(values) -> np.ndarray:
    """Positions as floats, or as integers if floats cannot represent them."""
    found = values.astype(np.float64)
    large = values.dtype.kind in "iu" and np.abs(found).max(initial=0.0) > 2**53
    return values.astype(np.int64) if large and found.max() < 2**63 else found


def _check_coordinate(dim, values) -> None:
    """Check that positions are neither NaN, nor infinite, nor missing dates."""
    kind = values.dtype.kind
    good = ~np.isnat(values) if kind in "mM" else np.isfinite(values) if kind == "f" else True
    if not np.all(good):
        place = int(np.argmin(good))
        raise ValueError(
            f"the coordinate {dim!r} of X is {values[place]} at place {place}, which is no "
            f"position; replace it, or leave the coordinate out: X.drop_vars({dim!r})."
        )


def _same(axes, others) -> bool:
    """Whether axes have the same positions."""
    return all(a is b or _equal(a.points, b.points) for a, b in zip(axes, others, strict=True))


def _equal(a, b) -> bool:
    return (a is None) == (b is None) and (a is None or np.array_equal(a, b))


def _data_array(values, first, coords, names, axes, name=None, attrs=None):
    """An array of samples or components with the coordinates of its axes."""
    array = sys.modules["xarray"].DataArray(
        values, dims=(*first, *names), coords=coords, name=name, attrs=attrs
    )
    for dim, axis in zip(names, axes, strict=True):
        if axis.points is not None:
            found = axis.at(np.arange(len(axis.points)))
            about = {"units": axis.unit} if axis.unit and not is_dates(axis.unit) else {}
            array = array.assign_coords({dim: (dim, found, about)})
        elif axis.names is not None:
            array = array.assign_coords({dim: list(axis.names)})
    return array


class Tensors(Container):
    """A torch tensor: results are tensors on the same device.

    Parameters
    ----------
    X : Tensor (n, \\*sample_shape)
    """

    def __init__(self, X, sample_dim=None, labels: Labels | None = None):
        if X.layout != sys.modules["torch"].strided or X.is_quantized:
            how = "dequantize" if X.is_quantized else "to_dense"
            what = "quantized" if X.is_quantized else f"sparse ({X.layout})"
            raise TypeError(f"X is a {what} tensor; give a dense one, as X.{how}() does.")
        known = X.detach().cpu().resolve_conj().resolve_neg()
        if known.is_floating_point() and known.element_size() < 4:
            known = known.float()  # NumPy lacks some of these types
        self._device = X.device
        super().__init__(known.numpy())

    def samples(self, values, grid):
        return sys.modules["torch"].as_tensor(values, device=self._device)

    def table(self, values, names):
        return self.samples(values, None)

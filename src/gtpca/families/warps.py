"""Families that move points of a grid: rotations, scalings, affine maps, warps, deformations."""

from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce
from numbers import Integral
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from gtpca import checks
from gtpca._typing import RandomState, Shape
from gtpca.families import grids
from gtpca.families.base import (
    Family,
    Size,
    bank_size,
    moved_axes,
    n_points,
    resolve_axes,
    single_axis,
)
from gtpca.families.domains import covered, on_common_domain
from gtpca.families.paths import Bending, Stretching, Turning
from gtpca.operators import Operator
from gtpca.operators.bank import BankOperator, ties
from gtpca.operators.poses import DEGREES, PoseAxis
from gtpca.operators.sampling import Sampling

__all__ = ["Affine", "Deformation", "Rotation", "Scaling", "TimeWarp"]


def _size(n_maps, sample_shape, axes):
    """Size of a bank of maps, each of which reads the ``2 ** r`` grid points around a source."""
    return bank_size(n_maps, sample_shape, n_reads=2.0 ** len(axes))


def _operator(family, sources, sample_shape, axes, *, nearest=False, between=None, **words):
    """The operator of the maps that read the weights at ``sources``, one (r, p) per map.

    ``words`` are what :class:`~gtpca.operators.bank.BankOperator` is told of their poses, and
    ``between`` says how poses lie between these maps: their path, axes and lattice.
    """
    checks.choice(f"{type(family).__name__}: domain", family.domain, ("common", "all"))
    matrix = grids.sampling_matrix(sources, sample_shape, axes, nearest)
    shapes = (sample_shape, sample_shape)
    operator = BankOperator(matrix, *shapes, moved_axes=axes, on_grid=True, **words)
    if between is None:
        return operator if family.domain == "all" else on_common_domain(family, [operator])[0]
    poses = np.stack(list(words["poses"].values()), axis=1).astype(np.float64)
    path, parameters, lattice = between
    sampling = partial(Sampling, path, parameters, lattice, operator.sample_shape, axes, poses)
    if family.domain == "common":
        within = covered(sampling(), operator.n_weights)
        operator = on_common_domain(family, [operator], within)[0]
    tied = None if operator.read is None else ties(operator.read, sample_shape)
    operator.continuous = sampling(domain=operator.domain, ties=tied)
    return operator


def _line(family, path, axis, values, round_=False):
    """How poses of one parameter lie between its ``values``; None if they do not.

    Parameters
    ----------
    family : Family
        With the parameter ``refine_poses``.
    path : Path
    axis : PoseAxis
        The parameter, without its range.
    values : array (m,)
    round_ : bool
        Whether the values go all the way round.
    """
    label = f"{type(family).__name__}: refine_poses"
    checks.choice(label, family.refine_poses, (True, False))
    if not family.refine_poses:
        return None
    if len(np.unique(values)) < 2 and not round_:
        raise ValueError(
            f"{label}=True needs at least two different values of {axis.name} to lie between."
        )
    low, high = (0.0, axis.period) if round_ else (float(np.min(values)), float(np.max(values)))
    return path, [replace(axis, low=low, high=high)], np.argsort(values, kind="stable")


def _affine_sources(matrices, offsets, sample_shape, axes):
    """Where the point maps ``p -> A_t p + b_t`` about the centre of the grid read the weights."""
    shape = tuple(sample_shape[a] for a in axes)
    return [grids.affine_sources(A, b, shape) for A, b in zip(matrices, offsets, strict=True)]


class Rotation(Family):
    """Images may be rotated about the middle of the pixel grid.

    The pose ``degrees`` is the angle by which the component appears rotated in the sample,
    counter-clockwise as displayed with row 0 on top: 90 degrees is ``np.rot90(w)``. Values between
    pixels are interpolated bilinearly; right angles of square images are exact; values beyond the
    image are zero.

    Parameters
    ----------
    angles : int or list of float
        The number of angles, ``360 / angles`` apart, starting at 0, or a list of degrees.
    axes : tuple of two int
        The image axes (rows, columns); the others (colours) are rotated along.
    interpolation : {"linear", "nearest"}
    domain : {"common", "all"}
        "common": samples are compared where every rotation is defined, the disc inside the image;
        beyond it samples and reconstructions count as zero. "all": everywhere; right angles then
        win if corners are not black, since only they cover them.
    refine_poses : bool
        Whether poses may lie between the angles: these find the best ones, and each pose is then
        refined. Fewer angles are needed then, and poses are as fine as the data allow.

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import Rotation
    >>> Rotation(angles=4).bind((2, 2)).apply(np.array([1.0, 2.0, 3.0, 4.0]))[1].reshape(2, 2)
    array([[2., 4.],
           [1., 3.]])
    """

    hint_if_large = "Fewer angles of Rotation make fewer transforms."

    def __init__(
        self,
        angles: ArrayLike = 20,
        axes: int | str | tuple[int | str, ...] | None = (0, 1),
        interpolation: Literal["linear", "nearest"] = "linear",
        domain: Literal["common", "all"] = "common",
        refine_poses: bool = False,
    ):
        self.angles = angles
        self.axes = axes
        self.interpolation = interpolation
        self.domain = domain
        self.refine_poses = refine_poses

    def bind(self, sample_shape: Shape) -> Operator:
        """All rotations for images of ``sample_shape``."""
        axes = self._axes(sample_shape)
        checks.choice("Rotation: interpolation", self.interpolation, ("linear", "nearest"))
        degrees = self._degrees()
        offsets = np.zeros((len(degrees), 2))
        sources = _affine_sources(map(turn, degrees), offsets, sample_shape, axes)
        upright = np.abs((degrees + 180) % 360 - 180).argmin()
        return _operator(
            self,
            sources,
            sample_shape,
            axes,
            poses={"degrees": degrees},
            quantities=[DEGREES],
            reference=upright,
            nearest=self.interpolation == "nearest",
            between=self._between(tuple(sample_shape[a] for a in axes), degrees),
        )

    def _between(self, shape, degrees):
        """How poses lie between the angles."""
        found = _line(self, Turning(shape), DEGREES, degrees, round_=np.ndim(self.angles) == 0)
        if found is not None and self.interpolation == "nearest":
            raise ValueError(
                "Rotation: refine_poses=True needs interpolation='linear': what is read from the "
                "nearest pixel does not change smoothly with the angle."
            )
        return found

    def size(self, sample_shape: Shape) -> Size:
        """A bank of all rotations."""
        count = self._count() if np.ndim(self.angles) == 0 else len(self._degrees())
        return _size(count, sample_shape, self._axes(sample_shape))

    def _axes(self, sample_shape):
        return resolve_axes(self, self.axes, sample_shape, 2)

    def _count(self):
        return checks.integer("Rotation: angles", self.angles, 1)

    def _degrees(self):
        if np.ndim(self.angles) == 0:
            return 360.0 * np.arange(self._count()) / self._count()
        return checks.numbers("Rotation: angles", self.angles)


def turn(degrees):
    """The matrix on (row, column) that rotates counter-clockwise as displayed, (2, 2)."""
    cos, sin = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    if degrees % 90 == 0:
        cos, sin = np.rint(cos), np.rint(sin)
    return np.array([[cos, -sin], [sin, cos]])


class Scaling(Family):
    """The component may appear larger or smaller, about the centre of the moved axes.

        (T_s w)(x) = w(c + (x - c) / s)

    The pose ``factor`` is ``s``: 2 means that the component appears twice as large in the sample.

    Parameters
    ----------
    factors : list of float > 0
    axes : int, tuple of int or None
        The scaled axes (together, by the same factor); samples of rank 1 need none.
    domain : {"common", "all"}
        "common": samples are compared where every scaling is defined, the part that the smallest
        factor covers; beyond it samples and reconstructions count as zero. "all": everywhere; large
        factors then win if the background is not zero, since they cover more of it.
    refine_poses : bool
        Whether poses may lie between the factors: these find the best ones, and each pose is then
        refined. Fewer factors are needed then, and poses are as fine as the data allow.

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import Scaling
    >>> Scaling(factors=[1, 2]).bind((5,)).apply(np.array([0.0, 0, 1, 0, 0]))[1]
    array([0. , 0.5, 1. , 0.5, 0. ])
    """

    hint_if_large = "Fewer factors of Scaling make fewer transforms."

    def __init__(
        self,
        factors: ArrayLike = (0.8, 1.0, 1.25),
        axes: int | str | tuple[int | str, ...] | None = None,
        domain: Literal["common", "all"] = "common",
        refine_poses: bool = False,
    ):
        self.factors = factors
        self.axes = axes
        self.domain = domain
        self.refine_poses = refine_poses

    def bind(self, sample_shape: Shape) -> Operator:
        """All scalings for samples of ``sample_shape``."""
        factors, axes = self._factors(), moved_axes(self, sample_shape)
        matrices = [np.eye(len(axes)) * s for s in factors]
        offsets = np.zeros((len(factors), len(axes)))
        sources = _affine_sources(matrices, offsets, sample_shape, axes)
        path = Stretching(tuple(sample_shape[a] for a in axes))
        return _operator(
            self,
            sources,
            sample_shape,
            axes,
            poses={"factor": factors},
            reference=np.abs(np.log(factors)).argmin(),
            between=_line(self, path, PoseAxis("factor"), factors),
        )

    def size(self, sample_shape: Shape) -> Size:
        """A bank of all scalings."""
        return _size(len(self._factors()), sample_shape, moved_axes(self, sample_shape))

    def _factors(self):
        return checks.numbers("Scaling: factors", self.factors, positive=True)


class TimeWarp(Family):
    """Smooth increasing maps of time, with both ends fixed.

        (T_s w)(u) = w(phi_s(u)),   u in [0, 1]

    with ``phi_s(u) = u ** exp(s)`` (kind "power") or ``phi_s(u) = u - s sin(pi u) / pi``
    (kind "sine", ``|s| < 1``).

    The pose ``strength`` is ``s``: 0 is the identity, and positive values make the events of the
    component appear later in the sample.

    Parameters
    ----------
    strengths : list of float
    kind : {"power", "sine"}
    axes : int or None
        The time axis; samples of rank 1 need none.
    domain : {"common", "all"}
        Both are equivalent here: ends stay in place, so that every warp covers all points.
    refine_poses : bool
        Whether poses may lie between the strengths: these find the best ones, and each pose is then
        refined. Fewer strengths are needed then, and poses are as fine as the data allow.

    Examples
    --------
    >>> from gtpca import TimeWarp
    >>> TimeWarp(strengths=(-0.5, 0, 0.5)).bind((50,)).n_transforms
    3
    """

    hint_if_large = "Fewer strengths of TimeWarp make fewer transforms."

    def __init__(
        self,
        strengths: ArrayLike = (-0.5, 0, 0.5),
        kind: str = "power",
        axes: int | str | tuple[int | str, ...] | None = None,
        domain: Literal["common", "all"] = "common",
        refine_poses: bool = False,
    ):
        self.strengths = strengths
        self.kind = kind
        self.axes = axes
        self.domain = domain
        self.refine_poses = refine_poses

    def bind(self, sample_shape: Shape) -> Operator:
        """All warps for samples of ``sample_shape``."""
        strengths, axes = self._strengths(), self._axes(sample_shape)
        length = sample_shape[axes[0]]
        u = np.linspace(0, 1, length)
        sources = [self._map(s)(u)[None] * (length - 1) for s in strengths]
        return _operator(
            self,
            sources,
            sample_shape,
            axes,
            poses={"strength": strengths},
            reference=np.abs(strengths).argmin(),
            between=_line(self, Bending((length,), self.kind), PoseAxis("strength"), strengths),
        )

    def size(self, sample_shape: Shape) -> Size:
        """A bank of all warps."""
        return _size(len(self._strengths()), sample_shape, self._axes(sample_shape))

    def _strengths(self):
        return checks.numbers("TimeWarp: strengths", self.strengths)

    def _axes(self, sample_shape):
        given = self.axes
        if given is None:
            given = single_axis(self, sample_shape, several=False)
        return resolve_axes(self, given, sample_shape, 1)

    def _map(self, s):
        if self.kind == "power":
            return lambda u: u ** np.exp(s)
        checks.choice("TimeWarp: kind", self.kind, ("power", "sine"))
        if abs(s) >= 1:
            raise ValueError(f"TimeWarp: strength {s} must lie in (-1, 1) for kind 'sine'.")
        return lambda u: u - s * np.sin(np.pi * u) / np.pi


class Affine(Family):
    """Explicit affine maps of the points of an image.

    A point ``p`` of the component (axis order, relative to the middle of the grid) appears in the
    sample at ``A p + b``:   ``(T w)(x) = w(A^-1 (x - b))``. The pose ``map`` is the number of the
    map.

    Parameters
    ----------
    matrices : array (m, r, r) or (m, r, r + 1)
        Invertible ``A``; a further column is the offset ``b`` in grid points.
    axes : tuple of int
        The ``r`` moved axes.
    domain : {"common", "all"}
        "common": samples are compared where every map is defined; beyond it samples and
        reconstructions count as zero. "all": everywhere; maps that cover more then have an
        advantage if the background is not zero.

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import Affine
    >>> shear = np.array([[1.0, 0.3], [0.0, 1.0]])
    >>> Affine([np.eye(2), shear]).bind((8, 8)).n_transforms
    2
    """

    hint_if_large = "Fewer matrices of Affine make fewer transforms."

    def __init__(
        self,
        matrices: ArrayLike,
        axes: int | str | tuple[int | str, ...] | None = (0, 1),
        domain: Literal["common", "all"] = "common",
    ):
        self.matrices = matrices
        self.axes = axes
        self.domain = domain

    def bind(self, sample_shape: Shape) -> Operator:
        """All maps for samples of ``sample_shape``."""
        axes = resolve_axes(self, self.axes, sample_shape)
        maps = self._maps(len(axes))
        matrices, offsets = maps[:, :, : len(axes)], maps[:, :, len(axes)]
        sources = _affine_sources(matrices, offsets, sample_shape, axes)
        turned = np.abs(matrices - np.eye(len(axes))).sum(axis=(1, 2))
        nearest = (turned + np.abs(offsets).sum(axis=1)).argmin()
        words = {
            "poses": {"map": np.arange(len(maps))},
            "quantities": [PoseAxis("map", ordered=False)],
        }
        return _operator(self, sources, sample_shape, axes, reference=nearest, **words)

    def size(self, sample_shape: Shape) -> Size:
        """A bank of all maps."""
        axes = resolve_axes(self, self.axes, sample_shape)
        return _size(len(self._maps(len(axes))), sample_shape, axes)

    def _maps(self, rank):
        maps = np.asarray(self.matrices, dtype=np.float64)
        if maps.ndim != 3 or maps.shape[1] != rank or maps.shape[2] not in (rank, rank + 1):
            raise ValueError(
                f"Affine: matrices has shape {maps.shape}; {rank} axes need a non-empty list of "
                f"({rank}, {rank}) or ({rank}, {rank + 1}) matrices."
            )
        if len(maps) == 0 or not np.all(np.isfinite(maps)):
            raise ValueError(
                f"Affine: matrices={self.matrices!r} must be a non-empty list of finite numbers."
            )
        flat = np.flatnonzero(np.linalg.cond(maps[:, :, :rank]) > 1e12)
        if len(flat):
            raise ValueError(f"Affine: matrix {flat[0]} cannot be inverted; leave it out.")
        offsets = np.zeros((len(maps), rank, 1)) if maps.shape[2] == rank else maps[:, :, rank:]
        return np.concatenate([maps[:, :, :rank], offsets], axis=2)


class Deformation(Family):
    """Smooth displacement fields, drawn once at random; the first is zero.

        (T_f w)(x) = w(x + u_f(x)),   u_f(x) = sum_k c_fk prod_j cos(pi k_j (x_j + 1/2) / D_j)

    with ``n_basis`` cosines per axis, standard normal ``c`` and the largest displacement scaled to
    ``amplitude``. The pose ``field`` is the number of the field.

    Parameters
    ----------
    amplitude : float
        Largest displacement in grid points.
    n_basis : int
        Cosines per axis: a larger number makes the field less smooth.
    n_fields : int
        Number of fields, the zero field included.
    axes : tuple of int
        The moved axes.
    random_state : int, RandomState or None
        An int gives the same fields whenever the family is bound.
    domain : {"common", "all"}
        "common": samples are compared where every field is defined, and not where one reads beyond
        the grid; there samples and reconstructions count as zero. "all": everywhere.

    Examples
    --------
    >>> from gtpca import Deformation
    >>> Deformation(amplitude=1.5, n_fields=6).bind((16, 16)).n_transforms
    6
    """

    hint_if_large = "A smaller n_fields of Deformation makes fewer transforms."

    def __init__(
        self,
        amplitude: float = 1.0,
        n_basis: int = 3,
        n_fields: int = 8,
        axes: int | str | tuple[int | str, ...] | None = (0, 1),
        random_state: RandomState = 0,
        domain: Literal["common", "all"] = "common",
    ):
        self.amplitude = amplitude
        self.n_basis = n_basis
        self.n_fields = n_fields
        self.axes = axes
        self.random_state = random_state
        self.domain = domain

    def bind(self, sample_shape: Shape) -> Operator:
        """All fields for samples of ``sample_shape``."""
        checks.positive("Deformation: amplitude", self.amplitude)
        n_basis, n_fields = self._counts()
        axes = resolve_axes(self, self.axes, sample_shape)
        shape = tuple(sample_shape[a] for a in axes)
        basis = _cosines(n_basis, shape)
        rng = check_random_state(self.random_state)
        fields = rng.standard_normal((n_fields - 1, len(shape), len(basis))) @ basis
        lengths = np.linalg.norm(fields, axis=1).max(axis=-1, initial=0)
        fields *= self.amplitude / lengths[:, None, None]
        points = np.indices(shape, dtype=np.float64).reshape(len(shape), -1)
        sources = [points, *(points + field for field in fields)]
        words = {
            "poses": {"field": np.arange(n_fields)},
            "quantities": [PoseAxis("field", ordered=False)],
        }
        return _operator(self, sources, sample_shape, axes, **words)

    def size(self, sample_shape: Shape) -> Size:
        """The basis, its coefficients, the fields, and a bank of all of them."""
        n_basis, n_fields = self._counts()
        axes = resolve_axes(self, self.axes, sample_shape)
        points = n_points(sample_shape[a] for a in axes)
        products, bank = n_points([n_basis] * len(axes)), _size(n_fields, sample_shape, axes)
        drawn = products * points + float(n_fields) * len(axes) * (products + points)
        return replace(bank, n_values=bank.n_values + drawn)

    def check_repeatable(self) -> None:
        """The fields must be drawn from a seed."""
        if not isinstance(self.random_state, Integral):
            raise ValueError(
                f"Deformation: random_state={self.random_state!r} draws other fields whenever it "
                "is bound, so the model cannot be saved; use an integer and fit again."
            )

    def _counts(self):
        n_basis = checks.integer("Deformation: n_basis", self.n_basis, 1)
        return n_basis, checks.integer("Deformation: n_fields", self.n_fields, 1)


def _cosines(n_basis, shape):
    """Products of ``n_basis`` cosines per axis of the grid, shape (n_basis ** r, p)."""
    grid = [(np.arange(size) + 0.5) / size for size in shape]
    return reduce(np.kron, [np.cos(np.pi * np.outer(np.arange(n_basis), u)) for u in grid])

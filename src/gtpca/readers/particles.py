"""Particles of cryo-EM: stacks in ``.mrcs`` files, tables in ``.star`` files, poses for RELION.

RELION calls particle ``i`` of a stack ``"i@stack.mrcs"``, counted from 1. Its poses say how a
particle is moved onto its reference: a point ``p = (x, y)`` of the particle, ``x`` along columns
and ``y`` along rows, comes to::

    c + R(psi) (p + o - c),    R(psi) = [[cos psi, -sin psi], [sin psi, cos psi]]

where ``psi`` is ``rlnAnglePsi`` in degrees, ``o`` is (``rlnOriginXAngst``, ``rlnOriginYAngst``)
divided by the pixel size, and ``c`` is the pixel (``width // 2``, ``height // 2``), counted from 0.
"""

from __future__ import annotations

import linecache
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from gtpca.files import write_bytes
from gtpca.optional import require
from gtpca.readers.data import Data, FileRows, as_texts, check_rows
from gtpca.readers.pictures import native
from gtpca.text import did_you_mean, shown

__all__ = ["read_mrcs", "read_star", "relion_poses", "write_star"]

NAME = "rlnImageName"
AXES = ("row", "column")
STACKS = (".mrcs", ".mrc")
PIXEL = ("rlnImagePixelSize", "rlnPixelSize")  # in Angstrom
GROUP = "rlnOpticsGroup"
PSI, ORIGIN = "rlnAnglePsi", ("rlnOriginXAngst", "rlnOriginYAngst")


def read_mrcs(path: Path) -> Data:
    """A stack (n, rows, columns) of particles, which stays in the file."""
    rows = _stack(path)
    ids = np.array([f"{i + 1:06d}@{path.name}" for i in range(len(rows))])
    return Data(rows, ids=ids, id_name=NAME, axes=AXES)


def read_star(path: Path, labels=None) -> Data:
    """The particles of a STAR file of RELION (n, rows, columns), which stay in their stacks.

    Stacks are looked for in the folder of the file, and in those above it, such as the folder of
    the project. ``labels`` are columns of the table.
    """
    table = _particles(_blocks(path))
    names = as_texts(NAME, [str(name) for name in table[NAME]], path.stat().st_size)
    rows = FileRows(Particles(path, names), shown(path))
    asked = labels.split(",") if isinstance(labels, str) else list(labels or ())
    beside = {name: _column(table, str(name), path) for name in asked}
    first = next(iter(beside.values()), None)
    return Data(rows, labels=first, beside=beside, ids=names, id_name=NAME, axes=AXES)


class Particles:
    """Images of several stacks as one array (n, rows, columns) that is read when it is sliced.

    Parameters
    ----------
    path : Path
        The STAR file.
    names : list of str
        RELION's names of the images.
    """

    def __init__(self, path: Path, names):
        places = [_place(name) for name in names]
        files = {name: _found(path, name) for name in dict.fromkeys(name for _, name in places)}
        stacks = {name: _stack(file) for name, file in files.items()}
        sizes = {stack.shape[1:] for stack in stacks.values()}
        if len(sizes) != 1:
            raise ValueError(f"the stacks have images of different sizes: {sorted(sizes)[:3]}")
        for number, name in places:
            if not 1 <= number <= len(stacks[name]):
                there = len(stacks[name])
                raise ValueError(f"{number}@{name} is not there: the stack has {there} images")
        self._stacks, self._places = stacks, places
        self.shape = (len(places), *sizes.pop())
        self.dtype = np.result_type(*(stack.dtype for stack in stacks.values()))

    def __getitem__(self, item) -> np.ndarray:
        first, *rest = item if isinstance(item, tuple) else (item,)
        numbers = np.arange(self.shape[0])[first]
        found = np.empty((numbers.size, *self.shape[1:]), self.dtype)
        for row, i in zip(found, np.ravel(numbers), strict=True):
            number, name = self._places[i]
            row[:] = self._stacks[name][number - 1]
        rows = found.reshape(*numbers.shape, *self.shape[1:])
        return rows[(slice(None),) * numbers.ndim + tuple(rest)] if rest else rows


def _check_extended(path) -> None:
    """Check that an extended header, for which memory is taken at once, is not beyond the file."""
    with open(path, "rb") as file:
        head = file.read(1024)
    extra = int.from_bytes(head[92:96], "big" if head[212:213] == b"\x11" else "little")
    if extra > path.stat().st_size:
        raise ValueError(f"its header claims {extra} bytes more, beyond the end of the file")


def _stack(path) -> np.ndarray:
    """A memory map of the images of a stack; loaded if it has the other order of bytes."""
    mrcfile = require("mrcfile", "images")
    _check_extended(path)
    with mrcfile.mmap(path, mode="r", permissive=False) as file:
        shape, dtype, place = file.data.shape, file.data.dtype, file.data.offset
    shape = (1, *shape) if len(shape) == 2 else shape
    check_rows(shape, dtype)
    if len(shape) != 3:
        raise ValueError(f"has shape {shape}, but must be a stack of images")
    return native(np.memmap(path, dtype, "r", place, shape))


def _blocks(path) -> dict[str, Any]:
    """The blocks of a STAR file by name."""
    starfile = require("starfile", "images")
    path.read_text(encoding="utf-8")  # starfile would find nothing in what is not text
    linecache.checkcache(str(path))  # which starfile reads from
    try:
        return starfile.read(path, always_dict=True, parse_as_string=[NAME])
    finally:
        linecache.clearcache()


def _particles(blocks):
    """The table that lists images."""
    tables = [block for block in blocks.values() if hasattr(block, "columns")]
    found = [table for table in tables if NAME in table.columns and len(table)]
    if len(found) != 1:
        raise ValueError(f"has {len(found)} tables with the column {NAME}, but must have one")
    return found[0]


def _column(table, name, path) -> np.ndarray:
    if name not in table.columns:
        hint = did_you_mean(name, table.columns)
        there = ", ".join(map(str, table.columns[:20]))
        raise ValueError(f"labels={name!r} is not a column.{hint} There are columns {there}")
    return as_texts(f"column {name!r}", [str(v) for v in table[name]], path.stat().st_size)


def _place(name) -> tuple[int, str]:
    """The number and the stack of an image."""
    number, mark, stack = str(name).partition("@")
    if not mark:
        return 1, str(name)
    if not (number.isascii() and number.isdigit() and len(number) < 10):
        raise ValueError(f"{str(name)[:80]!r} is not the name of an image, such as 000001@a.mrcs")
    return int(number), stack


def _found(path, name) -> Path:
    """The stack of that name, below the folder of the file or one of those above it."""
    given = Path(name)
    if given.is_absolute() or ".." in given.parts or given.suffix.lower() not in STACKS:
        raise ValueError(f"refers to {shown(name)}, which is no .mrcs file below a folder above it")
    folder = path.absolute().parent
    places = [*(above / given for above in (folder, *folder.parents)), folder / given.name]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise ValueError(
            f"the stack {shown(name)} is neither beside it nor below a folder above it"
        )
    return found


def relion_poses(
    model: Any, codes: Any, *, pixel_size: Any = 1.0, component: int = 0
) -> dict[str, np.ndarray]:
    """Poses of images in RELION's conventions.

    They move each image so that the component is upright, with its centre at RELION's, the pixel
    ``size // 2``: ``psi`` is the angle by which the component appears turned, and the origin leads
    from its centre ``m`` to ``c``, ``o = c - m``.

    Parameters
    ----------
    model : GTPCA or another model of images
        Of ``Rotation``, of ``Shift`` over both axes, or of ``Compose(Shift(..), Rotation(..))``.
    codes : Codes
        Those of ``model.encode``.
    pixel_size : float or array (n,)
        In Angstrom.
    component : int
        Whose poses, counted from 0.

    Returns
    -------
    dict of str to array (n,)
        ``rlnAnglePsi`` in degrees from -180 to 180, ``rlnOriginXAngst`` and ``rlnOriginYAngst``.

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import GTPCA, Rotation
    >>> from gtpca.readers import relion_poses
    >>> image = np.random.default_rng(0).standard_normal((5, 5))
    >>> X = np.stack([image, np.rot90(image)])
    >>> model = GTPCA(1, Rotation(4), random_state=0).fit(X)
    >>> psi = relion_poses(model, model.encode(X))["rlnAnglePsi"]
    >>> float(abs(psi[1] - psi[0]) % 180)
    90.0
    """
    poses = {name: np.asarray(values) for name, values in model.poses(codes).items()}
    centres = [name for name in poses if name.startswith("centre")]
    others = {n for n in poses if not n.startswith(("centre", "start", "degrees"))}
    turned_last = "degrees" in poses and next(iter(poses)) == "degrees" and centres
    if others or turned_last or len(centres) not in (0, 2) or not poses:
        raise ValueError(
            f"the poses {', '.join(poses) or 'of this family'} have no counterpart in RELION; "
            "Rotation, Shift over both axes of images, and Compose(Shift(..), Rotation(..)) have."
        )
    size = np.array(model.sample_shape_[:2])
    n_components = next(iter(poses.values())).shape[1]
    if not -n_components <= component < n_components:
        raise ValueError(f"component={component!r} must be one of 0 to {n_components - 1}.")
    one = {name: values[:, component].astype(float) for name, values in poses.items()}
    n = len(next(iter(one.values())))
    middle = [one[name] for name in centres] or [np.full(n, (s - 1) / 2) for s in size]
    row, column = (s // 2 - m for s, m in zip(size, middle, strict=True))
    psi = (one.get("degrees", np.zeros(n)) + 180) % 360 - 180
    scale = np.broadcast_to(np.asarray(pixel_size, dtype=float), (n,))
    return {PSI: psi, ORIGIN[0]: column * scale, ORIGIN[1]: row * scale}


def write_star(
    path: str | PathLike[str],
    source: str | PathLike[str],
    model: Any,
    codes: Any,
    *,
    component: int = 0,
    pixel_size: float | None = None,
) -> None:
    """Write a STAR file like another one, with the poses of a model.

    Parameters
    ----------
    path : path
        Of the new file.
    source : path
        The STAR file whose particles were encoded, all of them; its other columns and blocks stay.
    model, codes, component
        See :func:`relion_poses`.
    pixel_size : float or None
        In Angstrom; None: that of the optics groups in ``source``.
    """
    starfile = require("starfile", "images")
    blocks = _blocks(Path(source))
    table = _particles(blocks)
    poses = relion_poses(model, codes, component=component)
    n = len(poses[PSI])
    if n != len(table):
        raise ValueError(f"there are {n} codes, but {len(table)} particles in {shown(source)}.")
    size = _pixel_sizes(blocks, table) if pixel_size is None else pixel_size
    for name, values in poses.items():
        table[name] = values if name == PSI else values * size
    write_bytes(path, starfile.to_string(blocks).encode())


def _pixel_sizes(blocks, table) -> np.ndarray:
    """The size of a pixel of each particle, (n,), in Angstrom."""
    optics = blocks.get("optics")
    if GROUP in table.columns and hasattr(optics, "columns") and GROUP in optics.columns:
        name = next((name for name in PIXEL if name in optics.columns), None)
        if name is not None:
            known = dict(zip(optics[GROUP], optics[name], strict=True))
            sizes = np.array([known.get(group, np.nan) for group in table[GROUP]], dtype=float)
    else:
        name = next((name for name in PIXEL if name in table.columns), None)
        sizes = np.asarray(table[name], dtype=float) if name is not None else np.array(np.nan)
    if name is None or not (np.isfinite(sizes).all() and (sizes > 0).all()):
        raise ValueError(
            "the size of a pixel is not in the STAR file; give pixel_size in Angstrom."
        )
    return sizes

"""Files that hold several arrays, read row by row: HDF5 and Zarr."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

from gtpca import checks
from gtpca.optional import require
from gtpca.readers.data import (
    Data,
    FileRows,
    check_inflated,
    check_pieces,
    check_rows,
    choose,
)
from gtpca.readers.inflating import PACKERS, check_chunks
from gtpca.text import shown

__all__ = ["check_hdf5", "read_hdf5", "read_zarr"]

DEFLATE = 1  # HDF5's number of this filter
# Allowed codecs between a chunk and its values. Others, such as "pickle", can run code.
CODECS = {"blosc", "bytes", "crc32", "crc32c", "delta", "gzip", "lz4", "lzma", "bz2", "shuffle"}
CODECS |= {"bitround", "fixedscaleoffset", "sharding_indexed", "transpose", "zlib", "zstd"}


def read_hdf5(path: Path, key: str | None = None, matlab: bool = False, least: int = 2) -> Data:
    """One h5py dataset; the file stays open. MATLAB stores the axes in the reverse order."""
    h5py = require("h5py", "io")
    file = h5py.File(path, "r")
    try:
        order = slice(None, None, -1 if matlab else 1)
        found = {name: shape[order] for name, shape in _datasets(h5py, file).items()}
        key = choose(found, key.strip("/") if key else None)
        dataset = file[key]
        _check_dataset(dataset, key)
        size = path.stat().st_size
        check_rows(found[key], dataset.dtype, dataset.chunks, least)
        _check_stored(dataset, found[key][0], size)
        if dataset.chunks is not None:
            check_pieces(found[key], dataset.dtype, dataset.chunks, size)
            _check_deflated(dataset, size)
        rows = FileRows(dataset, f"{shown(path)}, {key!r}", reverse=matlab)
    except BaseException:
        file.close()
        raise
    return Data(rows, _close=file.close)


def check_hdf5(path: Path) -> None:
    """Check that all arrays of a file are in it, and together not larger than they can be."""
    h5py = require("h5py", "io")
    size = path.stat().st_size
    with h5py.File(path, "r") as file:
        arrays: list[Any] = []
        file.visititems(lambda _, node: arrays.append(node) if hasattr(node, "chunks") else None)
        for dataset in arrays:
            _check_dataset(dataset, dataset.name, text=True)
            _check_stored(dataset, (*dataset.shape, 1)[0], size)
            if dataset.chunks is not None:
                _check_deflated(dataset, size)
        check_inflated(needed=sum(dataset.nbytes for dataset in arrays), stored=size)


def _check_dataset(dataset, key, text=False) -> None:
    if dataset.is_virtual or dataset.external:
        raise ValueError(f"{key!r} is kept in other files; copy it into one")
    if not text and dataset.attrs.get("MATLAB_class", b"") == b"char":
        raise ValueError(f"{key!r} is text, but must hold real numbers")


def _check_stored(dataset, n_rows, file_size) -> None:
    """Refuse unwritten chunks, which HDF5 makes up: a tiny file can claim any number of rows."""
    stored = dataset.id.get_storage_size()
    if stored > file_size:
        raise ValueError(f"{file_size} bytes claim to hold {stored} bytes of values")
    if dataset.chunks is None:
        there, claimed = int(stored > 0), 1
    else:
        there, claimed = dataset.id.get_num_chunks(), _n_chunks(dataset.shape, dataset.chunks)
    if there < claimed:
        raise ValueError(
            f"{_not_stored(there, claimed, n_rows)} and would be read as zeros; copy those that are"
        )


def _check_deflated(dataset, file_size) -> None:
    """Check the size of chunks, which HDF5 inflates completely, whatever their shape."""
    plan = dataset.id.get_create_plist()
    packed = [plan.get_filter(i)[0] for i in range(plan.get_nfilters())].count(DEFLATE)
    if packed > 1:
        raise ValueError("is packed more than once, which is not trusted")
    if packed:
        chunks: list[tuple[int, Any]] = []
        source = dataset.id
        source.chunk_iter(lambda c: chunks.append((c.size, partial(_raw, source, c.chunk_offset))))
        check_chunks(chunks, "zlib", file_size)


def _raw(source, offset) -> bytes:
    return source.read_direct_chunk(offset)[1]


def _n_chunks(shape, chunks) -> int:
    return math.prod(-(-size // chunk) for size, chunk in zip(shape, chunks, strict=True))


def _not_stored(there, claimed, n_rows) -> str:
    """The number of missing chunks, and of rows if there are equally many in each."""
    missing = -(-n_rows * (claimed - there) // claimed)
    chunks = f"{claimed - there} of {claimed} chunks"
    return f"{chunks}, about {missing} of {n_rows} rows, are not stored"


def _datasets(h5py, file) -> dict[str, tuple]:
    """Shapes of all arrays in the file itself: links to other files are not followed."""
    found: dict[str, tuple] = {}

    def visit(name, node):
        if isinstance(node, h5py.Dataset) and node.shape is not None:
            found[name] = node.shape

    file.visititems(visit)
    return {name: shape for name, shape in found.items() if not name.startswith("#")}


def read_zarr(path: Path, key: str | None = None, least: int = 2) -> Data:
    """One array of a store, or the store itself if it is an array."""
    zarr = require("zarr", "io")
    node = zarr.open(str(path), mode="r")
    if isinstance(node, zarr.Group):
        arrays = dict(node.members(max_depth=None))
        arrays = {name: a for name, a in arrays.items() if isinstance(a, zarr.Array)}
        key = choose({name: a.shape for name, a in arrays.items()}, key and key.strip("/"))
        node = arrays[key]
    elif key is not None:
        raise ValueError(f"is one array; leave key={key!r} out")
    _check_codecs(node.metadata.to_dict())
    check_rows(node.shape, node.dtype, node.chunks, least)
    _check_files(path / node.path, node)
    return Data(FileRows(node, f"{shown(path)}, {key!r}" if key else shown(path)))


def _check_files(folder, node) -> None:
    """Warn if many chunks have no file: by design, these hold the fill value."""
    files = (p for p in folder.rglob("*") if p.is_file())
    chunks = [p for p in files if not p.name.startswith((".z", "zarr.json"))]
    sizes = [p.stat().st_size for p in chunks]
    check_pieces(node.shape, node.dtype, node.shards or node.chunks, sum(sizes))
    packers = [name for name in _codecs(node.metadata.to_dict()) if name in PACKERS]
    if len(packers) > 1:
        raise ValueError(f"is packed more than once, by {' and '.join(packers)}: not trusted")
    for packer in packers if node.shards is None else ():
        reads = zip(sizes, (p.read_bytes for p in chunks), strict=True)
        check_chunks(reads, packer, sum(sizes))
    there, claimed = len(chunks), _n_chunks(node.shape, node.shards or node.chunks)
    if not there:
        raise ValueError(f"none of {claimed} chunks is stored")
    if there < claimed:
        said = _not_stored(there, claimed, node.shape[0])
        checks.warn(f"{shown(folder)}: {said} and are read as {node.fill_value}.", UserWarning)


def _check_codecs(metadata: dict[str, Any]) -> None:
    """Refuse codecs that could do anything but convert bytes to numbers."""
    for name in _codecs(metadata):
        if name not in CODECS:
            raise ValueError(f"uses the codec {name!r}, which is not trusted")


def _codecs(metadata: dict[str, Any]) -> list[str]:
    """The names of all codecs, including those within shards."""
    listed = [metadata.get("compressor"), *(metadata.get("filters") or ())]
    found = [codec for codec in [*listed, *_nested(metadata.get("codecs"))] if codec]
    described = [codec if isinstance(codec, dict) else codec.get_config() for codec in found]
    names = [str(about.get("id", about.get("name"))) for about in described]
    return [name.removeprefix("numcodecs.") for name in names]


def _nested(codecs):
    """All codecs of a chunk, including those within shards."""
    for codec in codecs or ():
        yield codec
        inner = codec.get("configuration") or {}
        yield from _nested(inner.get("codecs"))
        yield from _nested(inner.get("index_codecs"))

"""Files that hold several arrays: HDF5, Zarr and MATLAB. They are read row by row if they can."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gtpca.readers.data import Data, FileRows, check_inflated, check_rows, choose, optional

__all__ = ["read_hdf5", "read_mat", "read_zarr"]

# What may stand between a chunk and its values. Others, such as "pickle", can run code.
CODECS = {"blosc", "bytes", "crc32", "crc32c", "delta", "gzip", "lz4", "lzma", "bz2", "shuffle"}
CODECS |= {"bitround", "fixedscaleoffset", "sharding_indexed", "transpose", "zlib", "zstd"}


def read_hdf5(path: Path, key: str | None = None, reverse: bool = False) -> Data:
    """One data set; the file stays open."""
    h5py = optional("h5py", "io")
    file = h5py.File(path, "r")
    try:
        found = _datasets(h5py, file)
        key = choose(found, key.strip("/") if key else None)
        dataset = file[key]
        # Chunk sizes come from the file and become buffers.
        if dataset.is_virtual or dataset.external:
            raise ValueError(f"{key!r} is kept in other files; copy it into one")
        check_rows(dataset.shape[:: -1 if reverse else 1], dataset.dtype, dataset.chunks)
        rows = FileRows(dataset, f"{path}, {key!r}", reverse)
    except BaseException:
        file.close()
        raise
    return Data(rows, _close=file.close)


def _datasets(h5py, file) -> dict[str, tuple]:
    """Shapes of all arrays in the file itself: links to other files are not followed."""
    found: dict[str, tuple] = {}

    def visit(name, node):
        if isinstance(node, h5py.Dataset) and node.shape is not None:
            found[name] = node.shape

    file.visititems(visit)
    return {name: shape for name, shape in found.items() if not name.startswith("#")}


def read_zarr(path: Path, key: str | None = None) -> Data:
    """One array of a store, or the store if it is an array."""
    zarr = optional("zarr", "io")
    node = zarr.open(str(path), mode="r")
    if isinstance(node, zarr.Group):
        arrays = dict(node.members(max_depth=None))
        arrays = {name: a for name, a in arrays.items() if isinstance(a, zarr.Array)}
        key = choose({name: a.shape for name, a in arrays.items()}, key and key.strip("/"))
        node = arrays[key]
    elif key is not None:
        raise ValueError(f"is one array; leave key={key!r} out")
    _check_codecs(node.metadata.to_dict())
    check_rows(node.shape, node.dtype, node.chunks)
    return Data(FileRows(node, f"{path}, {key!r}" if key else str(path)))


def _check_codecs(metadata: dict[str, Any]) -> None:
    """Refuse codecs that could do anything but turn bytes into numbers."""
    listed = [metadata.get("compressor"), *(metadata.get("filters") or ())]
    for codec in [*listed, *_nested(metadata.get("codecs"))]:
        described = codec if codec is None or isinstance(codec, dict) else codec.get_config()
        name = described and str(described.get("id", described.get("name")))
        if name and name.removeprefix("numcodecs.") not in CODECS:
            raise ValueError(f"uses the codec {name!r}, which is not trusted")


def _nested(codecs):
    """All codecs of a chunk, those within shards too."""
    for codec in codecs or ():
        yield codec
        inner = codec.get("configuration") or {}
        yield from _nested(inner.get("codecs"))
        yield from _nested(inner.get("index_codecs"))


def read_mat(path: Path, key: str | None = None) -> Data:
    """One variable: read if the file is of MATLAB 5 to 7.2, else row by row."""
    from scipy.io import loadmat, matlab, whosmat

    with open(path, "rb") as file:
        if matlab.matfile_version(file)[0] == 2:
            return read_hdf5(path, key, reverse=True)
    found = {name: (shape, kind) for name, shape, kind in whosmat(path)}
    key = choose({name: shape for name, (shape, _) in found.items()}, key)
    shape, kind = found[key]
    if kind in ("cell", "struct", "object", "char", "function", "opaque", "unknown"):
        raise ValueError(f"{key!r} is a {kind}, but must hold real numbers")
    check_inflated(8 * int(np.prod([float(s) for s in shape])), path.stat().st_size)
    array = loadmat(path, variable_names=[key])[key]
    array = array.toarray() if hasattr(array, "toarray") else np.asarray(array)
    check_rows(array.shape, array.dtype)
    return Data(array)

"""The unpacked size of packed bytes, determined without allocating it.

The libraries behind HDF5 and Zarr unpack a chunk completely before they compare it with its stated
size: a megabyte may become a hundred gigabytes.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterable
from typing import Any

from gtpca.readers.data import ANY_FILE, MOST_INFLATED

__all__ = ["PACKERS", "check_chunks", "inflated_size"]

STEP = 2**20  # bytes that are unpacked at a time
RATIO, RATIO_BZ2 = 2**15, 2**21  # no codec expands a byte to more
ZSTD_FRAME, ZSTD_SKIPPED, ZSTD_BLOCK = 0xFD2FB528, 0x184D2A5, 2**17


def check_chunks(chunks: Iterable[tuple[int, Callable[[], bytes]]], packer: str, stored: int):
    """Examine chunks that could become huge arrays, which few of the stored ones can.

    Parameters
    ----------
    chunks : iterable of (size, read)
        Stored bytes of each chunk, and a function that reads them.
    packer : str
        One of ``PACKERS``.
    stored : int
        Bytes of the file.
    """
    most = max(ANY_FILE, MOST_INFLATED * stored)
    ratio = RATIO_BZ2 if packer == "bz2" else RATIO
    for size, read in chunks:
        if size * ratio > most and inflated_size(packer, read(), most) > most:
            raise ValueError(
                f"a chunk of {size} bytes becomes more than {most}, which is not trusted"
            )


def inflated_size(packer: str, data: bytes, most: int) -> int:
    """The number of bytes that packed bytes expand to; counting stops beyond ``most``.

    Damaged bytes are counted as far as they can be read.
    """
    try:
        return PACKERS[packer](data, most)
    except (zlib.error, lzma.LZMAError, OSError, EOFError, IndexError, ValueError):
        return 0  # unpacking them will raise the error


def _streamed(make: Callable[[], Any]) -> Callable[[bytes, int], int]:
    """Count with Python's decompressors, over all consecutive streams."""

    def count(data, most):
        size = 0
        while data and size <= most:
            unpacker = make()
            while not unpacker.eof and size <= most:
                piece = unpacker.decompress(data, STEP)
                data = getattr(unpacker, "unconsumed_tail", b"")  # zlib returns it, others do not
                if not piece and not data:
                    return size
                size += len(piece)
            data = unpacker.unused_data
        return size

    return count


def _zstd(data, most) -> int:
    """The sum of all blocks: raw, one byte repeated, or packed, of up to 128 KiB."""
    size = place = 0
    while place + 4 <= len(data) and size <= most:
        magic = int.from_bytes(data[place : place + 4], "little")
        if magic >> 4 == ZSTD_SKIPPED:
            place += 8 + int.from_bytes(data[place + 4 : place + 8], "little")
            continue
        if magic != ZSTD_FRAME:
            break
        place, checked = _zstd_blocks(data, place + 4)
        last = False
        while not last and size <= most and place + 3 <= len(data):
            head = int.from_bytes(data[place : place + 3], "little")
            last, kind, length = bool(head & 1), head >> 1 & 3, head >> 3
            size += ZSTD_BLOCK if kind == 2 else length
            place += 3 + (1 if kind == 1 else length)
        place += 4 * checked
    return size


def _zstd_blocks(data, place) -> tuple[int, bool]:
    """Where the first block of a frame begins, and whether a checksum follows the last."""
    flags = data[place]
    single = bool(flags & 32)
    size = (1 if single else 0, 2, 4, 8)[flags >> 6]
    return place + 1 + (not single) + (0, 1, 2, 4)[flags & 3] + size, bool(flags & 4)


# How bytes are unpacked, by the names that HDF5 and Zarr use.
PACKERS: dict[str, Callable[[bytes, int], int]] = {
    "gzip": _streamed(lambda: zlib.decompressobj(zlib.MAX_WBITS | 32)),
    "zlib": _streamed(zlib.decompressobj),
    "bz2": _streamed(bz2.BZ2Decompressor),
    "lzma": _streamed(lzma.LZMADecompressor),
    "zstd": _zstd,
    "blosc": lambda data, most: int.from_bytes(data[4:8], "little"),  # as stated in its header
    "lz4": lambda data, most: int.from_bytes(data[:4], "little"),
}

"""Encodings of text files."""

from __future__ import annotations

import codecs
import gzip

__all__ = ["UTF8", "check_encoding", "encoding_hint", "unpacked"]

UTF8 = "utf-8-sig"  # with or without a byte order mark


def unpacked(path, mode="rb", **how):
    """Open a file that may be compressed by gzip."""
    return (gzip.open if path.suffix.lower() == ".gz" else open)(path, mode, **how)


def check_encoding(encoding) -> str:
    """Python's name of a text encoding; that of UTF-8 also accepts a byte order mark."""
    try:
        known = codecs.lookup(encoding)
    except (LookupError, TypeError, ValueError):
        known = None
    if known is None or not known._is_text_encoding:
        raise ValueError(
            f"encoding={encoding!r} is not known; such are utf-8, latin-1, cp1252, utf-16"
        )
    return UTF8 if known.name == "utf-8" else known.name


def encoding_hint(path, encoding, error) -> str:
    """A message that bytes are not text in this encoding, where, and what would read them."""
    with unpacked(path) as file:
        start = file.read(2)
    name = "utf-16" if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "latin-1"
    name = "cp1252" if name == encoding else name
    return (
        f"the byte 0x{error.object[error.start]:02x}{_line_of(path, encoding)} is not text in "
        f"{encoding.removesuffix('-sig')}; if it is in another encoding, --encoding {name} reads "
        f'it (in Python encoding="{name}")'
    )


def _line_of(path, encoding) -> str:
    """The line that contains something that is not text; nothing if lines cannot be found."""
    with unpacked(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode(encoding)
            except UnicodeDecodeError:
                return f" in line {number}"
    return ""

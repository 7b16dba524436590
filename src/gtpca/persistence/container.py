"""The container of a model: a zip file of one JSON text and plain arrays, all with checksums.

Members are stored, not compressed, so that none can be larger than the file; their names have no
folders. Nothing in a file is executed, and no size stated in it is trusted before it was compared
with the actual contents. docs/model-file.md describes the format.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import zipfile
from typing import Any

import numpy as np

from gtpca.files import atomic_file, check_regular, npy_array, npy_bytes
from gtpca.text import one_line

__all__ = ["FORMAT", "FORMAT_VERSION", "read_container", "write_container"]

FORMAT, FORMAT_VERSION = "gtpca model", 3
TEXT, TEXT_SUM = "model.json", "model.json.sha256"
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
ZIP = b"PK"  # the first bytes of all zip files
LARGEST_TEXT = 2**26  # bytes


def write_container(path, content: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write a model file atomically.

    Parameters
    ----------
    path : path
    content : dict
        What goes into ``model.json``.
    arrays : dict of str to array
        The other members, by name.
    """
    members = {name: npy_bytes(array) for name, array in arrays.items()}
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    head = {"format": FORMAT, "format_version": FORMAT_VERSION}
    text = json.dumps({**head, **content, "members": sums}, indent=1, allow_nan=False).encode()
    if len(text) > LARGEST_TEXT:
        raise ValueError(
            f"the parameters take {len(text)} bytes of text, more than {LARGEST_TEXT}."
        )
    check = f"{hashlib.sha256(text).hexdigest()}  {TEXT}\n".encode()
    with atomic_file(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, data in {TEXT: text, TEXT_SUM: check, **members}.items():
            archive.writestr(_entry(name), data)


def _entry(name) -> zipfile.ZipInfo:
    """A member without a date or a system, so that equal models give equal files."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.create_system, entry.external_attr = 3, 0o644 << 16
    return entry


def read_container(path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The JSON and the arrays of a model file, verified.

    Parameters
    ----------
    path : path

    Returns
    -------
    content : dict
    arrays : dict of str to array
    """
    check_regular(path)
    with open(path, "rb") as file:
        members = _read_members(file, os.fspath(path))
    content = _read_text(members, path)
    sums = content.get("members")
    if not isinstance(sums, dict) or set(sums) != set(members) - {TEXT, TEXT_SUM}:
        raise ValueError(f"{path} is damaged: its members are not those that {TEXT} lists.")
    arrays = {}
    for name, expected in sums.items():
        if hashlib.sha256(members[name]).hexdigest() != expected:
            raise ValueError(f"{path} is damaged: the checksum of {name} is wrong.")
        arrays[name] = _read_array(members[name], f"{path}, {name}")
    return content, arrays


def _read_members(file, path) -> dict[str, bytes]:
    """All members of the zip file by name."""
    size = os.fstat(file.fileno()).st_size
    if size == 0:
        raise ValueError(f"{path} is empty.")
    if file.read(len(ZIP)) != ZIP:
        raise ValueError(f"{path} is not a model file: it does not begin as GTPCA.save writes it.")
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            _check_entries(entries, size)
            return {entry.filename: archive.read(entry) for entry in entries}
    except Exception as error:  # for a broken file, zipfile may raise anything
        raise ValueError(f"{path} is cut, damaged or not a model file: {one_line(error)}") from None


def _check_entries(entries, size) -> None:
    """Check that names have no folders and are unique, and that the file can hold the sizes."""
    names = [entry.filename for entry in entries]
    if len(set(names)) != len(names):
        raise ValueError("a member is there twice")
    if not {TEXT, TEXT_SUM} <= set(names):
        raise ValueError(f"{TEXT} or {TEXT_SUM} is missing")
    if not all(NAME.fullmatch(name) for name in names):
        raise ValueError("a member has a name that is not allowed")
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise ValueError("a member is compressed")
    if sum(max(entry.file_size, entry.compress_size) for entry in entries) > size:
        raise ValueError("the members are larger than the file")


def _read_text(members, path) -> dict[str, Any]:
    """The JSON, if its checksum is correct and its version is known."""
    text = members[TEXT]
    if members[TEXT_SUM].split()[:1] != [hashlib.sha256(text).hexdigest().encode()]:
        raise ValueError(f"{path} is damaged: the checksum of {TEXT} is wrong.")
    if len(text) > LARGEST_TEXT:
        raise ValueError(f"{path}: {TEXT} has {len(text)} bytes, more than {LARGEST_TEXT}.")
    try:
        content = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {TEXT} cannot be read: {one_line(error)}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path}: {TEXT} does not describe a {FORMAT}.")
    _check_version(content, path)
    return content


def _check_version(content, path) -> None:
    found = content.get("format_version")
    if type(found) is not int or found < 1:
        raise ValueError(f"{path}: format_version={found!r} must be an integer of at least 1.")
    if found > FORMAT_VERSION:
        writer = str(content.get("gtpca_version"))[:40]
        raise ValueError(
            f"{path} has format version {found}, written by gtpca {writer}; this version reads up "
            f"to {FORMAT_VERSION}: install a newer gtpca."
        )


def _unique(pairs) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a name is there twice")
    return dict(pairs)


def _refuse(name):
    raise ValueError(f"{name} is not a JSON number")


def _read_array(data: bytes, label: str) -> np.ndarray:
    try:
        return npy_array(data).copy(order="K")
    except Exception as error:  # including errors of the header parser
        raise ValueError(f"{label} is not a readable array: {one_line(error)}") from None

"""Atomic writes and the .npy format."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import numpy as np
import pytest

from gtpca.files import atomic_file, check_writable, npy_array, npy_bytes, write_npy, write_text

KILLED = """
import os, signal, sys
from gtpca.files import atomic_file
with atomic_file(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path):
    path, other = tmp_path / "a [1].txt", tmp_path / "b.txt"
    for each in (path, other):
        subprocess.run([sys.executable, "-c", KILLED, str(each)], check=False)
    assert len(list(tmp_path.glob(".*.part"))) == 2
    write_text(path, "all of it")
    assert [part.name[:6] for part in tmp_path.glob(".*.part")] == [".b.txt"]
    assert path.read_text() == "all of it"
    assert not other.exists()


def test_a_part_that_is_being_written_stays(tmp_path):
    path = tmp_path / "a.txt"
    with atomic_file(path) as file:
        (mine,) = tmp_path.glob(".*.part")
        write_text(tmp_path / "b.txt", "b")
        file.write(b"a")
        assert mine.exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.txt", "b.txt"]


def interrupted(path):
    with atomic_file(path) as file:
        file.write(b"new")
        raise RuntimeError("stop")


def test_an_error_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="stop"):
        interrupted(path)
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_text() == "old"


@pytest.mark.parametrize("name", ["a" * 255, "ö" * 127, "汉" * 85, "a" + "汉" * 84])
def test_parts_of_long_names_are_cut_by_bytes(name, tmp_path):
    check_writable(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    write_text(tmp_path / name, "text")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_what_cannot_be_written_is_known_before(tmp_path):
    with pytest.raises(OSError, match="name too long"):
        check_writable(tmp_path / ("ö" * 128))
    with pytest.raises(FileNotFoundError):
        check_writable(tmp_path / "no" / "a.txt")
    (tmp_path / "a.txt").write_text("old")
    check_writable(tmp_path / "a.txt")
    check_writable(os.devnull)
    assert (tmp_path / "a.txt").read_text() == "old"


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_bytes_are_those_of_numpy_and_come_back(order, tmp_path):
    array = np.asarray(np.arange(6.0).reshape(2, 3), order=order)
    np.save(tmp_path / "a.npy", array)
    data = npy_bytes(array)
    assert data == (tmp_path / "a.npy").read_bytes()
    copy = npy_array(data)
    np.testing.assert_array_equal(copy, array)
    assert copy.flags.f_contiguous == array.flags.f_contiguous


def test_pieces_make_the_file_of_the_whole():
    array, file = np.arange(12, dtype=np.int16).reshape(4, 3), io.BytesIO()
    write_npy(file, (array[i : i + 2] for i in (0, 2)), array.shape)
    np.testing.assert_array_equal(npy_array(file.getvalue()), array)


def test_a_file_that_is_shorter_than_its_header_says_is_refused():
    with pytest.raises(ValueError, match="31 bytes of values do not make float64 of shape"):
        npy_array(npy_bytes(np.ones(4))[:-1])


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_an_existing_file_keeps_its_mode(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    for mode in (0o600, 0o664):
        path.chmod(mode)
        with atomic_file(path) as file:
            (part,) = tmp_path.glob(".*.part")
            assert part.stat().st_mode & 0o777 == mode
            file.write(b"new")
        assert path.stat().st_mode & 0o777 == mode
    assert path.read_text() == "new"

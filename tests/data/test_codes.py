"""Codes: rows, files, fewer components, poses."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from helpers import QUICK

from gtpca import GTPCA, Codes, Shift

FULL = """
import resource, signal, sys
import numpy as np
from gtpca import Codes
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    Codes(np.ones((1000, 2)), np.zeros((1000, 2), int)).save(sys.argv[1])
except OSError as error:
    print(error.strerror)
"""


def test_codes(series, tmp_path):
    model = GTPCA(3, Shift(5), solver=QUICK, random_state=0).fit(series)
    codes = model.encode(series)
    assert len(codes) == 30
    assert codes.scores.shape == codes.index.shape == (30, 3)
    assert np.issubdtype(codes.index.dtype, np.integer)
    mask = codes.scores[:, 0] > 0
    for rows in (slice(3, 9), slice(None, None, -2), [4, 1, 1], mask, np.array([7])):
        part = codes[rows]
        assert isinstance(part, Codes)
        np.testing.assert_array_equal(part.scores, codes.scores[rows])
        np.testing.assert_array_equal(part.index, codes.index[rows])
        np.testing.assert_array_equal(model.decode(part), model.decode(codes)[rows])
    for row in (0, -1, np.int64(4)):
        assert len(codes[row]) == 1
        np.testing.assert_array_equal(model.decode(codes[row])[0], model.decode(codes)[row])
    with pytest.raises(IndexError):
        codes[30]
    for name in ("codes.npz", "codes", "codes.gtpca"):
        codes.save(tmp_path / name)
        loaded = Codes.load(str(tmp_path / name))
        np.testing.assert_array_equal(loaded.scores, codes.scores)
        np.testing.assert_array_equal(loaded.index, codes.index)
        assert loaded.scores.dtype == codes.scores.dtype
        np.testing.assert_array_equal(model.decode(loaded), model.decode(codes))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["codes", "codes.gtpca", "codes.npz"]


@pytest.mark.skipif(os.name != "posix", reason="limits of the size of files")
def test_a_full_disk_leaves_the_old_codes(tmp_path):
    path = tmp_path / "codes.npz"
    Codes(np.ones((2, 1)), np.zeros((2, 1), int)).save(path)
    done = subprocess.run([sys.executable, "-c", FULL, path], capture_output=True, check=False)
    assert done.stdout == b"File too large\n"
    assert len(Codes.load(path)) == 2
    assert [p.name for p in tmp_path.iterdir()] == ["codes.npz"]


def test_codes_of_fewer_components(series):
    model = GTPCA(3, Shift(5), solver=QUICK, random_state=0).fit(series)
    codes = model.encode(series)
    part = codes.first(2)
    assert part.scores.shape == (30, 2)
    residual = np.sum((series - model.decode(part)) ** 2) / np.sum(series**2)
    np.testing.assert_allclose(residual, model.resmse(series)[1], rtol=1e-9)


def test_poses_have_the_shape_of_the_codes(series):
    model = GTPCA(3, Shift(5), solver=QUICK, random_state=0).fit(series)
    codes = model.encode(series)
    poses = model.poses(codes)
    assert set(poses) == {"start", "centre"}
    assert all(column.shape == (30, 3) for column in poses.values())
    np.testing.assert_array_equal(poses["start"], codes.index)  # starts 0, 1, ..
    np.testing.assert_array_equal(poses["centre"], poses["start"] + 2)
    assert model.poses(codes[:4])["start"].shape == (4, 3)

"""Rows that do not fit into memory: the same fit from wherever they are read."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from conftest import ALL_FAMILIES
from helpers import memory, two_planted

from gtpca import ALS, GTPCA, Compose, Reflection, Rotation, Shift
from gtpca.data.residual import scratch
from gtpca.testing import PlantedRows, assert_same_components

SOLVER = ALS(n_init=4)


def planted(family, shape, n=901, dtype=np.float64):
    return two_planted(family, shape, n).astype(dtype)


def stored(X, kind, folder):
    """``X`` as a memory map, an h5py dataset, a zarr array, or a bare array-like."""
    if kind == "memmap":
        np.save(folder / "x.npy", X)
        return np.load(folder / "x.npy", mmap_mode="r")
    if kind == "h5py":
        h5py = pytest.importorskip("h5py", reason="needs h5py: gtpca[io]")
        h5py.File(folder / "x.h5", "w").create_dataset("X", data=X, chunks=(64, *X.shape[1:]))
        return h5py.File(folder / "x.h5")["X"]
    if kind == "zarr":
        zarr = pytest.importorskip("zarr", reason="needs zarr: gtpca[io]")
        return zarr.create_array(folder / "x.zarr", data=X, chunks=(64, *X.shape[1:]))
    return Bare(X)


class Bare:
    """Shape, dtype and slices of ascending rows, nothing else."""

    def __init__(self, X):
        self._X, self.shape, self.dtype = X, X.shape, X.dtype
        self.longest = 0

    def __getitem__(self, part):
        assert isinstance(part, slice)
        self.longest = max(self.longest, part.stop - part.start if part.start is not None else 0)
        return self._X[part]


@pytest.mark.parametrize("kind", ["memmap", "h5py", "zarr", "bare"])
@pytest.mark.parametrize("residual", ["memory", "scratch", "recompute"])
def test_the_same_fit_from_everywhere(kind, residual, tmp_path):
    X = planted(Shift((5, 5)), (9, 9))
    options = {"solver": SOLVER, "random_state": 0}
    whole = GTPCA(3, Shift((5, 5)), **options).fit(X)
    source = stored(X, kind, tmp_path)
    for batch_size in (100, 901, None):
        model = GTPCA(
            3, Shift((5, 5)), batch_size=batch_size, residual=residual, n_jobs=2, **options
        ).fit(source)
        assert_same_components(model, whole, atol=1e-8)
        np.testing.assert_allclose(model.explained_energy_, whole.explained_energy_, rtol=1e-8)
    np.testing.assert_allclose(model.transform(source), whole.transform(X), atol=1e-7)
    np.testing.assert_allclose(model.resmse(source), whole.resmse(X), rtol=1e-8)
    np.testing.assert_allclose(model.align(source), whole.align(X), atol=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {"center": True},
        {"center": "samples", "feature_weight": np.linspace(0.5, 2, 24)},
        {"refine": 2},
        {"shared_pose": True},
        {"polarity": "positive"},
        {"n_components": 0.7},
    ],
    ids=str,
)
@pytest.mark.parametrize("residual", ["auto", "scratch"])
def test_every_option_works_on_streams(options, residual, tmp_path):
    X = planted(Shift(8), (24,), n=700) + 0.1
    given = {"n_components": 2, "family": Shift(8), "solver": SOLVER, "random_state": 0, **options}
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    whole = GTPCA(**given).fit(X, sample_weight=weight)
    source = stored(X, "memmap", tmp_path)
    model = GTPCA(**given, residual=residual, batch_size=64).fit(source, sample_weight=weight)
    assert_same_components(model, whole, atol=1e-7)


@pytest.mark.parametrize(
    ("family", "shape"),
    [(Shift(30), (40,)), (Compose(Shift(30), Reflection()), (40,)), (Rotation(16), (12, 12))],
    ids=str,
)
def test_single_precision_hardly_depends_on_the_chunks(family, shape, tmp_path):
    X = planted(family, shape, dtype=np.float32)
    whole = GTPCA(2, family, solver=SOLVER, random_state=0).fit(X)
    model = GTPCA(2, family, solver=SOLVER, random_state=0, batch_size=100)
    model.fit(stored(X, "memmap", tmp_path))
    np.testing.assert_allclose(model.explained_energy_, whole.explained_energy_, rtol=1e-3)
    if family.bind(shape).__class__.__name__ == "ShiftOperator":
        assert_same_components(model, whole, atol=1e-5)
    for a, b in zip(model.components_, whole.components_, strict=True):
        assert max(abs(np.vdot(a, c)) for c in equally_good(b)) >= 0.999


def equally_good(component):
    """``component``, and of an image its quarter turns: they explain as much, to the last bit."""
    return [np.rot90(component, k) for k in range(4)] if component.ndim == 2 else [component]


@pytest.mark.parametrize("residual", ["auto", "scratch"])
def test_rows_that_are_read_in_pieces_never_are_in_memory(residual, tmp_path):
    """What grows with their number is scores and transforms, a tenth of them at most."""
    family, length = Shift(32), 256
    PlantedRows(family.bind((length,)), 40_000).write(
        X := np.lib.format.open_memmap(tmp_path / "x.npy", "w+", "f4", (40_000, length))
    )
    solver = ALS(n_init=2, max_iter=2, lookahead=False)
    model = GTPCA(2, family, solver=solver, residual=residual, random_state=0)
    for use in (model.fit, model.transform, model.resmse, model.partial_fit):
        few, many = (memory(partial(use, X[:n])) for n in (20_000, 40_000))
        assert many - few < X[20_000:].nbytes / 10


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float16])
def test_small_types_are_converted_piece_by_piece(dtype, tmp_path):
    X = np.abs(20 * planted(Shift(8), (24,), n=600)).clip(0, 250).astype(dtype)
    source = stored(X, "bare", tmp_path)
    model = GTPCA(2, Shift(8), solver=SOLVER, batch_size=50, random_state=0).fit(source)
    whole = GTPCA(2, Shift(8), solver=SOLVER, random_state=0).fit(X)
    assert_same_components(model, whole, atol=1e-5)
    assert model.transform(source).dtype == np.float32
    assert source.longest <= 1024


def test_flat_rows_of_a_stream_get_their_shape(tmp_path):
    X = planted(Rotation(4), (8, 8), n=300)
    source = stored(X.reshape(300, 64), "memmap", tmp_path)
    model = GTPCA(1, Rotation(4), sample_shape=(8, 8), solver=SOLVER, random_state=0).fit(source)
    whole = GTPCA(1, Rotation(4), solver=SOLVER, random_state=0).fit(X)
    assert_same_components(model, whole, atol=1e-8)
    assert model.n_features_in_ == 64


@pytest.mark.parametrize("name", list(ALL_FAMILIES))
def test_recomputed_residuals_serve_every_family(name, tmp_path):
    family, shape = ALL_FAMILIES[name]
    if family.bind(shape).n_transforms == 1:
        pytest.skip("a single transform is solved directly: there is no residual")
    X = planted(family, shape, n=150)
    options = {"solver": ALS(n_init=2, max_iter=20), "random_state": 0}
    whole = GTPCA(2, family, **options).fit(X)
    model = GTPCA(2, family, residual="recompute", batch_size=40, **options).fit(X)
    assert_same_components(model, whole, atol=1e-7)


class Broken(Bare):
    """Raises an error when it is read in row 370."""

    def __getitem__(self, part):
        if part.start is not None and part.start <= 370 < part.stop:
            raise OSError("the disk is gone")
        return super().__getitem__(part)


def test_errors_name_the_chunk_and_a_second_fit_works(tmp_path):
    X = planted(Shift(8), (24,), n=500)
    model = GTPCA(1, Shift(8), batch_size=10, solver=SOLVER, random_state=0)
    with pytest.raises(OSError, match=r"chunk 37, rows 370 to 379.*the disk is gone"):
        model.fit(Broken(X))
    bad = X.copy()
    bad[375, 3] = np.nan
    with pytest.raises(ValueError, match=r"chunk 37, rows 370 to 379.*row 375"):
        model.fit(Bare(bad))
    assert not hasattr(model, "components_")
    assert model.fit(Bare(X)).n_components_ == 1


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (Bare(np.zeros((5, 4), complex)), "complex128"),
        (Bare(np.zeros((0, 4))), r"\(0, 4\)"),
        (Bare(np.zeros(4)), r"\(4,\)"),
    ],
)
def test_streams_that_hold_no_rows_are_refused(X, words):
    with pytest.raises(ValueError, match=words):
        GTPCA(1, Shift(2)).fit(X)


def test_streams_of_another_size_are_refused(tmp_path):
    model = GTPCA(1, Shift(8), solver=SOLVER).fit(planted(Shift(8), (24,), n=50))
    with pytest.raises(ValueError, match="20 features"):
        model.transform(Bare(np.ones((3, 20))))


def test_a_scratch_file_has_no_name_and_is_gone(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    a = scratch((100, 7), np.float32)
    a[:] = 3
    assert not list(tmp_path.iterdir())
    assert float(a.sum()) == 2100


LIMITED = """
import resource, sys, numpy as np
resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, 2**16))
from gtpca import ALS, GTPCA, Shift
X = np.random.default_rng(0).standard_normal((2000, 40))
model = GTPCA(2, Shift(8), residual="scratch", solver=ALS(n_init=2), random_state=0)
try:
    model.fit(X)
except OSError as error:
    print(error)
print(model.set_params(residual="recompute").fit(X).n_components_)
"""


def test_no_room_on_the_disk_is_said_before_anything_is_lost():
    done = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, check=True
    )
    assert "residual='scratch' needs 0.00 GB" in done.stdout
    assert done.stdout.splitlines()[-1] == "2"

"""Dask arrays: the same fit with every scheduler, lazy projections."""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context

import numpy as np
import pytest

from gtpca import ALS, GTPCA, Compose, Identity, Reflection, Rotation, Shift
from gtpca.testing import PlantedRows, assert_same_components

dask = pytest.importorskip("dask", reason="needs Dask: gtpca[dask]")
da = pytest.importorskip("dask.array", reason="needs Dask: gtpca[dask]")
kept = pytest.importorskip("gtpca.data.dask")

SOLVER = ALS(n_init=2, max_iter=5)
FAMILY, SHAPE = Shift((5, 5)), (9, 9)


def planted(n=2201, family=FAMILY, shape=SHAPE, dtype=np.float64):
    return PlantedRows(family.bind(shape), n, n_templates=2, dtype=dtype)[:]


def chunked(X, size=500):
    return da.from_array(X, chunks=(size, *X.shape[1:]))


def model(n_components=2, family=FAMILY, **options):
    return GTPCA(n_components, family, **{"solver": SOLVER, "random_state": 0, **options})


@contextmanager
def cluster():
    distributed = pytest.importorskip("distributed", reason="needs distributed: gtpca[dask]")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as local, distributed.Client(local) as client:
        yield client


@contextmanager
def processes():
    pool = ProcessPoolExecutor(2, get_context("spawn"))
    with pool, dask.config.set(scheduler="processes", pool=pool):
        yield


@contextmanager
def threads():
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


@pytest.mark.parametrize("scheduler", [threads, processes, cluster])
def test_the_same_fit_with_every_scheduler(scheduler):
    X = planted()
    whole = model().fit(X)
    with scheduler():
        for residual, size in (("recompute", 1100), ("memory", 734)):
            found = model(residual=residual).fit(chunked(X, size))
            assert_same_components(found, whole, atol=1e-8)
            np.testing.assert_allclose(found.explained_energy_, whole.explained_energy_, rtol=1e-8)
        codes = found.encode(chunked(X))
        np.testing.assert_allclose(codes.scores.compute(), whole.encode(X).scores, atol=1e-8)


class CountedPool(ThreadPoolExecutor):
    """A pool that counts how often it is made, and whether it was shut down."""

    made, shut = 0, 0

    def __init__(self, count, context, initializer):
        super().__init__(count)
        CountedPool.made += 1

    def shutdown(self, wait=True, **how):
        CountedPool.shut += 1
        super().shutdown(wait, **how)


def test_processes_are_started_once(monkeypatch):
    """Dask would start new ones for every pass, which took a minute."""
    X = planted(700)
    whole = model().fit(X)
    monkeypatch.setattr(dask.multiprocessing, "ProcessPoolExecutor", None)  # as Dask would
    monkeypatch.setattr(kept, "ProcessPoolExecutor", CountedPool)
    monkeypatch.setattr(kept, "IDLE", 0.05)
    CountedPool.made = CountedPool.shut = 0
    with dask.config.set(scheduler="processes", num_workers=2):
        found = model().fit(chunked(X, 300))
    assert_same_components(found, whole, atol=1e-8)
    assert CountedPool.made == 1
    for _ in range(100):
        if CountedPool.shut:
            break
        time.sleep(0.05)
    assert CountedPool.shut == 1


@pytest.mark.parametrize(
    ("n", "size", "batch_size"),
    [(2201, 100, 64), (2201, 1100, None), (2201, 5000, 300), (40, 1, None), (700, 300, 64)],
)
def test_the_chunks_do_not_matter(n, size, batch_size):
    X = planted(n)
    found = model(batch_size=batch_size).fit(chunked(X, size))
    assert_same_components(found, model().fit(X), atol=1e-8)


@pytest.mark.parametrize(
    "options",
    [
        {"center": True},
        {"center": "samples", "feature_weight": np.linspace(0.5, 2, 81).reshape(SHAPE)},
        {"refine": 2},
        {"shared_pose": True},
        {"polarity": "positive"},
        {"n_components": 0.5},
        {"family": Identity(), "n_components": 3},
        {"family": Rotation(8)},
    ],
    ids=str,
)
@pytest.mark.parametrize("residual", ["auto", "memory"])
def test_every_option_works(options, residual):
    X = planted() + 0.1
    weight = np.random.default_rng(0).uniform(0, 2, len(X)).round(1)
    whole = model(**options).fit(X, sample_weight=weight)
    found = model(**options, residual=residual).fit(chunked(X), sample_weight=weight)
    assert_same_components(found, whole, atol=1e-7)
    np.testing.assert_allclose(found.resmse(chunked(X)), whole.resmse(X), rtol=1e-8)


@pytest.mark.parametrize(
    ("family", "shape"),
    [(Shift(30), (40,)), (Compose(Shift(30), Reflection()), (40,)), (Rotation(16), (12, 12))],
    ids=str,
)
def test_single_precision_hardly_depends_on_the_chunks(family, shape):
    X = planted(family=family, shape=shape, dtype=np.float32)
    whole, found = model(family=family).fit(X), model(family=family).fit(chunked(X))
    np.testing.assert_allclose(found.explained_energy_, whole.explained_energy_, rtol=1e-3)
    for a, b in zip(found.components_, whole.components_, strict=True):
        assert abs(np.vdot(a, b)) >= 0.999
    if isinstance(family, Shift):
        assert_same_components(found, whole, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float16])
def test_small_types_are_converted_by_the_workers(dtype):
    X = np.abs(20 * planted()).clip(0, 250).astype(dtype)
    found = model().fit(chunked(X))
    assert_same_components(found, model().fit(X), atol=1e-5)
    assert found.transform(chunked(X)).dtype == np.float32
    assert found.transform(chunked(X)).compute().dtype == np.float32


class Counted:
    """Rows that count how often they are read."""

    def __init__(self, X):
        self._X, self.shape, self.dtype, self.ndim, self.reads = X, X.shape, X.dtype, X.ndim, 0

    def __getitem__(self, part):
        self.reads += 1
        return self._X[part]


def counted(X, size=100):
    source = Counted(X)
    D = da.from_array(source, chunks=(size, *X.shape[1:]))
    source.reads = 0  # Dask looks at what comes out
    return source, D


@pytest.mark.parametrize("output", ["scores", "scores+poses"])
@pytest.mark.parametrize(
    "options", [{}, {"shared_pose": True}, {"center": True, "refine": 1}], ids=str
)
def test_projections_are_lazy_and_keep_the_chunks(options, output):
    X = planted(n=250)
    whole = model(output=output, **options).fit(X)
    source, D = counted(X)
    codes, expected = whole.encode(D), whole.encode(X)
    scores = whole.transform(D)
    lazy = {
        "scores": (codes.scores, expected.scores),
        "index": (codes.index, expected.index),
        "transform": (scores, whole.transform(X)),
        "inverse": (whole.inverse_transform(scores), whole.inverse_transform(whole.transform(X))),
        "decode": (whole.decode(codes), whole.decode(expected)),
        "reconstruct": (whole.reconstruct(D), whole.reconstruct(X)),
        "align": (whole.align(D), whole.align(X)),
        "score_samples": (whole.score_samples(D), whole.score_samples(X)),
        "poses": (whole.poses(codes)["start_0"], whole.poses(expected)["start_0"]),
    }
    assert source.reads == 0, "something was computed"
    for name, (array, wanted) in lazy.items():
        assert isinstance(array, da.Array), name
        assert array.chunks[0] == (100, 100, 50), name
        assert (array.shape, array.dtype) == (wanted.shape, wanted.dtype), name
        np.testing.assert_allclose(array.compute(), wanted, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(whole.resmse(D), whole.resmse(X), rtol=1e-9)
    assert whole.score(D) == pytest.approx(whole.score(X))


def test_what_is_lazy_is_of_the_model_as_it_was():
    X = planted(n=250)
    found = model().fit(X)
    scores = found.transform(chunked(X))
    lazy = [found.inverse_transform(scores), found.reconstruct(chunked(X)), scores]
    before = dask.compute(*lazy)
    found.set_params(output="scores+poses").partial_fit(planted(2201)[250:])
    for array, wanted in zip(lazy, before, strict=True):
        np.testing.assert_array_equal(array.compute(), wanted)


def test_scores_and_index_are_matched_once():
    X = planted(n=250)
    fitted = model().fit(X)
    source, D = counted(X)
    codes = fitted.encode(D)
    dask.compute(codes.scores, codes.index)
    assert source.reads == 3


def test_a_kept_residual_is_not_read_again():
    X = planted()
    reads = {}
    for residual in ("recompute", "memory"):
        source, D = counted(X, 1000)
        found = model(3, residual=residual).fit(D)
        reads[residual] = source.reads
    assert reads["memory"] < 0.6 * reads["recompute"]
    assert isinstance(found.components_, np.ndarray)
    assert isinstance(model().fit_transform(D), da.Array)


def test_chunks_along_the_features_are_put_together():
    X = planted()
    split = da.from_array(X, chunks=(1000, 5, 4))
    found = model().fit(split)
    assert_same_components(found, model().fit(X), atol=1e-8)
    assert found.transform(split).chunks == ((1000, 1000, 201), (2,))


def test_flat_rows_get_their_shape():
    X = planted(n=300)
    found = model(sample_shape=SHAPE).fit(chunked(X.reshape(300, 81)))
    assert_same_components(found, model().fit(X), atol=1e-8)
    assert found.reconstruct(chunked(X.reshape(300, 81))).shape == (300, 9, 9)
    assert found.inverse_transform(found.transform(chunked(X))).shape == (300, 81)


def test_chunks_of_unknown_size_and_empty_chunks():
    X = planted()
    X[500:1000, 0, 0] = -100.0
    D = chunked(X)
    some = D[D[:, 0, 0] > -50]
    assert np.isnan(some.shape[0])
    kept = X[X[:, 0, 0] > -50]
    found = model().fit(some)
    assert np.isnan(some.shape[0]), "the caller's array was changed"
    assert_same_components(found, model().fit(kept), atol=1e-8)
    np.testing.assert_allclose(found.transform(some).compute(), found.transform(kept), atol=1e-9)
    np.testing.assert_allclose(found.reconstruct(some).compute(), found.reconstruct(kept))
    np.testing.assert_allclose(found.resmse(some), found.resmse(kept))


def test_frames_are_not_loaded():
    dd = pytest.importorskip("dask.dataframe", reason="needs pandas and pyarrow")
    pd = pytest.importorskip("pandas")
    X = planted(n=300).reshape(300, 81)
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    found = model(sample_shape=SHAPE).fit(frame)
    assert_same_components(found, model(sample_shape=SHAPE).fit(X), atol=1e-8)
    assert isinstance(found.transform(frame), da.Array)
    np.testing.assert_allclose(found.transform(frame).compute(), found.transform(X), atol=1e-9)
    assert found.partial_fit(frame).n_samples_seen_ == 600


@pytest.mark.parametrize("n", [100, 1500])
def test_batches_of_unknown_size_and_empty_chunks(n):
    X, more = planted(n), planted(300)
    first, D = chunked(X, 70), chunked(more, (100, 0, 200))
    streamed = model().partial_fit(X).partial_fit(more)
    for batch in (D, D[D[:, 0, 0] > -50]):
        found = model().partial_fit(first[first[:, 0, 0] > -50]).partial_fit(batch)
        assert_same_components(found, streamed, atol=1e-8)
        assert found.n_samples_seen_ == n + 300


@pytest.mark.parametrize(
    ("D", "words"),
    [
        (da.zeros((5, 4), dtype=complex), "complex128"),
        (da.zeros((0, 4)), r"\(0, 4\)"),
        (da.zeros(4), r"\(4,\)"),
        (da.zeros((5, 4))[:, da.zeros(4) > 1], "unknown shape"),
    ],
)
def test_arrays_that_hold_no_rows_are_refused(D, words):
    with pytest.raises(ValueError, match=words):
        model(family=Shift(2)).fit(D)


def test_a_scratch_file_is_refused():
    with pytest.raises(ValueError, match="residual='scratch' is a file on one machine"):
        model(residual="scratch").fit(chunked(planted()))


def test_planted_rows_are_the_same_however_they_are_read(tmp_path):
    made = PlantedRows(FAMILY.bind(SHAPE), 1000)
    target = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", made.dtype, made.shape)
    made.write(target, n_rows=77).flush()
    stored = np.load(tmp_path / "x.npy")
    assert np.array_equal(stored, made[:])
    assert np.array_equal(stored, da.from_array(made, chunks=(300, 9, 9)).compute())
    assert np.array_equal(stored[5:999:3, 2], made[5:999:3, 2])
    found = GTPCA(1, FAMILY, random_state=0).fit(made)
    w = made.templates[0] / np.linalg.norm(made.templates[0])
    assert abs(found.components_[0].ravel() @ w) > 0.99

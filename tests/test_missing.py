"""What was not observed: who may say so, in which words, and on every way into the estimator."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import QUICK, noise, two_planted
from numpy.testing import assert_allclose, assert_array_equal

import gtpca
from gtpca import GTPCA, Identity, Rotation, Shift
from gtpca.data.chunks import as_chunks
from gtpca.testing import assert_same_components

FAMILY, SHAPE = Shift(8), (24,)


@pytest.fixture(scope="module")
def whole():
    return two_planted(FAMILY, SHAPE, 120)


@pytest.fixture(scope="module")
def gappy(whole):
    return np.where(np.random.default_rng(1).random(whole.shape) < 0.2, np.nan, whole)


def estimator(**options):
    return GTPCA(2, FAMILY, missing="ignore", solver=QUICK, random_state=0, **options)


@pytest.fixture(scope="module")
def model(gappy):
    return estimator().fit(gappy)


# --- the default: an error ---


def assert_told(error, count, row, place):
    text = str(error.value)
    for words in (f"{count} missing values", f"row {row}", place, 'missing="ignore"'):
        assert words in text


def test_errors_name_row_column_number_and_the_way_out(whole, model):
    X = whole.copy()
    X[7, 3] = X[7, 9] = X[50, 0] = np.nan
    strict = GTPCA(2, FAMILY, solver=QUICK, random_state=0).fit(whole)
    for method in (strict.fit, strict.transform, strict.encode, strict.align, strict.impute):
        with pytest.raises(ValueError, match="NaN") as error:
            method(X)
        assert_told(error, 3, 7, "column 3")
    with pytest.raises(ValueError, match="NaN") as error:
        GTPCA().fit(X.reshape(-1, 4, 6))
    assert_told(error, 3, 7, "place (0, 3)")


@pytest.mark.parametrize("nothing", [None, np.ma.masked], ids=["None", "masked"])
def test_errors_of_other_kinds_of_nothing(whole, nothing):
    if nothing is None:
        X = whole.astype(object)
        X[7, 3] = X[9, 0] = None
    else:
        X = np.ma.masked_array(whole, np.zeros(whole.shape, dtype=bool))
        X[7, 3] = X[9, 0] = nothing
    with pytest.raises(ValueError, match="missing values") as error:
        GTPCA().fit(X)
    assert_told(error, 2, 7, "column 3")


def test_errors_of_frames(whole):
    pd = pytest.importorskip("pandas", reason="data frames")
    frame = pd.DataFrame(whole).astype("Float64")
    frame.iloc[7, 3] = pd.NA
    boxed = frame.astype(object)
    for X in (frame, boxed):
        with pytest.raises(ValueError, match="missing values") as error:
            GTPCA().fit(X)
        assert_told(error, 1, 7, "column 3")


@pytest.mark.parametrize("masked", [False, True])
def test_errors_of_streams(tmp_path, whole, masked):
    X = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", shape=whole.shape)
    X[:] = whole
    X[107, 3] = X[107, 9] = np.nan
    X = MaskedRows(np.ma.masked_invalid(X)) if masked else X
    with pytest.raises(ValueError, match="masked" if masked else "NaN") as error:
        GTPCA(1, FAMILY, batch_size=50).fit(X)
    assert_told(error, 2, 107, "column 3")


class MaskedRows:
    """Masked rows that are read piece by piece."""

    def __init__(self, rows):
        self.rows, self.shape, self.dtype = rows, rows.shape, rows.dtype

    def __getitem__(self, part):
        return self.rows[part]


@pytest.mark.parametrize("missing", ["error", "ignore"])
def test_infinite_values_are_errors(whole, missing):
    X = whole.copy()
    X[3, 4] = np.inf
    for data in (X, MaskedRows(np.ma.masked_array(X))):
        with pytest.raises(ValueError, match="inf"):
            GTPCA(1, FAMILY, missing=missing).fit(data)


def test_only_two_words_are_known(whole):
    with pytest.raises(ValueError, match="missing='drop' must be one of 'error', 'ignore'"):
        GTPCA(missing="drop").fit(whole)


# --- "ignore": the same from every kind of nothing ---


def kinds(X):
    """The same gaps in other words."""
    boxed = X.astype(object)
    boxed[np.isnan(X)] = None
    masked = np.ma.masked_array(np.nan_to_num(X, nan=1e3), np.isnan(X))
    return {"objects": boxed, "masked": masked, "list": list(masked), "nested": boxed.tolist()}


@pytest.mark.parametrize("kind", ["objects", "masked", "list", "nested"])
def test_all_kinds_of_nothing_are_the_same(model, gappy, kind):
    X = kinds(gappy)[kind]
    assert_array_equal(model.transform(X), model.transform(gappy))
    assert_array_equal(estimator().fit(X).components_, model.components_)
    assert_array_equal(model.impute(X), model.impute(gappy))


def test_frames_with_na(model, gappy):
    pd = pytest.importorskip("pandas", reason="data frames")
    frame = pd.DataFrame(gappy)
    named = [frame, frame.convert_dtypes(), frame.astype(object).where(frame.notna(), pd.NA)]
    for X in named:
        assert_array_equal(model.transform(X.rename(columns=int)), model.transform(gappy))
    texts = frame.rename(columns=str)
    assert list(estimator().fit(texts).feature_names_in_) == list(texts.columns)


def test_small_integers_with_a_mask_are_single_precision():
    X = np.random.default_rng(0).integers(0, 255, (40, 24)).astype(np.uint8)
    masked = np.ma.masked_array(X, X > 200)
    model = GTPCA(1, FAMILY, missing="ignore", solver=QUICK, random_state=0)
    assert model.fit(masked).transform(masked).dtype == np.float32


def test_scikit_learn_is_told():
    assert GTPCA(missing="ignore").__sklearn_tags__().input_tags.allow_nan
    assert not GTPCA().__sklearn_tags__().input_tags.allow_nan


def test_missing_may_change_after_a_fit(whole, gappy):
    model = GTPCA(2, FAMILY, solver=QUICK, random_state=0).fit(whole)
    codes = model.set_params(missing="ignore").encode(gappy)
    assert np.all(np.isfinite(codes.scores))
    with pytest.raises(ValueError, match="missing values"):
        model.set_params(missing="error").encode(gappy)


# --- the same on every way ---


def test_streams_read_gaps_as_arrays_do(tmp_path, gappy):
    X = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", shape=gappy.shape)
    X[:] = gappy
    for residual in ("auto", "memory", "scratch"):
        options = {"batch_size": 50, "residual": residual, "center": True}
        plain, found = (estimator(**options).fit(rows) for rows in (gappy, X))
        assert_allclose(found.components_, plain.components_, atol=1e-10)
        assert_allclose(found.transform(X), plain.transform(gappy), atol=1e-10)
        assert_array_equal(np.isnan(found.impute(X)), np.zeros(X.shape, dtype=bool))


@pytest.mark.parametrize("kind", ["h5py", "zarr"])
def test_files_in_chunks(tmp_path, gappy, model, kind):
    package = pytest.importorskip(kind)
    if kind == "h5py":
        with package.File(tmp_path / "x.h5", "w") as file:
            file["x"] = gappy
        X = package.File(tmp_path / "x.h5")["x"]
    else:
        X = package.open(str(tmp_path / "x.zarr"), mode="w", shape=gappy.shape, dtype="f8")
        X[:] = gappy
    assert_allclose(estimator().fit(X).components_, model.components_, atol=1e-10)
    assert_allclose(model.transform(X), model.transform(gappy), atol=1e-12)


@pytest.mark.parametrize("residual", ["recompute", "memory"])
def test_dask_reads_gaps_as_arrays_do(gappy, residual, monkeypatch):
    da = pytest.importorskip("dask.array", reason="Dask arrays")
    monkeypatch.setattr("gtpca.fitting.fit.SETTLE_ROWS", 50)  # so that it stays on the workers
    options = {"residual": residual, "refine": 1}
    X = da.from_array(gappy, chunks=(40, 24))
    found, plain = estimator(**options).fit(X), estimator(**options).fit(gappy)
    assert_allclose(found.components_, plain.components_, atol=1e-10)
    assert_allclose(np.asarray(found.transform(X)), plain.transform(gappy), atol=1e-10)
    assert_allclose(np.asarray(found.impute(X)), plain.impute(gappy), atol=1e-10)
    masked = da.ma.masked_invalid(X)
    assert_allclose(np.asarray(found.transform(masked)), plain.transform(gappy), atol=1e-10)
    with pytest.raises(ValueError, match=r"missing values.*row \d+, column"):
        GTPCA(1, FAMILY, solver=QUICK).fit(X)


def test_batches_and_threads_do_not_matter(gappy, model):
    for options in ({"batch_size": 7}, {"batch_size": 7, "n_jobs": 2}):
        assert_allclose(estimator(**options).fit(gappy).components_, model.components_, atol=1e-9)


def test_single_precision(gappy, model):
    X = gappy.astype(np.float32)
    found = estimator().fit(X)
    assert_same_components(found, model, atol=1e-3)
    assert found.transform(X).dtype == found.impute(X).dtype == np.float32


@pytest.mark.parametrize("options", [{"shared_pose": True}, {"refine": 1}, {}], ids=str)
def test_weight_two_is_a_row_twice(gappy, options):
    weight = np.where(np.arange(120) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(gappy, weight.astype(int), axis=0)
    one, other = estimator(**options), estimator(**options)
    one.fit(gappy, sample_weight=weight)
    other.fit(twice)
    assert_allclose(one.components_, other.components_, atol=1e-4)


@pytest.mark.filterwarnings("ignore:3 of 125 rows of X hold no observed value")
def test_rows_of_weight_zero_may_hold_anything(gappy, model):
    X = np.concatenate([gappy, np.full((3, 24), np.nan), 1e5 * noise(2, 24)])
    found = estimator().fit(X, sample_weight=np.arange(125) < 120)
    assert_allclose(found.components_, model.components_, atol=1e-6)


def test_means_are_of_what_was_observed(gappy):
    X = gappy + np.linspace(0, 5, 24)
    X[:, 5] = np.nan
    with np.errstate(all="raise"):
        model = estimator(center=True).fit(X)
    seen = ~np.isnan(X)
    means = np.nansum(X, axis=0) / np.maximum(seen.sum(axis=0), 1)
    assert_allclose(model.mean_, means, atol=1e-12)
    assert model.mean_[5] == 0


def test_means_of_samples_are_of_what_was_observed_and_come_back():
    wave = np.sin(np.arange(24))
    X = noise(60, 1) * wave + 100 * noise(60, 1, seed=1)
    hidden = np.random.default_rng(2).random(X.shape) < 0.2
    model = GTPCA(1, Identity(), center="samples", missing="ignore", random_state=0)
    filled = model.fit(np.where(hidden, np.nan, X)).impute(np.where(hidden, np.nan, X))
    assert np.abs(filled - X).max() < 0.5  # not 100, the size of the means


def test_energies_are_of_what_was_observed(model, gappy):
    codes, energies = model.measure(gappy)
    rest = gappy - model.decode(codes)
    assert_allclose(energies[:, 0], np.nansum(gappy**2, axis=1))
    assert_allclose(energies[:, -1], np.nansum(rest**2, axis=1), atol=1e-10)
    assert_allclose(model.resmse(gappy), energies[:, 1:].sum(axis=0) / energies[:, 0].sum())
    assert_allclose(model.score_samples(gappy), 1 - energies[:, -1] / energies[:, 0])
    assert_allclose(model.explained_energy_.sum(), (energies[:, 0] - energies[:, -1]).sum())


@pytest.mark.parametrize("options", [{}, {"refine": 2}, {"shared_pose": True}], ids=str)
def test_history_never_falls(gappy, options):
    model = estimator(**options).fit(gappy)
    assert all(np.all(np.diff(h) >= 0) for h in model.history_)
    assert np.all(model.explained_energy_ > 0)


# --- batches that keep coming ---


STREAMS = [(Shift(8), False), (Shift(8), True), (Shift(32), False), (Shift(32), True)]


@pytest.mark.parametrize(("family", "shared_pose"), [*STREAMS, (Rotation(6), False)], ids=str)
def test_partial_fit(family, shared_pose):
    X = two_planted(family, (6, 6) if isinstance(family, Rotation) else SHAPE, 3000)
    gaps = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    options = {"shared_pose": shared_pose, "missing": "ignore", "random_state": 0}
    whole = GTPCA(2, family, solver=QUICK, **options).fit(gaps)
    model = GTPCA(2, family, solver=QUICK, **options)
    for part in np.array_split(gaps, 10):
        model.partial_fit(part)
    assert model.n_samples_seen_ == 3000
    assert model.resmse(gaps)[-1] <= whole.resmse(gaps)[-1] * 1.1
    assert model.explained_energy_ratio_.sum() <= 1


def test_batches_with_and_without_gaps(whole, gappy):
    model = estimator(center=True)
    for part in (whole, gappy, whole, gappy):
        model.partial_fit(np.tile(part, (6, 1)))
    assert "kept" in model.online_
    assert model.online_["kept"] is None
    assert model.score(gappy) > 0.9 * estimator(center=True).fit(gappy).score(gappy)


def test_batches_after_a_fit_tell_of_rows_without_values(whole, gappy):
    X = gappy.copy()
    X[[3, 17]] = np.nan
    model = estimator().fit(whole)
    with pytest.warns(UserWarning, match="2 of 120 rows of X hold no observed value") as caught:
        model.partial_fit(X)
    assert len(caught) == 1


def test_model_files(tmp_path, model, gappy):
    model.save(tmp_path / "gaps.gtpca")
    same = gtpca.load(tmp_path / "gaps.gtpca")
    assert same.missing == "ignore"
    assert_array_equal(same.transform(gappy), model.transform(gappy))
    stream = estimator().partial_fit(gappy)
    stream.save(tmp_path / "stream.gtpca")
    again = gtpca.load(tmp_path / "stream.gtpca").partial_fit(gappy)
    assert_array_equal(again.components_, stream.partial_fit(gappy).components_)


# --- filling gaps ---


def test_imputed_values_are_near_the_truth(whole, gappy):
    model = GTPCA(2, FAMILY, missing="ignore", refine=2, random_state=0).fit(gappy)
    filled, hidden = model.impute(gappy), np.isnan(gappy)
    assert_array_equal(filled[~hidden], whole[~hidden])
    error = np.sum((filled - whole)[hidden] ** 2) / np.sum(whole[hidden] ** 2)
    assert error < 0.35


def test_nothing_to_impute(model, whole):
    assert_array_equal(model.impute(whole), whole)
    shape = (6, 4)
    grid = GTPCA(1, Shift((3, 2)), missing="ignore", solver=QUICK, random_state=0)
    X = whole.reshape(-1, *shape)
    assert_array_equal(grid.fit(X).impute(X), X)


def test_aligned_samples_are_averages_of_what_was_observed(model, gappy):
    aligned, index = model.align(gappy), model.encode(gappy).index[:, 0]
    for row, back, t in zip(gappy, aligned, index, strict=True):
        assert_allclose(back, np.nan_to_num(row[t : t + 8]))


def test_chunks_of_an_array_with_nan_need_no_word():
    """The core knows gaps by NaN alone."""
    X = np.where(np.random.default_rng(0).random((9, 24)) < 0.3, np.nan, noise(9, 24))
    (chunk,) = as_chunks(X, FAMILY.bind(SHAPE))
    assert_array_equal(chunk.hidden, np.isnan(X))
    assert_array_equal(chunk.filled, np.nan_to_num(X))
    assert next(iter(as_chunks(np.nan_to_num(X), FAMILY.bind(SHAPE)))).hidden is None

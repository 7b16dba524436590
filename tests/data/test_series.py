"""Samples of unequal size: padded, fitted as a list, and given back as one."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import QUICK, noise
from numpy.testing import assert_allclose, assert_array_equal

import gtpca
from gtpca import GTPCA, Codes, Shift


@pytest.fixture(scope="module")
def series():
    """A wave in 60 series of 20 to 40 points."""
    rng, made = np.random.default_rng(0), []
    for length in rng.integers(20, 41, size=60):
        x, start = 0.05 * rng.standard_normal(length), rng.integers(length - 7)
        x[start : start + 8] += rng.choice([1, 2]) * np.sin(np.arange(8))
        made.append(x)
    return made


@pytest.fixture(scope="module")
def model(series):
    return GTPCA(1, Shift(8), missing="ignore", solver=QUICK, random_state=0).fit(series)


def test_padding_of_series_with_channels():
    first, second = noise(5, 2), noise(3, 2)
    padded = gtpca.pad([first, second], axes=0)
    assert_array_equal(padded[0], first)
    assert_array_equal(padded[1, :3], second)
    assert np.all(np.isnan(padded[1, 3:]))
    assert_array_equal(gtpca.pad([first.T, second.T], axes=-1), padded.transpose(0, 2, 1))
    assert gtpca.pad([first, second], shape=(6, 2)).shape == (2, 6, 2)


def test_padding_keeps_small_types_small_and_what_is_missing():
    assert gtpca.pad([np.zeros(3, np.float32), np.zeros(2, np.uint8)]).dtype == np.float32
    assert gtpca.pad([np.zeros(3, np.float32), np.zeros(2)]).dtype == np.float64
    masked = np.ma.masked_array([1.0, 2.0], [False, True])
    assert_array_equal(gtpca.pad([masked, [3, None, 5]]), [[1, np.nan, np.nan], [3, np.nan, 5]])


@pytest.mark.parametrize(
    ("series", "options", "message"),
    [
        ([np.zeros((5, 2)), np.zeros((3, 3))], {"axes": 0}, "2 to 3 points on axis 1.*axes=0"),
        ([np.zeros(5), np.zeros((3, 3))], {}, r"\[1, 2\] axes"),
        ([np.zeros(5), []], {}, r"series 1 has shape \(0,\)"),
        ([np.zeros(5), ["a", "b"]], {}, "series 1 does not hold numbers"),
        ([np.zeros(5)], {"shape": (4,)}, r"up to \(5,\).*shape \(4,\)"),
        ([], {}, "at least one array"),
    ],
)
def test_what_cannot_be_padded(series, options, message):
    with pytest.raises(ValueError, match=message):
        gtpca.pad(series, **options)


def test_a_list_is_what_its_padded_array_is(series, model):
    padded = gtpca.pad(series)
    same = GTPCA(1, Shift(8), missing="ignore", solver=QUICK, random_state=0).fit(padded)
    assert_array_equal(model.components_, same.components_)
    for name in ("transform", "align", "score_samples", "resmse"):
        assert_array_equal(getattr(model, name)(series), getattr(model, name)(padded))
    assert model.sample_shape_ == (max(map(len, series)),)
    assert model.score(series) > 0.9


def test_lists_come_back_as_lists_of_the_same_lengths(series, model):
    padded = gtpca.pad(series)
    codes = model.encode(series)
    for rows in (model.reconstruct(series), model.decode(codes), model.impute(series)):
        assert [len(x) for x in rows] == [len(x) for x in series]
    assert_array_equal(gtpca.pad(model.impute(series)), padded)
    whole = model.reconstruct(padded)
    assert isinstance(whole, np.ndarray)
    assert_allclose(model.reconstruct(series)[7], whole[7, : len(series[7])])
    assert [len(x) for x in model.decode(codes[3:5])] == [len(x) for x in series[3:5]]
    assert [len(x) for x in model.decode(codes.first(1))] == [len(x) for x in series]
    assert model.measure(series)[0].shapes is not None


def test_codes_of_unequal_samples_in_files(tmp_path, series, model):
    codes = model.encode(series)
    codes.save(tmp_path / "codes.npz")
    assert_array_equal(Codes.load(tmp_path / "codes.npz").shapes, codes.shapes)
    model.encode(gtpca.pad(series)).save(tmp_path / "equal.npz")
    assert Codes.load(tmp_path / "equal.npz").shapes is None


def test_new_series_may_be_shorter_but_not_longer(series, model):
    padded = gtpca.pad([series[0][:15], series[1]], shape=model.sample_shape_)
    assert_array_equal(model.transform([series[0][:15], series[1]]), model.transform(padded))
    for longer in ([noise(60), noise(50)], [noise(60), noise(60)]):
        with pytest.raises(ValueError, match="do not fit into samples of shape"):
            model.transform(longer)


@pytest.mark.parametrize("count", [1, 3])
def test_new_series_of_one_length_may_be_shorter_too(series, model, count):
    short = [x[:15] for x in series[:count]]
    padded = gtpca.pad(short, shape=model.sample_shape_)
    assert_array_equal(model.transform(short), model.transform(padded))
    for rows in (model.reconstruct(short), model.decode(model.encode(short)), model.impute(short)):
        assert [x.shape for x in rows] == [(15,)] * count
    with pytest.raises(ValueError, match="15 features"):
        model.transform(np.array(short))


def test_a_sample_shape_leaves_room_for_longer_series(series):
    model = GTPCA(1, Shift(8), sample_shape=(50,), missing="ignore", solver=QUICK, random_state=0)
    assert model.fit(series).sample_shape_ == (50,)
    assert [len(x) for x in model.reconstruct([noise(50), noise(45)])] == [50, 45]


@pytest.mark.parametrize("lengths", [(20, 30), (25, 25)])
def test_arrays_of_arrays_are_lists(model, lengths):
    X = np.empty(2, dtype=object)
    X[:] = [noise(length) for length in lengths]
    assert_array_equal(model.transform(X), model.transform(list(X)))
    assert [len(x) for x in model.reconstruct(X)] == list(lengths)
    if lengths[0] == lengths[1]:
        assert GTPCA(1, Shift(8)).fit(X).sample_shape_ == (25,)
    else:
        with pytest.raises(ValueError, match="2 samples of unequal shape"):
            GTPCA(1, Shift(8)).fit(X)


@pytest.mark.parametrize("missing", ["error", "ignore"])
def test_lists_of_several_kinds_of_samples(missing):
    with pytest.raises(ValueError, match=r"as many axes; those of X have \[1, 2\] axes"):
        GTPCA(1, Shift(8), missing=missing).fit([noise(20), noise(20, 2)])


def test_the_default_says_what_would_work(series):
    with pytest.raises(ValueError, match=r'60 samples of unequal shape.*missing="ignore".*pad'):
        GTPCA(1, Shift(8)).fit(series)


def test_equal_lists_stay_arrays(model):
    X = [list(map(float, x)) for x in noise(5, model.sample_shape_[0])]
    assert isinstance(model.reconstruct(X), np.ndarray)
    assert model.encode(X).shapes is None


def test_batches_of_lists(series):
    model = GTPCA(1, Shift(8), missing="ignore", solver=QUICK, random_state=0)
    longest = sorted(series, key=len, reverse=True)
    for part in (longest[:30], longest[30:]):
        model.partial_fit(part)
    assert model.n_samples_seen_ == 60

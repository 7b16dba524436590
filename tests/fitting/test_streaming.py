"""Batches that keep coming: against the fit of all rows, a formula, and drifting data."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import gtpca
from gtpca import ALS, GTPCA, Compose, Reflection, Rotation, Shift
from gtpca.datasets import make_oscillations
from gtpca.fitting.streaming import Stream, fading
from gtpca.operators.normal import Moments
from gtpca.testing import assert_same_components


def bumps(n, seed=0, width=2.0, noise=0.02):
    """A bump and its slope at random places, (n, 40)."""
    rng = np.random.default_rng(seed)
    place = rng.integers(8, 32, n)[:, None]
    t = (np.arange(40) - place) / width
    bump = np.exp(-(t**2))
    X = rng.uniform(1, 2, (n, 1)) * bump + rng.normal(0, 0.3, (n, 1)) * t * bump
    return X + noise * rng.standard_normal(X.shape)


def stream(model, X, size, n_passes=1, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n_passes):
        order = rng.permutation(len(X))
        for start in range(0, len(X), size):
            model.partial_fit(X[order[start : start + size]])
    return model


MODELS = {
    "shift": GTPCA(2, Shift(13), random_state=0),
    "longer": GTPCA(2, Shift(60), random_state=0),
    "circular": GTPCA(2, Shift(boundary="circular"), random_state=0),
    "shared": GTPCA(2, Shift(13), shared_pose=True, random_state=0),
    "positive": GTPCA(2, Shift(13), polarity="positive", random_state=0),
    "samples": GTPCA(2, Shift(13), center="samples", random_state=0),
    "centred": GTPCA(2, Shift(13), center=True, random_state=0),
    "weighted": GTPCA(2, Shift(13), feature_weight=np.linspace(1, 2, 40), random_state=0),
    "identity": GTPCA(3, random_state=0),
}


@pytest.fixture
def nothing_kept(monkeypatch):
    """Every batch is seen once."""
    monkeypatch.setattr("gtpca.fitting.streaming.START_ROWS", 0)


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("name", MODELS)
def test_five_passes_come_near_the_fit(name):
    X, new = bumps(600), bumps(200, seed=1)
    fitted = clone(MODELS[name]).fit(X)
    streamed = stream(clone(MODELS[name]), X, 100, 5)
    assert np.all(streamed.resmse(new) < 1.03 * fitted.resmse(new))
    assert streamed.n_samples_seen_ == 3000
    assert streamed.components_.shape == fitted.components_.shape
    ratio = streamed.explained_energy_ratio_
    assert_allclose(ratio.sum(), 1 - streamed.resmse(X)[-1], atol=0.02)
    assert np.all(np.diff(ratio) < 0)


def test_oscillations_with_the_first_rows_kept():
    X, new = make_oscillations(300, random_state=0), make_oscillations(300, random_state=1)
    fitted = GTPCA(3, Shift(512), random_state=0).fit(X)
    streamed = stream(GTPCA(3, Shift(512), random_state=0), X, 100, 5)
    assert streamed.resmse(new)[-1] < 1.03 * fitted.resmse(new)[-1]


def test_few_rows_are_fitted_as_a_whole():
    """100 rows twice: the second time they have doubled, and the model is a fit of all 200."""
    X = bumps(200)
    model = GTPCA(2, Shift(13), random_state=0)
    model.partial_fit(X[:100]).partial_fit(X[100:])
    assert len(model.online_["kept"]["rows"]) == 200
    assert_allclose(model.resmse(X), clone(model).fit(X).resmse(X), rtol=1e-2)
    model.partial_fit(X[:50])
    assert (len(model.online_["kept"]["rows"]), model.online_["kept"]["n_fitted"]) == (250, 200)
    model.partial_fit(bumps(1000, seed=3))
    assert model.online_["kept"] is None
    assert model.n_samples_seen_ == 1250


@pytest.mark.parametrize("dropped", [False, True])
def test_the_best_of_five_fits_begins_a_stream(monkeypatch, dropped):
    """One of the five has the seed of the model, and is not always the best.

    As long as there is room for all rows, only one fit is made.
    """
    monkeypatch.setattr("gtpca.fitting.streaming.START_ROWS", 60)
    X = np.random.default_rng(0).standard_normal((60, 20))  # has many optima
    ratios = []
    for seed in range(6):
        model = GTPCA(2, Shift(12), solver=ALS(n_init=1), random_state=seed)
        streamed = clone(model).partial_fit(X[:30]).partial_fit(X[30:])
        if dropped:
            streamed.partial_fit(X)
        ratios.append(streamed.resmse(X)[-1] / model.fit(X).resmse(X)[-1])
    assert max(ratios) < 1.002
    assert (min(ratios) < 0.995) == dropped


def test_the_smallest_of_five_fits_begins_a_stream_with_a_share(monkeypatch):
    monkeypatch.setattr("gtpca.fitting.streaming.START_ROWS", 120)
    X = make_oscillations(120, random_state=0)
    model = GTPCA(0.6, Shift(384), random_state=0)
    streamed = clone(model).partial_fit(X[:60]).partial_fit(X[60:]).partial_fit(X[:5])
    assert streamed.online_["kept"] is None
    assert streamed.n_components_ <= model.fit(X).n_components_


@pytest.mark.usefixtures("nothing_kept")
def test_the_sums_are_those_of_the_formula():
    """Rows count exp(-age / horizon): one component that fits exactly, by hand."""
    w = np.array([0.6, 0.8])
    model = GTPCA(1, Shift(2), horizon=10, random_state=0)
    for scale, n in ((2.0, 4), (3.0, 5)):
        X = np.zeros((n, 6))
        X[:, 2:4] = scale * w
        model.partial_fit(X)
    fade = np.exp(-5 / 10)
    assert_allclose(model.online_["explained"], fade * 4 * 2.0**2 + 5 * 3.0**2, rtol=1e-9)
    assert_allclose(model.online_["energy"], model.online_["explained"][0], rtol=1e-9)
    assert_allclose(model.components_, [w], atol=1e-9)
    assert_allclose(model.explained_energy_ratio_, 1)


def test_fading():
    assert fading(0, 100, None) == 0
    assert fading(900, 100, None) == pytest.approx(0.9**6)
    assert fading(10**9, 100, 50) == pytest.approx(np.exp(-2))


@pytest.mark.usefixtures("nothing_kept")
def test_a_short_horizon_follows_a_drift():
    narrow, wide = bumps(800, width=1.5), bumps(800, seed=1, width=3.0)
    models = [GTPCA(1, Shift(21), horizon=h, random_state=0) for h in (100, 10**6)]
    for model in models:
        stream(stream(model, narrow, 100), wide, 100)
    best = GTPCA(1, Shift(21), random_state=0).fit(wide).resmse(wide)[0]
    follows, lags = (model.resmse(wide)[0] - best for model in models)
    assert 0 < follows < lags / 2


def test_rows_that_are_kept_fade_too():
    """When 64 rows have become 128, 256, .. they count as the horizon says."""
    narrow, wide = bumps(512, width=1.5), bumps(512, seed=1, width=3.0)
    model = GTPCA(1, Shift(21), horizon=50, random_state=0)
    for start in range(0, 1024, 64):
        model.partial_fit(np.concatenate([narrow, wide])[start : start + 64])
    assert model.online_["kept"]["n_fitted"] == 1024
    best = GTPCA(1, Shift(21), random_state=0).fit(wide).resmse(wide)[0]
    assert model.resmse(wide)[0] < 1.05 * best


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("horizon", [150, None])
def test_the_mean_fades_with_the_horizon(horizon):
    """Against the sum over all batches, each times all that faded it since."""
    model = GTPCA(1, Shift(13), center=True, horizon=horizon, random_state=0)
    fade = 1.0 if horizon is None else np.exp(-100 / horizon)
    rng, sums, mass = np.random.default_rng(0), 0.0, 0.0
    for number in range(8):
        X, weight = bumps(100, seed=number) + number, rng.uniform(0, 2, 100)
        model.partial_fit(X, sample_weight=weight)
        sums, mass = fade * sums + weight @ X, fade * mass + weight.sum()
    assert_allclose(model.mean_, sums / mass, rtol=1e-9)


@pytest.mark.parametrize("name", ["shift", "shared", "circular"])
def test_it_goes_on_from_a_fit(name):
    X, more = bumps(400), bumps(400, seed=1)
    model = clone(MODELS[name]).fit(X)
    before = model.resmse(more)
    stream(model, more, 100)
    assert model.n_samples_seen_ == 800
    assert "kept" not in model.online_ or model.online_["kept"] is None
    assert np.all(model.resmse(more) < 1.01 * before)


FLIPPED = Compose(Shift(axes=(0, 1), boundary="circular"), Reflection(axes=0))


@pytest.mark.parametrize("family", [Shift((5, 5)), Shift((11, 11)), Rotation(8), FLIPPED])
def test_a_fit_is_a_fixed_point_of_what_is_remembered_of_it(family):
    """``N w = rhs`` with the evenly spread energies of the fit."""
    X = np.random.default_rng(0).standard_normal((60, 9, 9))
    model = GTPCA(2, family, solver=ALS(n_init=2), random_state=0).fit(X)
    begun = Stream.begin(model.model_, model.explained_energy_, 1.0, 60)
    normal = model.operator_.normal(Moments(begun.weight))
    assert_allclose(normal.solve(begun.rhs, 0 * begun.rhs), begun.weights, atol=1e-5)
    assert_allclose(begun.explained, model.explained_energy_)


def test_fit_forgets_the_stream():
    X = bumps(100)
    model = GTPCA(1, Shift(13), random_state=0).partial_fit(X).fit(X)
    assert not hasattr(model, "online_")
    assert model.n_samples_seen_ == 100


def by_pickle(model, path):
    path.write_bytes(pickle.dumps(model))
    return pickle.loads(path.read_bytes())


def by_file(model, path):
    model.save(path)
    return gtpca.load(path)


@pytest.mark.parametrize("through", [by_pickle, by_file])
@pytest.mark.parametrize(("name", "n_before"), [("shift", 200), ("shared", 1200)])
def test_a_saved_stream_goes_on_as_it_would_have(tmp_path, through, name, n_before):
    X = bumps(n_before + 100)
    model = stream(clone(MODELS[name]), X[:n_before], n_before // 2)
    again = through(model, tmp_path / "model.gtpca")
    for each in (model, again):
        each.partial_fit(X[n_before:])
    assert_array_equal(model.components_, again.components_)
    assert_array_equal(model.explained_energy_, again.explained_energy_)
    assert again.n_samples_seen_ == n_before + 100


@pytest.mark.usefixtures("nothing_kept")
def test_weight_two_is_a_row_twice():
    X, twice = bumps(60), np.repeat([1.0, 2.0], 30)
    one = GTPCA(1, Shift(13), random_state=0).fit(X)
    two = clone(one).fit(X)
    one.partial_fit(X, sample_weight=twice)
    two.partial_fit(np.concatenate([X, X[30:]]))
    one_rows, two_rows = one.online_["n_rows"], two.online_["n_rows"]
    assert (one_rows, two_rows) == (120, 150)  # rows are counted, not weighed
    fades = [fading(60, n, None) for n in (60, 90)]
    kept = [m.online_["explained"] - f * two_fit(m) for m, f in zip((one, two), fades, strict=True)]
    assert_allclose(*kept)


def two_fit(model):
    """Explained energy of the 60 rows that both models were fitted to."""
    return model.history_[0][-2]


def test_a_failing_batch_changes_nothing():
    X = bumps(200)
    model = GTPCA(2, Shift(13), random_state=0).partial_fit(X[:100])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((100, 40), np.nan))
    with pytest.raises(ValueError, match="40"):
        model.partial_fit(X[:, :30])
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("n", [50, 100])  # the second makes the rows twice as many
@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (lambda n: np.ones(n - 1), r"sample_weight has shape \((49|99),\)"),
        (lambda n: 2.0, r"sample_weight has shape \(\)"),
        (lambda n: "abc", "sample_weight='abc' must be numbers"),
        (np.zeros, "sample_weight is zero everywhere"),
    ],
)
def test_bad_weights_of_a_batch_are_named(weights, words, n):
    model = GTPCA(1, Shift(13), random_state=0).partial_fit(bumps(100))
    with pytest.raises(ValueError, match=words):
        model.partial_fit(bumps(n), sample_weight=weights(n))


def test_parameters_that_are_changed_between_batches():
    """They count from the next time on that all rows are fitted; bad ones are named at once."""
    X = bumps(200)
    model = GTPCA(1, Shift(13), random_state=0).partial_fit(X[:100])
    model.set_params(family=Shift(9), n_components=2, shared_pose=True).partial_fit(X[100:])
    assert_same_components(model, clone(model).fit(X), atol=1e-3)
    assert model.transform(X).shape == (200, 2)
    with pytest.raises(ValueError, match="polarity='up' must be one of"):
        model.set_params(polarity="up").partial_fit(X)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_a_batch_that_is_too_large_changes_nothing():
    model = GTPCA(1, Shift(13), random_state=0).fit(bumps(100))
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="X is too large: its energy overflows"):
        model.partial_fit(1e200 * bumps(50))
    assert pickle.dumps(model) == before


def test_a_bad_horizon_is_named():
    model = GTPCA(1, Shift(13), horizon=0)
    with pytest.raises(ValueError, match="horizon=0 must be an integer of at least 1"):
        model.partial_fit(bumps(100))
    assert not hasattr(model, "components_")


def test_integer_batches_stay_small():
    X = (40 * bumps(300, noise=0)).astype(np.int8)
    model = stream(GTPCA(1, Shift(13), random_state=0), X, 100)
    assert model.online_["kept"]["rows"].dtype == np.float32
    assert model.score(X) > 0.9


def test_a_shared_pose_of_a_single_transform_can_follow_a_stream():
    X = np.random.default_rng(0).standard_normal((50, 10))
    model = GTPCA(3, shared_pose=True, random_state=0).partial_fit(X).partial_fit(X)
    assert model.n_iter_.shape == (1,)
    assert model.n_samples_seen_ == 100

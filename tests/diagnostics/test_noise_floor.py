"""Components beside noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from scipy.signal import detrend, lfilter

from gtpca import GTPCA, ProbabilisticGTPCA, Rotation, Shift
from gtpca.diagnostics import noise_floor


def planted(n=80, size=40, scales=(0.0,), mean=0.0, seed=0, window=10):
    """Unit noise with patterns of 10 points that share a random place, norms ``scales``."""
    rng = np.random.default_rng(seed)
    V = np.linalg.qr(rng.standard_normal((window, len(scales))))[0].T
    X = rng.standard_normal((n, size))
    for x, start in zip(X, rng.integers(size - window + 1, size=n), strict=True):
        x[start : start + window] += (mean + rng.standard_normal(len(scales)) * scales) @ V
    return X


def test_noise_is_not_called_real():
    X = planted()
    found = noise_floor(GTPCA(3, Shift(10), random_state=0).fit(X), X)
    assert found.n_real == 0
    assert found.p_values[0] > 0.05
    assert np.isnan(found.p_values[1:]).all()
    assert not found.passed


def test_one_pattern_is_one_component():
    X = planted(scales=(8.0,))
    model = GTPCA(3, Shift(10), random_state=0).fit(X)
    found = noise_floor(model, X)
    assert found.n_real == 1
    left = 1 - np.r_[0, np.cumsum(model.explained_energy_ratio_)]
    np.testing.assert_allclose(found.gains, 1 - left[1:] / left[:-1], rtol=1e-6)
    assert found.p_values[0] == 0.05
    np.testing.assert_array_equal(found.table["real"], [True, False, False])


def test_a_clear_verdict_needs_five_surrogates():
    X = planted(scales=(8.0,))
    found = noise_floor(GTPCA(1, Shift(10), random_state=0).fit(X), X, 19, verdict_only=True)
    assert found.surrogates.shape == (1, 5)
    assert found.p_values[0] < 0.001
    faint = planted(scales=(2.1,), seed=3)
    model = GTPCA(1, Shift(10), random_state=0).fit(faint)
    found = noise_floor(model, faint, 19, verdict_only=True)
    assert (found.surrogates.shape[1], found.p_values[0]) == (19, 0.05)


@pytest.mark.parametrize(
    "estimator",
    [
        GTPCA(4, Shift(10), shared_pose=True, random_state=0),
        ProbabilisticGTPCA(3, Shift(10), polarity="both", random_state=0, tol=1e-3),
    ],
    ids=["energy", "likelihood"],
)
def test_directions_in_one_pose_are_counted(estimator):
    X = planted(n=150, scales=(9.0, 6.0))
    assert noise_floor(estimator.fit(X), X, verdict_only=True).n_real == 2


def test_p_values_are_ranks():
    X = planted(n=30)
    model = GTPCA(1, Shift(10), random_state=0).fit(X)
    numbers = iter(range(1, 10))

    def surrogate(samples, rng):  # every other one has a pattern
        drawn = rng.standard_normal(samples.shape)
        drawn[:, :10] += 50 * (next(numbers) % 2)
        return drawn

    found = noise_floor(model, X, 9, surrogate, level=0.1)
    strong = np.sum(found.surrogates[0] > 0.5)
    assert strong == 5
    assert found.p_values[0] == (1 + np.sum(found.surrogates[0] >= found.gains[0])) / 10


def test_the_verdict_alone_is_the_same_and_cheaper():
    X = planted(scales=(8.0,), n=60, seed=1)
    model = GTPCA(3, Shift(10), random_state=0).fit(X)
    all_of_it, verdict = (noise_floor(model, X, verdict_only=only) for only in (False, True))
    assert all_of_it.n_real == verdict.n_real == 1
    np.testing.assert_array_equal(verdict.gains[:2], all_of_it.gains[:2])
    assert len(verdict.gains) == len(all_of_it.gains) == 3
    assert np.isnan(verdict.gains[2])
    used = [np.sum(~np.isnan(found.surrogates[1])) for found in (all_of_it, verdict)]
    assert used[0] >= 19 > used[1]


def test_threads_and_seeds_do_not_change_the_answer():
    X = planted(n=30, seed=3)
    model = GTPCA(1, Shift(10), random_state=0).fit(X)
    one, two = (noise_floor(model, X, n_jobs=jobs, random_state=5) for jobs in (1, 2))
    np.testing.assert_array_equal(one.surrogates, two.surrogates)


def test_images_centring_weights_and_gaps_are_taken_as_the_fit_takes_them():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 64)) + 5
    X[rng.random(X.shape) < 0.1] = np.nan
    how = {"sample_shape": (8, 8), "center": True, "missing": "ignore", "random_state": 0}
    model = GTPCA(1, Rotation(4), feature_weight=np.full((8, 8), 2.0), **how).fit(X)
    assert noise_floor(model, X, verdict_only=True).n_real == 0


def test_means_of_samples_are_no_pattern():
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.standard_normal((60, 50)), axis=1)
    less = X - X.mean(axis=1, keepdims=True)
    how = {"random_state": 0}
    found = noise_floor(GTPCA(1, Shift(25), **how).fit(less), less)
    told = noise_floor(GTPCA(1, Shift(25), center="samples", **how).fit(X + 100), X + 100)
    np.testing.assert_allclose(told.surrogates, found.surrogates, rtol=1e-6)
    assert found.surrogates.min() < found.gains[0] < 1.2 * found.surrogates.max()


WHITE = {
    "Laplace": lambda rng, shape: rng.laplace(size=shape),
    "t(3)": lambda rng, shape: rng.standard_t(3, size=shape),
    "Poisson(.5)": lambda rng, shape: rng.poisson(0.5, size=shape).astype(float),
    "bursts": lambda rng, shape: (
        rng.standard_normal(shape)
        * np.repeat(1 + 4 * (rng.random((shape[0], 6)) < 0.15), 8, axis=1)
    ),
}


def called_real(draws, window=12, **how):
    """In how many of some data sets the first component is called real."""
    return sum(
        noise_floor(
            GTPCA(1, Shift(window), missing="ignore", random_state=0).fit(X),
            X, 19, verdict_only=True, **how,
        ).n_real
        for X in draws
    )  # fmt: skip


@pytest.mark.parametrize("name", WHITE)
def test_tails_bursts_and_counts_are_no_pattern(name):
    """Gaussian surrogates called a component real in all of such sets."""
    draws = [WHITE[name](np.random.default_rng(seed), (80, 48)) for seed in range(5)]
    assert called_real(draws) <= 1


def beside_spikes(seed, scales=(9.0,)):
    """t(3) noise of unit variance with patterns of 12 points that share a random place."""
    rng, t = np.random.default_rng(seed), np.arange(12)
    V = np.linalg.qr(np.stack([np.hanning(12) * np.sin(t / 1.5), np.hanning(12)], axis=1))[0].T
    X = rng.standard_t(3, size=(80, 64))
    X /= X.std()
    for x, start in zip(X, rng.integers(2, 50, size=len(X)), strict=True):
        scores = np.r_[rng.normal(1, 0.3), rng.standard_normal(len(scales) - 1)]
        x[start : start + 12] += (scores * scales) @ V[: len(scales)]
    return X


@pytest.mark.parametrize("shared_pose", [False, True])
def test_values_louder_than_a_pattern_make_no_second_component(shared_pose):
    """A spike takes the pose of its row, and the pattern stays in what is left of it."""
    how = {"shared_pose": shared_pose, "random_state": 0}
    real = [
        noise_floor(GTPCA(2, Shift(16), **how).fit(X), X, 19, verdict_only=True).n_real
        for X in map(beside_spikes, range(6))
    ]
    assert sum(n == 2 for n in real) <= 1
    assert sum(n >= 1 for n in real) >= 4


def test_a_second_component_is_found_beside_loud_values():
    X = beside_spikes(0, (9.0, 9.0))
    model = GTPCA(2, Shift(16), shared_pose=True, random_state=0).fit(X)
    assert noise_floor(model, X, 19, verdict_only=True).n_real == 2


def slow(seed, n=80, size=48):
    """AR(1) noise with coefficient .9."""
    noise = np.random.default_rng(seed).standard_normal((n, size + 60))
    return lfilter([1.0], [1.0, -0.9], noise, axis=1)[:, 60:]


def unequal(seed):
    """Noise with heavy tails in rows of unequal lengths."""
    rng = np.random.default_rng(seed)
    X = rng.laplace(size=(80, 48))
    ends = rng.integers(24, 49, size=(len(X), 1))
    return np.where(np.arange(X.shape[1]) < ends, X, np.nan)


@pytest.mark.parametrize(
    "change",
    [
        lambda X: (X - X.mean(axis=1, keepdims=True)) / X.std(axis=1, keepdims=True),
        lambda X: X / np.linalg.norm(X, axis=1, keepdims=True),
    ],
    ids=["z-scored", "unit norm"],
)
def test_rows_of_equal_norm_are_noticed(change):
    assert called_real([change(slow(seed)) for seed in range(12)]) <= 2


def test_rows_of_unequal_lengths_are_no_pattern():
    assert called_real([unequal(seed) for seed in range(8)]) <= 2


def test_what_was_done_to_samples_is_done_to_surrogates():
    X = detrend(slow(0), axis=1)
    seen = []

    def again(samples):
        seen.append(samples.shape)
        return detrend(samples, axis=1)

    model = GTPCA(1, Shift(12), random_state=0).fit(X)
    found = noise_floor(model, X, preprocess=again, verdict_only=True)
    assert found.n_real == 0
    assert set(seen) >= {X.shape}
    with pytest.raises(
        ValueError, match=r"returned an array of shape \(\d+,\); it must have that of"
    ):
        noise_floor(model, X, preprocess=lambda samples: samples[:, 0])


def test_clear_cases_need_nineteen_surrogates_and_others_up_to_99():
    clear = planted(scales=(8.0,))
    found = noise_floor(GTPCA(1, Shift(10), random_state=0).fit(clear), clear)
    assert found.surrogates.shape == (1, 19)
    X = planted(n=40)
    model = GTPCA(1, Shift(10), random_state=0).fit(X)
    gain = float(model.explained_energy_ratio_[0])
    numbers = iter(range(99))

    def near(samples, rng):  # the third and every twentieth one explain more
        if next(numbers) % 20 == 3:
            return samples * np.where(np.arange(40) == 20, 50.0, 1.0)
        return rng.standard_normal(samples.shape)

    found = noise_floor(model, X, surrogate=near)
    assert found.gains[0] == pytest.approx(gain)
    assert np.sum(~np.isnan(found.surrogates[0])) in (39, 59, 79, 99)
    p = (1 + np.sum(found.surrogates[0] >= gain)) / (1 + found.surrogates.shape[1])
    assert found.p_values[0] == p


def test_single_points_and_heavy_tails_are_named():
    rng = np.random.default_rng(0)
    X = 0.1 * rng.standard_normal((80, 40))
    X[np.arange(80), rng.integers(40, size=80)] += 5 * rng.choice([-1, 1], size=80)
    found = noise_floor(GTPCA(1, Shift(10), random_state=0).fit(X), X, verdict_only=True)
    assert found.peaks[0] > 0.9
    assert found.kurtosis > 5
    assert "hardly more than a single point" in found.sentence
    assert "heavy tails (excess kurtosis" in found.sentence


def test_images_and_channels_of_coloured_noise_are_no_pattern():
    rng = np.random.default_rng(1)
    images = [
        gaussian_filter(rng.standard_t(3, (60, 20, 20)), (0, 1, 1))[:, 4:16, 4:16] for _ in "abc"
    ]
    how = {"verdict_only": True, "n_surrogates": 19}
    models = [GTPCA(1, Shift((5, 5)), random_state=0).fit(X) for X in images]
    pairs = zip(models, images, strict=True)
    assert sum(noise_floor(model, X, **how).n_real for model, X in pairs) <= 1
    common = slow(3, n=60, size=30)[..., None] + rng.standard_normal((60, 30, 3))
    model = GTPCA(1, Shift(8, axes=0), random_state=0).fit(common)
    assert noise_floor(model, common, **how).n_real == 0


def test_progress_counts_surrogates():
    X, told = planted(n=20), []

    def progress(pieces, total, desc):
        told.append((total, desc))
        yield from pieces

    model = GTPCA(1, Shift(10), random_state=0).fit(X)
    noise_floor(model, X, progress=progress)
    assert told == [(19, "surrogates for component 1")]


def test_what_cannot_be_tested_is_refused():
    X = planted(n=20)
    model = GTPCA(1, Shift(10), random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"n_surrogates=9 cannot reach .*; use at least 19"):
        noise_floor(model, X, 9)
    with pytest.raises(ValueError, match="level=2"):
        noise_floor(model, X, level=2)

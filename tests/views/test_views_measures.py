"""What is said of samples beside a model: energies in one pass, PCA, poses."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from gtpca import ALS, GTPCA, Compose, Identity, Reflection, Shift
from gtpca.datasets import make_spikes
from gtpca.views import measures

QUICK = ALS(n_init=2, max_iter=5)
X = make_spikes(40, n_times=64, random_state=0)[0]


def fit(family=None, rows=X, n_components=2, **options):
    return GTPCA(n_components, family, solver=QUICK, random_state=0, **options).fit(rows)


class Counted:
    """An array that is read in pieces, and counts what is read of it."""

    def __init__(self, rows):
        self.rows, self.shape, self.dtype, self.reads = rows, rows.shape, rows.dtype, 0

    def __getitem__(self, part):
        self.reads += len(self.rows[part])
        return self.rows[part]


# --- codes and energies ---


def test_codes_and_energies_are_those_of_the_model():
    model = fit(Shift(16))
    codes, energies = measures.measure(model, X)
    np.testing.assert_array_equal(codes.scores, model.encode(X).scores)
    np.testing.assert_allclose(measures.shares(energies)[:, -1], model.score_samples(X))
    np.testing.assert_allclose(
        measures.shares(energies.sum(axis=0, keepdims=True))[0], 1 - model.resmse(X)
    )


def test_all_rows_are_read_once():
    model, rows = fit(Shift(16)), Counted(X)
    measures.measure(model, rows)
    assert rows.reads == len(X)


def test_shares_of_a_row_without_energy_are_zero():
    np.testing.assert_array_equal(
        measures.shares(np.array([[0.0, 0.0], [4.0, 1.0]])), [[0], [0.75]]
    )


@pytest.mark.parametrize("center", [False, True, "samples"])
def test_samples_are_seen_without_their_own_means_only(center):
    model = fit(Shift(16), center=center, feature_weight=np.linspace(0, 1, 64))
    rows = X + 100
    weight = np.linspace(0, 1, 64)
    means = (rows @ weight / weight.sum())[:, None] if center == "samples" else 0
    np.testing.assert_allclose(measures.as_seen(model, rows), rows - means)
    np.testing.assert_allclose(
        measures.as_seen(model, rows, np.array([3, 9])), (rows - means)[[3, 9]]
    )


# --- PCA ---


def test_pca_subtracts_no_mean():
    values = np.linalg.svd(X + 1, compute_uv=False) ** 2
    found = measures.uncentred_pca(fit(Shift(16)), X + 1)
    np.testing.assert_allclose(found.shares, np.cumsum(values)[:2] / values.sum())
    assert (found.n_rows, found.n_all) == (40, 40)


def test_pca_of_centred_rows_is_the_usual_one():
    model = fit(Shift(16), X + 1, 3, center=True)
    usual = np.cumsum(PCA(3).fit(X).explained_variance_ratio_)
    np.testing.assert_allclose(measures.uncentred_pca(model, X + 1).shares, usual)


@pytest.mark.parametrize("rows", [X, X[:20]], ids=["wide", "few"])
def test_pca_is_in_the_inner_product_of_the_model(rows):
    options = {"center": True, "feature_weight": np.linspace(0, 2, 64)}
    still = fit(Identity(), rows, 3, **options)
    moving = fit(Shift(16), rows, 3, **options)
    found = measures.uncentred_pca(moving, rows).shares
    np.testing.assert_allclose(found, 1 - still.resmse(rows))


def test_there_is_no_pca_beside_pca():
    assert measures.uncentred_pca(fit(), X) is None


def test_pca_has_no_more_components_than_rows():
    assert len(measures.uncentred_pca(fit(Shift(16)), X[:1]).shares) == 1


def test_pca_of_rows_without_energy():
    np.testing.assert_array_equal(measures.uncentred_pca(fit(Shift(16)), 0 * X).shares, [0, 0])


@pytest.mark.parametrize(("name", "limit"), [("PCA_COST", 300 * 64**2), ("PCA_VALUES", 300 * 64)])
def test_pca_of_some_rows_where_all_are_too_many(name, limit, monkeypatch):
    rows = make_spikes(400, n_times=64, random_state=0)[0]
    model = fit(Shift(16), rows)
    whole = measures.uncentred_pca(model, rows)
    monkeypatch.setattr(measures, name, limit)
    some = measures.uncentred_pca(model, rows)
    assert (whole.n_rows, some.n_rows, some.n_all) == (400, 300, 400)
    np.testing.assert_allclose(some.shares, whole.shares, atol=0.05)
    assert not np.allclose(some.shares, whole.shares, atol=1e-6)


def test_pca_reads_few_rows_of_many(monkeypatch):
    monkeypatch.setattr(measures, "PCA_VALUES", 1280 * 4)
    rows = Counted(np.random.default_rng(0).standard_normal((200_000, 4)))
    found = measures.uncentred_pca(fit(Shift(2), rows.rows[:50]), rows)
    assert found.n_rows == 1280
    assert rows.reads < 3000


@pytest.mark.parametrize(("n", "size"), [(10, 10), (10, 20), (101, 100), (1000, 300), (1000, 7)])
def test_runs_are_spread_over_all_rows(n, size):
    found = measures.spread_runs(n, size, np.random.default_rng(0))
    assert len(np.unique(found)) == len(found)
    assert (np.diff(found) > 0).all()
    assert 0 <= found[0] <= found[-1] < n
    assert min(n, size) - len(found) <= 0.2 * size
    kinds = np.bincount(found * 5 // n, minlength=5) / len(found)  # rows sorted by kind
    assert np.abs(kinds - 0.2).max() < 0.1


@pytest.mark.parametrize("d", [1, 100, 784, 4096, 10**6, 10**9])
def test_pca_stays_cheap(d):
    size = measures._pca_rows(10**9, d)
    assert size >= 1
    assert size * min(size, d) * d <= 1.01 * measures.PCA_COST or size == 1
    assert size * d <= measures.PCA_VALUES or size == 1


def test_pca_of_whatever_can_be_read(tmp_path):
    model = fit(Shift(16))
    np.save(tmp_path / "x.npy", X)
    wanted = measures.uncentred_pca(model, X).shares
    kinds = [X.tolist(), X[:, :, None].reshape(40, 64), np.load(tmp_path / "x.npy", mmap_mode="r")]
    for rows in (*kinds, Counted(X)):
        np.testing.assert_allclose(measures.uncentred_pca(model, rows).shares, wanted)


def test_rows_of_dask():
    da = pytest.importorskip("dask.array", reason='needs dask: pip install "gtpca[dask]"')
    model, rows = fit(Shift(16)), da.from_array(X, chunks=(11, 64))
    unknown = rows[da.from_array(np.ones(40, bool), chunks=11)]
    wanted = measures.uncentred_pca(model, X).shares
    codes, energies = measures.measure(model, X)
    for lazy in (rows, unknown):
        np.testing.assert_allclose(measures.uncentred_pca(model, lazy).shares, wanted)
        some, left = measures.measure(model, lazy)
        assert isinstance(some.scores, np.ndarray)
        np.testing.assert_allclose(some.scores, codes.scores)
        np.testing.assert_allclose(left, energies)
        np.testing.assert_allclose(measures.encode(model, lazy).scores, codes.scores)
        np.testing.assert_allclose(measures.as_seen(model, lazy, np.array([2, 30])), X[[2, 30]])


# --- poses ---


def test_poses_that_say_the_same_are_left_out():
    rows = np.random.default_rng(0).standard_normal((10, 12, 12))

    def named(family):
        model = fit(family, rows, 1)
        return list(measures.pose_columns(model, model.encode(rows)))

    assert named(None) == []
    assert named(Compose(Shift((6, 6)), Reflection(0))) == ["centre_0", "centre_1", "flipped"]
    assert named(Shift((6, 12))) == ["centre_0"]
    assert named(Shift(axes=0, boundary="circular")) == ["centre"]


@pytest.mark.parametrize("shared", [False, True])
def test_poses_and_what_they_could_be(shared):
    model = fit(Compose(Shift(16), Reflection()), shared_pose=shared)
    codes = model.encode(X)
    found = measures.pose_columns(model, codes)
    for name, pose in found.items():
        np.testing.assert_array_equal(pose.values, model.poses(codes)[name])
        assert pose.values.shape == (40, 1 if shared else 2)
    assert set(found["centre"].possible) == set(np.arange(49) + 7.5)


def test_of_very_many_transforms_those_that_occur_are_looked_at(monkeypatch):
    monkeypatch.setattr(measures, "MOST_TRANSFORMS", 10)
    model = fit(Shift(16))
    codes = model.encode(X)
    (pose,) = measures.pose_columns(model, codes).values()
    assert set(pose.possible) == set(pose.values.ravel())

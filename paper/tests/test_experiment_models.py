"""The models under one interface: residuals and features beside their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA, KernelPCA

from gtpca.datasets import make_spikes

pytest.importorskip("gtpca_paper", reason="needs gtpca-paper: pip install ./paper")

from gtpca_paper import models
from gtpca_paper.spec import MODELS, find_setting


def fitted(name, counts, setting, X):
    given = {"channels": False, "epochs": setting.epochs, "steps": 20, "random_state": 0}
    return models.make_model(name, counts=counts, family=setting.family, **given).fit(X)


@pytest.fixture(scope="module")
def spikes():
    return make_spikes(150, 64, random_state=0)[0], make_spikes(60, 64, random_state=1)[0]


def test_every_model_has_a_class():
    assert {*models._CLASSES} == {*MODELS}


def test_residuals_of_pca_are_those_of_scikit_learn(spikes):
    X, test = spikes
    found = fitted("pca", (1, 3), find_setting("spikes", "ii"), X).residuals(test)
    for column, k in enumerate((1, 3)):
        pca = PCA(k).fit(X)
        rebuilt = pca.inverse_transform(pca.transform(test))
        np.testing.assert_allclose(found[:, column], ((test - rebuilt) ** 2).sum(axis=1))


def test_kernel_pca_is_fitted_for_every_count(spikes):
    X, test = spikes
    found = fitted("kpca", (1, 2), find_setting("spikes", "ii"), X).residuals(test)
    for column, k in enumerate((1, 2)):
        kpca = KernelPCA(k, kernel="poly", degree=3, fit_inverse_transform=True).fit(X)
        rebuilt = kpca.inverse_transform(kpca.transform(test))
        np.testing.assert_allclose(found[:, column], ((test - rebuilt) ** 2).sum(axis=1))


def test_residuals_and_features_of_gtpca(spikes):
    X, test = spikes
    setting = find_setting("spikes", "i")
    found = fitted("gtpca-als", (1, 3), setting, X)
    residuals, total = found.residuals(test).sum(axis=0), (test**2).sum()
    single = found.model.resmse(test.astype(np.float32))  # a near tie may fall otherwise in double
    np.testing.assert_allclose(residuals / total, single[[0, 2]], rtol=1e-5)
    codes = found.encode(test)
    np.testing.assert_array_equal(found.features(codes, 2, "signed"), codes.scores[:, :2])
    start = found.model.poses(codes)["start"]
    with_pose = found.features(codes, 3, "signed+pose")
    np.testing.assert_array_equal(with_pose[:, 3:], start[:, 1:] - start[:, :1])


@pytest.mark.parametrize(
    ("experiment", "setting", "shape", "n"),
    [
        ("spikes", "i", (128,), 256),  # weights of 256 points
        ("spikes", "iii", (256,), 256),  # samples of 256 points
        ("mnist", "i", (16, 16), 784),
        ("mnist", "ii", (28, 28), 784),
        ("mnist", "iii", (56, 56), 3136),
        ("mnist", "iv", (28, 28), 784),
        ("errp", "i", (256, 2), 1024),
    ],
)
def test_the_scores_of_the_paper_are_divided_by_the_root_of_the_size(experiment, setting, shape, n):
    X = np.random.default_rng(0).standard_normal((6, *shape))
    found = fitted("gtpca-als", (1,), find_setting(experiment, setting), X)
    codes = found.encode(X)
    w = found.model.components_[0] * np.sqrt(n)  # as the authors have it
    if setting == "ii":  # nothing moves: their score is <x, w> / n
        theirs = np.abs(np.tensordot(X, w, w.ndim)) / n
        np.testing.assert_allclose(found.features(codes, 1, "paper")[:, 0], theirs, rtol=1e-5)
    scores = np.abs(codes.scores) / np.sqrt(n)
    np.testing.assert_allclose(found.features(codes, 1, "paper"), scores, rtol=1e-6)


def test_scores_of_other_models_are_as_they_are(spikes):
    X, test = spikes
    found = fitted("pca", (2,), find_setting("spikes", "ii"), X)
    codes = found.encode(test)
    np.testing.assert_array_equal(found.features(codes, 2, "paper"), codes)


def test_relative_poses_do_not_change_when_the_sample_moves():
    start, degrees = np.array([[3, 7, 1]]), np.array([[350.0, 20.0, 90.0]])
    found = models.pose_features({"start_0": start, "degrees": degrees})
    angle = np.deg2rad([30, 100])
    np.testing.assert_allclose(found[0], [4, -2, *np.cos(angle), *np.sin(angle)])
    moved = {"start_0": start + 5, "degrees": (degrees + 72) % 360}
    np.testing.assert_allclose(models.pose_features(moved), found)


@pytest.mark.parametrize("setting", ["i", "ii"])
def test_the_network_is_trained_also_where_nothing_moves(setting, spikes):
    pytest.importorskip("torch", reason='needs torch: pip install "gtpca[torch]"')
    X, test = spikes
    found = fitted("gtpca-adam", (1, 2), find_setting("spikes", setting), X)
    assert [len(history) for history in found.model.history_] == [5, 5]
    assert np.all(found.residuals(test).sum(axis=0) < (test**2).sum())

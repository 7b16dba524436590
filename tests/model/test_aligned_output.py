"""``output="aligned"``: samples in one pose, for PCA or any other step of a pipeline."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import gtpca
from gtpca import GTPCA, ProbabilisticGTPCA, Rotation, Shift


@pytest.fixture(scope="module")
def rows():
    """Two classes of bumps at any place of a circle, and the classes."""
    rng = np.random.default_rng(0)
    y, u = np.arange(40) % 2, np.arange(24)
    shapes = np.exp(-(((u - 10) / 3) ** 2)) + 0.5 * np.array([[1], [-1]]) * np.sin(u)
    X = np.array([np.roll(shapes[k], rng.integers(24)) for k in y])
    return X + 0.05 * rng.standard_normal(X.shape), y


@pytest.mark.parametrize("make", [GTPCA, ProbabilisticGTPCA])
def test_it_is_align(rows, make, tmp_path):
    X, _ = rows
    how = {"shrink": False} if make is ProbabilisticGTPCA else {}
    family = Shift(boundary="circular")
    model = make(1, family, output="aligned", random_state=0, **how).fit(X)
    found = model.transform(X)
    np.testing.assert_array_equal(found, model.align(X).reshape(40, -1))
    assert list(model.get_feature_names_out()[[0, -1]]) == ["aligned0", "aligned23"]
    model.save(tmp_path / "m.gtpca")
    np.testing.assert_array_equal(gtpca.load(tmp_path / "m.gtpca").transform(X), found)
    with pytest.raises(ValueError, match="output='aligned' cannot be inverted"):
        model.inverse_transform(found)


def test_images_become_rows_and_frames_frames(rows):
    pd = pytest.importorskip("pandas")
    images = np.random.default_rng(1).normal(size=(6, 5, 5))
    model = GTPCA(1, Rotation(4), output="aligned", random_state=0).fit(images)
    np.testing.assert_array_equal(model.transform(images), model.align(images).reshape(6, 25))
    X, _ = rows
    model = GTPCA(1, Shift(12), output="aligned", random_state=0).fit(
        pd.DataFrame(X).add_prefix("t")
    )
    found = model.transform(pd.DataFrame(X, index=np.arange(40) + 5).add_prefix("t"))
    assert np.shape(found) == (40, 12)


def test_known_poses_align(rows):
    X, _ = rows
    starts = np.arange(40) % 24
    model = GTPCA(1, Shift(boundary="circular"), output="aligned").fit(X, poses=starts)
    expected = [np.roll(x, -s) for x, s in zip(X, starts, strict=True)]
    np.testing.assert_allclose(model.transform(X, poses=starts), expected, atol=1e-12)


def test_dask(rows):
    da = pytest.importorskip("dask.array")
    X, _ = rows
    model = GTPCA(1, Shift(12), output="aligned", random_state=0).fit(X)
    found = model.transform(da.from_array(X, chunks=(15, 24)))
    np.testing.assert_allclose(found.compute(), model.transform(X), atol=1e-12)


def test_a_pipeline_learns_it_on_training_rows(rows):
    X, y = rows
    align = GTPCA(1, Shift(boundary="circular"), output="aligned", random_state=0)
    pipeline = make_pipeline(align, PCA(3), KNeighborsClassifier(1))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.95
    plain = make_pipeline(PCA(3), KNeighborsClassifier(1))
    assert cross_val_score(plain, X, y, cv=3).mean() < 0.9

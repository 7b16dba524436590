"""What decides about scores is that of the fit, whatever parameters become afterwards."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import QUICK, noise
from sklearn.base import clone

from gtpca import GTPCA, Shift, load

X = 1 + noise(40, 12)
OTHER = {
    "polarity": "positive",
    "center": "samples",
    "shared_pose": True,
    "family": Shift(3),
    "feature_weight": np.arange(12.0),
    "sample_shape": (3, 4),
    "n_components": 1,
    "solver": None,
    "residual": "recompute",
    "horizon": 5,
    "random_state": 7,
}


def fit(**options):
    return GTPCA(2, Shift(5), solver=QUICK, random_state=0, **options).fit(X)


@pytest.mark.parametrize("name", OTHER)
@pytest.mark.parametrize("options", [{}, {"center": True}], ids=["plain", "centred"])
def test_scores_stay_those_of_the_fit(name, options):
    model = fit(**options)
    scores, rebuilt, share = model.transform(X), model.reconstruct(X), model.score(X)
    model.set_params(**{name: OTHER[name]})
    np.testing.assert_array_equal(model.transform(X), scores)
    np.testing.assert_array_equal(model.reconstruct(X), rebuilt)
    assert model.score(X) == share


@pytest.mark.parametrize("center", [False, "samples"])
def test_centring_cannot_be_turned_on_or_off_later(center):
    model = fit(center=center)
    before = model.transform(X)
    model.set_params(center=False if center else "samples")
    np.testing.assert_array_equal(model.transform(X), before)
    assert model.center_ == center


def test_a_stream_goes_on_as_it_began_until_its_rows_are_fitted_again():
    kept, changed = (GTPCA(2, Shift(5), random_state=0) for _ in range(2))
    kept.partial_fit(X[:10])
    changed.partial_fit(X[:10]).set_params(polarity="positive", center="samples")
    for model in (kept, changed):
        model.partial_fit(X[10:15])
    np.testing.assert_array_equal(kept.transform(X), changed.transform(X))
    changed.partial_fit(X[15:])  # there are twice as many rows now
    assert (changed.polarity_, changed.center_) == ("positive", "samples")
    fresh = clone(changed).fit(X)
    np.testing.assert_allclose(changed.transform(X), fresh.transform(X), atol=1e-4)


def test_a_file_keeps_what_was_fitted(tmp_path):
    model = fit(polarity="positive").set_params(polarity="both", center="samples")
    model.save(tmp_path / "a.gtpca")
    same = load(tmp_path / "a.gtpca")
    assert (same.polarity_, same.polarity) == ("positive", "both")
    np.testing.assert_array_equal(same.transform(X), model.transform(X))


def test_refine_and_output_may_change():
    X = noise(60, 24) + np.roll(np.eye(24), 3, axis=0)[:1]
    model = GTPCA(3, Shift(8), solver=QUICK, random_state=0).fit(X)
    before = model.transform(X)
    assert model.set_params(batch_size=7, n_jobs=2).transform(X).shape == before.shape
    np.testing.assert_allclose(model.transform(X), before, atol=1e-10)
    assert not np.allclose(model.set_params(refine=3).transform(X), before)
    assert model.set_params(output="scores+poses").transform(X).shape == (60, 6)

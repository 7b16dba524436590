"""Poses on the page: where too many of them are, and components at their own times."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("plotly", reason='needs plotly: pip install "gtpca[report]"')
pytest.importorskip("jinja2", reason='needs jinja2: pip install "gtpca[report]"')

from gtpca import ALS, GTPCA, MixtureGTPCA, ProbabilisticGTPCA, Rotation, Shift, labelled
from gtpca.page import contents
from gtpca.views.samples import component_view

QUICK = ALS(n_init=2, max_iter=5)


def bumps(starts, n_times=40):
    """Bumps of eight points that begin at some places."""
    X = 0.1 * np.random.default_rng(0).standard_normal((len(starts), n_times))
    for x, start in zip(X, starts, strict=True):
        x[start : start + 8] += np.hanning(10)[1:-1]
    return X


def gathered(model, X):
    how = {"labels": None, "room": 1_000_000, "max_samples": 100}
    return contents.gather(model, X, **how, rng=np.random.default_rng(0)).data


def flags(model, X):
    return {
        pose["name"]: pose["bars"][0]["flag"] for pose in gathered(model, X)["histograms"]["poses"]
    }


def test_poses_at_ends_are_flagged():
    wide = bumps(np.tile([0, 32, 5, 14, 20, 27], 10))
    model = GTPCA(1, Shift(8), solver=QUICK, random_state=0).fit(bumps(np.arange(60) % 33))
    found = flags(model, wide)["centre"]
    assert found["bars"] == [0, 32]
    assert found["text"].startswith("33 % are at the first or the last centre (6.1 % of the poses)")
    assert flags(model, bumps(np.arange(60) % 33))["centre"] is None


def test_poses_at_right_angles_are_flagged():
    shape = np.zeros((9, 9))
    shape[4, 4:] = 1.0
    X = np.stack([np.rot90(shape, k) for k in range(4)] * 12)
    X = X + 0.01 * np.random.default_rng(0).standard_normal(X.shape)
    model = GTPCA(1, Rotation(12), solver=QUICK, random_state=0)
    with pytest.warns(UserWarning, match="right angle"):
        model.fit(X)
    found = flags(model, X)["degrees"]
    assert [model.operator_.describe(np.arange(12))["degrees"][i] for i in found["bars"]] == [
        0,
        90,
        180,
        270,
    ]
    assert "right angle" in found["text"]
    between = model.set_params(refine=0)
    assert flags(between, X)["degrees"]["bars"] == found["bars"]


def times(model, X):
    """Where each part of the model is drawn."""
    found = gathered(model, X)["components"]
    return [component_view(model).positions[0] + later for later in found["later"]]


@pytest.mark.parametrize("kind", ["own", "shared", "density", "kinds"])
def test_components_are_drawn_at_their_median_pose(kind):
    X = labelled(bumps(np.arange(40) % 5 + 20), rate=10, start=-1.0)
    how = {"family": Shift(8), "random_state": 0}
    model = {
        "own": GTPCA(2, solver=QUICK, **how),
        "shared": GTPCA(2, shared_pose=True, solver=QUICK, **how),
        "density": ProbabilisticGTPCA(1, **how),
        "kinds": MixtureGTPCA(1, 1, **how),
    }[kind].fit(X)
    starts = model.poses(model.encode(X))["start"]
    found = times(model, X)
    assert len(found) == 2
    own = np.median(starts, axis=0)
    np.testing.assert_allclose(found, np.broadcast_to(own, 2))
    assert abs(found[0] - 1.2) < 0.45  # the bump begins 1.0 .. 1.4 s after time 0


def test_points_have_no_times_of_their_own():
    X = bumps(np.arange(40) % 33)
    model = GTPCA(1, Shift(8), solver=QUICK, random_state=0).fit(X)
    assert gathered(model, X)["components"]["later"] is None
    circular = GTPCA(1, Shift(8, boundary="circular"), solver=QUICK, random_state=0)
    known = labelled(X, rate=10)
    assert gathered(circular.fit(known), known)["components"]["later"] is None

"""Free warps through the estimator: curves, channels, gaps, lengths, files, and what is refused."""

import numpy as np
import pytest
from helpers import QUICK

from gtpca import (
    GTPCA,
    Codes,
    Compose,
    EventGTPCA,
    FreeWarp,
    Identity,
    MixtureGTPCA,
    ProbabilisticGTPCA,
    Shift,
    labelled,
    load,
)
from gtpca.diagnostics import check, choose, choose_warp, pose_confidence
from gtpca.diagnostics.wording import OWN_POSES
from gtpca.testing import check_operator

U = np.linspace(0, 1, 60)


def bumps(u):
    return np.exp(-(((u - 0.35) / 0.09) ** 2)) + 0.8 * np.exp(-(((u - 0.7) / 0.09) ** 2))


def curves(n=24, noise=0.02, seed=0):
    """Curves of two bumps whose time is bent, and the strengths of the bends."""
    rng = np.random.default_rng(seed)
    strength = rng.uniform(-0.5, 0.5, (n, 1))
    X = rng.normal(1, 0.15, (n, 1)) * bumps(U ** np.exp(strength))
    return X + noise * rng.standard_normal(X.shape), strength[:, 0]


@pytest.fixture(scope="module")
def data():
    return curves()


@pytest.fixture(scope="module")
def model(data):
    return GTPCA(2, FreeWarp(), shared_pose=True, random_state=0).fit(data[0])


def left(aligned, X):
    return aligned.var(axis=0).sum() / X.var(axis=0).sum()


@pytest.mark.parametrize(
    ("family", "shape"),
    [
        (FreeWarp(3), (30,)),
        (FreeWarp(2, weights=25), (25,)),
        (FreeWarp(1, axes=1), (2, 20)),
        (FreeWarp(2, "free", axes=0), (21, 3)),
    ],
    ids=["plain", "all-weights", "channels-first", "free-ends"],
)
def test_the_operator_keeps_its_promises(family, shape):
    check_operator(family.bind(shape), n_rows=4)


def test_curves_are_aligned_and_explained(data, model):
    X, strength = data
    assert left(model.align(X), X) < 0.15
    assert model.resmse(X)[-1] < 0.01
    rebuilt = model.reconstruct(X)
    assert np.sum((X - rebuilt) ** 2) / np.sum(X**2) == pytest.approx(model.resmse(X)[-1])
    assert model.transform(X).shape == (24, 2)
    poses = model.poses(model.encode(X))
    assert list(poses) == [f"knot_{j}" for j in range(1, 10)]
    assert np.corrcoef(poses["knot_5"][:, 0], strength)[0, 1] < -0.97  # later events: clock behind


def test_one_component_leaves_little_variance(data):
    X, _ = data
    model = GTPCA(1, FreeWarp(), random_state=0).fit(X)
    assert left(model.align(X), X) < 0.1


@pytest.mark.parametrize("how", [{}, {"shared_pose": True}, {"polarity": "positive"}], ids=str)
def test_the_explained_energy_of_a_fit_never_falls(how):
    X = np.random.default_rng(0).standard_normal((30, 24))
    for history in GTPCA(2, FreeWarp(2), random_state=0, **how).fit(X).history_:
        assert np.all(np.diff(history) >= 0)


def test_components_are_linear_between_their_weights(model):
    lattice = model.operator_.lattice
    assert len(lattice.nodes) == 30
    np.testing.assert_allclose(lattice.smooth(model.components_), model.components_, atol=1e-9)


def test_warps_are_monotone_and_centred(data, model):
    X, _ = data
    pose = model.encode(X).pose[:, 0]
    lattice = model.operator_.lattice
    assert np.all(np.diff(lattice.warp(pose), axis=1) > 0)
    assert lattice.is_allowed(pose).all()
    assert np.abs(pose.mean(axis=0)).max() < 3


def test_the_first_phase_component_is_the_planted_strength(data, model):
    X, strength = data
    pose = model.encode(X).pose[:, 0]
    scores = np.linalg.svd(pose - pose.mean(axis=0), full_matrices=False)[0][:, 0]
    assert np.corrcoef(scores, strength)[0, 1] ** 2 > 0.97


def test_channels_share_a_warp(data):
    X, _ = data
    both = np.stack([X, -2 * X + 1], axis=2)
    model = GTPCA(1, FreeWarp(5, axes=0), random_state=0).fit(both)
    assert left(model.align(both), both) < 0.1
    first = GTPCA(1, FreeWarp(5, axes=1), random_state=0).fit(both.transpose(0, 2, 1))
    np.testing.assert_allclose(
        first.align(both.transpose(0, 2, 1)), model.align(both).transpose(0, 2, 1)
    )


def test_gaps_are_filled_by_what_the_others_show(data, model):
    X, _ = data
    seen = np.where(np.random.default_rng(1).uniform(size=X.shape) < 0.2, np.nan, X)
    gappy = GTPCA(2, FreeWarp(), shared_pose=True, missing="ignore", random_state=0).fit(seen)
    filled, hidden = gappy.impute(seen), np.isnan(seen)
    np.testing.assert_array_equal(filled[~hidden], X[~hidden])
    wrong = np.sum((filled - X)[hidden] ** 2) / np.sum(X[hidden] ** 2)
    assert wrong < 0.05


def test_curves_of_other_durations_have_free_ends():
    rng = np.random.default_rng(0)
    lengths = rng.integers(45, 61, size=30)
    X = [bumps(np.linspace(0, 1, n)) + 0.02 * rng.standard_normal(n) for n in lengths]
    model = GTPCA(1, FreeWarp(5, "free"), missing="ignore", random_state=0).fit(X)
    assert model.resmse(X)[-1] < 0.02
    poses = model.poses(model.encode(X))
    ends = poses["knot_6"][:, 0]
    assert np.corrcoef(ends, lengths)[0, 1] < -0.9  # short curves run faster


def test_free_ends_include_shifts():
    rng = np.random.default_rng(0)
    X = np.exp(-(((U - rng.uniform(0.3, 0.7, (30, 1))) / 0.08) ** 2))
    free = GTPCA(1, FreeWarp(1, "free"), random_state=0).fit(X)
    assert free.resmse(X)[-1] < 0.01


def test_sample_weights_count_like_copies(data):
    X, _ = data
    weight = np.ones(24)
    weight[:3] = 2
    one = GTPCA(1, FreeWarp(3), random_state=0).fit(X, sample_weight=weight)
    two = GTPCA(1, FreeWarp(3), random_state=0).fit(np.concatenate([X, X[:3]]))
    assert one.resmse(X)[-1] == pytest.approx(two.resmse(X)[-1], rel=0.1)


def test_poses_are_in_the_unit_of_the_axis(data):
    X, _ = data
    named = labelled(X, axes=["time"], rate=100)
    model = GTPCA(1, FreeWarp(3), random_state=0).fit(named)
    codes = model.encode(named)
    poses = model.poses(codes)
    assert poses.units == dict.fromkeys(["knot_1", "knot_2", "knot_3"], "s")
    np.testing.assert_allclose(np.asarray(poses["knot_2"])[:, 0], codes.pose[:, 0, 1] / 100)


def test_models_and_codes_survive_files(data, model, tmp_path):
    X, _ = data
    model.save(tmp_path / "curves.gtpca")
    again = load(tmp_path / "curves.gtpca")
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    np.testing.assert_array_equal(again.align(X), model.align(X))
    codes = model.encode(X)
    codes.save(tmp_path / "codes.npz")
    np.testing.assert_array_equal(
        again.decode(Codes.load(tmp_path / "codes.npz")), model.decode(codes)
    )


def test_commands_say_that_poses_are_found_sample_by_sample(model):
    pytest.importorskip("typer")
    from gtpca.commands.models import _description

    assert "transforms  found sample by sample: knot_1, knot_2" in _description(model)


def test_batches_and_threads_change_nothing(data, model):
    X, _ = data
    parts = GTPCA(2, FreeWarp(), shared_pose=True, batch_size=7, n_jobs=2, random_state=0).fit(X)
    np.testing.assert_allclose(parts.components_, model.components_, atol=1e-6)
    np.testing.assert_allclose(parts.align(X), model.align(X), atol=1e-4)


def test_dask_arrays_give_the_same(data, model):
    da = pytest.importorskip("dask.array")
    X, _ = data
    lazy = da.from_array(X, chunks=(10, 60))
    fit = GTPCA(2, FreeWarp(), shared_pose=True, random_state=0).fit(lazy)
    np.testing.assert_allclose(np.asarray(fit.transform(lazy)), model.transform(X), atol=1e-6)
    np.testing.assert_allclose(np.asarray(fit.align(lazy)), model.align(X), atol=1e-4)


def test_batches_are_learnt_one_after_the_other(data):
    X, _ = data
    stream = GTPCA(1, FreeWarp(3), random_state=0)
    for part in np.array_split(X, 3):
        stream.partial_fit(part)
    assert stream.resmse(X)[-1] < 0.05


def test_text_names_the_family():
    found = GTPCA(1, "free_warp(knots=3, ends='free')").bind((30,))
    assert found.lattice.free
    assert len(found.pose_space.axes) == 5


@pytest.mark.parametrize(
    ("family", "words"),
    [
        (FreeWarp(0), "knots=0"),
        (FreeWarp(29), "use at most 28"),
        (FreeWarp(ends="open"), "ends='open'"),
        (FreeWarp(weights=1), "weights=1"),
        (FreeWarp(weights=31), "weights=31 is more than the 30 points"),
        (FreeWarp(reach=0), "reach=0"),
        (FreeWarp(slopes=(2, 3)), "slopes="),
        (FreeWarp(stiffness=-1), "stiffness=-1"),
        (Compose(Shift(20), FreeWarp(3)), "no list of transforms"),
    ],
    ids=["knots", "many", "ends", "weights", "most", "reach", "slopes", "stiffness", "compose"],
)
def test_errors_say_what_would_work(family, words):
    with pytest.raises(ValueError, match=words):
        GTPCA(1, family).fit(np.ones((3, 30)))


def test_small_and_odd_samples():
    how = {"family": FreeWarp(1), "solver": QUICK, "random_state": 0}
    X = curves(8)[0]
    for some in (X[:1], X[:, :3], X.astype(np.float32)):
        fit = GTPCA(1, **how).fit(some)
        assert np.isfinite(fit.transform(some)).all()
        assert fit.transform(some).dtype == some.dtype
    gone = np.where(np.arange(8)[:, None] == 2, np.nan, X)
    with pytest.warns(UserWarning, match="hold no observed value"):
        scores = GTPCA(1, missing="ignore", **how).fit_transform(gone)
    assert np.flatnonzero(scores == 0).tolist() == [2]
    with pytest.raises(ValueError, match="axes is ambiguous"):
        GTPCA(1, **how).fit(X.reshape(8, 6, 10))


def test_a_shared_pose_is_learnt_batch_by_batch(data):
    X, _ = data
    stream = GTPCA(2, FreeWarp(2), shared_pose=True, solver=QUICK, random_state=0)
    assert stream.partial_fit(X[:12]).partial_fit(X[12:]).resmse(X)[-1] < 0.05


def test_what_free_warps_cannot_do_is_said(data, model):
    X, _ = data
    for estimator in (ProbabilisticGTPCA(1, FreeWarp()), MixtureGTPCA(2, 1, FreeWarp())):
        with pytest.raises(ValueError, match="list of transforms, which this family does not have"):
            estimator.fit(X)
    with pytest.raises(ValueError, match="Shift"):
        EventGTPCA(1, FreeWarp()).fit(X)
    with pytest.raises(ValueError, match="no list of transforms"):
        pose_confidence(model, X)


def test_torch_says_that_there_is_no_list_of_transforms(data):
    pytest.importorskip("torch")
    from gtpca.nn import Adam, GTPCLayer

    with pytest.raises(ValueError, match="list of transforms"):
        GTPCLayer(FreeWarp(), (60,))
    with pytest.raises(ValueError, match=r"solver=Adam\(\) sums over a list of transforms"):
        GTPCA(1, FreeWarp(), solver=Adam()).fit(data[0])


def test_check_says_why_poses_are_not_compared(data, model, monkeypatch):
    for name in ("noise_floor", "stability"):  # these take some 30 fits
        monkeypatch.setattr(f"gtpca.diagnostics.summary.{name}", lambda *_, **__: None)
    found = check(model, data[0])
    assert found.poses is None
    assert found.unanswered[-1] == OWN_POSES


def test_hidden_points_choose_a_warp():
    found = choose_warp(curves(40, noise=0.1)[0], knots=[1, 5], weights=30, n_components=1)
    assert found.supported
    assert found.estimator.family.knots == 5
    assert found.sentence.startswith("Take 5 knots")
    assert found.table["best"].sum() == 1


def test_no_warp_is_supported_by_noise():
    X = np.random.default_rng(0).standard_normal((12, 24))
    found = choose(X, FreeWarp(), n_components=1, n_folds=2, solver=QUICK)
    assert not found.supported
    assert found.sentence.startswith("No warp is supported: at hidden points the error is")
    assert found.estimator.get_params()["family"].__class__ is Identity


def test_choose_refuses_what_free_warps_do_not_have(data):
    with pytest.raises(ValueError, match="no window"):
        choose(data[0], FreeWarp(), windows=(5, 9))
    with pytest.raises(TypeError, match="must be FreeWarp"):
        choose_warp(data[0], Shift(20))
    with pytest.raises(ValueError, match="knots=0 must be"):
        choose_warp(data[0], knots=[0, 1])
    with pytest.raises(ValueError, match="needs at least 4 samples, but X has 3"):
        choose_warp(data[0][:3])

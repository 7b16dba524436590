"""Poses between the nodes of smooth families: rotations, scalings, warps, similarities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from gtpca import GTPCA, Codes, Compose, Rotation, Scaling, Shift, Similarity, TimeWarp, load
from gtpca.data.chunks import Chunk, as_chunks
from gtpca.families.text import format_family, parse_family
from gtpca.fitting.between import at_found, posed
from gtpca.model.matching import make_block, update
from gtpca.operators.sampling import Newton
from gtpca.testing import check_operator

REFINED = {
    "rotation": (Rotation(8, refine_poses=True), (9, 9)),
    "rotation-list": (Rotation([-40, 0, 40], refine_poses=True), (8, 11)),
    "rotation-colours": (Rotation(8, refine_poses=True, domain="all"), (8, 8, 2)),
    "scaling": (Scaling((0.7, 1, 1.4), refine_poses=True), (21,)),
    "scaling-2d": (Scaling((0.8, 1.25), axes=(0, 1), domain="all", refine_poses=True), (9, 9)),
    "warp-power": (TimeWarp(refine_poses=True), (20,)),
    "warp-sine": (TimeWarp((-0.6, -0.2, 0.2, 0.6), "sine", axes=0, refine_poses=True), (20, 2)),
    "similarity": (Similarity((0.9, 1.1), shifts=(1, 2), angles=5), (8, 9)),
}
EACH = pytest.mark.parametrize("name", list(REFINED))


def poses_of(operator, n, seed=0):
    ends = np.array([(axis.low, axis.high) for axis in operator.pose_space.axes])
    return np.random.default_rng(seed).uniform(ends[:, 0], ends[:, 1], (n, len(ends)))


@EACH
def test_operators_keep_their_meaning(name):
    family, shape = REFINED[name]
    check_operator(family.bind(shape))


def test_similarities_read_where_their_formula_says():
    operator, rng = Similarity().bind((12, 14)), np.random.default_rng(0)
    w, pose = rng.standard_normal((12, 14)), poses_of(operator, 4)
    points = np.indices((12, 14)).reshape(2, -1) - np.array([[5.5], [6.5]])
    for found, (degrees, factor, *shift) in zip(
        operator.apply_at(w.ravel(), pose), pose, strict=True
    ):
        a = np.deg2rad(degrees)
        R = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
        at = R.T @ (points - np.array(shift)[:, None]) / factor + np.array([[5.5], [6.5]])
        wanted = ndimage.map_coordinates(np.pad(w, 9), at + 9, order=1)
        assert np.allclose(found, wanted)


@EACH
@pytest.mark.parametrize("method", ["sources", "slopes"])
def test_a_wrong_path_is_found(name, method, monkeypatch):
    family, shape = REFINED[name]
    operator = family.bind(shape)
    path = operator.continuous.path
    right = getattr(path, method)
    monkeypatch.setattr(path, method, lambda pose, points: 1.01 * right(pose, points))
    with pytest.raises(AssertionError, match="slopes" if method == "slopes" else "wrong"):
        check_operator(operator)


@EACH
def test_derivatives_of_moved_weights_are_finite_differences(name):
    """``J`` of the steps of Gauss and Newton; at a kink of the interpolation they may differ."""
    family, shape = REFINED[name]
    operator = family.bind(shape)
    between, rng = operator.continuous, np.random.default_rng(1)
    pose, W = poses_of(operator, 6), rng.standard_normal((2, operator.n_weights))
    X = rng.standard_normal((6, *between.features.shape)).astype(np.float32)
    newton = Newton(between, X, np.ones_like(X), W, False)
    c = rng.standard_normal((6, 2)).astype(np.float32)
    place, shares = between._cells(pose, np.float32)
    read = np.array(
        [
            [[layer.take(place + offset) for layer in one] for one in newton.padded]
            for _, offset in between.corners
        ]
    )
    J, step = newton._slopes(pose, read, shares, c), 1e-4
    for j in range(pose.shape[1]):
        move = step * np.eye(pose.shape[1])[j]
        moved = (between.apply(c @ W, pose + sign * move) for sign in (1, -1))
        slow = np.subtract(*moved)[:, between.features].transpose(0, 2, 1).reshape(6, -1)
        close = np.isclose(J[:, j], slow / (2 * step), rtol=2e-2, atol=2e-2 * np.abs(slow).max())
        assert close.mean() > 0.97


@EACH
@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
@pytest.mark.parametrize("K", [1, 3])
def test_passes_at_poses_are_monotone(name, gaps, K):
    family, shape = REFINED[name]
    operator, rng = family.bind(shape), np.random.default_rng(2)
    W = np.linalg.qr(rng.standard_normal((operator.n_weights, K)))[0].T
    X = operator.apply_at(rng.standard_normal((24, K)) @ W, poses_of(operator, 24))
    X += 0.1 * rng.standard_normal(X.shape)
    if operator.domain is not None:
        X *= operator.domain
    if gaps:
        X[rng.random(X.shape) < 0.2] = np.nan
    chunks = as_chunks(X, operator, weight=rng.uniform(0.5, 2, 24))
    W = np.linalg.qr(W.T + 0.3 * rng.standard_normal(W.T.shape))[0].T
    history = []
    for number in range(6):
        block = make_block(operator, W)
        chunks = chunks.update(posed, block, 0, number > 0, blocks=[None, None])
        stats = chunks.sum(at_found, 0)
        history.append(float(stats.explained[0]))
        [W] = update(operator, stats, W[None], 4)
    assert np.all(np.diff(history) >= -1e-9 * history[-1])


@pytest.mark.parametrize("name", ["rotation", "similarity"])
@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
def test_histories_of_fits_never_fall(name, shared, gaps):
    X, family = spots(40)[0], Rotation(6, refine_poses=True)
    if name == "similarity":
        X, family = spots(24, size=11)[0], Similarity((0.95, 1.05), shifts=1, angles=4)
    if gaps:
        X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    model = GTPCA(2, family, shared_pose=shared, missing="ignore", random_state=0).fit(X)
    for history in model.history_:
        assert len(history) > 1
        assert np.all(np.diff(history) >= -1e-9 * history[-1])


@pytest.mark.parametrize("seed", range(3))
def test_explained_energies_are_those_of_the_fit(seed):
    """Components are stored in the pose of one of the rows, of which those of the codes are not."""
    X, family = spots(40)[0], Rotation(4, refine_poses=True)
    model = GTPCA(2, family, shared_pose=True, random_state=seed).fit(X)
    assert model.explained_energy_ratio_.sum() == pytest.approx(1 - model.resmse(X)[-1], abs=0.02)


def spots(n, size=17, seed=0, noise=0.02):
    """Three soft spots at any angle."""
    rng = np.random.default_rng(seed)
    degrees, images = rng.uniform(0, 360, n), []
    y, x = np.indices((size, size)) - (size - 1) / 2
    for angle in np.deg2rad(degrees):
        v, u = np.cos(angle) * y + np.sin(angle) * x, np.cos(angle) * x - np.sin(angle) * y
        places = ((-4, 1, 1.0), (3, 3, 0.8), (2, -3, -0.6))
        images.append(sum(h * np.exp(-((v - a) ** 2 + (u - b) ** 2) / 4) for a, b, h in places))
    return np.array(images) + noise * rng.standard_normal((n, size, size)), degrees


def degrees_off(found, wanted):
    offset = np.angle(np.mean(np.exp(1j * np.deg2rad(found - wanted))), deg=True)
    return np.abs((found - wanted - offset + 180) % 360 - 180)


def test_eight_angles_find_any_angle():
    X, _ = spots(120)
    new, truth = spots(60, seed=1)
    model = GTPCA(1, Rotation(8, refine_poses=True), random_state=0).fit(X)
    found = model.poses(model.encode(new))["degrees"][:, 0]
    assert np.median(degrees_off(found, truth)) < 0.5
    many = GTPCA(1, Rotation(180), random_state=0).fit(X)
    assert model.resmse(new)[0] < 1.02 * many.resmse(new)[0]
    few = GTPCA(1, Rotation(8), random_state=0).fit(X)
    assert model.resmse(new)[0] < 0.8 * few.resmse(new)[0]
    aligned = model.align(new)
    assert np.mean(aligned.std(axis=0) ** 2) < 0.3 * np.mean(new.std(axis=0) ** 2)


def test_sweeps_of_refine_lower_what_is_left():
    X, _ = spots(60)
    family = Rotation(8, refine_poses=True)
    greedy, swept = (GTPCA(2, family, refine=r, random_state=0).fit(X) for r in (0, 2))
    left = [1 - m.explained_energy_ratio_.sum() for m in (greedy, swept)]
    assert left[1] <= left[0] * (1 + 1e-9)


def objects(n, seed=0, size=24):
    rng = np.random.default_rng(seed)
    factors = rng.uniform(0.85, 1.15, n)
    pose = np.column_stack([rng.uniform(0, 360, n), factors, rng.uniform(-2, 2, (n, 2))])
    images = []
    for degrees, factor, *b in pose:
        a = np.deg2rad(degrees)
        y, x = np.indices((size, size)) - (size - 1) / 2 - np.array(b)[:, None, None]
        v, u = np.cos(a) * y + np.sin(a) * x, np.cos(a) * x - np.sin(a) * y
        places = ((-5, 1, 1.0), (4, 4, 0.8), (2, -5, -0.6))
        w = 5.0 * factor**2
        parts = (
            h * np.exp(-((v - factor * p) ** 2 + (u - factor * q) ** 2) / w) for p, q, h in places
        )
        images.append(sum(parts))
    return np.array(images) + 0.02 * rng.standard_normal((n, size, size)), pose


def test_similarity_finds_angle_factor_and_shift():
    X, truth = objects(80)
    model = GTPCA(1, Similarity((0.85, 1.15), angles=12), random_state=0).fit(X)
    codes = model.encode(X)
    pose = codes.pose[:, 0]
    assert pose.shape == (80, 4)
    assert np.median(degrees_off(pose[:, 0], truth[:, 0])) < 1.0
    ratio = np.log(pose[:, 1] / truth[:, 1])
    assert np.median(np.abs(ratio - np.median(ratio))) < 0.02
    assert list(model.poses(codes)) == ["degrees", "factor", "shift_0", "shift_1"]
    assert 1 - model.explained_energy_ratio_[0] < 0.1
    assert model.align(X).shape == X.shape


@pytest.fixture(scope="module")
def fitted():
    X, _ = spots(50)
    X = X.astype(np.float32)
    return GTPCA(2, Rotation(8, refine_poses=True), random_state=0).fit(X), X


def test_models_and_codes_are_written_and_read(fitted, tmp_path):
    model, X = fitted
    model.save(tmp_path / "model.gtpca")
    again, codes = load(tmp_path / "model.gtpca"), model.encode(X)
    assert again.family == model.family or repr(again.family) == repr(model.family)
    assert np.array_equal(again.encode(X).pose, codes.pose)
    codes.save(tmp_path / "codes.npz")
    assert np.array_equal(again.decode(Codes.load(tmp_path / "codes.npz")), model.decode(codes))


def test_outputs_hold_poses_and_can_be_inverted(fitted):
    model, X = fitted
    names = ["gtpca0", "gtpca1", "gtpca0_degrees", "gtpca1_degrees"]
    for output in ("scores+poses", "scores+units"):
        model.output = output
        assert list(model.get_feature_names_out()) == names
        assert np.allclose(model.transform(X)[:, 2:], model.encode(X).pose[..., 0])
    model.output = "scores+poses"
    found = model.inverse_transform(model.transform(X))
    assert np.allclose(found, model.decode(model.encode(X)), atol=1e-4)
    model.output = "scores"


@pytest.mark.parametrize("residual", ["memory", "recompute"])
def test_files_and_dask_give_the_same(fitted, tmp_path, residual):
    model, X = fitted
    how = {"random_state": 0, "batch_size": 16, "residual": residual}
    here = GTPCA(2, model.family, **how).fit(X)
    np.save(tmp_path / "x.npy", X)
    there = GTPCA(2, model.family, **how).fit(np.load(tmp_path / "x.npy", mmap_mode="r"))
    assert np.allclose(here.components_, there.components_, atol=1e-3)
    da = pytest.importorskip("dask.array")
    lazy = here.encode(da.from_array(X, chunks=(20, -1, -1)))
    assert np.allclose(lazy.pose.compute(), here.encode(X).pose, atol=1e-4)
    assert np.allclose(here.decode(lazy).compute(), here.decode(here.encode(X)), atol=1e-4)
    assert np.allclose(lazy.index.compute(), lazy.pose.compute())
    fit = GTPCA(1, model.family, random_state=0).fit(da.from_array(X, chunks=(20, -1, -1)))
    assert 1 - fit.explained_energy_ratio_[0] < 1.02 * (1 - here.explained_energy_ratio_[0])


def test_texts_name_refined_families():
    for family in (Rotation(24, refine_poses=True), Similarity(), Similarity((1, 1), 3, 12)):
        assert repr(parse_family(format_family(family))) == repr(family)
    assert repr(parse_family("similarity")) == "Similarity()"


@pytest.mark.parametrize(
    ("family", "shape", "message"),
    [
        (Rotation(8, interpolation="nearest", refine_poses=True), (9, 9), "needs interpolation"),
        (Rotation(8, refine_poses="yes"), (9, 9), "refine_poses='yes'"),
        (Scaling((1.0,), refine_poses=True), (9,), "at least two different values of factor"),
        (Compose(Shift((5, 5)), Rotation(8, refine_poses=True)), (9, 9), "use Similarity"),
        (Similarity(factors=(1.2, 0.8)), (9, 9), "the smallest and the largest factor"),
        (Similarity(factors=(0.0, 0.8)), (9, 9), "factors"),
        (Similarity(shifts=9), (9, 9), "at most 8 pixels"),
        (Similarity(shifts=(1, 2, 3)), (9, 9), "one or two lengths"),
        (Similarity(angles=0), (9, 9), "angles=0"),
        (Similarity(), (9,), "at least 2 axes"),
    ],
)
def test_what_cannot_be_refined_says_why(family, shape, message):
    with pytest.raises(ValueError, match=message):
        family.bind(shape)


def test_gaps_do_not_move_poses_of_what_is_observed():
    X, truth = spots(40, noise=0.0)
    model = GTPCA(1, Rotation(8, refine_poses=True), missing="ignore", random_state=0).fit(X)
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    found = model.poses(model.encode(holes))["degrees"][:, 0]
    assert np.median(degrees_off(found, truth)) < 1.0
    filled = model.impute(holes)
    inside = model.operator_.domain.reshape(17, 17)
    assert np.abs(filled - X)[:, inside].max() < 0.25 * np.abs(X).max()


def test_a_chunk_is_matched_row_by_row(fitted):
    """Poses do not depend on which rows are matched together."""
    model, X = fitted
    whole, part = model.encode(X).pose, model.encode(X[:7]).pose
    assert np.allclose(whole[:7], part, atol=0.05)
    assert isinstance(Chunk(X.reshape(len(X), -1), model.operator_).rows, np.ndarray)


def test_many_rows_begin_with_some(monkeypatch):
    X, _ = spots(60)
    family = Rotation(8, refine_poses=True)
    whole = GTPCA(2, family, shared_pose=True, random_state=0).fit(X)
    monkeypatch.setattr("gtpca.fitting.between.SETTLE_ROWS", 20)
    some = GTPCA(2, family, shared_pose=True, random_state=0).fit(X)
    left = [1 - model.explained_energy_ratio_.sum() for model in (whole, some)]
    assert left[1] < 1.02 * left[0]
    own = GTPCA(2, family, random_state=0).fit(X)
    assert np.all(np.diff(own.history_[1]) >= 0)

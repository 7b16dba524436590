"""Samples are compared where every transform is defined, and nowhere else."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import ndimage

import gtpca
from gtpca import (
    GTPCA,
    Affine,
    Compose,
    Deformation,
    ProbabilisticGTPCA,
    Reflection,
    Rotation,
    Scaling,
    Shift,
    TimeWarp,
)
from gtpca.families.base import everywhere
from gtpca.families.text import format_family, parse_family

SIZE = 24


def objects(count, seed=0, turn=360, factors=(1.0, 1.0)):
    """Dark things without symmetry on a light ground, each twice, turned and scaled at random.

    Returns samples (2 count, SIZE, SIZE), their angles and factors, (2 count,) each.
    """
    rng, samples = np.random.default_rng(seed), []
    degrees = rng.uniform(0, turn, 2 * count)
    scale = np.exp(rng.uniform(*np.log(factors), 2 * count))
    y, x = np.mgrid[-24:25, -24:25]
    for i in range(count):
        body = np.exp(-((y / rng.normal(6, 0.4)) ** 2 + (x / rng.normal(3, 0.3)) ** 2))
        head = np.exp(-(((y + 5) / 2.5) ** 2 + ((x - 3) / rng.normal(2, 0.2)) ** 2))
        image = 0.9 - 0.5 * body - 0.4 * head
        for j in (2 * i, 2 * i + 1):
            a = np.deg2rad(degrees[j])
            back = np.linalg.inv([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) / scale[j]
            offset = 24 - back @ np.full(2, (SIZE - 1) / 2)
            cut = ndimage.affine_transform(image, back, offset, (SIZE, SIZE), order=3)
            samples.append(cut + 0.01 * rng.standard_normal(cut.shape))
    return np.array(samples), degrees, scale


def agreeing(found, planted):
    """Share of pairs whose difference is the planted one within 15 degrees."""
    error = np.diff((found - planted).reshape(-1, 2), axis=1)
    return np.mean(np.abs((error + 180) % 360 - 180) <= 15)


@pytest.mark.filterwarnings("ignore:the means of samples")
@pytest.mark.parametrize(
    "how", [{"n_components": 1}, {"n_components": 4, "shared_pose": True, "center": "samples"}]
)
def test_angles_of_pictures_on_a_light_ground(how):
    X, planted, _ = objects(40)
    model = GTPCA(family=Rotation(24), random_state=0, **how).fit(X)
    degrees = model.poses(model.encode(X))["degrees"][:, 0]
    assert np.mean(degrees % 90 == 0) <= 0.3
    assert agreeing(degrees, planted) >= 0.95


def test_angles_where_windows_move():
    X, planted, _ = objects(40)
    family = Compose(Shift((20, 20)), Rotation(24))
    model = GTPCA(1, family, center="samples", random_state=0).fit(X)
    assert agreeing(model.poses(model.encode(X))["degrees"][:, 0], planted) >= 0.85


def test_ratios_of_sizes():
    """Shares at the largest factor are measured by benchmarks/bench_domain.py."""
    X, _, planted = objects(60, turn=0, factors=(0.8, 1.25))
    family = Scaling(np.geomspace(0.8, 1.25, 9), axes=(0, 1))
    model = GTPCA(1, family, center="samples", random_state=0).fit(X)
    found = model.poses(model.encode(X))["factor"][:, 0]
    ratios = [np.diff(np.log(each).reshape(-1, 2), axis=1)[:, 0] for each in (found, planted)]
    assert np.corrcoef(*ratios)[0, 1] >= 0.95


# --- where the domain is ---


def test_the_domain_of_rotations_is_the_disc_inside():
    y, x = np.mgrid[:15, :15] - 7
    disc = np.hypot(y, x) <= 7 + 1e-9
    domain = Rotation(360).bind((15, 15)).domain.reshape(15, 15)
    np.testing.assert_array_equal(domain, disc)
    colours = Rotation(360).bind((15, 15, 3)).domain.reshape(15, 15, 3)
    np.testing.assert_array_equal(colours, np.repeat(disc[:, :, None], 3, axis=2))


def test_the_domain_of_scalings_is_what_the_smallest_covers():
    domain = Scaling((0.5, 1, 2)).bind((17,)).domain
    assert np.flatnonzero(domain).tolist() == list(range(4, 13))


@pytest.mark.parametrize(
    ("family", "shape"),
    [
        (Rotation(4), (9, 9)),
        (Rotation(24, domain="all"), (9, 9)),
        (Scaling((1, 1.5, 2)), (20,)),
        (TimeWarp(), (30,)),
        (Reflection(axes=0), (8, 8)),
        (Affine([np.eye(2), np.eye(2)[::-1]]), (7, 7)),
        (Shift(5), (20,)),
    ],
)
def test_where_all_transforms_show_everything_nothing_is_left_out(family, shape):
    assert family.bind(shape).domain is None


def test_neighbours_have_one_domain_together():
    """Turned and shrunk: the disc inside the square that the smallest factor covers."""
    domain = Compose(Rotation(360), Scaling((0.5, 1), axes=(0, 1))).bind((33, 33)).domain
    y, x = np.mgrid[:33, :33] - 16
    inside = np.hypot(y, x).ravel() <= 8 - 1.5
    outside = np.hypot(y, x).ravel() > 8 + 1e-9
    assert domain[inside].all()
    assert not domain[outside].any()


def test_inside_a_shift_the_domain_moves_with_the_window():
    operator = Compose(Shift((9, 9)), Rotation(360)).bind((20, 20))
    assert operator.domain is None
    shown = operator.apply_at(np.ones(81), np.array([0]))[0].reshape(20, 20)
    y, x = np.mgrid[:9, :9] - 4
    np.testing.assert_allclose(shown[:9, :9], np.hypot(y, x) <= 4 + 1e-9, atol=1e-9)
    assert operator.domain_share == pytest.approx(np.mean(np.hypot(y, x) <= 4 + 1e-9))


def test_a_small_domain_warns_and_an_empty_one_is_an_error():
    X = np.random.default_rng(0).standard_normal((20, 12, 12))
    with pytest.warns(UserWarning, match=r"compares samples of shape \(12, 12\) on 11 % of their"):
        GTPCA(1, Scaling((0.4, 1), axes=(0, 1)), random_state=0).fit(X)
    with pytest.warns(UserWarning, match="of their points, where every transform"):
        ProbabilisticGTPCA(0, Scaling((0.4, 1), axes=(0, 1)), random_state=0).fit(X)
    far = Affine([[[1, 0, 0], [0, 1, 0]], [[1, 0, 50], [0, 1, 0]]])
    with pytest.raises(
        ValueError, match=r"no point of samples of shape \(12, 12\) is covered by every"
    ):
        far.bind((12, 12))
    with pytest.raises(ValueError, match="Rotation: domain='half' must be"):
        Rotation(8, domain="half").bind((9, 9))


def test_weights_that_are_hardly_read_do_not_fill_with_noise():
    """Those beyond the edge of the disc are read by small shares: least squares would magnify."""
    X, _, _ = objects(60)
    X += 0.4 * np.random.default_rng(1).standard_normal(X.shape)
    model = GTPCA(1, Rotation(24), center="samples", random_state=0).fit(X)
    y, x = np.mgrid[:SIZE, :SIZE] - (SIZE - 1) / 2
    beyond = np.hypot(y, x) > (SIZE - 1) / 2
    assert np.sum(model.components_[0][beyond] ** 2) < 1 / 3


# --- nothing else counts ---

FAMILIES = {
    "rotation": Rotation(8),
    "scaling": Scaling((0.7, 1, 1.3), axes=(0, 1)),
    "affine": Affine([np.eye(2), [[1, 0.4], [0, 1]], [[1, 0], [-0.3, 1]]]),
    "deformation": Deformation(amplitude=2.0, n_fields=5),
    "both": Compose(Rotation(5), Scaling((0.8, 1), axes=(0, 1))),
}


def changed(X, domain, fill):
    """Samples with something else outside the domain."""
    return np.where(domain.reshape(X.shape[1:]), X, fill)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"center": True},
        {"center": "samples"},
        {"shared_pose": True},
        {"refine": 1},
        {"feature_weight": np.random.default_rng(3).uniform(0.5, 2, (11, 11))},
        {"missing": "ignore"},
    ],
    ids=lambda how: next(iter(how), "plain"),
)
def test_what_lies_outside_changes_nothing(family, how):
    X = np.random.default_rng(0).standard_normal((30, 11, 11))
    if "missing" in how:
        X[::3, 4:7, 5] = np.nan
    domain = family.bind((11, 11)).domain
    with warnings.catch_warnings(action="ignore"):
        one, other = (
            GTPCA(2, family, random_state=0, **how).fit(Y) for Y in (X, changed(X, domain, 50.0))
        )
    Y = changed(X, domain, np.nan if "missing" in how else -7.0)
    np.testing.assert_array_equal(one.components_, other.components_)
    a, b = one.encode(X), other.encode(Y)
    np.testing.assert_array_equal(a.index, b.index)
    np.testing.assert_array_equal(a.scores, b.scores)
    np.testing.assert_array_equal(one.resmse(X), other.resmse(Y))
    np.testing.assert_array_equal(one.score_samples(X), other.score_samples(Y))
    assert not one.decode(a).reshape(len(X), -1)[:, ~domain].any()
    imputed = one.impute(Y).reshape(len(X), -1)
    np.testing.assert_array_equal(imputed[:, ~domain], Y.reshape(len(X), -1)[:, ~domain])


@pytest.mark.parametrize("noise", ["isotropic", "features"])
def test_a_density_knows_nothing_of_what_lies_outside(noise):
    X = np.random.default_rng(0).standard_normal((40, 9, 9))
    family = Rotation(8)
    domain = family.bind((9, 9)).domain
    with warnings.catch_warnings(action="ignore"):
        one, other = (
            ProbabilisticGTPCA(1, family, noise=noise, random_state=0).fit(Y)
            for Y in (X, changed(X, domain, 50.0))
        )
    np.testing.assert_array_equal(one.score_samples(X), other.score_samples(changed(X, domain, 9)))
    np.testing.assert_array_equal(one.components_, other.components_)
    inside = np.asarray(one.noise_variance_ * np.ones((9, 9))).ravel()[domain]
    assert np.all(inside > 0.3)


def test_tensors_agree():
    torch = pytest.importorskip("torch")
    from gtpca.nn import GTPCLayer

    X = np.random.default_rng(0).standard_normal((12, 9, 9))
    model = GTPCA(1, Rotation(8), random_state=0).fit(X)
    layer = GTPCLayer(Rotation(8), sample_shape=(9, 9)).double()
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(model.components_[0]).reshape(layer.weight.shape))
        found = layer(torch.from_numpy(changed(X, model.operator_.domain, 1e3)))
    codes = model.encode(X)
    np.testing.assert_array_equal(found.index.numpy().ravel(), codes.index[:, 0])
    np.testing.assert_allclose(found.score.numpy().ravel(), codes.scores[:, 0], atol=1e-9)


def test_dask_agrees():
    da = pytest.importorskip("dask.array")
    X = np.random.default_rng(0).standard_normal((40, 9, 9))
    model = GTPCA(2, Rotation(8), center="samples", random_state=0).fit(X)
    lazy = GTPCA(2, Rotation(8), center="samples", random_state=0).fit(da.from_array(X, (20, 9, 9)))
    np.testing.assert_allclose(lazy.components_, model.components_, atol=1e-6)
    codes = model.encode(da.from_array(X, (20, 9, 9)))
    np.testing.assert_array_equal(codes.index.compute(), model.encode(X).index)


# --- as text and in files ---


def test_text_says_the_domain_where_it_is_not_the_default():
    assert format_family(Rotation(8)) == "rotation(angles=8)"
    text = format_family(Compose(Shift((5, 5)), Scaling(domain="all")))
    assert text == "compose(outer=shift(window=(5, 5)), inner=scaling(domain='all'))"
    assert parse_family(text).inner.domain == "all"


def test_everywhere_reaches_all_parts():
    family = everywhere(Compose(Shift((5, 5)), Rotation(8), Compose(Rotation(3), Scaling())))
    assert family.inner.domain == family.inner2.outer.domain == family.inner2.inner.domain == "all"


def test_a_file_keeps_the_domain(tmp_path):
    X = np.random.default_rng(0).standard_normal((20, 9, 9))
    for family in ("rotation(angles=8)", Rotation(8), Rotation(8, domain="all")):
        model = GTPCA(1, family, random_state=0).fit(X)
        model.save(tmp_path / "m.gtpca")
        same = gtpca.load(tmp_path / "m.gtpca")
        assert same.cautions_ == model.cautions_
        np.testing.assert_array_equal(same.transform(X), model.transform(X))

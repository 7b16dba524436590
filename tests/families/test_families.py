"""Properties of families: random parameters, brute-force oracles, invariance of the scores."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gtpca import (
    ALS,
    GTPCA,
    Affine,
    Compose,
    Deformation,
    Family,
    Identity,
    Operator,
    Reflection,
    Rotation,
    Scaling,
    Shift,
    TimeWarp,
)
from gtpca.data.chunks import Chunk
from gtpca.model.matching import make_block, match
from gtpca.operators.base import with_feature_weight
from gtpca.testing import check_operator

hypothesis = pytest.importorskip("hypothesis", reason="random parameters are drawn by hypothesis")
from hypothesis import HealthCheck, event, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

# derandomize: the same examples in every run
SEEDED = {
    "derandomize": True,
    "deadline": None,
    "database": None,
    "suppress_health_check": list(HealthCheck),
}
QUICK = ALS(n_init=4, max_iter=20)

boundaries = st.sampled_from(["valid", "partial", "circular"])
overlaps = st.sampled_from([0.01, 0.2, 0.34, 0.5, 0.55, 0.7, 0.99, 1])


def shift_options(**windows):
    return st.fixed_dictionaries(
        {
            "boundary": boundaries,
            "max_shift": st.none() | st.integers(0, 8),
            "step": st.integers(1, 4),
            "min_overlap": overlaps,
            **windows,
        }
    )


# --- what a shift is, said again in loops ---


def shifted_by_loops(w, size, start, circular):
    """The window placed at ``start``, one value at a time; axis 0 only."""
    out = np.zeros((size, *w.shape[1:]))
    for j, value in enumerate(w):
        place = start + j
        if circular:
            out[place % size] += value
        elif 0 <= place < size:
            out[place] += value
    return out


def starts_by_loops(size, window, boundary, max_shift, step, min_overlap):
    """All starts that the docstring of ``Shift`` describes, for boundaries that do not wrap."""
    centre, found = (size - window) // 2, []
    for start in range(-window - size, window + size):
        inside = sum(0 <= start + j < size for j in range(window))
        share = 1 if boundary == "valid" else min_overlap
        # 1e-9: a share such as 0.55 of 20 points is 11 points, whatever 0.55 * 20 rounds to
        if inside < share * min(size, window) - 1e-9 or inside == 0:
            continue
        if max_shift is not None and abs(start - centre) > max_shift:
            continue
        if (start - centre) % step == 0:
            found.append(start)
    return found


def bound_or_refused(family, shape, axes):
    """The operator; None for a circular window that is too long, which must be refused."""
    windows = np.broadcast_to(0 if family.window is None else family.window, len(axes))
    too_long = any(w > shape[a] for w, a in zip(windows, axes, strict=True))
    if family.boundary != "circular" or not too_long:
        return family.bind(shape)
    event("refused")
    with pytest.raises(ValueError, match="Shift: window="):
        family.bind(shape)
    return None


@settings(max_examples=150, **SEEDED)
@given(size=st.integers(1, 14), options=shift_options(window=st.none() | st.integers(1, 20)))
def test_any_shift_in_one_dimension(size, options):
    operator = bound_or_refused(Shift(**options), (size,), [0])
    if operator is not None:
        check_operator(operator, n_rows=4)


@settings(max_examples=150, **SEEDED)
@given(
    shape=st.tuples(st.integers(1, 7), st.integers(1, 7)),
    options=shift_options(window=st.tuples(st.integers(1, 9), st.integers(1, 9))),
    axes=st.sampled_from([(0, 1), (1, 0), (-2, -1), None]),
)
def test_any_shift_in_two_dimensions(shape, options, axes):
    operator = bound_or_refused(Shift(axes=axes, **options), shape, axes or (0, 1))
    if operator is not None:
        check_operator(operator, n_rows=4)


@settings(max_examples=60, **SEEDED)
@given(
    size=st.integers(1, 9),
    channels=st.integers(1, 3),
    last=st.booleans(),
    options=shift_options(window=st.none() | st.integers(1, 12)),
)
def test_any_shift_with_channels(size, channels, last, options):
    shape, axes = ((size, channels), 0) if last else ((channels, size), -1)
    operator = bound_or_refused(Shift(axes=axes, **options), shape, [axes])
    if operator is not None:
        check_operator(operator, n_rows=4)


@settings(max_examples=200, **SEEDED)
@given(size=st.integers(1, 14), options=shift_options(window=st.integers(1, 20)))
def test_shift_against_loops(size, options):
    operator = bound_or_refused(Shift(**options), (size,), [0])
    if operator is None:
        return
    window, circular = options["window"], options["boundary"] == "circular"
    w = np.arange(1.0, window + 1)
    bank = operator.apply(w)
    assert operator.n_transforms == len(bank) >= 1
    if Shift(**options).bind((size,)).describe([0]):  # an equal window that cannot move has no pose
        starts = operator.describe(np.arange(len(bank)))["start"]
    else:
        starts = [0]
    for start, sample in zip(starts, bank, strict=True):
        np.testing.assert_array_equal(sample, shifted_by_loops(w, size, int(start), circular))
    centre = (size - window) // 2
    assert starts[operator.reference] == centre
    if not circular:
        assert list(starts) == starts_by_loops(size, **options)
        return
    places = {int(s) % size for s in starts}
    assert len(places) == len(starts), "a position occurs twice"
    reach = size if options["max_shift"] is None else options["max_shift"]
    around = {s: min((s - centre) % size, (centre - s) % size) for s in range(size)}
    assert all(around[s] <= reach for s in places)
    if options["step"] == 1:
        assert places == {s for s in range(size) if around[s] <= reach}


@settings(max_examples=100, **SEEDED)
@given(
    shape=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    window=st.tuples(st.integers(1, 8), st.integers(1, 8)),
    boundary=st.sampled_from(["valid", "partial"]),
    step=st.integers(1, 3),
    max_shift=st.none() | st.integers(0, 5),
)
def test_shift_of_images_against_loops(shape, window, boundary, step, max_shift):
    """Axes are independent: every pair of positions, in any order."""
    options = {"boundary": boundary, "step": step, "max_shift": max_shift, "min_overlap": 0.5}
    operator = Shift(window, **options).bind(shape)
    w = np.arange(1.0, np.prod(window) + 1).reshape(window)
    rows, columns = (
        starts_by_loops(size, length, **options) for size, length in zip(shape, window, strict=True)
    )
    expected = set()
    for r, c in itertools.product(rows, columns):
        sample = shifted_by_loops(w, shape[0], r, False)
        sample = shifted_by_loops(sample.T, shape[1], c, False).T
        expected.add(tuple(sample.ravel()))
    bank = operator.apply(w.ravel())
    assert len(bank) == len(rows) * len(columns)
    assert {tuple(sample) for sample in bank} == expected


def test_shift_correlation_against_loops():
    """The number that decides a match, by loops over rows, positions and channels."""
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((3, 30, 2)), rng.standard_normal((11, 2))
    operator = Shift(11, axes=0).bind((30, 2))
    slow = np.array([[sum(x[s + j] @ w[j] for j in range(11)) for s in range(20)] for x in X])
    fast = operator.correlate(operator.prepare(X.reshape(3, -1)), w.ravel()[None])[0]
    np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-12)


# --- other families with random parameters ---

numbers = st.floats(-720, 720, allow_nan=False).map(lambda x: round(x, 2))
domains = st.sampled_from(["common", "all"])


def check_any(family, shape, n_rows=4):
    """The operator does what it says; small grids may have no point that all transforms show."""
    try:
        operator = family.bind(shape)
    except ValueError:
        event("refused")
        with pytest.raises(ValueError, match="is covered by every transform"):
            family.bind(shape)
        return None
    check_operator(operator, n_rows=n_rows)
    return operator


sizes = st.tuples(st.integers(2, 7), st.integers(2, 7))


@settings(max_examples=40, **SEEDED)
@given(
    shape=sizes,
    angles=st.integers(1, 9) | st.lists(numbers, min_size=1, max_size=5),
    interpolation=st.sampled_from(["linear", "nearest"]),
    domain=domains,
)
def test_any_rotation(shape, angles, interpolation, domain):
    check_any(Rotation(angles, interpolation=interpolation, domain=domain), shape)


@settings(max_examples=40, **SEEDED)
@given(
    shape=sizes,
    factors=st.lists(st.floats(0.1, 8), min_size=1, max_size=4),
    axes=st.sampled_from([0, 1, (0, 1)]),
    domain=domains,
)
def test_any_scaling(shape, factors, axes, domain):
    check_any(Scaling(factors, axes=axes, domain=domain), shape)


@settings(max_examples=40, **SEEDED)
@given(
    shape=st.tuples(st.integers(1, 12), st.integers(1, 2)),
    strengths=st.lists(st.floats(-0.99, 0.99), min_size=1, max_size=4),
    kind=st.sampled_from(["power", "sine"]),
)
def test_any_time_warp(shape, strengths, kind):
    check_operator(TimeWarp(strengths, kind, axes=0).bind(shape), n_rows=4)


@settings(max_examples=30, **SEEDED)
@given(
    shape=sizes,
    amplitude=st.floats(0.1, 3),
    n_basis=st.integers(1, 4),
    n_fields=st.integers(1, 5),
    seed=st.integers(0, 5),
    domain=domains,
)
def test_any_deformation(shape, amplitude, n_basis, n_fields, seed, domain):
    check_any(Deformation(amplitude, n_basis, n_fields, random_state=seed, domain=domain), shape)


parts = st.sampled_from(
    [
        Shift((3, 4)),
        Shift((6, 6), boundary="partial"),
        Shift(boundary="circular", axes=(0, 1)),
        Rotation(3),
        Rotation(5, domain="all"),
        Reflection((0, 1)),
        Scaling([0.8, 1, 1.3], axes=(0, 1)),
        TimeWarp([0, 0.4], axes=1),
        Affine([np.eye(2), [[1, 0.4], [0, 1]]]),
        Deformation(n_fields=3),
    ]
)


@settings(max_examples=40, **SEEDED)
@given(outer=parts, inner=parts, third=st.none() | parts)
def test_any_composition(outer, inner, third):
    operator = check_any(Compose(outer, inner, third), (5, 4), n_rows=3)
    if operator is None:
        return
    sizes, shape = [], (5, 4)
    for family in (outer, inner, third):
        if family is not None:
            part = family.bind(shape)
            sizes.append(part.n_transforms)
            shape = part.weight_shape
    assert operator.n_transforms == np.prod(sizes)
    assert operator.weight_shape == shape


# --- a family of one's own, with nothing but what is required ---


class RollOperator(Operator):
    """Circular shifts, written with ``apply`` and ``adjoint`` alone."""

    def __init__(self, size):
        super().__init__((size,), (size,), size)

    def apply(self, w):
        return np.stack([np.roll(w, t) for t in range(self.n_transforms)])

    def adjoint(self, M):
        return sum(np.roll(row, -t) for t, row in enumerate(M))


class Roll(Family):
    """All circular shifts."""

    def bind(self, sample_shape):
        return RollOperator(*sample_shape)


class FastRollOperator(RollOperator):
    """The same by FFT: what is prepared of rows are their spectra."""

    selects = isometric = True

    def prepare(self, X):
        return np.fft.rfft(X).astype(np.result_type(X, 1j), copy=False)

    def correlate(self, P, W):
        spectra = np.fft.rfft(W).conj()[:, None].astype(P.dtype)
        return np.fft.irfft(P * spectra, self.n_features).astype(P.real.dtype)

    def adjoint_sum(self, P, coef):
        spectra = np.einsum("nf,snf->sf", P, np.fft.rfft(coef).conj())
        return np.fft.irfft(spectra, self.n_features)

    def _adjoint_rows(self, X, index):
        return X[np.arange(len(X))[:, None], (np.arange(self.n_features) + index[:, None]) % 9]


def test_a_fast_operator_of_ones_own():
    operator = FastRollOperator(9)
    check_operator(operator)
    check_operator(with_feature_weight(operator, np.linspace(1, 2, 9)))
    X = np.random.default_rng(0).standard_normal((40, 9))
    X[3, 2:5] = np.nan
    block = make_block(RollOperator(9), np.linalg.qr(X[4:13].T)[0].T[:2])
    slow, fast = (match(Chunk(X, o), block) for o in (RollOperator(9), operator))
    np.testing.assert_array_equal(fast.index, slow.index)
    np.testing.assert_allclose(fast.score, slow.score, atol=1e-9)


def test_a_family_of_ones_own():
    check_operator(Roll().bind((9,)))
    check_operator(Compose(Roll(), Reflection()).bind((9,)))
    check_operator(Compose(Shift(9), Roll()).bind((14,)))
    X = np.random.default_rng(0).standard_normal((40, 9))
    own = GTPCA(2, Roll(), solver=QUICK, random_state=0).fit(X)
    ours = GTPCA(2, Shift(boundary="circular"), solver=QUICK, random_state=0).fit(X)
    np.testing.assert_allclose(own.components_, ours.components_, rtol=0, atol=1e-4)
    np.testing.assert_allclose(own.explained_energy_, ours.explained_energy_, rtol=1e-4)
    codes = own.encode(X)
    np.testing.assert_array_equal(own.poses(codes)["transform"], codes.index)
    strongest = np.abs(codes.scores).argmax(axis=0)
    assert codes.index[strongest, range(2)].tolist() == [0, 0]
    assert own.align(X).shape == X.shape


def test_check_operator_finds_what_is_wrong():
    class Wrong(RollOperator):
        def adjoint(self, M):
            return sum(np.roll(row, t) for t, row in enumerate(M))

    class Late(RollOperator):
        def correlate(self, P, W):
            return np.roll(super().correlate(P, W), 1, axis=2)

    class Long(RollOperator):
        def gram(self, stack):
            return 2 * super().gram(stack)

    class Off(RollOperator):
        def apply_at(self, w, index):
            return self.apply(w)[np.asarray(index) - 1]

    class Half(RollOperator):
        def normal(self, moments):
            return 0.5 * super().normal(moments)

    for wrong, word in [
        (Wrong, "adjoint"),
        (Late, "correlate"),
        (Long, "gram"),
        (Off, "apply_at"),
        (Half, "normal"),
    ]:
        with pytest.raises(AssertionError, match=word):
            check_operator(wrong(9))


# --- invariance of the scores ---

GAP = 1e-5  # of the largest score: rows whose two best transforms are closer are left out


def rolled(rng, x, axes):
    return np.roll(x, [rng.integers(x.shape[a]) for a in axes], axes)


def turned(rng, x):
    return np.rot90(x, rng.integers(4))


def flipped(rng, x, axes):
    return np.flip(x, [a for a in axes if rng.integers(2)])


INVARIANT = {
    "circular": (Shift(boundary="circular"), (20,), lambda r, x: rolled(r, x, (0,))),
    "circular-short": (Shift(7, boundary="circular"), (20,), lambda r, x: rolled(r, x, (0,))),
    "circular-channels-last": (
        Shift(boundary="circular", axes=0),
        (15, 2),
        lambda r, x: rolled(r, x, (0,)),
    ),
    "circular-channels-first": (
        Shift(9, boundary="circular", axes=-1),
        (2, 15),
        lambda r, x: rolled(r, x, (1,)),
    ),
    "circular-images": (
        Shift(boundary="circular", axes=(0, 1)),
        (6, 7),
        lambda r, x: rolled(r, x, (0, 1)),
    ),
    "right-angles-even": (Rotation(4), (6, 6), turned),
    "right-angles-odd": (Rotation(4), (7, 7), turned),
    "right-angles-colours": (Rotation(4), (6, 6, 3), turned),
    "reflection": (Reflection(), (15,), lambda r, x: flipped(r, x, (0,))),
    "reflections": (Reflection((0, 1)), (5, 6), lambda r, x: flipped(r, x, (0, 1))),
    "dihedral": (
        Compose(Rotation(4), Reflection(0)),
        (6, 6),
        lambda r, x: flipped(r, turned(r, x), (0, 1)),
    ),
    "everything": (
        Compose(Shift(boundary="circular", axes=(0, 1)), Rotation(4), Reflection(0)),
        (5, 5),
        lambda r, x: rolled(r, flipped(r, turned(r, x), (0, 1)), (0, 1)),
    ),
}


def clear_rows(model, X):
    """Rows whose two best transforms differ by GAP of the largest score, on every component.

    Written out with the bank of all transforms, so that it does not lean on what it judges.
    """
    residual = X.reshape(len(X), -1).astype(np.float64)
    clear = np.ones(len(X), dtype=bool)
    for w in model.components_.reshape(model.n_components_, -1):
        bank = model.operator_.apply(w)
        bank = bank / np.linalg.norm(bank, axis=1, keepdims=True)
        products = residual @ bank.T
        fits = np.sort(np.abs(products), axis=1)
        clear &= fits[:, -1] - fits[:, -2] > GAP * fits.max()
        best = np.abs(products).argmax(axis=1)
        residual = residual - products[np.arange(len(X)), best][:, None] * bank[best]
    return clear


@pytest.mark.parametrize("name", INVARIANT)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scores_are_invariant(name, dtype):
    family, shape, move = INVARIANT[name]
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, *shape)).astype(dtype)
    model = GTPCA(3, family, solver=QUICK, random_state=0).fit(X)
    moved = np.stack([move(rng, x) for x in X])
    assert not np.array_equal(moved, X)
    before, after = model.transform(X), model.transform(moved)
    clear = clear_rows(model, X)
    # 3 matches of 80 rows whose gaps are spread over the order of the largest score: a chance of
    # about 1e-5 times the number of transforms each
    assert np.count_nonzero(~clear) <= 4, f"{np.count_nonzero(~clear)} rows left out"
    gap = np.abs(after - before)[clear] / np.abs(before).max()
    assert gap.max() <= 1e-5
    np.testing.assert_allclose(
        model.score_samples(moved)[clear], model.score_samples(X)[clear], rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("name", ["circular", "right-angles-even", "reflection"])
def test_ordinary_pca_is_not_invariant(name):
    """The test above can fail: without the family the scores move by the order of themselves."""
    _, shape, move = INVARIANT[name]
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, *shape))
    model = GTPCA(3, Identity()).fit(X)
    before, after = model.transform(X), model.transform(np.stack([move(rng, x) for x in X]))
    assert np.abs(after - before).max() > 0.5 * np.abs(before).max()


@pytest.mark.parametrize("polarity", ["both", "positive"])
def test_invariance_reaches_the_fit(polarity):
    """Each row moved on its own: same components up to pose, same energies, same scores."""
    rng = np.random.default_rng(0)
    spike = np.exp(-0.5 * (np.arange(24) - 8) ** 2) - 0.5 * np.exp(-0.1 * (np.arange(24) - 13) ** 2)
    rows = rng.uniform(1, 3, 60)[:, None] * np.stack([np.roll(spike, s) for s in range(60)])
    X = rows + 0.01 * rng.standard_normal((60, 24))
    moved = np.stack([rolled(rng, x, (0,)) for x in X])
    family = Shift(boundary="circular")
    first, second = (
        GTPCA(1, family, polarity=polarity, random_state=0).fit(data) for data in (X, moved)
    )
    np.testing.assert_allclose(first.explained_energy_, second.explained_energy_, rtol=1e-5)
    np.testing.assert_allclose(
        np.abs(first.transform(X)), np.abs(second.transform(moved)), rtol=0, atol=1e-3
    )


def blobs(shape, width, angles, heights):
    """Images of three blobs, evaluated (not interpolated) at any angle: (n, *shape)."""
    places = np.array([[-1, 7.5], [-6, -3], [4, -5]])
    r, c = (i - (s - 1) / 2 for i, s in zip(np.indices(shape), shape, strict=True))
    images = []
    for angle, height in zip(np.deg2rad(angles), heights, strict=True):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        squares = [(r - p) ** 2 + (c - q) ** 2 for p, q in places @ turn.T]
        images.append(height @ np.exp(-np.array(squares) / (2 * width**2)).reshape(3, -1))
    return np.array(images).reshape(-1, *shape)


@pytest.mark.parametrize("shape", [(37, 37), (36, 36), (36, 39)])
def test_scores_are_nearly_invariant_to_interpolated_rotations(shape):
    """Rows turned by the angles of the family keep their scores to 2 * 0.126 / s^2 of their norm.

    Linear interpolation at a share t between two points is off by t (1 - t) / 2 times the second
    derivative. For t uniform in both directions and Gaussian blobs of width s, |f_xx| =
    sqrt(3/4) / s^2 and <f_xx, f_yy> = 1 / (4 s^4) relative to |f|: the mean square of the error is
    ((1/120) (3/2) + 2 (1/144) (1/4)) / s^4, and so T w is off by e = 0.126 / s^2 of its norm. Two
    scores are compared, each from a unit vector that is off by e, hence 2 e |x|: 2.8 % for s = 3.
    The rows themselves are evaluated at their angle, not interpolated, and no two are alike: the
    component does not explain them fully, where the error would be of second order only.
    """
    rng = np.random.default_rng(0)
    n, count, width = 60, 12, 3.0
    angles, extra = rng.integers([0, 1], count, (n, 2)).T * 360 / count
    heights = rng.choice([-1, 1], (n, 1)) * rng.normal([1, 0.7, -0.8], 0.3, (n, 3))
    X, moved = (blobs(shape, width, a, heights) for a in (angles, angles + extra))
    model = GTPCA(1, Rotation(count), random_state=0).fit(X)
    norms = np.linalg.norm(X.reshape(n, -1), axis=1)
    gap = np.abs(model.transform(moved) - model.transform(X))[:, 0] / norms
    assert gap.max() <= 2 * 0.126 / width**2
    assert 0.5 < model.score_samples(X).mean() < 0.99
    typical = model.score_samples(X) > 0.9
    assert np.count_nonzero(typical) > 20
    poses = [model.poses(model.encode(data))["degrees"][typical, 0] for data in (X, moved)]
    difference = (poses[1] - poses[0] - extra[typical] + 180) % 360 - 180
    np.testing.assert_allclose(difference, 0, rtol=0, atol=1e-9)
    plain = GTPCA(1).fit(X)  # control: without the family they move by far more
    assert np.median(np.abs(plain.transform(moved) - plain.transform(X))[:, 0] / norms) > 0.1

"""What holds for every family, shape, type, layout, scale, weight, chunking and kind of rows.

A property is a function of a drawn :class:`Case`. ``make test`` draws 20 of each, always the same;
``make test-long`` draws 5,000 in total.
"""

from __future__ import annotations

import importlib.util
import pickle
import tempfile
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from conftest import ALL_FAMILIES
from helpers import GROUPS
from sklearn.exceptions import ConvergenceWarning

import gtpca
from gtpca import (
    ALS,
    GTPCA,
    Compose,
    Deformation,
    Reflection,
    Rotation,
    Scaling,
    Shift,
    TimeWarp,
)
from gtpca.families import Family

hypothesis = pytest.importorskip("hypothesis", reason="cases are drawn by hypothesis")
from hypothesis import HealthCheck, Phase, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

SLOW = {"compose-crop-warp", "compose-rotation-shift", "shift-2d-crop"}  # a second each
FILES = {"memmap": "numpy", "h5py": "h5py", "zarr": "zarr", "dask": "dask", "frame": "pandas"}
NUMBERS = {"int16": np.float32, "int32": np.float64}  # and the floats that hold them
KINDS = ["array", "list", *NUMBERS, "swapped bytes"]
KINDS += [kind for kind, name in FILES.items() if importlib.util.find_spec(name)]
LAYOUTS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "reversed": lambda X: X[::-1].copy()[::-1],
    "strided": lambda X: np.repeat(X, 2, axis=-1)[..., ::2],
}
FAMILIES = ALL_FAMILIES | GROUPS | {"half": (Shift(16), (32,))}
TOLERANCE = {np.float64: 1e-7, np.float32: 2e-3}  # of results that may be rounded otherwise


@dataclass(frozen=True)
class Case:
    """Rows and a model of them, and everything that should not matter."""

    family: Family
    shape: tuple
    n_rows: int
    dtype: type
    seed: int
    options: dict
    layout: str = "C"
    power: int = 0
    batch_size: int = 7
    kind: str = "array"

    @property
    def rng(self):
        return np.random.default_rng(self.seed)

    def rows(self):
        """Patterns in random poses, noise, and now and then a row of zeros; (n, *shape)."""
        operator, rng = self.family.bind(self.shape), self.rng
        X = 0.1 * rng.standard_normal((self.n_rows, operator.n_features))
        for w in rng.standard_normal((2, operator.n_weights)):
            poses = rng.integers(operator.n_transforms, size=self.n_rows)
            X += rng.standard_normal((self.n_rows, 1)) * operator.apply_at(w, poses)
        X[: self.seed % 2] = 0
        return LAYOUTS[self.layout](X.reshape(-1, *self.shape).astype(self.dtype))

    def model(self, **more):
        solver = ALS(n_init=2, max_iter=8)
        how = {"random_state": 0, "solver": solver, "sample_shape": self.shape}
        return GTPCA(family=self.family, **how | self.options | more)

    def fit(self, X, sample_weight=None, **more):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", UserWarning)  # of families that cannot move
            return self.model(**more).fit(X, sample_weight=sample_weight)

    def close(self, a, b, factor=1.0):
        """Equal up to rounding in the precision of the rows."""
        atol = factor * TOLERANCE[self.dtype] * max(1e-300, np.abs(a).max(initial=0.0))
        return np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=0, atol=atol)


OPTIONS = st.fixed_dictionaries(
    {
        "n_components": st.integers(1, 2),
        "shared_pose": st.booleans(),
        "polarity": st.sampled_from(["both", "positive"]),
        "center": st.sampled_from([False, True, "samples"]),
        "refine": st.integers(0, 1),
    }
).filter(lambda how: not (how["shared_pose"] and how["polarity"] == "positive"))


SIZES, WINDOWS = st.integers(5, 16), st.integers(2, 20)
STRENGTHS = st.lists(st.floats(-0.5, 0.5), min_size=1, max_size=4)
SHIFTS = st.builds(
    Shift,
    WINDOWS,
    axes=st.just(0),
    boundary=st.sampled_from(["valid", "partial"]),
    step=st.integers(1, 3),
)
SERIES = st.one_of(
    SHIFTS,
    st.just(Shift(boundary="circular", axes=0)),
    st.builds(Reflection, st.just(0)),
    st.builds(Scaling, st.lists(st.floats(0.5, 2.0), min_size=1, max_size=4), axes=st.just(0)),
    st.builds(TimeWarp, STRENGTHS, axes=st.just(0)),
    st.builds(Compose, SHIFTS, st.builds(Reflection, st.just(0))),
)
IMAGES = st.one_of(
    st.builds(Shift, st.tuples(WINDOWS, WINDOWS)),
    st.builds(Rotation, st.integers(1, 6)),
    st.builds(Deformation, amplitude=st.floats(0.5, 2.0), n_fields=st.integers(2, 6)),
)
SERIES_SHAPES = st.one_of(st.tuples(SIZES), st.tuples(SIZES, st.integers(1, 3)))
ANY_SHAPE = st.one_of(  # families with parameters and shapes that nobody has chosen
    st.tuples(SERIES, SERIES_SHAPES), st.tuples(IMAGES, st.tuples(SIZES, SIZES))
)


def cases(names):
    """Cases of some families of the list; of other parameters and shapes if these are many."""
    listed = st.sampled_from([FAMILIES[name] for name in sorted(names)])
    chosen = st.one_of(listed, ANY_SHAPE) if len(names) > len(GROUPS) else listed
    return chosen.flatmap(
        lambda pair: st.builds(
            Case,
            family=st.just(pair[0]),
            shape=st.just(pair[1]),
            n_rows=st.integers(4, 30),
            dtype=st.sampled_from([np.float64, np.float32]),
            seed=st.integers(0, 2**16),
            options=OPTIONS,
            layout=st.sampled_from(sorted(LAYOUTS)),
            power=st.integers(-100, 100),
            batch_size=st.integers(1, 40),
            kind=st.sampled_from(KINDS),
        )
    )


def same_fit(case, one, other, X, factor=1.0):
    """Whether two models are the same up to rounding.

    Mirror images of components are, where a window may be flipped: they rebuild the same.
    """
    same = case.close(one.explained_energy_ratio_, other.explained_energy_ratio_, factor)
    if not same or case.close(one.components_, other.components_, 30 * factor):
        return same
    return case.close(one.reconstruct(X), other.reconstruct(X), 30 * factor)


def assert_same_fit(case, one, other, X, sample_weight=None):
    """Two models are the same up to rounding, unless rounding decides between two optima."""
    assert same_fit(case, one, other, X) or is_fragile(case, one, X, sample_weight)


def is_fragile(case, model, X, sample_weight, tries=4):
    """Whether rows that differ in their last digits have quite another model."""
    factor = 1e-4 / TOLERANCE[np.float64] if case.dtype == np.float64 else 1.0
    for seed in range(tries):
        last_digits = 1e-6 * np.random.default_rng(seed).standard_normal(X.shape)
        near = case.fit((X * (1 + last_digits)).astype(case.dtype), sample_weight)
        if not same_fit(case, model, near, X, factor):
            return True
    return False


# --- the properties ---


def scale_does_not_matter(case):
    X, p = case.rows(), case.power * (4 if case.dtype == np.float64 else 1)
    one, other = case.fit(X), case.fit(np.ldexp(X, p))
    codes, moved = one.encode(X), other.encode(np.ldexp(X, p))
    assert np.array_equal(one.components_, other.components_)
    assert np.array_equal(np.ldexp(one.explained_energy_, 2 * p), other.explained_energy_)
    assert np.array_equal(codes.index, moved.index)
    assert np.array_equal(np.ldexp(codes.scores, p), moved.scores)
    assert np.array_equal(one.resmse(X), other.resmse(np.ldexp(X, p)))


def weight_is_repetition(case):
    weigh_or_repeat(case, case.rows())


def weigh_or_repeat(case, X):
    weight = np.append(np.random.default_rng(case.seed + 1).integers(0, 4, len(X) - 2), [1, 2])
    weighted, repeated = case.fit(X, weight), case.fit(np.repeat(X, weight, axis=0))
    assert_same_fit(case, weighted, repeated, X, weight)


def weight_is_repetition_for_the_lookahead(case):
    """Pulses anywhere, a window of half a sample: the lookahead decides where they sit in it."""
    case = replace(case, options={"n_components": 2, "solver": ALS(n_init=4)})
    rng = case.rng
    X = 0.1 * rng.standard_normal((30 + case.n_rows, *case.shape)).astype(case.dtype)
    for row, place in zip(X, rng.integers(0, 29, len(X)), strict=True):
        row[place : place + 4] += 1
    weigh_or_repeat(case, X)


def order_does_not_matter(case):
    X = case.rows()
    order = case.rng.permutation(len(X))
    one, other = case.fit(X), case.fit(X[order])
    assert_same_fit(case, one, other, X)
    assert case.close(one.encode(X).scores[order], one.encode(X[order]).scores)


def rows_are_coded_alone(case):
    X = case.rows()
    model = case.fit(X)
    together = model.encode(X)
    alone = [model.encode(x[None]) for x in X]
    assert case.close(together.scores, np.concatenate([codes.scores for codes in alone]))
    if case.dtype == np.float64:
        assert np.array_equal(together.index, np.concatenate([codes.index for codes in alone]))


def energies_add_up(case):
    X = case.rows()
    model = case.fit(X)
    codes, energies = model.measure(X)
    total, left = energies[:, 0].sum(), energies.sum(axis=0)
    assert case.close(model.resmse(X), left[1:] / total)
    seen = model.chunks(X).concat(lambda chunk: chunk.rows)
    mean = 0 if model.mean_ is None else model.mean_.ravel()
    rest = seen - (model.decode(codes).reshape(len(X), -1) - mean)
    assert case.close(energies[:, -1], np.sum(rest.astype(float) ** 2, axis=1))
    for history in model.history_:
        assert np.all(np.diff(history) >= -TOLERANCE[case.dtype] * total)
    if not case.options["refine"]:
        assert np.all(np.diff(energies, axis=1) <= TOLERANCE[case.dtype] * total)
        assert case.close(model.explained_energy_, -np.diff(left))


def what_moves_moves_the_pose(case):
    X = case.rows()
    model = case.fit(X, center=False)
    operator = model.operator_
    t = case.rng.integers(operator.n_transforms, size=len(X))
    rows = X.reshape(len(X), -1).astype(np.float64)
    moved = operator.apply_at(rows, t).astype(case.dtype).reshape(X.shape)
    assert case.close(np.abs(model.encode(X).scores), np.abs(model.encode(moved).scores))
    here, there = (model.reconstruct(x).reshape(len(X), -1) for x in (X, moved))
    assert case.close(operator.apply_at(here.astype(np.float64), t), there)


def a_projection_is_its_own(case):
    X = case.rows()
    model = case.fit(X, n_components=1, shared_pose=False, center=False)
    codes = model.encode(X)
    decoded = model.decode(codes)
    # where one weight alone is in sight, the same value has another pose with the other sign
    assert case.close(np.abs(codes.scores), np.abs(model.encode(decoded).scores))
    assert case.close(decoded, model.reconstruct(decoded))


def files_and_pickles_are_the_model(case):
    X = case.rows()
    model = case.fit(X)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder, "model.gtpca"))
        others = [gtpca.load(Path(folder, "model.gtpca")), pickle.loads(pickle.dumps(model))]
    codes = model.encode(X)
    for other in others:
        for name in ("components_", "explained_energy_", "explained_energy_ratio_", "n_iter_"):
            assert np.array_equal(getattr(model, name), getattr(other, name))
        again = other.encode(X)
        assert np.array_equal(codes.scores, again.scores)
        assert np.array_equal(codes.index, again.index)


def threads_and_chunks_do_not_matter(case):
    X, size = case.rows(), case.batch_size
    model, chunked = case.fit(X), case.fit(X, batch_size=size)
    threads = case.fit(X, batch_size=size, n_jobs=2)
    assert_same_fit(case, model, chunked, X)
    assert np.array_equal(chunked.components_, threads.components_)
    assert np.array_equal(model.components_, case.fit(X).components_)


def the_kind_of_rows_does_not_matter(case):
    X = case.rows()
    if case.kind == "list":
        X = X.astype(np.float64)
    if case.kind in NUMBERS:
        X = np.rint(50 * X).astype(NUMBERS[case.kind])
    with tempfile.TemporaryDirectory() as folder:
        put = as_kind(case.kind, X, case.batch_size, Path(folder))
        model, other = case.fit(X), case.fit(put)
        assert_same_fit(case, model, other, X)
        codes, again = other.encode(X), other.encode(put)
        assert case.close(codes.scores, np.asarray(again.scores))


def as_kind(kind, X, size, folder):
    """The rows ``X`` as something else that ``fit`` takes, in chunks of ``size`` rows."""
    chunks = (min(size, len(X)), *X.shape[1:])
    if kind == "list":
        return X.tolist()
    if kind in NUMBERS:
        return X.astype(kind)
    if kind == "swapped bytes":
        return X.astype(X.dtype.newbyteorder())
    if kind == "frame":
        return importlib.import_module("pandas").DataFrame(X.reshape(len(X), -1))
    if kind == "dask":
        return importlib.import_module("dask.array").from_array(X, chunks=chunks)
    if kind == "memmap":
        np.save(folder / "rows.npy", X)
        return np.load(folder / "rows.npy", mmap_mode="r")
    if kind == "h5py":
        file = importlib.import_module("h5py").File(folder / "rows.h5", "w")
        return file.create_dataset("X", data=X, chunks=chunks)
    if kind == "zarr":
        made = importlib.import_module("zarr").create_array(
            str(folder / "rows.zarr"), shape=X.shape, chunks=chunks, dtype=X.dtype
        )
        made[...] = X
        return made
    return X


# --- how many of them are drawn ---

QUICK_FAMILIES = set(ALL_FAMILIES) - SLOW
PROPERTIES = {
    scale_does_not_matter: QUICK_FAMILIES,
    weight_is_repetition: QUICK_FAMILIES,
    weight_is_repetition_for_the_lookahead: {"half"},
    order_does_not_matter: QUICK_FAMILIES,
    rows_are_coded_alone: QUICK_FAMILIES,
    energies_add_up: QUICK_FAMILIES,
    what_moves_moves_the_pose: set(GROUPS),
    a_projection_is_its_own: QUICK_FAMILIES,
    files_and_pickles_are_the_model: QUICK_FAMILIES - {"custom-callable"},
    threads_and_chunks_do_not_matter: QUICK_FAMILIES,
    the_kind_of_rows_does_not_matter: QUICK_FAMILIES,
}
FEW = settings(
    max_examples=20,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],  # smaller cases would be as long, and take minutes to find
    suppress_health_check=list(HealthCheck),
)
MANY = settings(FEW, max_examples=455)  # 11 properties: 5,005 cases


def names(properties):
    return [p.__name__ for p in properties]


@pytest.mark.parametrize("prop", PROPERTIES, ids=names(PROPERTIES))
def test_property(prop):
    FEW(given(cases(PROPERTIES[prop]))(prop))()


@pytest.mark.long
@pytest.mark.parametrize("prop", PROPERTIES, ids=names(PROPERTIES))
def test_property_of_many_cases(prop):
    slow = SLOW if PROPERTIES[prop] is QUICK_FAMILIES else set()
    MANY(given(cases(PROPERTIES[prop] | slow))(prop))()

"""Every operator against its slow and obvious meaning."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from gtpca import Compose, Reflection, Rotation, Scaling, Shift
from gtpca.data.chunks import Chunk
from gtpca.model.matching import make_block, match
from gtpca.operators import Operator
from gtpca.operators.backend import window_sums
from gtpca.operators.base import with_feature_weight
from gtpca.operators.normal import Moments, conjugate_gradients
from gtpca.operators.poses import PoseSpace
from gtpca.operators.ready import Ready
from gtpca.testing import check_operator, public_methods


def test_every_operator(bound):
    check_operator(bound)


def test_every_operator_with_feature_weight(bound):
    weight = np.random.default_rng(1).uniform(0.2, 2.0, bound.n_features)
    check_operator(with_feature_weight(bound, weight))


def wrong(value, arguments):
    """What a method answers, changed."""
    if isinstance(value, np.ndarray):
        return -2.0 * value + 0.1
    if isinstance(value, Operator):
        shape = (value.n_features + 2,)
        return Shift(boundary="circular").bind(shape)
    if isinstance(value, dict):
        return {name: column[:1] for name, column in value.items()}
    if isinstance(value, bool) or value is None:  # done in place, if at all
        arguments[0][...] += 0.1
        return value
    if sparse.issparse(value):
        return 2.0 * value
    if hasattr(value, "solve"):
        return 2.0 * value
    if isinstance(value, PoseSpace):
        return replace(value, nodes=-2.0 * value.nodes + 0.1)
    if isinstance(value, Ready):
        return Ready(value.operator, 2.0 * value.w)
    return [v[1:] for v in value]


@pytest.mark.parametrize("name", sorted(public_methods()))
def test_an_operator_that_is_wrong_in_one_method_fails(name, bound, monkeypatch):
    operator = bound
    kind, member = type(operator), getattr(type(operator), name)
    read = getattr(member, "fget", getattr(member, "func", None))  # of a property, or a cached one
    answers = []

    def changed(self, *arguments, **options):
        right = read(self) if read else member(self, *arguments, **options)
        if self is not operator:
            return right
        answers.append(right)
        in_place = name in ("add_moved", "move_prepared")
        return right if right is None and not in_place else wrong(right, arguments)

    monkeypatch.setattr(kind, name, property(changed) if read else changed)
    try:
        check_operator(operator)
    except (AssertionError, ValueError, IndexError):
        return
    says_nothing = all(answer is None or answer is False for answer in answers)
    empty = name in ("moves", "describe") and not any(len(list(answer)) for answer in answers)
    empty |= name == "pose_space" and not any(answer.nodes.size for answer in answers)
    assert name != "add_moved"
    assert says_nothing or empty, f"{name} is wrong, and check_operator says nothing"


class WrongAdjoint(Operator):
    """A transform with an adjoint that is off by one."""

    def __init__(self):
        super().__init__((5,), (5,), 1)

    def apply(self, w):
        return np.roll(w, 1)[None]

    def adjoint(self, M):
        return np.roll(M[0], -2)


def test_a_wrong_adjoint_is_caught():
    with pytest.raises(AssertionError, match="dot test"):
        check_operator(WrongAdjoint())


def test_weights_of_another_shape_are_caught():
    operator = Shift(4).bind((9,))
    operator.moves = lambda w, far=False: [w.reshape(2, 2)]
    with pytest.raises(AssertionError, match="moves: not of the shape"):
        check_operator(operator)


@pytest.mark.parametrize("width", [1, 2, 5, 9])
@pytest.mark.parametrize("axis", [0, 1])
def test_window_sums(width, axis):
    a = np.random.default_rng(0).uniform(size=(9, 13))
    views = np.lib.stride_tricks.sliding_window_view(a, width, axis=axis)
    np.testing.assert_allclose(window_sums(a, width, axis), views.sum(axis=-1), rtol=1e-14)


def test_faint_windows_beside_strong_ones_keep_their_digits():
    w = np.concatenate([np.full(20, 1e-9), np.full(20, 1e9)])
    norms = np.sqrt(Shift(40).bind((10,)).gram(w[None, None])[0, :, 0, 0])
    np.testing.assert_allclose(norms[-1], 1e-9 * np.sqrt(10), rtol=1e-12)


def test_an_empty_window_never_wins():
    operator = Shift(40).bind((10,))
    w = np.concatenate([np.zeros(20), np.ones(20)])
    X = np.random.default_rng(0).standard_normal((50, 10)).astype(np.float32)
    block = make_block(operator, w[None], X.dtype)
    found = match(Chunk(X, operator), block)
    norms = np.linalg.norm(operator.apply(w), axis=1)
    assert np.all(norms[found.index] > 0)
    assert np.isfinite(found.score).all()
    assert np.isfinite(found.coef).all()
    assert np.all(block.root[norms == 0] == 0)


@pytest.mark.parametrize(
    ("family", "shape", "is_group"),
    [
        (Shift(boundary="circular"), (12,), True),
        (Shift(boundary="circular", step=5), (12,), False),
        (Shift(boundary="circular", step=4), (12,), True),
        (Shift(boundary="circular", max_shift=2), (12,), False),
        (Shift(7), (12,), False),
        (Reflection((0, 1)), (5, 6), True),
        (Rotation(4), (6, 6), True),
        (Rotation([0, 90]), (6, 6), False),
        (Rotation([0, 180]), (5, 6), True),
        (Rotation(8), (6, 6), False),
        (Scaling((0.5, 1, 2)), (9,), False),
        (Compose(Shift(boundary="circular", axes=(0, 1)), Rotation(4)), (6, 6), True),
        (Compose(Shift(boundary="circular", axes=0), Rotation(8)), (6, 6), False),
        (Compose(Shift(7), Scaling((0.5, 1, 2))), (12,), False),
    ],
)
def test_groups_are_recognised(family, shape, is_group):
    operator = family.bind(shape)
    w = np.random.default_rng(0).standard_normal(operator.n_weights)
    moved = operator.translate(w, operator.n_transforms - 1)
    assert (moved is not None) == is_group
    if is_group:
        np.testing.assert_allclose(moved, operator.apply(w)[-1])


@pytest.mark.parametrize(
    ("family", "shape"),
    [
        (Compose(Shift(boundary="circular", axes=0), Rotation(4)), (6, 6)),
        (Compose(Shift(7), Reflection()), (12,)),
        (Compose(Shift(7, axes=0), Reflection((0, 1))), (12, 3)),
    ],
)
def test_groups_inside_compositions_are_recognised(family, shape):
    operator = family.bind(shape)
    w = np.random.default_rng(0).standard_normal(operator.n_weights)
    moved = operator.translate(w, operator.n_transforms - 1)
    np.testing.assert_allclose(moved, operator.inner.apply(w)[-1])
    one, other = (np.array(sorted(operator.apply(v).tolist())) for v in (w, moved))
    np.testing.assert_allclose(one, other)
    assert Compose(Shift(20), Reflection()).bind((12,)).translate(np.ones(20), 0) is None


def test_conjugate_gradients_at_any_scale_and_where_nothing_is_seen():
    A = np.random.default_rng(0).standard_normal((6, 6))
    N, rhs = A @ A.T + np.eye(6), np.arange(1.0, 7.0)
    wanted = np.linalg.solve(N, rhs)
    for power in (-400, -300, 0, 300, 400):
        scale = 2.0**power
        times, systems = (lambda W, s=scale: W @ (s * N)), np.array([scale * rhs, 0 * rhs])
        found = conjugate_gradients(times, systems, np.zeros((2, 6)))
        np.testing.assert_allclose(found, [wanted, 0 * rhs], rtol=1e-6)
    half = conjugate_gradients(lambda W: W * [1.0, 0.0], np.ones((1, 2)), np.zeros((1, 2)))
    assert np.all(np.isfinite(half))


def test_assembled_normal_equations_are_those_of_the_transforms(bound):
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((bound.n_transforms, 3, 3))
    weight = weight @ weight.transpose(0, 2, 1)
    W = rng.standard_normal((3, bound.n_weights))
    nodes = weight.sum(axis=0, keepdims=True) if bound.isometric else weight
    found = bound.normal(Moments(nodes[None])).times(W[None])[0]
    wanted = Operator._node_times(bound, weight, W)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


def test_sums_of_integer_rows_keep_their_coefficients():
    rows, index, half = np.arange(10).reshape(2, 5), np.array([0, 1]), np.array([0.5, 0.5])
    for family in (Reflection(0), Shift(3, boundary="partial"), Shift(3)):
        operator = family.bind((5,))
        for each in (index, index[None]):
            found = operator.adjoint_at(rows, each, half[None])
            wanted = operator.adjoint_at(rows.astype(float), each, half[None])
            np.testing.assert_allclose(found, wanted)

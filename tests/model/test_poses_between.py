"""Poses between the nodes: what an operator with a search of its own plugs into."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from gtpca import GTPCA, Codes, Family, ProbabilisticGTPCA, Rotation
from gtpca.data.chunks import Chunk
from gtpca.model.matching import coded_statistics, make_block, match, statistics, update
from gtpca.operators import BankOperator
from gtpca.operators.normal import Normal
from gtpca.operators.poses import DEGREES, Continuous, PoseAxis
from gtpca.testing import check_operator

SIZE, REACH = 24, 6.0


class DenseNormal(Normal):
    """Normal equations as dense matrices (S, K, K, L, L)."""

    def __init__(self, N):
        self.N = N

    def times(self, W):
        return np.einsum("sjklm,skm->sjl", self.N, W)

    @property
    def cover(self):
        return np.einsum("skkll->sl", self.N)

    def __rmul__(self, factor):
        return DenseNormal(factor * self.N)


class Slides(Continuous):
    """``(T_theta w)(x) = w(x - theta)``, linear between points: slow and obvious."""

    axes = (PoseAxis("offset", -REACH, REACH, "points"),)

    def __init__(self, from_nodes):
        self.from_nodes = from_nodes

    def matrices(self, pose):
        """(n, d, L)."""
        source = np.arange(SIZE) - pose
        return np.maximum(1 - np.abs(source[:, :, None] - np.arange(SIZE)), 0.0)

    def apply(self, w, pose):
        return np.einsum("ndl,nl->nd", self.matrices(pose), np.broadcast_to(w, (len(pose), SIZE)))

    def adjoint(self, X, pose):
        return np.einsum("ndl,nd->nl", self.matrices(pose), X)

    def sums(self, pose, coef, V):
        T = self.matrices(pose)
        V = np.broadcast_to(V, (len(pose), SIZE))
        return np.einsum("sn,nd,ndl,ndm->slm", coef, V, T, T, optimize=True).reshape(len(coef), -1)

    def normal(self, sums):
        return DenseNormal(sums.reshape(*sums.shape[:3], SIZE, SIZE))

    def search(self, X, V, W, starts, positive=False, rough=False):
        if starts is None:
            starts = np.broadcast_to(np.linspace(-REACH, REACH, 13)[:, None], (len(X), 13, 1))
        best, most = starts[:, 0].copy(), np.full(len(X), -1.0)
        for start in np.moveaxis(starts, 1, 0):
            for step in np.linspace(-0.6, 0.6, 7):
                pose = self.axes[0].within(start + step)
                more = self._explained(X, V, W, pose, positive)
                best[more > most], most = pose[more > most], np.maximum(more, most)
        return best

    def _explained(self, X, V, W, pose, positive):
        moved = np.stack([self.apply(w, pose) for w in W], axis=1)
        b, G = np.einsum("nkd,nd->nk", moved * V[:, None], X), moved * V[:, None]
        G = G @ moved.transpose(0, 2, 1) + 1e-12 * np.eye(len(W))
        b = np.maximum(b, 0) if positive else b
        return np.einsum("nk,nk->n", b, np.linalg.solve(G, b[:, :, None])[:, :, 0])


class Sliding(Family):
    """Slides, with nodes two points apart, or none but the identity."""

    def __init__(self, from_nodes=True):
        self.from_nodes = from_nodes

    def bind(self, sample_shape):
        between = Slides(self.from_nodes)
        nodes = np.arange(-REACH, REACH + 1, 2) if self.from_nodes else np.zeros(1)
        matrix = between.matrices(nodes[:, None]).reshape(-1, SIZE)
        operator = BankOperator(
            matrix, sample_shape, sample_shape, {"offset": nodes}, reference=len(nodes) // 2
        )
        operator.continuous = between
        return operator


def planted(n=30, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    w = np.exp(-0.5 * ((np.arange(SIZE) - 11.5) / 2.0) ** 2)
    pose = rng.uniform(-4, 4, (n, 1))
    size = rng.uniform(1, 2, n)
    X = size[:, None] * Slides(True).apply(w, pose)
    return X + noise * rng.standard_normal(X.shape), pose[:, 0]


BOTH = pytest.mark.parametrize("from_nodes", [True, False])


@BOTH
def test_check_operator_covers_poses_between_nodes(from_nodes):
    check_operator(Sliding(from_nodes).bind((SIZE,)))


class WrongAdjoint(Slides):
    def adjoint(self, X, pose):
        return super().adjoint(X, pose + 0.1)


class WrongSums(Slides):
    def sums(self, pose, coef, V):
        return super().sums(pose, coef, np.ones_like(V))


class WrongSearch(Slides):
    def search(self, X, V, W, starts, positive=False, rough=False):
        return self.axes[0].within(starts[:, 0] + 1.7)


@pytest.mark.parametrize("kind", [WrongAdjoint, WrongSums, WrongSearch])
def test_check_operator_finds_mistakes_between_nodes(kind):
    operator = Sliding().bind((SIZE,))
    operator.continuous = kind(True)
    with pytest.raises(AssertionError, match=r"dot test|sums|search"):
        check_operator(operator)


@BOTH
@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
@pytest.mark.parametrize("K", [1, 2])
def test_updates_at_poses_raise_the_explained_energy(from_nodes, gaps, K):
    operator = Sliding(from_nodes).bind((SIZE,))
    X, _ = planted(40, noise=0.3)
    rng = np.random.default_rng(1)
    if gaps:
        X[rng.random(X.shape) < 0.2] = np.nan
    W = np.linalg.qr(rng.standard_normal((SIZE, K)))[0].T
    before, chunk = None, Chunk(X, operator)
    last = 0.0
    for _ in range(8):
        found = match(chunk, make_block(operator, W), before)
        total = found.explained.sum()
        assert total >= last * (1 - 1e-9)
        last, before = total, found.index
        [W] = update(operator, _stats(chunk, found), W[None])


def _stats(chunk, found):
    return coded_statistics(chunk, found.index, found.coef, np.array([found.explained.sum()]))


@BOTH
def test_matches_at_poses_agree_with_least_squares(from_nodes):
    operator = Sliding(from_nodes).bind((SIZE,))
    X, _ = planted(5, noise=0.2)
    W = np.random.default_rng(0).standard_normal((2, SIZE))
    found = match(Chunk(X, operator), make_block(operator, W))
    for x, pose, coef, explained in zip(X, found.index, found.coef, found.explained, strict=True):
        moved = np.stack([operator.apply_at(w, pose[None])[0] for w in W])
        slow = np.linalg.lstsq(moved.T, x, rcond=None)[0]
        assert np.allclose(coef, slow, atol=1e-6)
        assert np.isclose(explained, np.sum((slow @ moved) ** 2))
    stats = statistics(Chunk(X, operator), [make_block(operator, W)])
    assert stats.moments.posed


@BOTH
@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
def test_a_fit_finds_poses_between_nodes(from_nodes, shared):
    X, truth = planted()
    model = GTPCA(2, Sliding(from_nodes), shared_pose=shared, random_state=0).fit(X)
    codes = model.encode(X)
    assert codes.index.shape == codes.pose.shape == (len(X), 1 if shared else 2, 1)
    offset = model.poses(codes)["offset"][:, 0]
    if not shared:  # two components in one pose can also show a shifted pulse
        assert np.std(offset - truth) < 0.25  # of nodes 2 apart: .58
    assert np.allclose(model.decode(codes), X, atol=0.15 * np.abs(X).max())
    assert model.align(X).shape == X.shape
    again = pickle.loads(pickle.dumps(codes))
    assert np.array_equal(again.pose, codes.pose)
    assert np.array_equal(codes[:7].pose, codes.pose[:7])


def test_codes_with_poses_are_written_and_read(tmp_path):
    codes = Codes(np.ones((3, 2)), np.linspace(0, 1, 6).reshape(3, 2, 1))
    codes.save(tmp_path / "codes.npz")
    assert np.array_equal(Codes.load(tmp_path / "codes.npz").pose, codes.pose)


def test_poses_of_nodes_are_looked_up():
    X = np.random.default_rng(0).standard_normal((6, 9, 9))
    model = GTPCA(1, Rotation(4), random_state=0).fit(X)
    codes = model.encode(X)
    assert codes.index.dtype.kind == "i"
    assert np.array_equal(codes.pose[..., 0], model.poses(codes)["degrees"])
    assert model.operator_.pose_space.axes == (replace(DEGREES, low=0.0, high=270.0),)
    with pytest.raises(ValueError, match="do not know their transforms"):
        _ = Codes(codes.scores, codes.index).pose


@BOTH
def test_scores_and_poses_are_one_output_that_can_be_inverted(from_nodes):
    X, _ = planted(20)
    model = GTPCA(2, Sliding(from_nodes), output="scores+poses", random_state=0).fit(X)
    names = ["gtpca0", "gtpca1", "gtpca0_offset_points", "gtpca1_offset_points"]
    assert list(model.get_feature_names_out()) == names
    found = model.inverse_transform(model.transform(X))
    assert np.allclose(found, model.decode(model.encode(X)))


@BOTH
def test_a_stream_updates_at_poses(from_nodes):
    X, _ = planted(60, noise=0.1)
    model = GTPCA(1, Sliding(from_nodes), random_state=0)
    for start in range(0, 60, 20):
        model.partial_fit(X[start : start + 20])
    batch = GTPCA(1, Sliding(from_nodes), random_state=0).fit(X)
    assert model.resmse(X)[0] < 1.1 * batch.resmse(X)[0]


def test_densities_sum_over_nodes_or_say_that_they_cannot():
    X, _ = planted(30, noise=0.1)
    model = ProbabilisticGTPCA(0, Sliding(), random_state=0).fit(X)
    assert model.encode(X).index.dtype.kind == "i"
    with pytest.raises(ValueError, match="A density sums over a list of transforms"):
        ProbabilisticGTPCA(0, Sliding(from_nodes=False)).fit(X)

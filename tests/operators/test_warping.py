"""Dynamic programming over warps beside brute force, and their normal equations beside matrices."""

from itertools import product

import numpy as np
import pytest

from gtpca.operators import warping

RNG = np.random.default_rng


def some_rows(rng, n, C, d, gaps=False):
    """``v x``, ``v`` and energies of random rows."""
    X, V = rng.standard_normal((n, C, d)), np.ones((1, C, d))
    if gaps:
        V = (rng.uniform(size=(n, C, d)) > 0.3) * rng.uniform(0.5, 2, (1, C, d))
    return X * V, V, np.sum(V * X**2, axis=(1, 2))


def every_pose(lattice):
    """All poses of a small lattice whose slopes are allowed."""
    poses = np.array(list(product(lattice.levels, repeat=lattice.n_moving)))
    return poses[lattice.is_allowed(poses)]


def worth(lattice, rows, W, pose, coef):
    """``2 c'b - c'G c`` minus the price of one pose (q,) with coefficients (n, K), by loops."""
    X, V, energy = rows
    gamma = np.interp(lattice.times, lattice.knots, lattice.knots + lattice.whole(pose[None])[0])
    read = [[np.interp(gamma, lattice.times, channel) for channel in w] for w in W]
    curve = np.tensordot(coef, np.array(read), axes=1)
    ends = np.interp(lattice.knots, lattice.times, gamma)
    if lattice.free:
        ends = lattice.knots + pose
    slopes, lengths = np.diff(ends) / np.diff(lattice.knots), np.diff(lattice.knots)
    rough = np.sum((slopes - 1) ** 2 * lengths) / lengths.sum()
    return np.sum(curve * (2 * X - V * curve), axis=(1, 2)) - lattice.rho * energy * rough


@pytest.mark.parametrize("free", [False, True], ids=["fixed", "free"])
@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
@pytest.mark.parametrize(("K", "C"), [(1, 1), (2, 1), (1, 2), (2, 3)])
def test_viterbi_finds_the_best_of_all_paths(free, gaps, K, C):
    lattice = warping.Lattice(13, 7, 2, free=free, reach=4.0, n_levels=2, rho=0.05)
    rng = RNG(K + 2 * C)
    rows = some_rows(rng, 5, C, 13, gaps)
    W = lattice.smooth(rng.standard_normal((K, C, 13)))
    coef = rng.standard_normal((5, K))
    best = warping._Tables(lattice, rows, W).best(coef)
    every = every_pose(lattice)
    values = np.array([worth(lattice, rows, W, pose, coef) for pose in every])
    found = [worth(lattice, rows, W, pose, coef)[i] for i, pose in enumerate(best)]
    np.testing.assert_allclose(found, values.max(axis=0), rtol=0, atol=1e-9)
    assert len(every) < len(lattice.levels) ** lattice.n_moving  # some slopes are not allowed


@pytest.mark.parametrize("free", [False, True], ids=["fixed", "free"])
def test_a_tube_is_searched_exactly(free):
    lattice = warping.Lattice(13, 13, 2, free=free, reach=4.0, n_levels=2, rho=0.05)
    rng = RNG(0)
    rows = some_rows(rng, 6, 1, 13, gaps=True)
    W = rng.standard_normal((1, 1, 13))
    poses = every_pose(lattice)[rng.integers(len(every_pose(lattice)), size=6)]
    found = warping.project(lattice, rows, W, poses)
    best = warping.in_tube(warping.beside(lattice, rows, W), found, 0.5)
    for i, pose in enumerate(poses):
        near = pose + 0.5 * np.array(list(product((-1, 0, 1), repeat=lattice.n_moving)))
        near = near[lattice.is_allowed(near) & (np.abs(near).max(axis=1) <= lattice.reach)]
        values = [worth(lattice, rows, W, one, found.coef)[i] for one in near]
        mine = worth(lattice, rows, W, best[i], found.coef)[i]
        assert mine == pytest.approx(max(values), abs=1e-9)


@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
@pytest.mark.parametrize("K", [1, 3])
def test_sums_over_channels_may_come_first(gaps, K):
    lattice, rng = warping.Lattice(17, 9, 2, free=True, reach=5.0), RNG(K)
    rows, W = some_rows(rng, 6, 5, 17, gaps), lattice.smooth(rng.standard_normal((K, 5, 17)))
    plain, crossed = warping.Beside(lattice, rows, W), warping.Crossed(lattice, rows, W)
    pose, coef = rng.uniform(-3, 3, (6, 4)), rng.standard_normal((6, K))
    for mine, other in zip(crossed.products(pose), plain.products(pose), strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-10)
    places = rng.uniform(-2, 19, (6, 9, 17))
    np.testing.assert_allclose(crossed.gains(coef, places), plain.gains(coef, places), atol=1e-10)
    assert isinstance(warping.beside(lattice, rows, W), warping.Crossed)


@pytest.mark.parametrize("free", [False, True], ids=["fixed", "free"])
def test_a_search_is_never_worse_than_its_starts_and_warps_are_monotone(free):
    lattice = warping.Lattice(40, 20, 5, free=free, reach=14.0)
    rng = RNG(1)
    rows = some_rows(rng, 12, 2, 40, gaps=True)
    W = lattice.smooth(rng.standard_normal((2, 2, 40)))
    start = np.zeros((12, lattice.n_moving))
    first = warping.search(lattice, rows, W, [start])
    assert np.all(first.worth >= warping.project(lattice, rows, W, start).worth)
    second = warping.search(lattice, rows, W + 0.1, [first.pose, start])
    old = warping.project(lattice, rows, W + 0.1, first.pose)
    assert np.all(second.worth >= old.worth)
    for found in (first, second):
        assert np.all(np.diff(lattice.warp(found.pose), axis=1) > 0)
        assert lattice.is_allowed(found.pose).all()
        assert np.abs(found.pose).max() <= lattice.reach + 1e-9


def test_pieces_of_rows_do_not_change_a_search(monkeypatch):
    lattice = warping.Lattice(30, 15, 3, reach=8.0)
    rows = some_rows(RNG(2), 7, 1, 30, gaps=True)
    W = lattice.smooth(RNG(3).standard_normal((1, 1, 30)))
    start = [np.zeros((7, 3))]
    whole = warping.search(lattice, rows, W, start)
    monkeypatch.setattr(warping, "PIECE", 1)
    np.testing.assert_allclose(warping.search(lattice, rows, W, start).pose, whole.pose)


def test_a_positive_projection_has_no_negative_coefficient():
    lattice = warping.Lattice(20, 10, 2, reach=5.0)
    X = -np.hanning(20)[None, None] * np.ones((3, 1, 1))
    W = lattice.smooth(np.hanning(20)[None, None])
    rows = X, np.ones((1, 1, 20)), np.sum(X**2, axis=(1, 2))
    found = warping.search(lattice, rows, W, [np.zeros((3, 2))], positive=True)
    assert np.all(found.coef == 0)
    assert np.all(found.explained == 0)
    assert np.all(warping.search(lattice, rows, W, [np.zeros((3, 2))]).coef < 0)


def dense(lattice, pose):
    """``T_i`` of one pose at the nodes, (d, L)."""
    index, share = lattice.node_reads(lattice.warp(pose[None])[0])
    T = np.zeros((lattice.n_times, len(lattice.nodes)))
    np.add.at(T, (np.arange(lattice.n_times), index), 1 - share)
    np.add.at(T, (np.arange(lattice.n_times), index + 1), share)
    return T


def test_moving_and_its_adjoint_are_those_of_the_matrix():
    lattice = warping.Lattice(25, 12, 3, free=True, reach=6.0)
    rng = RNG(4)
    poses = rng.uniform(-2, 2, (6, 5))
    nodes = rng.standard_normal((2, 3, len(lattice.nodes)))
    W = warping.interpolated(nodes, *lattice.node_reads(lattice.times))
    moved = warping.moved(lattice, W, poses)
    X = rng.standard_normal((len(poses), 3, 25))
    back = warping.adjoint(lattice, X, poses)
    for i, pose in enumerate(poses):
        T = dense(lattice, pose)
        np.testing.assert_allclose(moved[i], nodes @ T.T, atol=1e-12)
        np.testing.assert_allclose(back[i], X[i] @ T, atol=1e-12)


@pytest.mark.parametrize("K", [1, 3])
def test_normal_equations_are_those_of_dense_matrices(K):
    lattice = warping.Lattice(25, 10, 3, reach=6.0)
    rng = RNG(5)
    poses = rng.uniform(-2, 2, (8, 3))
    n, L = len(poses), len(lattice.nodes)
    V, coef = rng.uniform(size=(n, 1, 25)), rng.standard_normal((n, K))
    pairs = (coef[:, :, None] * coef[:, None]).reshape(n, -1)
    sums = warping.chain_sums(lattice, V, poses, pairs).reshape(K, K, 2, L)
    N = np.zeros((K * L, K * L))
    for i, pose in enumerate(poses):
        T = dense(lattice, pose)
        N += np.kron(np.outer(coef[i], coef[i]), T.T @ (V[i, 0, :, None] * T))
    W, rhs = rng.standard_normal((2, K, L))
    np.testing.assert_allclose(warping.chain_times(sums, W).ravel(), N @ W.ravel(), atol=1e-10)
    solved = warping.solve_chain(sums, rhs, W)
    np.testing.assert_allclose(N @ solved.ravel(), rhs.ravel(), atol=1e-5)


def test_nodes_that_no_row_sees_keep_their_value():
    lattice = warping.Lattice(30, 15, 2, reach=6.0)
    V = np.ones((2, 1, 30))
    V[..., 20:] = 0
    sums = warping.chain_sums(lattice, V, np.zeros((2, 2)), np.ones((2, 1))).reshape(1, 1, 2, -1)
    start = np.arange(15.0)[None]
    solved = warping.solve_chain(sums, np.zeros((1, 15)), start)
    unseen = lattice.nodes > 21
    np.testing.assert_allclose(solved[0, unseen], start[0, unseen])
    np.testing.assert_allclose(solved[0, lattice.nodes < 19], 0, atol=1e-6)
    np.testing.assert_array_equal(warping.solve_chain(0 * sums, 0 * start, start), start)


def test_rows_return_to_the_time_of_the_component():
    lattice = warping.Lattice(200, 100, 4, reach=50.0)
    w = np.sin(np.linspace(0, 6, 200))[None, None]
    poses = warping.global_poses(lattice, np.array([-0.4, 0.3]))
    rows = warping.moved(lattice, w, poses)[:, 0]
    back = warping.unwarp(lattice, rows, poses)
    np.testing.assert_allclose(back, np.broadcast_to(w[0], back.shape), atol=2e-3)
    np.testing.assert_allclose(warping.unwarp(lattice, rows, 0 * poses), rows, atol=1e-12)

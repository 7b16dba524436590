"""The normal equations of templates that occur many times, against the matrix of all events."""

from __future__ import annotations

import numpy as np
import pytest

from gtpca.operators import toeplitz
from gtpca.operators.normal import Diagonal
from gtpca.operators.toeplitz import Toeplitz

N, LENGTH, TEMPLATES, CHANNELS = 60, 7, 2, 3


def events(seed=0, n=8):
    rng = np.random.default_rng(seed)
    starts = np.sort(rng.integers(0, N - LENGTH, n))
    return starts, rng.standard_normal((n, TEMPLATES))


def design(starts, scores):
    """The matrix from templates (A L,) to a recording (N,)."""
    found = np.zeros((N, TEMPLATES, LENGTH))
    for t, x in zip(starts, scores, strict=True):
        for a in range(TEMPLATES):
            found[t + np.arange(LENGTH), a, np.arange(LENGTH)] += x[a]
    return found.reshape(N, -1)


def test_it_is_the_matrix_of_all_events():
    starts, scores = events()
    A = design(starts, scores)
    assert np.allclose(Toeplitz.of(starts, scores, LENGTH).matrix(), A.T @ A)


def test_times_quadratic_and_sums():
    starts, scores = events()
    system = Toeplitz.of(starts, scores, LENGTH)
    W = np.random.default_rng(1).standard_normal((CHANNELS, TEMPLATES, LENGTH))
    flat = W.reshape(CHANNELS, -1)
    assert np.allclose(system.times(W).reshape(flat.shape), flat @ system.matrix())
    energies = np.sum((design(starts, scores) @ flat.T) ** 2, axis=0)
    assert np.allclose(system.quadratic(W), energies)
    other = Toeplitz.of(*events(5), LENGTH)
    assert np.allclose((system + other).matrix(), system.matrix() + other.matrix())
    assert np.allclose((2 * system).matrix(), 2 * system.matrix())
    assert system.seen.all()


def test_it_goes_with_other_normal_equations():
    system = Toeplitz.of(*events(), LENGTH)
    W = np.random.default_rng(1).standard_normal((1, TEMPLATES, LENGTH))
    ridge = Diagonal(np.eye(TEMPLATES)[None, :, :, None] * np.ones(LENGTH))
    both = system + ridge
    assert np.allclose(both.times(W), system.times(W) + W)
    expected = np.linalg.solve(system.matrix() + np.eye(TEMPLATES * LENGTH), W.ravel())
    assert np.allclose(both.solve(W, np.zeros_like(W)).ravel(), expected)


@pytest.mark.parametrize("dense", [2048, 0])
def test_solve_is_least_squares(dense, monkeypatch):
    monkeypatch.setattr(toeplitz, "DENSE", dense)
    starts, scores = events(n=20)
    A = design(starts, scores)
    Y = np.random.default_rng(2).standard_normal((N, CHANNELS))
    start = np.zeros((CHANNELS, TEMPLATES, LENGTH))
    rhs = (Y.T @ A).reshape(start.shape)
    found = Toeplitz.of(starts, scores, LENGTH).solve(rhs, start)
    best = np.linalg.lstsq(A, Y, rcond=None)[0]
    assert np.allclose(A @ found.reshape(CHANNELS, -1).T, A @ best, atol=1e-5)


def test_what_is_not_seen_keeps_the_start():
    starts, scores = np.array([5]), np.array([[2.0, 0.0]])
    start = np.ones((1, TEMPLATES, LENGTH))
    rhs = np.zeros_like(start)
    rhs[:, 0] = 2.0 * 3.0
    found = Toeplitz.of(starts, scores, LENGTH).solve(rhs, start)
    assert np.allclose(found[:, 0], 1.5)
    assert np.array_equal(found[:, 1], start[:, 1])
    nothing = Toeplitz.of(starts[:0], scores[:0], LENGTH)
    assert np.array_equal(nothing.solve(rhs, start), start)

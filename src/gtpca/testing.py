"""Checks for authors of families, and tools to compare fits.

:func:`check_operator` is the one test that a new operator must pass.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from gtpca.operators import Operator

__all__ = ["assert_same_components", "check_operator", "make_planted"]


def _close(actual, desired, name, rtol=1e-9):
    """Equal to ``rtol`` of the largest entry."""
    scale = max(1.0, float(np.max(np.abs(desired), initial=0.0)))
    np.testing.assert_allclose(actual, desired, rtol=0, atol=rtol * scale, err_msg=name)


def check_operator(operator: Operator, random_state=0, n_rows=12) -> None:
    """Compare every method of an operator with its slow and obvious meaning.

    Dot test ``sum_t <T_t w, M_t> = <w, sum_t T_t* M_t>``, linearity, the fast correlation, norms,
    gather, adjoint of a gather, normal equations and their solution, the matrix, the description.

    Parameters
    ----------
    operator : Operator
    random_state : int
    n_rows : int

    Raises
    ------
    AssertionError
        That names the method which is wrong.
    """
    rng = np.random.default_rng(random_state)
    _check_apply(operator, rng)
    _check_gather(operator, rng, n_rows)
    _check_correlate(operator, rng, n_rows)
    _check_normal(operator, rng)
    _check_words(operator, rng, n_rows)


def _check_apply(operator, rng):
    m, d, L = operator.n_transforms, operator.n_features, operator.n_weights
    v, w, M = rng.standard_normal(L), rng.standard_normal(L), rng.standard_normal((m, d))
    bank = operator.apply(w)
    assert bank.shape == (m, d), f"apply: shape {bank.shape}, not {(m, d)}"
    _close(operator.apply(2 * v - w), 2 * operator.apply(v) - bank, "apply is not linear")
    back = operator.adjoint(M)
    assert back.shape == (L,), f"adjoint: shape {back.shape}, not {(L,)}"
    scale = np.linalg.norm(bank) * np.linalg.norm(M)
    assert abs(np.sum(bank * M) - w @ back) <= 1e-10 * scale, (
        "dot test: adjoint is not that of apply"
    )
    _close((operator.matrix() @ w).reshape(m, d), bank, "matrix")
    assert sparse.issparse(operator.matrix()), "matrix is not sparse"


def _check_gather(operator, rng, n_rows):
    w, X = (
        rng.standard_normal(operator.n_weights),
        rng.standard_normal((n_rows, operator.n_features)),
    )
    index, coef = rng.integers(operator.n_transforms, size=n_rows), rng.standard_normal(n_rows)
    bank = operator.apply(w)
    _close(operator.apply_at(w, index), bank[index], "apply_at")
    single = operator.apply_at(w.astype(np.float32), index)
    _close(single, bank[index], "apply_at in float32", 1e-5)
    V = rng.standard_normal((n_rows, operator.n_weights))
    each = [operator.apply(v)[t] for v, t in zip(V, index, strict=True)]
    _close(operator.apply_rows(V, index), np.array(each), "apply_rows")
    slow = Operator.adjoint_at(operator, X, index, coef)
    _close(operator.adjoint_at(X, index, coef), slow, "adjoint_at")
    _close(
        operator.adjoint_at(X.astype(np.float32), index, coef), slow, "adjoint_at, float32", 1e-4
    )


def _check_correlate(operator, rng, n_rows):
    w, X = (
        rng.standard_normal(operator.n_weights),
        rng.standard_normal((n_rows, operator.n_features)),
    )
    bank = operator.apply(w)
    _close(operator.correlate(operator.prepare(X), w), X @ bank.T, "correlate")
    single = operator.correlate(operator.prepare(X.astype(np.float32)), w)
    assert single.dtype == np.float32, f"correlate of float32 rows gave {single.dtype}"
    _close(single, X @ bank.T, "correlate in float32", 1e-4)
    _close(operator.norms(w), np.linalg.norm(bank, axis=1), "norms")
    W = rng.standard_normal((3, operator.n_weights))
    _close(operator.gram(W), Operator.gram(operator, W), "gram")
    _close(operator.gram(w[None])[:, 0, 0], operator.norms(w) ** 2, "gram of one")
    if operator.isometric:
        _close(operator.norms(w), np.full(operator.n_transforms, np.linalg.norm(w)), "isometric")


def _check_normal(operator, rng):
    w0, w = rng.standard_normal((2, operator.n_weights))
    weight = rng.uniform(0.5, 1.5, operator.n_transforms)
    weight[rng.integers(operator.n_transforms)] = 0.0 if operator.n_transforms > 1 else 1.0
    slow = Operator.normal(operator, weight, w)
    _close(operator.normal(weight, w), slow, "normal")
    solved = operator.solve_normal(weight, slow, w0)
    _close(operator.normal(weight, solved), slow, "solve_normal", 1e-6)
    weights = np.einsum("t,tjk->tjk", weight, rng.standard_normal((len(weight), 3, 3)))
    W = rng.standard_normal((3, operator.n_weights))
    slow = Operator.normal_block(operator, weights, W)
    _close(operator.normal_block(weights, W), slow, "normal_block")
    unseen = operator.normal(weight, np.ones_like(w)) == 0
    if operator.selects:
        assert np.array_equal(solved[unseen], w0[unseen]), "solve_normal changed unseen weights"


def _check_words(operator, rng, n_rows):
    index = rng.integers(operator.n_transforms, size=(n_rows, 2))
    columns = operator.describe(index)
    for name, values in columns.items():
        assert np.shape(values) == index.shape, f"describe: {name} has shape {np.shape(values)}"
    for v in operator.neighbours(rng.standard_normal(operator.n_weights)):
        assert np.shape(v) == (operator.n_weights,), "neighbours: not of the shape of the weights"
    assert 0 <= operator.reference < operator.n_transforms, "reference is no transform"


def make_planted(operator, n_samples=600, score=3.0, noise=0.05, random_state=0):
    """Rows made of one component in random poses.

    ``x_i = s_i T_{t_i} w / |T_{t_i} w| + noise``, with white weights ``w``, scores ``s_i`` from
    N(0, score^2) and uniform ``t_i``.

    Parameters
    ----------
    operator : Operator
    n_samples : int
    score, noise : float
        Standard deviations of the scores and of the noise in every feature.
    random_state : int

    Returns
    -------
    X : array (n, *sample_shape)
    w : array (L,)
    index : array (n,)
    """
    rng = np.random.default_rng(random_state)
    w = rng.standard_normal(operator.n_weights)
    index = rng.integers(operator.n_transforms, size=n_samples)
    coef = score * rng.standard_normal(n_samples) / operator.norms(w)[index]
    X = coef[:, None] * operator.apply_at(w, index)
    X += noise * rng.standard_normal(X.shape)
    return X.reshape(n_samples, *operator.sample_shape), w, index


def assert_same_components(first, second, atol=1e-6) -> None:
    """Check that two fitted models have the same components, up to sign and pose.

    Parameters
    ----------
    first, second : fitted GTPCA
    atol : float
        Largest distance between unit-norm components.
    """
    A = first.components_.reshape(first.n_components_, -1)
    B = second.components_.reshape(second.n_components_, -1)
    assert A.shape == B.shape, f"{A.shape} and {B.shape} components"
    for k, (a, b) in enumerate(zip(A, B, strict=True)):
        gap = min(np.linalg.norm(pose - sign * b) for pose in _poses(first, a) for sign in (1, -1))
        assert gap <= atol, f"component {k} differs by {gap:.2e}, more than {atol:.2e}"


def _poses(model, w):
    """``w`` and, for groups, ``w`` in every other pose."""
    operator = model.operator_
    if operator.translate(w, operator.reference) is None:
        return [w]
    return [w, *operator.plain.apply(w)]

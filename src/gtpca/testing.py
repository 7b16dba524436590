"""Checks for authors of families, made-up data of any size, and tools to compare fits.

:func:`check_operator` is the one test that a new operator must pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gtpca import checks
from gtpca.operators import Operator
from gtpca.operators.normal import Moments
from gtpca.shell import RandomState

__all__ = ["PlantedRows", "assert_same_components", "check_operator", "make_planted"]

MADE_ROWS = 256  # so many rows are made at a time, from a generator of their own


def _close(actual, desired, name, rtol=1e-9):
    """Equal to ``rtol`` of the largest entry."""
    scale = max(1.0, float(np.max(np.abs(desired), initial=0.0)))
    np.testing.assert_allclose(actual, desired, rtol=0, atol=rtol * scale, err_msg=name)


def check_operator(operator: Operator, random_state: RandomState = 0, n_rows: int = 12) -> None:
    """Compare every method of an operator with its slow and obvious meaning.

    Dot test ``sum_t <T_t w, M_t> = <w, sum_t T_t* M_t>``, linearity, the fast correlation, norms,
    gather, adjoint of a gather, normal equations and their solution, the same for several weights
    at once, masks of what is missing, the matrix, the description, sums over all transforms.

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
    _check_each(operator, rng, n_rows)
    _check_masks(operator, rng, n_rows)
    _check_words(operator, rng, n_rows)
    _check_sums(operator, rng, n_rows)


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
    total, pair = X.copy(), np.stack([index, index[::-1]], axis=1)
    both = rng.standard_normal((n_rows, 2))
    operator.add_moved(total, operator.prepare_weights(np.stack([w, -w])), pair, both)
    slow = X + both[:, :1] * bank[pair[:, 0]] - both[:, 1:] * bank[pair[:, 1]]
    _close(total, slow, "add_moved")
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
    index, coef = rng.integers(operator.n_transforms, size=n_rows), rng.standard_normal((n_rows, 3))
    moved = X + sum(coef[:, k, None] * operator.apply_at(W[k], index) for k in range(3))
    P = operator.prepare(X.copy())
    operator.move_prepared(P, W, index, coef)
    _close(P, operator.prepare(moved), "move_prepared")
    _close(operator.gram(W), Operator.gram(operator, W), "gram")
    banks = np.array([operator.apply(w) for w in W])
    q = 1.0 if operator.feature_weight is None else operator.feature_weight
    slow = np.einsum("jtd,ktd->tjk", banks * q, banks)
    found = operator.gram_matrices(W[None])
    shape = (1, operator.n_transforms, 3, 3)
    assert operator.alike or found.shape == shape, f"gram_matrices: shape {found.shape}"
    _close(np.broadcast_to(found, shape)[0], slow, "gram_matrices")
    single = np.broadcast_to(operator.gram_matrices(W[:, None]), (3, *shape[1:2], 1, 1))
    _close(single[:, :, 0, 0].T, np.einsum("tkk->tk", slow), "gram_matrices of one")
    _close(operator.gram(w[None])[:, 0, 0], operator.norms(w) ** 2, "gram of one")
    if operator.isometric:
        _close(operator.norms(w), np.full(operator.n_transforms, np.linalg.norm(w)), "isometric")


def _check_sums(operator, rng, n_rows):
    """Sums over all transforms, with a coefficient for each row and transform."""
    w, X = (
        rng.standard_normal(operator.n_weights),
        rng.standard_normal((n_rows, operator.n_features)),
    )
    coef, bank = rng.standard_normal((n_rows, operator.n_transforms)), operator.apply(w)
    slow = operator.adjoint(coef.T @ X)
    _close(operator.adjoint_sum(operator.prepare(X), coef), slow, "adjoint_sum")
    single = operator.adjoint_sum(operator.prepare(X.astype(np.float32)), coef.astype(np.float32))
    _close(single, slow, "adjoint_sum in float32", 1e-4)
    _close(operator.apply_sum(coef, w), coef @ bank, "apply_sum")
    unknown = operator.periods.keys() - operator.describe(np.zeros(1, dtype=np.int64)).keys()
    assert not unknown, f"periods names {sorted(unknown)}, which describe does not"


def _check_normal(operator, rng):
    """The normal equations of two systems of one component, and of one block of three."""
    m, L = operator.n_transforms, operator.n_weights
    counts = rng.uniform(0.5, 1.5, (2, m))
    counts[:, rng.integers(m)] = 0.0 if m > 1 else 1.0
    roots = np.eye(3) + 0.2 * rng.standard_normal((1, m, 3, 3))
    pairs = counts[:1, :, None, None] * (roots @ roots.transpose(0, 1, 3, 2))
    for nodes in (counts[:, :, None, None], pairs):
        W, start = rng.standard_normal((2, len(nodes), nodes.shape[2], L))
        slow = np.array([_normal_times(operator, *each) for each in zip(nodes, W, strict=True)])
        moments = Moments(nodes.sum(axis=1, keepdims=True) if operator.alike else nodes)
        normal = operator.normal(moments)
        _close(normal.times(W), slow, "normal: times")
        _close(normal.quadratic(W), np.sum(W * slow, axis=(1, 2)), "normal: quadratic")
        solved = normal.solve(slow, start)
        _close(normal.times(solved), slow, "normal: solve", 1e-4)
        assert normal.cover.shape == (len(nodes), L), "normal: cover has another shape"
        _check_coverage(operator, nodes, normal.cover)
        unseen = np.broadcast_to((normal.cover == 0)[:, None], W.shape)
        assert np.array_equal(solved[unseen], start[unseen]), "normal: solve changed unseen weights"


def _normal_times(operator, nodes, W):
    """``sum_t,k nodes_tjk T_t* T_t w_k``, (K, L), by transforms that are applied one by one."""
    banks = np.array([operator.apply(w) for w in W])
    mixed = np.einsum("tjk,ktd->jtd", nodes, banks)
    mixed = mixed if operator.feature_weight is None else mixed * operator.feature_weight
    return np.array([operator.adjoint(M) for M in mixed])


def _check_coverage(operator, nodes, cover):
    """Positive where some transform shows a weight; the diagonal where transforms select."""
    counts = np.einsum("stkk->st", nodes)
    squares, q = operator.matrix().multiply(operator.matrix()), operator.feature_weight
    q = np.ones(operator.n_features) if q is None else q
    slow = (squares.T @ (counts[:, :, None] * q).reshape(len(counts), -1).T).T
    found = operator.coverage(counts)
    if operator.selects:
        _close(found, slow, "coverage")
        _close(cover, slow, "normal: cover")
    assert np.array_equal(found > 0, slow > 0), "coverage is not positive where weights are seen"
    assert np.array_equal(cover > 0, slow > 0), "normal: cover is not that of the transforms"


def _check_each(operator, rng, n_rows):
    """What is done for several weights at once is what is done for each of them."""
    W = rng.standard_normal((3, operator.n_weights))
    X = rng.standard_normal((n_rows, operator.n_features))
    P, shape = operator.prepare(X), (3, n_rows)
    index, coef = rng.integers(operator.n_transforms, size=shape), rng.standard_normal(shape)
    pairs = list(zip(index, coef, strict=True))
    _close(operator.apply_each(W), np.array([operator.apply(w) for w in W]), "apply_each")
    for stack in (W[:, None], W[None]):
        slow = np.array([operator.gram(block) for block in stack])
        _close(operator.gram_each(stack), slow, "gram_each")
    slow = np.array([operator.correlate(P, w) for w in W])
    _close(operator.correlate_each(P, W), slow, "correlate_each")
    slow = np.array([operator.adjoint_at(X, t, c) for t, c in pairs])
    _close(operator.adjoint_each(X, index, coef), slow, "adjoint_each")


def _check_masks(operator, rng, n_rows):
    H = (rng.random((n_rows, operator.n_features)) < 0.4).astype(float)
    v, w = rng.standard_normal((2, operator.n_weights))
    first, second = operator.apply(v), operator.apply(w)
    P = operator.prepare_mask(H)
    _close(operator.correlate_mask(P, v, w), H @ (first * second).T, "correlate_mask")
    _close(operator.correlate_mask(P, w, w), H @ (second**2).T, "correlate_mask of one")
    slow = np.stack([H @ (first**2).T, H @ (second**2).T])
    _close(operator.correlate_mask_each(P, np.stack([v, w])), slow, "correlate_mask_each")
    index, coef = rng.integers(operator.n_transforms, size=n_rows), rng.uniform(size=(n_rows, 2))
    sums = operator.mask_sums(H, index, coef)
    for k in range(2):
        M = np.zeros_like(second)
        np.add.at(M, index, coef[:, k, None] * H * second[index])
        _close(operator.mask_normal(sums[k], w), operator.adjoint(M), "mask_sums, mask_normal")
    coef = rng.standard_normal((n_rows, operator.n_transforms))
    slow = operator.adjoint((coef.T @ H) * second)
    _close(operator.mask_normal(operator.mask_sum(H, coef), w), slow, "mask_sum")


def _check_words(operator, rng, n_rows):
    index = rng.integers(operator.n_transforms, size=(n_rows, 2))
    columns = operator.describe(index)
    for name, values in columns.items():
        assert np.shape(values) == index.shape, f"describe: {name} has shape {np.shape(values)}"
    for name in ("neighbours", "elsewhere"):
        for v in getattr(operator, name)(rng.standard_normal(operator.n_weights)):
            assert np.shape(v) == (operator.n_weights,), f"{name}: not of the shape of the weights"
    assert 0 <= operator.reference < operator.n_transforms, "reference is not a transform"


def make_planted(
    operator: Operator,
    n_samples: int = 600,
    score: Any = 3.0,
    noise: float = 0.05,
    random_state: RandomState = 0,
) -> Any:
    r"""Rows made of one component in random poses.

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
    X : array (n, \*sample_shape)
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


class PlantedRows:
    """Any number of rows, made when they are asked for: moved templates and noise.

    ``x_i = sum_k s_ik T_{t_ik} w_k / |T_{t_ik} w_k| + noise``, with white templates ``w_k``, scores
    ``s_ik`` from N(0, scale_k^2), ``scale_k = 3, 3/2, 3/4, ..``, and uniform transforms ``t_ik``.

    Every slice can be made on its own and does not depend on how the rows are cut. With ``shape``,
    ``dtype`` and slices this is something that ``GTPCA.fit`` reads, and that
    ``dask.array.from_array`` takes. It may be larger than the disk.

    Parameters
    ----------
    operator : Operator
    n_samples : int
    n_templates : int
    noise : float
        Standard deviation of the noise in every feature.
    dtype : dtype
    random_state : int

    Attributes
    ----------
    shape : tuple of int
        (n, \\*sample_shape)
    templates : array (n_templates, L)

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import Shift
    >>> from gtpca.testing import PlantedRows
    >>> made = PlantedRows(Shift(8).bind((24,)), n_samples=10**9)
    >>> made.shape, made[999_999_990:].shape
    ((1000000000, 24), (10, 24))
    >>> np.array_equal(made[5:9], made[:100][5:9])
    True
    """

    def __init__(
        self,
        operator: Operator,
        n_samples: int,
        n_templates: int = 3,
        noise: float = 0.05,
        dtype: Any = np.float32,
        random_state: RandomState = 0,
    ):
        self.operator, self.n_templates = operator, checks.integer("n_templates", n_templates, 1)
        self.shape = (checks.integer("n_samples", n_samples, 1), *operator.sample_shape)
        self.dtype, self.ndim = np.dtype(dtype), len(self.shape)
        self.noise, self.random_state = noise, checks.integer("random_state", random_state, 0)
        rng = np.random.default_rng(random_state)
        self.templates = rng.standard_normal((n_templates, operator.n_weights))
        self._norms = [operator.norms(w) for w in self.templates]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part) -> np.ndarray:
        part, *rest = part if isinstance(part, tuple) else (part,)
        start, stop, step = part.indices(len(self))
        numbers = range(start // MADE_ROWS, max(-(-stop // MADE_ROWS), start // MADE_ROWS + 1))
        rows = np.concatenate([self._make(number) for number in numbers])
        offset = start - numbers[0] * MADE_ROWS
        return rows[offset : offset + max(stop - start, 0) : step][(slice(None), *rest)]

    def _make(self, number):
        """The rows from ``number * MADE_ROWS`` on."""
        rng, op = np.random.default_rng([self.random_state, number]), self.operator
        X = rng.standard_normal((MADE_ROWS, op.n_features), dtype=np.float32)
        X *= self.noise
        for k, (w, norms) in enumerate(zip(self.templates, self._norms, strict=True)):
            index = rng.integers(op.n_transforms, size=MADE_ROWS)
            score = 3 / 2**k * rng.standard_normal(MADE_ROWS)
            coef = np.divide(score, norms[index], out=np.zeros(MADE_ROWS), where=norms[index] > 0)
            moved = op.apply_at(w.astype(X.dtype), index).astype(X.dtype, copy=False)
            X += coef[:, None].astype(X.dtype) * moved
        return X.astype(self.dtype).reshape(-1, *op.sample_shape)

    def write(self, target: Any, n_rows: int = 4096) -> Any:
        """Copy all rows into ``target``, ``n_rows`` at a time, and return it.

        Parameters
        ----------
        target : array-like of the same shape
            That takes slices of rows: a memory map such as ``np.lib.format.open_memmap`` makes, an
            h5py dataset, a zarr array.
        n_rows : int
        """
        for start in range(0, len(self), n_rows):
            stop = min(start + n_rows, len(self))
            target[start:stop] = self[start:stop]
        return target


def assert_same_components(first: Any, second: Any, atol: float = 1e-6) -> None:
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
        assert gap <= atol, f"component {k + 1} differs by {gap:.2e}, more than {atol:.2e}"


def _poses(model, w):
    """``w`` and, where others are the same component, these poses of it."""
    operator = model.operator_
    moved = (operator.translate(w, t) for t in range(operator.n_transforms))
    return [w, *(v for v in moved if v is not None)]

"""Checks for authors of families, simulated data of any size, and tools to compare fits.

:func:`check_operator` is the one test that a new operator must pass.
"""

from __future__ import annotations

from functools import cached_property
from types import FunctionType
from typing import Any

import numpy as np
from scipy import sparse

from gtpca import checks
from gtpca._typing import RandomState
from gtpca.operators import ComposedOperator, Operator
from gtpca.operators.base import with_feature_weight
from gtpca.operators.normal import Moments
from gtpca.operators.sampling import Sampling

__all__ = ["PlantedRows", "assert_same_components", "check_operator", "make_planted"]

MADE_ROWS = 256  # rows that are generated at a time, each block from its own generator


def _close(actual, desired, name, rtol=1e-9):
    """Equal to ``rtol`` of the largest entry."""
    actual, desired = np.asarray(actual), np.asarray(desired)
    assert actual.shape == desired.shape, f"{name}: shape {actual.shape}, not {desired.shape}"
    gap = np.abs(actual - desired)
    far = ~(gap <= rtol * max(1.0, float(np.max(np.abs(desired), initial=0.0))))  # NaN is far
    if far.any():
        worst = np.unravel_index(np.argmax(gap), gap.shape)
        raise AssertionError(
            f"{name}: {np.sum(far)} of {far.size} entries are wrong; entry "
            f"{[int(i) for i in worst]} is {actual[worst]:.6g}, not {desired[worst]:.6g}"
        )


def check_operator(operator: Operator, random_state: RandomState = 0, n_rows: int = 12) -> None:
    """Compare every public method of an operator with its meaning, by the dense matrix.

    First come ``apply`` and ``adjoint`` (shapes, linearity, the dot test) and the attributes
    ``selects`` and ``isometric``. Everything else is then computed once more, slowly, from the
    matrix ``T`` (m, d, L) that ``Operator.matrix`` gives; what depends on the feature weight also
    with one. Which methods there are is read from the class :class:`~gtpca.Operator`, so that none
    is forgotten. Since ``T`` is dense, a small grid is best.

    Parameters
    ----------
    operator : Operator
        What ``bind`` of a family returns.
    random_state : int
    n_rows : int

    Raises
    ------
    AssertionError
        That names the method or attribute which is wrong, and says what it should give. Whatever
        error a method itself raises gets a note that says which methods were being checked.

    Examples
    --------
    >>> from gtpca import Shift
    >>> from gtpca.testing import check_operator
    >>> operator = Shift(30).bind((16,))
    >>> check_operator(operator)
    >>> operator.isometric = True  # it is not: a sample shows a part of the window
    >>> check_operator(operator)
    Traceback (most recent call last):
    AssertionError: isometric is True, but |T_t w| = ... |w| for t = ...; leave it False
    """
    if not isinstance(operator, Operator):
        where = "; bind(sample_shape) of a family returns one" * hasattr(operator, "bind")
        raise TypeError(f"check_operator: {operator!r} is not an operator{where}.")
    unknown = public_methods() - CHECKS.keys()
    assert not unknown, f"check_operator knows no check of {sorted(unknown)}"
    rng = np.random.default_rng(random_state)
    _check_definition(operator, rng)
    case = _Case(operator, rng, n_rows)
    for check in dict.fromkeys(CHECKS.values()):
        _run(check, case, rng)
    if operator.feature_weight is None:
        weight = rng.uniform(0.2, 2.0, operator.n_features)
        weighed = _Case(with_feature_weight(operator, weight), rng, n_rows)
        for check in (_check_gram, _check_normal, _check_masks):
            _run(check, weighed, rng, " with a feature weight")


def _run(check, case, rng, how=""):
    """Run one check; a note on whatever it raises says what was being checked."""
    try:
        check(case, rng)
    except Exception as error:
        names = [name for name, mine in CHECKS.items() if mine is check]
        error.add_note(f"check_operator: this is the check of {', '.join(names)}{how}.")
        kind = type(case.operator)
        for name in {"correlate", "adjoint_sum"}.intersection(names):
            if _overrides(kind, "prepare") and not _overrides(kind, name):
                error.add_note(
                    f"{kind.__name__} overrides prepare, but not {name}, whose default expects "
                    "rows that are not prepared: override both."
                )
        raise


def _overrides(kind, name):
    """Whether a class has its own version of a method, or of the helper that it calls."""
    return any(getattr(kind, n, None) is not getattr(Operator, n, None) for n in (name, f"_{name}"))


def public_methods() -> set[str]:
    """Names of the public methods and properties of :class:`~gtpca.Operator`."""
    kinds = (property, cached_property, FunctionType)
    return {n for n, v in vars(Operator).items() if isinstance(v, kinds) and not n.startswith("_")}


class _Case:
    """An operator, its matrices, and some rows, weights, transforms and masks.

    Attributes
    ----------
    T : array (m, d, L)
    q : array (d,)
        The feature weight.
    X : array (n, d)
    W : array (3, L)
    index, coef : arrays (3, n)
    H : array (n, d) of 0 and 1
    """

    def __init__(self, operator, rng, n_rows):
        self.operator, self.m = operator, operator.n_transforms
        d, L = operator.n_features, operator.n_weights
        matrix = operator.matrix()
        assert sparse.issparse(matrix), "matrix is not sparse"
        assert matrix.shape == (self.m * d, L), (
            f"matrix: shape {matrix.shape}, not {(self.m * d, L)}"
        )
        self.T = matrix.toarray().reshape(self.m, d, L)
        self.q = np.ones(d) if operator.feature_weight is None else operator.feature_weight
        self.X, self.W = rng.standard_normal((n_rows, d)), rng.standard_normal((3, L))
        self.index = rng.integers(self.m, size=(3, n_rows))
        self.coef = rng.standard_normal((3, n_rows))
        self.H = (rng.random((n_rows, d)) < 0.4).astype(float)

    @property
    def banks(self):
        """All ``T_t w_s``, (3, m, d)."""
        return np.einsum("tdl,sl->std", self.T, self.W)

    def nodes_times(self, nodes, W, weight):
        """``sum_t,k nodes_stjk T_t* diag(weight) T_t w_sk``, (S, K, L)."""
        shown = np.einsum("tdl,skl->sktd", self.T, W) * weight
        return np.einsum("tdl,stjk,sktd->sjl", self.T, nodes, shown, optimize=True)


def _check_definition(operator, rng):
    """``apply`` and ``adjoint`` without their matrix, which is made from them by default."""
    m, d, L = operator.n_transforms, operator.n_features, operator.n_weights
    (v, w), M = rng.standard_normal((2, L)), rng.standard_normal((m, d))
    bank, back = operator.apply(w), operator.adjoint(M)
    for name, found, shape in (("apply", bank, (m, d)), ("adjoint", back, (L,))):
        kind = type(found).__name__
        assert isinstance(found, np.ndarray), f"{name} returned a {kind}, not an array {shape}"
        assert found.shape == shape, f"{name}: shape {found.shape}, not {shape}"
    _close(operator.apply(v + 2 * w), operator.apply(v) + 2 * bank, "apply is not linear")
    there, here = np.sum(bank * M), w @ back
    scale = max(1.0, float(np.linalg.norm(bank) * np.linalg.norm(M)))
    assert abs(there - here) <= 1e-10 * scale, (
        f"dot test: adjoint is not that of apply: sum(apply(w) * M) is {there:.6g}, "
        f"w @ adjoint(M) is {here:.6g}"
    )
    _check_attributes(operator, w, bank)


def _check_attributes(operator, w, bank):
    """``selects`` and ``isometric`` are promises that the defaults rely on."""
    if operator.selects:
        read = np.rint(operator.apply(np.arange(1.0, len(w) + 1))).astype(int)  # 0: nothing
        shown = np.append(0.0, w)[np.clip(read, 0, len(w))]
        assert np.allclose(shown, bank), (
            "selects is True, but not every entry of apply(w) is one entry of w or zero; leave it "
            "False"
        )
    if operator.isometric:
        shares = np.linalg.norm(bank, axis=1) / np.linalg.norm(w)
        t = np.argmax(np.abs(shares - 1))
        assert abs(shares[t] - 1) <= 1e-9, (
            f"isometric is True, but |T_t w| = {shares[t]:.6g} |w| for t = {t}; leave it False"
        )


def _check_apply(case, rng):
    operator, w = case.operator, case.W[0]
    M = rng.standard_normal((case.m, case.X.shape[1]))
    _close(operator.apply(w), case.banks[0], "apply is not what matrix says")
    back = np.einsum("tdl,td->l", case.T, M)
    _close(operator.adjoint(M), back, "adjoint is not what matrix says")


def _check_gather(case, rng):
    operator, index, w = case.operator, case.index[0], case.W[0]
    shown = case.banks[:, index]  # (3, n, d)
    _close(operator.apply_at(w, index), shown[0], "apply_at")
    single = operator.apply_at(w.astype(np.float32), index)
    _close(single, shown[0], "apply_at in float32", 1e-5)
    V = rng.standard_normal((len(index), len(w)))
    each = np.einsum("ndl,nl->nd", case.T[index], V)
    _close(operator.apply_at(V, index), each, "apply_at of rows of weights")
    total, pair = case.X.copy(), np.stack([index, index[::-1]], axis=1)
    both = rng.standard_normal(pair.shape)
    operator.add_moved(total, operator.prepare_weights(np.stack([w, -w])), pair, both)
    slow = case.X + both[:, :1] * shown[0] - both[:, 1:] * shown[0][::-1]
    _close(total, slow, "add_moved, prepare_weights")


def _check_correlate(case, rng):
    operator, X, W = case.operator, case.X, case.W
    slow = np.einsum("nd,std->snt", X, case.banks)
    _close(operator.correlate(operator.prepare(X), W), slow, "correlate, prepare")
    _close(operator.correlate(operator.prepare(X), W[:1]), slow[:1], "correlate of one")
    single = operator.correlate(operator.prepare(X.astype(np.float32)), W)
    assert single.dtype == np.float32, (
        f"correlate of float32 rows gave {single.dtype}, not float32; convert weights and "
        "constants to the precision of the prepared rows"
    )
    _close(single, slow, "correlate in float32", 1e-4)


def _check_ready(case, rng):
    operator, X, w = case.operator, case.X, case.W[0]
    for dtype, rtol in ((np.float64, 1e-9), (np.float32, 1e-4)):
        ready = operator.ready(w, dtype)
        found = ready.products(operator.prepare(X.astype(dtype)))
        _close(found, X @ case.banks[0].T, f"ready: products in {dtype.__name__}", rtol)
        for t in np.unique(case.index[0]):
            _close(ready.moved(int(t)), case.banks[0, t], f"ready: moved in {dtype.__name__}", rtol)


def _check_move_prepared(case, rng):
    operator, index, coef = case.operator, case.index[0], case.coef.T
    P = operator.prepare(case.X.copy())
    before = P.copy()
    done = operator.move_prepared(P, case.W, index, coef)
    moved = case.X + np.einsum("nk,knd->nd", coef, case.banks[:, index])
    wanted = operator.prepare(moved) if done else before
    assert isinstance(done, bool), f"move_prepared says {done!r}, not whether it was done"
    _close(P, wanted, "move_prepared")


def _check_gram(case, rng):
    slow = np.einsum("jtd,ktd->tjk", case.banks * case.q, case.banks)
    found = case.operator.gram(case.W[None])
    assert found.shape in ((1, case.m, 3, 3), (1, 1, 3, 3)), f"gram: shape {found.shape}"
    _close(np.broadcast_to(found[0], slow.shape), slow, "gram")
    single = case.operator.gram(case.W[:, None])[:, :, 0, 0]
    _close(np.broadcast_to(single.T, (case.m, 3)), np.einsum("tkk->tk", slow), "gram of one")


def _check_adjoints(case, rng):
    operator, X, index, coef = case.operator, case.X, case.index, case.coef
    slow = np.einsum("sn,sndl,nd->sl", coef, case.T[index], X, optimize=True)
    _close(operator.adjoint_at(X, index, coef), slow, "adjoint_at")
    _close(operator.adjoint_at(X, index[:1], coef[:1]), slow[:1], "adjoint_at of one")
    single = operator.adjoint_at(X.astype(np.float32), index, coef)
    _close(single, slow, "adjoint_at, float32", 1e-4)
    rows = np.einsum("ndl,nd->nl", case.T[index[0]], X)
    _close(operator.adjoint_at(X, index[0], coef), coef @ rows, "adjoint_at in common transforms")
    _close(operator.adjoint_at(X, index[0]), rows, "adjoint_at of each row")


def _check_sums(case, rng):
    """Sums over all transforms, with a coefficient for each row and transform."""
    operator, X = case.operator, case.X
    coef = rng.standard_normal((2, len(X), case.m))
    slow = np.einsum("snt,tdl,nd->sl", coef, case.T, X, optimize=True)
    _close(operator.adjoint_sum(operator.prepare(X), coef), slow, "adjoint_sum")
    single = operator.adjoint_sum(operator.prepare(X.astype(np.float32)), coef.astype(np.float32))
    _close(single, slow, "adjoint_sum in float32", 1e-4)


def _check_masks(case, rng):
    operator, H, W = case.operator, case.H, case.W
    V, P = rng.standard_normal(W.shape), operator.prepare_mask(H)
    both = case.banks * np.einsum("tdl,sl->std", case.T, V)
    slow = np.einsum("nd,std->snt", H, both)
    _close(operator.correlate_mask(P, V, W), slow, "correlate_mask, prepare_mask")
    slow = np.einsum("nd,std->snt", H, case.banks**2)
    _close(operator.correlate_mask(P, W, W), slow, "correlate_mask of squares")
    nodes = np.zeros((1, 1 if len(operator.gram(W[:1, None])[0]) == 1 else case.m, 1, 1))
    index, coef = case.index[0], rng.uniform(size=(1, len(H)))
    every = rng.standard_normal((1, len(H), case.m))
    one = np.zeros_like(every)
    one[0, np.arange(len(H)), index] = coef[0]
    for name, given, shares in (("", (index, coef), one), (" of all", (None, every), every)):
        sums = operator.mask_sums(H, *given)
        moments = Moments(nodes, sums[:, None, None])
        shown = np.einsum("snt,nd,td->td", shares, H, case.banks[0])
        slow = -np.einsum("tdl,td->l", case.T, shown)
        _close(operator.normal(moments).times(W[None, :1])[0, 0], slow, f"mask_sums{name}")


def _check_normal(case, rng):
    """The normal equations of two systems of one component, and of one block of three."""
    operator, m, L = case.operator, case.m, case.W.shape[1]
    counts = rng.uniform(0.5, 1.5, (2, m))
    counts[:, rng.integers(m)] = 0.0 if m > 1 else 1.0
    roots = np.eye(3) + 0.2 * rng.standard_normal((1, m, 3, 3))
    pairs = counts[:1, :, None, None] * (roots @ roots.transpose(0, 1, 3, 2))
    for nodes in (counts[:, :, None, None], pairs):
        W, start = rng.standard_normal((2, len(nodes), nodes.shape[2], L))
        slow = case.nodes_times(nodes, W, case.q)
        alike = len(operator.gram(W[:1, :1])[0]) == 1
        normal = operator.normal(Moments(nodes.sum(axis=1, keepdims=True) if alike else nodes))
        _close(normal.times(W), slow, "normal: times")
        _close(normal.quadratic(W), np.sum(W * slow, axis=(1, 2)), "normal: quadratic")
        solved = normal.solve(slow, start)
        _close(normal.times(solved), slow, "normal: solve", 1e-4)
        assert normal.cover.shape == (len(nodes), L), "normal: cover has another shape"
        _check_cover(case, np.einsum("stkk->st", nodes), normal.cover, "normal: cover")
        unseen = np.broadcast_to((normal.cover == 0)[:, None], W.shape)
        assert np.array_equal(solved[unseen], start[unseen]), "normal: solve changed unseen weights"


def _check_cover(case, counts, found, name):
    """Positive where some transform shows a weight; the diagonal if transforms select."""
    slow = np.einsum("st,tdl,d->sl", counts, case.T**2, case.q, optimize=True)
    assert np.array_equal(found > 0, slow > 0), f"{name} is not positive where weights are seen"
    if case.operator.selects:
        _close(found, slow, name)


def _check_words(case, rng):
    operator = case.operator
    told = operator.describe(case.index)
    assert isinstance(told, dict), f"describe returned a {type(told).__name__}, not a dict"
    for name, values in told.items():
        assert np.shape(values) == case.index.shape, (
            f"describe: {name} has shape {np.shape(values)}, not that of index, {case.index.shape}"
        )
    told = operator.describe(np.zeros(1, dtype=np.int64))
    declared = operator.quantities if operator.quantities is not Operator.quantities else ()
    unknown = {axis.name for axis in declared} - told.keys()
    assert not unknown, f"quantities name {sorted(unknown)}, which describe does not"
    assert 0 <= operator.reference < case.m, "reference is not a transform"
    found, least = operator.magnitude.matrix().toarray(), np.abs(operator.matrix().toarray())
    if isinstance(operator, ComposedOperator):  # terms of a product may cancel
        found = np.minimum(found, least)
    _close(found, least, "magnitude")


def _check_poses(case, rng):
    """Poses as parameters: those of nodes, and between them."""
    operator, index = case.operator, case.index[0]
    space, told = operator.pose_space, list(operator.describe(index))
    named = [axis.name for axis in space.axes]
    assert named == told, f"pose_space: axes {named}, but describe tells {told}"
    wanted = (case.m, len(named))
    assert space.nodes.shape == wanted, f"pose_space: nodes {space.nodes.shape}, not {wanted}"
    columns = operator.describe(np.arange(case.m)).values()
    for j, column in enumerate(map(np.asarray, columns)):
        numbers = column if column.dtype.kind in "biuf" else np.arange(case.m)
        _close(space.nodes[:, j], numbers.astype(float), f"pose_space: {named[j]} of the nodes")
    pose = space.at(index)
    _close(space.nodes[space.nearest(pose)], pose, "pose_space: nearest")
    if operator.continuous is not None:
        _check_between(case, rng)


def _check_between(case, rng):
    """``continuous``: at the nodes, the dot test, the normal equations, search and derivatives."""
    operator, X, W = case.operator, case.X, case.W
    between, n, one = operator.continuous, len(X), np.ones((1, operator.n_features))
    ends = np.array([(axis.low, axis.high) for axis in operator.pose_space.axes])
    pose = rng.uniform(ends[:, 0], ends[:, 1], (n, len(ends)))
    if between.from_nodes:
        shown = case.banks[0][case.index[0]]
        _close(
            operator.apply_at(W[0], operator.pose_space.at(case.index[0])), shown, "apply at nodes"
        )
    moved = np.stack([operator.apply_at(w, pose) for w in W])
    back = operator.adjoint_at(X, pose)
    _close(np.sum(moved[0] * X, axis=1), back @ W[0], "continuous: the dot test")
    each = operator.apply_at(np.repeat(W[:1], n, axis=0), pose)
    _close(each, moved[0], "continuous: apply to rows of weights")
    _close(operator.adjoint_at(X, pose, case.coef), case.coef @ back, "adjoint_at poses")
    V, coef = rng.uniform(size=X.shape), case.coef[:1]
    for weights in (one, V):
        normal = between.normal(between.sums(pose, coef, weights)[:, None, None])
        slow = coef @ operator.adjoint_at(weights * moved[0], pose)
        _close(normal.times(W[None, :1])[0], slow, "continuous: sums, normal")
    _check_search(case, X, one, pose)
    if isinstance(between, Sampling):
        _check_path(between, pose)


def _check_path(between, pose, step=1e-5):
    """``sources`` and ``slopes`` of a path: shapes, and finite differences."""
    path, points, (n, p) = between.path, between.points, pose.shape
    sources, slopes = path.sources(pose, points), path.slopes(pose, points)
    wanted = (n, *points.shape)
    assert sources.shape == wanted, f"sources: shape {sources.shape}, not {wanted}"
    for j in range(p):
        move = step * np.eye(p)[j]
        ends = [path.sources(pose + sign * move, points) for sign in (1, -1)]
        _close(slopes[:, j], (ends[0] - ends[1]) / (2 * step), f"slopes: parameter {j}", 1e-6)


def _check_search(case, X, V, start):
    """A search ends hardly worse than it starts."""
    operator, W = case.operator, case.W[:2]

    def explained(pose):
        moved = np.stack([operator.apply_at(w, pose) for w in W], axis=1)
        b, G = np.einsum("nkd,nd->nk", moved, X), moved @ moved.transpose(0, 2, 1)
        ridge = 1e-9 * np.einsum("nkk->n", G)[:, None, None] * np.eye(len(W))
        return np.einsum("nk,nk->n", b, np.linalg.solve(G + ridge, b[:, :, None])[:, :, 0])

    found = operator.continuous.search(X, V, W, start[:, None])
    assert found.shape == start.shape, f"search: shape {found.shape}, not {start.shape}"
    for j, axis in enumerate(operator.pose_space.axes):
        inside = (found[:, j] >= axis.low - 1e-9) & (found[:, j] <= axis.high + 1e-9)
        assert inside.all(), f"search: {axis.name} beyond {axis.low} .. {axis.high}"
    worse = explained(start) - explained(found)
    least = 0.02 * np.sum(X**2, axis=1)  # a search may pass between fine steps
    assert np.all(worse <= least), "search: worse than where it started"


def _check_moves(case, rng):
    operator, w = case.operator, case.W[0]
    for far in (False, True):
        for v in operator.moves(w, far):
            assert np.shape(v) == w.shape, "moves: not of the shape of the weights"
    moved = operator.translate(w, case.m - 1)
    if moved is not None:
        bank = np.einsum("tdl,l->td", case.T, moved)
        old, new = (np.sort(rows @ case.X[0]) for rows in (case.banks[0], bank))
        _close(new, old, "translate is not the same component in another pose")
    _check_centre(case, rng)
    _check_coarser(case)


def _check_centre(case, rng):
    """What rows saw of a component is still there after centring, up to its length."""
    operator, w, used = case.operator, case.W[0], np.unique(case.index[0][:2])
    seen = np.any(case.T[used] != 0, axis=(0, 1))
    for numbers in (used, None):
        moved = operator.centre(w, numbers, seen)
        if moved is None:
            continue
        bank = np.einsum("tdl,l->td", case.T, moved)
        lengths = np.linalg.norm(bank, axis=1)
        shown = case.banks[0][used]
        products = (shown @ bank.T) / np.where(lengths > 0, lengths, 1.0)
        _close(products.max(axis=1), np.linalg.norm(shown, axis=1), "centre loses what was seen")


def _check_coarser(case):
    operator = case.operator
    same_rank = len(operator.sample_shape) == len(operator.weight_shape)
    axes = tuple(a for a in operator.moved_axes if same_rank and operator.sample_shape[a] > 3)
    coarser = operator.coarser(axes) if axes else None
    if coarser is not None:
        shapes = (operator.sample_shape, operator.weight_shape)
        wanted = [tuple(-(-s // 2) if a in axes else s for a, s in enumerate(x)) for x in shapes]
        found = [coarser.sample_shape, coarser.weight_shape]
        assert found == wanted, f"coarser: shapes {found}, not {wanted}"


CHECKS = {
    "apply": _check_apply,
    "adjoint": _check_apply,
    "matrix": _check_apply,
    "apply_at": _check_gather,
    "prepare_weights": _check_gather,
    "add_moved": _check_gather,
    "prepare": _check_correlate,
    "correlate": _check_correlate,
    "ready": _check_ready,
    "move_prepared": _check_move_prepared,
    "gram": _check_gram,
    "adjoint_at": _check_adjoints,
    "adjoint_sum": _check_sums,
    "normal": _check_normal,
    "prepare_mask": _check_masks,
    "correlate_mask": _check_masks,
    "mask_sums": _check_masks,
    "describe": _check_words,
    "pose_space": _check_poses,
    "magnitude": _check_words,
    "moves": _check_moves,
    "translate": _check_moves,
    "centre": _check_moves,
    "coarser": _check_moves,
}


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
    coef = score * rng.standard_normal(n_samples) / operator._norms(w)[index]
    X = coef[:, None] * operator.apply_at(w, index)
    X += noise * rng.standard_normal(X.shape)
    return X.reshape(n_samples, *operator.sample_shape), w, index


class PlantedRows:
    """Any number of rows, generated on request: moved templates and noise.

    ``x_i = sum_k s_ik T_{t_ik} w_k / |T_{t_ik} w_k| + noise``, with white templates ``w_k``, scores
    ``s_ik`` from N(0, scale_k^2), ``scale_k = 3, 3/2, 3/4, ..``, and uniform transforms ``t_ik``.

    Every slice can be generated separately and does not depend on how the rows are divided. With
    ``shape``, ``dtype`` and slicing this is valid input for ``GTPCA.fit`` and for
    ``dask.array.from_array``. It may be larger than the disk.

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
        self._norms = [operator._norms(w) for w in self.templates]

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
            Must accept slices of rows: a memory map from ``np.lib.format.open_memmap``, an h5py
            dataset, a zarr array.
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
    """``w`` and, if other poses are the same component, these poses of it."""
    operator = model.operator_
    moved = (operator.translate(w, t) for t in range(operator.n_transforms))
    return [w, *(v for v in moved if v is not None)]

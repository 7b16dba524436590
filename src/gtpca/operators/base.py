"""The base class of operators: all transforms of a family on one grid, as linear maps.

An operator holds the transforms :math:`T_1, .., T_m`, each of which maps *weights* (``L`` numbers,
one component) to a *sample* (``d`` numbers). Both are flat vectors here. Only
:meth:`Operator.apply` and :meth:`Operator.adjoint` must be written; everything else has a slow but
obvious default, which also serves as the reference that fast versions are tested against.

A fit spends its time in :meth:`Operator.correlate` (matching), :meth:`Operator.adjoint_at` (the
update), and, unless the operator selects or is isometric, in ``apply`` and ``adjoint`` (each step
of conjugate gradients). Override these first, and run :func:`~gtpca.testing.check_operator` after
each. :meth:`Operator.prepare` is overridden together with ``correlate`` and ``adjoint_sum``: both
receive what it returns. docs/howto/add-family.md has an example.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import sparse

from gtpca import checks
from gtpca.operators.backend import cast, is_numpy, namespace
from gtpca.operators.grid import resized
from gtpca.operators.normal import ByNode, Diagonal, Masked, Moments, Normal, Scalar
from gtpca.operators.poses import Continuous, PoseAxis, PoseSpace, declared_axes, is_pose
from gtpca.operators.ready import Ready, ReadyBank

__all__ = [
    "Operator",
    "add_projection",
    "lengths_at",
    "on_nodes",
    "smoothed",
    "sum_by_index",
    "weigh_features",
    "with_feature_weight",
]

FEW_GROUPS = 32  # up to this number a dense product is faster than a sparse one
FAINT = 1e-12  # coverage of a weight, relative to the largest, that is rounding error
LARGE_WEIGHT = 2**22  # largest size of all ``T_t* q`` of a feature weight
LARGE_BANK = 2**24  # entries of moved weights up to which they are kept
READY_BANK = 2**20  # the same for each component of an encoder


class Operator(ABC):
    """All transforms of a family on a fixed grid.

    Letters: ``m`` transforms, ``d`` features of a sample, ``L`` weights of a component, ``n`` rows.

    Parameters
    ----------
    sample_shape, weight_shape : tuple of int
        Shapes of one sample and of one component.
    n_transforms : int
        The number of transforms.
    moved_axes : tuple of int, optional
        The sample axes that the transforms act on; the others are channels. Default: all.
    domain : bool array (d,), optional
        See the attribute.

    Attributes
    ----------
    selects : bool
        Every entry of every ``T_t w`` is one entry of ``w`` or zero, so that ``T_t* T_t`` is
        diagonal and the normal equations are solved by a division. False is always correct, but
        slower; the same holds for ``isometric``.
    isometric : bool
        ``|T_t w| = |w|`` for all ``t`` and ``w``, so that the normal equations are scalar.
    crops : bool
        Rows may leave some weights unseen, which :meth:`centre` then predicts.
    reference : int
        The transform that counts as "not moved": the identity or the one nearest to it.
    feature_weight : array (d,) or None
        Weights ``q`` of the inner product ``sum_j q_j x_j y_j`` of samples; None: all are 1. They
        change Gram matrices and normal equations, but not the transforms.
    domain : bool array (d,) or None
        The features on which samples are compared: every ``T_t w`` is zero elsewhere, and rows must
        be zero there too. None: all of them.
    n_judged : int
        The number of features on which samples are compared: those of the domain, or all.
    domain_share : float
        The share of the points of a sample, or of the window that moves in it, that lie in the
        domain.
    grid, weight_grid : tuple of int
        The shapes of a sample and of a component, each a :class:`~gtpca.operators.grid.Grid` if its
        axes are known. The axes of a component are those of a sample that is not moved.
    quantities : tuple of PoseAxis
        What is known of the quantities of :meth:`describe`: units, periods, order. One that is not
        listed is an ordered number without a unit. Poses with probabilities need periods and
        ``edges``.
    circular : dict of int to bool
        If every transform is a shift: the axes along which it shifts, and whether each is circular.
    edges : dict of int to str
        How weights continue beyond their ends along each moving axis, in the words of
        ``numpy.pad``: smoothing needs it.
    short_list : Operator or None
        Some of the transforms, with which the solver tries its starts; None: all of them.
    continuous : Continuous or None
        The transforms at poses between the nodes, if there are any. Methods that take the
        transforms of rows as ``index`` then also take poses, see :mod:`gtpca.operators.poses`.
    """

    selects = False
    stacked = 2**20  # size up to which several weights are correlated at once
    isometric = False
    crops = False
    reference = 0
    quantities: tuple[PoseAxis, ...] = (PoseAxis("transform", ordered=False),)
    circular: dict[int, bool] = {}  # noqa: RUF012 - it is never changed
    short_list: Operator | None = None
    continuous: Continuous | None = None

    def __init__(self, sample_shape, weight_shape, n_transforms, moved_axes=None, domain=None):
        self.grid = sample_shape
        self.sample_shape = tuple(int(s) for s in sample_shape)
        self.weight_shape = tuple(int(s) for s in weight_shape)
        self.n_transforms = int(n_transforms)
        self.feature_weight: np.ndarray | None = None
        self.domain: np.ndarray | None = domain
        self.n_features = math.prod(self.sample_shape)
        self.n_weights = math.prod(self.weight_shape)
        axes = range(len(self.sample_shape)) if moved_axes is None else moved_axes
        self.moved_axes = tuple(sorted(set(axes)))
        same_rank = len(self.weight_shape) == len(self.sample_shape)
        self.edges = dict.fromkeys(self.moved_axes if same_rank else (), "edge")
        self.n_judged = self.n_features if domain is None else int(domain.sum())
        self.domain_share = self.n_judged / self.n_features
        same = self.weight_shape == self.sample_shape
        self.weight_grid = self.grid if same else resized(self.grid, self.weight_shape)

    # --- must be written ---

    @abstractmethod
    def apply(self, w: np.ndarray) -> np.ndarray:
        """All transforms of ``w`` (L,): the rows ``T_t w``, shape (m, d), linear in ``w``."""

    @abstractmethod
    def adjoint(self, M: np.ndarray) -> np.ndarray:
        """``sum_t T_t* M_t`` of one row per transform: (m, d) to (L,)."""

    # --- may be written: descriptions, and moves that the solver tries ---

    def describe(self, index: np.ndarray) -> dict[str, np.ndarray]:
        """The transforms ``index`` as physical quantities: one named column per quantity.

        ``index`` is an array of any shape, and so is each column.
        """
        return {"transform": np.asarray(index)}

    @cached_property
    def pose_space(self) -> PoseSpace:
        """The poses as parameters: their axes, and the nodes."""
        every = np.arange(self.n_transforms)
        columns = [np.asarray(values) for values in self.describe(every).values()]
        numbers = [values if values.dtype.kind in "biuf" else every for values in columns]
        nodes = np.array(numbers, dtype=np.float64).reshape(len(numbers), len(every)).T
        if self.continuous is not None:
            return PoseSpace(self.continuous.axes, nodes)
        ends = zip(declared_axes(self).values(), nodes.min(axis=0), nodes.max(axis=0), strict=True)
        return PoseSpace(tuple(replace(q, low=float(a), high=float(b)) for q, a, b in ends), nodes)

    @property
    def magnitude(self) -> Operator:
        """The operator with the entries ``|T_t|``: the operator itself if none is negative.

        Entries of a composition may be larger, where terms of the product cancel.
        """
        return self

    def coarser(self, axes: tuple[int, ...]) -> Operator | None:
        """About the same transforms on a grid with half as many points along some axes.

        The solver tries its starts there. Samples and weights are pooled
        (:mod:`gtpca.operators.pooling`), and transforms that become too similar may be left out.
        None, the default, is always correct: there is no coarser grid.
        """
        return None

    def moves(self, w: np.ndarray, far: bool = False) -> Iterable[np.ndarray]:
        """Weights worth trying once ``w`` has converged, (L,) each.

        With ``far``, also the same pattern at distant positions of the window, if the position
        determines which part of a sample it can reach.
        """
        return ()

    def centre(self, w: np.ndarray, used: np.ndarray | None, seen: np.ndarray) -> np.ndarray | None:
        """The same component, moved so that the transforms ``used`` (n,) lie amid all others.

        New samples then have room on both sides. Weights that are not ``seen`` (L,) are predicted
        (:mod:`gtpca.operators.extrapolation`); nothing is moved if ``used`` is None. Returns None
        if there is nothing to gain.
        """
        return None

    def translate(self, w: np.ndarray, index: int) -> np.ndarray | None:
        """``T_index w`` as weights, if that is the same component in another pose.

        This is so if the transforms form a group: then ``T_1 w, .., T_m w`` are the same vectors in
        another order. Returns None if they do not.
        """
        if self.weight_shape != self.sample_shape:
            return None
        moved = self.apply_at(w, np.array([index]))[0]
        if not np.isclose(np.linalg.norm(moved), np.linalg.norm(w), rtol=1e-9, atol=0.0):
            return None  # equal on the features that count, but not an isometry of the others
        probe = np.random.default_rng(0).standard_normal((1, self.n_features))
        probe = self.prepare(probe if self.feature_weight is None else probe * self.feature_weight)
        old, new = (np.sort(self.correlate(probe, v[None])[0, 0]) for v in (w, moved))
        return moved if np.allclose(old, new, rtol=0, atol=1e-9 * np.abs(old).max()) else None

    # --- may be written for speed: each has a slow but obvious default ---

    def matrix(self) -> sparse.csr_array:
        """All transforms as one sparse matrix (m * d, L); row ``t * d + j`` is feature j of T_t."""
        if self.selects:
            return selection_matrix(self.apply(np.arange(1.0, self.n_weights + 1)), self.n_weights)
        columns = [sparse.csc_array(self.apply(e).reshape(-1, 1)) for e in np.eye(self.n_weights)]
        return sparse.csr_array(sparse.hstack(columns))

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """What every :meth:`correlate` needs from the rows ``X`` (n, d), computed once, (n, ..).

        :meth:`correlate` and :meth:`adjoint_sum` take it, so all three are overridden together. The
        first axis remains that of the rows, and so does their precision.
        """
        return X

    def correlate(self, P: np.ndarray, W: np.ndarray) -> np.ndarray:
        """``<x_i, T_t w_s>`` of weights (S, L) with all rows, (S, n, m); ``P = prepare(X)``.

        In the precision of the rows: float32 rows give float32, whatever the weights are.
        """
        if len(W) == 1:
            return self._correlate(P, W[0])[None]
        return np.stack([self._correlate(P, w) for w in W])

    def ready(self, w: np.ndarray, dtype=np.float64) -> Ready:
        """Weights (L,) prepared for matches with few rows of a data type, one after the other.

        All moved weights if they are few and rows are not prepared, else the weights themselves.
        """
        plain = type(self).prepare is Operator.prepare
        few = self.n_transforms * self.n_features <= READY_BANK
        return ReadyBank(self, w, dtype) if plain and few else Ready(self, w)

    def prepare_mask(self, H: np.ndarray) -> np.ndarray:
        """What :meth:`correlate_mask` needs from masks ``H`` (n, d), computed once, (n, ..)."""
        return self.prepare(H) if self.selects else H

    def correlate_mask(self, P: np.ndarray, V: np.ndarray, W: np.ndarray) -> np.ndarray:
        """``<h_i, (T_t v_s) (T_t w_s)>`` of weights (S, L) with all masks, (S, n, m).

        ``P = prepare_mask(H)``.
        """
        if V is W:
            return self._correlate_squares(P, W)
        return np.stack([self._correlate_mask(P, v, w) for v, w in zip(V, W, strict=True)])

    def gram(self, stack: np.ndarray) -> np.ndarray:
        """``sum_j q_j (T_t v)_j (T_t w)_j`` of blocks of weights (S, K, L), (S, m, K, K).

        ``q`` is the feature weight; the shape is (S, 1, K, K) if the operator is isometric and has
        no feature weight, so that the result is the same for all transforms.
        """
        if self._alike:
            return (stack @ stack.transpose(0, 2, 1))[:, None]
        if self.feature_weight is None:
            return self._gram(stack)
        S, K = stack.shape[:2]
        if K == 1:
            return self._weighted_squares(stack[:, 0])[:, :, None, None]
        G = np.empty((S, self.n_transforms, K, K))
        for s, W in enumerate(stack):
            for j, k in zip(*np.tril_indices(K), strict=True):
                G[s, :, j, k] = G[s, :, k, j] = self._weighted_products(W[j], W[k])
        return G

    def apply_at(self, w: np.ndarray, index: np.ndarray) -> np.ndarray:
        """The rows ``T_{index_i} w``, or ``T_{index_i} w_i`` of weights (n, L), shape (n, d)."""
        if self.continuous is not None and is_pose(index):
            return self.continuous.apply(w, index)
        return self._apply_at(w, index) if w.ndim == 1 else self._apply_rows(w, index)

    def prepare_weights(self, W: np.ndarray) -> np.ndarray:
        """What every :meth:`add_moved` needs to know about the weights (K, L), computed once.

        All moved weights (K, m, d) if they are not too many, else the weights themselves.
        """
        if self.continuous is not None:
            return W
        if len(W) * self.n_transforms * self.n_features > LARGE_BANK:
            return W
        return np.stack([self.apply(w) for w in W]).astype(W.dtype, copy=False)

    def add_moved(self, X: np.ndarray, Q: np.ndarray, index: np.ndarray, coef: np.ndarray) -> None:
        """Add ``sum_k coef_ik T_{index_ik} w_k`` to the rows ``X`` (n, d), in place.

        ``Q = prepare_weights(W)``; ``index`` and ``coef`` are (n, K).
        """
        if Q.ndim == 3:
            (n, K), m = index.shape, self.n_transforms
            places = (index + np.arange(0, K * m, m, dtype=index.dtype)).ravel()
            entries = (coef.ravel(), places, np.arange(0, n * K + 1, K, dtype=index.dtype))
            X += sparse.csr_array(entries, shape=(n, K * m)) @ Q.reshape(K * m, -1)
            return
        for k, (w, c) in enumerate(zip(Q, coef.T, strict=True)):
            moved = self.apply_at(w, index[:, k]).astype(X.dtype, copy=False)
            moved *= c[:, None]
            X += moved

    def move_prepared(self, P, W: np.ndarray, index: np.ndarray, coef: np.ndarray) -> bool:
        """Add ``prepare(sum_k coef_ik T_{index_i} w_k)`` to ``P``, in place, if that is fast.

        The spectra of residuals are then updated instead of being computed again.

        Parameters
        ----------
        P : what :meth:`prepare` made of rows (n, d)
        W : array (K, L)
        index : int array (n,)
        coef : array (n, K)

        Returns
        -------
        bool
            Whether it was done; if not, the rows must be prepared again.
        """
        return False

    def adjoint_at(
        self, X: np.ndarray, index: np.ndarray, coef: np.ndarray | None = None
    ) -> np.ndarray:
        """``T_{index_i}* x_i`` of the rows ``X`` (n, d), (n, L), or sums of these, (S, L), float64.

        With coefficients (S, n), the sums are ``sum_i coef_si T_{index_si}* x_i``; transforms are
        then (S, n), or (n,) if they are the same for all S.
        """
        if self.continuous is not None and is_pose(index):
            back = self.continuous.adjoint(X, index)
            return back if coef is None else coef @ back
        if coef is None:
            return self._adjoint_rows(X, index)
        if index.ndim == 1:
            return self._adjoint_block(X, index, coef.T)
        return self._adjoint_each(X, index, coef)

    def adjoint_sum(self, P: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """``sum_i,t coef_sit T_t* x_i`` for coefficients (S, n, m), shape (S, L), float64.

        ``P = prepare(X)``. This is the adjoint of :meth:`correlate` as a function of the weights.
        Poses with probabilities need it; for shifts it costs one more FFT per row.
        """
        return np.stack([self._adjoint_sum(P, c) for c in coef])

    def mask_sums(self, H: np.ndarray, index: np.ndarray | None, coef: np.ndarray) -> np.ndarray:
        """``N_s = sum_i coef_si T_i* diag(h_i) T_i`` of masks (n, d), in compact form, (S, p).

        The diagonals, p = L, if the operator selects; otherwise ``sum_{i: t_i = t} coef_si h_i``
        for every transform, p = m d. Additive over rows; :meth:`normal` interprets it.
        Transforms are (n,) and coefficients (S, n); without transforms, coefficients (S, n, m)
        cover all of them.
        """
        if index is None:
            return np.stack([self._mask_sum(H, c) for c in coef])
        return self._mask_sums(H, index, coef.T)

    def normal(self, moments: Moments) -> Normal:
        """The normal equations of rows with these moments."""
        if self.continuous is not None and moments.posed:
            return self.continuous.normal(moments.between)
        system = self._normal(moments.nodes)
        return system + (-1.0) * self._lacking(moments) if moments.lack else system

    # --- helpers of the defaults ---

    @property
    def _averaging(self) -> Operator:
        """Where rows that are brought back come from: entries as in ``magnitude``, or positive."""
        return self.magnitude

    @property
    def _alike(self) -> bool:
        """Whether all transforms have the Gram matrices of the weights themselves."""
        return self.isometric and self.feature_weight is None

    @cached_property
    def _prepared_weight(self):
        """The feature weight as a mask that all rows share, prepared, (1, ..)."""
        return self.prepare_mask(np.asarray(self.feature_weight)[None])

    @cached_property
    def _weight_rows(self):
        """``T_t* q`` of the feature weight, (m, L), where the operator selects; None if large."""
        large = self.n_transforms * self.n_weights > LARGE_WEIGHT
        if self.feature_weight is None or not self.selects or large:
            return None
        rows = np.repeat(np.asarray(self.feature_weight)[None], self.n_transforms, axis=0)
        return self.adjoint_at(rows, np.arange(self.n_transforms))

    def _weighted_squares(self, W):
        """``sum_j q_j (T_t w_s)_j^2`` of weights (S, L), (S, m)."""
        if self._weight_rows is not None:
            return W**2 @ self._weight_rows.T
        return self._correlate_squares(self._prepared_weight, W)[:, 0]

    def _weighted_products(self, v, w):
        """``sum_j q_j (T_t v)_j (T_t w)_j`` of weights (L,), (m,)."""
        if self._weight_rows is not None:
            return self._weight_rows @ (v * w)
        return self._correlate_mask(self._prepared_weight, v, w)[0]

    def _correlate(self, P: np.ndarray, w: np.ndarray) -> np.ndarray:
        """:meth:`correlate` of single weights (L,), (n, m); arrays or tensors, not prepared."""
        return P @ cast(self.apply(w), P).T

    def _correlate_mask(self, P, v, w):
        """For weights (L,), (n, m). If the operator selects, ``(T v) (T w) = T (v w)``."""
        if self.selects:
            both = v * w
            return self.correlate(P, both[None])[0] if is_numpy(w) else self._correlate(P, both)
        moved = self.apply(v)
        return P @ cast(moved * (moved if v is w else self.apply(w)), P).T

    def _product_each(self, P, W):
        """:meth:`correlate` by one matrix product, for ``P`` (n, d)."""
        banks = self._apply_each(W).astype(P.dtype, copy=False)
        products = P @ banks.reshape(-1, self.n_features).T
        return products.reshape(len(P), len(W), -1).transpose(1, 0, 2)

    def _apply_each(self, W: np.ndarray) -> np.ndarray:
        """:meth:`apply` of several weights (S, L), shape (S, m, d)."""
        return np.stack([self.apply(w) for w in W])

    def _correlate_squares(self, P: np.ndarray, W: np.ndarray) -> np.ndarray:
        """``<h_i, (T_t w_s)^2>`` of several weights (S, L), shape (S, n, m)."""
        if self.selects:
            return self.correlate(P, W * W)
        return np.stack([self._correlate_mask(P, w, w) for w in W])

    def _norms(self, w: np.ndarray) -> np.ndarray:
        """``|T_t w|``, shape (m,)."""
        return namespace(w).linalg.norm(self.apply(w), None, 1)

    def _constant_norms(self, w):
        """:meth:`_norms` of an isometry."""
        xp = namespace(w)
        return xp.linalg.norm(w) * xp.ones_like(w[:1]).repeat(self.n_transforms)

    def _gram_of(self, W: np.ndarray) -> np.ndarray:
        """``<T_t w_j, T_t w_k>`` of a block of weights (K, L), shape (m, K, K)."""
        if len(W) == 1:
            return self._norms(W[0])[:, None, None] ** 2
        banks = np.stack([self.apply(w) for w in W], axis=1)
        return banks @ banks.transpose(0, 2, 1)

    def _gram(self, stack: np.ndarray) -> np.ndarray:
        """:meth:`_gram_of` of several blocks of weights (S, K, L), shape (S, m, K, K)."""
        return np.array([self._gram_of(W) for W in stack])

    def _apply_at(self, w: np.ndarray, index: np.ndarray) -> np.ndarray:
        """The rows ``T_{index_i} w``, shape (n, d)."""
        return self.apply(w)[index]

    def _apply_rows(self, V: np.ndarray, index: np.ndarray) -> np.ndarray:
        """Each row of weights under its own transform, ``T_{index_i} v_i``, (n, d)."""
        return np.concatenate([self._apply_at(v, index[i : i + 1]) for i, v in enumerate(V)])

    def _adjoint_at(self, X: np.ndarray, index: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """``sum_i coef_i T_{index_i}* x_i``, shape (L,), float64."""
        return self.adjoint(sum_by_index(X, index, coef, self.n_transforms))

    def _adjoint_rows(self, X: np.ndarray, index: np.ndarray) -> np.ndarray:
        """The adjoint of each row, ``T_{index_i}* x_i``, shape (n, L)."""
        one = np.ones(1)
        return np.array(
            [self._adjoint_at(x[None], np.array([t]), one) for x, t in zip(X, index, strict=True)]
        )

    def _adjoint_each(self, X: np.ndarray, index: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """:meth:`_adjoint_at` for several indices and coefficients (S, n), shape (S, L)."""
        return np.stack([self._adjoint_at(X, t, c) for t, c in zip(index, coef, strict=True)])

    def _adjoint_block(self, X: np.ndarray, index: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """``sum_i coef_ik T_{index_i}* x_i`` for coefficients (n, K), shape (K, L), float64."""
        return (coef.T @ self.adjoint_at(X, index)).astype(np.float64, copy=False)

    def _adjoint_sum(self, P, coef):
        """:meth:`adjoint_sum` for coefficients (n, m), (L,)."""
        return self.adjoint((coef.T @ P).astype(np.float64, copy=False))

    def _mask_rows(self, H: np.ndarray, index: np.ndarray) -> np.ndarray:
        """The diagonals of ``T_i* diag(h_i) T_i``, (n, L), where the operator selects."""
        return self.adjoint_at(H, index)

    def _mask_sums(self, H: np.ndarray, index: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """:meth:`mask_sums` for coefficients (n, S)."""
        if self.selects:
            return self._adjoint_block(H, index, coef)
        if coef.shape[1] == 1:
            return sum_by_index(H, index, coef[:, 0], self.n_transforms).reshape(1, -1)
        sums = np.zeros((coef.shape[1], self.n_transforms, self.n_features))
        for t in np.unique(index):
            mine = index == t
            sums[:, t] = coef[mine].T.astype(H.dtype) @ H[mine]
        return sums.reshape(len(sums), -1)

    def _mask_sum(self, H: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """:meth:`mask_sums` for coefficients (n, m) over all transforms, (p,)."""
        if self.selects:
            return self.adjoint_sum(self.prepare_mask(H), coef[None])[0]
        return (coef.T @ H).ravel()

    def _mask_total(self, M: np.ndarray) -> np.ndarray:
        """``sum_t T_t* diag(M_t) T_t``, in compact form, (p,), for one row (m, d) per transform."""
        return self.adjoint(M) if self.selects else M.ravel()

    def _mask_normal(self, sums: np.ndarray, w: np.ndarray) -> np.ndarray:
        """``N_k w``, shape (L,), for one row (p,) of :meth:`_mask_sums`."""
        if self.selects:
            return sums * w
        bank = self.apply(w)
        return self.adjoint(sums.reshape(bank.shape) * bank)

    def _coverage(self, counts: np.ndarray) -> np.ndarray:
        """How often each weight is seen if transforms occur ``counts`` times, (S, m) to (S, L).

        This is ``diag(sum_t counts_t T_t* diag(q) T_t)`` with the feature weight ``q`` if the
        operator selects, and otherwise something that is positive where this is.
        """
        if self._weight_rows is not None:
            return counts @ self._weight_rows
        if self.selects and self.feature_weight is not None:
            each = np.asarray(counts, dtype=np.float64)[:, None]
            cover = self.adjoint_sum(self._prepared_weight, each)
            least = FAINT * np.abs(cover).max(axis=1, keepdims=True)
            return np.where(np.abs(cover) > least, cover, 0.0)
        whole = self.magnitude
        shown = whole.apply(np.ones(self.n_weights))
        shown = shown if self.feature_weight is None else shown * self.feature_weight
        return np.array([whole.adjoint(np.asarray(each)[:, None] * shown) for each in counts])

    def _lacking(self, moments: Moments) -> Normal:
        """What values with less weight subtract from the normal equations."""
        return Diagonal(moments.hidden) if self.selects else Masked(self, moments.hidden)

    def _normal(self, nodes) -> Normal:
        """The normal equations if all values count fully, from moments (S, m, K, K)."""
        if self._alike:
            return Scalar(nodes.sum(axis=1), self.n_weights)
        if self.selects:
            S, m, K, _ = nodes.shape
            pairs = nodes.transpose(0, 2, 3, 1).reshape(-1, m)
            return Diagonal(self._coverage(pairs).reshape(S, K, K, -1))
        return ByNode(self, nodes)

    def _node_times(self, nodes: np.ndarray, W: np.ndarray) -> np.ndarray:
        """``sum_t,k nodes_tjk T_t* diag(q) T_t w_k``, (K, L), of moments (m, K, K) and weights."""
        banks, K, q = [self.apply(w) for w in W], range(len(W)), self.feature_weight
        banks = banks if q is None else [bank * q for bank in banks]
        return np.array([sum(self.adjoint(nodes[:, j, k, None] * banks[k]) for k in K) for j in K])


def selection_matrix(numbers, n_weights):
    """0/1 matrix that reads weight ``number - 1`` at each position, or nothing where it is 0."""
    numbers = np.rint(numbers).astype(np.int64).ravel()
    rows = np.flatnonzero(numbers)
    entries = (np.ones(len(rows)), (rows, numbers[rows] - 1))
    return sparse.csr_array(entries, shape=(len(numbers), n_weights))


def smoothed(operator, w, width):
    """Weights (L,) smoothed along the moving axes by a Gaussian of the given width in points."""
    grid = w.reshape(operator.weight_shape)
    for axis, edge in operator.edges.items():
        grid = blurred(grid, width, axis, edge)
    return grid.ravel()


def blurred(a, width, axis, edge):
    """An array smoothed along an axis by a Gaussian, continued beyond its edges."""
    reach = min(math.ceil(4 * width), a.shape[axis])
    taps = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    ends = [(reach, reach) if j == axis else (0, 0) for j in range(a.ndim)]
    padded = sliding_window_view(np.pad(a, ends, mode=edge), 2 * reach + 1, axis)
    return padded @ (taps / taps.sum())


def on_nodes(operator, what: str):
    """The operator with its nodes alone, for what sums over all transforms.

    Raises a ValueError that names ``what`` if the nodes do not stand for all poses.
    """
    if operator.continuous is None:
        return operator
    if not operator.continuous.from_nodes:
        raise ValueError(
            f"{what} sums over a list of transforms, which this family does not have: its poses "
            "are found row by row. Use GTPCA, or a family with a list of transforms."
        )
    other = copy.copy(operator)
    other.continuous = None
    vars(other).pop("pose_space", None)
    return other


def add_projection(operator, X, W, index, coef) -> None:
    """Add ``sum_k coef_ik T_{index_i} w_k`` to the rows ``X`` (n, d), in place.

    Weights are (K, L), coefficients (n, K), and all K share the transform of a row: ``index`` (n,),
    or poses (n, p).
    """
    if is_pose(index):
        X += operator.apply_at(coef @ W, index).astype(X.dtype, copy=False)
        return
    each = np.broadcast_to(index[:, None], coef.shape)
    operator.add_moved(X, operator.prepare_weights(W), each, coef)


def lengths_at(operator, W, index) -> np.ndarray:
    """``|T_{index_i} w_k|`` in the inner product of the operator, (n, K), at poses (n, p)."""
    q = operator.feature_weight
    squares = (
        operator.apply_at(w, index) ** 2 @ (np.ones(operator.n_features) if q is None else q)
        for w in W
    )
    return np.sqrt(np.stack(list(squares), axis=1))


def sum_by_index(X, index, coef, n_groups):
    """``M_t = sum_{i: index_i = t} coef_i x_i``, (n, d) to (n_groups, d), float64.

    A small number of groups is summed in the precision of the rows.
    """
    n = len(X)
    if n_groups <= FEW_GROUPS:
        pick = np.zeros((n_groups, n), np.result_type(X, np.float32))
        pick[index, np.arange(n)] = coef
        return (pick @ X).astype(np.float64)
    pick = sparse.csr_array(
        (np.asarray(coef, dtype=np.float64), np.asarray(index), np.arange(n + 1)),
        shape=(n, n_groups),
    )
    return pick.T @ X


def with_feature_weight(operator, feature_weight):
    """The same transforms, with the inner product ``sum_j q_j x_j y_j`` of samples.

    ``q`` (d,) is the weight; None: all features count alike.
    """
    if feature_weight is operator.feature_weight:
        return operator  # including everything it has computed
    other = copy.copy(operator)
    other.feature_weight = feature_weight
    for name in ("_prepared_weight", "_weight_rows", "_coupling", "_weighted_whole"):
        vars(other).pop(name, None)
    return other


def weigh_features(operator, feature_weight):
    """The operator with the inner product given by a weight of the shape of a sample."""
    shapes = [operator.sample_shape, (operator.n_features,)]
    weight = checks.weights("feature_weight", feature_weight, shapes).astype(np.float64).ravel()
    return operator if np.all(weight == 1) else with_feature_weight(operator, weight)

"""What components explain if noise has heavy tails, estimated robustly.

A value that is far louder than a pattern determines the pose of its row and distorts the component.
The residual of such a component contains the pattern itself, in rows where it was not found: a
second component would be called real because of the first. Surrogates of the residual of one
component therefore need a pattern that is not affected by loud values:

    poses    of rows whose values are clipped
    w, a     least sum_ij | A_ij - a_i w_j | over aligned rows A, by alternating weighted medians
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gtpca.diagnostics.common import like, refit, single_like

__all__ = ["calm_signal", "weighted_median"]

CLIP = 3.0  # deviations of noise from the middle of a row, at which values are clipped
SWEEPS = 4  # over weights and scores
DEVIATION = 1.4826  # over the median of absolute values, of a Gaussian


def calm_signal(model, samples: np.ndarray, count: int, seed: int, *, shared: bool) -> np.ndarray:
    """What ``count`` components explain of samples (n, \\*sample_shape), by medians.

    Parameters
    ----------
    model : GTPCA
        Fitted; its family, and its treatment of samples, are those of the fits.
    samples : array
        NaN means *not observed*.
    count : int
    seed : int
        Of the fits.
    shared : bool
        Whether components share one pose.
    """
    if shared:
        estimator = single_like(model, seed)
        if count > 1:
            estimator = like(
                estimator, n_components=count, shared_pose=True, polarity="both", refine=0
            )
        return _explained(estimator, samples, model.labels_)
    signal: np.ndarray | float = 0.0
    for step in range(count):
        single = single_like(model, seed + step)
        signal = signal + _explained(single, samples - signal, model.labels_)
    return np.asarray(signal)


def clipped(samples):
    """Samples whose values are at most three deviations from the middle of their row."""
    axes = tuple(range(1, samples.ndim))
    middle = np.nanmedian(samples, axis=axes, keepdims=True)
    apart = samples - middle
    most = CLIP * DEVIATION * np.nanmedian(np.abs(apart))
    return samples if most <= 0 else middle + np.clip(apart, -most, most)


def _explained(estimator, samples, labels):
    """What the components of an estimator explain, by medians, (n, \\*sample_shape)."""
    found = refit(estimator, clipped(samples), labels)
    value = replace(found.model_, polarity="both")
    index = value.encode(found.chunks(clipped(samples))).index[:, 0]
    chunk = found.chunks(samples).take(np.arange(len(samples)))
    operator = found.operator_
    seen = (~np.isnan(chunk.rows)).astype(float)
    H = operator.adjoint_at(seen, index)
    A = operator.adjoint_at(chunk.filled.astype(np.float64), index)
    there = H > 0.5
    A = np.where(there, A / np.where(there, H, 1.0), 0.0)
    W, scores = _by_medians(A, there, value.weights)
    moved = np.stack([operator.apply_at(w, index) for w in W])  # (K, n, d)
    signal = np.einsum("nk,knd->nd", scores, moved).reshape(samples.shape)
    return signal if found.mean_ is None else signal + found.mean_


def _by_medians(A, there, W):
    """``W`` (K, L) and scores (n, K) with the least ``sum |A - scores W|`` where something is seen.

    From given weights, by weighted medians in turns.
    """
    W, scores = np.array(W), np.zeros((len(A), len(W)))
    for sweep in range(SWEEPS):
        for k in range(len(W)):
            rest = A - scores @ W + np.outer(scores[:, k], W[k])
            scores[:, k] = _slopes(rest, there, W[k])
            if sweep + 1 < SWEEPS:
                W[k] = _slopes(rest.T, there.T, scores[:, k])
                W[k] /= max(np.linalg.norm(W[k]), np.finfo(float).tiny)
    return W, scores


def _slopes(rows, there, x):
    """``b_i`` with the least ``sum_j |y_ij - b_i x_j|`` of rows (n, m), (n,)."""
    safe = np.where(x == 0, 1.0, x)
    return weighted_median(rows / safe, np.abs(x) * there)


def weighted_median(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """For each row of ``values`` (n, m), the smallest with half of the ``weight`` (n, m) below it.

    0 if nothing has weight.

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca.diagnostics.tails import weighted_median
    >>> weighted_median(np.array([[3.0, 1.0, 100.0]]), np.array([[1.0, 1.0, 0.5]]))
    array([3.])
    """
    order = np.argsort(values, axis=1)
    sums = np.cumsum(np.take_along_axis(weight, order, axis=1), axis=1)
    place = np.argmax(sums >= sums[:, -1:] / 2, axis=1)[:, None]
    found = np.take_along_axis(values, np.take_along_axis(order, place, axis=1), axis=1)[:, 0]
    return np.where(sums[:, -1] > 0, found, 0.0)

"""Starts for templates: loud windows of a recording that resemble others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.signal import find_peaks

from gtpca.model.decoding import correlations
from gtpca.model.prices import MAD

__all__ = ["faint_template", "first_templates", "spaced"]

BAR = 3.0  # standard deviations above which one window resembles another
LOUD = 300  # windows that are compared with each other
CANDIDATES = 64  # of these that may be templates
FAINT = (16, 8, 4, 2, 1)  # candidates that remain after each step
TRIED = 64  # windows that may become a faint template
FAINT_POINTS = 2**16  # points of recordings that are searched for it
SAMPLED = 2**13  # values from which a standard deviation is estimated
FAINT_BAR = 4.0  # standard deviations above which a place gains
LLOYD = 5  # steps from windows to means of windows
EXCHANGES = 4
TINY = 1e-12


def first_templates(arrays, recipe) -> np.ndarray:
    """The first templates (K, 1, L, C): loud windows that resemble many others.

    Among some loud windows, those are chosen that together explain most of the others, each at its
    best lag (a facility location problem). Each is then replaced by the mean of those it explains.

    Parameters
    ----------
    arrays : list of arrays (n, C)
    recipe : EventRecipe
    """
    length, pad, count, rng = recipe.length, recipe.length // 2, recipe.n_components, recipe.rng
    X = loud_windows(arrays, length, pad, rng)  # (n, L + 2 pad, C)
    if not len(X):
        return _normed(rng.standard_normal((count, length, arrays[0].shape[1])))[:, None]
    chosen = rng.permutation(len(X))[:CANDIDATES]
    W = _normed(X[chosen, pad : pad + length])
    bar = (BAR * deviation(arrays, W[:4])) ** 2
    c, _ = best_lags(X, W, recipe.positive)
    gains = np.maximum(c**2 - bar, 0.0)  # (M, n)
    gains[np.arange(len(W)), chosen] = 0.0  # a window is like itself in any noise
    W = W[facilities(gains, count)]
    if len(W) < count:
        W = np.concatenate([W, _normed(rng.standard_normal((count - len(W), *W.shape[1:])))])
    every = np.arange(len(X))
    for _ in range(LLOYD):
        c, lag = best_lags(X, W, recipe.positive)
        own = np.argmax(c**2, axis=0)
        c, lag = c[own, every], lag[own, every]
        aligned = X[every[:, None], lag[:, None] + np.arange(length)]
        for k in range(count):
            mine = (own == k) & (c**2 > bar)
            if mine.any():
                W[k] = _normed(np.einsum("e,elc->lc", c[mine], aligned[mine])[None])[0]
    return W[:, None]


def faint_template(arrays, recipe) -> np.ndarray:
    """A template (1, 1, L, C) of a residual, possibly too faint to be seen in single windows.

    Loud windows are replaced by the mean of all places that resemble them. This is repeated with
    those that gain most.
    """
    length, rng = recipe.length, recipe.rng
    ends = np.cumsum([len(Y) for Y in arrays])
    arrays = arrays[: max(1, int(np.searchsorted(ends, FAINT_POINTS, "right")))]
    X = loud_windows(arrays, length, 0, rng)
    if not len(X):
        return first_templates(arrays, replace(recipe, n_components=1))
    W = _normed(X[rng.permutation(len(X))[:TRIED]])
    for count in FAINT:
        W, gains = _means_of_peaks(arrays, W, recipe)
        W = W[np.argsort(-gains, kind="stable")[:count]]
    return W[:1, None]


def _means_of_peaks(arrays, W, recipe):
    """The mean of the places that resemble each of M templates (M, L, C), and their gains (M,)."""
    length, total, gain = recipe.length, np.zeros_like(W), np.zeros(len(W))
    for Y in arrays:
        Y = np.nan_to_num(Y)
        for k, c in enumerate(correlations(Y, W)):
            sigma = float(np.median(np.abs(c[:: max(1, len(c) // SAMPLED)]))) / MAD
            size = np.maximum(c, 0.0) if recipe.positive else np.abs(c)
            peaks = find_peaks(np.pad(size, 1), height=BAR * sigma, distance=max(1, length // 2))[0]
            peaks = peaks - 1
            total[k] += np.einsum("e,elc->lc", c[peaks], Y[peaks[:, None] + np.arange(length)])
            gain[k] += np.sum(np.maximum(c[peaks] ** 2 - (FAINT_BAR * sigma) ** 2, 0.0))
    empty = ~total.any(axis=(1, 2))
    total[empty] = W[empty]
    return _normed(total), gain


def _normed(W):
    """Templates (M, L, C) of unit norm."""
    return W / np.maximum(np.linalg.norm(W, axis=(1, 2), keepdims=True), TINY)


def loud_windows(arrays, length, pad, rng) -> np.ndarray:
    """Windows with much energy, and ``pad`` points around them, (n, L + 2 pad, C).

    Half of them are the loudest; the others are drawn with probabilities proportional to their
    energy above the median.
    """
    places, weights = [], []
    for number, Y in enumerate(arrays):
        power = np.nan_to_num(np.sum(Y**2, axis=1))
        total = np.cumsum(np.concatenate([[0.0], power]))
        energy = total[length:] - total[:-length]
        peaks, _ = find_peaks(np.pad(energy, 1), distance=max(1, length // 2))
        peaks = peaks - 1
        places.append(np.stack([np.full(len(peaks), number), peaks]))
        weights.append(np.maximum(energy[peaks] - np.median(energy), 0.0))
    place, weight = np.concatenate(places, axis=1), np.concatenate(weights)
    order = np.argsort(-weight, kind="stable")
    loudest, others = order[: LOUD // 2], order[LOUD // 2 :]
    n = min(LOUD - LOUD // 2, int(np.count_nonzero(weight[others])))
    if n:
        share = weight[others] / weight[others].sum()
        others = rng.choice(others, n, replace=False, p=share)
        loudest = np.concatenate([loudest, others])
    padded = [np.pad(np.nan_to_num(Y), ((pad, pad), (0, 0))) for Y in arrays]
    cut = [padded[r][t : t + length + 2 * pad] for r, t in place[:, loudest].T]
    return np.array(cut).reshape(len(cut), length + 2 * pad, arrays[0].shape[1])


def deviation(arrays, W):
    """A typical standard deviation of correlations with templates, by the median of their size."""
    found = [np.median(np.abs(correlations(np.nan_to_num(Y), W)), axis=1) for Y in arrays]
    return float(np.median(found)) / MAD


def best_lags(X, W, positive):
    """The largest inner products of windows (n, L + 2 pad, C) with templates (M, L, C), and lags.

    Returns c (M, n) and lag (M, n).
    """
    count = X.shape[1] - W.shape[1] + 1
    size = next_fast_len(X.shape[1], real=True)
    spectra, found, lags = rfft(X, size, axis=1), [], []
    every = np.arange(len(X))
    for w in W:
        product = np.einsum("nfc,fc->nf", spectra, np.conj(rfft(w, size, axis=0)))
        c = irfft(product, size, axis=1)[:, :count]
        lag = (c if positive else np.abs(c)).argmax(axis=1)
        found.append(c[every, lag])
        lags.append(lag)
    most = np.array(found)
    return np.maximum(most, 0.0) if positive else most, np.array(lags)


def facilities(gains, count):
    """Rows of gains (M, n) whose column maxima have the largest sum: greedy, then exchanges."""
    picked: list[int] = []
    best = np.zeros(gains.shape[1])
    for _ in range(min(count, len(gains))):
        totals = np.maximum(gains, best).sum(axis=1)
        totals[picked] = -1.0
        picked.append(int(totals.argmax()))
        best = np.maximum(best, gains[picked[-1]])
    for _ in range(EXCHANGES):
        moved = False
        for i in range(len(picked)):
            others = picked[:i] + picked[i + 1 :]
            rest = gains[others].max(axis=0, initial=0.0)
            totals = np.maximum(gains, rest).sum(axis=1)
            totals[others] = -1.0
            new = int(totals.argmax())
            if totals[new] > totals[picked[i]] * (1 + 1e-12):
                picked[i], moved = new, True
        if not moved:
            break
    return picked


def spaced(starts, apart):
    """Starts that are far enough apart, preferring earlier ones in the given order; ascending."""
    kept: dict[int, list[int]] = {}
    apart = max(1, apart)
    for start in starts.tolist():
        cell = start // apart
        near = [t for j in (cell - 1, cell, cell + 1) for t in kept.get(j, ())]
        if all(abs(start - t) >= apart for t in near):
            kept.setdefault(cell, []).append(start)
    return np.sort(np.array([t for each in kept.values() for t in each], dtype=np.int64))

"""From recordings to templates: starts, decoding, prices and updates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.signal import find_peaks

from gtpca.data.signals import Span, spans
from gtpca.model.decoding import (
    Dictionary,
    Placed,
    correlations,
    decode_piece,
    render,
)
from gtpca.model.prices import Noise, NoiseSample, prices_of
from gtpca.operators.toeplitz import Toeplitz

EPS = 1e-12
EASE = (0.4, 0.7)  # of prices in the first passes: what is not explained yet makes them too high
ESTIMATED = 3  # passes after which prices are frozen


@dataclass(frozen=True, eq=False)
class EventRecipe:
    """How templates are looked for."""

    n_components: int
    length: int
    false_alarms: float = 1.0
    refractory: int = 1
    positive: bool = True
    shared_pose: bool = False
    n_init: int = 2
    max_iter: int = 30
    tol: float = 1e-4
    rng: Any = None
    core: int | None = None
    report: Any = None


@dataclass(eq=False)
class State:
    """Templates and events so far."""

    dictionary: Dictionary
    placed: list
    noise: list
    prices: Any = None
    objective: float = np.inf
    history: list = field(default_factory=list)
    passes: int = 0


def decode_all(signals, dictionary, prices, before=None, thorough=True, core=None, sample=True):
    """Events of every recording, and what is left of noise in its correlations."""
    sizes = [signal.n_points for signal in signals]
    found = [[] for _ in sizes]
    noise = [NoiseSample.of(n, dictionary) for n in sizes]
    for span in spans(sizes, dictionary.length, core):
        placed, part = decode_span(signals, dictionary, prices, before, thorough, span)
        found[span.recording].append(placed)
        noise[span.recording] = noise[span.recording] + part
    return [joined(parts) for parts in found], noise


def joined(parts):
    """Events of consecutive pieces."""
    return Placed(
        np.concatenate([p.start for p in parts]),
        np.concatenate([p.group for p in parts]),
        np.concatenate([p.scores for p in parts]),
    )


def decode_span(signals, dictionary, prices, before, thorough, span: Span):
    """Events that begin in a piece, and its sample of noise."""
    number, length = span.recording, dictionary.length
    signal = signals[number]
    if span.high - span.low < length:
        return Placed.none(dictionary.size), NoiseSample.of(signal.n_points, dictionary)
    Y = signal.read(span.low, span.high)
    old = None
    if before is not None:
        mine = before[number]
        inside = (mine.start >= span.low) & (mine.start <= span.high - length)
        old = mine.take(inside)
        old.start = old.start - span.low
    piece = decode_piece(Y, dictionary, prices[number], old, thorough)
    placed = piece.placed
    start = placed.start + span.low
    mine = (start >= span.start) & (start < span.stop)
    kept = Placed(start[mine], placed.group[mine], placed.scores[mine])
    sample = NoiseSample.from_piece(piece, span, signal.n_points)
    return kept, sample


def statistics(signals, placed, weights, pad=0, core=None):
    """Right-hand sides of the update and the energy of the residual, over what was observed."""
    S, Q, L, C = weights.shape
    rhs, left = np.zeros((S, Q, L + 2 * pad, C)), 0.0
    for span in spans([s.n_points for s in signals], L, core):
        signal, events = signals[span.recording], placed[span.recording]
        low, high = max(0, span.start - L - pad), min(signal.n_points, span.stop + L + pad)
        Y = signal.read(low, high)
        near = events.take((events.start > low - L) & (events.start < high))
        near = Placed(near.start - low, near.group, near.scores)
        built = render(near, weights, high - low)
        hidden = np.isnan(Y)
        if hidden.any():
            Y = np.where(hidden, built, Y)
        rest = (Y - built)[span.start - low : span.stop - low]
        left += float(np.vdot(rest, rest))
        own = near.take((near.start + low >= span.start) & (near.start + low < span.stop))
        if len(own):
            wide = np.pad(Y, ((pad, pad), (0, 0))) if pad else Y
            windows = np.lib.stride_tricks.sliding_window_view(wide, L + 2 * pad, axis=0)
            for g in range(S):
                mine = own.group == g
                if mine.any():
                    cut = windows[own.start[mine]]  # (n, C, L)
                    rhs[g] += np.einsum("eq,ecl->qlc", own.scores[mine], cut, optimize=True)
    return rhs, left


def toeplitz_of(placed, shape, pad=0):
    """The normal equations of all events."""
    S, Q, L, _ = shape
    starts, scores, offset = [], [], 0
    for events in placed:
        every = np.zeros((len(events), S, Q))
        every[np.arange(len(events)), events.group] = events.scores
        starts.append(events.start + offset)
        scores.append(every.reshape(len(events), S * Q))
        offset += (int(events.start[-1]) if len(events) else 0) + 4 * L + 4 * pad
    return Toeplitz.of(np.concatenate(starts), np.concatenate(scores), L + 2 * pad)


def updated(signals, placed, dictionary, pad=0, core=None):
    """New templates by least squares, and events with scores to match; the energy before.

    With ``pad``, windows are longer by so much on both sides, and the part of them with most energy
    is taken: a template that was cut by its window moves in.
    """
    W = dictionary.weights
    S, Q, L, C = W.shape
    rhs, left = statistics(signals, placed, W, pad, core)
    system = toeplitz_of(placed, W.shape, pad)
    start = np.pad(W, ((0, 0), (0, 0), (pad, pad), (0, 0))).reshape(S * Q, L + 2 * pad, C)
    new = system.solve(rhs.reshape(start.shape), start).reshape(S, Q, L + 2 * pad, C)
    placed = [Placed(p.start.copy(), p.group.copy(), p.scores.copy()) for p in placed]
    weights = np.empty_like(W)
    for g in range(S):
        shift = best_cut(new[g], L) if pad else 0
        cut = new[g][:, shift : shift + L]
        flat, turn = orthonormal(cut.reshape(Q, -1), placed, g, W[g].reshape(Q, -1))
        weights[g] = flat.reshape(Q, L, C)
        for p, signal in zip(placed, signals, strict=True):
            mine = p.group == g
            p.scores[mine] = p.scores[mine] @ turn
            if shift != pad:
                p.start[mine] += shift - pad
    if pad:
        placed = [inside(p, s.n_points - L) for p, s in zip(placed, signals, strict=True)]
    return replace(dictionary, weights=weights.reshape(W.shape)), placed, left


def inside(placed, last):
    """Events whose windows are in the recording, in order."""
    kept = placed.take((placed.start >= 0) & (placed.start <= last))
    return kept.take(np.lexsort((kept.group, kept.start)))


def best_cut(W, length):
    """Where the window of a length with most energy begins, of templates (Q, L + 2 pad, C)."""
    energy = np.cumsum(np.concatenate([[0.0], np.sum(W**2, axis=(0, 2))]))
    sums = energy[length:] - energy[:-length]
    return int(sums.argmax())


def orthonormal(W, placed, group, old):
    """Orthonormal templates (Q, d) of the same span, and what scores are multiplied with.

    In descending order of the energy of their scores.
    """
    norms = np.linalg.norm(W, axis=1)
    if len(W) == 1:
        return (W / norms[:, None], norms[:, None]) if norms[0] > EPS else (old, np.eye(1))
    moments = sum(
        (p.scores[p.group == group].T @ p.scores[p.group == group] for p in placed),
        np.zeros((len(W), len(W))),
    )
    basis, R = np.linalg.qr(W.T)  # W = R' basis'
    if np.abs(np.diagonal(R)).min() <= 1e-10 * np.abs(R).max():
        return old, np.eye(len(W))
    values, V = np.linalg.eigh(R @ moments @ R.T)
    V = V[:, ::-1]
    return V.T @ basis.T, R.T @ V


def price_matrix(noise, sizes, recipe, dictionary):
    """``theta^2`` of every recording and group, (R, S)."""
    return np.stack(
        [
            prices_of(one, n, recipe.false_alarms, dictionary)
            for one, n in zip(noise, sizes, strict=True)
        ]
    )


# -- starts -----------------------------------------------------------------------------------

BAR = 3.0  # deviations above which a window counts as like another while templates are begun
LOUD = 300  # windows that are compared with each other
CANDIDATES = 64  # of these that may be templates
LLOYD = 5  # steps from windows to means of windows
SUBSET = 2**17  # points in which templates are begun


def first_templates(arrays, recipe, rng) -> np.ndarray:
    """Templates (S, Q, L, C) to begin with: loud windows that others are like.

    Of some loud windows, those are taken as templates that together gain most of the others where
    they fit best (a facility location); then each becomes the mean of those that it gains.
    """
    length, pad = recipe.length, recipe.length // 2
    X = loud_windows(arrays, length, pad, rng)  # (n, L + 2 pad, C)
    n_templates = 1 if recipe.shared_pose else recipe.n_components
    W = X[rng.permutation(len(X))[:CANDIDATES], pad : pad + length]
    W = W / np.maximum(np.linalg.norm(W, axis=(1, 2), keepdims=True), EPS)
    bar = (BAR * deviation(arrays, W[:4])) ** 2
    c, _ = best_lags(X, W, recipe.positive)
    gains = np.maximum(c**2 - bar, 0.0)  # (M, n)
    gains = np.where(c**2 > (1 - 1e-9) * np.sum(X[:, pad : pad + length] ** 2, axis=(1, 2)), 0, gains)
    W = W[chosen(gains, n_templates)]
    if len(W) < n_templates:
        more = rng.standard_normal((n_templates - len(W), *W.shape[1:]))
        W = np.concatenate([W, more / np.linalg.norm(more, axis=(1, 2), keepdims=True)])
    for _ in range(LLOYD):
        c, lag = best_lags(X, W, recipe.positive)
        own = np.argmax(c**2, axis=0)
        every = np.arange(len(X))
        c, lag = c[own, every], lag[own, every]
        aligned = X[every[:, None], lag[:, None] + np.arange(length)]
        for k in range(len(W)):
            mine = (own == k) & (c**2 > bar)
            if mine.any():
                mean = np.einsum("e,elc->lc", c[mine], aligned[mine])
                W[k] = mean / max(np.linalg.norm(mean), EPS)
    if not recipe.shared_pose:
        return W[:, None]
    rows = aligned[c**2 > bar].reshape(-1, W[0].size)
    K = recipe.n_components
    rows = np.concatenate([rows, 1e-6 * rng.standard_normal((K + 1, W[0].size))])
    _, _, V = np.linalg.svd(rows, full_matrices=False)
    return V[:K].reshape(1, K, *W[0].shape)


def loud_windows(arrays, length, pad, rng):
    """Windows with much energy and what is around them, (n, L + 2 pad, C).

    Half of them are the loudest, the others are drawn by their energy above the usual.
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
    return np.stack(
        [padded[r][t : t + length + 2 * pad] for r, t in place[:, loudest].T]
    )


def deviation(arrays, W):
    """A typical deviation of correlations of templates with recordings, by their median."""
    found = [np.median(np.abs(correlations(np.nan_to_num(Y), W)), axis=1) for Y in arrays]
    return float(np.median(found)) / 0.6745


def best_lags(X, W, positive):
    """The largest products of windows (n, L + 2 pad, C) with templates (M, L, C), and their lags.

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
    found = np.array(found)
    return np.maximum(found, 0.0) if positive else found, np.array(lags)


def chosen(gains, count):
    """Rows of gains (M, n) whose maxima over rows have the largest sum: greedy, then exchanges."""
    picked: list[int] = []
    best = np.zeros(gains.shape[1])
    for _ in range(min(count, len(gains))):
        totals = np.maximum(gains, best).sum(axis=1)
        totals[picked] = -1.0
        picked.append(int(totals.argmax()))
        best = np.maximum(best, gains[picked[-1]])
    for _ in range(4):
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


# -- the fit ----------------------------------------------------------------------------------


def noise_of(samples):
    return [s.noise() for s in samples]


def start_prices(signals, dictionary, recipe):
    """Prices by the correlations of the recordings as they are."""
    high = np.full((len(signals), dictionary.n_groups), np.inf)
    _, samples = decode_all(signals, dictionary, high, thorough=False, core=recipe.core)
    return price_matrix(noise_of(samples), [s.n_points for s in signals], recipe, dictionary)


def one_pass(state, signals, recipe, thorough, estimate, pad, warm, ease=1.0):
    """Decode, prices, update."""
    before = state.placed if warm else None
    placed, samples = decode_all(signals, state.dictionary, ease * state.prices, before, thorough, recipe.core)
    sizes = [s.n_points for s in signals]
    prices = state.prices
    if estimate:
        prices = price_matrix(noise_of(samples), sizes, recipe, state.dictionary)
    dictionary, new, left = updated(signals, placed, state.dictionary, pad, recipe.core)
    cost = sum(state.prices[r][p.group].sum() for r, p in enumerate(placed))
    return State(dictionary, new, samples, prices, left + cost, [*state.history, left + cost], state.passes + 1)


def begin(signals, recipe, rng, W):
    dictionary = Dictionary(W, recipe.positive, recipe.refractory)
    state = State(dictionary, None, None)
    state.prices = start_prices(signals, dictionary, recipe)
    return state


def judged(signals, dictionary, prices, recipe):
    """Events, the residual energy and the objective of templates, quickly."""
    placed, _ = decode_all(signals, dictionary, prices, None, False, recipe.core)
    _, left = statistics(signals, placed, dictionary.weights, 0, recipe.core)
    cost = sum(float(prices[r][p.group].sum()) for r, p in enumerate(placed))
    return placed, left + cost


def passes(state, signals, recipe, count):
    """So many quick passes in which prices are estimated and windows move."""
    for i in range(count):
        state = one_pass(state, signals, recipe, False, True, recipe.length // 2, False, EASE[i])
    state.placed, state.objective = judged(signals, state.dictionary, state.prices, recipe)
    return state


def residual_arrays(arrays, placed, weights):
    return [Y - render(p, weights, len(Y)) for Y, p in zip(arrays, placed, strict=True)]


def reseeded(state, arrays, signals, recipe, rng):
    """The state with one template in exchange for one from its residual, if that is better."""
    rest = residual_arrays(arrays, state.placed, state.dictionary.weights)
    single = replace(recipe, n_components=1, shared_pose=False)
    new = first_templates(rest, single, rng)
    W = np.concatenate([state.dictionary.weights, new])
    prices = np.concatenate([state.prices, state.prices.mean(axis=1, keepdims=True)], axis=1)
    larger = State(replace(state.dictionary, weights=W), None, None, prices)
    larger = one_pass(larger, signals, recipe, False, False, recipe.length // 2, False)
    tried = []
    for k in range(len(W)):
        kept = [j for j in range(len(W)) if j != k]
        less = replace(larger.dictionary, weights=larger.dictionary.weights[kept])
        tried.append((judged(signals, less, prices[:, kept], recipe)[1], k, less))
    value, k, less = min(tried, key=lambda one: one[:2])
    if k == len(W) - 1 or value >= state.objective:
        return None
    kept = [j for j in range(len(W)) if j != k]
    after = replace_state(state, less, prices[:, kept])
    after = passes(after, signals, recipe, 2)
    return after if after.objective < state.objective else None


def replace_state(state, dictionary, prices):
    return State(dictionary, None, None, prices, passes=state.passes)


def own_start(arrays, signals, recipe, rng, log=None):
    """Templates with events of their own to begin with, on a part of the recordings."""
    best = None
    for i in range(recipe.n_init):
        state = begin(signals, recipe, rng, first_templates(arrays, recipe, rng))
        state = passes(state, signals, recipe, len(EASE))
        if log: log(i, state.objective, state)
        failures = 0
        while failures < 2 and recipe.n_components > 1:
            after = reseeded(state, arrays, signals, recipe, rng)
            failures = failures + 1 if after is None else 0
            state = state if after is None else after
            if log: log('seed' if after else 'no', state.objective, state)
        if best is None or state.objective < best.objective:
            best = state
    return best


def shared_start(state, arrays, signals, recipe):
    """One group of templates of a state with several: its events, aligned, and their main modes."""
    W = state.dictionary.weights[:, 0]
    length = recipe.length
    counts = np.sum([np.bincount(p.group, minlength=len(W)) for p in state.placed], axis=0)
    main = int(np.argmax(counts))
    padded = np.pad(W[main], ((length - 1, length - 1), (0, 0)))
    c = correlations(padded, W)  # lags -(L - 1) .. L - 1 of each in the main one
    lags = c.argmax(axis=1) - (length - 1)
    rows = []
    for Y, p in zip(arrays, state.placed, strict=True):
        start = p.start - lags[p.group]
        size = np.abs(p.scores[:, 0])
        kept = []
        for i in np.argsort(-size, kind="stable"):
            if 0 <= start[i] <= len(Y) - length:
                kept.append(start[i])
        kept = spaced(np.array(kept, dtype=np.int64), recipe.refractory)
        rows.append(np.nan_to_num(Y)[kept[:, None] + np.arange(length)].reshape(len(kept), -1))
    rows = np.concatenate([*rows, 1e-9 * np.eye(recipe.n_components, W[0].size)])
    _, _, V = np.linalg.svd(rows, full_matrices=False)
    return V[: recipe.n_components].reshape(1, recipe.n_components, *W[0].shape)


def spaced(starts, apart):
    """The first of starts, in the order given, that are so far apart; ascending."""
    kept: dict[int, list[int]] = {}
    apart = max(1, apart)
    for start in starts.tolist():
        cell = start // apart
        near = [t for j in (cell - 1, cell, cell + 1) for t in kept.get(j, ())]
        if all(abs(start - t) >= apart for t in near):
            kept.setdefault(cell, []).append(start)
    return np.sort(np.array([t for each in kept.values() for t in each], dtype=np.int64))


def fit_events(signals, recipe, log=None):
    rng = recipe.rng
    subset = signals
    arrays = [s.read(0, s.n_points) for s in subset]
    own = replace(recipe, shared_pose=False)
    state = own_start(arrays, subset, own, rng, log)
    if recipe.shared_pose:
        state = begin(subset, recipe, rng, shared_start(state, arrays, subset, recipe))
        state = passes(state, subset, recipe, len(EASE))
        if log: log('shared', state.objective, state)
    for i in range(ESTIMATED):
        state = one_pass(state, signals, recipe, i == ESTIMATED - 1, True, recipe.length // 4 if i < 2 else 0, False)
        if log: log('est', state.objective, state)
    state.history = []
    while len(state.history) < recipe.max_iter:
        before = state.objective if state.history else np.inf
        state = one_pass(state, signals, recipe, True, False, 0, True)
        if log: log('warm', state.objective, state)
        if before - state.objective < recipe.tol * abs(state.objective):
            break
    return state

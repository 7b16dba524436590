"""Where templates occur in a piece of a recording: decoding of events that may overlap.

    min  |y - sum_e a_e T_{t_e} w_{g_e}|^2 + sum_e theta_{g_e}^2,   |w| = 1

An event must gain more than its price ``theta^2``. Positions come from peaks of the correlations
with the residual; all amplitudes are solved for together; events that do not pay for themselves are
dropped; then overlapping neighbours are removed in pairs and replaced by the best pair, one event
or none. Every step except a round of additions lowers the objective by construction, and additions
that do not pay are dropped.

A *group* is what takes one position: a single template, or all templates that share their pose.
There are ``S`` groups of ``Q`` templates, orthonormal within a group.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.linalg import LinAlgError, solveh_banded
from scipy.signal import find_peaks

from gtpca.operators.shift import ShiftAxis, ShiftOperator

__all__ = ["Dictionary", "Piece", "Placed", "correlations", "decode_piece", "render", "seen_share"]

LEAST_SEEN = 0.5  # share of a window that must have been observed
FRAME = 16  # windows per frame of the FFT
LEAST_FRAME = 2048
ROUNDS = 8  # of additions, at most
SWEEPS = 3  # over pairs, at most
MOST = 8  # events that may be replaced by two
SLIGHT = 0.2  # product of two events below which each is considered alone
TOGETHER = 512  # events that are considered together
FOLLOWED = 4  # pairs that are improved in turn
TURNS = 6
FIRST = 24  # positions that are tried for the first event of a pair
NEIGHBOURS = 6  # neighbours on each side that are solved again when an event is dropped
FILLS, FILLED = 12, 1e-3  # steps for amplitudes if there are gaps, and their tolerance
JITTER = 1e-9  # on the diagonal of Gram matrices
GAIN = 1e-6  # replacements must be better by this share of what the events gain


def correlations(Y: np.ndarray, W: np.ndarray) -> np.ndarray:
    """``c_a(t) = sum_l,c w_a(l, c) y(t + l, c)`` of templates (A, L, C), (A, n - L + 1).

    Computed in overlapping frames of equal length, so that time is linear in the length of a piece.
    """
    (n, channels), (n_templates, length, _) = Y.shape, W.shape
    count = n - length + 1
    frame = min(n, max(LEAST_FRAME, FRAME * length))
    step = frame - length + 1
    n_frames = -(-count // step)
    padded = np.zeros((n_frames * step + length - 1, channels))
    padded[:n] = Y
    frames = sliding_window_view(padded, frame, axis=0)[::step].transpose(0, 2, 1)
    axes = [ShiftAxis(frame, length, count=step)]
    if channels > 1:
        axes.append(ShiftAxis(channels, channels))
    operator = ShiftOperator(axes, (0,))
    prepared = operator.prepare(frames.reshape(n_frames, -1))
    found = operator.correlate(prepared, W.reshape(n_templates, -1))
    return found.reshape(n_templates, -1)[:, :count]


def seen_share(hidden: np.ndarray, length: int) -> np.ndarray:
    """The share of values under a window that were observed, at each start, (n - L + 1,)."""
    totals = np.cumsum(np.concatenate([[0.0], np.mean(~hidden, axis=1)]))
    return (totals[length:] - totals[:-length]) / length


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Templates in groups, and the overlaps of their copies.

    Parameters
    ----------
    weights : array (S, Q, L, C)
        Of unit norm, orthogonal within a group.
    positive : bool
        Whether amplitudes must be positive; only for groups of one template.
    refractory : int
        Minimum distance between two events of one group, in points.
    """

    weights: np.ndarray
    positive: bool
    refractory: int

    @property
    def n_groups(self) -> int:
        """``S``."""
        return self.weights.shape[0]

    @property
    def size(self) -> int:
        """``Q``."""
        return self.weights.shape[1]

    @property
    def length(self) -> int:
        """``L``."""
        return self.weights.shape[2]

    @property
    def flat(self) -> np.ndarray:
        """All templates, (S Q, L, C)."""
        return self.weights.reshape(-1, *self.weights.shape[2:])

    @cached_property
    def overlaps(self) -> np.ndarray:
        """``<T_0 w_a, T_lag w_b>``, (S, Q, S, Q, 2 L - 1) at the lags ``-(L - 1) .. L - 1``."""
        W, length = self.flat, self.length
        padded = np.pad(W, ((0, 0), (length - 1, length - 1), (0, 0)))
        # c_b(t) of the padded w_a is its product with w_b at lag t - (L - 1)
        found = np.stack([correlations(w, W) for w in padded])
        groups = (self.n_groups, self.size)
        return np.ascontiguousarray(found.reshape(*groups, *groups, 2 * length - 1))

    @cached_property
    def apart(self) -> np.ndarray:
        """Whether two groups at each lag from 0 on hardly overlap, bool (S, S, L).

        By at most half a window, and there with slight products, also at lags nearby.
        """
        length = self.length
        products = np.abs(self.overlaps[..., length - 1 :]).max(axis=(1, 3))
        reach = max(1, length // 8)
        padded = np.pad(products, ((0, 0), (0, 0), (reach, reach)))
        near = sliding_window_view(padded, 2 * reach + 1, axis=2).max(axis=3)
        return (near < SLIGHT) & (np.arange(length) >= length // 2)

    def prepare(self) -> None:
        """Compute what threads would otherwise compute at the same time."""
        _ = self.overlaps, self.schur, self.apart

    @cached_property
    def schur(self) -> np.ndarray:
        """``(I - R' R)^-1`` of two groups at each lag, (S, S, 2 L - 1, Q, Q); R are their overlaps.

        NaN if two events of one group would be too close to each other.
        """
        R = self.overlaps.transpose(0, 2, 4, 1, 3)
        rest = np.eye(self.size) * (1 + JITTER) - np.einsum("abtqr,abtqs->abtrs", R, R)
        if self.size == 1:
            found = 1 / np.maximum(rest, JITTER)
        else:
            found = np.linalg.pinv(rest, rcond=1e-6, hermitian=True)
        near = np.abs(np.arange(1 - self.length, self.length)) < max(1, self.refractory)
        for g in range(self.n_groups):
            found[g, g, near] = np.nan
        return found


@dataclass(eq=False)
class Placed:
    """Events of a piece or of a recording, in ascending order of their starts.

    Parameters
    ----------
    start, group : int array (n,)
    scores : array (n, Q)
    gain : array (n,)
        The energy that the residual would gain without each event, relative to its price; 0: not
        known.
    """

    start: np.ndarray
    group: np.ndarray
    scores: np.ndarray
    gain: np.ndarray = None  # type: ignore[assignment]

    def __post_init__(self):
        if self.gain is None:
            self.gain = np.zeros(len(self.start))

    @classmethod
    def none(cls, size: int) -> Placed:
        """No events."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, size)))

    def __len__(self) -> int:
        return len(self.start)

    def take(self, which) -> Placed:
        """Some of the events."""
        return Placed(self.start[which], self.group[which], self.scores[which], self.gain[which])

    def copy(self) -> Placed:
        """The same events in separate arrays."""
        return Placed(*(each.copy() for each in (self.start, self.group, self.scores, self.gain)))

    def moved(self, points: int) -> Placed:
        """The same events with starts moved later by some points."""
        return Placed(self.start + points, self.group, self.scores, self.gain)

    def within(self, last: int) -> Placed:
        """Those that start from 0 to ``last``, sorted again."""
        kept = self.take((self.start >= 0) & (self.start <= last))
        return kept.take(np.lexsort((kept.group, kept.start)))

    def joined(self, other: Placed) -> Placed:
        """The events of both, sorted."""
        both = Placed(
            np.concatenate([self.start, other.start]),
            np.concatenate([self.group, other.group]),
            np.concatenate([self.scores, other.scores]),
            np.concatenate([self.gain, other.gain]),
        )
        return both.take(np.lexsort((both.group, both.start)))


def render(placed: Placed, weights: np.ndarray, n: int) -> np.ndarray:
    """The sum of events on ``n`` points, (n, C), with templates (S, Q, L, C).

    Parts of windows before the first point and after the last are left out.
    """
    length, channels = weights.shape[2:]
    out = np.zeros((n + 2 * length, channels))
    shift = length
    if not len(placed):
        return out[shift : shift + n]
    for g in range(len(weights)):
        mine = np.flatnonzero((placed.group == g) & (placed.start > -length) & (placed.start < n))
        if not len(mine):
            continue
        shapes = np.einsum("eq,qlc->elc", placed.scores[mine], weights[g])
        for start, shape in zip((placed.start[mine] + shift).tolist(), shapes, strict=True):
            out[start : start + length] += shape
    return out[shift : shift + n]


@dataclass(eq=False)
class Piece:
    """A complete piece of a recording that is being decoded; see :class:`PieceWithGaps`.

    Parameters
    ----------
    Y : array (n, C)
    dictionary : Dictionary
    prices : array (S,)
        ``theta^2`` of each group.
    placed : Placed
        Initial events.

    Attributes
    ----------
    count : int
        Number of starts at which an event fits into the piece.
    closed : bool array (count,)
        Starts at which too little was observed for an event.
    c : array (S, Q, count)
        Correlations with the residual.
    """

    Y: np.ndarray
    dictionary: Dictionary
    prices: np.ndarray
    placed: Placed

    def __post_init__(self):
        d = self.dictionary
        self.count = len(self.Y) - d.length + 1
        self.closed = self._closed()
        pad = d.length - 1
        self._padded = np.zeros((d.n_groups, d.size, self.count + 2 * pad))
        self.c = self._padded[:, :, pad : pad + self.count]
        self.refresh()

    def _closed(self):
        return np.zeros(self.count, dtype=bool)

    def residual(self) -> np.ndarray:
        """The residual of the events, 0 where nothing was observed."""
        return self.Y - render(self.placed, self.dictionary.weights, len(self.Y))

    def refresh(self) -> None:
        """Correlations with the residual, by FFT."""
        rest = self.residual() if len(self.placed) else self.Y
        self.c[:] = correlations(rest, self.dictionary.flat).reshape(self.c.shape)

    def add(self, placed: Placed, sign: float) -> None:
        """Add multiples of some events to the residual and update its correlations."""
        overlaps, reach = self.dictionary.overlaps, 2 * self.dictionary.length - 1
        for g in range(self.dictionary.n_groups):
            mine = np.flatnonzero(placed.group == g)
            for some in np.array_split(mine, len(mine) // TOGETHER + 1):
                parts = np.tensordot(sign * placed.scores[some], overlaps[g], 1)
                # the table is padded by L - 1: the first lag of a start is at its own number
                for start, part in zip(placed.start[some].tolist(), parts, strict=True):
                    self._padded[:, :, start : start + reach] += part

    def remove(self, gone: Placed) -> None:
        """Add events that were dropped to the residual."""
        self.add(gone, 1.0)

    def told(self) -> Placed:
        """The events with their gains relative to their prices."""
        found = self.placed.copy()
        prices = np.maximum(self.prices[found.group], np.finfo(float).tiny)
        found.gain = self.losses() / prices if len(found) else found.gain
        return found

    # -- amplitudes ---------------------------------------------------------------------------

    def solve(self) -> None:
        """All amplitudes by least squares, given the positions."""
        if not len(self.placed):
            return
        step = self._step()
        self.placed.scores = self.placed.scores + step
        self.add(Placed(self.placed.start, self.placed.group, step), -1.0)

    def _step(self):
        """``G^-1 c`` at the events: what least squares adds to the amplitudes, (n, Q)."""
        placed, size = self.placed, self.dictionary.size
        n = len(placed)
        at = self.c[placed.group, :, placed.start]
        width = self._width()
        if width == 0:
            return at
        band = np.zeros(((width + 1) * size, n * size))
        for gap in range(width + 1):
            blocks = gram_of(placed, self.dictionary, np.arange(n - gap), np.arange(gap, n))
            for q in range(size):
                for r in range(size):
                    rows, columns = np.arange(n - gap) * size + q, np.arange(gap, n) * size + r
                    if gap or r >= q:
                        band[len(band) - 1 + rows - columns, columns] = blocks[:, q, r]
        band[-1] += JITTER
        try:
            found = solveh_banded(band, at.ravel())
        except LinAlgError:
            band[-1] += 1e-3
            found = solveh_banded(band, at.ravel())
        return found.reshape(n, size)

    def _width(self):
        """The largest number of later events that overlap one event."""
        start = self.placed.start
        ends = np.searchsorted(start, start + self.dictionary.length)
        return int(np.max(ends - np.arange(len(start)) - 1, initial=0))

    def losses(self) -> np.ndarray:
        """The energy that the residual would gain without each event, (n,).

        Its neighbours are solved again, those farther away stay: an upper bound.
        """
        placed, size = self.placed, self.dictionary.size
        width = min(self._width(), NEIGHBOURS)
        if width == 0:
            return np.sum(placed.scores**2, axis=1)
        n = len(placed)
        numbers = np.arange(n)[:, None] + np.arange(-width, width + 1)
        inside = (numbers >= 0) & (numbers < n)
        near = np.clip(numbers, 0, n - 1)
        first, second = near[:, :, None], near[:, None, :]
        blocks = gram_of(placed, self.dictionary, *np.broadcast_arrays(first, second))
        both = inside[:, :, None] & inside[:, None, :]
        blocks = blocks * both[..., None, None]
        many = (2 * width + 1) * size
        matrix = blocks.transpose(0, 1, 3, 2, 4).reshape(n, many, many)
        alone = np.repeat(~inside, size, axis=1)
        matrix[:, np.arange(many), np.arange(many)] += alone + JITTER
        inverse = np.linalg.inv(matrix)
        mine = slice(width * size, (width + 1) * size)
        return np.einsum(
            "eq,eqr,er->e", placed.scores, np.linalg.inv(inverse[:, mine, mine]), placed.scores
        )

    def drop(self) -> int:
        """Drop events that do not pay, the worst among neighbours first; return their number."""
        total = 0
        while len(self.placed):
            margin = self.losses() - self.prices[self.placed.group]
            if self.dictionary.positive:
                margin = np.where(self.placed.scores[:, 0] > 0, margin, -np.inf)
            bad = margin < 0
            if not bad.any():
                break
            worst, start = bad.copy(), self.placed.start
            for gap in range(1, min(self._width(), len(start) - 1) + 1):
                near = start[gap:] - start[:-gap] < self.dictionary.length
                worst[gap:] &= ~near | ~bad[:-gap] | (margin[gap:] < margin[:-gap])
                worst[:-gap] &= ~near | ~bad[gap:] | (margin[:-gap] <= margin[gap:])
            gone = self.placed.take(worst)
            total += len(gone)
            self.placed = self.placed.take(~worst)
            self.remove(gone)
            self.solve()
        return total

    # -- positions ----------------------------------------------------------------------------

    def gains(self, c=None) -> np.ndarray:
        """What an event of each group at each start would gain, minus its price, (S, ..)."""
        c = self.c if c is None else c
        if self.dictionary.positive:
            c = np.maximum(c, 0.0)
        return np.einsum("sqt,sqt->st", c, c) - self.prices[:, None]

    def grow(self) -> bool:
        """Add events at peaks of the residual that pay; return whether there were any."""
        gain, d = self.gains(), self.dictionary
        gain[:, self.closed] = -np.inf
        reach = max(1, d.refractory)
        for start, g in zip(self.placed.start.tolist(), self.placed.group.tolist(), strict=True):
            gain[g, max(0, start - reach + 1) : start + reach] = -np.inf
        best = np.full(self.count + 2, -np.inf)
        best[1:-1] = gain.max(axis=0)
        peaks, _ = find_peaks(np.maximum(best, -1e-300), height=0.0, distance=max(1, d.length // 2))
        peaks = peaks[best[peaks] > 0] - 1
        if not len(peaks):
            return False
        group = gain[:, peaks].argmax(axis=0)
        empty = np.zeros((len(peaks), d.size))
        self.placed = self.placed.joined(Placed(peaks, group, empty))
        return True

    def settle(self, rounds: int = ROUNDS) -> None:
        """Rounds of additions, amplitudes and drops."""
        for _ in range(rounds):
            before = self._signature()
            if not self.grow():
                break
            self.solve()
            self.drop()
            if self._signature() == before:
                break

    def _signature(self):
        return self.placed.start.tobytes(), self.placed.group.tobytes()

    # -- pairs --------------------------------------------------------------------------------

    def sweep(self, near: np.ndarray | None = None) -> np.ndarray:
        """Replace overlapping events by something better.

        Only those within two windows of the starts ``near``, if these are given. Returns the starts
        at which something changed.
        """
        changed: list[int] = []
        number, length = 0, self.dictionary.length
        reach = length + length // 2
        content = set(self.placed.start[self._content()].tolist())
        while number < len(self.placed):
            start = self.placed.start
            place = int(start[number])
            if place in content or (near is not None and not _close(near, place, 2 * length)):
                number += 1
                continue
            last = number + 1
            while last < min(len(start), number + MOST) and start[last] - start[number] < reach:
                last += 1
            for stop in self._stops(number, last):
                chosen = np.arange(number, stop)
                better = self._better(chosen)
                if better is not None:
                    self._exchange(chosen, better, changed)
                    break
            number += 1
        return np.sort(np.array(changed, dtype=np.int64))

    def _content(self):
        """Numbers of events that hardly overlap others and are locally at the best position.

        This checks all events at once; the remaining ones are checked one by one.
        """
        d, start, half = self.dictionary, self.placed.start, self.dictionary.length // 2
        alone = self._hardly_overlap() & (start >= half) & (start + half < self.count)
        quick = np.flatnonzero(alone)
        if not len(quick):  # as in a piece shorter than two windows
            return quick
        found = []
        windows = sliding_window_view(self.c, 2 * half + 1, axis=2)
        lags = slice(d.length - 1 - half, d.length + half)
        for some in np.array_split(quick, len(quick) // TOGETHER + 1):
            old = self.placed.take(some)
            c = windows[:, :, old.start - half].transpose(2, 0, 1, 3)  # (n, S, Q, m)
            back = d.overlaps[old.group][..., lags]  # (n, Q, S, Q, m)
            c = c + np.einsum("eq,eqsrm->esrm", old.scores, back, optimize=True)
            c = np.maximum(c, 0.0) if d.positive else c
            gain = np.sum(c**2, axis=2) - self.prices[:, None]
            best = gain.max(axis=(1, 2), initial=-np.inf)
            now = gain[np.arange(len(some)), old.group, half]
            kept = (best <= now + GAIN * (np.abs(now) + self.prices.max())) & (now >= 0)
            found.append(some[kept])
        return np.concatenate(found)

    def _hardly_overlap(self):
        """Whether each event hardly overlaps any other, (n,)."""
        d, group, start = self.dictionary, self.placed.group, self.placed.start
        n, alone = len(start), np.ones(len(start), bool)
        for gap in range(1, self._width() + 1):
            before, after = np.arange(n - gap), np.arange(gap, n)
            lag = start[after] - start[before]
            apart = d.apart[group[before], group[after], np.minimum(lag, d.length - 1)]
            apart |= lag >= d.length
            alone[before] &= apart
            alone[after] &= apart
        return alone

    def _stops(self, number, last):
        """How many events, starting from one, are tried together: two, then three, then all."""
        start, length = self.placed.start, self.dictionary.length
        if last == number + 1 or start[number + 1] - start[number] >= length:
            return [number + 1]
        return sorted({number + 2, min(number + 3, last), last})

    def _exchange(self, chosen, better, changed):
        """Replace events by others."""
        old = self.placed.take(chosen)
        self.add(old, 1.0)
        self.add(better, -1.0)
        self.placed = self.placed.take(np.delete(np.arange(len(self.placed)), chosen))
        self.placed = self.placed.joined(better)
        changed.extend(old.start.tolist())
        changed.extend(better.start.tolist())

    def _better(self, chosen) -> Placed | None:
        """A better replacement for one or two events; None if there is none."""
        d, placed = self.dictionary, self.placed
        old = placed.take(chosen)
        reach, length = d.length // 2, d.length
        low = max(0, int(old.start[0]) - reach)
        high = min(self.count, int(old.start[-1]) + reach + 1)
        c = self.c[:, :, low:high].copy()
        for start, g, x in zip(old.start.tolist(), old.group.tolist(), old.scores, strict=True):
            first = low - start + length - 1  # of the lags of this event
            begin, end = max(0, first), min(2 * length - 1, first + high - low)
            if begin < end:
                c[:, :, begin - first : end - first] += np.tensordot(
                    x, d.overlaps[g][..., begin:end], 1
                )
        open_ = self._open(chosen, low, high)
        gain = np.where(open_, self.gains(c), -np.inf)
        single = np.unravel_index(gain.argmax(), gain.shape)
        values = [0.0, float(gain[single])]
        found = [Placed.none(d.size), self._one(single, c, low)]
        pair = (
            None
            if len(old) == 1 and self._isolated(chosen[0])
            else (self._pair(old, c, gain, open_, low))
        )
        if pair is not None:
            values.append(pair[0])
            found.append(pair[1])
        now = self._value(old, c, low)
        best = int(np.argmax(values))
        margin = GAIN * (abs(now) + float(self.prices.max()))
        return found[best] if values[best] > now + margin else None

    def _isolated(self, number):
        """Whether an event overlaps no other."""
        start, length = self.placed.start, self.dictionary.length
        before = number > 0 and start[number] - start[number - 1] < length
        return not before and not (
            number + 1 < len(start) and start[number + 1] - start[number] < length
        )

    def _open(self, chosen, low, high):
        """Where events of each group are allowed, given those that are not chosen, (S, m)."""
        d, placed = self.dictionary, self.placed
        allowed = np.tile(~self.closed[low:high], (d.n_groups, 1))
        reach = max(1, d.refractory)
        first = int(np.searchsorted(placed.start, low - reach))
        last = int(np.searchsorted(placed.start, high + reach))
        for other in range(first, last):
            if other not in chosen:
                place = int(placed.start[other]) - low
                allowed[placed.group[other], max(0, place - reach + 1) : max(0, place + reach)] = (
                    False
                )
        return allowed

    def _one(self, at, c, low):
        group, place = at
        return Placed(np.array([low + place]), np.array([group]), c[group, :, place][None])

    def _value(self, old, c, low):
        """What the present events gain, minus their prices."""
        at = c[old.group, :, old.start - low].ravel()
        return float(at @ self._solved(old, c, low) - self.prices[old.group].sum())

    def _pair(self, old, c, gain, open_, low):
        """The best two events, as far as they can be found from peaks and from present events.

        The best partner of each of these is found; then, for the best few, partners are improved in
        turn.
        """
        groups, places = self._first(old, gain, low)
        if not len(groups):
            return None
        value, partner, place = self._partners(groups, places, c, open_)
        best = np.argsort(-value, kind="stable")[:FOLLOWED]
        value, groups, places = value[best], groups[best], places[best]
        partner, place = partner[best], place[best]
        for _ in range(TURNS):
            if not np.isfinite(value[0]):
                break
            ends = np.isfinite(value)
            after, other, there = self._partners(partner[ends], place[ends], c, open_)
            better = after > value[ends] + GAIN
            if not better.any():
                break
            chosen = np.flatnonzero(ends)[better]
            groups[chosen], places[chosen] = partner[chosen], place[chosen]
            value[chosen], partner[chosen], place[chosen] = (
                after[better],
                other[better],
                there[better],
            )
        i = int(value.argmax())
        if not np.isfinite(value[i]):
            return None
        both = Placed(
            low + np.array([places[i], place[i]]),
            np.array([groups[i], partner[i]]),
            np.zeros((2, self.dictionary.size)),
        )
        both = both.take(np.argsort(both.start, kind="stable"))
        both.scores = self._solved(both, c, low).reshape(2, -1)
        return float(value[i]), both

    def _partners(self, groups, places, c, open_):
        """For events (P,), the best second one: values of both, its groups and positions."""
        d, m, length = self.dictionary, c.shape[2], self.dictionary.length
        lag = np.arange(m)[None] - places[:, None]
        near = np.abs(lag) < length
        at = np.where(near, lag, 0) + length - 1
        head = c[groups, :, places]  # (P, Q)
        far = ~near
        if d.size == 1:
            R = d.overlaps[:, 0, :, 0][
                groups[:, None, None], np.arange(d.n_groups)[:, None], at[:, None]
            ]
            R[np.broadcast_to(far[:, None], R.shape)] = 0.0
            inner = d.schur[..., 0, 0][
                groups[:, None, None], np.arange(d.n_groups)[:, None], at[:, None]
            ]
            inner[np.broadcast_to(far[:, None], R.shape)] = 1.0
            rest = c[None, :, 0] - head[:, :, None] * R
            tail = rest * inner
            value = tail * rest - self.prices[:, None]
            bad = np.isnan(value) | ~open_
            if d.positive:
                bad |= tail <= 0
                bad |= head[:, :, None] <= R * tail
        else:
            R = d.overlaps.transpose(0, 2, 4, 1, 3)[groups[:, None], :, at].transpose(0, 2, 1, 3, 4)
            R = R * near[:, None, :, None, None]  # (P, S, m, Q, Q)
            inner = d.schur[groups[:, None], :, at].transpose(0, 2, 1, 3, 4)
            inner = np.where(far[:, None, :, None, None], np.eye(d.size), inner)
            rest = c.transpose(0, 2, 1)[None] - np.einsum("pq,psmqr->psmr", head, R)
            value = np.einsum("psmr,psmrt,psmt->psm", rest, inner, rest) - self.prices[:, None]
            bad = np.isnan(value) | ~open_
        value[bad] = -np.inf
        value += (np.sum(head**2, axis=1) - self.prices[groups])[:, None, None]
        flat = value.reshape(len(groups), -1)
        best = flat.argmax(axis=1)
        return flat[np.arange(len(best)), best], best // m, best % m

    def _solved(self, placed, c, low):
        """Amplitudes of a few events by least squares, (n Q,); correlations begin at ``low``."""
        at = c[placed.group, :, placed.start - low].ravel()
        return np.linalg.solve(self._small_gram(placed), at)

    def _small_gram(self, placed):
        number, size = np.arange(len(placed)), len(placed) * self.dictionary.size
        gram = gram_of(placed, self.dictionary, number[:, None], number[None])
        gram = gram.transpose(0, 2, 1, 3).reshape(size, size)
        gram[np.diag_indices(size)] += JITTER
        return gram

    def _first(self, old, gain, low):
        """Peaks of the gains, and present events: groups (P,) and positions (P,)."""
        inner = np.pad(gain, ((0, 0), (1, 1)), constant_values=-np.inf)
        peak = (inner[:, 1:-1] >= inner[:, :-2]) & (inner[:, 1:-1] >= inner[:, 2:])
        groups, places = np.nonzero(peak & np.isfinite(gain))
        order = np.argsort(-gain[groups, places], kind="stable")[:FIRST]
        groups = np.concatenate([old.group, groups[order]])
        places = np.concatenate([old.start - low, places[order]])
        return groups, places


class PieceWithGaps(Piece):
    """A piece of a recording in which NaN means not observed.

    Events predict the values in gaps, so that the residual is 0 there. Correlations are computed
    anew after a change, and amplitudes are iterated.
    """

    def __post_init__(self):
        self.hidden = np.isnan(self.Y)
        self.Y = np.where(self.hidden, 0.0, self.Y)
        super().__post_init__()

    def _closed(self):
        return seen_share(self.hidden, self.dictionary.length) < LEAST_SEEN - 1e-9

    def residual(self):
        rest = super().residual()
        rest[self.hidden] = 0.0
        return rest

    def remove(self, gone):
        self.refresh()

    def solve(self):
        """Amplitudes by least squares, with the values in gaps as the events predict them."""
        for _ in range(FILLS):
            if not len(self.placed):
                return
            step = self._step()
            self.placed.scores = self.placed.scores + step
            self.refresh()
            if np.abs(step).max() <= FILLED * np.abs(self.placed.scores).max():
                return

    def sweep(self, near=None):
        changed = super().sweep(near)
        if len(changed):
            self.refresh()
        return changed

    def _content(self):
        """None: overlaps do not say what is seen of an event."""
        return np.zeros(0, dtype=np.int64)


def _close(starts, place, reach) -> bool:
    """Whether one of several ascending starts is within reach of a position."""
    i = int(np.searchsorted(starts, place - reach))
    return i < len(starts) and starts[i] <= place + reach


def gram_of(placed: Placed, dictionary: Dictionary, first, second) -> np.ndarray:
    """Inner products of pairs of events by number, (.., Q, Q); 0 if they do not overlap."""
    length = dictionary.length
    lag = placed.start[second] - placed.start[first]
    near = np.abs(lag) < length
    table = dictionary.overlaps.transpose(0, 2, 4, 1, 3)
    at = np.where(near, lag, 0) + length - 1
    return table[placed.group[first], placed.group[second], at] * near[..., None, None]


def decode_piece(
    Y: np.ndarray,
    dictionary: Dictionary,
    prices: np.ndarray,
    before: Placed | None = None,
    thorough: bool = True,
) -> Piece:
    """Events of a piece (n, C), found from scratch, or improved from those ``before``.

    NaN means not observed. With ``thorough``, pairs are swept over.
    """
    start = Placed.none(dictionary.size) if before is None else before
    kind = PieceWithGaps if np.isnan(Y).any() else Piece
    piece = kind(Y, dictionary, prices, start)
    if before is not None:
        piece.solve()
        piece.drop()
    piece.settle()
    near = None
    for _ in range(SWEEPS if thorough else 0):
        before_sweep = piece.placed.start
        near = piece.sweep(near)
        if not len(near):
            break
        piece.solve()
        piece.drop()
        piece.settle()
        near = np.union1d(near, np.setxor1d(before_sweep, piece.placed.start))
    return piece

"""What templates are solved from, and how more recordings change it.

    N W = rhs,   N[(j, l), (k, l')] = nu_jk(l - l'),   rhs_k(l) = sum_e a_ek y(t_e + l)

Both sides are sums over events: recordings that come later add theirs, and the earlier recordings
are not needed any more (:meth:`gtpca.EventGTPCA.partial_fit`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gtpca.model.conventions import kept_signs
from gtpca.model.decoding import Placed
from gtpca.model.events import EventModel, decode_all, statistics
from gtpca.model.prices import Noise
from gtpca.operators.toeplitz import Toeplitz

__all__ = ["Advance", "EventSums", "advanced", "in_data", "normal_equations", "normalised"]

TINY = 1e-12


@dataclass(frozen=True, eq=False)
class EventSums:
    """Normal equations of ``K = S Q`` templates; additive.

    Attributes
    ----------
    lags : array (K, K, 2 L - 1)
        ``nu``, the matrix :class:`~gtpca.operators.toeplitz.Toeplitz`.
    rhs : array (K, L, C)
        From recordings as templates see them.
    data : array (K, L, C) or 0
        The same from recordings in the units of the data, if templates see whitened ones.
    n_points : float
        Number of points of these recordings, decayed like the sums.
    """

    lags: np.ndarray
    rhs: np.ndarray
    data: np.ndarray | float = 0.0
    n_points: float = 0.0

    def __add__(self, other: EventSums) -> EventSums:
        mine, theirs = vars(self), vars(other)
        return EventSums(**{name: mine[name] + theirs[name] for name in mine})

    def __rmul__(self, factor: float) -> EventSums:
        return EventSums(**{name: factor * value for name, value in vars(self).items()})

    @property
    def moments(self) -> np.ndarray:
        """``sum_e a_e a_e'``, (K, K): the matrix at lag 0."""
        return self.lags[:, :, self.lags.shape[2] // 2]

    def turned(self, turn: np.ndarray) -> EventSums:
        """The sums if scores are ``a_e' turn`` instead of ``a_e'``; ``turn`` is (K, K)."""
        lags = np.einsum("ji,jkt,kl->ilt", turn, self.lags, turn)
        rhs = np.tensordot(turn.T, self.rhs, 1)
        data = np.tensordot(turn.T, self.data, 1) if np.ndim(self.data) else self.data
        return replace(self, lags=lags, rhs=rhs, data=data)

    def solved(self, start: np.ndarray, in_data: bool = False) -> np.ndarray:
        """The templates, of the shape (S, Q, L, C) of ``start``, where they are not determined.

        Every channel is a right-hand side.
        """
        rhs = np.asarray(self.data if in_data else self.rhs).transpose(2, 0, 1)
        first = start.reshape(-1, *start.shape[2:]).transpose(2, 0, 1)
        return Toeplitz(self.lags).solve(rhs, first).transpose(1, 2, 0).reshape(start.shape)


def normal_equations(placed: list[Placed], shape, pad: int = 0) -> np.ndarray:
    """``lags`` of templates (S, Q, L, C) from the events of all recordings."""
    S, Q, L, _ = shape
    total = np.zeros((S * Q, S * Q, 2 * (L + 2 * pad) - 1))
    for events in placed:
        scores = np.zeros((len(events), S, Q))
        scores[np.arange(len(events)), events.group] = events.scores
        flat = scores.reshape(len(events), S * Q)
        total = total + Toeplitz.of(events.start, flat, L + 2 * pad).lags
    return total


def normalised(new: np.ndarray, moments: np.ndarray, old: np.ndarray):
    """Orthonormal templates of every group, and the matrix (K, K) that adapts the scores.

    Parameters
    ----------
    new, old : array (S, Q, L, C)
        ``old`` ones are kept where the new ones are degenerate.
    moments : array (K, K)
    """
    S, Q, _, _ = new.shape
    weights, turn = np.empty_like(new), np.zeros((S * Q, S * Q))
    for g in range(S):
        mine = slice(g * Q, (g + 1) * Q)
        flat = [each[g].reshape(Q, -1) for each in (new, old)]
        found, turn[mine, mine] = _orthonormal(flat[0], moments[mine, mine], flat[1])
        weights[g] = found.reshape(new.shape[1:])
    return weights, turn


def _orthonormal(W, moments, old):
    """Orthonormal templates (Q, d) with the same span, and the matrix that adapts the scores.

    They are sorted by the energy of their scores, the largest first. If the new templates are
    degenerate, the ``old`` ones are kept.
    """
    if len(W) == 1:
        norm = float(np.linalg.norm(W))
        return (W / norm, np.array([[norm]])) if norm > TINY else (old, np.eye(1))
    basis, R = np.linalg.qr(W.T)  # W = R' basis'
    if np.abs(np.diagonal(R)).min() <= 1e-10 * np.abs(R).max():
        return old, np.eye(len(W))
    V = np.linalg.eigh(R @ moments @ R.T)[1][:, ::-1]
    return V.T @ basis.T, R.T @ V


def in_data(sums: EventSums, weights: np.ndarray) -> np.ndarray:
    """Templates in the units of the data, by least squares at known events, (S, Q, L, C).

    Whitened templates, ``weights``, are kept if no event determines a template.
    """
    V = sums.solved(np.zeros_like(weights), in_data=True)
    lost = ~(np.linalg.norm(V, axis=(2, 3)) > TINY)
    V[lost] = weights[lost]
    return V


def data_sums(signals, placed, shape, recipe) -> np.ndarray:
    """Right-hand sides (K, L, C) from recordings in the units of the data, minus their level."""
    rhs, _ = statistics(signals, placed, np.zeros(shape), recipe)
    return rhs.reshape(-1, *shape[2:])


@dataclass(frozen=True, eq=False)
class Advance:
    """Templates after more recordings.

    Attributes
    ----------
    weights, data_weights : array (S, Q, L, C)
        As templates see recordings, of unit norm, and in the units of the data.
    sums : EventSums
    level : Noise
    prices : array (R, S)
        In the new recordings.
    n_events : int
        In the new recordings.
    """

    weights: np.ndarray
    data_weights: np.ndarray
    sums: EventSums
    level: Noise
    prices: np.ndarray
    n_events: int


def advanced(model: EventModel, sums: EventSums, signals, horizon: float | None) -> Advance:
    """Decode more recordings with the templates so far, and solve for templates from all sums.

        S <- decay S + sums(recordings),    N(S) W = rhs(S)

    Parameters
    ----------
    model : EventModel
    sums : EventSums
        Of the earlier recordings.
    signals : list of Signal
    horizon : float or None
        Points after which ``1 / e`` of the weight of a point is left; None: all count the same.
    """
    W, seen = model.weights, model.seen(signals)
    noise = model.levels(seen)
    prices = model.prices(seen, noise)
    placed = decode_all(seen, model.dictionary, prices, model)[0]
    rhs, _ = statistics(seen, placed, W, model)
    n_points = float(sum(signal.n_points for signal in seen))
    data: np.ndarray | float = 0.0
    if model.noise is not None:
        data = data_sums(model.raw(signals), placed, W.shape, model)
    new = EventSums(
        normal_equations(placed, W.shape), rhs.reshape(-1, *W.shape[2:]), data, n_points
    )
    old = (1.0 if horizon is None else float(np.exp(-n_points / horizon))) * sums
    total = old + new
    after, turn = normalised(total.solved(W), total.moments, W)
    flat = [each.reshape(len(turn), -1) for each in (after, W)]
    turns = np.ones(len(turn)) if model.positive else kept_signs(*flat)
    total = total.turned(turn * turns)
    after = after * turns.reshape(*W.shape[:2], 1, 1)
    share = old.n_points / total.n_points
    return Advance(
        weights=after,
        data_weights=after if model.noise is None else in_data(total, after),
        sums=total,
        level=_mixed(model.level, noise, share),
        prices=prices,
        n_events=sum(map(len, placed)),
    )


def _mixed(before: Noise, each: list[Noise], share: float) -> Noise:
    """The noise of earlier recordings, which count by a share, and of new ones that tell theirs."""
    each = [one for one in each if np.all((one.sigma > 0) & np.isfinite(one.sigma))]
    if not each:
        return before
    sigma = np.median([one.sigma for one in each], axis=0)
    rate = np.mean([one.rate for one in each], axis=0)
    rest = 1 - share
    return Noise(share * before.sigma + rest * sigma, share * before.rate + rest * rate)

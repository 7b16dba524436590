"""The price of an event: how much noise alone gains at the best of many positions.

The correlation of stationary noise with a template is a process with standard deviation ``sigma``
that crosses zero upwards ``nu`` times per point. By Rice's formula it crosses the level ``u sigma``
``nu exp(-u^2 / 2)`` times, so that among ``N`` points ``F`` false events are expected at

    theta = sigma sqrt(2 log(N nu / F)),

with ``2 nu`` for both signs. The energy of ``Q`` correlations together crosses its level
``2 sqrt(pi) nu u^(Q-1) exp(-u^2 / 2) / (2^((Q-1)/2) Gamma(Q/2))`` times per point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

__all__ = ["Noise", "NoiseSample", "level", "prices_of"]

MAD = 0.6744897501960817  # of a normal deviate
SAMPLED = 2**18  # values from which the median is computed
LEAST_LEVEL = 2.0  # standard deviations, however many false events are allowed


@dataclass(frozen=True, eq=False)
class Noise:
    """Correlations of noise with templates: deviation (S,) and zero up-crossings per point (S,).

    For templates that share a pose, the deviation is the largest of theirs.
    """

    sigma: np.ndarray
    rate: np.ndarray


@dataclass(frozen=True, eq=False)
class NoiseSample:
    """Sample of the noise in the correlations of pieces of a recording: additive.

    Parameters
    ----------
    values : list of arrays (S, Q, n)
        At every ``stride``-th start.
    crossings : array (S,)
    count : int
        Number of starts that were examined, times Q.
    """

    values: list
    crossings: np.ndarray
    count: int

    @classmethod
    def none(cls, dictionary) -> NoiseSample:
        """An empty sample."""
        return cls([], np.zeros(dictionary.n_groups), 0)

    @classmethod
    def of(cls, piece, span, n_points: int) -> NoiseSample:
        """The sample from the own points of a piece of a recording with ``n_points`` points."""
        stride = max(1, n_points // SAMPLED)
        low, stop = span.start - span.low, min(span.stop - span.low, piece.count)
        c = piece.c[:, :, low : stop + 1]  # a crossing is counted where it begins
        own = c[:, :, : max(0, stop - low)]
        first = -span.start % stride
        opened, below = ~piece.closed[low : stop + 1], c < 0
        values = own[:, :, first::stride][:, :, opened[: own.shape[2]][first::stride]]
        both = opened[:-1] & opened[1:]
        up = below[:, :, :-1] & ~below[:, :, 1:] & both
        crossings = up.sum(axis=(1, 2)).astype(float)
        return cls([values], crossings, c.shape[1] * int(np.count_nonzero(both)))

    def __add__(self, other):
        return NoiseSample(
            self.values + other.values, self.crossings + other.crossings, self.count + other.count
        )

    def noise(self) -> Noise:
        """Deviation and rate of crossings."""
        values = np.abs(np.concatenate(self.values, axis=2))
        if not values.shape[2]:
            return Noise(np.full(len(values), np.inf), np.zeros(len(values)))
        sigma = np.median(values, axis=2).max(axis=1) / MAD
        return Noise(sigma, self.crossings / max(1, self.count))


def level(n_places: float, false_alarms: float, size: int = 1, both: bool = False) -> float:
    """``u``: the level that noise crosses ``false_alarms`` times, by ``n_places = N nu``."""
    if size == 1:
        squared = 2 * np.log(max(1.0, (1 + both) * n_places / false_alarms))
        return max(LEAST_LEVEL, float(np.sqrt(squared)))
    base = np.log(max(1e-300, n_places / false_alarms)) + np.log(2 * np.sqrt(np.pi))
    base -= (size - 1) / 2 * np.log(2) + gammaln(size / 2)
    u = max(LEAST_LEVEL, np.sqrt(size))
    for _ in range(50):
        u = max(LEAST_LEVEL, np.sqrt(max(0.0, 2 * base + 2 * (size - 1) * np.log(u))))
    return float(u)


def prices_of(noise: Noise, n_points: int, false_alarms: float, dictionary) -> np.ndarray:
    """``theta^2`` of the groups of a dictionary in a recording, (S,)."""
    both = not dictionary.positive
    levels = [level(n_points * r, false_alarms, dictionary.size, both) for r in noise.rate]
    return np.square(noise.sigma * np.array(levels))

"""Lags along the axes of shifts: which of them an FFT is asked for, and coarser ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

__all__ = ["coarser_track", "lag_matrix", "spread_lags"]


def spread_lags(coef, tracks):
    """Coefficients (n, \\*counts) at the lags of their offsets, zeros between steps."""
    if all(track.step == 1 for track in tracks):
        return coef
    lags = np.zeros((len(coef), *(track.step * track.count for track in tracks)), coef.dtype)
    lags[(slice(None), *(slice(None, None, track.step) for track in tracks))] = coef
    return lags


def lag_matrix(track):
    """The inverse FFT along the axis of a track as a matrix, (2 F, count).

    From the real and imaginary parts of F frequencies to the lags that are offsets. Rows are
    multiplied one by one, so that they are the same in every batch.
    """
    length, numbers = track.fft_length, np.arange(track.n_frequencies)
    angles = 2 * np.pi * np.outer(numbers, track.step * np.arange(track.count)) / length
    twice = np.where((numbers == 0) | (2 * numbers == length), 1, 2)[:, None] / length
    return np.stack([twice * np.cos(angles), -twice * np.sin(angles)], 1).reshape(-1, track.count)


def coarser_track(track):
    """A track with half as many points, and offsets at about the same places."""
    size, window = -(-track.size // 2), -(-track.window // 2)
    step, last = max(1, track.step // 2), track.first + track.step * (track.count - 1)
    if track.circular:
        first, last = track.first // 2, min(last // 2, track.first // 2 + size - 1)
    else:
        first, last = -(-track.first // 2), last // 2
    if track.inside and not track.circular:
        first, last = max(first, 0), min(last, size - window)
    if track.covers:
        first, last = max(first, size - window), min(last, 0)
    count = max(1, (last - first) // step + 1)
    return replace(track, size=size, window=window, first=first, step=step, count=count)

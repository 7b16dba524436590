"""Lags along the axes of shifts: selecting those that are needed, and coarser ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gtpca.operators.backend import cast, fft_of

__all__ = ["SHORT_AXIS", "coarser_track", "conjugate_spectra", "lag_matrix"]

SHORT_AXIS = 128  # FFT length up to which a matrix computes the few lags that are needed


def conjugate_spectra(coef, tracks, moving):
    """``conj(fft(coef_i))`` of coefficients (n, \\*counts) at the lags of their offsets."""
    *others, last = (tracks[j] for j in moving)
    short = last.fft_length <= SHORT_AXIS and all(track.step == 1 for track in others)
    if not others or len(moving) < len(tracks) or not short:
        lags = spread_lags(coef, tracks)
        lengths, axes = [tracks[j].fft_length for j in moving], [j + 1 for j in moving]
        return np.conj(fft_of(lags).rfftn(lags, lengths, axes))
    spectra = (coef @ cast(turn_matrix(last), coef)).view(np.result_type(coef, 1j))
    for axis, track in enumerate(others, start=1):
        spectra = fft_of(spectra).ifft(spectra, track.fft_length, axis, norm="forward")
    return spectra


def spread_lags(coef, tracks):
    """Coefficients (n, \\*counts) at the lags of their offsets, zeros between steps."""
    if all(track.step == 1 for track in tracks):
        return coef
    lags = np.zeros((len(coef), *(track.step * track.count for track in tracks)), coef.dtype)
    lags[(slice(None), *(slice(None, None, track.step) for track in tracks))] = coef
    return lags


def lag_matrix(track):
    """The inverse FFT along the axis of a track as a matrix, (2 F, count).

    It maps the real and imaginary parts of F frequencies to the lags that are offsets. Rows are
    multiplied one by one, so that results are the same in every batch.
    """
    length, numbers = track.fft_length, np.arange(track.n_frequencies)
    angles = _angles(track)
    twice = np.where((numbers == 0) | (2 * numbers == length), 1, 2)[:, None] / length
    return np.stack([twice * np.cos(angles), -twice * np.sin(angles)], 1).reshape(-1, track.count)


def turn_matrix(track):
    """From values at the lags that are offsets to the conjugate spectrum, (count, 2 F)."""
    angles = _angles(track).T
    return np.stack([np.cos(angles), np.sin(angles)], 2).reshape(track.count, -1)


def _angles(track):
    """``2 pi f lag / N`` of all frequencies and of the lags that are offsets, (F, count)."""
    lags = track.step * np.arange(track.count)
    return 2 * np.pi * np.outer(np.arange(track.n_frequencies), lags) / track.fft_length


def coarser_track(track):
    """A track with half as many points, and offsets at about the same positions."""
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

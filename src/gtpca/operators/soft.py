"""Shifts with a probability each: sums over all of them, and which of their poses go round."""

from __future__ import annotations

from functools import cached_property, reduce
from typing import Any

import numpy as np

from gtpca.operators.backend import fft_of
from gtpca.operators.base import Operator

__all__ = ["SoftShifts"]


class SoftShifts(Operator):
    """What :class:`~gtpca.operators.shift.ShiftOperator` adds to an operator for soft poses."""

    tracks: Any
    counts: tuple[int, ...]
    by_fft: bool
    _fft_shape: list[int]
    _fft_axes: list[int]
    _moving: tuple[int, ...]
    _turn: Any

    def adjoint_sum(self, P, coef):
        """``sum_i P_i conj(fft(coef_i))``, with the phases of the first offsets, taken back."""
        if not self.by_fft:
            return super().adjoint_sum(P, coef)
        lags = spread(coef.reshape(-1, *self.counts), self.tracks)
        spectra = fft_of(lags).rfftn(lags, self._fft_shape, self._fft_axes).conj()
        total = np.einsum("n...,n...->...", P, spectra, dtype=np.complex128)
        total = total if self._phases is None else total * self._phases
        axes = [a - 1 for a in self._fft_axes]
        whole = fft_of(lags).irfftn(total, self._fft_shape, axes)
        return whole[tuple(slice(size) for size in self.weight_shape)].ravel()

    @cached_property
    def _phases(self):
        """What moves the first offset of every axis to lag 0 in a spectrum; None: it is there."""
        first = {j: 0 if self.tracks[j].unrolled else self.tracks[j].first for j in self._moving}
        turns = [self._turn(j, [-offset])[0] for j, offset in first.items()]
        return reduce(np.multiply, turns) if any(first.values()) else None

    @property
    def periods(self):
        suffix = "_{}" if len(self.moved_axes) > 1 else ""
        circular = [j for j in self.moved_axes if self.tracks[j].circular]
        named = [(f"{n}{suffix.format(j)}", j) for j in circular for n in ("start", "centre")]
        return {name: float(self.tracks[j].size) for name, j in named}


def spread(coef, tracks):
    """Coefficients (n, \\*counts) at the lags of their offsets, zeros between steps."""
    if all(track.step == 1 for track in tracks):
        return coef
    lags = np.zeros((len(coef), *(track.step * track.count for track in tracks)), coef.dtype)
    lags[(slice(None), *(slice(None, None, track.step) for track in tracks))] = coef
    return lags

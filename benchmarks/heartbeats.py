"""Beats of record 100 of the MIT-BIH arrhythmia database, at random places that are known.

Files 100.dat and 100.atr are in the folder ecg of GTPCA_DATA. The signal has two leads of 12 bits,
a value of each in three bytes; annotations are words of 16 bits, of which six are a code (1 is a
normal beat, from 59 on it is something else than a beat) and ten the time since the one before.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

ZERO, PER_MILLIVOLT, NORMAL, FIRST_CODE_OF_NO_BEAT = 1024, 200, 1, 59
BEGIN = 4  # words before the first beat: the name of the rhythm


def recording() -> np.ndarray:
    """The lead MLII in mV, (650000,)."""
    low, high, _ = np.fromfile(_folder() / "100.dat", np.uint8).reshape(-1, 3).T.astype(int)
    value = low + ((high & 15) << 8)
    return (np.where(value > 2047, value - 4096, value) - ZERO) / PER_MILLIVOLT


def normal_beats() -> np.ndarray:
    """Where the R waves of normal beats are."""
    words = np.fromfile(_folder() / "100.atr", "<u2").astype(int)[BEGIN:]
    code, since = words >> 10, words & 1023
    is_beat = (code > 0) & (code < FIRST_CODE_OF_NO_BEAT)
    return np.cumsum(since[is_beat])[code[is_beat] == NORMAL]


def beats_at_random(seed, margin=60, n=250, size=220):
    """Rows (n, size) with one beat each, R at a random place ``margin`` from the ends, and where.

    In mV with the baseline of the recording, as they are.
    """
    rng, signal, beats = np.random.default_rng(seed), recording(), normal_beats()
    inside = beats[(beats >= size) & (beats < len(signal) - size)]
    drawn, place = rng.choice(inside, n, replace=False), rng.integers(margin, size - margin, n)
    return np.stack([signal[i : i + size] for i in drawn - place]), place


def found_again(starts, places, tolerance=2) -> float:
    """Share of the beats whose poses are right, up to a constant, within some points."""
    apart = places - starts
    return max(np.mean(np.abs(apart - c) <= tolerance) for c in np.unique(apart))


def _folder() -> Path:
    return Path(os.environ["GTPCA_DATA"], "ecg")

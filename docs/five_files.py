"""Five files as people have them, for docs/five-files.md. Run: python docs/five_files.py FOLDER

A bump of known shape stands at a random place in every sample: ``starts`` of each file say where.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

RATE = 250.0  # Hz
MARGIN = 12  # points before and after a bump


def bumps(rng, n_samples=48, n_times=80, width=20):
    """Noisy series (n, time) with a bump, and where the bumps begin."""
    X = 0.05 * rng.standard_normal((n_samples, n_times))
    starts = rng.integers(MARGIN, n_times - width - MARGIN, n_samples)
    for x, start in zip(X, starts, strict=True):
        x[start : start + width] += np.hanning(width)
    return X.round(4), starts


def table(rng, gaps):
    """Names of columns and lines: an id, two labels, and the values, some of them missing."""
    X, starts = bumps(rng)
    head = ["subject", "group", *(f"t{j}" for j in range(X.shape[1])), "age"]
    ages = rng.integers(20, 70, len(X))
    lines = [
        [f"P{i:02d}", ("patient", "control")[i % 2], *("" if gap else v for v, gap in pairs), age]
        for i, (pairs, age) in enumerate(zip(_with_gaps(rng, X, gaps), ages, strict=True))
    ]
    return head, lines, starts


def _with_gaps(rng, X, gaps):
    hidden = rng.random(X.shape) < (0.02 if gaps else 0)
    return [list(zip(x.tolist(), gap, strict=True)) for x, gap in zip(X, hidden, strict=True)]


def write_lines(path, head, lines):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([head, *lines])


def write_wide(folder, rng):
    head, lines, starts = table(rng, gaps=True)
    write_lines(folder / "wide.csv", head, lines)
    return starts


def write_long(folder, rng):
    """Trials of unequal length, one value a line."""
    X, starts = bumps(rng)
    ends = rng.integers(starts + 20, X.shape[1] + 1)
    lines = [
        [f"trial{i}", j / RATE, v]
        for i, (x, end) in enumerate(zip(X, ends, strict=True))
        for j, v in enumerate(x[:end])
    ]
    write_lines(folder / "long.csv", ["trial", "time", "value"], lines)
    return starts


def write_images(folder, rng):
    """40 pictures of a bright square with a darker edge, of different sizes."""
    from PIL import Image

    (folder / "squares").mkdir()
    for i in range(40):
        picture = 5 + 5 * rng.standard_normal(rng.integers(14, 21, 2))
        row, column = (rng.integers(0, size - 7) for size in picture.shape)
        picture[row : row + 8, column : column + 8] += 180
        picture[row : row + 8, column : column + 3] -= 90
        pixels = picture.clip(0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / "squares" / f"square{i:02d}.png")


def write_epochs(folder, rng):
    """Epochs of 20 channels, from 0.2 s before an event on, with two kinds of events."""
    import mne

    X, starts = bumps(rng, n_times=100, width=30)
    channels = rng.uniform(0.5, 1.5, 20)
    noise = 0.1 * rng.standard_normal((len(X), 20, 100))
    info = mne.create_info([f"E{c + 1}" for c in range(20)], 100.0, "eeg")
    events = np.column_stack([200 * np.arange(len(X)), 0 * starts, 1 + np.arange(len(X)) % 2])
    values = 1e-6 * (X[:, None] * channels[:, None] + noise)
    epochs = mne.EpochsArray(values, info, events, -0.2, {"rare": 1, "usual": 2}, verbose="error")
    epochs.save(folder / "oddball-epo.fif", overwrite=True, verbose="error")
    return starts


def write_parquet(folder, rng):
    import pyarrow
    from pyarrow import parquet

    head, lines, starts = table(rng, gaps=False)
    columns = zip(*lines, strict=True)
    parquet.write_table(pyarrow.table(dict(zip(head, columns, strict=True))), folder / "a.parquet")
    return starts


WRITERS = {"wide": write_wide, "long": write_long, "squares": write_images}
WRITERS |= {"oddball": write_epochs, "parquet": write_parquet}


def main(folder):
    """Write all five files; returns where the bumps begin, by file."""
    return {name: write(Path(folder), np.random.default_rng(0)) for name, write in WRITERS.items()}


if __name__ == "__main__":
    main(*sys.argv[1:])

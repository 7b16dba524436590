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


def squares(rng, n=24, size=18):
    """Images (n, size, size) of a bright square with a darker edge, at random places."""
    images = 5 + 5 * rng.standard_normal((n, size, size))
    for image in images:
        row, column = rng.integers(0, size - 7, 2)
        image[row : row + 8, column : column + 8] += 180
        image[row : row + 8, column : column + 3] -= 90
    return images.clip(0, 255).astype(np.uint8)


def write_stack(folder, rng):
    import tifffile

    tifffile.imwrite(folder / "stack.tif", squares(rng), photometric="minisblack")


def write_ome(folder, rng):
    """Six times, four depths and two channels, in one of which all is fainter."""
    import tifffile

    first = squares(rng).reshape(6, 4, 18, 18)
    images = np.stack([first, first // 2], axis=2)
    about = {"axes": "TZCYX", "Channel": {"Name": ["DAPI", "GFP"]}}
    tifffile.imwrite(folder / "cells.ome.tif", images, metadata=about)


def write_cutouts(folder, rng):
    from astropy.io import fits

    (folder / "cutouts").mkdir()
    for i, image in enumerate(squares(rng).astype(np.float32)):
        image[rng.random(image.shape) < 0.02] = np.nan
        fits.PrimaryHDU(image).writeto(folder / "cutouts" / f"galaxy{i:02d}.fits")


def write_masked(folder, rng):
    from PIL import Image

    (folder / "masked").mkdir()
    for i, image in enumerate(squares(rng)):
        alpha = np.full_like(image, 255)
        alpha[0] = 0
        Image.fromarray(np.dstack([image, alpha])).save(folder / "masked" / f"cell{i:02d}.png")


def write_particles(folder, rng):
    """A stack, and the table in which RELION lists its particles."""
    import mrcfile
    import pandas
    import starfile

    images = squares(rng).astype(np.float32)
    with mrcfile.new(folder / "stack.mrcs") as file:
        file.set_data(images)
        file.set_image_stack()
    names = [f"{i + 1:06d}@stack.mrcs" for i in range(len(images))]
    optics = pandas.DataFrame({"rlnOpticsGroup": [1], "rlnImagePixelSize": [1.2]})
    particles = pandas.DataFrame({"rlnImageName": names, "rlnOpticsGroup": 1})
    blocks = {"optics": optics, "particles": particles}
    starfile.write(blocks, folder / "particles.star")


def _recording(rng):
    """Two channels of a minute, with a bump after each of 40 events."""
    import mne

    values = 1e-7 * rng.standard_normal((2, 6000))
    onsets = 100 + 140 * np.arange(40)
    for onset in onsets:
        start = onset + rng.integers(10, 40)
        values[:, start : start + 30] += 1e-6 * np.hanning(30)
    raw = mne.io.RawArray(values, mne.create_info(["Cz", "Pz"], 100.0, "eeg"), verbose="error")
    names = ["Stimulus/S  1", "Stimulus/S  2"] * 20
    return raw.set_annotations(mne.Annotations(onsets / 100, 0.0, names))


def write_brainvision(folder, rng):
    _recording(rng).export(folder / "oddball.vhdr", verbose="error")


def write_study(folder, rng):
    """A BIDS folder of two subjects with the same task."""
    import mne_bids

    for subject in ("01", "02"):
        raw = _recording(rng)
        raw.info["line_freq"] = 50
        raw.annotations.rename({"Stimulus/S  1": "target", "Stimulus/S  2": "standard"})
        where = mne_bids.BIDSPath(subject=subject, task="oddball", root=folder / "study")
        how = {"allow_preload": True, "format": "BrainVision", "verbose": "error"}
        mne_bids.write_raw_bids(raw, where, **how)


def write_eeglab(folder, rng):
    _recording(rng).export(folder / "oddball.set", verbose="error")


def write_excel(folder, rng):
    import openpyxl

    head, lines, _ = table(rng, gaps=True)
    book = openpyxl.Workbook()
    for line in [head, *lines]:
        book.active.append([None if value == "" else value for value in map(_plain, line)])
    book.save(folder / "wide.xlsx")


def _plain(value):
    return value.item() if isinstance(value, np.generic) else value


# The files of the last table, with the packages that write them.
FORMATS = {"stack.tif": (write_stack, "tifffile"), "cells.ome.tif": (write_ome, "tifffile")}
FORMATS |= {"cutouts": (write_cutouts, "astropy"), "masked": (write_masked, "PIL")}
FORMATS |= {"particles.star": (write_particles, "mrcfile starfile")}
FORMATS |= {"oddball.vhdr": (write_brainvision, "mne pybv")}
FORMATS |= {"study": (write_study, "mne_bids pybv")}
FORMATS |= {"oddball.set": (write_eeglab, "mne eeglabio"), "wide.xlsx": (write_excel, "openpyxl")}
WRITERS = {"wide": write_wide, "long": write_long, "squares": write_images}
WRITERS |= {"oddball": write_epochs, "parquet": write_parquet}


def main(folder):
    """Write all files; returns where the bumps begin, by file."""
    for write, _ in FORMATS.values():
        write(Path(folder), np.random.default_rng(0))
    return {name: write(Path(folder), np.random.default_rng(0)) for name, write in WRITERS.items()}


if __name__ == "__main__":
    main(*sys.argv[1:])

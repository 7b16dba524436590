"""Broken and hostile files of up to 1 MB of every kind: memory, time, and what is said.

Each case is one mutated file (tests/fuzzing.py). Some hundred are read one after the other in a
process that is forked from one where all readers were imported. The memory of a case, with all that
was imported, is VmHWM after that was set back, its time that of the processor. Files are small ones
(those of tests/samples.py), full ones of nearly 1 MB, and packed ones that become nearly as large
as is allowed; folders hold as much together. A case is good if it loads, or is an error of one
line, within 600 MB and 20 seconds.

Run: python benchmarks/fuzz_files.py [--cases 23000] [--first 0] [--out result.json]
     python benchmarks/fuzz_files.py --only bids,study --cases 1000 --out result.json
Kinds are taken in turn: all 46, so that each has 500 cases, or those named; "formats" are images,
particles, sheets, BrainVision, EEGLAB and BIDS. Case i is always the same file. Linux only.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import select
import signal
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import savemat

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

import fuzzing  # noqa: E402
import samples  # noqa: E402

import gtpca  # noqa: E402
from gtpca.readers import read_data  # noqa: E402

SEED = 29
MOST_BYTES, MOST_SECONDS = 600 * 2**20, 20
WAIT = 1200  # seconds after which a case hangs, on a machine that does other things as well
PIECE = 2**22  # values that are read at a time, as the commands do
BATCH = 200  # cases of one process
SHARES = {"small": 0.74, "full": 0.25, "packed": 0.01}
# Rows of five random numbers, so that a file has nearly 1 MB.
ROWS = {"npy": 24_000, "npz": 26_000, "csv": 28_000, "tsv": 28_000, "ts": 12_000, "mat5": 26_000}
ROWS |= {"xlsx": 20_000, "parquet": 22_000, "h5": 8_000, "mat73": 24_000, "zarr": 400, "zarr2": 400}


@dataclass
class Subject:
    """Files of one kind and size, and how they are read."""

    name: str
    size: str
    write: Callable[[Path], Path]
    options: dict[str, Any] = field(default_factory=dict)
    inside: Callable | None = None  # how contents are mutated before they are packed

    def prepare(self, folder: Path) -> None:
        """Write the file that is mutated."""
        self.sample = fuzzing.Sample(folder, self.write)
        stored = sum((self.sample.root / part).stat().st_size for part in self.sample.files)
        assert stored <= 2**20, f"{self.name}, {self.size}: {stored} bytes"

    def mutate(self, rng) -> Path:
        """Write a mutant, and return its path."""
        return self.sample.mutate(rng, self.inside or fuzzing.mutate)

    def read(self, path: Path) -> None:
        with read_data(path, **self.options) as data:
            step = max(1, PIECE // int(np.prod(data.rows.shape[1:])))
            rows = np.asarray(data.rows[:step])
            assert rows.dtype.kind in "biuf", rows.dtype
            assert rows.ndim >= 2, rows.shape
            assert rows.size, rows.shape


class ModelFiles(Subject):
    """Mutated model files: bytes, members, and values under right checksums."""

    def prepare(self, folder: Path) -> None:
        full = {"family": gtpca.Shift(30_000), "n_features": 30_050} if self.size == "full" else {}
        self.models = fuzzing.Models(folder, **full)

    def mutate(self, rng) -> Path:
        self.models.prepare(rng)
        return self.models.path

    def read(self, path: Path) -> None:
        self.models.read()


class EventModelFiles(ModelFiles):
    """The same of models of recordings."""

    def prepare(self, folder: Path) -> None:
        self.models = fuzzing.EventModels(folder, 400 if self.size == "full" else 8)


def inside_gzip(data: bytes, rng) -> bytes:
    """Packed text that was mutated before it was packed."""
    return gzip.compress(fuzzing.mutate(gzip.decompress(data), rng), 1)


def sampled(kind: str) -> Callable[[Path], Path]:
    return lambda folder: samples.write_sample(kind, folder)


def enlarged(kind: str) -> Callable[[Path], Path]:
    """The same kind of file with more values, up to 1 MB."""

    def write(folder):
        rng = np.random.default_rng(0)
        old = samples.X, samples.IMAGES, samples.SIGNAL
        samples.X = np.round(rng.standard_normal((ROWS.get(kind, 6), 5)), 3)
        samples.IMAGES = rng.integers(0, 255, (3, 250, 300, 3), dtype=np.uint8)
        samples.SIGNAL = rng.integers(-999, 999, (2, 1200 * samples.RATE))
        try:
            return samples.write_sample(kind, folder)
        finally:
            samples.X, samples.IMAGES, samples.SIGNAL = old

    return write


def long_text(n_trials: int, n_times: int) -> Callable[[Path], Path]:
    def write(folder):
        rng, lines = np.random.default_rng(0), ["time,value,trial,kind"]
        for i in range(n_trials):
            values = np.round(rng.standard_normal(n_times), 3).tolist()
            lines += [f"{j / 10},{v},s{i},k{i % 3}" for j, v in enumerate(values)]
        (folder / "a.csv").write_text("\n".join(lines) + "\n")
        return folder / "a.csv"

    return write


def text_gz(lines: int, line: str) -> Callable[[Path], Path]:
    def write(folder):
        path = folder / "a.csv.gz"
        path.write_bytes(gzip.compress(f"{line}\n".encode() * lines))
        return path

    return write


def epochs(n: int) -> Callable[[Path], Path]:
    def write(folder):
        import mne

        info = mne.create_info(["Fz", "Cz"], samples.RATE, "eeg")
        x = np.random.default_rng(0).standard_normal((n, 2, 50)) * 1e-6
        made = mne.EpochsArray(x, info, verbose="error")
        made.save(folder / "a-epo.fif", verbose="error")
        return folder / "a-epo.fif"

    return write


ZEROS = (250, 32_000)  # 64 MB of doubles, or of bytes eight times as many rows


def packed_npz(folder):
    np.savez_compressed(folder / "a.npz", X=np.zeros(ZEROS))
    return folder / "a.npz"


def packed_mat(folder):
    savemat(folder / "a.mat", {"X": np.zeros(ZEROS)}, do_compression=True)
    return folder / "a.mat"


def packed_h5(folder):
    import h5py

    with h5py.File(folder / "a.h5", "w") as file:
        file.create_dataset("X", data=np.zeros(ZEROS), chunks=ZEROS, compression="gzip")
    return folder / "a.h5"


def packed_zarr(folder):
    import zarr

    group = zarr.open_group(str(folder / "a.zarr"), mode="w")
    array = group.create_array("X", shape=ZEROS, dtype="f8", chunks=ZEROS, fill_value=1)
    array[:] = 0.0
    return folder / "a.zarr"


def packed_parquet(folder):
    import pyarrow
    from pyarrow import parquet

    columns = {f"x{j}": np.zeros(1_500_000) for j in range(5)}
    columns["kind"] = np.repeat(["up", "down"], 750_000)
    parquet.write_table(pyarrow.table(columns), folder / "a.parquet")
    return folder / "a.parquet"


def packed_png(folder):
    from PIL import Image

    (folder / "images").mkdir()
    for i in range(3):
        Image.fromarray(np.zeros((2600, 2600, 3), np.uint8)).save(folder / f"images/{i}.png")
    return folder / "images"


def packed_tif(folder):
    import tifffile

    tifffile.imwrite(folder / "a.tif", np.zeros((40, 1100, 1100), np.uint8), compression="zlib")
    return folder / "a.tif"


def packed_fits(folder):
    from astropy.io import fits

    plain = folder / "b.fits"
    fits.PrimaryHDU(np.zeros((40, 440, 440))).writeto(plain)
    (folder / "a.fits.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    return folder / "a.fits.gz"


def inside_zip(data: bytes, rng) -> bytes:
    """An archive of which one member was mutated before it was packed."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        names = old.namelist()
        chosen = names[rng.integers(len(names))] if rng.integers(4) == 0 else names[-1]
        sheet = next((name for name in names if "sheet1" in name), chosen)
        chosen = sheet if rng.integers(2) else chosen
        for name in names:
            content = old.read(name)
            content = fuzzing.mutate(content, rng) if name == chosen else content
            new.writestr(name, content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


FORMATS = (
    "bids",
    "study",
    "vhdr",
    "eeglab",
    "eeglab73",
    "tif",
    "ome",
    "tiffs",
    "rgba",
    "fits",
    "fits_folder",
)
FORMATS += ("mrcs", "star", "xlsx", "xlsx, inside")


def formats() -> list[Subject]:
    """What is there of these formats besides the samples."""
    found = [Subject("tif", "packed", packed_tif), Subject("fits", "packed", packed_fits)]
    for size, write in (("small", sampled), ("full", enlarged)):
        found += [Subject("xlsx, inside", size, write("xlsx"), {"missing": "ignore"}, inside_zip)]
    return found


def all_subjects() -> list[Subject]:
    found = [Subject(k, "small", sampled(k), samples.options(k)) for k in samples.KINDS]
    found += [Subject(k, "full", enlarged(k), samples.options(k)) for k in samples.KINDS]
    gaps, long = {"missing": "ignore"}, {"long": "time,value,trial", "labels": "kind"}
    for size, write in (("small", sampled), ("full", enlarged)):
        found += [Subject("csv, gaps", size, write("csv"), gaps)]
        found += [Subject("csv, labels", size, write("csv"), gaps | {"labels": "a", "id": "b"})]
        found += [Subject("ts, gaps", size, write("ts"), gaps)]
        found += [Subject("parquet, labels", size, write("parquet"), gaps | {"labels": "a"})]
        found += [Subject("png, pad", size, write("png"), {"sizes": "pad"})]
        found += [Subject("png, resize", size, write("png"), {"sizes": "resize"})]
    for size, n_trials, n in (("small", 5, 1), ("full", 300, 1000)):
        found += [Subject("long", size, long_text(n_trials, 160), long | gaps)]
        found += [Subject("long, whole", size, long_text(n_trials, 160), long)]
        found += [Subject("epochs", size, epochs(n))]
        found += [ModelFiles("model", size, sampled("npy"))]
        found += [EventModelFiles("model of events", size, sampled("npy"))]
    row = ",".join(["0"] * 50)
    for inside in (None, inside_gzip):
        name = "csv.gz, inside" if inside else "csv.gz"
        found += [Subject(name, "small", text_gz(30, "1.5,2,3"), gaps, inside)]
        found += [Subject(name, "packed", text_gz(150_000, row), inside=inside)]
        found += [Subject(name, "packed", text_gz(150_000, row), gaps, inside)]
    labelled = {"labels": "kind"}
    found += [Subject("parquet", "packed", packed_parquet, labelled)]
    packed = {"npz": packed_npz, "mat5": packed_mat, "h5": packed_h5, "zarr": packed_zarr}
    found += [Subject(kind, "packed", write) for kind, write in packed.items()]
    return [*found, Subject("png", "packed", packed_png), *formats()]


WARM = ("fif", "epochs", "edf", "bdf", "png", "csv", *FORMATS)


def warm(subjects) -> None:
    """Import all that reading needs, in this process; threads would not live on in others."""
    import astropy.io.fits  # noqa: F401
    import h5py  # noqa: F401
    import mne
    import PIL.Image  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import zarr  # noqa: F401

    mne.set_log_level("error")
    for one in subjects:
        if one.size == "small" and one.name in WARM:
            one.read(one.sample.path)


def memory(name: str) -> int:
    """Bytes of VmRSS or VmHWM."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith(name)))


def outcome(subject, path) -> str:
    """ "error", "load", or what went wrong."""
    try:
        subject.read(path)
    except (ValueError, OSError) as error:
        clear = "\n" not in str(error) and not any(text in str(error) for text in fuzzing.HUGE)
        return "error" if clear else f"said {error}"
    except BaseException as error:
        return f"raised {error!r}"
    return "load"


def work(subjects, numbers, pipe) -> None:
    """Read the files of some cases, and write a line on each to a pipe."""
    warnings.simplefilter("ignore")
    for i in numbers:
        one, rng = drawn(subjects, i)
        path = one.mutate(rng)
        Path("/proc/self/clear_refs").write_text("5")  # VmHWM begins anew
        begin = time.process_time()
        found = outcome(one, path)
        seconds = time.process_time() - begin
        told = {"found": found[:300], "seconds": seconds, "bytes": memory("VmHWM")}
        os.write(pipe, json.dumps(told).encode() + b"\n")
    os._exit(0)


def lines_of(out):
    """The lines that come from a pipe; None if nothing came for too long."""
    text = b""
    while select.select([out], [], [], WAIT)[0]:
        piece = os.read(out, 2**16)
        if not piece:
            return
        *lines, text = (text + piece).split(b"\n")
        yield from lines
    yield None


def measured(subjects, first: int, last: int):
    """What processes of their own say about the files, one case after the other.

    A process that ends or hangs is a failure of its case, and another one goes on.
    """
    while first < last:
        stop = min(last, first + BATCH)
        out, pipe = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(out)
            work(subjects, range(first, stop), pipe)
        os.close(pipe)
        found = "ended"
        for line in lines_of(out):
            if line is None:
                os.kill(pid, signal.SIGKILL)
                found = f"took more than {WAIT} s"
                break
            yield json.loads(line)
            first += 1
        os.close(out)
        _, status, used = os.wait4(pid, 0)
        if first < stop:
            seconds = used.ru_utime + used.ru_stime
            yield {"found": f"{found}, {status}", "seconds": seconds, "bytes": 0}
            first += 1


def judged(said) -> str:
    """The same, if memory and time were within the limits."""
    if said["found"] in ("error", "load"):
        if said["bytes"] > MOST_BYTES:
            return f"{said['found']} with {said['bytes'] / 2**20:.0f} MB"
        if said["seconds"] > MOST_SECONDS:
            return f"{said['found']} after {said['seconds']:.1f} s"
    return said["found"]


def drawn(subjects, i: int):
    """The subject of a case and its numbers: kinds in turn, a size by its share.

    It is small if there is none of that size.
    """
    rng = np.random.default_rng([SEED, i])
    size = rng.choice(list(SHARES), p=list(SHARES.values()))
    names = list(dict.fromkeys(one.name for one in subjects))
    kind = [one for one in subjects if one.name == names[i % len(names)]]
    of_size = [one for one in kind if one.size == size] or [o for o in kind if o.size == "small"]
    return of_size[rng.integers(len(of_size))], rng


def chosen(only: str | None) -> list[Subject]:
    """All kinds, or those named, separated by commas."""
    names = FORMATS if only == "formats" else (only or "").split(",")
    return [one for one in all_subjects() if only is None or one.name in names]


def run(subjects, first: int, last: int, folder: Path, tell) -> None:
    for number, one in enumerate(subjects):
        one.prepare(folder / str(number))
    warm(subjects)
    kinds: dict[str, Any] = {}
    failures: list[str] = []
    for i, said in enumerate(measured(subjects, first, last), start=first):
        one, _ = drawn(subjects, i)
        verdict, name = judged(said), f"{one.name}, {one.size}"
        kind = kinds.setdefault(name, {"error": 0, "load": 0, "failed": 0, "MB": 0, "seconds": 0})
        kind[verdict if verdict in kind else "failed"] += 1
        kind["MB"] = max(kind["MB"], round(said["bytes"] / 2**20))
        kind["seconds"] = max(kind["seconds"], round(said["seconds"], 2))
        if verdict not in ("error", "load"):
            failures.append(f"{i}, {name}: {verdict}")
        total = {word: sum(k[word] for k in kinds.values()) for word in ("error", "load", "failed")}
        total |= {word: max(k[word] for k in kinds.values()) for word in ("MB", "seconds")}
        found = {"cases": [first, i + 1], "seed": SEED, "total": total, "failures": failures}
        tell(found | {"kinds": dict(sorted(kinds.items()))})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=23_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only")
    parser.add_argument("--out", type=Path, default=HERE / "fuzz_files.json")
    given = parser.parse_args()
    last, end = given.first + given.cases, time.monotonic()

    def tell(found):
        nonlocal end
        if found["cases"][1] == last or time.monotonic() > end + 10:
            given.out.write_text(json.dumps(found, indent=1) + "\n")
            end = time.monotonic()

    with tempfile.TemporaryDirectory() as folder:
        run(chosen(given.only), given.first, last, Path(folder), tell)


if __name__ == "__main__":
    main()

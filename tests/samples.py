"""One small file of every kind that can be read, for the tests of readers and of broken files."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from scipy.io import savemat, wavfile

from gtpca.readers import read_data

X = np.round(np.random.default_rng(0).standard_normal((6, 5)), 3)
IMAGES = np.random.default_rng(1).integers(0, 255, (3, 4, 6, 3), dtype=np.uint8)
SIGNAL = np.random.default_rng(2).integers(-999, 999, (2, 400))  # channels, times
RATE = 100
NEEDS = {"parquet": "pyarrow", "h5": "h5py", "mat73": "h5py", "zarr": "zarr", "zarr2": "zarr"}
NEEDS |= {"png": "PIL", "jpeg": "PIL", "fif": "mne", "edf": "mne", "bdf": "mne"}
NEEDS |= dict.fromkeys(("tif", "ome", "tiffs"), "tifffile") | {"fits": "astropy"}
NEEDS |= {"fits_folder": "astropy", "rgba": "PIL"}
NEEDS |= {"mrcs": "mrcfile", "star": "mrcfile starfile"}
NEEDS |= {"xlsx": "openpyxl"}
NEEDS |= {"vhdr": "mne pybv", "eeglab": "mne eeglabio", "eeglab73": "mne pymatreader h5py"}
NEEDS |= dict.fromkeys(("bids", "study"), "mne pybv mne_bids")
KINDS = ("npy", "npz", "csv", "tsv", "mat5", "ts", "wav", "hea", *NEEDS)
RECORDINGS = ("fif", "edf", "bdf", "wav", "hea", "vhdr", "eeglab", "eeglab73", "bids", "study")


def available(kind) -> bool:
    return all(importlib.util.find_spec(name) for name in NEEDS.get(kind, "").split())


def options(kind) -> dict:
    """What ``read_data`` needs to be told."""
    if kind == "rgba":
        return {"missing": "ignore"}
    return {"window": 50} if kind in RECORDINGS else {}


def recording(n=6000, apart=170, length=20):
    """Noise with a pulse every ``apart`` points, from the point 100 on."""
    y = 0.1 * np.random.default_rng(0).standard_normal(n)
    for place in range(100, n - length, apart):
        y[place : place + length] += np.hanning(length)
    return y


def refused(path, message, **options):
    """Whether the file cannot be read, and one line says so and names it."""
    with pytest.raises(ValueError, match=message) as caught:
        read_data(path, **options)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def write_sample(kind, folder):
    """Write the file and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    return WRITERS[kind](folder)


def npy(folder):
    np.save(folder / "a.npy", X)
    return folder / "a.npy"


def npz(folder):
    np.savez_compressed(folder / "a.npz", X=X)
    return folder / "a.npz"


def csv(folder, ending=".csv", delimiter=","):
    lines = [delimiter.join("abcde"), *(delimiter.join(map(str, row)) for row in X.tolist())]
    path = folder / f"a{ending}"
    path.write_text("\n".join(lines) + "\n")
    return path


def xlsx(folder):
    import openpyxl

    book = openpyxl.Workbook()
    for row in ["abcde", *X.tolist()]:
        book.active.append(list(row))
    book.save(folder / "a.xlsx")
    return folder / "a.xlsx"


def tsv(folder):
    return csv(folder, ".tsv", "\t")


def ts(folder):
    lines = ["# a comment", "@problemName small", "@timeStamps false", "@univariate false"]
    lines += ["@dimensions 2", "@equalLength true", "@seriesLength 5", "@classLabel true up down"]
    lines += ["@data"]
    for i, row in enumerate(X.tolist()):
        values = ",".join(map(str, row))
        lines.append(f"{values}:{','.join(str(-v) for v in row)}:{'up' if i % 2 else 'down'}")
    (folder / "a.ts").write_text("\n".join(lines) + "\n")
    return folder / "a.ts"


def mat5(folder):
    savemat(folder / "a.mat", {"X": X}, do_compression=True)
    return folder / "a.mat"


def mat73(folder):
    """As MATLAB 7.3 writes it: HDF5 behind a header of 512 bytes, the axes reversed."""
    import h5py

    path = folder / "a.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        file["X"] = X.T
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    return path


def h5(folder):
    import h5py

    with h5py.File(folder / "a.h5", "w") as file:
        file.create_dataset("group/X", data=X, chunks=(2, 5), compression="gzip")
    return folder / "a.h5"


def zarr(folder, **how):
    import zarr

    path = folder / "a.zarr"
    group = zarr.open_group(str(path), mode="w", **how)
    array = group.create_array("X", shape=X.shape, dtype="f8", chunks=(2, 5))
    array[:] = X
    return path


def zarr2(folder):
    return zarr(folder, zarr_format=2)


def parquet(folder):
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table({name: X[:, j] for j, name in enumerate("abcde")})
    parquet.write_table(table, folder / "a.parquet")
    return folder / "a.parquet"


def png(folder, ending="png"):
    from PIL import Image

    (folder / "images").mkdir(exist_ok=True)
    for i, pixels in enumerate(IMAGES):
        Image.fromarray(pixels).save(folder / "images" / f"{i}.{ending}")
    return folder / "images"


def jpeg(folder):
    return png(folder, "jpeg")


def rgba(folder):
    """The same with an alpha channel, in which one pixel of each image is transparent."""
    from PIL import Image

    (folder / "images").mkdir(exist_ok=True)
    for i, pixels in enumerate(IMAGES):
        alpha = np.full((*pixels.shape[:2], 1), 255, np.uint8)
        alpha[i, 1] = 0
        Image.fromarray(np.dstack([pixels, alpha])).save(folder / "images" / f"{i}.png")
    return folder / "images"


def tif(folder):
    """A stack of three pages in colour, compressed."""
    import tifffile

    how = {"photometric": "rgb", "compression": "zlib"}
    tifffile.imwrite(folder / "a.tif", IMAGES, **how)
    return folder / "a.tif"


def ome(folder):
    """The same with colours as channels, three times."""
    import tifffile

    about = {"axes": "TCYX", "Channel": {"Name": ["red", "green", "blue"]}}
    path = folder / "a.ome.tif"
    tifffile.imwrite(path, IMAGES.transpose(0, 3, 1, 2), metadata=about)
    return path


def tiffs(folder):
    import tifffile

    (folder / "images").mkdir(exist_ok=True)
    for i, pixels in enumerate(IMAGES):
        tifffile.imwrite(folder / "images" / f"{i}.tiff", pixels, photometric="rgb")
    return folder / "images"


def fits(folder):
    """A cube of floats behind an empty first part."""
    from astropy.io import fits

    parts = [fits.PrimaryHDU(), fits.ImageHDU(IMAGES[..., 0].astype(np.float32), name="SCI")]
    fits.HDUList(parts).writeto(folder / "a.fits", overwrite=True)
    return folder / "a.fits"


def fits_folder(folder):
    from astropy.io import fits

    (folder / "images").mkdir(exist_ok=True)
    for i, pixels in enumerate(IMAGES[..., 0]):
        fits.PrimaryHDU(pixels.astype(np.int16)).writeto(folder / "images" / f"{i}.fits")
    return folder / "images"


def mrcs(folder, images=None):
    """A stack of particles with pixels of 1.5 Angstrom."""
    import mrcfile

    with mrcfile.new(folder / "a.mrcs", overwrite=True) as file:
        file.set_data((IMAGES[..., 0] if images is None else images).astype(np.float32))
        file.set_image_stack()
        file.voxel_size = 1.5
    return folder / "a.mrcs"


def star(folder, images=None):
    """The same stack behind a table of its particles."""
    import pandas
    import starfile

    (folder / "Extract").mkdir(exist_ok=True)
    mrcs(folder / "Extract", images)
    n = len(IMAGES if images is None else images)
    optics = {"rlnOpticsGroup": [1], "rlnImagePixelSize": [1.5], "rlnOpticsGroupName": ["one"]}
    names = [f"{i + 1:06d}@Extract/a.mrcs" for i in range(n)]
    particles = {"rlnImageName": names, "rlnOpticsGroup": 1, "rlnClassNumber": np.arange(n) % 2}
    blocks = {"optics": pandas.DataFrame(optics), "particles": pandas.DataFrame(particles)}
    starfile.write(blocks, folder / "a.star", overwrite=True)
    return folder / "a.star"


def wav(folder):
    wavfile.write(folder / "a.wav", RATE, SIGNAL.T.astype(np.int16))
    return folder / "a.wav"


def hea(folder):
    """A record of WFDB: a header, and numbers of 12 bits, two in three bytes."""
    write_212(folder / "a.dat", SIGNAL.T)
    lines = [f"a.dat 212 1000000/V 12 0 0 0 0 {name}" for name in ("Fz", "Cz")]
    head = f"a 2 {RATE} {SIGNAL.shape[1]}"
    (folder / "a.hea").write_text("\n".join([head, *lines, "# a comment"]) + "\n")
    return folder / "a.hea"


def write_212(path, numbers):
    """Signed numbers of 12 bits, an even count of them."""
    low, high = np.asarray(numbers, np.int64).reshape(-1, 2).T & 0xFFF
    found = np.stack([low & 255, (low >> 8) | (high >> 8) << 4, high & 255], axis=1)
    path.write_bytes(found.astype(np.uint8).tobytes())


def as_raw():
    import mne

    info = mne.create_info(["Fz", "Cz"], RATE, "eeg")
    raw = mne.io.RawArray(SIGNAL * 1e-6, info, verbose="error")
    return raw.set_annotations(mne.Annotations([0.05, 1.0, 2.5], 0.1, ["go", "go", "stop"]))


def fif(folder):
    as_raw().save(folder / "a_raw.fif", overwrite=True, verbose="error")
    return folder / "a_raw.fif"


def vhdr(folder):
    """BrainVision, through pybv: a header, its markers and its signals."""
    as_raw().export(folder / "a.vhdr", overwrite=True, verbose="error")
    return folder / "a.vhdr"


def bids(folder):
    """The same in a BIDS folder, which has a table of events."""
    write_bids(as_raw(), folder / "study", subject="01", task="odd")
    return next((folder / "study").rglob("*.vhdr"))


def study(folder):
    """A BIDS folder of two subjects, each with the first or the second half of the signals."""
    raw, half = as_raw(), len(SIGNAL[0]) / RATE / 2
    for i in (0, 1):
        part = raw.copy().crop(half * i, half * (i + 1), include_tmax=False)
        write_bids(part, folder / "study", subject=f"0{i + 1}", task="odd")
    return folder / "study"


def write_bids(raw, root, **entities):
    import mne_bids

    raw.info["line_freq"] = 50
    how = {"allow_preload": True, "format": "BrainVision", "verbose": "error"}
    mne_bids.write_raw_bids(raw, mne_bids.BIDSPath(root=root, **entities), **how)


def eeglab(folder):
    as_raw().export(folder / "a.set", overwrite=True, verbose="error")
    return folder / "a.set"


def eeglab73(folder):
    """The same as MATLAB 7.3 writes it: HDF5, where texts and lists are references."""
    import h5py

    path = folder / "a.set"
    with h5py.File(path, "w", userblock_size=512) as file:
        kept, eeg = file.create_group("#refs#"), file.create_group("EEG")
        sizes = {"nbchan": 2, "pnts": SIGNAL.shape[1], "trials": 1, "srate": RATE, "xmin": 0}
        for name, value in sizes.items():
            eeg[name] = np.array([[float(value)]])
        eeg.create_dataset("data", data=SIGNAL.T.astype(np.float32), chunks=True, compression=1)
        types, places = ["go", "go", "stop"], [[6.0], [101.0], [251.0]]
        fields = {"chanlocs/labels": ["Fz", "Cz"], "event/type": types, "event/latency": places}
        for field, values in fields.items():
            found = []
            for i, value in enumerate(values):
                letters = [ord(letter) for letter in value] if isinstance(value, str) else value
                number = np.uint16 if isinstance(value, str) else np.float64
                one = kept.create_dataset(f"{field}/{i}", data=np.array([letters], number).T)
                one.attrs["MATLAB_class"] = np.bytes_("char" if number is np.uint16 else "double")
                found.append([one.ref])
            eeg[field] = np.array(found, dtype=h5py.ref_dtype)
        for group in (eeg, eeg["chanlocs"], eeg["event"]):
            group.attrs["MATLAB_class"] = np.bytes_("struct")
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    return path


def edf(folder, ending="edf", width=2):
    """European Data Format by hand: a header of text, then records of one second."""
    top = 2 ** (8 * width - 1)
    version = b"0".ljust(8) if width == 2 else b"\xffBIOSEMI"
    n_records = SIGNAL.shape[1] // RATE
    fixed = ["patient", "recording", "01.01.20", "00.00.00", 256 * 3, "", n_records, 1, 2]
    sizes = [80, 80, 8, 8, 8, 44, 8, 8, 4]
    head = "".join(str(v).ljust(n) for v, n in zip(fixed, sizes, strict=True))
    channel = [("Fz", "Cz"), ("", ""), ("uV", "uV"), (-top, -top), (top - 1, top - 1)]
    channel += [(-top, -top), (top - 1, top - 1), ("", ""), (RATE, RATE), ("", "")]
    widths = [16, 80, 8, 8, 8, 8, 8, 80, 8, 32]
    head += "".join(str(v).ljust(n) for vs, n in zip(channel, widths, strict=True) for v in vs)
    records = SIGNAL.reshape(2, n_records, RATE).transpose(1, 0, 2).ravel()
    data = b"".join(int(v).to_bytes(width, "little", signed=True) for v in records)
    path = folder / f"a.{ending}"
    path.write_bytes(version + head.encode() + data)
    return path


def bdf(folder):
    return edf(folder, "bdf", 3)


WRITERS = {kind: globals()[kind] for kind in KINDS}

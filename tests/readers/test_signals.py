"""Whole recordings of every kind of file."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.io import savemat, wavfile

from gtpca.readers import read_data, read_signal

Y = np.round(np.sin(np.arange(500) / 7.0), 6)


def test_arrays(tmp_path):
    np.save(tmp_path / "a.npy", Y)
    found = read_signal(tmp_path / "a.npy", rate=100)
    assert isinstance(found.values, np.memmap)
    assert found.rate == 100
    assert np.array_equal(found.values, Y)
    for name, array in {"row": Y[None], "column": Y[:, None]}.items():
        np.save(tmp_path / f"{name}.npy", array)
        assert np.array_equal(read_signal(tmp_path / f"{name}.npy").values, Y)
    np.save(tmp_path / "turned.npy", np.stack([Y, -Y]))
    assert read_signal(tmp_path / "turned.npy").shape == (500, 2)
    assert np.array_equal(read_signal(tmp_path / "turned.npy", channels=["1"]).values, -Y)
    np.savez(tmp_path / "a.npz", y=Y, z=Y)
    assert np.array_equal(read_signal(tmp_path / "a.npz", "y").values, Y)
    savemat(tmp_path / "a.mat", {"y": Y})
    assert np.array_equal(read_signal(tmp_path / "a.mat").values, Y)


def test_stores(tmp_path):
    h5py, zarr = pytest.importorskip("h5py"), pytest.importorskip("zarr")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["y"] = Y
    found = read_signal(tmp_path / "a.h5")
    assert np.array_equal(np.asarray(found.values[10:20]), Y[10:20])
    found.close()
    zarr.save(str(tmp_path / "a.zarr"), Y)
    assert np.array_equal(np.asarray(read_signal(tmp_path / "a.zarr").values[:]), Y)


def test_tables_and_sound(tmp_path):
    lines = [f"{t / 50!r},{y!r},{-y!r}" for t, y in enumerate(Y.tolist())]
    (tmp_path / "a.csv").write_text("\n".join(["time,left,right", *lines]))
    found = read_signal(tmp_path / "a.csv")
    assert np.isclose(found.rate, 50)
    assert found.channels == ["left", "right"]
    assert np.allclose(found.values, np.stack([Y, -Y], axis=1))
    assert np.allclose(read_signal(tmp_path / "a.csv", channels=["right"]).values, -Y)
    wavfile.write(tmp_path / "a.wav", 8000, (1000 * Y).astype(np.int16))
    found = read_signal(tmp_path / "a.wav")
    assert found.rate == 8000
    assert found.shape == (500,)


def test_sound_stays_in_its_file_and_may_be_cut(tmp_path):
    path = tmp_path / "a.wav"
    wavfile.write(path, 8000, (1000 * np.stack([Y, -Y], axis=1)).astype(np.int16))
    assert isinstance(read_signal(path).values, np.memmap)
    assert read_signal(path).shape == (500, 2)
    path.write_bytes(path.read_bytes()[:-8])  # two points are lost
    with pytest.warns(wavfile.WavFileWarning, match="EOF"):
        assert read_signal(path).shape == (498, 2)
    wide = np.stack([np.arange(9)] * 3).astype(np.int16)  # more channels than points
    wavfile.write(path, 8000, wide)
    assert read_signal(path).shape == (3, 9)
    three = b"".join(int(v).to_bytes(3, "little", signed=True) for v in (1, -2, 3))
    head = np.array([1, 1, 100, 0, 300, 0, 3, 24], "<u2").tobytes()
    chunks = b"fmt " + (16).to_bytes(4, "little") + head + b"data" + (9).to_bytes(4, "little")
    whole = b"WAVE" + chunks + three + b"\0"
    path.write_bytes(b"RIFF" + len(whole).to_bytes(4, "little") + whole)
    assert (read_signal(path).values // 256).tolist() == [1, -2, 3]
    path.write_bytes(path.read_bytes().replace(head, head[:4] + bytes(8) + head[12:]))
    with pytest.raises(ValueError, match=r"a\.wav: says 0 points per second"):
        read_signal(path)
    with pytest.raises(ValueError, match=r"a\.wav: says 0") as error:
        read_data(path, window=2)
    assert str(error.value).count("a.wav") == 1


def test_recordings_of_mne(tmp_path):
    mne = pytest.importorskip("mne")
    info = mne.create_info(["Cz", "Pz"], 250.0, "eeg")
    raw = mne.io.RawArray(np.stack([Y, -Y]) * 1e-6, info, verbose="error")
    raw.save(tmp_path / "a_raw.fif", verbose="error")
    found = read_signal(tmp_path / "a_raw.fif", channels=["Pz"])
    assert found.rate == 250
    assert found.shape == (500, 1)


def test_errors_are_one_line(tmp_path):
    np.save(tmp_path / "cube.npy", np.zeros((3, 4, 5)))
    np.save(tmp_path / "a.npy", Y)
    (tmp_path / "a.wav").write_bytes(b"nothing at all")
    (tmp_path / "a.xyz").write_text("1")
    for name, how, words in (
        ("cube.npy", {}, "time and channels"),
        ("a.wav", {}, "a.wav"),
        ("a.xyz", {}, "the extension '.xyz' is none of"),
        ("a.npy", {"key": "y"}, "leave key='y' out"),
        ("a.npy", {"channels": ["3"]}, "no channel '3'"),
    ):
        with pytest.raises(ValueError, match=words.replace("[", r"\[")) as error:
            read_signal(tmp_path / name, **how)
        assert "\n" not in str(error.value)
    with pytest.raises(FileNotFoundError):
        read_signal(tmp_path / "none.npy")


def test_windows_of_any_recording(tmp_path):
    np.save(tmp_path / "a.npy", Y)
    np.save(tmp_path / "both.npy", np.stack([Y, -Y], axis=1))
    wavfile.write(tmp_path / "a.wav", 100, (1000 * Y).astype(np.int16))
    data = read_data(tmp_path / "a.npy", window=50, step=25)
    assert data.rows.shape == (19, 50)
    assert np.array_equal(data.rows[3], Y[75:125])
    assert data.id_name == "window_start"
    assert data.ids[3] == "75"
    data = read_data(tmp_path / "both.npy", window=0.5, rate=100.0)
    assert data.rows.shape == (10, 50, 2)
    assert data.columns["window_start_s"][1] == "0.5"
    assert read_data(tmp_path / "a.wav", window=0.5).rows.shape == (10, 50)
    for name, how, words in (
        ("a.wav", {}, "needs a window"),
        ("a.npy", {"step": 3}, "step=3 needs a window"),
        ("a.npy", {"window": 0.5}, "rate is not known"),
        ("a.npy", {"window": 1000}, "less than the window"),
    ):
        with pytest.raises(ValueError, match=words):
            read_data(tmp_path / name, **how)

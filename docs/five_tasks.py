"""Five tasks, solved with nothing but what the site says. A test runs them and looks the calls up.

Each function takes a folder with the file it names, and returns what was asked for.
"""

from __future__ import annotations

import os

import numpy as np
from scipy import sparse
from sklearn.model_selection import GridSearchCV

from gtpca import GTPCA, Family, Rotation, Shift
from gtpca.datasets import sliding_windows
from gtpca.operators import BankOperator
from gtpca.readers import read_data
from gtpca.testing import check_operator


def latencies(folder):
    """Seconds after the event of each trial in ``oddball-epo.fif``."""
    import mne

    epochs = mne.read_epochs(os.path.join(folder, "oddball-epo.fif"), verbose="error")
    model = GTPCA(1, Shift("0.4s", axes="time"), polarity="positive", random_state=0).fit(epochs)
    return model.poses(model.encode(epochs))["centre"][:, 0]


def best_window(folder):
    """The shortest window of the flat part for ``wide.csv``, which has ids, labels and gaps."""
    path = os.path.join(folder, "wide.csv")
    data = read_data(path, id="subject", labels=["group", "age"], missing="ignore")
    windows = [5, 7, 9, 12, 16, 20, 25, 32]
    model = GTPCA(1, Shift(8), missing="ignore", random_state=0)
    search = GridSearchCV(model, {"family__window": windows}, cv=3).fit(data.rows)
    shares, spread = (search.cv_results_[f"{name}_test_score"] for name in ("mean", "std"))
    flat = shares >= shares.max() - spread[shares.argmax()]
    return windows[int(np.argmax(flat))]


def templates(folder):
    """The waveform that repeats in ``recording.npy``, and the times at which its window stands."""
    recording = np.load(os.path.join(folder, "recording.npy"), mmap_mode="r")
    length, event = 150, 50
    windows = sliding_windows(recording, length, length - event)
    model = GTPCA(1, Shift(window=event), random_state=0).fit(windows)
    codes = model.encode(windows)
    times = (length - event) * np.arange(len(windows)) + model.poses(codes)["start"][:, 0]
    loud = np.abs(codes.scores[:, 0]) > 0.5 * np.abs(codes.scores).max()
    return model.components_[0], np.unique(times[loud])


def angles(folder):
    """Degrees by which each picture in the folder ``cells`` is turned, up to one common angle."""
    images = read_data(os.path.join(folder, "cells")).rows
    model = GTPCA(2, Rotation(angles=24), shared_pose=True, random_state=0).fit(images)
    return model.poses(model.encode(images))["degrees"][:, 0]


class Drift(Family):
    """A pattern on which a line of some slope is multiplied; the pose is the ``slope``."""

    def __init__(self, slopes=(-1, 0, 1)):
        self.slopes = slopes

    def bind(self, sample_shape):
        """All slopes for series of ``sample_shape``."""
        (n,) = sample_shape
        maps = [sparse.diags_array(1 + s * np.linspace(-0.5, 0.5, n)) for s in self.slopes]
        poses = {"slope": np.asarray(self.slopes)}
        return BankOperator(sparse.vstack(maps).tocsr(), sample_shape, sample_shape, poses)


def own_family(folder):
    """The slope of each series in ``drifts.npy``."""
    X = np.load(os.path.join(folder, "drifts.npy"))
    family = Drift(np.linspace(-1.5, 1.5, 13))
    check_operator(family.bind(X.shape[1:]))
    model = GTPCA(1, family, random_state=0).fit(X)
    return model.poses(model.encode(X))["slope"][:, 0]

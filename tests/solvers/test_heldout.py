"""Held-out residuals on the paper's data: no worse than the bars, mean of several draws."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from gtpca import GTPCA, Shift
from gtpca.datasets import (
    fetch_eeg,
    fetch_handwriting,
    make_oscillations,
    make_spikes,
    random_crop,
)


def mean_resmse(draws, n_components=10, **options):
    """Mean held-out ResMSE over (family, train, test) draws."""
    rows = []
    for seed, (family, train, test) in enumerate(draws):
        model = GTPCA(n_components, family, random_state=seed, **options).fit(train)
        rows.append(model.resmse(test))
    return np.mean(rows, axis=0)


def oscillations(seed):
    return make_oscillations(random_state=seed), make_oscillations(random_state=100 + seed)


def spikes(seed, n_times):
    seeds = (seed, 100 + seed)
    return [make_spikes(n_times=n_times, spike_probability=0.5, random_state=s)[0] for s in seeds]


def test_oscillations():
    curve = mean_resmse((Shift(512), *oscillations(s)) for s in range(10))  # as many as the paper
    assert np.all(curve[[0, 4, 9]] <= [0.632, 0.296, 0.183]), curve


def test_refined_oscillations():
    curve = mean_resmse(((Shift(512), *oscillations(s)) for s in range(3)), refine=10)
    assert curve[9] <= 0.165, curve


def test_spikes_in_a_long_window():
    curve = mean_resmse((Shift(256), *spikes(s, 128)) for s in range(3))
    assert np.all(curve[[0, 4, 9]] <= [0.083, 0.043, 0.031]), curve


def test_spikes_in_a_short_window():
    curve = mean_resmse((Shift(128), *spikes(s, 256)) for s in range(3))
    assert np.all(curve[[0, 4, 9]] <= [0.455, 0.062, 0.047]), curve


def handwriting_split(X, seed):
    cropped, _ = random_crop(X, 700, random_state=seed)
    order = np.random.RandomState(seed).permutation(len(X))
    return Shift(1400, axes=0), cropped[order[:16]], cropped[order[16:]]


def test_handwriting(data_home):
    pytest.importorskip("rdata", reason="reading .rda files needs rdata")
    X = fetch_handwriting(data_home=data_home).data[:, :1400]
    curve = mean_resmse(handwriting_split(X, s) for s in range(10))
    assert np.all(curve[[0, 4, 9]] <= [0.020, 0.009, 0.006]), curve


def pca_resmse(train, test, n_components):
    pca = PCA(n_components).fit(train)
    scores, total = pca.transform(test), np.sum(test**2)
    parts = (scores[:, :k] @ pca.components_[:k] for k in range(1, n_components + 1))
    return np.array([np.sum((test - pca.mean_ - part) ** 2) / total for part in parts])


@pytest.mark.parametrize("fold", range(4))
def test_eeg_needs_fewer_components_than_pca(data_home, fold):
    """Subjects that the fit has not seen; 64 channels move together in time."""
    pytest.importorskip("rdata", reason="reading .rda files needs rdata")
    eeg = fetch_eeg(data_home=data_home)
    X = eeg.data - eeg.data.mean(axis=1, keepdims=True)
    unseen = np.isin(eeg.subject, np.unique(eeg.subject)[fold::4])
    train, test = (X[rows & ~eeg.repeated].astype(np.float32) for rows in (~unseen, unseen))
    family = Shift(axes=0, boundary="circular")
    ours = GTPCA(4, family, random_state=0).fit(train).resmse(test)
    theirs = pca_resmse(train.reshape(len(train), -1), test.reshape(len(test), -1), 6)
    assert ours[3] < theirs[5]

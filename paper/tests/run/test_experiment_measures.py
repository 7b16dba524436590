"""Residuals and accuracies by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

pytest.importorskip("gtpca_paper", reason="needs gtpca-paper: pip install ./paper")

from gtpca_paper.run import measures


def test_resmse_is_a_ratio_of_sums():
    residual, energy = np.array([1.0, 0.0]), np.array([2.0, 8.0])
    found = measures.resmse(residual, energy, target=np.ones(2, bool), task="classification")
    assert found == {"same": 0.1}  # and not the mean of 1/2 and 0


def test_resmse_of_outliers_has_two_denominators():
    residual, energy = np.array([1.0, 3.0, 50.0, 50.0]), np.array([4.0, 8.0, 1.0, 3.0])
    target = np.array([True, True, False, False])
    found = measures.resmse(residual, energy, target=target, task="outlier")
    assert found == {"paper": 2 / 4, "own": 2 / 6}


def test_resmse_of_a_model_that_diverged_is_none():
    how = {"target": np.ones(1, bool), "task": "projection"}
    found = measures.resmse(np.array([np.nan]), np.ones(1), **how)
    assert found == {"same": None}


def test_accuracy_on_the_first_samples_and_on_all():
    predicted, y = np.array([1, 1, 0, 0]), np.array([1, 0, 1, 1])
    assert measures.accuracies(predicted, y, 2) == {"paper": 50.0, "own": 25.0}
    assert measures.accuracies(predicted, y, None) == {"same": 25.0}


def test_balanced_accuracy_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, predicted = rng.integers(0, 2, 50), rng.integers(0, 2, 50)
    expected = [100 * balanced_accuracy_score(y[:n], predicted[:n]) for n in (20, 50)]
    found = measures.balanced_accuracies(predicted, y, 20)
    assert [found["paper"], found["own"]] == pytest.approx(expected)
    always = measures.balanced_accuracies(np.zeros(50, int), y, None)
    assert always == {"same": 50.0}

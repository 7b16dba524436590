"""The numbers of the paper."""

from __future__ import annotations

import pytest

pytest.importorskip("gtpca_paper", reason="needs gtpca-paper: pip install ./paper")

from gtpca_paper.report.published import published_models, published_row, published_tables
from gtpca_paper.rows import TableKey

OSCILLATIONS = TableKey("oscillations", "512", "projection", "resmse")
MNIST = TableKey("mnist", "iii", "classification", "accuracy")


@pytest.mark.parametrize(
    ("key", "model", "k", "value"),
    [
        ("oscillations/512/projection/resmse", "gtpca-als", 1, 0.635),
        ("oscillations/512/projection/resmse", "gtpca-refine", 10, 0.183),
        ("oscillations/256/projection/resmse", "kpca", 1, 0.949),
        ("handwriting/700/projection/resmse", "gtpca-adam", 1, 0.09289),
        ("handwriting/700/projection/resmse", "pca", 10, 0.03567),
        ("spikes/iii/classification/accuracy", "gtpca-als", 2, 99.0),
        ("mnist/i/classification/resmse", "vae", 4, None),
        ("mnist/iv/outlier/accuracy", "gtpca-refine", 10, 93.6),
    ],
)
def test_published_rows(key, model, k, value):
    assert published_row(TableKey(*key.split("/")), model)[k - 1] == value


def test_rows_that_the_paper_has_not():
    assert published_row(TableKey("errp", "i", "outlier", "resmse"), "pca") == []
    assert published_row(TableKey("spikes", "iv", "outlier", "resmse"), "pca") == []
    assert published_row(TableKey("spike", "i", "outlier", "resmse"), "pca") == []


def test_published_rows_are_copies():
    published_row(OSCILLATIONS, "pca").clear()
    assert len(published_row(OSCILLATIONS, "pca")) == 10


def test_published_tables_are_those_of_the_paper():
    keys = published_tables()
    assert len(keys) == len(set(keys)) == 2 + 12 + 2 + 12 + 16
    assert published_models(MNIST) == ["gtpca", "autoencoder", "vae", "pca"]

"""The list of experiments beside the tables of the paper."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("gtpca_paper", reason="needs gtpca-paper: pip install ./paper")

from gtpca_paper.report.published import published_models, published_row, published_tables
from gtpca_paper.rows import Line, RowKey, TableKey
from gtpca_paper.spec import EXPERIMENTS, MODELS, find_setting, is_gtpca, rank


def test_the_tables_are_those_of_the_paper():
    listed = {
        TableKey(experiment=e.name, setting=s.name, task=task, metric=metric)
        for e in EXPERIMENTS.values()
        for s in e.settings
        for task in e.largest
        for metric in ("resmse", "accuracy")[: 1 if task == "projection" else 2]
    }
    assert listed == {*published_tables()}


@pytest.mark.parametrize("key", published_tables(), ids=str)
def test_models_and_components_are_those_of_the_paper(key):
    experiment = EXPERIMENTS[key.experiment]
    baselines = [model for model in published_models(key) if not is_gtpca(model)]
    assert {*baselines} == {*experiment.baselines}
    for model in ("gtpca-als", *baselines):
        assert len(published_row(key, model)) == experiment.largest[key.task]


def test_variants_are_run_where_something_moves():
    for experiment in EXPERIMENTS.values():
        for setting in experiment.settings:
            names = [model.name for model in experiment.models(setting)]
            assert {*names} <= {*MODELS}
            assert ("gtpca-shared" in names) == (setting.family is not None)


def test_all_channels_are_the_same_setting():
    assert find_setting("errp", "i-all") is find_setting("errp", "i")
    with pytest.raises(ValueError, match="setting of errp='v' must be one of 'i', 'ii'"):
        find_setting("errp", "v")


def test_poses_are_scored_where_they_differ():
    moving, still = find_setting("spikes", "i"), find_setting("spikes", "ii")
    assert "signed+pose" in MODELS["gtpca-als"].protocols(moving)
    for model, setting in (("gtpca-als", still), ("gtpca-shared", moving), ("pca", moving)):
        assert MODELS[model].protocols(setting) == ("paper", "signed")


def test_what_is_stored_of_a_sample():
    shifted, rotated, still = (find_setting("mnist", s) for s in ("iii", "iv", "ii"))
    assert [s.n_transforms for s in (shifted, rotated, still)] == [29 * 29, 20, 1]
    assert find_setting("handwriting", "700").n_transforms == 701
    als, shared, pca = (MODELS[name] for name in ("gtpca-als", "gtpca-shared", "pca"))
    assert als.budget(rotated, 5) == (5, 5, pytest.approx(5 * (32 + math.log2(20))))
    assert als.budget(rotated, 5, "signed") == (5, 0, 160)
    assert als.budget(rotated, 5, "signed+pose") == (5, 4, pytest.approx(160 + 4 * math.log2(20)))
    assert shared.budget(shifted, 5) == (5, 1, pytest.approx(160 + 2 * math.log2(29)))
    assert pca.budget(shifted, 5) == als.budget(still, 5) == (5, 0, 160)
    assert als.budget(shifted, 5).numbers == 10


def test_titles():
    key = TableKey(experiment="mnist", setting="iv", task="outlier", metric="accuracy")
    assert key.title == "MNIST, (iv) rotated, outlier detection: accuracy (%)"
    assert str(key) == "mnist/iv/outlier/accuracy"
    key = TableKey(experiment="oscillations", setting="512", task="projection", metric="resmse")
    assert key.title == "Oscillations, weights of 512 points: ResMSE"
    line = Line(model="gtpca-als", protocol="signed", normalisation="own", profile="quick")
    assert line.title == "GT-PCA by ALS"
    assert line.label("accuracy") == "signed scores, all test samples, profile quick"


def test_names_that_are_not_known_are_their_own_titles():
    key = TableKey(experiment="mine", setting="x", task="projection", metric="resmse")
    assert key.title == "mine, x: ResMSE"
    assert Line(model="ica", protocol="none", normalisation="same", profile="").title == "ica"
    assert rank("ica", MODELS) == len(MODELS)


def test_the_key_of_a_row_is_a_part_of_it():
    key = {name: name for name in RowKey._fields}
    assert RowKey.of({"value": 1, **key, "seconds": 2})._asdict() == key

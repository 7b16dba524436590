"""The classifier of the scores: alone, and many at once."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason='needs torch: pip install "gtpca[torch]"')

pytest.importorskip("gtpca_paper", reason="needs gtpca-paper: pip install ./paper")

from gtpca_paper.baselines import networks
from gtpca_paper.baselines.classifier import Classifier, Downstream, fit_together

torch.set_num_threads(1)

QUICK = {"epochs": 2, "steps_per_epoch": 10, "random_state": 0}


def xor(n, seed, offset=0.0, scale=1.0):
    rng = np.random.default_rng(seed)
    corner = rng.integers(0, 2, (n, 2))
    Z = corner + 0.1 * rng.standard_normal((n, 2))
    return offset + scale * Z, np.where(corner[:, 0] == corner[:, 1], "same", "different")


@pytest.mark.parametrize(("offset", "scale"), [(0.0, 1.0), (1e4, 100.0)])
def test_classifier_solves_xor(offset, scale):
    Z, y = xor(400, 0, offset, scale)
    model = Downstream(epochs=4, steps_per_epoch=400, random_state=0).fit(Z, y)
    assert list(model.classes_) == ["different", "same"]
    assert model.score(*xor(200, 1, offset, scale)) > 0.98
    np.testing.assert_allclose(model.mean_, Z.mean(axis=0))
    np.testing.assert_allclose(model.scale_, Z.std(axis=0))


def test_classifier_without_standardisation_sees_raw_scores():
    Z, y = xor(200, 0)
    raw = Downstream(standardize=False, **QUICK).fit(Z, y)
    assert not raw.mean_.any()
    np.testing.assert_array_equal(raw.scale_, 1)
    logits = raw.net_(torch.from_numpy(Z).float()).argmax(dim=1).numpy()
    np.testing.assert_array_equal(raw.predict(Z), raw.classes_[logits])


def test_classifier_bears_a_constant_column():
    Z, y = xor(100, 0)
    model = Downstream(**QUICK).fit(np.column_stack([Z, np.full(100, 0.1)]), y)
    assert not model.diverged_
    assert model.scale_[2] == 1


def test_pickle():
    Z, y = xor(20, 0)
    model = Downstream(**QUICK).fit(Z, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(Z), model.predict(Z))


def slow_training(Z, y, standardize, epochs, steps, seed):
    """Weights after plain training, one network at a time, as torch's manual would write it."""
    if standardize:
        Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    generator = networks.make_generator(seed)
    net = networks.initialised(lambda: Classifier(Z.shape[1], y.max() + 1), generator)
    order = networks.draw_batches(
        len(Z), n_batches=epochs * steps, batch_size=32, generator=generator
    )
    adam = torch.optim.Adam(net.parameters(), lr=1e-3, eps=1e-7)
    for rows in order:
        adam.zero_grad()
        z = torch.from_numpy(Z[rows]).float()
        torch.nn.functional.cross_entropy(net(z), torch.from_numpy(y[rows])).backward()
        adam.step()
    return list(net.parameters())


@pytest.mark.parametrize("standardize", [False, True])
def test_together_is_the_same_as_alone(standardize):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    scores = [rng.standard_normal((90, k)) + y[:, None] for k in (1, 4, 2)]
    models = [
        Downstream(standardize=standardize, epochs=2, steps_per_epoch=30, random_state=seed)
        for seed in (5, 6, 7)
    ]
    fit_together(models, scores, y)
    for model, Z, seed in zip(models, scores, (5, 6, 7), strict=True):
        for ours, theirs in zip(
            model.net_.parameters(), slow_training(Z, y, standardize, 2, 30, seed), strict=True
        ):
            torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-5)
        assert model.loss_.shape == (2,)
        assert model.loss_[1] < model.loss_[0]


def test_a_training_that_diverged_harms_no_neighbour():
    Z, y = xor(50, 0)
    broken = Z.copy()
    broken[:, 0] = np.nan
    models = [Downstream(**QUICK) for _ in range(3)]
    fit_together(models, [Z, broken, Z], y)
    assert [model.diverged_ for model in models] == [False, True, False]
    alone = Downstream(**QUICK).fit(Z, y)
    for ours, theirs in zip(models[2].net_.parameters(), alone.net_.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


def test_together_needs_one_schedule():
    Z, y = xor(20, 0)
    with pytest.raises(ValueError, match="same epochs, steps_per_epoch and batch_size"):
        fit_together([Downstream(epochs=1), Downstream(epochs=2)], [Z, Z], y)

"""Gaps beside the samples of a layer and of a network: the same numbers as the estimator's."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import QUICK, noise, two_planted

torch = pytest.importorskip("torch", reason='needs torch: pip install "gtpca[torch]"')

from gtpca import GTPCA, Shift
from gtpca.data.chunks import Chunk
from gtpca.model.matching import make_block, match
from gtpca.nn import Adam, GTPCLayer, GTPCNetwork
from gtpca.nn.geometry import Geometry
from gtpca.operators.base import with_feature_weight


def gaps(X, seed=1):
    hidden = np.random.default_rng(seed).random(X.shape) < 0.3
    hidden[1] = True
    return np.where(hidden, np.nan, X)


def tensors(X):
    """Samples with rubbish where nothing was observed, and the mask."""
    return torch.from_numpy(np.where(np.isnan(X), np.nan, X)), torch.from_numpy(~np.isnan(X))


@pytest.mark.parametrize("short", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_layer_finds_what_the_estimator_finds(family_and_shape, weighted, short):
    family, shape = family_and_shape
    operator = family.bind(shape)
    if weighted:
        weight = np.random.default_rng(2).uniform(0.5, 2, operator.n_features)
        operator = with_feature_weight(operator, weight)
    X = gaps(noise(9, *shape))
    geometry = Geometry(operator)
    geometry.short = short
    layer = GTPCLayer(geometry, shape, dtype=torch.float64, random_state=0)
    w = layer.weight.detach().numpy().reshape(1, -1)
    found = match(Chunk(X.reshape(9, -1), operator), make_block(operator, w))
    told = layer(*tensors(X))
    assert np.array_equal(told.index.numpy(), found.index)
    assert np.allclose(told.score.detach().numpy(), found.score[:, 0], atol=1e-9)
    moved = operator.apply_at(w[0], found.index)
    assert np.allclose(told.projection.detach().numpy().reshape(9, -1), found.coef * moved)


@pytest.mark.parametrize("options", [{}, {"center": True}, {"center": "samples"}], ids=str)
def test_a_network_rebuilds_what_the_estimator_rebuilds(options):
    X = gaps(two_planted(Shift(8), (24,), 40) + 3.0)
    model = GTPCA(2, Shift(8), missing="ignore", solver=QUICK, random_state=0, **options)
    with pytest.warns(UserWarning, match="1 of 40"):
        wanted, codes = model.fit(X).reconstruct(X), model.encode(X)
    network = GTPCNetwork.from_estimator(model, dtype=torch.float64)
    scores, index = network.encode(*tensors(X))
    assert np.array_equal(index.numpy(), codes.index)
    assert np.allclose(scores.detach().numpy(), codes.scores, atol=1e-9)
    assert np.allclose(network(*tensors(X)).detach().numpy(), wanted, atol=1e-9)


def test_gradients_are_finite_and_zero_in_gaps():
    X = gaps(noise(6, 20))
    layer = GTPCLayer(Shift(5), (20,), dtype=torch.float64, random_state=0)
    x, mask = tensors(X)
    x.requires_grad_()
    layer(x, mask).score.square().sum().backward()
    assert torch.isfinite(layer.weight.grad).all()
    assert (x.grad[~mask] == 0).all()
    assert x.grad[mask].abs().max() > 0


def test_nothing_hidden_is_as_without_a_mask():
    layer = GTPCLayer(Shift(5), (20,), dtype=torch.float64, random_state=0)
    x = torch.from_numpy(noise(6, 20))
    plain, masked = layer(x), layer(x, torch.ones(6, 20, dtype=torch.bool))
    assert torch.equal(plain.index, masked.index)
    assert torch.allclose(plain.projection, masked.projection, atol=1e-12)
    assert torch.allclose(plain.score, masked.score, atol=1e-12)


@pytest.mark.parametrize("mask", [torch.ones(6, 20), torch.ones(6, 19, dtype=torch.bool), "all"])
def test_masks_are_bool_and_of_the_shape_of_the_samples(mask):
    layer = GTPCLayer(Shift(5), (20,))
    with pytest.raises(ValueError, match=r"mask has .* bool tensor of the shape \(6, 20\)"):
        layer(torch.zeros(6, 20), mask)


def test_adam_fits_rows_with_gaps():
    X = two_planted(Shift(8), (24,), 200)
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    best = GTPCA(1, Shift(8), missing="ignore", random_state=0).fit(X)
    solver = Adam(epochs=8, lr=0.02)
    model = GTPCA(1, Shift(8), missing="ignore", solver=solver, random_state=0).fit(X)
    assert model.score(X) > 0.8 * best.score(X)

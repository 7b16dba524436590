"""The layer says the same as the estimator, and can be differentiated."""

from __future__ import annotations

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'gtpca[torch]'")

from gtpca import GTPCA, Compose, Reflection, Rotation, Shift
from gtpca.fitting.fit import Fit
from gtpca.fitting.fitted import FittedComponents
from gtpca.model.model import Model
from gtpca.nn import GTPCLayer, GTPCNetwork
from gtpca.parameters import bind_family
from gtpca.solvers.base import SolverResult
from gtpca.testing import make_planted

PRECISION = {torch.float32: 1e-5, torch.float64: 1e-10}
CLEAR = 1e-4  # relative gap between the best and the second best transform


def estimator_with(family, shape, weights, **options):
    """An estimator with given components, as if it had been fitted."""
    model = GTPCA(len(weights), family, sample_shape=shape, **options)
    W = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    value = Model(bind_family(family, shape, model.feature_weight), W, model.polarity)
    results = [SolverResult(w[None]) for w in W]
    model.fit_ = FittedComponents.of(Fit(value, np.ones(len(W)), 2.0 * len(W), results))
    return model


def samples(operator, dtype, n=30):
    X = make_planted(operator, n_samples=n, noise=0.5, random_state=4)[0]
    return torch.from_numpy(X.astype(str(dtype).removeprefix("torch.")))


def clear_rows(operator, X, w, polarity):
    """Rows whose best two transforms differ by more than CLEAR."""
    rows = X.reshape(len(X), -1).numpy().astype(float)
    if operator.feature_weight is not None:
        rows = rows * np.sqrt(operator.feature_weight)
    bank = operator.apply(w)
    norms = np.linalg.norm(bank, axis=1)
    seen = norms > 1e-5 * norms.max()
    products = rows @ (bank[seen] / norms[seen, None]).T
    best = np.sort(products if polarity == "positive" else np.abs(products), axis=1)
    if best.shape[1] == 1:
        return np.ones(len(rows), dtype=bool)
    return best[:, -1] > best[:, -2] * (1 + CLEAR)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "feature-weight"])
@pytest.mark.parametrize("polarity", ["both", "positive"])
@pytest.mark.parametrize("dtype", list(PRECISION), ids=str)
def test_layer_agrees_with_the_estimator(family_and_shape, dtype, polarity, weighted):
    family, shape = family_and_shape
    q = np.random.default_rng(5).uniform(0.5, 2, shape) if weighted else None
    layer = GTPCLayer(
        family, shape, polarity=polarity, feature_weight=q, random_state=1, dtype=dtype
    )
    w = layer.weight.detach().numpy().ravel().astype(float)
    model = estimator_with(family, shape, w[None], polarity=polarity, feature_weight=q)
    X = samples(model.operator_, dtype)
    out, codes = layer(X), model.encode(X.numpy())
    clear = clear_rows(model.operator_, X, w, polarity)
    assert clear.mean() > 0.9
    atol = PRECISION[dtype] * float(X.abs().max() * np.sqrt(X[0].numel()))
    np.testing.assert_array_equal(out.index.numpy()[clear], codes.index[clear, 0])
    np.testing.assert_allclose(
        out.score.detach().numpy()[clear], codes.scores[clear, 0], rtol=PRECISION[dtype], atol=atol
    )
    rebuilt = model.reconstruct(X.numpy())
    assert out.projection.shape == X.shape
    np.testing.assert_allclose(
        out.projection.detach().numpy()[clear], rebuilt[clear], rtol=PRECISION[dtype], atol=atol
    )


def test_gradients_are_right(family_and_shape):
    family, shape = family_and_shape
    layer = GTPCLayer(family, shape, random_state=2, dtype=torch.float64)
    operator = family.bind(shape)
    w = layer.weight.detach().numpy().ravel()
    X = samples(operator, torch.float64, n=40)
    X = X[torch.from_numpy(clear_rows(operator, X, w, "both"))][:2].requires_grad_()

    def outputs(x, weight):
        out = torch.func.functional_call(layer, {"weight": weight}, (x,))
        return out.projection, out.score

    assert torch.autograd.gradcheck(outputs, (X, layer.weight), atol=1e-6)


def test_a_layer_is_a_module(tmp_path):
    layer = GTPCLayer(Compose(Shift((5, 5)), Rotation(8)), (9, 9), random_state=0)
    assert list(layer.state_dict()) == ["weight"]
    other = GTPCLayer(Compose(Shift((5, 5)), Rotation(8)), (9, 9), random_state=1)
    other.load_state_dict(layer.state_dict())
    x = torch.randn(4, 9, 9, generator=torch.Generator().manual_seed(0))
    for same in (other, copy.deepcopy(layer)):
        torch.testing.assert_close(same(x), layer(x), rtol=0, atol=0)
    double = layer.double()(x.double())
    assert double.projection.dtype == torch.float64
    torch.testing.assert_close(double.score.float(), other(x).score)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_projects(dtype):
    """Projections are right to the precision of the type; the match runs in float32."""
    family, x = Shift(9), torch.randn(6, 24, generator=torch.Generator().manual_seed(0))
    layer = GTPCLayer(family, (24,), random_state=0).to(dtype)
    out, exact = layer(x.to(dtype)), copy.deepcopy(layer).float()(x.to(dtype).float())
    assert out.projection.dtype == dtype
    assert torch.equal(out.index, exact.index)
    torch.testing.assert_close(out.score.float(), exact.score, rtol=0.03, atol=0.03)


def test_frozen_layers_pass_gradients_to_what_comes_before():
    layer = GTPCLayer(Shift(4), (10,), frozen=True, random_state=0)
    before = torch.nn.Linear(7, 10)
    layer(before(torch.randn(3, 7))).score.square().sum().backward()
    assert layer.weight.grad is None
    assert before.weight.grad.abs().max() > 0


def test_the_length_of_the_weights_does_not_matter():
    layer = GTPCLayer(Shift(40), (16,), random_state=0, dtype=torch.float64)
    x = torch.randn(5, 16, dtype=torch.float64)
    first = layer(x)
    with torch.no_grad():
        layer.weight *= 1000
    torch.testing.assert_close(layer(x), first)


@pytest.mark.parametrize("length", [1e-21, 1e21])
@pytest.mark.parametrize("family", [Shift(8), Shift(40), Rotation(4)], ids=str)
def test_squares_of_very_long_or_short_weights_stay_in_range(family, length):
    """Those of float32 end at 1e19; gradients fall as weights grow."""
    shape = (6, 6) if isinstance(family, Rotation) else (16,)
    x = torch.randn(5, *shape, generator=torch.Generator().manual_seed(0))
    layers = [GTPCLayer(family, shape, random_state=0) for _ in range(2)]
    with torch.no_grad():
        layers[1].weight *= length
    here, there = (layer(x) for layer in layers)
    torch.testing.assert_close(there, here)
    for found in (here, there):
        found.score.square().sum().backward()
    torch.testing.assert_close(layers[1].weight.grad * length, layers[0].weight.grad)


def test_zero_samples_and_zero_weights_are_harmless():
    layer = GTPCLayer(Shift(40), (16,), random_state=0)
    out = layer(torch.zeros(3, 16))
    assert torch.equal(out.projection, torch.zeros(3, 16))
    assert layer(torch.zeros(0, 16)).score.shape == (0,)
    with torch.no_grad():
        layer.weight.zero_()
    assert torch.equal(layer(torch.ones(3, 16)).score, torch.zeros(3))


def test_a_short_bank_and_the_fft_agree(monkeypatch):
    from gtpca.nn import geometry

    x = torch.randn(8, 12, 12, dtype=torch.float64)
    for family in (Shift((5, 5)), Shift((20, 20)), Compose(Shift((7, 7)), Reflection((0, 1)))):
        outputs = []
        for limit in (0, 2**30):
            monkeypatch.setattr(geometry, "SHORT_BANK", limit)
            layer = GTPCLayer(family, (12, 12), random_state=0, dtype=torch.float64)
            outputs.append(layer(x))
        torch.testing.assert_close(*outputs)


def rolled(w):
    """All circular shifts, written in torch: a family with no operator."""
    return torch.stack([w.roll(s) for s in range(len(w))])


def test_a_callable_family_is_trained_without_an_adjoint():
    X = make_planted(Shift(boundary="circular").bind((12,)), n_samples=300, noise=0.05)[0]
    X = torch.from_numpy(X.astype(np.float32))
    net = GTPCNetwork(1, rolled, (12,), random_state=0).fit(X, epochs=40, lr=1e-2, random_state=0)
    assert 1 - net.energies_[1] / net.energies_[0] > 0.98
    with pytest.raises(ValueError, match=r"family=.*rolled.* has no estimator"):
        net.to_estimator()


class Squeezed(torch.nn.Module):
    """A family with a parameter of its own: the weights and the weights times a number."""

    def __init__(self):
        super().__init__()
        self.factor = torch.nn.Parameter(torch.tensor([1.0, 0.5]))

    def forward(self, w):
        return torch.stack([w, torch.cat([w[:6] * self.factor[0], w[6:] * self.factor[1]])])


def test_parameters_of_a_callable_family_are_trained_with_the_first_component_only():
    X = torch.randn(100, 12, generator=torch.Generator().manual_seed(0))
    net = GTPCNetwork(2, Squeezed(), (12,), random_state=0)
    seen = []
    net.layers[1].weight.register_hook(lambda g: seen.append(net.family.factor.detach().clone()))
    net.fit(X, epochs=2, random_state=0)
    assert not torch.equal(net.family.factor.detach(), torch.tensor([1.0, 0.5]))
    assert all(torch.equal(factor, seen[0]) for factor in seen)


@pytest.mark.parametrize(
    ("x", "error", "words"),
    [
        (np.zeros((3, 10)), TypeError, "ndarray.*torch.as_tensor"),
        (torch.zeros(3, 9), ValueError, r"\(3, 9\).*\(n, 10\)"),
        (torch.zeros(10), ValueError, r"\(10,\).*\(n, 10\)"),
        (torch.zeros(3, 10, dtype=torch.float64), TypeError, "float64.*float32"),
        (torch.zeros(3, 10, dtype=torch.int64), TypeError, "int64.*float32"),
        (torch.zeros(3, 10, device="meta"), ValueError, "meta.*cpu"),
    ],
)
def test_wrong_samples_are_named(x, error, words):
    layer = GTPCLayer(Shift(4), (10,))
    net = GTPCNetwork(2, Shift(4), (10,))
    for call in (layer, net, net.encode):
        with pytest.raises(error, match=words):
            call(x)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"family": "shift"}, TypeError, "family='shift'"),
        ({"family": Shift}, TypeError, "family=<class"),
        ({"family": lambda w: w}, ValueError, "returned.*n_transforms"),
        ({"sample_shape": (0,)}, ValueError, "sample_shape"),
        ({"weight_shape": (5,)}, ValueError, "weight_shape"),
        ({"polarity": "up"}, ValueError, "polarity='up'"),
        ({"feature_weight": np.ones(3)}, ValueError, "feature_weight"),
    ],
)
def test_wrong_parameters_are_named(options, error, words):
    given = {"family": Shift(4), "sample_shape": (10,), **options}
    with pytest.raises(error, match=words):
        GTPCLayer(**given)


@pytest.mark.parametrize("family", [Rotation(8), Compose(Shift((6, 6)), Rotation(8))], ids=str)
def test_the_geometry_keeps_its_precision(family):
    layer = GTPCLayer(family, (9, 9), random_state=0, dtype=torch.float64)
    x = torch.randn(4, 9, 9, dtype=torch.float64)
    weight = layer.weight.detach().clone()
    before = layer(x).score
    layer.half().double()
    with torch.no_grad():
        layer.weight.copy_(weight)
    torch.testing.assert_close(layer(x).score, before, rtol=1e-12, atol=1e-12)


def test_small_halves_do_not_vanish():
    x = torch.randn(6, 24, generator=torch.Generator().manual_seed(0))
    layer = GTPCLayer(Shift(9), (24,), random_state=0)
    exact = layer(x).score
    with torch.no_grad():
        layer.weight *= 1e-3
    torch.testing.assert_close(layer.half()(x.half()).score.float(), exact, rtol=0.05, atol=0.05)


def test_no_samples_by_fft():
    layer = GTPCLayer(Shift((28, 28)), (56, 56))
    assert layer(torch.zeros(0, 56, 56)).projection.shape == (0, 56, 56)


def test_the_match_is_not_left_to_autocast():
    x = torch.randn(200, 64, generator=torch.Generator().manual_seed(0))
    layer = GTPCLayer(Shift(30), (64,), random_state=0)
    with torch.autocast("cpu", torch.bfloat16):
        index = layer(x).index
    assert torch.equal(index, layer(x).index)


def test_a_module_as_a_family_keeps_its_type():
    layer = GTPCLayer(Squeezed().double(), (12,), dtype=torch.float64, frozen=True)
    assert layer(torch.ones(2, 12, dtype=torch.float64)).score.dtype == torch.float64
    assert not any(p.requires_grad for p in layer.parameters())

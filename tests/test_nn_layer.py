"""The layer says the same as the estimator, and can be differentiated."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from conftest import ALL_FAMILIES

torch = pytest.importorskip("torch", reason="needs torch: pip install 'gtpca[torch]'")

from gtpca import GTPCA, Compose, Reflection, Rotation, Shift
from gtpca.fitting import Components
from gtpca.nn import GTPCLayer, GTPCNetwork
from gtpca.solvers import SolverResult
from gtpca.testing import make_planted

PRECISION = {torch.float32: 1e-5, torch.float64: 1e-10}
CLEAR = 1e-4  # relative gap between the best and the second best transform


def estimator_with(family, shape, weights, **options):
    """An estimator with given components, as if it had been fitted."""
    model = GTPCA(len(weights), family, sample_shape=shape, **options)
    model.n_features_in_ = int(np.prod(shape))
    model._row_shape = shape
    W = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    operator = model._bind(shape)
    ones = np.ones(len(W))
    model._keep(Components(W, ones, 2.0 * len(W), [SolverResult(w[None]) for w in W]), operator, None)
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
    return np.ones(len(rows), bool) if best.shape[1] == 1 else best[:, -1] > best[:, -2] * (1 + CLEAR)


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

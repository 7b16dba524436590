"""Conversion between networks and estimators, with the same numbers on both sides."""

from __future__ import annotations

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from gtpca.estimator import GTPCA
from gtpca.families import Family
from gtpca.fitting.fit import Fit
from gtpca.fitting.fitted import FittedComponents
from gtpca.model.model import Model
from gtpca.model.preprocessing import Preprocessing
from gtpca.solvers.base import SolverResult

__all__ = ["check_convertible", "make_estimator"]


def check_convertible(estimator) -> None:
    """Raise an error for estimators that encode differently from a network."""
    check_is_fitted(estimator)
    if estimator.shared_pose_ and estimator.n_components_ > 1:
        raise ValueError(
            "shared_pose=True cannot be converted: every layer of a network finds its own pose."
        )
    if estimator.noise_ is not None:
        raise ValueError(
            "noise='stationary' cannot be converted: a network does not whiten its samples; give "
            "it samples that estimator.noise_.whiten(..) made white, and a model of these."
        )
    if estimator.refine:
        raise ValueError(
            f"refine={estimator.refine} cannot be converted: a network encodes without sweeps; use "
            "estimator.set_params(refine=0) for that."
        )


def make_estimator(network) -> GTPCA:
    """A fitted estimator with the weights of a network, scaled to unit norm."""
    if network.family is not None and not isinstance(network.family, Family):
        raise ValueError(f"family={network.family!r} has no estimator: only families of gtpca do.")
    operator, energies = network.operator, network.energies_
    weights = np.stack([to_numpy(layer.weight).ravel() for layer in network.layers])
    lengths = np.linalg.norm(weights, axis=1, keepdims=True)
    if not np.all(lengths > 0):
        raise ValueError(f"layers[{int(lengths.argmin())}] has weights of zero: no component.")
    weights, mean = weights / lengths, None if network.mean is None else to_numpy(network.mean)
    weight = operator.feature_weight
    estimator = GTPCA(
        len(weights),
        network.family,
        sample_shape=operator.sample_shape,
        polarity=network.polarity,
        center=network.center if mean is None else True,
        ridge=0,
        feature_weight=None if weight is None else weight.reshape(operator.sample_shape),
    )
    results = [_result(network, k, w[None]) for k, w in enumerate(weights)]
    preprocessing = Preprocessing(mean, estimator.center == "samples")
    model = Model(operator, weights, network.polarity, preprocessing=preprocessing)
    found = Fit(model, explained=-np.diff(energies), total=energies[0], results=results)
    estimator.fit_ = FittedComponents.of(found)
    return estimator


def to_numpy(tensor):
    """A NumPy array: NumPy has no bfloat16 and no use for float16."""
    narrow = tensor.dtype in (torch.bfloat16, torch.float16)
    return (tensor.float() if narrow else tensor).detach().cpu().numpy()


def _result(network, k, W):
    """How the weights ``W`` (1, L) of a layer were found, as far as known."""
    if k >= len(network.history_):
        return SolverResult(W, stopped="not trained")
    record = network.history_[k]
    n_epochs = len(record["loss"])
    return SolverResult(W, history=record["watched"], n_iter=n_epochs, stopped=record["stopped"])

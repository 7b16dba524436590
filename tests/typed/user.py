"""A script of a user, for `mypy --strict`. Lines with a mistake say which."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import gtpca
from gtpca import ALS, GTPCA, Codes, Compose, ProbabilisticGTPCA, Rotation, Shift, load
from gtpca.datasets import make_spikes
from gtpca.page import write_page
from gtpca.plots import plot_components
from gtpca.readers import read_data


def fitted(X: np.ndarray) -> GTPCA:
    """Fit, and look at what was found."""
    model = GTPCA(n_components=3, family=Shift(window=64, boundary="partial"), random_state=0)
    model.set_params(solver__n_init=4).fit(X, sample_weight=np.ones(len(X)))
    shares: np.ndarray = model.explained_energy_ratio_
    print(model.components_.shape, model.n_components_ + 1, shares.sum())
    return model


def used(model: GTPCA, X: np.ndarray, path: Path) -> float:
    """Codes, samples and files of a model."""
    codes: Codes = model.encode(X)
    scores: np.ndarray = model.transform(X)
    start: np.ndarray = model.poses(codes)["start"]
    rebuilt: np.ndarray = model.decode(codes)
    print(scores.shape, start.mean(), rebuilt - model.reconstruct(X), model.align(X, component=1))
    model.save(path)
    plot_components(load(path))
    write_page(model, X, path.with_suffix(".html"), title="spikes")
    return model.score(X) + float(model.resmse(X)[-1])


def others() -> None:
    """Other estimators, families and solvers."""
    X, labels = make_spikes(500, random_state=0)
    text = GTPCA(0.9, "shift(window=64)", center="samples", solver=ALS(n_init=8), n_jobs=2).fit(X)
    images = GTPCA(2, Compose(Shift((20, 20)), Rotation(angles=20)), sample_shape=(28, 28))
    density = ProbabilisticGTPCA(1, Shift(64)).fit(X)
    print(density.pose_posterior(X).entropy, density.score(X), labels, images.get_params())
    print(used(text, fitted(X).transform(X), Path("x.gtpca")), read_data("x.csv").rows)
    print(gtpca.datasets.make_spikes(3), gtpca.__version__)


def mistakes(X: np.ndarray) -> None:
    """What a type checker must find."""
    model = GTPCA(n_components="three")  # error: arg-type
    model.fitt(X)  # error: attr-defined
    print(model.n_component_)  # error: attr-defined
    GTPCA(3, Shift(window=64, boundary="wrap"))  # error: arg-type
    GTPCA(3, components=2)  # error: call-arg
    print(gtpca.GTPAC)  # error: attr-defined
    ProbabilisticGTPCA(1).fit(X).transfrom(X)  # error: attr-defined
    Shift(64).bnd((128,))  # error: attr-defined

"""A script of a user, for `mypy --strict`. Lines with a mistake say which."""

from __future__ import annotations

from pathlib import Path

import dask.array as da
import numpy as np
import xarray as xr

import gtpca
from gtpca import (
    ALS,
    GTPCA,
    Codes,
    Compose,
    GTPCAClassifier,
    MixtureGTPCA,
    PosePosterior,
    ProbabilisticGTPCA,
    Rotation,
    Shift,
    load,
)
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


def in_kind(model: GTPCA, X: np.ndarray, lazy: da.Array, trials: xr.DataArray) -> None:
    """Arrays for arrays, Dask arrays for Dask arrays, and containers for containers."""
    codes, later = model.encode(X), model.encode(lazy)
    print(codes.scores.T, codes[:3].index.mean(), later.scores.compute(), len(later.first(1)))
    print(model.decode(codes).nbytes, model.decode(later).rechunk((9, -1)))
    scores: np.ndarray = model.transform(X)
    slow: da.Array = model.transform(lazy)
    print(model.inverse_transform(scores).nbytes, model.inverse_transform(slow).persist())
    print(model.fit_transform(lazy).compute(), model.score_samples(lazy).compute())
    print(model.transform(trials).dims, model.align(trials, component=1).mean("trial").coords)
    print(model.impute(X).nbytes, model.reconstruct(lazy).compute(), model.transform([[1.0]]).T)
    density = ProbabilisticGTPCA(1, Shift(64)).fit(lazy)
    sure: PosePosterior[da.Array] = density.pose_posterior(lazy)
    print(sure.entropy.compute(), density.evidence(X).nbytes, density.encode(lazy).index.compute())


def others() -> None:
    """Other estimators, families and solvers."""
    X, labels = make_spikes(500, random_state=0)
    text = GTPCA(0.9, "shift(window=64)", center="samples", solver=ALS(n_init=8), n_jobs=2).fit(X)
    images = GTPCA(2, Compose(Shift((20, 20)), Rotation(angles=20)), sample_shape=(28, 28))
    density = ProbabilisticGTPCA(1, Shift(64)).fit(X)
    print(density.pose_posterior(X).entropy, density.score(X), labels, images.get_params())
    kinds = MixtureGTPCA(3, 1, Shift(64)).fit(X)
    print(kinds.predict(X).nbytes, kinds.kinds_["weight"].max(), kinds.encode(X).kind)
    print(GTPCAClassifier(density).fit(X, labels).predict(X).nbytes)
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
    MixtureGTPCA(3, 1).fit(X).transform(X)  # error: attr-defined
    Shift(64).bnd((128,))  # error: attr-defined


def other_kinds(model: GTPCA, X: np.ndarray, lazy: da.Array, trials: xr.DataArray) -> None:
    """Mistakes about what comes back."""
    model.transform(X).compute()  # error: attr-defined
    scores: np.ndarray = model.transform(lazy)  # error: assignment
    print(scores, model.encode(X).scores.compute())  # error: attr-defined
    print(model.reconstruct(X).dims, model.align(trials).dims)  # error: attr-defined
    codes: Codes = model.encode(lazy)  # error: assignment
    print(codes, model.decode(X))  # error: arg-type
    model.inverse_transform(model.transform(X)).compute()  # error: attr-defined
    ProbabilisticGTPCA(1).pose_posterior(X).entropy.compute()  # error: attr-defined
    print(ProbabilisticGTPCA(1).score_samples(lazy).dims)  # error: attr-defined
    model.transform(3)  # error: call-overload

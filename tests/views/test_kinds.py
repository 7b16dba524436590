"""Every drawing and the page, on every kind of X that fit takes: the same as for an array."""

from __future__ import annotations

import json
import re
from functools import cache

import numpy as np
import pytest
from helpers import QUICK, noise

from gtpca import GTPCA, ProbabilisticGTPCA, Shift, page, plots
from gtpca.plots.diagnostics import __all__ as OF_RESULTS
from gtpca.plots.events import __all__ as OF_EVENTS
from gtpca.plots.kinds import __all__ as OF_KINDS
from gtpca.plots.phase import __all__ as OF_WARPS

pyplot = pytest.importorskip("matplotlib.pyplot", reason='needs matplotlib: "gtpca[plot]"')


X = np.round(noise(30, 16), 2)
LABELS = np.arange(30) % 3


def memmap(folder):
    np.save(folder / "x.npy", X)
    return np.load(folder / "x.npy", mmap_mode="r")


def h5(folder):
    h5py = pytest.importorskip("h5py", reason="h5py datasets")
    file = h5py.File(folder / "x.h5", "w")
    return file.create_dataset("X", data=X, chunks=(7, 16))


def zarr(folder):
    module = pytest.importorskip("zarr", reason="zarr arrays")
    array = module.create_array(str(folder / "x.zarr"), shape=X.shape, dtype="f8", chunks=(7, 16))
    array[:] = X
    return array


def dask_array(folder):
    da = pytest.importorskip("dask.array", reason="Dask arrays")
    return da.from_array(X, chunks=(7, 5))


def unknown_chunks(folder):
    array = dask_array(folder).rechunk((7, 16))
    return array[array[:, 0] > -99]


def frame(folder):
    pandas = pytest.importorskip("pandas", reason="data frames")
    return pandas.DataFrame(X, columns=[f"t{j}" for j in range(16)], index=range(100, 130))


def dask_frame(folder):
    dataframe = pytest.importorskip("dask.dataframe", reason="Dask data frames")
    return dataframe.from_pandas(frame(folder), npartitions=4)


MAKERS = {
    "memmap": memmap,
    "h5py": h5,
    "zarr": zarr,
    "Dask array": dask_array,
    "Dask array of unknown chunks": unknown_chunks,
    "DataFrame": frame,
    "Dask DataFrame": dask_frame,
    "list": lambda folder: X.tolist(),
    "list of arrays": lambda folder: list(X),
    "Fortran order": lambda folder: np.asfortranarray(X),
    "float32": lambda folder: X.astype(np.float32),
}


def written(model, rows, folder):
    """The data of the page, without the names that only frames have."""
    pytest.importorskip("plotly", reason='needs plotly: "gtpca[report]"')
    pytest.importorskip("jinja2", reason='needs jinja2: "gtpca[report]"')
    text = page.write_page(model, rows, folder / "page.html", labels=LABELS).read_text("utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', text)[1])
    data["samples"].pop("names")
    return [data["energy"]["explained"], data["histograms"]["poses"][0]["bars"][0]["counts"]]


def artists(axes):
    """What is drawn: the points of all lines, bars and scatters, and those of inner Axes."""
    found = []
    for ax in np.ravel(axes):
        found += [line.get_ydata() for line in ax.lines]
        found += [np.ma.getdata(points.get_offsets()) for points in ax.collections]
        found += [[bar.get_height() for bar in ax.patches]]
        found += artists(ax.child_axes)
    return found


FUNCTIONS = {
    "page": written,
    "scores": lambda m, rows, _: artists(plots.plot_scores(m, rows, labels=LABELS, thumbnails=3)),
    "poses": lambda m, rows, _: artists(plots.plot_poses(m, rows, 1)),
    "energy": lambda m, rows, _: artists(plots.plot_energy(m, rows)),
    "reconstructions": lambda m, rows, _: artists(plots.plot_reconstructions(m, rows, rows=[4, 0])),
    "perturbation": lambda m, rows, _: artists(plots.plot_perturbation(m, rows)),
    "components": lambda m, rows, _: artists(plots.plot_components(m)),
    "history": lambda m, rows, _: artists(plots.plot_history(m)),
    "pose_posterior": lambda _, rows, __: artists(plots.plot_pose_posterior(density(), rows)),
}


@cache
def density():
    return ProbabilisticGTPCA(1, Shift(5), shrink=False, random_state=0).fit(X)


@pytest.fixture(scope="module")
def model():
    return GTPCA(2, Shift(5), solver=QUICK, random_state=0).fit(X)


@pytest.fixture(scope="module")
def expected(model, tmp_path_factory):
    """What every function makes of the array itself."""
    folder = tmp_path_factory.mktemp("array")
    return {name: function(model, X, folder) for name, function in FUNCTIONS.items()}


def test_every_public_function_is_in_the_table():
    without = {*OF_RESULTS, *OF_EVENTS, *OF_KINDS, *OF_WARPS, "plot_noise"}  # needs no samples
    of_models = {*plots.__all__} - without
    drawn = {name.removeprefix("plot_") for name in of_models} | {"page"}
    assert drawn == set(FUNCTIONS)
    assert page.__all__ == ["write_page"]


@pytest.mark.parametrize("kind", MAKERS)
def test_every_kind_of_rows_looks_like_the_array(kind, model, expected, tmp_path):
    rows = MAKERS[kind](tmp_path)
    fitted = GTPCA(2, Shift(5), solver=QUICK, random_state=0).fit(rows)
    np.testing.assert_allclose(fitted.components_, model.components_, atol=1e-4)
    for name, function in FUNCTIONS.items():
        for found, wanted in zip(function(fitted, rows, tmp_path), expected[name], strict=True):
            np.testing.assert_allclose(found, wanted, atol=2e-4, err_msg=name)
        pyplot.close("all")

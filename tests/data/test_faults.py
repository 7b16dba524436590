"""What goes wrong with large data: lost workers, bad chunks, interrupts. Nothing is mocked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from helpers import needs_callbacks

from gtpca import ALS, GTPCA, Shift
from gtpca.testing import PlantedRows, assert_same_components

OPTIONS = {"solver": ALS(n_init=2, max_iter=5), "random_state": 0}
FAMILY, SHAPE = Shift(8), (24,)


def planted(n=2205):
    return PlantedRows(FAMILY.bind(SHAPE), n, n_templates=2, dtype=np.float64)[:]


class Killer:
    """A callback that kills a worker of a cluster when the second component is being found."""

    def __init__(self, client):
        self.client, self.killed, self.components = client, None, 0

    def setup(self, estimator, context):
        pass

    teardown = setup

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.components += context.task_name == "component"
        if context.task_name == "iteration" and self.components == 1 and self.killed is None:
            self.killed = next(iter(self.client.run(os.getpid).values()))
            os.kill(self.killed, signal.SIGKILL)
        return False


@needs_callbacks
def test_a_worker_that_is_killed_does_not_change_the_result():
    distributed = pytest.importorskip("distributed", reason="needs distributed: gtpca[dask]")
    da = pytest.importorskip("dask.array", reason="needs Dask: gtpca[dask]")
    X = planted()
    whole = GTPCA(2, FAMILY, **OPTIONS).fit(X)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        for residual in ("recompute", "memory"):
            killer = Killer(client)
            model = GTPCA(2, FAMILY, residual=residual, **OPTIONS).set_callbacks(killer)
            model.fit(da.from_array(X, chunks=(600, 24)))
            assert killer.killed not in (None, *client.run(os.getpid).values())
            assert_same_components(model, whole, atol=1e-8)
            np.testing.assert_allclose(model.explained_energy_, whole.explained_energy_, rtol=1e-8)


class Broken:
    """Rows that raise an error when row 2220 is read: chunk 37 of 60 rows."""

    def __init__(self, X, error):
        self._X, self.shape, self.dtype, self.ndim, self.error = X, X.shape, X.dtype, X.ndim, error

    def __getitem__(self, part):
        rows = part[0] if isinstance(part, tuple) else part
        if (rows.start or 0) <= 2220 < rows.stop:
            raise self.error
        return self._X[part]


@pytest.mark.parametrize("lazily", [False, True])
@pytest.mark.parametrize(
    ("error", "kind"), [(OSError("gone"), OSError), (KeyError("gone"), RuntimeError)]
)
def test_a_chunk_of_dask_that_raises_is_named(error, kind, lazily):
    da = pytest.importorskip("dask.array", reason="needs Dask: gtpca[dask]")
    X = planted(3000)
    model = GTPCA(1, FAMILY, **OPTIONS)
    D = da.from_array(Broken(X, error), chunks=(60, 24))
    with pytest.raises(kind, match=r"X could not be read in chunk 37, rows 2220 to 2279: .*gone"):
        model.fit(D + 0 if lazily else D)
    assert not hasattr(model, "components_")
    assert model.fit(da.from_array(X, chunks=(60, 24))).n_components_ == 1


@pytest.mark.parametrize("kind", ["Dask array", "stream"])
def test_nan_in_chunk_37(kind):
    X = planted(3000)
    X[2225, 3] = np.nan
    model = GTPCA(1, FAMILY, batch_size=60, **OPTIONS)
    if kind == "stream":
        bad, good = Rows(X), Rows(planted(3000))
    else:
        da = pytest.importorskip("dask.array", reason="needs Dask: gtpca[dask]")
        bad, good = (da.from_array(rows, chunks=(60, 24)) for rows in (X, planted(3000)))
    with pytest.raises(ValueError, match=r"chunk 37, rows 2220 to 2279: .*NaN.* in row 2225"):
        model.fit(bad)
    assert not hasattr(model, "components_")
    model.fit(good)
    with pytest.raises(ValueError, match=r"chunk 37, rows 2220 to 2279: .*NaN.* in row 2225"):
        np.asarray(model.transform(bad))


def test_nan_in_few_rows_and_in_chunks_of_unknown_size():
    da = pytest.importorskip("dask.array", reason="needs Dask: gtpca[dask]")
    X = planted(300)
    model = GTPCA(1, FAMILY, **OPTIONS).fit(X)
    X[125, 3] = np.nan
    D = da.from_array(X, chunks=(60, 24))
    with pytest.raises(ValueError, match=r"chunk 2, rows 120 to 179: .*NaN.* in row 125"):
        model.fit(D)
    with pytest.raises(ValueError, match=r"chunk 2, rows 0 to 59 of it: .*NaN.* in row 5"):
        model.transform(D[D[:, 0] > -1e9]).compute()


class Rows:
    """Shape, dtype and slices, nothing else."""

    def __init__(self, X):
        self._X, self.shape, self.dtype = X, X.shape, X.dtype

    def __getitem__(self, part):
        return self._X[part]


INTERRUPTED = """
import os, signal, sys
import numpy as np
from gtpca import ALS, GTPCA, Shift
from gtpca.testing import PlantedRows

class Interrupt:
    def setup(self, estimator, context): pass
    def teardown(self, estimator, context): pass
    def on_fit_task_begin(self, estimator, context): pass
    def on_fit_task_end(self, estimator, context):
        components.append(context.task_name == "component")
        if context.task_name == "iteration" and sum(components) == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return False

components = []
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
source, folder = sys.argv[1:]
X = PlantedRows(Shift(8).bind((24,)), 3000, n_templates=2)
residual = "scratch"
if source == "dask":
    import dask.array as da
    X, residual = da.from_array(X, chunks=(500, 24)), "memory"
options = {"solver": ALS(n_init=2, max_iter=5), "random_state": 0, "residual": residual}
model = GTPCA(2, Shift(8), **options).set_callbacks(Interrupt())
try:
    model.fit(X)
except KeyboardInterrupt:
    print("interrupted", hasattr(model, "components_"), os.listdir(folder))
again = GTPCA(2, Shift(8), **options).fit(X)
components.append(1)
print(again.n_components_, model.fit(X).n_components_, os.listdir(folder))
"""


@needs_callbacks
@pytest.mark.parametrize("source", ["stream", "dask"])
def test_an_interrupted_fit_leaves_nothing_behind(source, tmp_path):
    if source == "dask":
        pytest.importorskip("dask.array", reason="needs Dask: gtpca[dask]")
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, source, str(tmp_path)],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["interrupted False []", "2 2 []"]
    assert not list(tmp_path.iterdir())

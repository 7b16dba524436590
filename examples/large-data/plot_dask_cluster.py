"""
A cluster that loses a worker
=============================

Rows that are spread over a cluster are passed to :meth:`~gtpca.GTPCA.fit` as a Dask array. In a
pass, the component is sent to the workers and sums come back; rows stay where they are. If a worker
is lost, Dask computes its part again, and the fit ends with the same result as without the
accident. Here a local cluster of two processes stands in for a real one.
"""

import os
import signal

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

from gtpca import ALS, GTPCA, Shift
from gtpca.testing import PlantedRows

family = Shift(window=40)
options = {"solver": ALS(n_init=4, max_iter=20), "random_state": 0}

# %%
# Rows of any number
# ------------------
# :class:`~gtpca.testing.PlantedRows` generates its rows on request, independently of each other:
# each worker generates its own. With your own data this would be ``da.from_zarr("rows.zarr")``, or
# a stack of files.

rows = PlantedRows(family.bind((200,)), n_samples=6000, n_templates=2, noise=0.2)
X = da.from_array(rows, chunks=(1000, 200))

# %%
# The accident
# ------------
# A scikit-learn callback is called for every component and every pass. This one kills a worker
# process, with the signal that cannot be caught, while the second component is being found.


class Accident:
    """Kills a worker after the first pass for the second component."""

    def __init__(self, client):
        self.client, self.components, self.killed = client, 0, None

    def setup(self, estimator, context):
        pass

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator, context):
        self.components += context.task_name == "component"
        if self.components == 1 and context.task_name == "iteration" and self.killed is None:
            self.killed = next(iter(self.client.run(os.getpid).values()))
            os.kill(self.killed, signal.SIGKILL)
        return False


# %%
# The fit
# -------
# Worker processes import the file that starts them, so a cluster is started behind this ``if``.

if __name__ == "__main__":
    size = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**size) as cluster, Client(cluster) as client:
        accident = Accident(client)
        model = GTPCA(2, family, **options).set_callbacks(accident).fit(X)
        alive = set(client.run(os.getpid).values())
        scores = model.transform(X)  # lazy: a Dask array with the chunks of X
        spread = scores.std(axis=0).compute()
    print("a worker was killed during the fit:", accident.killed not in {None, *alive})
    print("standard deviation of the scores:", spread.round(2))

    # %%
    # The same fit in memory, without any accident.

    whole = GTPCA(2, family, **options).fit(rows[:])
    gap = np.abs(model.components_ - whole.components_).max()
    print(f"largest difference to a fit in memory: {gap:.0e}")

    fig, axes = plt.subplots(1, 2, figsize=(8, 2.6), sharey=True, layout="constrained")
    for k, ax in enumerate(axes):
        ax.plot(whole.components_[k], color="#999999", linewidth=5, label="in memory")
        ax.plot(model.components_[k], color="#D55E00", label="on the cluster")
        ax.set_title(f"component {k + 1}")
    axes[0].legend(frameon=False)
    plt.show()

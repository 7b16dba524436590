"""The only boundary between the containers that users have and the rows that are fitted.

A container is recognised by the package of its class, which is never imported: whoever passes a
container has imported its library. No other part of gtpca needs to know the type of container.
"""

from __future__ import annotations

from typing import Any

from gtpca.data.containers.arrays import DataArrays, Tensors
from gtpca.data.containers.base import Container
from gtpca.data.containers.functions import Functions
from gtpca.data.containers.recordings import Recordings
from gtpca.data.containers.spikes import NoSamples
from gtpca.data.labels import Labelled, Labels

__all__ = ["Container", "components_in", "open_container", "samples_in"]

KINDS: dict[str, Any] = {
    "xarray": DataArrays,
    "mne": Recordings,
    "skfda": Functions,
    "spikeinterface": NoSamples,
    "torch": Tensors,
}


def open_container(X, sample_dim=None, labels: Labels | None = None) -> Container | None:
    """The container of ``X``; None for an array, a frame, or anything else that is just rows.

    Parameters
    ----------
    X : object
    sample_dim : str or None
        Which axis of a container with names holds the samples.
    labels : Labels or None
        Labels of a fitted model, with which those of ``X`` must agree.
    """
    rows, wanted = (X.rows, X.labels) if isinstance(X, Labelled) else (X, labels)
    kind = _kind(rows)
    if kind is not None:
        found = kind(rows, sample_dim, wanted)
    else:
        found = Container(rows, wanted) if isinstance(X, Labelled) else None
    if found is not None and labels is not None and found.labels is not None:
        labels.check_same(found.labels)
    return found


def _kind(X):
    """The class for the package of ``X``, or of the elements of a list."""
    listed = isinstance(X, (list, tuple)) and len(X) > 0
    packages = (cls.__module__.partition(".")[0] for cls in type(X[0] if listed else X).__mro__)
    kind = next((KINDS[name] for name in packages if name in KINDS), None)
    return kind if kind is None or kind.takes_lists or not listed else None


def samples_in(container: Container | None, values, grid) -> Any:
    """Samples (n, \\*grid) in a container; unchanged if there is none."""
    return values if container is None else container.samples(values, grid)


def components_in(labels: Labels | None, values, grid) -> Any:
    """Components (k, \\*grid) in the type of container that held the samples of the fit."""
    kind = Container if labels is None else KINDS.get(labels.kind, Container)
    return kind.components(values, grid, labels)

"""Simulated signals, random poses, and verified downloads.

The loaders read files below ``data_home``: the argument, else the environment variable
``GTPCA_DATA``, else the user's cache folder. A missing file is downloaded from its public source,
and an interrupted download is continued by the next call. Checksums are verified in both cases, if
there are any, and an existing file is never overwritten.
"""

from typing import TYPE_CHECKING

from gtpca.optional import attributes

if TYPE_CHECKING:
    from gtpca.datasets.errp import fetch_errp
    from gtpca.datasets.files import DatasetError
    from gtpca.datasets.generators import make_oscillations, make_spikes, simulate_errp
    from gtpca.datasets.loaders import (
        fetch_curves,
        fetch_ecg,
        fetch_eeg,
        fetch_handwriting,
        fetch_mnist,
        fetch_neurons,
    )
    from gtpca.datasets.poses import (
        event_windows,
        random_crop,
        random_embedding,
        random_rotation,
        sliding_windows,
    )

__all__ = [
    "DatasetError",
    "event_windows",
    "fetch_curves",
    "fetch_ecg",
    "fetch_eeg",
    "fetch_errp",
    "fetch_handwriting",
    "fetch_mnist",
    "fetch_neurons",
    "make_oscillations",
    "make_spikes",
    "random_crop",
    "random_embedding",
    "random_rotation",
    "simulate_errp",
    "sliding_windows",
]

HOMES = dict.fromkeys(__all__, "gtpca.datasets.poses") | {
    "DatasetError": "gtpca.datasets.files",
    "fetch_curves": "gtpca.datasets.loaders",
    "fetch_ecg": "gtpca.datasets.loaders",
    "fetch_eeg": "gtpca.datasets.loaders",
    "fetch_errp": "gtpca.datasets.errp",
    "fetch_handwriting": "gtpca.datasets.loaders",
    "fetch_mnist": "gtpca.datasets.loaders",
    "fetch_neurons": "gtpca.datasets.loaders",
    "make_oscillations": "gtpca.datasets.generators",
    "make_spikes": "gtpca.datasets.generators",
    "simulate_errp": "gtpca.datasets.generators",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = attributes(__name__, HOMES)

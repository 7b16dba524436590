"""Locations of data files: below ``data_home``, or at a public source; verified in both cases."""

from __future__ import annotations

import os
import sys
from http.client import HTTPException
from pathlib import Path

from gtpca.datasets.downloads import digest, download

_CRAN = "https://raw.githubusercontent.com/cran"  # the read-only mirror of CRAN on GitHub
_FDA = f"{_CRAN}/fda/094f160ddcc40dc2f112cc652124d3e2d08c2831/data"  # 5.1.4
_NEURONS = "https://raw.githubusercontent.com/ahwillia/affinewarp"
ADDRESSES = {
    "mnist": (
        "https://ossci-datasets.s3.amazonaws.com/mnist",
        "https://storage.googleapis.com/cvdf-datasets/mnist",
    ),
    "handwriting": (_FDA,),
    "curves": (_FDA,),
    "eeg": (f"{_CRAN}/eegkitdata/62a293d9cfa2332e2d41a240ba5ca32b9dfaad5e/data",),  # 1.1
    "ecg": ("https://physionet.org/files/mitdb/1.0.0",),
    "neurons": (f"{_NEURONS}/d8782cf4440b01347103a0ee0cdc668313919809/examples/rat_motor_cortex",),
    "errp": ("https://lampx.tugraz.at/~bci/database/013-2015",),
}
# None is published for errp; headers of ecg contain comments, which may change. Releases of fda may
# compress the same curves differently: their loader checks what it reads.
CHECKSUMS = {
    "mnist/train-images-idx3-ubyte.gz": "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "mnist/train-labels-idx1-ubyte.gz": "md5:d53e105ee54ea40749a09fcbcd1e9432",
    "mnist/t10k-images-idx3-ubyte.gz": "md5:9fb629c4189551a2d022fa330f9573f3",
    "mnist/t10k-labels-idx1-ubyte.gz": "md5:ec29112dd5afa0611ce80d1b7f02629c",
    "handwriting/handwrit.rda": (
        "sha256:8a17c79a2439f2aa28f6bc068c0424bc87119a606ab1938f009cbfa2b090c578"
    ),
    "ecg/100.dat": "sha256:b2ea3c250e56e48f4b7b90697832b8ecd1afa1e0bb31f2dcfea4ed6e1075a639",
    "ecg/100.atr": "sha256:8d8a5349fb16638ebbf649f1779d12e96d91b736b2aafe59db43719ae583d471",
    "ecg/119.dat": "sha256:02a286a28e69b441568add915f16a2856b22bab893bf8729ee9654411ed3a5aa",
    "ecg/119.atr": "sha256:fd919c8ea20eed4a22fb37984977f30ce48d382eefd2d90934bf947a88e0fd7b",
    "neurons/motor_ctx_data.npz": (
        "sha256:8c127bd4070c4810088ba5d0ece11ed9f4bb58c044952b90c9911ac69d467551"
    ),
    "eeg/eegdata.rda": "sha256:dc80860c80b461279e139e6acfa478028eebb997b80756a28e290cfc31f083f9",
}
LEFT_THERE = "It was left as it is: move it away to download it again, or pass another data_home."


class DatasetError(OSError):
    """A data file is missing and cannot be downloaded, or is not what it should be."""


def place(name: str, data_home=None) -> Path:
    """Where a file is, or would be stored."""
    home = data_home or os.environ.get("GTPCA_DATA") or _cache_folder()
    return Path(home).expanduser() / name


def locate(name: str, data_home) -> Path:
    """Path of a verified file below ``data_home``, downloaded if it does not exist."""
    path = place(name, data_home)
    if not path.exists():
        _download(name, path)
    if name in CHECKSUMS:
        _verify(path, *CHECKSUMS[name].split(":"))
    return path


def _verify(path: Path, algorithm: str, expected: str) -> None:
    found = digest(path, algorithm)
    if found != expected:
        raise DatasetError(f"{path} has {algorithm} {found}, expected {expected}. {LEFT_THERE}")


def _cache_folder() -> Path:
    """Where the system keeps files that an application can fetch again."""
    if sys.platform == "win32":
        caches = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        caches = "~/Library/Caches"
    else:
        caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(caches) / "gtpca"


def _download(name: str, path: Path) -> None:
    """Fetch from the first address that provides the whole file."""
    failures = []
    for address in ADDRESSES[path.parent.name]:
        url = f"{address}/{path.name}"
        try:
            download(url, path, CHECKSUMS.get(name))
            return
        except (OSError, ValueError, HTTPException) as error:
            failures.append(f"  {url} ({str(error)[:200]})\n")
    raise DatasetError(
        f"{path.name} is not at {path} and could not be downloaded from\n{''.join(failures)}"
        f"Fetch it by hand and put it there, or point data_home or the environment variable "
        f"GTPCA_DATA to a folder that holds {name}."
    )

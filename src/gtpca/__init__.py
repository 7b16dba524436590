"""GT-PCA: principal components that may move to fit every sample."""

from importlib import import_module
from typing import Any

from gtpca.data.chunks import Codes
from gtpca.data.labels import labelled
from gtpca.data.series import pad
from gtpca.estimator import GTPCA
from gtpca.families import (
    Affine,
    Compose,
    Custom,
    Deformation,
    Family,
    Identity,
    Reflection,
    Rotation,
    Scaling,
    Shift,
    TimeWarp,
)
from gtpca.operators import Operator, quadrature
from gtpca.persistence.models import load
from gtpca.solvers.als import ALS

__version__ = "0.1.0.dev0"

__all__ = [
    "ALS",
    "GTPCA",
    "Affine",
    "Codes",
    "Compose",
    "Custom",
    "Deformation",
    "Family",
    "Identity",
    "Operator",
    "Reflection",
    "Rotation",
    "Scaling",
    "Shift",
    "TimeWarp",
    "labelled",
    "load",
    "pad",
    "quadrature",
]

# Imported when first asked for, as gtpca.plots: some of them need optional packages.
SUBMODULES = ("datasets", "experiments", "nn", "page", "plots", "readers", "testing")


def __getattr__(name: str) -> Any:
    if name in SUBMODULES:
        return import_module(f"gtpca.{name}")
    raise AttributeError(f"module 'gtpca' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *SUBMODULES})

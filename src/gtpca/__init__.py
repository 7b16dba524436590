"""GT-PCA: principal components that may move to fit every sample."""

from typing import TYPE_CHECKING

from gtpca.optional import attributes

if TYPE_CHECKING:
    from gtpca import datasets as datasets
    from gtpca import families as families
    from gtpca import nn as nn
    from gtpca import operators as operators
    from gtpca import page as page
    from gtpca import persistence as persistence
    from gtpca import plots as plots
    from gtpca import readers as readers
    from gtpca import solvers as solvers
    from gtpca import testing as testing
    from gtpca.classifier import GTPCAClassifier
    from gtpca.data.codes import Codes
    from gtpca.data.labels import labelled
    from gtpca.data.series import pad
    from gtpca.estimator import GTPCA
    from gtpca.families import (
        Affine,
        Compose,
        Custom,
        Deformation,
        Family,
        FreeWarp,
        Identity,
        Reflection,
        Rotation,
        Scaling,
        Shift,
        Similarity,
        TimeWarp,
    )
    from gtpca.mixture import MixtureGTPCA
    from gtpca.model.events import Events
    from gtpca.operators import Operator
    from gtpca.operators.quadrature import quadrature
    from gtpca.persistence.models import load
    from gtpca.probabilistic import PosePosterior, ProbabilisticGTPCA
    from gtpca.recordings import EventGTPCA
    from gtpca.solvers.als import ALS

__version__ = "0.1.0"

__all__ = [
    "ALS",
    "GTPCA",
    "Affine",
    "Codes",
    "Compose",
    "Custom",
    "Deformation",
    "EventGTPCA",
    "Events",
    "Family",
    "FreeWarp",
    "GTPCAClassifier",
    "Identity",
    "MixtureGTPCA",
    "Operator",
    "PosePosterior",
    "ProbabilisticGTPCA",
    "Reflection",
    "Rotation",
    "Scaling",
    "Shift",
    "Similarity",
    "TimeWarp",
    "labelled",
    "load",
    "pad",
    "quadrature",
]

# Everything is imported on first use: NumPy, SciPy and scikit-learn take about a second. Where the
# names come from: families, unless stated otherwise.
HOMES = dict.fromkeys(__all__, "gtpca.families") | {
    "ALS": "gtpca.solvers.als",
    "Codes": "gtpca.data.codes",
    "EventGTPCA": "gtpca.recordings",
    "Events": "gtpca.model.events",
    "GTPCA": "gtpca.estimator",
    "GTPCAClassifier": "gtpca.classifier",
    "MixtureGTPCA": "gtpca.mixture",
    "Operator": "gtpca.operators",
    "PosePosterior": "gtpca.probabilistic",
    "ProbabilisticGTPCA": "gtpca.probabilistic",
    "labelled": "gtpca.data.labels",
    "load": "gtpca.persistence.models",
    "pad": "gtpca.data.series",
    "quadrature": "gtpca.operators.quadrature",
}
SUBMODULES = (
    "checks",
    "classifier",
    "data",
    "datasets",
    "estimator",
    "export",
    "families",
    "files",
    "fitting",
    "mixture",
    "model",
    "nn",
    "operators",
    "optional",
    "page",
    "persistence",
    "plots",
    "probabilistic",
    "readers",
    "recordings",
    "solvers",
    "testing",
    "text",
    "views",
)

if not TYPE_CHECKING:  # for type checkers, an unknown name is an error
    __getattr__, __dir__ = attributes(__name__, HOMES, SUBMODULES)

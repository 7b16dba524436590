"""Finding components: alternating least squares, and principal components directly."""

from gtpca.solvers.als import ALS
from gtpca.solvers.base import SolverResult

__all__ = ["ALS", "SolverResult"]

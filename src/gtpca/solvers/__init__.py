"""Finding components: alternating least squares, and principal components directly."""

from gtpca.solvers.als import ALS
from gtpca.solvers.base import Problem, SolverResult

__all__ = ["ALS", "Problem", "SolverResult"]

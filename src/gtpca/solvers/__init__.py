"""Solvers: alternating least squares, and PCA in closed form."""

from gtpca.solvers.als import ALS
from gtpca.solvers.base import Problem, SolverResult

__all__ = ["ALS", "Problem", "SolverResult"]

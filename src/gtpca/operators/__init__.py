"""Operators: all transforms of a family on one grid, as linear maps."""

from gtpca.operators.bank import BankOperator
from gtpca.operators.base import Operator
from gtpca.operators.composed import ComposedOperator
from gtpca.operators.quadrature import quadrature
from gtpca.operators.shift import ShiftOperator

__all__ = [
    "BankOperator",
    "ComposedOperator",
    "Operator",
    "ShiftOperator",
    "quadrature",
]

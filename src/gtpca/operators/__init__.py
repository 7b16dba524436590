"""A family on a grid: all of its transforms as one linear operator."""

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

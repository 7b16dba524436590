"""The common domain: samples are judged where every transform of a family shows something.

A transform that turns corners out of an image, or shrinks it, leaves points uncovered that others
cover. Where the background is not zero, poses that cover more would explain more, whatever they
show. So samples count only on the points that all transforms cover, the *domain*.

At its edge, interpolation reads weights beyond it by small shares only. These hardly count in what
is shown and would be fitted to noise, so they are tied: whoever reads them gets the value of the
nearest weight that is read well.
"""

from __future__ import annotations

import numpy as np

from gtpca.families.base import Family
from gtpca.operators.grid import shape_text
from gtpca.text import shortened

__all__ = ["on_common_domain"]

COVERED = 1 - 1e-9  # of what a point reads lies on the grid, up to rounding
WELL_READ = 0.2  # of the largest sum of squared shares by which a transform reads a weight


def on_common_domain(family: Family, operators: list) -> list:
    """Operators ``T = T_1 .. T_q``, the first acting last, that judge samples on one domain.

    With ``c = T 1``, how much of what a point reads lies on the grid, it holds the points with
    ``c_t = 1`` for all transforms ``t``. The first operator is restricted to it; the last has the
    weights that nothing reads well tied to their neighbours.

    Parameters
    ----------
    family : Family
        Whose operators they are, for messages.
    operators : list of BankOperator
        Of families whose transforms cover all that they are meant to show, but for the grid's ends.

    Returns
    -------
    list of BankOperator
        The same where every transform covers all points.

    Raises
    ------
    ValueError
        If no point is covered by all.
    """
    domain = np.ones(operators[-1].n_weights, dtype=bool)
    for operator in reversed(operators):
        domain = np.all(operator.apply(domain.astype(np.float64)) >= COVERED, axis=0)
    if domain.all():
        return operators
    if not domain.any():
        raise ValueError(
            f"{shortened(repr(family), 80)}: no point of samples of shape "
            f"{shape_text(operators[0].grid)} is shown by every transform; use a smaller range of "
            "transforms, or domain='all' where the background is zero."
        )
    read = domain
    for operator in operators:
        shares = operator.largest_shares(read)
        read = shares >= WELL_READ * shares.max()
    if len(operators) == 1:
        return [operators[0].judged(domain, read)]
    return [operators[0].judged(domain), *operators[1:-1], operators[-1].judged(read=read)]

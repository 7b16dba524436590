"""The common domain: samples are compared only where every transform of a family is defined.

A transform that rotates corners out of an image, or shrinks it, leaves points uncovered that
others cover. If the background is not zero, poses that cover more would explain more, whatever
they show. So samples count only on the points that all transforms cover, the *domain*.

At its edge, interpolation reads weights beyond it with small shares only. These hardly count in
the result and would be fitted to noise, so they are tied: reading one of them gives the value of
the nearest weight that is read well.
"""

from __future__ import annotations

import numpy as np

from gtpca.families.base import Family
from gtpca.operators.grid import shape_text
from gtpca.text import shortened

__all__ = ["covered", "on_common_domain"]

COVERED = 1 - 1e-9  # share of what a point reads that lies on the grid, up to rounding
BETWEEN = 8  # poses from one node to the next at which coverage is tried
WELL_READ = 0.2  # of the largest sum of squared shares with which a transform reads a weight


def covered(continuous, n_weights: int) -> np.ndarray:
    """The points that transforms at all poses of one parameter cover, bool (d,)."""
    poses, steps = np.unique(continuous.nodes[:, 0]), np.arange(BETWEEN) / BETWEEN
    every = continuous.axes[0].within((poses[:, None] + steps * continuous.steps[0]).ravel())
    shown = continuous.apply(np.ones(n_weights), np.unique(every)[:, None])
    return np.all(shown >= COVERED, axis=0)


def on_common_domain(family: Family, operators: list, within: np.ndarray | None = None) -> list:
    """Operators ``T = T_1 .. T_q``, the first acting last, that compare samples on one domain.

    ``c = T 1`` is the share of what a point reads that lies on the grid. The domain consists of the
    points with ``c_t = 1`` for all transforms ``t``. The first operator is restricted to it; in the
    last, weights that nothing reads well are tied to their neighbours.

    Parameters
    ----------
    family : Family
        The family of the operators, for messages.
    operators : list of BankOperator
        Of families whose transforms cover everything except beyond the ends of the grid.
    within : bool array (d,) or None
        Points that transforms between those of the operators cover too.

    Returns
    -------
    list of BankOperator
        Unchanged if every transform covers all points.

    Raises
    ------
    ValueError
        If no point is covered by all.
    """
    domain = np.ones(operators[-1].n_weights, dtype=bool)
    for operator in reversed(operators):
        domain = np.all(operator.apply(domain.astype(np.float64)) >= COVERED, axis=0)
    domain = domain if within is None else domain & within
    if domain.all():
        return operators
    if not domain.any():
        raise ValueError(
            f"{shortened(repr(family), 80)}: no point of samples of shape "
            f"{shape_text(operators[0].grid)} is covered by every transform; use a smaller range "
            "of transforms, or domain='all' if the background is zero."
        )
    read = domain
    for operator in operators:
        shares = operator.largest_shares(read)
        read = shares >= WELL_READ * shares.max()
    if len(operators) == 1:
        return [operators[0].judged(domain, read)]
    return [operators[0].judged(domain), *operators[1:-1], operators[-1].judged(read=read)]

"""Reasons to distrust a fit: dominant offsets, poses that accumulate, coloured residuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gtpca.fitting import wording
from gtpca.operators.poses import is_still

__all__ = [
    "MOST_OFFSET",
    "Pile",
    "cautions",
    "colour_cautions",
    "find_piles",
    "has_ends",
    "loud_cautions",
    "piles_of",
    "scale_of",
]

MOST_OFFSET = 0.5  # share of the energy in the means of samples
MOST = {"right angles": 0.5, "ends": 0.3, "one": 0.6}  # shares of the samples,
TIMES = 2.0  # which must be so many times what chance gives,
ERRORS = 4.0  # and so many standard errors above it
FEW_VALUES = 4  # quantities with fewer values are left alone
MANY_TRANSFORMS = 2**20  # and so are larger families
MOST_LOUD = 0.1  # share of the energy by which loud samples exceed the others
COLOURED = 0.5  # correlation of neighbours from which on noise is said not to be white
NEGATIVE = -0.2  # where it is negative, whitening gains from there on
MOSTLY_NOISE = 0.5  # share of the energy that is left, from which on it counts as noise


@dataclass(frozen=True)
class Pile:
    """Poses that many more samples take than expected by chance.

    Attributes
    ----------
    kind : {"right angles", "ends", "one"}
    name : str
        The quantity, such as "degrees".
    values : tuple
        The values at which they are.
    component : int
        Counted from 0.
    share, chance : float
        Shares of the samples, and of the possible values.
    """

    kind: str
    name: str
    values: tuple
    component: int
    share: float
    chance: float


def cautions(operator, offset: float, taken: list, center=None) -> tuple[str, ...]:
    """All warnings about a fit, as sentences.

    Parameters
    ----------
    operator : Operator
    offset : float
        Share of the energy in the means of samples.
    taken : list of (int array, int array)
        As for :func:`find_piles`, for each component, or for all if they share poses.
    center : bool or None
        Whether the mean sample was subtracted; None if a model cannot do that.
    """
    if is_still(operator):
        return ()
    said = [wording.offset(offset, center)] if offset > MOST_OFFSET else []
    piles = find_piles(operator, taken)
    return (*said, *(wording.pile(pile, operator) for pile in piles[:1]))


def loud_cautions(share: float) -> tuple[str, ...]:
    """The warning if loud rows exceed the others by a share of the energy: a sentence or none."""
    return (wording.loud(share),) if share > MOST_LOUD else ()


def colour_cautions(correlation: float | None, share: float, count: int) -> tuple[str, ...]:
    """The warning if noise was assumed to be white but is not: one sentence or none.

    Parameters
    ----------
    correlation : float or None
        Correlation of neighbours in the residual; None if it is not known.
    share : float
        Share of the energy in the residual.
    count : int
        Number of values: a correlation has a standard error of ``1 / sqrt(count)``.
    """
    if correlation is None or share < MOSTLY_NOISE:
        return ()
    room = ERRORS / np.sqrt(max(count, 1))
    if NEGATIVE - room < correlation < COLOURED + room:
        return ()
    bar = COLOURED if correlation > 0 else NEGATIVE
    return (wording.coloured_residual(correlation, share, bar),)


def find_piles(operator, taken) -> list[Pile]:
    """Where poses accumulate, the largest share first.

    Parameters
    ----------
    operator : Operator
    taken : list of (int array, int array)
        For each component, the transforms that samples take, and how many take each.
    """
    if operator.n_transforms > MANY_TRANSFORMS:
        return []
    possible, found = operator.describe(np.arange(operator.n_transforms)), []
    for component, (used, counts) in enumerate(taken):
        here = operator.describe(used)
        for name, values in possible.items():
            found += piles_of(operator, name, np.asarray(values), here[name], counts, component)
    return sorted(found, key=lambda pile: -pile.share)


def piles_of(operator, name, possible, taken, counts=None, component=0) -> list[Pile]:
    """Where one quantity of the poses of one component accumulates.

    Parameters
    ----------
    operator : Operator
    name : str
        The quantity.
    possible : array (m,)
        The values that it can have.
    taken : array (u,)
        Those that samples have.
    counts : int array (u,) or None
        How many samples have each of them; None: one.
    component : int
        Counted from 0.
    """
    counts, found = np.ones(len(taken), int) if counts is None else counts, []
    for kind, where in _sets(operator, name, possible, taken, counts):
        if kind == "ends" and component > 0:
            continue  # the residual of the first is largest there
        share = counts[np.isin(taken, where)].sum() / max(counts.sum(), 1)
        chance = float(np.isin(possible, where).mean())
        pile = Pile(kind, name, tuple(where), component, float(share), chance)
        found += [pile] if _piled(pile, counts.sum()) else []
    return found


def scale_of(values) -> np.ndarray | None:
    """The values that a quantity can have, ascending; None if it is no number, or has few."""
    values = np.asarray(values)
    distinct = np.unique(values)
    return distinct if values.dtype.kind in "iuf" and len(distinct) >= FEW_VALUES else None


def has_ends(operator, name) -> bool:
    """Whether a quantity has a first and a last value: it neither goes round nor only numbers."""
    axis = operator.pose_space.named[name]
    return axis.period is None and axis.ordered


def _sets(operator, name, values, taken, counts):
    """The sets of values at which a quantity may pile up, each with its name."""
    distinct = scale_of(values)
    if distinct is None or not len(taken):
        return
    right = distinct[distinct % 90 == 0]
    if operator.pose_space.named[name].angle:
        if len(right):
            yield "right angles", right
    elif has_ends(operator, name):
        yield "ends", distinct[[0, -1]]
    places, number = np.unique(taken, return_inverse=True)
    yield "one", places[[np.bincount(number, counts).argmax()]]


def _piled(pile, count):
    """Whether a share of ``count`` samples is large, and far beyond chance."""
    p = pile.chance
    far = pile.share - p > ERRORS * np.sqrt(p * (1 - p) / max(count, 1))
    return bool(far and pile.share > max(MOST[pile.kind], TIMES * p))

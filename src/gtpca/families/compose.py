"""Every combination of transforms of several families."""

from __future__ import annotations

from functools import reduce
from itertools import groupby
from typing import Any

from gtpca._typing import Shape
from gtpca.families.base import Family, Size, everywhere
from gtpca.families.domains import on_common_domain
from gtpca.families.free_warp import FreeWarp
from gtpca.operators import Operator
from gtpca.operators.composed import composed

__all__ = ["Compose"]


class Compose(Family):
    """Every combination of transforms of several families: ``T_outer T_inner ..``.

    The outermost family acts last, on the sample; each inner one is bound to the weight shape of
    the one around it. Put a Shift first: it uses the FFT, once per combination of the others. The
    poses are those of all parts; a name that occurs twice gets the prefix ``inner_``.

    Inside a Shift, the common domain of a family (``domain="common"``) belongs to the window and
    moves with it: a disc for rotations. The rest of the sample is not explained, and its energy
    counts. Adjacent families with such a domain share one: where all their combinations are
    defined.

    Parameters
    ----------
    outer, inner : Family
    inner2, inner3 : Family or None

    Examples
    --------
    >>> from gtpca import Compose, Reflection, Rotation, Shift
    >>> Compose(Shift((8, 8)), Rotation(4), Reflection(axes=0)).bind((10, 10)).n_transforms
    72
    """

    def __init__(
        self,
        outer: Family | str,
        inner: Family | str,
        inner2: Family | str | None = None,
        inner3: Family | str | None = None,
    ):
        self.outer = outer
        self.inner = inner
        self.inner2 = inner2
        self.inner3 = inner3

    def __repr__(self, N_CHAR_MAX=700):
        return f"Compose({', '.join(map(repr, self.parts))})"

    @property
    def parts(self) -> list[Any]:
        """The families that are given, outermost first."""
        given = (self.outer, self.inner, self.inner2, self.inner3)
        return [part for part in given if part is not None]

    @property
    def hint_if_large(self) -> str:  # type: ignore[override]
        """Which parameters of the parts reduce the number of transforms."""
        hints = [getattr(part, "hint_if_large", "") for part in self.parts]
        return " ".join(dict.fromkeys(hint for hint in hints if hint))

    def bind(self, sample_shape: Shape) -> Operator:
        """The composed operator for samples of ``sample_shape``."""
        return reduce(composed, self._bound_parts(sample_shape))

    def _bound_parts(self, shape):
        """The operators of all parts; adjacent ones with a common domain share it."""
        for common, run in groupby(self._checked_parts(), key=lambda part: part.domain == "common"):
            operators = []
            for family in run:
                operators.append((everywhere(family) if common else family).bind(shape))
                shape = operators[-1].weight_grid
            yield from on_common_domain(self, operators) if common else operators

    def size(self, sample_shape: Shape) -> Size:
        """The outer families are processed once per transform of the inner ones."""
        outermost, *others = self._checked_parts()
        outer = outermost.size(sample_shape)
        for family in others:
            inner = family.size(outer.weight_shape)
            n_values = inner.n_values + inner.n_transforms * outer.n_values
            n_transforms = inner.n_transforms * outer.n_transforms
            outer = Size(n_transforms, inner.weight_shape, n_values)
        return outer

    def check_repeatable(self) -> None:
        """All parts must be repeatable."""
        for family in self._checked_parts():
            family.check_repeatable()

    def _checked_parts(self):
        for family in self.parts or [None]:
            if not isinstance(family, Family):
                raise TypeError(
                    f"Compose: {family!r} is not a family such as Shift() or Rotation()."
                )
            if isinstance(family, FreeWarp):
                raise ValueError(
                    f"Compose: {family!r} has no list of transforms that could be combined with "
                    "others; FreeWarp(ends='free') includes shifts of time."
                )
            if getattr(family, "refine_poses", False) is True:
                raise ValueError(
                    f"Compose: {family!r} cannot refine poses as a part of others; leave out "
                    "refine_poses, or use Similarity() for images that are turned, scaled and "
                    "shifted."
                )
        return self.parts

"""The colours of the whole package, and the values that they stand for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Scale", "for_page"]

# Okabe and Ito's colours, which can be distinguished with every kind of colour vision.
BLACK, GREY = "#000000", "#999999"
ORANGE, SKY, GREEN = "#E69F00", "#56B4E9", "#009E73"
BLUE, RED, PINK = "#0072B2", "#D55E00", "#CC79A7"

PREDICTED = PINK  # predictions for unobserved values

# Eight markers for seven colours: 56 pairs, and neighbours differ in both. More colours could not
# be distinguished. SYMBOLS are plotly's names of the same markers.
CYCLE = (BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK)
MARKERS = ("o", "^", "s", "v", "D", "P", "X", "*")
SYMBOLS = (
    "circle",
    "triangle-up",
    "square",
    "triangle-down",
    "diamond",
    "cross",
    "x",
    "star",
)

# ColorBrewer's PuOr, from the lowest to the highest value: zero is white.
SIGNED = (
    "#7f3b08",
    "#b35806",
    "#e08214",
    "#fdb863",
    "#fee0b6",
    "#f7f7f7",
    "#d8daeb",
    "#b2abd2",
    "#8073ac",
    "#542788",
    "#2d004b",
)
NEGATIVE, POSITIVE = "orange", "purple"  # the two sides of SIGNED in words
UNSIGNED = ("#000000", "#ffffff")  # as in photographs
LEVELS = "cividis"  # matplotlib's name: counts, and labels with an order
# The same for the page: nine of its colours, from low to high.
QUANTITY = (
    "#00224e",
    "#1a386f",
    "#434e6c",
    "#61656f",
    "#7d7c78",
    "#9b9476",
    "#bcae6c",
    "#deca57",
    "#fee838",
)

# Text and lines of the page.
INK, SOFT, LINK = "#1b1b1b", "#5c5c5c", "#00578a"
EDGE, LINE, GRID, PALE = "#8a8a8a", "#d9d9d9", "#ececec", "#f6f6f4"


@dataclass(frozen=True)
class Scale:
    """Which colours stand for which values.

    Attributes
    ----------
    low, high : float
        The values at both ends of the colours; ``low = -high`` if signed.
    signed : bool
        SIGNED, with zero in the middle; otherwise UNSIGNED. Of three colours, each is dark at
        ``low`` and light at ``high``: zero is grey if signed.
    """

    low: float
    high: float
    signed: bool

    @classmethod
    def of(cls, values, signed=None):
        """The scale for ``values``; signed if there are negative ones, unless stated otherwise.

        An unsigned scale begins at the smallest value, or at zero if that is negative. Unobserved
        values (NaN) do not count.
        """
        low, high = (float(end(values, axis=None)) for end in (np.fmin.reduce, np.fmax.reduce))
        low, high = (0.0, 0.0) if np.isnan(low) else (low, high)
        if (low < 0) if signed is None else signed:
            return cls.around_zero(max(-low, high))
        low = max(low, 0.0)
        return cls(low, high, False) if high > low else cls(0.0, high if high > 0 else 1.0, False)

    @classmethod
    def around_zero(cls, limit):
        """From ``-limit`` to ``limit``, signed."""
        limit = float(limit) or 1.0
        return cls(-limit, limit, True)

    @property
    def residual(self):
        """The scale of differences of such values: signed, and equally wide in both directions."""
        return self if self.signed else self.around_zero(self.high - self.low)

    def shares(self, values):
        """The positions of values on the scale, between 0 and 1."""
        return np.clip((values - self.low) / (self.high - self.low), 0, 1)


def for_page() -> dict:
    """The colours that the scripts and the style sheet of the page use, by name."""
    hues = {"blue": BLUE, "red": RED, "orange": ORANGE, "grey": GREY, "predicted": PREDICTED}
    text = {"ink": INK, "soft": SOFT, "link": LINK}
    lines = {"edge": EDGE, "line": LINE, "grid": GRID, "pale": PALE}
    lists = {"cycle": CYCLE, "symbols": SYMBOLS, "signed": SIGNED, "unsigned": UNSIGNED}
    lists["quantity"] = QUANTITY
    return hues | text | lines | {name: list(values) for name, values in lists.items()}

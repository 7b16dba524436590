"""Text for messages."""

from __future__ import annotations

from difflib import get_close_matches

__all__ = ["did_you_mean", "one_line", "shortened", "shown", "table"]


def did_you_mean(word: str, known) -> str:
    """A question that names what may have been meant, after a space; nothing if nothing is near.

    Examples
    --------
    >>> from gtpca.text import did_you_mean
    >>> did_you_mean("shfit", ["shift", "rotation"]), did_you_mean("x", ["shift"])
    (' Did you mean shift?', '')
    """
    found = get_close_matches(word, known, 2)
    return f" Did you mean {' or '.join(found)}?" if found else ""


def one_line(error) -> str:
    r"""The message of an error in one line of moderate length; without one, its type.

    Examples
    --------
    >>> from gtpca.text import one_line
    >>> one_line(ValueError("two\n  lines")), one_line(MemoryError())
    ('two lines', 'MemoryError')
    """
    return shortened(" ".join(str(error).split()) or type(error).__name__, 300)


def shortened(text: str, longest: int) -> str:
    """``text``, cut to ``longest`` characters with three dots at the end if it has more.

    Examples
    --------
    >>> from gtpca.text import shortened
    >>> shortened("abcdef", 6), shortened("abcdef", 5)
    ('abcdef', 'ab...')
    """
    return text if len(text) <= longest else text[: longest - 3] + "..."


def shown(path) -> str:
    r"""A path, or a name, as text of one line; what cannot be printed is escaped.

    Examples
    --------
    >>> from gtpca.text import shown
    >>> shown("grün.csv"), shown("two\nlines.csv")
    ('grün.csv', 'two\\nlines.csv')
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(path))


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Columns of text, adjusted to the right.

    Examples
    --------
    >>> from gtpca.text import table
    >>> print(table(["k", "energy"], [["1", "2 %"]]))
    k  energy
    1     2 %
    """
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in [heads, *rows]
    )

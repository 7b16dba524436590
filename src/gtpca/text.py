"""Text for messages."""

from __future__ import annotations

__all__ = ["one_line", "shortened"]


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

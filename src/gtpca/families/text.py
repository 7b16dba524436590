"""Families as text, such as ``shift(window=64)``, read without executing any of it.

The text is parsed by :mod:`ast`, and only calls of families with plain values are accepted.
"""

from __future__ import annotations

import ast
import inspect
import re
import warnings
from typing import Any

import numpy as np

from gtpca.families import FAMILIES, Compose, Family, Identity
from gtpca.text import did_you_mean, shortened

__all__ = ["as_family", "format_family", "parse_family"]

CLASSES = {cls.__name__.lower(): cls for cls in FAMILIES}
NAMES = ", ".join(CLASSES)
QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
LENGTH = re.compile(rf"{QUOTED}|(?<![\w.])((?:\d+\.?\d*|\.\d+)[nuµmck]?(?:s|m|Hz))\b(?!\()")  # 0.3s
MOST_CHARACTERS, DEEPEST, LARGEST = 20_000, 12, 10_000_000


def as_family(family) -> Family:
    """What ``GTPCA(family=..)`` accepts, as a family: also text, and None for ``Identity()``.

    Examples
    --------
    >>> from gtpca.families.text import as_family
    >>> as_family("shift(64)")
    Shift(window=64)
    """
    if isinstance(family, str):
        return parse_family(family)
    family = Identity() if family is None else family
    if not isinstance(family, Family):
        raise TypeError(f"family={family!r} is not a family; use Shift(), Rotation(), .. or None.")
    return family


def parse_family(text: str) -> Family:
    """The family that ``text`` names.

    The text is written as in Python, in lower case or in CamelCase; without arguments the brackets
    may be left out. Arguments are numbers, lengths such as ``0.3s``, text in quotes, None, True,
    False, tuples or lists of these; those of ``compose`` are families. No part of the text is
    executed.

    Parameters
    ----------
    text : str
        Such as ``"compose(shift(window=(28, 28)), rotation(angles=20))"``.

    Returns
    -------
    Family

    Raises
    ------
    ValueError
        If the text is not understood; the message names the place and what is known.

    Examples
    --------
    >>> from gtpca.families.text import parse_family
    >>> parse_family("shift(64, boundary='partial')")
    Shift(boundary='partial', window=64)
    >>> parse_family("compose(shift(window=(20, 20)), reflection(axes=0))")
    Compose(Shift(window=(20, 20)), Reflection(axes=0))
    """
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"family has {len(text)} characters; {MOST_CHARACTERS} are allowed.")
    text = LENGTH.sub(lambda found: f"'{found[1]}'" if found[1] else found[0], text.strip())
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(_unreadable(text, error)) from None
    return _family(tree, text, 0)


def format_family(family: Family) -> str:
    """``family`` as text that :func:`parse_family` reads.

    Parameters
    ----------
    family : Family
        With parameters that are plain values, arrays of numbers or families.

    Returns
    -------
    str
        With the parameters that differ from their defaults.

    Examples
    --------
    >>> from gtpca import Compose, Rotation, Shift
    >>> from gtpca.families.text import format_family
    >>> format_family(Compose(Shift((8, 8), step=2), Rotation(4)))
    'compose(outer=shift(window=(8, 8), step=2), inner=rotation(angles=4))'
    """
    name = type(family).__name__.lower()
    if CLASSES.get(name) is not type(family):
        raise ValueError(f"{family!r} cannot be written as text; these can: {NAMES}.")
    given = []
    for key, parameter in _parameters(type(family)).items():
        value = _plain(getattr(family, key))
        if isinstance(value, Family):
            given.append(f"{key}={format_family(value)}")
        elif repr(value) != repr(parameter.default):
            given.append(f"{key}={_literal(value, f'{name}: {key}')}")
    return f"{name}({', '.join(given)})"


def _unreadable(text, error) -> str:
    offset = getattr(error, "offset", None)
    place = f" at character {offset}" if offset else ""
    return (
        f"family={shortened(text, 80)!r} cannot be read{place}. Write it as in Python, such as "
        f"'shift(window=64)'; known: {NAMES}."
    )


def _value(node, text, depth) -> Any:
    """The plain value that ``node`` stands for."""
    _check_depth(depth)
    if isinstance(node, (ast.Tuple, ast.List)):
        kind = tuple if isinstance(node, ast.Tuple) else list
        return kind(_value(part, text, depth + 1) for part in node.elts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = _number(node.operand, text)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.Constant) and _is_word(node.value):
        return node.value
    return _number(node, text)


def _check_depth(depth) -> None:
    if depth > DEEPEST:
        raise ValueError(f"family is nested more than {DEEPEST} deep.")


def _is_word(value) -> bool:
    return value is None or isinstance(value, (bool, str))


def _number(node, text) -> int | float:
    value: Any = getattr(node, "value", None)
    if not isinstance(node, ast.Constant) or type(value) not in (int, float):
        hint = f"; text is in quotes: '{node.id[:40]}'" if isinstance(node, ast.Name) else ""
        raise ValueError(
            f"family: {_excerpt(node, text)} is not understood{hint}. Values are numbers, text in "
            "quotes, None, True, False, and tuples or lists of these."
        )
    if not abs(value) <= LARGEST:
        raise ValueError(
            f"family: {_excerpt(node, text)} is too large; numbers up to {LARGEST} are allowed."
        )
    return value


def _excerpt(node, text) -> str:
    """The piece of text that ``node`` was read from, and its position."""
    piece = ast.get_source_segment(text, node) or "this"
    return f"{shortened(piece, 40)!r} at character {node.col_offset + 1}"


def _family(node, text, depth) -> Family:
    """The family of a call, or of its bare name."""
    _check_depth(depth)
    name = node.func if isinstance(node, ast.Call) else node
    if not isinstance(name, ast.Name):
        raise ValueError(f"family: {_excerpt(name, text)} is not a family. Known: {NAMES}.")
    cls = CLASSES.get(name.id.lower().replace("_", ""))
    if cls is None:
        hint = did_you_mean(name.id.lower(), CLASSES)
        raise ValueError(f"family: {_excerpt(name, text)} is not a family.{hint} Known: {NAMES}.")
    return _make(cls, {} if isinstance(node, ast.Name) else _arguments(node, cls, text, depth))


def _arguments(call, cls, text, depth) -> dict:
    """The arguments of a call by name."""
    names = list(_parameters(cls))
    if len(call.args) > len(names) or any(isinstance(a, ast.Starred) for a in call.args):
        raise ValueError(f"family: {_excerpt(call, text)} has too many arguments; {_takes(cls)}")
    pairs = [*zip(names, call.args, strict=False), *((k.arg, k.value) for k in call.keywords)]
    values: dict = {}
    for key, node in pairs:
        if key not in names:
            raise ValueError(_unknown_argument(cls, key, names))
        if key in values:
            raise ValueError(f"family: {cls.__name__.lower()} is given {key} twice.")
        is_family = cls is Compose and getattr(node, "value", node) is not None
        values[key] = (_family if is_family else _value)(node, text, depth + 1)
    return values


def _unknown_argument(cls, key, names) -> str:
    what = f"no argument {key[:40]!r}" if key else "no use for **"
    return (
        f"family: {cls.__name__.lower()} has {what}; {_takes(cls)}{did_you_mean(key or '', names)}"
    )


def _make(cls, values) -> Family:
    missing = [
        key
        for key, parameter in _parameters(cls).items()
        if parameter.default is parameter.empty and key not in values
    ]
    if missing:
        needs = " and ".join(missing)
        raise ValueError(f"family: {cls.__name__.lower()} needs {needs}; {_takes(cls)}")
    return cls(**values)


def _parameters(cls) -> dict:
    """Names and defaults of the arguments of a family, in order."""
    if cls.__init__ is object.__init__:
        return {}
    return dict(inspect.signature(cls).parameters)


def _takes(cls) -> str:
    names = ", ".join(_parameters(cls))
    return f"it takes {names or 'no arguments'}."


def _plain(value):
    """Arrays and NumPy's numbers as lists and Python's numbers."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (tuple, list)):
        return type(value)(_plain(part) for part in value)
    return value.toarray().tolist() if hasattr(value, "toarray") else value


def _literal(value, label) -> str:
    """``value`` as a Python literal; an error if that cannot be read back."""
    if isinstance(value, (tuple, list)):
        parts = ", ".join(_literal(part, label) for part in value)
        if isinstance(value, list):
            return f"[{parts}]"
        return f"({parts},)" if len(value) == 1 else f"({parts})"
    number = type(value) in (int, float) and abs(value) <= LARGEST
    if not number and not _is_word(value):
        raise ValueError(f"{label}={value!r} cannot be written as text.")
    return repr(value)

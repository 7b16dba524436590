"""Packages whose names are imported when they are first asked for (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["attributes"]


def attributes(
    package: str, homes: Mapping[str, str], submodules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package that imports its names late.

    Type checkers do not see through it: the package imports the same names once more, below
    ``if TYPE_CHECKING``.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    homes : mapping of str to str
        The module that each name comes from.
    submodules : iterable of str
        Modules of the package that are attributes of it as well.

    Examples
    --------
    >>> from gtpca.lazy import attributes
    >>> get, names = attributes("gtpca", {"Shift": "gtpca.families"}, ["families"])
    >>> get("Shift").__name__, get("families").__name__
    ('Shift', 'gtpca.families')
    >>> get("Drift")
    Traceback (most recent call last):
    AttributeError: module 'gtpca' has no attribute 'Drift'
    """
    modules = frozenset(submodules)

    def get(name: str) -> Any:
        if name in homes:
            value = getattr(import_module(homes[name]), name)
        elif name in modules:
            value = import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)  # the next time it is found at once
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes, *modules})

    return get, names

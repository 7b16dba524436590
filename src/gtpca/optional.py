"""Lazy imports: of optional packages, and of the names of a package (PEP 562).

``gtpca/__init__.py`` and ``gtpca/datasets/__init__.py`` import nothing: a name is imported from its
home when it is first used, so that ``import gtpca`` is fast. Type checkers read the same imports
below ``if TYPE_CHECKING``; a test compares the two lists. Modules of the library import each other
as usual, at the top. Everybody pays for a new import in a module that ``GTPCA`` needs:
``python -X importtime -c "from gtpca import GTPCA"`` shows its price, and
``python benchmarks/bench_speed.py --first-use`` that of the command.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["attributes", "missing", "require"]


def require(module: str, extra: str) -> Any:
    """Import an optional module, or raise an error that names the extra.

    Parameters
    ----------
    module : str
        Such as ``"pyarrow.parquet"``.
    extra : str
        The extra of gtpca that installs it.

    Returns
    -------
    module

    Raises
    ------
    ImportError
        That of :func:`missing`.

    Examples
    --------
    >>> from gtpca.optional import require
    >>> require("gtpca_no_such.part", "plot")
    Traceback (most recent call last):
    ImportError: gtpca_no_such is missing: pip install "gtpca[plot]"
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise missing(module, extra) from error


def missing(module: str, extra: str) -> ImportError:
    """The error to raise where ``module`` cannot be imported; it names the package and the extra.

    For ``import`` statements, which type checkers read::

        try:
            import torch
        except ImportError as error:
            raise missing("torch", "torch") from error
    """
    name = module.partition(".")[0]
    return ImportError(f'{name} is missing: pip install "{_installable()}[{extra}]"')


def _installable() -> str:
    """What to pass to pip: the name of the package, or the folder of a clone."""
    from importlib import metadata

    try:
        return metadata.metadata("gtpca")["Name"]
    except metadata.PackageNotFoundError:
        folder = Path(__file__).parents[2]
        return str(folder) if (folder / "pyproject.toml").exists() else "gtpca"


def attributes(
    package: str, homes: Mapping[str, str], submodules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package that imports its names lazily.

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
    >>> from gtpca.optional import attributes
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
        setattr(sys.modules[package], name, value)  # next time it is found at once
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes, *modules})

    return get, names

"""Optional packages, and the one sentence that says how to install a missing one."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["missing", "require"]


def require(module: str, extra: str) -> Any:
    """An optional module, imported, or an error that names the extra.

    Parameters
    ----------
    module : str
        Such as ``"pyarrow.parquet"``.
    extra : str
        The extra of gtpca that brings it.

    Returns
    -------
    module

    Raises
    ------
    ImportError
        Of :func:`missing`.

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
    """What pip takes for this package: its name, or the folder of a clone that is not installed."""
    from importlib import metadata

    try:
        return metadata.metadata("gtpca")["Name"]
    except metadata.PackageNotFoundError:
        folder = Path(__file__).parents[2]
        return str(folder) if (folder / "pyproject.toml").exists() else "gtpca"

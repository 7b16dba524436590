"""Output of results: to files, atomically, or to standard output."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import typer

from gtpca.files import atomic_file, check_writable

__all__ = [
    "PICTURES",
    "binary_output",
    "check_output",
    "is_stdout",
    "path_for_output",
    "tell",
]

PICTURES = (".png", ".svg", ".pdf")


def is_stdout(output: Path) -> bool:
    """Whether ``-`` was given."""
    return str(output) == "-"


def tell(output: Path, what: str) -> None:
    """Report on standard error what a file now contains."""
    if not is_stdout(output):
        typer.echo(f"{what} in {output}.", err=True)


def check_output(
    output: Path,
    endings: tuple[str, ...],
    *inputs: Path | None,
    is_text: bool = False,
    option: str = "-o",
) -> None:
    """Refuse, before any work is done, what could not be written after it.

    Parameters
    ----------
    output : Path
    endings : tuple of str
        Known extensions; none: any will do.
    inputs : Path or None
        Files that must not be replaced.
    is_text : bool
        Whether it may be shown on a terminal.
    option : str
        Its name in error messages.
    """
    if is_stdout(output) and option == "-o":
        if sys.stdout is None:
            raise ValueError("-o -: standard output is closed; name a file.")
        if sys.stdout.isatty() and not is_text:
            raise ValueError("-o - would fill the terminal with bytes; redirect it to a file.")
        return
    if endings and output.suffix.lower() not in endings:
        raise ValueError(
            f"{option} {output}: the extension {output.suffix!r} is none of {', '.join(endings)}."
        )
    _check_file(output, option)
    for path in inputs:
        if path is not None and path.exists() and output.exists() and output.samefile(path):
            raise ValueError(f"-o {output} would replace the input; give another name.")


def _check_file(output, option) -> None:
    """Check whether a file can be written at ``output``."""
    folder = output.absolute().parent
    if not folder.is_dir():
        raise ValueError(f"{option} {output}: there is no folder {folder}.")
    if os.path.isdir(output):
        raise ValueError(f"{option} {output} is a folder.")
    try:
        check_writable(output)
    except OSError as error:
        raise ValueError(f"{option} {output} cannot be written: {error.strerror}.") from None


@contextmanager
def binary_output(output: Path) -> Iterator[IO[bytes]]:
    """A binary file that gets its name on success, or standard output."""
    if not is_stdout(output):
        with atomic_file(output) as file:
            yield file
        return
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


@contextmanager
def path_for_output(output: Path) -> Iterator[Path]:
    """A path for a writer whose writes are already atomic; copied if ``-`` was given."""
    if not is_stdout(output):
        yield output
        return
    with tempfile.TemporaryDirectory() as folder, binary_output(output) as stdout:
        path = Path(folder) / "output"
        yield path
        with open(path, "rb") as file:
            shutil.copyfileobj(file, stdout)

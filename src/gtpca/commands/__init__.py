"""What the command ``gtpca`` can do; needs typer."""

from __future__ import annotations

from typing import Annotated

import typer

from gtpca import __version__
from gtpca.commands.checking import check, choose
from gtpca.commands.drawing import plot, report
from gtpca.commands.models import fit, info
from gtpca.commands.paper import demo, reproduce
from gtpca.commands.samples import align, impute, reconstruct, transform

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gtpca {__version__}")
        raise typer.Exit()


@app.callback()
def gtpca(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Principal components that may move to fit every sample.

    \b
    A first round, with a table of one sample per line:
      gtpca fit signals.csv -o signals.gtpca -k 3 \\
          --family "shift(window=64, boundary='partial')"
      gtpca transform signals.gtpca signals.csv -o scores.csv --poses
      gtpca report signals.gtpca signals.csv -o signals.html

    `gtpca COMMAND --help` has more examples. Results go to standard output or to the file that -o
    names, messages to standard error. Exit codes: 0 done, 1 the work failed, 2 the input is wrong,
    130 interrupted.
    """


COMMANDS = (
    *(demo, choose, fit, check, info, transform, reconstruct, impute, align),
    *(plot, report, reproduce),
)
for command in COMMANDS:
    app.command()(command)

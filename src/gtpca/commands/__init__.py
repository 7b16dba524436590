"""The subcommands of ``gtpca``; needs typer.

There is one module per noun, without logic of its own. A command is imported when it is called, so
that help and completion are fast. Options that several commands share are declared once, in
``options.py``; outputs are checked before the work begins. Every option needs a line in
``docs/command-line.md``, which a test compares.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gtpca import __version__

__all__ = ["COMMANDS", "app", "command"]

# Each with its module, and the first line of its help.
COMMANDS = {
    "demo": ("paper", "Fit spikes at random times: a table and a figure."),
    "choose": ("checking", "Choose a window and a number of components."),
    "fit": ("models", "Find components and write them to a model file."),
    "kinds": ("kinds", "Find kinds of samples, each with a pattern of its own."),
    "events": ("recordings", "Find templates that recur in long recordings."),
    "detect": ("recordings", "Write where the templates of a model occur in recordings."),
    "check": ("checking", "Test which components are real."),
    "info": ("models", "Show what is in a model file."),
    "transform": ("samples", "Write the scores of samples, and their poses."),
    "reconstruct": ("samples", "Write the reconstructions of samples."),
    "impute": ("samples", "Write samples with their gaps filled."),
    "align": ("samples", "Write samples moved to the rest position of a component."),
    "plot": ("drawing", "Draw one plot of a model."),
    "report": ("drawing", "Write one interactive page."),
    "reproduce": ("paper", "Rebuild tables and figures of the paper."),
}
STYLE: dict[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
}


@cache
def command(name: str):
    """The command ``name``, imported; None if there is no such command."""
    if name not in COMMANDS:
        return None
    alone = typer.Typer(**STYLE)
    alone.command(name)(getattr(import_module(f"gtpca.commands.{COMMANDS[name][0]}"), name))
    return typer.main.get_command(alone)


class Commands(TyperGroup):
    """All commands: names with one line of help, until one of them is called."""

    def resolve_command(self, ctx, args):
        """The command that is called, imported, and its arguments."""
        if (found := command(args[0])) is not None:
            self.add_command(found)
        return super().resolve_command(ctx, args)


app = typer.Typer(cls=Commands, **STYLE | {"add_completion": True})


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


def _not_yet() -> None:
    """Placeholder for a command that has not been called."""


for name, (_, text) in COMMANDS.items():
    app.command(name, help=text)(_not_yet)

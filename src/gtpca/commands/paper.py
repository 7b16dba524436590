"""The commands that need no user data: ``demo`` and ``reproduce``."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from gtpca import checks
from gtpca.commands.options import numbers
from gtpca.commands.output import PICTURES, check_output

__all__ = ["demo", "reproduce"]

OUT = Path("gtpca-results")


def demo(
    path: Annotated[
        Path, typer.Option(help="Where the figure goes: a .png, .svg or .pdf file.")
    ] = Path("gtpca-demo.png"),
) -> None:
    """Fit spikes at random times: a table and a figure."""
    check_output(path, PICTURES, option="--path")
    from gtpca.demo import main

    main(path)


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(help="An experiment, `all`, `status` or `report`.", metavar="NAME"),
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="List the experiments and stop.")] = False,
    setting: Annotated[str | None, typer.Option(help="Only this setting, such as iii.")] = None,
    task: Annotated[str | None, typer.Option(help="Only this task.")] = None,
    models: Annotated[str | None, typer.Option(help="Only these, as in pca,gtpca-als.")] = None,
    profile: Annotated[str, typer.Option(help="quick, default or paper.")] = "default",
    repeats: Annotated[int | None, typer.Option(help="How many repetitions.")] = None,
    repetitions: Annotated[
        Any, typer.Option(parser=numbers, metavar="LIST", help="Only these, from 0, such as 3,7.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes, of one thread each.")] = 1,
    k: Annotated[int | None, typer.Option("-k", help="Largest number of components.")] = None,
    channels: Annotated[str | None, typer.Option(help="`all` electrodes, of errp.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the rows and of the report.")] = OUT,
) -> int:
    """Rebuild tables and figures of the paper.

    A run that was stopped goes on where it was.
    """
    reproduction = _of_paper("run.reproduction")

    if show:
        return _say(reproduction.listing())
    if name is None:
        raise typer.BadParameter("NAME is missing; `gtpca reproduce --list` shows what there is.")
    if name == "report":
        return _report(out)
    _check_numbers(repeats=repeats, jobs=jobs, k=k)
    wanted: dict[str, Any] = {
        "setting": setting,
        "task": task,
        "models": models and models.split(","),
    }
    wanted |= {"profile": profile, "repeats": repeats, "repetitions": repetitions}
    wanted |= {"k": k, "channels": channels}
    if name == "status":
        return _say(reproduction.what_is_missing(out, wanted))
    try:
        return reproduction.reproduce(name, out, workers=jobs, say=typer.echo, wanted=wanted)
    except KeyboardInterrupt:
        typer.echo("The same command continues from here.", err=True)
        raise


def _of_paper(module) -> Any:
    """A module of gtpca_paper, which is a separate distribution."""
    if find_spec("gtpca_paper") is None:
        raise ImportError(
            "The experiments of the paper are a package of their own: pip install gtpca-paper, "
            "or pip install ./paper in a clone of the repository."
        )
    return import_module(f"gtpca_paper.{module}")


def _say(lines) -> int:
    typer.echo("\n".join(lines))
    return 0


def _report(out) -> int:
    if not os.path.isdir(out):
        raise typer.BadParameter(f"--out {out} is not a folder; run `gtpca reproduce all` first.")
    report = _of_paper("report").write_report(out)
    typer.echo(f"The report is in {report or out}.")
    return 0


def _check_numbers(**values) -> None:
    for label, value in values.items():
        if value is not None:
            checks.integer(f"--{label}" if len(label) > 1 else f"-{label}", value, 1)

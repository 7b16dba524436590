"""The diagnostic commands: ``choose`` and ``check``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from gtpca import GTPCA, EventGTPCA, FreeWarp
from gtpca.commands.models import load_model
from gtpca.commands.options import (
    Center,
    Jobs,
    Json,
    MaxSize,
    Means,
    Model,
    PlainColour,
    PlainNoise,
    PlainPolarity,
    Ridge,
    SampleShape,
    SharedPose,
    Sign,
    Source,
    number_range,
    reads_data,
)
from gtpca.commands.output import check_output
from gtpca.commands.progress import watched
from gtpca.commands.recordings import Channels, check_channel, opened_recording
from gtpca.data.labels import Labelled
from gtpca.families.text import parse_family
from gtpca.views.parts import is_density

__all__ = ["check", "check_watched", "choose"]


DIRECTIONS = (
    "Of a fit with --probabilistic, components are directions of the pattern and its components\n"
    "together, in the order of their energy: one more than -k.\n"
)


def _model_file(data) -> Path:
    """The name of a model file for the samples in a file or folder."""
    path = Path(data)
    path = path.absolute() if not path.name or path.name == ".." else path
    stem = path.stem.removesuffix(".csv").removesuffix(".tsv").removesuffix(".txt")
    return path.with_name(f"{stem or 'model'}.gtpca")


def _bar(pieces, total, desc):
    """Show the progress of a diagnostic."""
    return watched(pieces, total, desc)


@reads_data()
def choose(
    source: Source,
    family: Annotated[
        str, typer.Option(help='What may move: "shift"; its window is chosen.', metavar="TEXT")
    ],
    windows: Annotated[
        Any,
        typer.Option(parser=number_range, metavar="RANGE", help="Windows to try, such as 16:256."),
    ] = None,
    k: Annotated[
        Any,
        typer.Option(
            "-k", parser=number_range, metavar="RANGE", help="Numbers of components, such as 1:10."
        ),
    ] = "1:5",
    ridge: Ridge = "auto",
    shared_pose: SharedPose = False,
    polarity: PlainPolarity = Sign.both,
    center: Center = Means.none,
    noise: PlainNoise = PlainColour.white,
    sample_shape: SampleShape = None,
    folds: Annotated[int, typer.Option(help="Of the cross-validation.")] = 4,
    keep: Annotated[
        Path | None,
        typer.Option(help="A file for the results: an interrupted search continues from there."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same answer.")] = 0,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Choose a window and a number of components.

    The window has the smallest held-out error; components are counted that explain more than the
    same fit finds in noise. For free warps, knots, weights and components are chosen by points that
    were hidden, in one pose per sample. The last line is advice, and the command to run next.

    \b
    Examples:
      gtpca choose signals.csv --family shift --windows 16:256 -k 1:10
      gtpca choose signals.csv --family shift --keep search.jsonl
    """
    from gtpca.diagnostics import choose as find

    if keep is not None:
        check_output(keep, (), source.path, option="--keep")
    reader = GTPCA(family=parse_family(family))
    with source.open(reader) as data:
        found = find(
            Labelled(data.rows, source.labels(data)),
            reader.family,
            windows,
            k,
            n_folds=folds,
            kept=keep,
            n_jobs=jobs,
            random_state=seed,
            progress=_bar,
            ridge=ridge,
            shared_pose=shared_pose or isinstance(reader.family, FreeWarp),
            polarity=str(polarity),
            center=center.parameter,
            noise=str(noise),
            sample_shape=sample_shape,
            missing=reader.missing,
        )
    advice = found.advice(_model_file(source.path), source.path, source.fit_words(reader, None))
    typer.echo(_json({"choice": found}, advice) if as_json else f"{found.text}\n\n{advice}")


@reads_data()
def check(
    model: Model,
    source: Source,
    seed: Annotated[int, typer.Option(help="The same seed gives the same answer.")] = 0,
    channel: Channels = None,
    jobs: Jobs = None,
    as_json: Json = False,
    max_size: MaxSize = None,
) -> None:
    """Test which components are real.

    Each is compared with what the same fit finds in noise, and with what halves of the samples and
    other seeds have; poses are compared with the next best ones. The last line is advice, and the
    command to run next. It takes some 30 fits. Of recordings, events are counted by templates of
    halves and in noise, and templates of halves are compared, which takes 3.

    \b
    Examples:
      gtpca check signals.gtpca signals.csv
      gtpca check beats.gtpca 100.hea --channel MLII
    """
    fitted = load_model(model, max_size, recordings=None)
    recorded = isinstance(fitted, EventGTPCA)
    check_channel(recorded, channel)
    if recorded:
        with opened_recording(fitted, source, channel) as values:
            told = check_watched(fitted, values, n_jobs=jobs, random_state=seed)
        typer.echo(_json({"events": told}, told.sentence) if as_json else str(told))
        return
    with source.open(fitted) as data:
        found = check_watched(fitted, data.rows, n_jobs=jobs, random_state=seed)
        reading = source.fit_words(fitted, data)
    advice = found.advice(model, source.path, reading, source.words(max_size))
    parts = found.answers
    if as_json:
        typer.echo(_json(parts, advice))
        return
    if is_density(fitted):
        typer.echo(DIRECTIONS)
    for name, part in parts.items():
        typer.echo(f"{name}\n{part.text}\n")
    for why in found.unanswered:
        typer.echo(f"{why}\n")
    typer.echo(advice)


def check_watched(fitted, rows, **how):
    """The check of a fitted model, with progress bars."""
    from gtpca.diagnostics import check as find

    return find(fitted, rows, progress=_bar, **how)


def _json(parts, advice) -> str:
    """Tables and advice; what was not tested, and what is infinite, is null."""
    tables = {name: {k: _plain(v) for k, v in part.table.items()} for name, part in parts.items()}
    return json.dumps(tables | {"advice": advice})


def _plain(values) -> list:
    every = np.asarray(values)
    known = np.isfinite(every) if every.dtype.kind == "f" else np.ones(len(every), dtype=bool)
    return [v if sure else None for v, sure in zip(every.tolist(), known, strict=True)]

"""The commands that display a model: ``plot`` and ``report``."""

from __future__ import annotations

import os
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from gtpca import EventGTPCA, MixtureGTPCA
from gtpca.commands.checking import check_watched
from gtpca.commands.models import from_zero, load_model
from gtpca.commands.options import MaxSize, Model, Source, numbers, output_option, reads_data
from gtpca.commands.output import PICTURES, binary_output, check_output, path_for_output, tell
from gtpca.commands.recordings import Channels, check_channel, opened_recording
from gtpca.files import check_regular, npy_array
from gtpca.text import one_line, shown

__all__ = ["plot", "report"]

LabelsFile = Annotated[
    Path | None, typer.Option(help="Labels of the samples: text, one per line, or .npy.")
]


class Kind(StrEnum):
    """The kinds of plots."""

    components = "components"
    energy = "energy"
    history = "history"
    noise = "noise"
    reconstructions = "reconstructions"
    scores = "scores"
    poses = "poses"
    pose_posterior = "pose-posterior"
    perturbation = "perturbation"
    phase = "phase"
    events = "events"
    intervals = "intervals"
    kinds = "kinds"


NO_DATA, ANY_DATA = (Kind.components, Kind.history, Kind.noise), (Kind.energy, Kind.kinds)
OF_RECORDINGS = (Kind.events, Kind.intervals)  # and components and noise, for any model
TAKES = {  # which options apply to which kind
    "components": (Kind.components, Kind.perturbation, Kind.scores, Kind.poses),
    "rows": (Kind.reconstructions, Kind.pose_posterior),
    "labels-file": (Kind.scores, Kind.kinds),
}


@reads_data(required=False)
def plot(
    kind: Annotated[Kind, typer.Argument(hidden=True)],  # the text above lists them
    model: Model,
    output: Annotated[Path, output_option("a .png, .svg or .pdf file")],
    source: Source,
    components: Annotated[
        Any,
        typer.Option(parser=numbers, metavar="LIST", help="Only these, from 1, such as 1,2."),
    ] = None,
    rows: Annotated[
        Any,
        typer.Option(
            parser=numbers,
            metavar="LIST",
            help="reconstructions, pose-posterior: of these samples, from 0.",
        ),
    ] = None,
    labels_file: LabelsFile = None,
    channel: Channels = None,
    max_size: MaxSize = None,
) -> None:
    """Draw one plot of a model.

    \b
    Of the model alone:
      components       what was found
      energy           how much they explain; with DATA, beside PCA (uncentred)
      history          how the fit went
      noise            its spectrum, of a fit with --noise stationary
    Of the model and DATA:
      reconstructions  some samples and how they are rebuilt
      scores           one point per sample; --labels colours them
      poses            how often which pose is taken
      pose-posterior   how likely each pose is, of a fit with --probabilistic
      perturbation     the mean sample, with more and less of each component
      phase            what the components of free warps do to time
    Of templates of recordings, and a recording:
      events           a piece of it, with its events
      intervals        times from one event to the next
    Of kinds, alone or with DATA:
      kinds            their patterns; samples of each, and their classes

    \b
    Examples:
      gtpca plot components signals.gtpca -o components.png
      gtpca plot reconstructions signals.gtpca new.csv -o rebuilt.svg --rows 0,7
    """
    check_output(output, PICTURES, model, source.path)
    given = {"components": components, "rows": rows, "labels-file": labels_file}
    _check_kind(kind, source.path, given)
    fitted = load_model(model, max_size, recordings=None, kinds=kind == Kind.kinds)
    recorded = isinstance(fitted, EventGTPCA)
    _check_model(kind, model, recorded, channel)
    if kind == Kind.kinds and not isinstance(fitted, MixtureGTPCA):
        raise ValueError(f"{shown(model)} holds no kinds of samples; `gtpca kinds` finds them.")
    if components is not None:
        components = [from_zero(fitted, "--components", number) for number in components]
    options = _options(kind, components, rows)
    if source.path is not None and kind in NO_DATA:
        typer.echo(f"A plot of {kind} needs no data; {source.path} is not read.", err=True)
    if source.path is None or kind in NO_DATA:
        figure = _draw(kind, (fitted,), options)
    elif recorded:
        with opened_recording(fitted, source, channel) as values:
            figure = _draw(kind, (fitted, values), options)
    else:
        with source.open(fitted) as data:
            if kind in (Kind.scores, Kind.kinds):
                options["labels"] = _numbers_if_all(_labels(data, labels_file))
            figure = _draw(kind, (fitted, data.rows), options)
    with binary_output(output) as file:
        figure.savefig(file, format=output.suffix[1:].lower() or "png", dpi=150)
    tell(output, "The picture is")


def _check_kind(kind, data, options) -> None:
    if data is None and kind not in NO_DATA + ANY_DATA:
        raise ValueError(f"gtpca plot {kind} needs DATA after MODEL: {kind} are not in a model.")
    for name, value in options.items():
        if value is not None and kind not in TAKES[name]:
            raise ValueError(f"--{name} does not apply to {kind}; only for {_listed(name)}.")


def _check_model(kind, path, recorded, channel) -> None:
    """Recordings have events, samples have scores and poses."""
    if recorded and kind not in (*OF_RECORDINGS, Kind.components, Kind.noise):
        raise ValueError(
            f"{shown(path)} holds templates of recordings: gtpca plot {kind} does not apply to "
            "it; components, noise, events and intervals do."
        )
    if not recorded and kind in OF_RECORDINGS:
        raise ValueError(
            f"{shown(path)} holds components of samples: gtpca plot {kind} is for templates of "
            "recordings, which `gtpca events` finds."
        )
    check_channel(recorded, channel)


def _listed(name) -> str:
    return ", ".join(map(str, TAKES[name]))


def _options(kind, components, rows) -> dict[str, Any]:
    """The keyword arguments of the plotting function."""
    if components is None or kind != Kind.poses:
        given = {"components": components, "rows": rows}
        return {name: value for name, value in given.items() if value is not None}
    if len(components) != 1:
        raise ValueError("gtpca plot poses takes one component, such as --components 1.")
    return {"component": components[0]}


def _draw(kind, what, options):
    """The figure of ``gtpca.plots.plot_<kind>``."""
    os.environ["MPLBACKEND"] = "Agg"  # without a window, in any environment
    from gtpca import plots

    axes = getattr(plots, f"plot_{kind.name}")(*what, **options)
    return np.ravel(axes)[0].figure


@reads_data()
def report(
    model: Model,
    source: Source,
    output: Annotated[Path, output_option("a .html file")],
    labels_file: LabelsFile = None,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    text: Annotated[str | None, typer.Option(help="Text below the heading.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Include the diagnostics of `gtpca check`.")
    ] = False,
    channel: Channels = None,
    max_size: MaxSize = None,
) -> None:
    """Write one interactive page.

    It shows components, scores, samples and poses, kinds of samples, or a recording with its
    events. It is one file, opens in any browser and needs no connection.

    \b
    Examples:
      gtpca report signals.gtpca signals.csv -o signals.html
      gtpca report digits.gtpca digits.csv --labels digit -o digits.html
      gtpca report a.gtpca a.csv -o a.html --title "Run 7" --text "As of May."
      gtpca report beats.gtpca 100.hea -o beats.html --channel MLII
    """
    check_output(output, (".html",), model, source.path, labels_file)
    fitted = load_model(model, max_size, recordings=None, kinds=True)
    recorded = isinstance(fitted, EventGTPCA)
    check_channel(recorded, channel)
    if fitted.has_kinds and check:
        raise ValueError(
            "--check does not apply to kinds; `gtpca kinds` with a range such as --kinds 1:6 says "
            "which numbers held-out samples speak for."
        )
    if recorded:
        if labels_file is not None:
            raise ValueError("--labels-file does not apply to templates of recordings.")
        _report_recording(fitted, source, channel, output, check, title, text)
        return
    from gtpca.diagnostics.summary import quick_check
    from gtpca.diagnostics.wording import Commands
    from gtpca.page import write_page

    with source.open(fitted) as data, path_for_output(output) as path:
        beside = {name: v for name, v in data.columns.items() if name != data.id_name}
        labels = (beside or None) if labels_file is None else _labels(data, labels_file)
        ids = None if data.ids is None else {data.id_name: data.ids}
        files = (model, source.path, source.fit_words(fitted, data), source.words(max_size))
        found = check_watched(fitted, data.rows) if check else quick_check(fitted, data.rows)
        checked = found.named(*files) if found else False
        known: dict[str, Any] = {"labels": labels, "ids": ids, "check": checked}
        if not fitted.has_kinds:
            commands = Commands.of(fitted).named(*files)
            known["commands"] = (commands.check(), replace(commands, on_page=True).windows())
        write_page(fitted, data.rows, path, title=title, text=text, **known)
    tell(output, "The page is")


def _report_recording(fitted, source, channel, output, check, title, text) -> None:
    """The page of a recording."""
    from gtpca.page import write_page

    with opened_recording(fitted, source, channel) as values, path_for_output(output) as path:
        found = check_watched(fitted, values) if check else None
        write_page(fitted, values, path, check=found, title=title, text=text)
    tell(output, "The page is")


def _labels(data, path) -> np.ndarray | None:
    """One label per sample: those of the data, or of a file of lines, or of an array."""
    if path is None:
        return data.labels
    check_regular(path)
    try:
        if path.suffix.lower() == ".npy":
            labels = npy_array(path.read_bytes())
        else:
            labels = np.array(path.read_text(encoding="utf-8").splitlines())
    except (ValueError, EOFError, SyntaxError) as error:
        raise ValueError(f"--labels-file {shown(path)}: {one_line(error)}") from None
    if labels.shape != (len(data.rows),):
        raise ValueError(
            f"--labels-file {path} holds labels of shape {labels.shape}, but {len(data.rows)} are "
            "needed, one per sample."
        )
    return labels


def _numbers_if_all(labels) -> np.ndarray | None:
    """Text labels that are all numbers, as numbers: they have an order, or are a quantity."""
    if labels is None or labels.dtype.kind not in "UO":
        return labels
    for kind in (np.int64, np.float64):
        try:
            found = labels.astype(kind)
        except (ValueError, OverflowError):
            continue
        return found if np.isfinite(found).all() else labels
    return labels

"""The commands for long recordings: ``events`` and ``detect``."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from gtpca import EventGTPCA
from gtpca.commands.event_facts import event_facts, event_summary
from gtpca.commands.models import load_model
from gtpca.commands.options import (
    Jobs,
    Json,
    MaxSize,
    Model,
    PlainColour,
    PlainNoise,
    Sign,
    output_option,
    rate_of,
)
from gtpca.commands.output import check_output, is_stdout, path_for_output, tell
from gtpca.families.text import parse_family
from gtpca.readers import read_signal, write_table
from gtpca.text import shown

__all__ = ["Channels", "check_channel", "detect", "events", "opened_recording"]

Recordings = Annotated[
    list[Path],
    typer.Argument(
        metavar="RECORDING ..",
        help="Files of one recording each: .npy .npz .csv .tsv .txt .xlsx .parquet .h5 .zarr .mat "
        ".edf .bdf .fif .vhdr (BrainVision) .set (EEGLAB) .hea (WFDB) .wav.",
    ),
]
Key = Annotated[str | None, typer.Option(help="Which array or sheet, if a file holds several.")]
Channels = Annotated[
    list[str] | None,
    typer.Option("--channel", help="Use this channel, by name or number from 0 on; repeatable."),
]
Rate = Annotated[
    Any, typer.Option(parser=rate_of, metavar="<rate>", help="Points per second, such as 250Hz.")
]


@contextmanager
def _opened(paths, key, rate, channels, known=None):
    """Recordings, after reporting each in one line; and their rate, or a known one."""
    with ExitStack() as stack:
        found = []
        for path in paths:
            one = read_signal(path, key, rate=rate, channels=channels)
            if one.close is not None:
                stack.callback(one.close)
            one = one if known is None or one.rate is not None else replace(one, rate=known)
            typer.echo(f"Read {shown(path)}: {one.summary()}.", err=True)
            found.append(one)
        rates = {one.rate for one in found}
        if len(rates) > 1:
            raise ValueError("the recordings have different sampling rates; resample them first.")
        yield [one.values for one in found], rates.pop()


def check_channel(recorded: bool, channels) -> None:
    """Refuse a channel option unless the model has templates of recordings."""
    if channels and not recorded:
        raise ValueError("--channel does not apply to components of samples; leave it out.")


@contextmanager
def opened_recording(model, source, channels):
    """The recording passed as DATA; its rate is set in the model."""
    known = {"key", "rate"}
    wrong = [name for name in source.given if name not in known]
    if wrong:
        raise ValueError(
            f"--{wrong[0].replace('_', '-')} does not apply to templates of recordings; "
            "--key, --rate and --channel do."
        )
    given = source.given
    how = given.get("key"), given.get("rate"), channels, model.rate
    with _opened([source.path], *how) as (values, rate):
        if rate is not None:
            model.set_params(rate=rate)
        yield values[0]


def events(
    recordings: Recordings,
    output: Annotated[Path, output_option("a name such as model.gtpca")],
    family: Annotated[
        str,
        typer.Option(help='The length of an event: "shift(window=0.7s)".', metavar="TEXT"),
    ],
    k: Annotated[int, typer.Option("-k", help="Number of templates.")] = 1,
    false_alarms: Annotated[
        float, typer.Option(help="Events that noise may produce, per recording and template.")
    ] = 1.0,
    refractory: Annotated[
        str | None,
        typer.Option(help="Minimum distance of events of a template, such as 0.2s; default: half."),
    ] = None,
    polarity: Annotated[
        Sign, typer.Option(help="both: events may be upside down.")
    ] = Sign.positive,
    shared_pose: Annotated[
        bool,
        typer.Option("--shared-pose", help="One position per event, a score on every template."),
    ] = False,
    noise: PlainNoise = PlainColour.white,
    counts: Annotated[
        bool, typer.Option("--counts/--no-counts", help="Compare with halves and with noise.")
    ] = True,
    key: Key = None,
    channel: Channels = None,
    rate: Rate = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same model.")] = 0,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Find templates that recur in long recordings.

    Each file is one recording: points of time, or time by channels. The window of the family is
    the length of an event. `gtpca detect` then writes where they are.

    \b
    Examples:
      gtpca events 100.hea -o beats.gtpca --channel MLII \\
          --family "shift(window=0.7s)"
      gtpca events night.npy -o night.gtpca --rate 250Hz -k 2 \\
          --family "shift(window=0.5s)"
      gtpca events a.wav b.wav -o clicks.gtpca -k 3 --noise stationary \\
          --family "shift(200)"
    """
    check_output(output, (), *recordings)
    model = EventGTPCA(
        k,
        parse_family(family),
        false_alarms=false_alarms,
        refractory=_points(refractory),
        polarity="both" if polarity == Sign.both else "positive",
        shared_pose=shared_pose,
        noise=str(noise),
        counts=counts,
        n_jobs=jobs,
        random_state=seed,
    )
    with _opened(recordings, key, rate, channel) as (values, found):
        model.set_params(rate=found)
        model.fit(values if len(values) > 1 else values[0])
    with path_for_output(output) as path:
        model.save(path)
    said = json.dumps(event_facts(model)) if as_json else event_summary(model)
    typer.echo(said, err=is_stdout(output))
    tell(output, "The model is")


def _points(text):
    """A length as EventGTPCA accepts it: points, or text with a unit."""
    return int(text) if text is not None and text.isdigit() else text


def detect(
    model: Model,
    recordings: Recordings,
    output: Annotated[Path, output_option("a .csv, .npy or .parquet file")],
    false_alarms: Annotated[
        float | None, typer.Option(help="If not as in the fit: events that noise may produce.")
    ] = None,
    key: Key = None,
    channel: Channels = None,
    rate: Rate = None,
    jobs: Jobs = None,
    max_size: MaxSize = None,
) -> None:
    """Write where the templates of a model occur in recordings.

    One line per event, sorted by time: the recording (counted from 0), the point at which its
    window begins, times of its start, centre and peak, its template (from 0), its score, and its
    gain over its price.

    \b
    Examples:
      gtpca detect beats.gtpca 100.hea -o beats.csv --channel MLII
      gtpca detect night.gtpca night.npy -o - | head
    """
    check_output(output, (".csv", ".npy", ".parquet"), model, *recordings, is_text=True)
    fitted = load_model(model, max_size, recordings=True)
    fitted.set_params(n_jobs=jobs)
    if false_alarms is not None:
        fitted.set_params(false_alarms=false_alarms)
    with _opened(recordings, key, rate, channel, fitted.rate) as (values, found):
        if found is not None:
            fitted.set_params(rate=found)
        result = fitted.encode(values if len(values) > 1 else values[0])
    write_table(output, event_columns(fitted, result))
    tell(output, f"{len(result)} events are")


def event_columns(model, events) -> dict[str, np.ndarray]:
    """The table of events, with their positions in the unit of time."""
    columns, poses = events.columns(), model.poses(events)
    unit = "" if events.axis is None or not events.axis.unit else f"_{events.axis.unit}"
    columns.pop(f"time{unit}", None)
    first = {name: columns.pop(name) for name in ("recording", "start")}
    places = {f"{name}{unit}": poses[name] for name in ("start", "centre", "peak")}
    return first | {name: v for name, v in places.items() if name not in first} | columns

"""Options that several commands share, each declared once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from gtpca.data.labels import reading_words
from gtpca.data.missing import check_no_infinity, check_observed
from gtpca.readers.axes import labels_of
from gtpca.readers.reading import options_of, read_as
from gtpca.text import shown
from gtpca.views.parts import known_labels

__all__ = [
    "Artefacts",
    "Center",
    "Colour",
    "Jobs",
    "Json",
    "MaxSize",
    "Means",
    "Model",
    "Noise",
    "PlainColour",
    "PlainNoise",
    "PlainPolarity",
    "Polarity",
    "Ridge",
    "SampleShape",
    "SharedPose",
    "Sign",
    "Source",
    "auto_or_count",
    "check_finite",
    "number_range",
    "numbers",
    "output_option",
    "rate_of",
    "reads_data",
    "sizes",
]

Model = Annotated[Path, typer.Argument(help="A file that `gtpca fit` wrote.", metavar="MODEL")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON to standard output.")]
Jobs = Annotated[int | None, typer.Option(help="Threads; default: 1.")]
MaxSize = Annotated[
    int | None,
    typer.Option(help="Load a model this large (transforms times values of a sample)."),
]

ONCE = ("key", "missing")  # options that apply to one file only, or are kept elsewhere

DATA = typer.Argument(
    metavar="DATA",
    help="File of samples: .npy .npz .csv .tsv .txt .csv.gz .xlsx .parquet .h5 .zarr .mat .ts .tif "
    ".fits .mrcs .star .fif .edf .bdf .vhdr .set .hea .wav, or a folder of images, or of BIDS.",
)


def number_range(text: str) -> tuple[int, int]:
    """``16:256`` as (16, 256), and ``16`` as (16, 16)."""
    if not re.fullmatch(r"\d{1,9}(:\d{1,9})?", text):
        raise typer.BadParameter(f"{text!r} is not a range; write it as 16:256.")
    low, _, high = text.partition(":")
    return int(low), int(high or low)


class Means(StrEnum):
    """What is subtracted before the fit."""

    none = "none"
    features = "features"
    samples = "samples"

    @property
    def parameter(self) -> bool | str:
        """The corresponding parameter of GTPCA."""
        return {"none": False, "features": True}.get(self.value, self.value)


class Sign(StrEnum):
    """Whether a component may match upside down."""

    both = "both"
    positive = "positive"


class Colour(StrEnum):
    """What is assumed about noise."""

    white = "white"
    stationary = "stationary"
    features = "features"


class PlainColour(StrEnum):
    """What is assumed about noise, without a likelihood."""

    white = "white"
    stationary = "stationary"


class Artefacts(StrEnum):
    """What a fit sets aside."""

    rows = "rows"
    values = "values"
    both = "both"


class Missing(StrEnum):
    """How unobserved values are treated."""

    error = "error"
    ignore = "ignore"


class Sizes(StrEnum):
    """How images of unequal size are treated."""

    pad = "pad"
    resize = "resize"


def _duration(text: str) -> int | float:
    """``512`` samples as an int, ``1.5s`` as a float in seconds."""
    if re.fullmatch(r"\d{1,12}", text):
        return int(text)
    if re.fullmatch(r"(\d+\.?\d*|\.\d+)s", text):
        return float(text[:-1])
    raise typer.BadParameter(
        f"{text!r} is not a length; write 512 for samples or 1.5s for seconds."
    )


def rate_of(text: str) -> float:
    """``250Hz``, ``1kHz`` or ``250`` as a number of Hz."""
    found = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*(k?Hz)?", text)
    if not found or not 0 < float(found[1]) < 1e12:
        raise typer.BadParameter(f"{text!r} is not a sampling rate; write it as 250Hz.")
    return float(found[1]) * (1000 if found[2] == "kHz" else 1)


def _length(option, what):
    text = f"A recording is cut: {what}, such as 512 (samples) or 1.5s (seconds)."
    return Annotated[Any, typer.Option(option, parser=_duration, metavar="<length>", help=text)]


# The parameters of gtpca.readers.read_data, with its names.
DATA_OPTIONS: dict[str, Any] = {
    "key": Annotated[
        str | None, typer.Option(help="Which array, image, sheet or task, if there are several.")
    ],
    "labels": Annotated[
        list[str] | None,
        typer.Option(help="Tables: columns of labels, such as kind or kind,age; not data."),
    ],
    "id": Annotated[
        str | None, typer.Option(help="Tables: the column that holds ids of the samples.")
    ],
    "drop": Annotated[list[str] | None, typer.Option(help="Tables: columns to leave out.")],
    "columns": Annotated[
        list[str] | None, typer.Option(help="Tables: the columns with values, such as x0:x63.")
    ],
    "long": Annotated[
        str | None,
        typer.Option(help="Tables with one value per line: columns time,value,trial[,channel]."),
    ],
    "header": Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Tables: whether the first line holds names; default: as the documentation says.",
        ),
    ],
    "decimal": Annotated[
        str | None, typer.Option(help="Tables: the decimal separator, such as ,.")
    ],
    "encoding": Annotated[
        str | None, typer.Option(help="Text: its encoding, such as latin-1; default: utf-8.")
    ],
    "rate": Annotated[
        Any,
        typer.Option(parser=rate_of, metavar="<rate>", help="Points per second, such as 250Hz."),
    ],
    "window": _length("--window", "length of sliding windows"),
    "step": _length("--step", "distance between windows, default: their length"),
    "event": Annotated[str | None, typer.Option(help="Recordings: name of the events to use.")],
    "tmin": Annotated[
        float | None, typer.Option(help="Recordings: windows around events begin here, in seconds.")
    ],
    "tmax": Annotated[float | None, typer.Option(help="Recordings: and end here.")],
    "missing": Annotated[
        Missing | None,
        typer.Option(help="NaN and empty fields; default: an error, or as in the model."),
    ],
    "sizes": Annotated[
        Sizes | None, typer.Option(help="Images of unequal size: pad or resize them.")
    ],
}


@dataclass(frozen=True)
class Source:
    """The source of samples: a path, and options of ``read_data``.

    Attributes
    ----------
    path : Path or None
        None if no data were given.
    options : dict
    """

    path: Path | None
    options: dict[str, Any]

    def open(self, model):
        """The data, as a context, after reporting in one line what they are.

        If an option for missing values was given, it is set in the ``model``; otherwise the model
        decides. A model remembers how the file of its fit was read, so that it need not be said
        again.
        """
        given = self.given
        missing = given.pop("missing", None)
        model.set_params(missing=missing or model.missing)
        shape = model.sample_shape_ if model.__sklearn_is_fitted__() else None
        labels = known_labels(model)
        remembered = None if labels is None else labels.reading
        data = read_as(self.path, given, model.missing, remembered, shape)
        typer.echo(f"Read {shown(self.path)}: {data.summary()}.", err=True)
        if type(data.rows) is np.ndarray:  # others are read piece by piece
            check_finite(self.path, data.rows, model.missing)
        if labels is not None:
            labels.check_same(labels_of(data))
        return data

    @property
    def given(self) -> dict[str, Any]:
        """The options that were given, in a form that a file can hold."""
        plain = {name: _plain(value) for name, value in self.options.items()}
        return {name: value for name, value in plain.items() if value is not None}

    def words(self, max_size=None) -> list[str]:
        """The options as typed, for another command with the same model and file."""
        size = [] if max_size is None else ["--max-size", str(max_size)]
        return [*reading_words(_typed(self.given)), *size]

    def fit_words(self, model, data) -> list[str]:
        """Options, as typed, with which the file is read like ``data`` without a model.

        A model remembers how its file was read, and takes what applies from another file. Several
        ways of saying so are tried, until one leads to the same samples.
        """
        given = self.given | {"missing": None}
        labels = None if model is None else known_labels(model)
        if labels is None or not labels.reading:
            return reading_words(_typed(given))
        known, old = options_of(self.path), labels.reading
        options = {k: v for k, v in (old | given).items() if k in known & set(DATA_OPTIONS)}
        options |= {"id": None} if data.ids is None else {}
        if data.labels is None:
            options["labels"] = None
        elif len(data.beside) < len(_split(options.get("labels"))):
            options["labels"] = list(data.beside)
        columns = given.get("columns", old.get("columns_given"))
        ways = list(_ways(options | {"columns": columns}, data.features))
        read = (way for way in ways if _reads_same(self.path, way, model.missing, data))
        return reading_words(_typed(next(read, ways[0])))

    def labels(self, data):
        """What a model should remember about the data, and about how they were read."""
        given = {name: value for name, value in self.given.items() if name not in ONCE}
        if data.features is not None:
            given |= {"columns_given": given.get("columns"), "columns": list(data.features)}
        if given.get("long"):
            given |= {"times": data.times, "channels": data.channels}
        return labels_of(data, {name: value for name, value in given.items() if value is not None})


def _split(names) -> list[str]:
    """The columns named by texts that are separated by commas."""
    return [part for text in names or () for part in str(text).split(",")]


def _ways(options, features) -> Iterator[dict[str, Any]]:
    """Options of tables that may lead to the same columns, the shortest first."""
    yield options
    if not features:
        return
    spans = [None, [f"{features[0]}:{features[-1]}"], list(features)]
    for dropped in ({}, {"drop": None}):
        yield from (options | dropped | {"columns": columns} for columns in spans)


def _reads_same(path, options, missing, data) -> bool:
    """Whether a table that is read with these options alone holds the same samples."""
    if data.features is None:
        return True
    try:
        found = read_as(path, options, missing)
    except (ValueError, OSError):
        return False
    same = found.features == data.features and list(found.columns) == list(data.columns)
    return same and np.array_equal(found.rows, data.rows, equal_nan=True)


def _typed(options) -> dict[str, Any]:
    """The options with columns under the names by which they are typed."""
    return options | {"columns_given": options.get("columns")}


def _plain(value):
    """The value of an option that a file can hold; None if it was not given."""
    if isinstance(value, (list, tuple)):
        return list(value) or None
    return str(value) if isinstance(value, StrEnum) else value


def check_finite(path, rows, missing: str, start: int = 0) -> None:
    """Check rows where the name of their file is known; ``start`` is the number of the first."""
    if np.isfinite(rows).all():
        return
    if missing == "error":
        names = np.arange(start, start + len(rows))
        check_observed(f"{shown(path)}:", np.isnan(rows), names)
    check_no_infinity(f"{shown(path)}:", rows, start)


def reads_data(required: bool = True) -> Callable:
    """Add the argument DATA and the options of ``read_data`` to a command with a ``source``."""

    def decorate(command):
        keyword = inspect.Parameter.KEYWORD_ONLY
        mine = inspect.signature(command, eval_str=True).parameters
        path = Path if required else Path | None
        default = inspect.Parameter.empty if required else None
        data = inspect.Parameter("data", keyword, default=default, annotation=Annotated[path, DATA])
        more = [
            inspect.Parameter(name, keyword, default=None, annotation=hint)
            for name, hint in DATA_OPTIONS.items()
        ]

        @wraps(command)
        def wrapper(*, data=None, **given):
            options = {name: given.pop(name) for name in DATA_OPTIONS}
            return command(source=Source(data, options), **given)

        parameters = []
        for name, parameter in mine.items():
            parameters += [data] if name == "source" else [parameter.replace(kind=keyword)]
        wrapper.__signature__ = inspect.Signature([*parameters, *more])  # type: ignore[attr-defined]
        wrapper.__annotations__ = {p.name: p.annotation for p in [*parameters, *more]}
        return wrapper

    return decorate


def output_option(endings: str) -> Any:
    """``-o``: where the result goes."""
    text = f"Where it goes: {endings}; - is standard output. Replaced only on success."
    return typer.Option("-o", "--output", help=text)


def sizes(text: str) -> tuple[int, ...]:
    """``28x28`` as (28, 28)."""
    if not re.fullmatch(r"\d{1,9}([x,]\d{1,9})*", text):
        raise typer.BadParameter(f"{text!r} is not a shape; write it as 28x28.")
    return tuple(int(size) for size in re.split("[x,]", text))


SampleShape = Annotated[
    Any, typer.Option(parser=sizes, metavar="SHAPE", help="Shape of flat rows, such as 28x28.")
]


SharedPose = Annotated[
    bool, typer.Option("--shared-pose", help="One pose per sample, not per component.")
]
UPRIGHT = "positive: components never match upside down. Default: both"
Polarity = Annotated[Sign | None, typer.Option(help=f"{UPRIGHT}; with --probabilistic: positive.")]
PlainPolarity = Annotated[Sign, typer.Option(help=f"{UPRIGHT}.")]
Center = Annotated[
    Means, typer.Option(help="Subtract the mean of every feature, or of every sample.")
]
SPECTRUM = "stationary: noise has a spectrum, which is estimated; for shifts."
Noise = Annotated[
    Colour,
    typer.Option(help=f"{SPECTRUM} features: a variance for each value, with --probabilistic."),
]
PlainNoise = Annotated[PlainColour, typer.Option(help=SPECTRUM)]


def numbers(text: str) -> list[int]:
    """``1,3,5`` as [1, 3, 5]."""
    if not re.fullmatch(r"\d{1,9}(,\d{1,9})*", text):
        raise typer.BadParameter(f"{text!r} is not a list of integers; write it as 1,3,5.")
    return [int(number) for number in text.split(",")]


def auto_or_number(text: str) -> str | float:
    """``auto`` unchanged, ``0.1`` as 0.1."""
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number, nor auto.") from None


Ridge = Annotated[
    Any,
    typer.Option(
        parser=auto_or_number,
        metavar="NUMBER",
        help="Penalty on coefficients, for windows that samples see only partly; 0 is none.",
    ),
]


def auto_or_count(text: str) -> str | int:
    """``auto`` unchanged, ``3`` as 3."""
    try:
        return text if text == "auto" else int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not an integer, nor auto.") from None

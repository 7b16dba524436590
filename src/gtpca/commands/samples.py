"""The commands that apply a model to samples: ``transform``, ``reconstruct`` and others."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from gtpca import MixtureGTPCA
from gtpca.commands.known_poses import KnownPoses, read_known_poses, some_rows
from gtpca.commands.models import from_zero, load_model
from gtpca.commands.options import (
    MaxSize,
    Model,
    Source,
    check_finite,
    output_option,
    reads_data,
)
from gtpca.commands.output import binary_output, check_output, is_stdout, tell
from gtpca.commands.progress import watched
from gtpca.data.codes import Codes
from gtpca.data.missing import warn_of_blank
from gtpca.files import write_npy
from gtpca.model.outputs import named_columns, names
from gtpca.operators.grid import axis_of
from gtpca.readers import write_star, write_table
from gtpca.readers.data import is_number
from gtpca.readers.images import write_images
from gtpca.views.measures import doubts
from gtpca.views.parts import is_density

__all__ = ["align", "impute", "reconstruct", "transform"]

TABLES = (".csv", ".npy", ".parquet")
PICTURES = (".png", ".jpg", ".jpeg")
STAR = ".star"  # which may only be written like one that was read
SAMPLES = "a .npy file, or .csv, .parquet for rows of numbers, or a new folder for images"
Samples = Annotated[Path, output_option(SAMPLES)]
WINDOW = "window_start"  # how the ids of windows of a recording are called, or window_start_s
PLACES = ("start", "centre", "peak")  # poses along time
PIECE = 2**22  # values that are read at a time
Prefix = Annotated[str, typer.Option(help="Put this before the names of columns of results.")]
PREFIXES = ("fit_", *(f"fit{number}_" for number in range(2, 10_000)))
BLANK = ".*hold no observed value"  # warnings that each piece would otherwise repeat


@reads_data()
def transform(
    model: Model,
    source: Source,
    output: Annotated[Path, output_option("a .csv, .npy or .parquet file; .star of particles")],
    poses: Annotated[
        bool, typer.Option("--poses", help="Also where each component lies in each sample.")
    ] = False,
    known_poses: KnownPoses = None,
    prefix: Prefix = "",
    max_size: MaxSize = None,
) -> None:
    """Write the scores of samples, and their poses.

    There is one row per sample, and one column per component, beside ids, labels and file names.

    \b
    Examples:
      gtpca transform signals.gtpca new.csv -o scores.csv
      gtpca transform signals.gtpca new.csv -o scores.parquet --poses
      gtpca transform signals.gtpca new.csv -o - | head
      gtpca transform t.gtpca x.csv -o s.csv --labels rt --known-poses start=0,rt

    With --poses there are further columns, such as gtpca0_start: where the window of the first
    component stands, and gtpca0_start_se, its standard error. The README's table of families says
    what they mean. Probabilistic models have pose_probability, start_std and the like, and
    log_likelihood instead of standard errors. Of a
    model of kinds, columns are kind, its probability, and scores on the components of that kind.
    Of windows of a recording, recording_gtpca0_start is where that is in the recording. With
    --known-poses there are no standard errors.
    """
    listed = source.path if source.path and source.path.suffix.lower() == STAR else None
    check_output(output, (*TABLES, STAR) if listed else TABLES, model, source.path, is_text=True)
    fitted = load_model(model, max_size, kinds=True)
    if known_poses and fitted.has_likelihood:
        raise ValueError(f"{model} holds a density, which finds all poses; omit --known-poses.")
    if isinstance(fitted, MixtureGTPCA):
        _write_kinds(fitted, source, output, poses, prefix)
        return
    if fitted.n_components_ == 0 and not poses:
        raise ValueError(f"{model} holds a pattern alone, which has no scores; add --poses.")
    told = "scores+units" if poses else "scores"
    with source.open(fitted) as data:
        beside = _beside(data, output)
        known = read_known_poses(known_poses, data)
        sought = poses and known is None
        doubted = list(doubts(fitted, np.zeros((1, *data.rows.shape[1:])))) if sought else []
        _check_names(source.path, beside, [*names(fitted.model_, told), *doubted], prefix)
        parts = list(_pieces(fitted, fitted.encode, source.path, data.rows, "scores", known))
        begins = data.id_name if poses and data.ids is not None else ""
        starts = data.ids if begins.startswith(WINDOW) else None
        sure = _doubts(fitted, source.path, data.rows) if sought else {}
    scores, index = (np.concatenate([getattr(c, n) for c in parts]) for n in ("scores", "index"))
    codes = Codes(scores, index)
    if listed and output.suffix.lower() == STAR:
        write_star(output, listed, fitted, codes)
        tell(output, f"Poses of {len(codes)} particles are")
        return
    found = named_columns(fitted.model_, codes, told) | sure
    if starts is not None:
        found |= in_recording(found, starts.astype(float), begins.removeprefix(WINDOW))
    write_table(output, beside | {f"{prefix}{name}": v for name, v in found.items()})
    tell(output, f"Scores of {len(codes)} samples are")


def _write_kinds(model, source, output, poses, prefix) -> None:
    """The kind of every sample, how sure it is, its scores, and where its pattern lies."""
    named = ["kind", "kind_probability", *(f"score{k}" for k in range(model.n_components_))]
    quantities = list(model.operator_.describe(np.zeros(1, dtype=int))) if poses else []
    with source.open(model) as data:
        beside = _beside(data, output)
        _check_names(source.path, beside, [*named, *quantities, "log_likelihood"], prefix)
        parts = list(
            _pieces(model, partial(_kind_columns, model, poses), source.path, data.rows, "kinds")
        )
    found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    write_table(output, beside | {f"{prefix}{name}": v for name, v in found.items()})
    tell(output, f"Kinds of {len(found['kind'])} samples are")


def _kind_columns(model, poses, X) -> dict[str, np.ndarray]:
    """What is known of some samples, by the names of columns."""
    codes, share = model.encode(X), model.predict_proba(X)
    columns = {"kind": codes.kind, "kind_probability": share.max(axis=1)}
    columns |= {f"score{k}": column for k, column in enumerate(codes.scores.T)}
    if poses:
        columns |= {name: values[:, 0] for name, values in model.poses(codes).items()}
        columns["log_likelihood"] = model.score_samples(X)
    return columns


def in_recording(columns, starts, unit) -> dict[str, np.ndarray]:
    """Columns that say where in the recording poses are, of windows that begin at ``starts`` (n,).

    ``unit`` is how the names of poses in the unit of the starts end: "_s", or nothing.
    """
    place = re.compile(rf"(?:.+_)?(?:{'|'.join(PLACES)})(?:_time)?{unit}")
    known = {name: place.fullmatch(name) for name in columns}
    return {
        f"recording_{n}": starts + np.asarray(columns[n]) for n, is_pose in known.items() if is_pose
    }


def _check_names(path, beside, columns, prefix) -> None:
    """Refuse, before any work is done, input columns that results would overwrite."""
    taken = [name for name in beside if name in {f"{prefix}{column}" for column in columns}]
    if taken:
        free = next(p for p in PREFIXES if not {f"{p}{column}" for column in columns} & set(beside))
        raise ValueError(
            f"{path}: the column {taken[0]!r}, of ids or labels, is called like a column of the "
            f"results; --prefix {free} puts {free} before the names of these."
        )


def _doubts(model, path, rows) -> dict[str, np.ndarray]:
    """Columns that say how sure poses are."""
    what = "likelihoods" if is_density(model) else "standard errors"
    parts = list(_pieces(model, partial(doubts, model), path, rows, what))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@reads_data()
def reconstruct(
    model: Model,
    source: Source,
    output: Samples,
    prefix: Prefix = "",
    max_size: MaxSize = None,
) -> None:
    """Write the reconstructions of samples.

    That is the sum of the moved components, each times its score.

    \b
    Examples:
      gtpca reconstruct signals.gtpca new.csv -o rebuilt.npy
      gtpca reconstruct signals.gtpca new.csv -o rebuilt.csv
    """
    fitted = _loaded(model, source, output, max_size)
    shape = fitted.sample_shape_
    _convert(fitted, source, output, fitted.reconstruct, shape, "reconstructions", prefix)


@reads_data()
def impute(
    model: Model,
    source: Source,
    output: Samples,
    prefix: Prefix = "",
    max_size: MaxSize = None,
) -> None:
    """Write samples with their gaps filled.

    What was observed stays; NaN and empty fields become what the model predicts.

    \b
    Examples:
      gtpca impute signals.gtpca gaps.csv -o filled.csv
    """
    fitted = _loaded(model, source, output, max_size).set_params(missing="ignore")
    shape, text = fitted.sample_shape_, "samples without gaps"
    _convert(fitted, source, output, fitted.impute, shape, text, prefix)


@reads_data()
def align(
    model: Model,
    source: Source,
    output: Samples,
    component: Annotated[int, typer.Option(help="By which one, counted from 1.")] = 1,
    prefix: Prefix = "",
    max_size: MaxSize = None,
) -> None:
    """Write samples moved to the rest position of a component.

    Each sample is seen through the window of the component, or turned or flipped back.

    \b
    Example:
      gtpca align signals.gtpca new.csv -o aligned.npy
    """
    fitted = _loaded(model, source, output, max_size)
    shape, number = fitted.operator_.weight_shape, from_zero(fitted, "--component", component)

    def aligned(rows):
        return fitted.align(rows, number)

    _convert(fitted, source, output, aligned, shape, "aligned samples", prefix)


def _convert(model, source, output, function, shape, text, prefix) -> None:
    """Write ``function`` of all rows, each of ``shape``; array files are written in pieces."""
    if _is_folder(output):
        _write_folder(model, source, output, function, shape, text)
        return
    as_table = is_stdout(output) or output.suffix.lower() != ".npy"
    if as_table and len(shape) > 1:
        raise ValueError(
            f"-o {output}: {text} of shape {shape} are not a table; write them to .npy."
        )
    with source.open(model) as data:
        pieces = _pieces(model, function, source.path, data.rows, text)
        if as_table:
            beside, columns = _beside(data, output), _column_names(model, data, shape)
            _check_names(source.path, beside, columns, prefix)
            found = np.concatenate(list(pieces)).T
            called = [f"{prefix}{name}" for name in columns]
            write_table(output, beside | dict(zip(called, found, strict=True)))
        else:
            with binary_output(output) as file:
                write_npy(file, pieces, (len(data.rows), *shape))
        tell(output, f"{len(data.rows)} {text} are")


def _is_folder(output) -> bool:
    """Whether images are to be written: the name has no extension."""
    return not is_stdout(output) and not output.suffix


def _write_folder(model, source, output, function, shape, text) -> None:
    """Write ``function`` of all images as images with the same names."""
    with source.open(model) as data:
        if data.id_name != "file":
            raise ValueError(f"-o {output}: only images become a folder; give it an ending.")
        if data.rows.dtype.kind == "f" and not all(n.lower().endswith(PICTURES) for n in data.ids):
            raise ValueError(
                f"-o {output}: the pixels of a PNG image are integers from 0 on, but values of "
                f"{source.path} are not; write them to .npy."
            )
        pieces = list(_pieces(model, function, source.path, data.rows, text))
        same = shape == data.rows.shape[1:]
        write_images(output, np.concatenate(pieces), data.ids, data.shapes if same else None)
        tell(output, f"{len(data.rows)} {text} are")


def _loaded(model, source, output, max_size):
    """The model, if samples can be written: as a table, an array, or a new folder of images."""
    if not _is_folder(output):
        check_output(output, TABLES, model, source.path, is_text=True)
    elif output.exists():
        raise ValueError(f"-o {output} is already there; name a new folder, or a file.")
    elif not output.absolute().parent.is_dir():
        raise ValueError(f"-o {output}: there is no folder {output.absolute().parent}.")
    return load_model(model, max_size)


def _beside(data, output) -> dict[str, np.ndarray]:
    """Ids and labels, which accompany numbers wherever text is allowed."""
    return {} if output.suffix.lower() == ".npy" else data.columns


def _column_names(model, data, shape) -> list[str]:
    """The column names of the table that was read; for windows, their positions and the unit."""
    axis = axis_of(model.operator_.weight_grid, 0)
    if shape == data.rows.shape[1:]:
        names = list(data.features or ())
    elif axis.points is not None and axis.unit:
        names = [f"{point:.6g}{axis.unit}" for point in axis.points]
    else:
        names = []
    # not plain numbers, which would be read back as a row
    good = len(set(names)) == shape[0] and not all(map(is_number, names))
    return names if good else [f"x{j}" for j in range(shape[0])]


def _pieces(model, function: Callable, path, rows, text: str, known=None) -> Iterator:
    """``function`` of some rows of a file at a time, with a progress bar.

    If poses are known, ``function(rows, poses)``. A warning about samples without observed values
    is given once, for all pieces.
    """
    step = max(1, PIECE // math.prod(rows.shape[1:]))
    starts, blank = range(0, len(rows), step), []

    def apply(start):
        piece = np.asarray(rows[start : start + step])
        check_finite(path, piece, model.missing, start)
        blank.append(np.isnan(piece).reshape(len(piece), -1).all(axis=1).sum())
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", BLANK)
            if known is None:
                return function(piece)
            return function(piece, some_rows(known, slice(start, start + step)))

    yield from watched(map(apply, starts), len(starts), text)
    warn_of_blank(int(sum(blank)), len(rows))

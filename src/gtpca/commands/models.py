"""The commands that create and inspect a model: ``fit`` and ``info``."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from gtpca import (
    GTPCA,
    EventGTPCA,
    GTPCAClassifier,
    MixtureGTPCA,
    ProbabilisticGTPCA,
    checks,
    load,
)
from gtpca._typing import HAS_CALLBACKS
from gtpca.commands.advice import warn_of_columns, warn_of_recording
from gtpca.commands.densities import density_facts, density_summary, fit_density, no_pattern
from gtpca.commands.event_facts import event_facts, event_summary
from gtpca.commands.kinds import kind_facts, kind_summary
from gtpca.commands.known_poses import KnownPoses, read_known_poses, some_rows
from gtpca.commands.options import (
    Artefacts,
    Center,
    Colour,
    Jobs,
    Json,
    MaxSize,
    Means,
    Model,
    Noise,
    Polarity,
    Ridge,
    SampleShape,
    SharedPose,
    Source,
    auto_or_count,
    output_option,
    reads_data,
)
from gtpca.commands.output import check_output, is_stdout, path_for_output, tell
from gtpca.commands.progress import FitBar
from gtpca.data.labels import REMEMBERED, Labelled, reading_words
from gtpca.families.text import as_family, format_family, parse_family
from gtpca.fitting.wording import speak_of_colour
from gtpca.operators.grid import axis_of, axis_texts
from gtpca.operators.poses import has_own_search
from gtpca.readers.reading import is_data, is_model, read_data
from gtpca.text import shortened, shown, table, typed
from gtpca.views.measures import domain_text, set_aside
from gtpca.views.parts import is_density

__all__ = ["fit", "from_zero", "info", "load_model"]


@reads_data()
def fit(
    source: Source,
    output: Annotated[Path, output_option("a name such as model.gtpca")],
    family: Annotated[
        str, typer.Option(help='What may move, as in Python: "shift(window=64)".', metavar="TEXT")
    ],
    k: Annotated[int | None, typer.Option("-k", help="Number of components.")] = None,
    fraction: Annotated[
        float | None,
        typer.Option(help="Instead of -k: as many components as explain this share, such as 0.95."),
    ] = None,
    ridge: Ridge = "auto",
    refine: Annotated[int, typer.Option(help="Joint sweeps over all components at the end.")] = 0,
    shared_pose: SharedPose = False,
    probabilistic: Annotated[
        bool,
        typer.Option(
            "--probabilistic", help="One pose per sample, with a likelihood: for strong noise."
        ),
    ] = False,
    polarity: Polarity = None,
    center: Center = Means.none,
    noise: Noise = Colour.white,
    noise_from: Annotated[
        Path | None,
        typer.Option(help="A file of noise alone, such as baseline periods: its spectrum."),
    ] = None,
    outliers: Annotated[
        Artefacts | None, typer.Option(help="Set aside bad rows, bad values, or both.")
    ] = None,
    templates: Annotated[
        Path | None,
        typer.Option(help="A file of known components, one per row; others are learned."),
    ] = None,
    known_poses: KnownPoses = None,
    sample_shape: SampleShape = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same model.")] = 0,
    restarts: Annotated[
        Any,
        typer.Option(
            parser=auto_or_count,
            metavar="NUMBER",
            help="Number of fits, from different starts; the best is kept.",
        ),
    ] = "auto",
    batch_size: Annotated[int | None, typer.Option(help="Rows that are read at a time.")] = None,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Find components and write them to a model file.

    DATA holds one sample per row. The family says how a component may move to fit each of them,
    in the words of the Python library; text within it is in single quotes.

    \b
    Examples:
      gtpca fit signals.csv -o signals.gtpca -k 3 \\
          --family "shift(window=64, boundary='partial')"
      gtpca fit inside.npy -o inside.gtpca --fraction 0.9 --family "shift(64)"
      gtpca fit digits.csv -o digits.gtpca -k 5 --sample-shape 28x28 \\
          --shared-pose --family "compose(shift((20, 20)), rotation(20))"
      gtpca fit eeg.edf -o eeg.gtpca --tmin -0.2 --tmax 0.8 \\
          --family "shift(128, axes=0)"
      gtpca fit beats.csv -o b.gtpca -k 1 --probabilistic --family "shift(120)"
      gtpca fit trials.npy -o t.gtpca -k 1 --noise stationary --family "shift(64)"
      gtpca fit epochs.npy -o e.gtpca -k 2 --outliers both --family "shift(64)"
      gtpca fit trials.npy -o t.gtpca --templates p300.csv --family "shift(64)"
      gtpca fit trials.csv -o t.gtpca --labels rt --known-poses start=0,rt \\
          --family "shift(64)"

    \b
    Families: identity, shift, rotation, reflection, scaling, similarity,
    timewarp, freewarp, affine, deformation, custom, compose. The README has a
    table of them.
    """
    check_output(output, (), source.path)
    given = {
        "ridge": ridge,
        "refine": refine,
        "shared_pose": shared_pose,
        "center": center.parameter,
        "n_restarts": restarts,
        "outliers": None if outliers is None else str(outliers),
        "templates": None if templates is None else _templates(templates),
    }
    if k is None and fraction is None and templates is not None:
        k = len(given["templates"])
    both = {
        "sample_shape": sample_shape,
        "random_state": seed,
        "batch_size": batch_size,
        "n_jobs": jobs,
    }
    both |= {} if polarity is None else {"polarity": str(polarity)}
    make = _density if probabilistic else _estimator
    if probabilistic and known_poses:
        raise ValueError(
            "--known-poses does not apply with --probabilistic: a density has probabilities of "
            "poses, and one that is known has none. Leave one of them out."
        )
    model = make(family, k, fraction, given, **both)
    _set_noise(model, noise, noise_from, source)
    with source.open(model) as data:
        warn_of_columns(data)
        warn_of_recording(data)
        rows = data.rows if outliers is None else np.asarray(data.rows[:])  # in memory
        known = some_rows(read_known_poses(known_poses, data), slice(None))
        _fit_watched(model, Labelled(rows, source.labels(data)), source, known)
    with path_for_output(output) as path:
        model.save(path)
    said = json.dumps(_facts(model)) if as_json else _summary(model)
    typer.echo(said, err=is_stdout(output))
    tell(output, "The model is")


def _templates(path) -> np.ndarray:
    """The rows of a file of known components."""
    with read_data(path) as data:
        typer.echo(f"Read {shown(path)}: {data.summary()}.", err=True)
        return np.asarray(data.rows[:], dtype=np.float64)


def _set_noise(model, noise, path, source) -> None:
    """Set the noise from ``--noise``, or from samples of noise that are read like DATA."""
    if noise == Colour.features and not is_density(model):
        raise ValueError("--noise features needs --probabilistic; or use --noise stationary.")
    model.set_params(noise=str(noise))
    if path is None:
        return
    if noise == Colour.features:
        raise ValueError("--noise-from and --noise features exclude each other; give one of them.")
    with replace(source, path=path).open(model) as data:
        model.set_params(noise=np.asarray(data.rows[:], dtype=np.float64))


def _density(family, k, fraction, given, **parameters):
    """An estimator with a likelihood, to which some options do not apply."""
    default = GTPCA().get_params(deep=False)
    wrong = [name for name, value in given.items() if np.any(value != default[name])]
    if fraction is not None or wrong:
        name = "fraction" if not wrong else wrong[0].removeprefix("n_").replace("_", "-")
        raise ValueError(
            f"--{name} does not apply with --probabilistic: all components share the pose, nothing "
            "is centred, and -k says how many there are. Leave it out."
        )
    return ProbabilisticGTPCA(2 if k is None else k, parse_family(family), **parameters)


def _estimator(family, k, fraction, given, **parameters):
    """An estimator for ``-k`` components, or for ``--fraction`` of the energy."""
    if k is not None and fraction is not None:
        raise ValueError("-k and --fraction exclude each other; give one of them.")
    if fraction is not None and not 0 < fraction < 1:
        raise ValueError(f"--fraction={fraction} must lie between 0 and 1.")
    count = (2 if k is None else k) if fraction is None else fraction
    return GTPCA(count, parse_family(family), **given, **parameters)


def _fit_watched(model, rows, source, poses=None) -> None:
    """Fit with a progress bar, of which nothing is kept in the model."""
    if is_density(model):
        fit_density(model, rows, source)
        return
    if HAS_CALLBACKS:
        model.set_callbacks(FitBar.of(model))
    model.fit(rows, poses=poses).set_callbacks()


def load_model(
    path: Path,
    max_size: int | None = None,
    recordings: bool | None = False,
    kinds: bool = False,
):
    """The model in a file: of samples, or of ``recordings``; None: either; also of ``kinds``."""
    try:
        found = load(path) if max_size is None else load(path, max_size)
        _check_kind(path, found, recordings, kinds)
        return found
    except (ValueError, IsADirectoryError) as error:
        if path.is_dir() or (is_data(path) and not is_model(path)):
            raise ValueError(
                f"{shown(path)} is a file of samples by its name, and no model file; the model "
                "comes first: MODEL DATA."
            ) from error
        raise


def _check_kind(path, model, recordings, kinds=False) -> None:
    """Templates of recordings, kinds and components of samples have commands of their own."""
    if isinstance(model, GTPCAClassifier):
        raise ValueError(
            f"{shown(path)} holds a classifier, for which there are no commands; in Python, "
            "gtpca.load reads it."
        )
    if isinstance(model, MixtureGTPCA):
        if kinds:
            return
        raise ValueError(
            f"{shown(path)} holds kinds of samples, which `gtpca kinds` found; use gtpca info, "
            "transform, report or plot kinds with it."
        )
    is_events = isinstance(model, EventGTPCA)
    if recordings is True and not is_events:
        raise ValueError(
            f"{shown(path)} holds components of samples, not of recordings; use gtpca transform."
        )
    if recordings is False and is_events:
        raise ValueError(
            f"{shown(path)} holds templates of recordings, which `gtpca events` found; use gtpca "
            "detect, report, plot, check or info with it."
        )


def from_zero(model, option: str, component: int) -> int:
    """The number of a component counted from 0, as in Python, instead of from 1."""
    return checks.integer(option, component, 1, max(1, model.n_components_)) - 1


def info(model: Model, as_json: Json = False, max_size: MaxSize = None) -> None:
    """Show what is in a model file.

    \b
    Examples:
      gtpca info signals.gtpca
      gtpca info signals.gtpca --json
    """
    fitted = load_model(model, max_size, recordings=None, kinds=True)
    if isinstance(fitted, MixtureGTPCA):
        typer.echo(_kind_description(fitted, as_json))
        return
    if isinstance(fitted, EventGTPCA):
        typer.echo(_event_description(fitted, as_json))
        return
    typer.echo(json.dumps(_facts(fitted)) if as_json else _description(fitted))


def _kind_description(model, as_json) -> str:
    """What is in a model of several kinds."""
    facts = kind_facts(model) | {"family": family_name(model), "parameters": _parameters(model)}
    if as_json:
        return json.dumps(facts)
    weights = "x".join(map(str, model.operator_.weight_shape))
    lines = {
        "family": shortened(facts["family"], 300),
        "samples": f"of shape {'x'.join(map(str, model.sample_shape_))}",
        "kinds": f"{len(model.kind_weights_)}, each with a pattern and {model.n_components_} "
        f"components of shape {weights}",
        "parameters": shortened(_changed(model), 300) or "all at their defaults",
        "passes": f"{model.n_iter_} over all rows",
    }
    said = [f"{caution[0].upper()}{caution[1:]}" for caution in model.cautions_]
    facts_and_sizes = [*(f"{k:<12}{v}" for k, v in lines.items()), "", kind_summary(model)]
    return "\n\n".join(["\n".join(facts_and_sizes), *said])


def _event_description(model, as_json) -> str:
    """What is in a model of recordings."""
    facts = event_facts(model) | {"family": family_name(model), "parameters": _parameters(model)}
    if as_json:
        return json.dumps(facts)
    lines = {
        "family": shortened(facts["family"], 300),
        "templates": f"{facts['n_components']} of shape {'x'.join(map(str, model.sample_shape_))}",
        "parameters": shortened(_changed(model), 300) or "all at their defaults",
        "passes": f"{facts['n_iter']} with frozen prices",
    }
    if model.labels_ is not None:
        lines["axes"] = "; ".join(axis_texts(model.grid_))
    if model.noise_ is not None:
        orders = " and ".join(map(str, model.noise_.orders))
        lines["noise"] = f"stationary, filtered by an autoregression of order {orders}"
    said = [event_summary(model)]
    for caution in model.cautions_:
        said += ["", f"{caution[0].upper()}{caution[1:]}"]
    return "\n".join([*(f"{k:<12}{v}" for k, v in lines.items()), "", *said])


def family_name(model) -> str:
    """The family as text, in the form of ``--family`` if possible."""
    family = as_family(model.family)
    try:
        return format_family(family)
    except ValueError:
        return repr(family)


def _facts(model) -> dict[str, Any]:
    """The contents of ``--json``."""
    operator = model.operator_
    return {
        "family": family_name(model),
        "n_components": int(model.n_components_),
        "sample_shape": [int(size) for size in model.sample_shape_],
        "component_shape": [int(size) for size in operator.weight_shape],
        "n_transforms": int(operator.n_transforms),
        "domain_share": operator.domain_share,
        "cautions": model.cautions_,
        "poses": list(operator.describe(np.zeros(1, dtype=int))),
        "parameters": _parameters(model),
        **(density_facts(model) if is_density(model) else _energy_facts(model)),
        "axes": [_axis_facts(axis_of(model.grid_, j)) for j in range(len(model.sample_shape_))],
        "pose_units": operator.pose_space.units,
        "read_with": {} if model.labels_ is None else _told(model.labels_.reading),
    }


def _energy_facts(model) -> dict[str, Any]:
    return {
        "explained_energy": model.explained_energy_.tolist(),
        "explained_energy_ratio": model.explained_energy_ratio_.tolist(),
        "n_iter": model.n_iter_.tolist(),
        "data_resmse": None if model.data_resmse_ is None else model.data_resmse_.tolist(),
        "residual_correlation": model.residual_correlation_,
        **_aside_facts(model),
    }


def _aside_facts(model) -> dict[str, Any]:
    """Which rows and how many values were set aside, where that was asked for."""
    found, facts = set_aside(model), {}
    if found.weight is not None:
        facts["rows_set_aside"] = found.rows.tolist()
    if found.rejected is not None:
        facts["values_set_aside"] = int(found.rejected.sum())
    return facts


def _poses(facts) -> list[str]:
    """The quantities of a pose, with their units."""
    units = facts["pose_units"]
    return [f"{name} ({units[name]})" if name in units else name for name in facts["poses"]]


def _axis_facts(axis) -> dict[str, Any]:
    """What is known about an axis."""
    names = None if axis.names is None else list(axis.names)
    points = None if axis.points is None else axis.points.tolist()
    return {"name": axis.name, "unit": axis.unit, "positions": points, "names": names}


def _told(reading) -> dict[str, Any]:
    """How files are read, without what only the library needs."""
    unsaid = (*REMEMBERED, "columns_given")
    return {name: value for name, value in reading.items() if name not in unsaid}


def _parameters(model) -> dict[str, Any]:
    """All parameters except the family, as far as JSON can represent them."""
    given = model.get_params(deep=False)
    del given["family"]
    return {name: value if _is_plain(value) else repr(value) for name, value in given.items()}


def _changed(model) -> str:
    """The parameters that differ from their defaults."""
    given, default = _parameters(model), _parameters(type(model)())
    return ", ".join(f"{name}={v!r}" for name, v in given.items() if v != default[name])


def _is_plain(value) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_plain(part) for part in value)
    return value is None or type(value) in (bool, int, float, str)


def _summary(model) -> str:
    """The components, one per line, with the share of the energy that each explains."""
    if is_density(model):
        return density_summary(model)
    share = model.explained_energy_ratio_
    shares = zip(share, np.cumsum(share), strict=True)
    rows = [[str(k), f"{own:.2%}", f"{sum_:.2%}"] for k, (own, sum_) in enumerate(shares, 1)]
    aside = set_aside(model).text
    said = table(["component", "energy", "so far"], rows)
    return f"{said}\n\nSet aside: {aside}." if aside else said


def _description(model) -> str:
    facts = _facts(model)
    shape, weights = ("x".join(map(str, facts[k])) for k in ("sample_shape", "component_shape"))
    passes = ", ".join(map(str, np.ravel(facts["n_iter"])))
    lines = {
        "family": shortened(facts["family"], 300),
        "samples": f"of shape {shape}",
        "components": f"{facts['n_components']} of shape {weights}",
        "transforms": f"{facts['n_transforms']}, told apart by {', '.join(_poses(facts))}",
        "parameters": shortened(_changed(model), 300) or "all at their defaults",
        "passes": f"{passes} over all rows",
    }
    if not facts["poses"]:
        lines["transforms"] = str(facts["n_transforms"])
    elif has_own_search(model.operator_):
        lines["transforms"] = f"found sample by sample: {', '.join(_poses(facts))}"
    if model.operator_.domain_share < 1:
        lines["judged on"] = domain_text(model.operator_)
    if model.labels_ is not None:
        lines["axes"] = "; ".join(axis_texts(model.grid_))
        reading = typed(*reading_words(model.labels_.reading))
        lines["read with"] = shortened(reading, 300) or "no options"
    if model.noise_ is not None:
        orders = " and ".join(map(str, model.noise_.orders))
        lines["noise"] = f"stationary, filtered by an autoregression of order {orders}"
    doubt = is_density(model) and model.doubt_ is not None
    said = [f"{caution[0].upper()}{caution[1:]}" for caution in model.cautions_]
    if doubt:
        said.insert(len(said) if speak_of_colour(model.cautions_[:1]) else 0, no_pattern(model))
    facts_and_sizes = "\n".join([*(f"{k:<12}{v}" for k, v in lines.items()), "", _summary(model)])
    return "\n\n".join([facts_and_sizes, *said])

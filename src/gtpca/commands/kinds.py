"""The command for samples of several kinds, and what the others say of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from gtpca import MixtureGTPCA
from gtpca.commands.options import (
    Jobs,
    Json,
    PlainColour,
    PlainNoise,
    SampleShape,
    Source,
    number_range,
    output_option,
    reads_data,
)
from gtpca.commands.output import check_output, is_stdout, path_for_output, tell
from gtpca.commands.progress import watched
from gtpca.data.labels import Labelled
from gtpca.families.text import parse_family
from gtpca.text import table
from gtpca.views.measures import confusion

__all__ = ["kind_facts", "kind_summary", "kinds"]


@reads_data()
def kinds(
    source: Source,
    output: Annotated[Path, output_option("a name such as kinds.gtpca")],
    family: Annotated[
        str, typer.Option(help='What may move, as in Python: "shift(window=64)".', metavar="TEXT")
    ],
    n_kinds: Annotated[
        Any,
        typer.Option(
            "--kinds", parser=number_range, metavar="RANGE", help="How many, such as 3, or 2:6."
        ),
    ] = "1:4",
    k: Annotated[
        Any,
        typer.Option(
            "-k", parser=number_range, metavar="RANGE", help="Components of each: 1, or 0:2."
        ),
    ] = "0:2",
    folds: Annotated[int, typer.Option(help="Of the cross-validation.")] = 3,
    noise: PlainNoise = PlainColour.white,
    sample_shape: SampleShape = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same model.")] = 0,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Find kinds of samples, each with a pattern of its own.

    Where ranges are given, the numbers of kinds and of components are chosen together, by the
    likelihood of samples that were held out. With --labels the table says which classes are
    among which kinds. `gtpca transform` then writes the kind of every sample.

    \b
    Examples:
      gtpca kinds beats.csv -o beats.gtpca --kinds 2:6 --family "shift(64)"
      gtpca kinds waves.npy -o waves.gtpca --kinds 3 -k 1 --family "shift(64)"
    """
    check_output(output, (), source.path)
    model = MixtureGTPCA(
        family=parse_family(family),
        noise=str(noise),
        sample_shape=sample_shape,
        random_state=seed,
        n_jobs=jobs,
    )
    said = ""
    with source.open(model) as data:
        rows = Labelled(data.rows, source.labels(data))
        if n_kinds[0] < n_kinds[1] or k[0] < k[1]:
            found = _chosen(rows, model, n_kinds, k, folds)
            said = f"{found.text}\n\n{found.sentence.split('; next')[0]}.\n\n"
            model.set_params(n_kinds=found.n_kinds, n_components=found.n_components)
        else:
            model.set_params(n_kinds=n_kinds[0], n_components=k[0])
        model.fit(rows)
        classes = None if data.labels is None else confusion(model.predict(data.rows), data.labels)
    with path_for_output(output) as path:
        model.save(path)
    text = f"{said}{kind_summary(model)}{_class_table(classes)}"
    typer.echo(json.dumps(kind_facts(model, classes)) if as_json else text, err=is_stdout(output))
    tell(output, "The model is")


def _chosen(rows, model, n_kinds, k, folds):
    """The numbers that held-out samples speak for."""
    from gtpca.diagnostics import choose_kinds

    return choose_kinds(
        rows,
        model.family,
        n_kinds,
        k,
        n_folds=folds,
        n_jobs=model.n_jobs,
        random_state=model.random_state,
        progress=_bar,
        noise=model.noise,
        sample_shape=model.sample_shape,
        missing=model.missing,
    )


def _bar(pieces, total, desc):
    return watched(pieces, total, desc)


def kind_facts(model, classes=None) -> dict[str, Any]:
    """What ``--json`` says of kinds."""
    found = {
        "kinds": [
            {name: np.asarray(values[g]).tolist() for name, values in model.kinds_.items()}
            for g in range(len(model.kind_weights_))
        ],
        "n_components": int(model.n_components_),
        "noise_variance": float(model.noise_variance_),
        "log_likelihood": float(model.history_[-1]),
        "n_iter": int(model.n_iter_),
        "cautions": model.cautions_,
    }
    if classes is not None:
        names, counts = classes
        found["classes"] = {str(n): row.tolist() for n, row in zip(names, counts, strict=True)}
    return found


def kind_summary(model) -> str:
    """The kinds, one per line."""
    told = model.kinds_
    rows = [
        [str(g), f"{told['weight'][g]:.3f}", f"{told['count'][g]:g}", *_sizes(told, g)]
        for g in range(len(model.kind_weights_))
    ]
    heading = ["kind", "weight", "samples", "strength", "sd of scores", "doubt"]
    return f"{table(heading, rows)}\n\nlog-likelihood {model.history_[-1]:.4g} per row"


def _sizes(told, g):
    sizes = ", ".join(f"{size:.3g}" for size in told["sizes"][g]) or "-"
    return f"{told['strength'][g]:.3g}", sizes, f"{told['doubt'][g]:.3f}"


def _class_table(classes) -> str:
    """Which classes are among which kinds."""
    if classes is None:
        return ""
    names, counts = classes
    heading = ["class", *(f"kind {g}" for g in range(counts.shape[1]))]
    rows = [[str(n), *map(str, row)] for n, row in zip(names, counts, strict=True)]
    return f"\n\n{table(heading, rows)}"

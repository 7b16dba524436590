"""Output of the commands for models with a likelihood."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from gtpca import checks
from gtpca.text import table

__all__ = ["density_facts", "density_summary", "fit_density", "no_pattern"]


def fit_density(model, rows, source) -> None:
    """Fit, and if there is only noise, suggest the next command."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "there is no evidence for a pattern")
        model.fit(rows)
    if model.doubt_ is not None:
        words = source.fit_words(None, None)
        checks.warn(no_pattern(model, source.path, words), UserWarning)


def density_facts(model) -> dict[str, Any]:
    """Pattern, components and noise for ``--json``."""
    return {
        "pattern_norm": float(np.linalg.norm(model.mean_pattern_)),
        "explained_variance": model.explained_variance_.tolist(),
        "noise_variance": np.asarray(model.noise_variance_).tolist(),
        "log_likelihood": float(model.history_[-1]),
        "held_out_gain": model.held_out_gain_,
        "held_out_total": model.held_out_total_,
        "halves_gain": model.halves_gain_,
        "noise_gains": list(model.noise_gains_ or ()),
        "doubt": model.doubt_,
        "smoothing": model.smoothing_,
        "shrinkage": model.shrinkage_,
        "offset": model.offset_,
        "n_iter": [int(model.n_iter_)],
    }


def density_summary(model) -> str:
    """Pattern, components and noise, one per line, by their standard deviations."""
    rows = [["pattern", f"{np.linalg.norm(model.mean_pattern_):.4g}"]]
    deviations = np.sqrt(model.explained_variance_)
    rows += [[f"component {k}", f"{size:.4g}"] for k, size in enumerate(deviations, 1)]
    rows.append(["noise of a value", f"{np.sqrt(np.mean(model.noise_variance_)):.4g}"])
    lines = [table(["part", "size"], rows), "", f"log-likelihood {model.history_[-1]:.4g} per row"]
    if model.held_out_gain_ is not None:
        lines.append(f"held-out gain  {model.held_out_gain_:.3g} per row, beside noise alone")
    if model.halves_gain_ is not None and model.noise_gains_:
        lines.append(
            f"of halves      {model.halves_gain_:.3g} per row; in {len(model.noise_gains_)} "
            f"surrogates of noise like the rows at most {max(model.noise_gains_):.3g}"
        )
    return "\n".join(lines)


def no_pattern(model, data="DATA", reading=None) -> str:
    """A message that there is no pattern, with the next command to run."""
    from gtpca.diagnostics import wording

    commands = wording.Commands.of(model).named("MODEL", data, reading)
    return wording.no_pattern(model.doubt_, commands, model.cautions_)

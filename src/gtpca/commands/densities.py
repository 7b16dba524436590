"""What the commands say of models with a likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np

from gtpca import ProbabilisticGTPCA
from gtpca.text import table

__all__ = ["check_drawable", "density_facts", "density_summary", "doubts"]


def density_facts(model) -> dict[str, Any]:
    """What ``--json`` says of pattern, components and noise."""
    return {
        "pattern_norm": float(np.linalg.norm(model.mean_pattern_)),
        "explained_variance": model.explained_variance_.tolist(),
        "noise_variance": np.asarray(model.noise_variance_).tolist(),
        "log_likelihood": float(model.history_[-1]),
        "held_out_gain": model.held_out_gain_,
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
    return "\n".join(lines)


def doubts(model, rows) -> dict[str, np.ndarray]:
    """Columns that only a likelihood can tell: how sure poses are, how likely samples."""
    found = model.pose_posterior(rows, 1)
    columns = {"pose_probability": found.probability[:, 0]}
    columns |= {f"{name}_std": values for name, values in found.std.items()}
    return columns | {"log_likelihood": model.score_samples(rows)}


def check_drawable(model, path, command) -> None:
    """Raise an error for models that a command cannot draw."""
    if isinstance(model, ProbabilisticGTPCA):
        raise ValueError(
            f"{path} holds a ProbabilisticGTPCA, of which gtpca {command} cannot draw anything "
            "yet; use gtpca info, transform --poses, reconstruct, align or impute, or fit without "
            "--probabilistic."
        )

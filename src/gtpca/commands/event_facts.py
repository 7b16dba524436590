"""Output of the commands for templates of recordings."""

from __future__ import annotations

from typing import Any

import numpy as np

from gtpca.text import table

__all__ = ["event_facts", "event_summary"]


def event_facts(model) -> dict[str, Any]:
    """Templates of recordings for ``--json``."""
    counts = model.event_counts_
    return {
        "n_components": int(model.n_components_),
        "component_shape": [int(size) for size in model.sample_shape_],
        "shared_pose": bool(model.shared_pose_),
        "events": {
            "fitted": counts.fitted,
            "cross_fitted": counts.cross_fitted,
            "surrogate": counts.surrogate,
            "above_noise": counts.above_noise,
        },
        "prices": model.prices_.tolist(),
        "n_iter": int(model.n_iter_),
        "cautions": model.cautions_,
        "counts": model.counts_text_,
    }


def event_summary(model) -> str:
    """The templates, one per line, and how their events compare with noise."""
    level = np.sqrt(model.prices_).mean(axis=0) * np.ones(model.n_components_)
    rows = [
        [str(k), f"{model.score_scale_[k - 1] * value:.4g}"] for k, value in enumerate(level, 1)
    ]
    said = table(["template", "least score"], rows)
    text = model.counts_text_
    return f"{said}\n\n{text[0].upper()}{text[1:]}"

"""The diagnostics on the page: a table, sentences, and the numbers of a chart."""

from __future__ import annotations

from typing import Any

import numpy as np

from gtpca.fitting.cautions import MOST_OFFSET

__all__ = ["reality", "reality_chart"]


def reality(check) -> dict[str, Any] | None:
    """The values of a check for the template; None if there was none."""
    if check is None:
        return None
    check = check.on_page
    return {
        "n_real": check.noise.n_real,
        "level": check.noise.level,
        "constant": check.noise.offset > MOST_OFFSET,
        "quick": check.stability is None,
        "threshold": None if check.stability is None else check.stability.threshold,
        "rows": _rows(check.noise.table, _table(check.stability), _table(check.poses)),
        "sentences": [*(each.sentence for each in check.answers.values()), *check.unanswered],
    }


def _table(answer) -> dict[str, Any]:
    """The columns of an answer; empty ones if there is none."""
    if answer is not None:
        return answer.table
    return {"halves": np.nan, "stable": None, "ambiguous": np.nan}


def _rows(noise, stability, poses):
    """Cells of the table; components that share a pose share its uncertainty."""
    count = len(noise["gain"])
    halves, stable, ambiguous = (
        np.broadcast_to(values, count)
        for values in (stability["halves"], stability["stable"], poses["ambiguous"])
    )
    columns = [
        [_percent(value) for value in noise["gain"]],
        [_percent(value) for value in noise["noise"]],
        [_number(value) for value in noise["p"]],
        [_verdict(p, real) for p, real in zip(noise["p"], noise["real"], strict=True)],
        [_number(value) for value in halves],
        ["" if known is None else "yes" if known else "no" for known in stable],
        [_percent(value) for value in ambiguous],
    ]
    return list(zip(*columns, strict=True))


def _percent(share) -> str:
    return "" if np.isnan(share) else f"{100 * share:.3g} %"


def _number(value) -> str:
    return "" if np.isnan(value) else f"{value:.2g}"


def _verdict(p, real) -> str:
    return "not tested" if np.isnan(p) else "yes" if real else "no"


def reality_chart(check) -> dict[str, Any] | None:
    """Gains, bars and surrogates, for the script."""
    if check is None:
        return None
    noise = check.noise
    values = {"gains": noise.gains, "band": noise.band, "surrogates": noise.surrogates}
    return {name: _without_nan(each) for name, each in values.items()}


def _without_nan(values):
    """Nested lists with None for unknown values."""
    if np.ndim(values):
        return [_without_nan(value) for value in values]
    return None if np.isnan(values) else float(values)

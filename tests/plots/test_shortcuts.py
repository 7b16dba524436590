"""``model.plot_..(..)`` is ``plots.plot_..(model, ..)``, of all estimators."""

from __future__ import annotations

import inspect

import pytest

from gtpca import GTPCA, EventGTPCA, ProbabilisticGTPCA, plots
from gtpca.plots.diagnostics import __all__ as OF_RESULTS
from gtpca.plots.events import __all__ as OF_RECORDINGS
from gtpca.plots.kinds import __all__ as OF_KINDS
from gtpca.plots.phase import __all__ as OF_WARPS

OF_SAMPLES = sorted({*plots.__all__} - {*OF_RESULTS, *OF_RECORDINGS, *OF_KINDS, *OF_WARPS})
PAIRS = [(kind, name) for kind in (GTPCA, ProbabilisticGTPCA) for name in OF_SAMPLES]
PAIRS += [(EventGTPCA, name) for name in (*OF_RECORDINGS, "plot_components")]


@pytest.mark.parametrize(("estimator", "name"), PAIRS)
def test_a_shortcut_hands_everything_over(estimator, name, monkeypatch):
    calls = []
    monkeypatch.setattr(plots, name, lambda *given, **how: calls.append((given, how)) or "axes")
    takes = inspect.signature(getattr(estimator, name)).parameters
    model, samples = estimator(), ["samples"] if "X" in takes else []
    assert getattr(model, name)(*samples, ax=3) == "axes"
    ((given, how),) = calls
    assert given[0] is model
    assert list(given[1:2]) == samples
    assert how == {"ax": 3}

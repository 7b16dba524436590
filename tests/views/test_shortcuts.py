"""``model.plot_..(..)`` is ``plots.plot_..(model, ..)``."""

from __future__ import annotations

import inspect

import pytest

from gtpca import GTPCA, plots
from gtpca.plots.diagnostics import __all__ as OF_RESULTS
from gtpca.views.shortcuts import PlotShortcuts


@pytest.mark.parametrize("name", sorted({*plots.__all__} - {*OF_RESULTS}))
def test_a_shortcut_hands_everything_over(name, monkeypatch):
    calls = []
    monkeypatch.setattr(plots, name, lambda *given, **how: calls.append((given, how)) or "axes")
    takes = inspect.signature(getattr(PlotShortcuts, name)).parameters
    model, samples = GTPCA(), ["samples"] if "X" in takes else []
    assert getattr(model, name)(*samples, ax=3) == "axes"
    ((given, how),) = calls
    assert given[0] is model
    assert list(given[1:2]) == samples
    assert how == {"ax": 3}

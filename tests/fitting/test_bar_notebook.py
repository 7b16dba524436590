"""The progress bar of a fit in a notebook."""

from __future__ import annotations

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from command import environment
from helpers import needs_callbacks

from gtpca import GTPCA, Shift
from gtpca.fitting import bar

FIT = """
import numpy as np
from gtpca import GTPCA, Shift
from gtpca.fitting import bar
bar.DELAY = bar.PAUSE = 0.0
X = np.random.default_rng(0).standard_normal((200, 64))
model = GTPCA(3, Shift(16), random_state=0, progress="auto").fit(X)
print(model.n_components_)
"""
DRAWN = r'<progress value="[0-3]" max="3"></progress> component [1-3] of 3, step \d+, \d+ s'


@pytest.fixture
def written(monkeypatch):
    """What a notebook would show, one after the other; first of all, where it is one."""
    texts: list[str] = []

    def write(data, raw, display_id=None):
        assert raw
        assert data["text/html"].endswith(data["text/plain"])
        texts.append(data["text/html"])
        return SimpleNamespace(update=write) if display_id else None

    module = SimpleNamespace(display=write)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(display=module))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    for name, value in {"NOTEBOOK": True, "LOOKED_AT": True, "DELAY": 0.0, "PAUSE": 0.0}.items():
        monkeypatch.setattr(bar, name, value)
    return texts


def fit(n_components, **options):
    X = np.random.default_rng(0).standard_normal((40, 24))
    return GTPCA(n_components, Shift(8), random_state=0, **options).fit(X)


@needs_callbacks
def test_a_bar_is_written_again_and_leaves_nothing(written):
    fit(3)
    assert sum(bool(re.fullmatch(DRAWN, text)) for text in written) > 3
    assert written[-1] == ""


@needs_callbacks
def test_a_bar_without_a_total_has_no_end(written):
    fit(0.5)
    assert re.fullmatch(r"<progress></progress> component 1, step \d+, 0 s", written[0])


@needs_callbacks
def test_not_every_step_is_written(written, monkeypatch):
    monkeypatch.setattr(bar, "PAUSE", 1000.0)
    fit(3)
    assert len(written) == 2  # the first, and that it is gone


@pytest.mark.parametrize("option", [{"progress": False}, {}])
def test_no_bar_unless_it_is_wanted_or_takes_long(option, written, monkeypatch):
    monkeypatch.setattr(bar, "DELAY", 1000.0)
    fit(2, **option)
    assert written == []


def test_a_real_notebook_shows_the_bar(monkeypatch):
    for name in ("nbclient", "nbformat", "ipykernel"):
        pytest.importorskip(name, reason="runs a notebook")
    import nbformat
    from nbclient import NotebookClient

    seen: list[str] = []

    class Watched(NotebookClient):
        def process_message(self, msg, cell, cell_index):
            if "display_data" in msg["header"]["msg_type"]:
                seen.append(msg["content"]["data"].get("text/html", ""))
            return super().process_message(msg, cell, cell_index)

    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    cell = nbformat.v4.new_code_cell(FIT)
    Watched(nbformat.v4.new_notebook(cells=[cell]), timeout=120).execute()
    assert sum(bool(re.fullmatch(DRAWN, text)) for text in seen) > 3
    shown = [output.get("text", output.get("data", {}).get("text/html")) for output in cell.outputs]
    assert shown == ["", "3\n"]

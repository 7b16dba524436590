"""The page of the report."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

pytest.importorskip("pandas", reason='needs pandas: pip install "gtpca[report]"')
pytest.importorskip("matplotlib", reason='needs matplotlib: pip install "gtpca[plot]"')
pytest.importorskip("jinja2", reason='needs jinja2: pip install "gtpca[report]"')

pytest.importorskip("gtpca_paper", reason="needs gtpca-paper: pip install ./paper")

from result_rows import NASTY, row, whole_table, write_rows

from gtpca_paper.report import pictures, read_remarks, write_report
from gtpca_paper.rows import TableKey


def test_report(tmp_path):
    errp = TableKey("errp", "i", "outlier", "resmse")
    rows = [
        *whole_table(0.9, repetitions=3),
        row(errp, model="gtpca-als", simulated=True),
        row(model=NASTY),
    ]
    path = write_rows(rows, tmp_path / "results")
    run = {"profile": "paper", "versions": {"numpy": "1 <b>"}, "cores": [1, 2]}
    (path / "run.json").write_text(json.dumps(run), encoding="utf-8")
    remarks = "## summary\n\nBy <b>hand</b>, see `x`.\n\n- one\n- two\n\n## errp\n\nNo files.\n"
    (path / "remarks.md").write_text(remarks, encoding="utf-8")
    shown = [pictures.Picture("network", f"A net {NASTY}", pictures.draw_network(1))]
    shown += [pictures.Picture("gone", "Left out: why", None)]
    page = write_report(path, tmp_path / "out", pictures=shown)
    names = ("results.html", "details.md", "results.md", "claims.md")
    texts = [(page.parent / name).read_text(encoding="utf-8") for name in names]
    html, markdown, first, claims = texts
    for text in texts:
        assert "<script" not in text
        assert "<b>hand" not in text
    assert "This report is incomplete" in html
    assert first.count("\n") < 80  # one screen
    for title in ("Who wins", "What was reproduced", "What does not hold"):
        assert f"## {title}" in first
    assert "(figures/who-wins.png)" in first
    assert "GT-PCA has a significantly lower error over all components | holds |" in claims
    for text in (html, markdown):
        assert "Error potentials" in text
        assert "is better at all 10 k compared, by up to 10.0 %" in text
        assert "Who wins" in text
        assert "PCA: 0 of 10 errors are within 3 %, 10 better." in text
        assert "Oscillations 512" in text
        assert "Equal budgets" in text
        assert "ResMSE, 10 numbers per sample" in text
        assert "versions.numpy" in text
        assert "Left out: why" in text
        assert "imulated data" in text
    assert "&lt;script&gt;" in html
    assert "<code>x</code>" in html
    assert "<li>two</li>" in html
    assert "MNIST, (iv) rotated, outlier detection: accuracy (%)" in html  # as missing
    assert set(re.findall(r'src="([^"]{0,26})', html)) == {"data:image/svg+xml;base64,"}
    for image in re.findall(r"\]\((figures/[^)]+)\)", markdown + first):
        assert (page.parent / image).exists()
    assert (page.parent / "figures" / "network.svg").exists()
    figures = {path.name for path in page.parent.glob("figures/*.png")}
    assert {"who-wins.png", "budget-oscillations-bits.png", "results-errp-resmse.png"} <= figures
    assert {p.name for p in page.parent.glob("tables.*")} == {
        f"tables.{s}" for s in ("md", "csv", "json")
    }


def test_report_goes_into_the_folder_and_leaves_the_rows(tmp_path):
    path = write_rows([row()], tmp_path)
    before = (path / "rows.jsonl").read_bytes()
    first = write_report(path, pictures=()).read_bytes()
    assert write_report(path, pictures=()).read_bytes() == first
    assert (path / "rows.jsonl").read_bytes() == before


def test_a_remark_on_nothing_is_an_error(tmp_path):
    (tmp_path / "remarks.md").write_text("## mnist/v/outlier/accuracy\n\nx\n", encoding="utf-8")
    with pytest.raises(ValueError, match="mnist/v/outlier/accuracy"):
        read_remarks(tmp_path / "remarks.md")
    assert read_remarks(tmp_path / "none.md") == {}


@pytest.mark.parametrize(
    ("module", "extra"), [("jinja2", "report"), ("pandas", "report"), ("matplotlib", "plot")]
)
def test_missing_parts_are_named(tmp_path, module, extra):
    code = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from gtpca_paper.report import write_report\n"
        f"write_report({str(write_rows([row()], tmp_path))!r}, pictures=())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    expected = f'ImportError: {module} is missing: pip install "gtpca[{extra}]"'
    assert done.stderr.strip().splitlines()[-1] == expected

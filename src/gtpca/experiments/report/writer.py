"""The report: tables, figures, and one page, from the rows that exist."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Any

from gtpca.experiments.report.layout import escape_markdown, printed_rows, status, to_markdown
from gtpca.experiments.report.panels import draw_panels, panel_caption, save_figure
from gtpca.experiments.report.pictures import make_pictures
from gtpca.experiments.report.published import published_tables
from gtpca.experiments.report.tables import (
    TOLERANCE,
    make_tables,
    missing_tables,
    read_rows,
    write_tables,
)
from gtpca.experiments.report.verdicts import counts, sentences
from gtpca.experiments.rows import TableKey
from gtpca.experiments.spec import EXPERIMENTS, OWN_TITLES, experiment_title, rank
from gtpca.optional import require
from gtpca.plots.style import require_matplotlib

__all__ = ["read_remarks", "write_report"]

SUMMARY = "summary"


def write_report(folder, out=None, *, repetitions=None, pictures=None) -> Path:
    """Write tables, figures and the page ``results.html``, also as ``results.md``.

    Parameters
    ----------
    folder : path
        Holds ``rows.jsonl``. Optional are ``run.json``, an object that says how the rows were made
        (profile, versions, machine), and ``remarks.md``; see :func:`read_remarks`.
    out : path or None
        Folder for what is written; default ``folder``.
    repetitions : int or None
        How many a complete table has; default as in the paper: 10, and 1 for "errp".
    pictures : iterable of Picture or None
        Pictures of data and models; default: all, fitted again. Empty for none.

    Returns
    -------
    Path
        Of ``results.html``, which needs no other file.
    """
    environment = _environment()
    require_matplotlib()
    folder = Path(folder)
    out = folder if out is None else Path(out)
    remarks = read_remarks(folder / "remarks.md")
    tables = make_tables(read_rows(folder), repetitions)
    write_tables(tables, out)
    context = _context(tables, remarks) | {"run": _read_run(folder / "run.json")}
    context |= _figures(tables, make_pictures() if pictures is None else pictures, out)
    for name in ("results.md", "results.html"):
        text = re.sub(r"\n{3,}", "\n\n", environment.get_template(name).render(context))
        (out / name).write_text(text, encoding="utf-8")
    return out / "results.html"


def read_remarks(path) -> dict[str, str]:
    """Read remarks written by hand.

    Parameters
    ----------
    path : path
        A Markdown file with a heading ``## key`` over each remark. The key is a table, such as
        ``mnist/iii/outlier/accuracy``, an experiment, or ``summary``. A remark is made of
        paragraphs, lists of lines that start with ``- ``, and `code`.

    Returns
    -------
    dict of str to str
        Empty if there is no such file.
    """
    path = Path(path)
    if not path.exists():
        return {}
    _, *parts = re.split(r"^## +", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    remarks = {}
    for part in parts:
        key, _, text = part.partition("\n")
        remarks[_check_remark_key(key.strip(), path.name)] = text.strip()
    return remarks


def _check_remark_key(key, file) -> str:
    known = {SUMMARY, *EXPERIMENTS, *map(str, published_tables())}
    if key not in known:
        raise ValueError(
            f"{file}: no table, experiment or section is called {key!r}; use '## summary', an "
            "experiment such as '## mnist', or a table such as '## mnist/iii/outlier/accuracy'."
        )
    return key


def _read_run(path) -> list[tuple[str, str]]:
    """What ``run.json`` says, as pairs; names of nested entries are joined by dots."""
    if not path.exists():
        return []
    return list(_flatten(json.loads(path.read_text(encoding="utf-8"))))


def _flatten(value, name=""):
    if not isinstance(value, dict):
        yield name, ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        return
    for key, inner in value.items():
        yield from _flatten(inner, f"{name}.{key}" if name else str(key))


def _context(tables, remarks) -> dict[str, Any]:
    """All that the page says, but for the figures."""
    experiments = dict.fromkeys(table.key.experiment for table in tables)
    order = sorted(experiments, key=lambda e: rank(e, EXPERIMENTS))
    return {
        "sections": [_section(e, tables, remarks) for e in order],
        "lacking": [key.title for key in missing_tables(tables)],
        "summary": _blocks(remarks.get(SUMMARY, "")),
        "simulated": any(table.simulated for table in tables),
        "complete": all(table.complete for table in tables) and not missing_tables(tables),
        "tolerance": f"{100 * TOLERANCE:g}",
    }


def _section(experiment, tables, remarks) -> dict[str, Any]:
    own = [table for table in tables if table.key.experiment == experiment]
    return {
        "name": experiment,
        "title": experiment_title(experiment),
        "simulated": any(table.simulated for table in own),
        "remark": _blocks(remarks.get(experiment, "")),
        "overview": [_overview(table) for table in own],
        "tables": [_entry(table, _blocks(remarks.get(str(table.key), ""))) for table in own],
    }


def _entry(table, remark) -> dict[str, Any]:
    rows = printed_rows(table)
    return {
        "anchor": _anchor(table.key),
        "key": str(table.key),
        "title": table.title,
        "simulated": table.simulated,
        "status": status(table),
        "complete": table.complete,
        "ks": sorted(table.cells["k"].unique()),
        "rows": [row for row in rows if not row.extra],
        "extra": [row for row in rows if row.extra],
        "extra_title": OWN_TITLES.get(table.key.metric, "own"),
        "markdown": to_markdown(table, full=False),
        "sentences": sentences(table),
        "gaps": table.gaps(),
        "remark": remark,
    }


def _overview(table) -> dict[str, Any]:
    what = [table.key.setting, table.key.task_title, table.key.metric_title]
    return {
        "anchor": _anchor(table.key),
        "title": ", ".join(part for part in what if part),
        "present": f"{table.present} of {table.expected}",
        "complete": table.complete,
        "counts": {name: _spoken(part) for name, part in counts(table).items()},
    }


def _spoken(part: Counter) -> str:
    """Counts as e.g. "8 agree, 2 better"; nothing to compare is said so."""
    words = {"agrees": "agree", "better": "better", "worse": "worse"}
    said = [f"{part[kind]} {word}" for kind, word in words.items() if part[kind]]
    return ", ".join(said) or "not compared"


def _anchor(key: TableKey) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", str(key))


def _figures(tables, pictures, out) -> dict[str, Any]:
    """Draw and save; the panels by experiment, then the pictures."""
    panels = {}
    for experiment in dict.fromkeys(table.key.experiment for table in tables):
        figure, caption = draw_panels(tables, experiment), panel_caption(tables, experiment)
        name = "results-" + re.sub(r"[^A-Za-z0-9]+", "-", experiment)
        panels[experiment] = _image(name, caption, figure, out)
    return {
        "panels": panels,
        "pictures": [_image(p.name, p.caption, p.figure, out) for p in pictures],
    }


def _image(name, caption, figure, out) -> dict[str, str]:
    if figure is None:
        return {"name": name, "caption": caption, "file": "", "uri": ""}
    png, svg = save_figure(figure, out / "figures" / name)
    uri = "data:image/svg+xml;base64," + base64.b64encode(svg.read_bytes()).decode("ascii")
    return {"name": name, "caption": caption, "file": f"figures/{png.name}", "uri": uri}


def _blocks(text) -> list[dict[str, Any]]:
    """A remark as paragraphs and lists of lines, each a list of (is code, text)."""
    blocks = []
    for part in re.split(r"\n\s*\n", text.strip()) if text.strip() else []:
        lines = part.strip().split("\n")
        listed = lines[0].startswith("- ")
        items = re.split(r"\n- ", "\n" + part.strip())[1:] if listed else [part]
        blocks.append({"list": listed, "items_": [_spans(" ".join(i.split())) for i in items]})
    return blocks


def _spans(text) -> list[tuple[bool, str]]:
    parts = text.split("`")
    return [(j % 2 == 1, part) for j, part in enumerate(parts) if part]


def _environment():
    jinja2 = require("jinja2", "report")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_template),
        autoescape=lambda name: name is not None and name.endswith(".html"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["md"] = escape_markdown
    return environment


def _template(name) -> str:
    source = resources.files("gtpca.experiments.report") / "templates" / f"{name}.jinja"
    return source.read_text(encoding="utf-8")

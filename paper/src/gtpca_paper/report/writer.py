"""The report: tables, figures, and one page, from the rows that exist."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Any

from gtpca.optional import require
from gtpca.plots.style import require_matplotlib
from gtpca_paper.report.claims import NEAR, VERDICTS, check_claims
from gtpca_paper.report.comparisons import (
    BUDGET_CAPTION,
    WINNERS_CAPTION,
    draw_budgets,
    draw_winners,
)
from gtpca_paper.report.contests import CONTESTS, make_blocks
from gtpca_paper.report.layout import escape_markdown, printed_rows, status, to_markdown
from gtpca_paper.report.panels import draw_panels, panel_caption, save_figure
from gtpca_paper.report.pictures import make_pictures
from gtpca_paper.report.published import published_tables
from gtpca_paper.report.standings import (
    Standing,
    absent,
    budget_table,
    losses,
    make_standings,
    pair_table,
    told,
)
from gtpca_paper.report.summary import (
    avoid,
    does_not_hold,
    failures,
    reproduced,
    successes,
)
from gtpca_paper.report.summary import (
    counts as contest_counts,
)
from gtpca_paper.report.tables import (
    POINTS,
    TOLERANCE,
    make_tables,
    missing_tables,
    read_rows,
    write_tables,
)
from gtpca_paper.report.verdicts import counts, parts, sentences
from gtpca_paper.rows import TableKey
from gtpca_paper.spec import EXPERIMENTS, METRICS, OWN_TITLES, experiment_title, rank

__all__ = ["read_remarks", "write_report"]

SUMMARY = "summary"
SHOWN = ("error", "error-numbers", "accuracy")  # contests of the first table
PAGES = ("results.md", "claims.md", "details.md", "results.html")
BUDGETS = {"error-numbers": (4, 10), "accuracy": (4, 10)}  # numbers that may be stored per sample


def write_report(folder, out=None, *, repetitions=None, pictures=None) -> Path:
    """Write tables, figures and the page ``results.html``; in Markdown it is three.

    ``results.md`` is one screen, ``claims.md`` has the sentences of the paper, and ``details.md``
    all tables.

    Parameters
    ----------
    folder : path
        Holds ``rows.jsonl``. Optional are ``run.json``, an object that says how the rows were made
        (profile, versions, machine), and ``remarks.md``; see :func:`read_remarks`.
    out : path or None
        Folder for what is written; default ``folder``.
    repetitions : int or None
        How many a complete table has; default: as many as the profile of the rows has.
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
    rows = read_rows(folder)
    tables, blocks = make_tables(rows, repetitions), make_blocks(rows)
    write_tables(tables, out)
    context = _context(tables, remarks) | {"run": _read_run(folder / "run.json")}
    context |= _comparisons(tables, blocks, out)
    context |= _figures(tables, make_pictures() if pictures is None else pictures, out)
    for name in PAGES:
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
        "tolerance": f"{TOLERANCE:g}",
        "points": f"{POINTS:g}",
    }


def _comparisons(tables, blocks, out) -> dict[str, Any]:
    """Who wins, what was reproduced, what does not hold, and equal budgets."""
    standings, claims = make_standings(blocks), check_claims(blocks)
    compared = any(standings[name] for name in SHOWN)
    figure = draw_winners(standings) if compared else None
    return {
        "successes": successes(tables),
        "failures": failures(claims, standings),
        "avoid": avoid(tables, standings),
        "claims": claims,
        "claim_counts": {v: sum(c.verdict == v for c in claims) for v in VERDICTS.values()},
        "near": f"{NEAR:g}",
        "counts": contest_counts(standings),
        "reproduced": reproduced(tables),
        "fails": does_not_hold(tables, standings),
        "contests": [CONTESTS[name].title for name in SHOWN],
        "standings": _told(blocks, standings),
        "pairs": {c.title: pair_table(standings[name]) for name, c in CONTESTS.items()},
        "absent": {c.title: list(absent(_all(blocks, c))) for c in CONTESTS.values()},
        "losses": {c.title: list(losses(standings[name])) for name, c in CONTESTS.items()},
        "winners": _image("who-wins", WINNERS_CAPTION, figure, out, dpi=100) if compared else None,
        "budgets": [
            _budget(blocks, name, size) for name, sizes in BUDGETS.items() for size in sizes
        ],
        "budget_figures": list(_budget_figures(blocks, out)),
    }


def _all(blocks, contest):
    return [Standing(block, contest, []) for block in blocks]


def _told(blocks, standings) -> list[list[str]]:
    """A row of words for each block with a contest: its title, and who wins what."""
    said = {name: {s.block.title: told(s) for s in standings[name]} for name in SHOWN}
    rows = [[b.title, *(said[name].get(b.title, "") for name in SHOWN)] for b in blocks]
    return [row for row in rows if any(row[1:])]


def _budget(blocks, name, size) -> dict[str, Any]:
    contest = CONTESTS[name]
    models, rows = budget_table(blocks, contest, size)
    what = "ResMSE" if contest.metric == "resmse" else "Accuracy (%; balanced if a class is rare)"
    return {"title": f"{what}, {size} numbers per sample", "models": models, "rows": rows}


def _budget_figures(blocks, out):
    for experiment in dict.fromkeys(block.experiment for block in blocks):
        own = [block for block in blocks if block.experiment == experiment]
        for by in ("numbers", "bits"):
            caption = f"{experiment_title(experiment)}, {by} per sample: {BUDGET_CAPTION}"
            yield _image(f"budget-{experiment}-{by}", caption, draw_budgets(own, by), out)


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
        "counts": _balanced(table) or {n: _spoken(part) for n, part in counts(table).items()},
    }


def _balanced(table) -> dict[str, str]:
    """Means that the paper has not, as e.g. "50 to 61 %"; nothing for other tables."""
    if table.key.metric != "balanced":
        return {}
    return {name: _spread(cells["mean"].dropna()) for name, cells in parts(table).items()}


def _spread(means) -> str:
    return f"{means.min():.0f} to {means.max():.0f} %" if len(means) else ""


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
        found = {t.key.metric for t in tables if t.key.experiment == experiment}
        metrics = sorted(found, key=lambda metric: rank(metric, METRICS))
        panels[experiment] = [_panels(tables, experiment, metric, out) for metric in metrics]
    return {
        "panels": panels,
        "pictures": [_image(p.name, p.caption, p.figure, out) for p in pictures],
    }


def _panels(tables, experiment, metric, out) -> dict[str, str]:
    name = "results-" + re.sub(r"[^A-Za-z0-9]+", "-", f"{experiment}-{metric}")
    caption = panel_caption(tables, experiment, metric)
    return _image(name, caption, draw_panels(tables, experiment, metric), out)


def _image(name, caption, figure, out, dpi=150) -> dict[str, str]:
    if figure is None:
        return {"name": name, "caption": caption, "file": "", "uri": ""}
    png, svg = save_figure(figure, out / "figures" / name, dpi)
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
    source = resources.files("gtpca_paper.report") / "templates" / f"{name}.jinja"
    return source.read_text(encoding="utf-8")

"""Draw docs/images/events.png and intervals.png with the code of docs/howto/templates.md."""

import re
from pathlib import Path

from gtpca.plots import plot_events, plot_intervals
from gtpca.plots.style import new_figure

DOCS = Path(__file__).parent


def run_page(count):
    """The names after the first blocks of code of the page."""
    page = (DOCS / "howto" / "templates.md").read_text(encoding="utf-8")
    names: dict = {}
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL)[:count]:
        exec(code, names)
    return names


def main(folder=DOCS / "images"):
    """Write the pictures."""
    names = run_page(2)
    model, recording, events = (names[name] for name in ("model", "recording", "events"))
    for name, draw, size in (
        ("events", plot_events, (8, 2.6)),
        ("intervals", plot_intervals, (5, 3)),
    ):
        figure = new_figure(*size)
        draw(model, recording, events=events, ax=figure.subplots())
        figure.savefig(folder / f"{name}.png", dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    main()

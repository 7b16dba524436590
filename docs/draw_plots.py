"""Write the drawings of two examples to docs/images/plots, for docs/plots.md."""

import runpy
from pathlib import Path

import numpy as np

DOCS = Path(__file__).parent


def save(drawn, folder):
    """One PNG file per name; the same drawings give the same bytes."""
    for name, ax in drawn.items():
        figure = np.ravel(ax)[0].figure
        figure.savefig(folder / f"{name}.png", dpi=100, metadata={"Software": None})


def main(folder=DOCS / "images" / "plots"):
    """Run the examples and write their drawings."""
    for name in ("gallery", "likelihood"):
        path = DOCS.parent / "examples" / "first-steps" / f"plot_{name}.py"
        example = runpy.run_path(str(path))
        save(example["drawn"], folder)


if __name__ == "__main__":
    main()

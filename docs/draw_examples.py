"""Pictures of examples whose data do not come with the library: needs GTPCA_DATA, and aeon.

The site shows them where it is built without these data. `python docs/draw_examples.py`
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_extensions"))

from pages import example_file  # noqa: E402

NAMES = ["eeg_latency", "handwriting", "recording", "digit_components"]
NAMES += ["gait", "growth", "neurons"]


def save(name: str, folder: Path) -> None:
    """Write all figures that are open; the same drawings give the same bytes."""
    for number in plt.get_fignums():
        path = folder / f"{name}-{number}.png"
        plt.figure(number).savefig(path, dpi=80, metadata={"Software": None})


def main(folder: Path = DOCS / "images" / "examples", names=tuple(NAMES)) -> None:
    """Run the examples, one after the other."""
    if "GTPCA_DATA" not in os.environ:
        print("GTPCA_DATA names no folder: pictures of these examples stay as they are")
        return
    plt.show = lambda *args, **kwargs: None
    for name in names:
        runpy.run_path(str(example_file(f"plot_{name}")), run_name="__main__")
        save(f"plot_{name}", folder)
        plt.close("all")


if __name__ == "__main__":
    main(names=sys.argv[1:] or tuple(NAMES))

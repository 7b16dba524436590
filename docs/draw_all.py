"""Draw all pictures of the pages again, but page.png, a screenshot: `python docs/draw_all.py`."""

from __future__ import annotations

import runpy
from pathlib import Path

import matplotlib as mpl

from gtpca import demo

HERE = Path(__file__)

if __name__ == "__main__":
    mpl.use("Agg")
    demo.main(HERE.parent / "images" / "demo.png")
    for script in sorted(HERE.parent.glob("draw_*.py")):
        if script.name != HERE.name:
            print(script.name)
            runpy.run_path(str(script))["main"]()

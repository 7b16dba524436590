"""Whether a picture of the documentation is what the present code draws."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
# Rounding may move the edge of a line; where a curve has another shape far more pixels differ.
LARGEST_SHARE = 0.002


def differing(made, kept):
    """Share of the pixels in which two pictures differ visibly; 1 if their sizes do."""
    from matplotlib.image import imread

    a, b = imread(made)[..., :3], imread(kept)[..., :3]
    return 1.0 if a.shape != b.shape else float(np.mean(np.abs(a - b).max(axis=-1) > 0.1))


def assert_fresh(folder, kept=IMAGES, names=None):
    """Every picture in ``folder``, or those of some names, is that of the documentation."""
    matplotlib = pytest.importorskip("matplotlib", reason="pictures need it: gtpca[plot]")
    pinned = re.search(r"^matplotlib==(\S+)", (ROOT / "constraints.txt").read_text(), re.M)[1]
    if matplotlib.__version__ != pinned:
        pytest.skip(f"pictures are those of matplotlib {pinned}")
    names = [path.name for path in Path(folder).glob("*.png")] if names is None else names
    shares = {name: differing(Path(folder) / name, kept / name) for name in names}
    assert shares
    stale = {name: share for name, share in shares.items() if share > LARGEST_SHARE}
    assert not stale, f"pictures are stale, draw them by python docs/draw_all.py: {stale}"

"""The one list of families that every general test runs over, and shared samples."""

from __future__ import annotations

import os
from functools import partial

import numpy as np
import pytest
from helpers import QUICK, noise

from gtpca import (
    GTPCA,
    Affine,
    Compose,
    Custom,
    Deformation,
    Identity,
    Reflection,
    Rotation,
    Scaling,
    Shift,
    TimeWarp,
)
from gtpca.datasets import make_spikes

DIFFERENCES = np.eye(9, 6) - np.eye(9, 6, -1)  # entries that are negative
SHEARS = [[[1, s], [0, 1]] for s in (0.0, 0.4, -0.4)]

# Families with poses between or beyond the nodes (FreeWarp, Similarity, refine_poses=True) are not
# listed: general tests draw poses from the nodes, and expect the index in what `transform` returns.
# families/test_free_warp.py and test_refined.py run check_operator, files, gaps, .. over them.
ALL_FAMILIES = {
    "identity": (Identity(), (12,)),
    "shift-placed": (Shift(8), (24,)),
    "shift-crop": (Shift(30), (16,)),
    "shift-equal": (Shift(), (12,)),
    "shift-circular": (Shift(boundary="circular"), (20,)),
    "shift-circular-short": (Shift(7, boundary="circular"), (20,)),
    "shift-partial": (Shift(10, boundary="partial"), (24,)),
    "shift-partial-crop": (Shift(30, boundary="partial", min_overlap=0.7), (16,)),
    "shift-step": (Shift(8, step=3), (24,)),
    "shift-max": (Shift(8, max_shift=3), (24,)),
    "shift-channels-last": (Shift(8, axes=0), (24, 2)),
    "shift-channels-first": (Shift(30, axes=-1), (3, 16)),
    "shift-2d": (Shift((5, 5)), (12, 12)),
    "shift-2d-crop": (Shift((12, 12)), (8, 8)),
    "shift-2d-mixed": (Shift((14, 4)), (9, 9)),
    "shift-2d-circular": (Shift(boundary="circular", axes=(0, 1)), (8, 6)),
    "shift-2d-colours": (Shift((4, 4)), (9, 9, 3)),
    "shift-3d": (Shift((3, 3, 3)), (6, 5, 5)),
    "rotation-right": (Rotation(4), (8, 8)),
    "rotation": (Rotation(16), (12, 12)),
    "rotation-oblong": (Rotation([0, 30, 60, 90]), (10, 13)),
    "rotation-colours": (Rotation(8), (9, 9, 3)),
    "reflection": (Reflection((0, 1)), (7, 8)),
    "reflection-series": (Reflection(), (15,)),
    "scaling": (Scaling((0.7, 1, 1.4)), (31,)),
    "scaling-2d": (Scaling((0.8, 1, 1.25), axes=(0, 1)), (13, 13)),
    "warp-power": (TimeWarp(), (40,)),
    "warp-sine": (TimeWarp((-0.6, 0, 0.6), kind="sine", axes=0), (30, 2)),
    "affine": (Affine(SHEARS), (12, 12)),
    "deformation": (Deformation(amplitude=1.5, n_fields=6), (12, 12)),
    "custom": (Custom([np.eye(9, 6), np.eye(9, 6, -3)]), (9,)),
    "custom-differences": (Custom([DIFFERENCES, DIFFERENCES[::-1]]), (9,)),
    "custom-callable": (Custom([np.flip, lambda w: np.cumsum(w, axis=0)]), (10,)),
    "compose-shift-reflection": (Compose(Shift(9), Reflection()), (20,)),
    "compose-crop-reflection": (Compose(Shift(20), Reflection()), (12,)),
    "compose-shift-rotation": (Compose(Shift((7, 7)), Rotation(4)), (11, 11)),
    "compose-shift-scaling": (Compose(Shift(15), Scaling((0.7, 1, 1.4))), (30,)),
    "compose-crop-warp": (Compose(Shift(40), TimeWarp()), (25,)),
    "compose-group": (
        Compose(Shift(boundary="circular", axes=(0, 1)), Rotation(4), Reflection(0)),
        (6, 6),
    ),
    "compose-rotation-shift": (Compose(Rotation(8), Shift((6, 6))), (10, 10)),
}
# benchmarks/same_cases.py reads this list with earlier versions, which know no fractions.
if "fractions" in Shift().get_params():
    ALL_FAMILIES |= {
        "shift-fractions": (Shift(8, fractions=4), (16,)),
        "shift-fractions-crop": (Shift(20, fractions=2), (14,)),
        "shift-fractions-circular": (Shift(boundary="circular", fractions=3), (12,)),
        "shift-fractions-channels": (Shift(6, boundary="partial", axes=0, fractions=2), (10, 2)),
        "shift-fractions-2d": (Shift((4, 5), fractions=2), (7, 7)),
        "compose-fractions": (Compose(Shift(8, fractions=2), Reflection()), (12,)),
    }


@pytest.fixture(params=list(ALL_FAMILIES), ids=str)
def bound(request):
    """Each family of the list, bound to its sample shape."""
    family, shape = ALL_FAMILIES[request.param]
    return family.bind(shape)


@pytest.fixture(params=list(ALL_FAMILIES), ids=str)
def family_and_shape(request):
    """Each family of the list with a sample shape."""
    return ALL_FAMILIES[request.param]


CROPPING = [name for name, (family, shape) in ALL_FAMILIES.items() if family.bind(shape).crops]


@pytest.fixture(params=CROPPING, ids=str)
def cropping(request):
    """Each family of which rows may see a part, with a sample shape."""
    return ALL_FAMILIES[request.param]


@pytest.fixture
def series():
    """30 series of 12 points, white noise."""
    return noise(30, 12)


@pytest.fixture(scope="module")
def spikes():
    """60 series of 64 points with spikes in them."""
    return make_spikes(60, 64, random_state=0)[0]


@pytest.fixture
def images():
    """30 images of 6 by 5 pixels, white noise."""
    return noise(30, 6, 5, seed=1)


@pytest.fixture
def fitted(series):
    """A small model of the series."""
    return GTPCA(2, Shift(5), solver=QUICK, random_state=0).fit(series)


@pytest.fixture
def data_home():
    """Folder with the real data sets; the test is skipped where it is not given."""
    home = os.environ.get("GTPCA_DATA")
    if not home:
        pytest.skip("real data: set GTPCA_DATA to the folder that holds the files")
    return home


@pytest.fixture
def run(capsys):
    """A command of ``gtpca``, called in this process."""
    from command import call

    return partial(call, capsys)


@pytest.fixture(scope="session")
def browser():
    """One browser for all pages: it takes seconds to start."""
    from test_browser import new_browser

    driver = new_browser()
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def opened(browser, tmp_path_factory):
    """Open the page of a kind of model in a window that is so wide; returns model and rows."""
    from test_browser import opening

    return opening(browser, tmp_path_factory.mktemp("pages"))

"""The families that the pages develop, as if they were listed in the library."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from test_documentation import DOCS, ROOT, blocks_of

from gtpca import GTPCA, Compose, Family, Scaling, Shift, load
from gtpca.families import text
from gtpca.persistence import values
from gtpca.testing import check_operator, make_planted

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="the documentation is not installed")


def classes_of(path, name):
    """What the blocks of a page with a class of this name define; the others are not run."""
    names = {"np": np, "Family": Family, "check_operator": check_operator, "__name__": "__page__"}
    for language, code, _ in blocks_of(path):
        if language == "python" and f"class {name}" in code:
            exec(code, names)
    return SimpleNamespace(**names)


@pytest.fixture(scope="module")
def page():
    return classes_of(DOCS / "howto" / "add-family.md", "Swap")


@pytest.fixture
def listed(page, monkeypatch):
    """The family, known to texts and files as those in ``FAMILIES`` are."""
    monkeypatch.setitem(text.CLASSES, "swaps", page.Swaps)
    monkeypatch.setitem(values.CLASSES, "Swaps", page.Swaps)
    return page.Swaps


def test_slow_and_fast_are_the_same_transforms(page):
    slow, fast = page.SwapOperator(16).matrix(), page.FastSwapOperator(16).matrix()
    x = np.arange(16)
    wanted = np.array([[x ^ s == j for j in x] for s in x]).transpose(0, 2, 1).reshape(256, 16)
    np.testing.assert_array_equal(slow.toarray(), wanted)
    np.testing.assert_array_equal(fast.toarray(), wanted)


def test_other_lengths_are_refused_by_name(page):
    for shape in ((250,), (16, 16)):
        with pytest.raises(ValueError, match="Swaps: series of 2, 4, 8"):
            page.Swaps().bind(shape)


@pytest.mark.parametrize("order", ["outer", "inner", "scaled"])
def test_it_composes(page, order):
    families = {
        "outer": Compose(page.Swaps(), Shift(6)),
        "inner": Compose(Shift(8), page.Swaps()),
        "scaled": Compose(page.Swaps(), Scaling((0.8, 1, 1.2))),
    }
    check_operator(families[order].bind((16,)))


def test_its_text_and_its_file(listed, tmp_path):
    assert isinstance(text.parse_family("swaps"), listed)
    assert text.format_family(listed()) == "swaps()"
    X, _, _ = make_planted(listed().bind((32,)), 100, random_state=1)
    model = GTPCA(1, listed(), random_state=0).fit(X)
    model.save(tmp_path / "swaps.gtpca")
    again = load(tmp_path / "swaps.gtpca")
    assert isinstance(again.family, listed)
    np.testing.assert_array_equal(again.components_, model.components_)
    np.testing.assert_array_equal(again.encode(X).index, model.encode(X).index)


def test_a_layer_on_torch(page):
    torch = pytest.importorskip("torch", reason="needs torch")
    from gtpca.nn import GTPCLayer

    X, w, index = make_planted(page.Swaps().bind((16,)), 20, noise=0.0, random_state=2)
    layer = GTPCLayer(page.Swaps(), (16,), dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.as_tensor(w))
        found = layer(torch.as_tensor(X))
    np.testing.assert_array_equal(found.index.numpy().ravel(), index)


def test_the_family_of_contributing():
    shear = classes_of(ROOT / "CONTRIBUTING.md", "Shear").Shear()
    operator = shear.bind((9, 9))
    check_operator(operator)
    image = np.zeros((9, 9))
    image[:, 4] = 1.0
    moved = operator.apply(image.ravel()).reshape(3, 9, 9)
    np.testing.assert_allclose(moved[1], image)
    assert moved[2][0].argmax() < 4 < moved[2][8].argmax()  # the lower rows slide to the right

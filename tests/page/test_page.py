"""The interactive page: what is in it, how it is packed, and that nothing in it can run."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from hashlib import sha256
from html.parser import HTMLParser

import numpy as np
import pytest

pytest.importorskip("plotly", reason='needs plotly: pip install "gtpca[report]"')
pytest.importorskip("jinja2", reason='needs jinja2: pip install "gtpca[report]"')

from sklearn.exceptions import NotFittedError

from gtpca import ALS, GTPCA, Reflection, Rotation, Shift
from gtpca.datasets import make_spikes
from gtpca.page import contents, layouts, packing, write_page
from gtpca.views import measures
from gtpca.views.samples import choose_view, component_view, sample_view

QUICK = ALS(n_init=2, max_iter=5)
HOSTILE = '</script><img src=x onerror="window.hacked = 1"><!-- \u2028 &amp; <b>'


def spikes(n=40, **options):
    X, _ = make_spikes(n, n_times=64, random_state=0)
    return GTPCA(2, Shift(16), solver=QUICK, random_state=0, **options).fit(X), X


def gathered(model, X, labels=None, room=2_500_000, most=2000):
    labels = None if labels is None else np.array(labels, dtype=object)
    how = {"labels": labels, "room": room, "max_samples": most}
    return contents.gather(model, X, **how, rng=np.random.default_rng(0))


def numbers(entry):
    return np.frombuffer(base64.b64decode(entry["data"]), "<" + entry["type"])


def rows(entry):
    """What ``rowsOf`` of data.js makes of packed rows."""
    values = numbers(entry["values"]).reshape(-1, entry["size"])
    return numbers(entry["low"])[:, None] + numbers(entry["step"])[:, None] * values


def data_of(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', text)[1]
    )


class Tags(HTMLParser):
    """All start tags with their attributes, and the text of every script."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self._inside = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = tag == "script"
        if self._inside:
            self.scripts.append("")

    def handle_data(self, data):
        if self._inside:
            self.scripts[-1] += data

    def handle_endtag(self, tag):
        self._inside = False


# --- what is in it ---


@pytest.mark.parametrize(
    "options",
    [{}, {"shared_pose": True}, {"center": True}, {"feature_weight": np.linspace(0, 2, 64)}],
    ids=str,
)
def test_numbers_are_those_of_the_model(options, tmp_path):
    model, X = spikes(**options)
    data = data_of(write_page(model, X, tmp_path / "page.html"))
    codes, points, samples = model.encode(X), data["points"], data["samples"]
    np.testing.assert_array_equal(numbers(points["number"]), np.arange(len(X)))
    np.testing.assert_allclose(numbers(points["scores"]).reshape(-1, 2), codes.scores, rtol=1e-5)
    np.testing.assert_allclose(numbers(points["explained"]), model.score_samples(X), atol=1e-6)
    np.testing.assert_allclose(data["energy"]["explained"], 1 - model.resmse(X))
    (pose,) = points["poses"]
    assert pose["name"] == "centre"
    np.testing.assert_array_equal(numbers(pose["values"]), model.poses(codes)["centre"].ravel())
    np.testing.assert_allclose(rows(samples["original"]), X, atol=1e-4)
    np.testing.assert_allclose(rows(samples["rebuilt"]), model.reconstruct(X), atol=1e-4)
    np.testing.assert_allclose(
        rows(data["components"]["values"]), model.components_.reshape(2, -1), atol=1e-4
    )


@pytest.mark.parametrize("options", [{}, {"shared_pose": True}, {"center": True}], ids=str)
def test_sliders_add_up_to_the_inverse_transform(options):
    model, X = spikes(**options)
    builder = gathered(model, X).data["builder"]
    scores = np.array([3.0, -2.0])
    built = numbers(builder["base"]) + scores @ rows(builder["parts"])
    np.testing.assert_allclose(built, model.inverse_transform(scores[None])[0], atol=1e-3)


def test_sliders_reach_as_far_as_the_scores():
    model, X = spikes(polarity="positive")
    builder, scores = gathered(model, X).data["builder"], model.transform(X)
    assert builder["low"] == [0, 0]
    np.testing.assert_allclose(builder["typical"], np.median(scores, axis=0))
    np.testing.assert_allclose(builder["high"], scores.max(axis=0), rtol=0.1)


def test_every_family_has_a_page(family_and_shape):
    family, shape = family_and_shape
    X = np.random.default_rng(0).standard_normal((30, *shape)).astype(np.float32)
    model = GTPCA(2, family, solver=QUICK, random_state=0).fit(X)
    data = gathered(model, X).data
    layout = layouts.lay_out(sample_view(model))
    assert data["components"]["layout"]["kind"] == component_view(model).kind
    step = numbers(data["samples"]["rebuilt"]["step"]).max()
    drawn = layout(model.reconstruct(X)).reshape(30, -1)
    np.testing.assert_allclose(rows(data["samples"]["rebuilt"]), drawn, atol=0.6 * step)
    for pose in data["histograms"]["poses"]:
        assert [sum(bars["counts"]) for bars in pose["bars"]] == [30, 30]
    assert all(len(v["bars"]) == 2 for v in data["histograms"]["poses"])


class Sided(Reflection):
    """Flips that are told in words."""

    def bind(self, sample_shape):
        operator = super().bind(sample_shape)
        operator._poses = {"side": np.array(["left", "right"])}
        return operator


def test_poses_may_be_words(monkeypatch):
    X = np.random.default_rng(0).standard_normal((30, 12))
    model = GTPCA(2, Sided(), solver=QUICK, random_state=0).fit(X)
    data = gathered(model, X).data
    (told,), (bars,) = data["points"]["poses"], data["histograms"]["poses"]
    sides = model.poses(model.encode(X))["side"]
    assert told["words"] == bars["words"] == ["left", "right"]
    assert [told["words"][int(i)] for i in numbers(told["values"])] == sides.ravel().tolist()
    assert bars["bars"][1]["counts"][1] == np.sum(sides[:, 1] == "right")
    monkeypatch.setattr(contents, "NAMES", 1)
    assert gathered(model, X).data["points"]["poses"][0]["words"] is None


def test_pca_beside_it(tmp_path, monkeypatch):
    model, X = spikes()
    monkeypatch.setattr(measures, "PCA_VALUES", 30 * 64)
    path = write_page(model, X, tmp_path / "page.html")
    line, found = data_of(path)["energy"]["pca"], measures.uncentred_pca(model, X)
    assert line == {"name": "PCA (uncentred)", "shares": found.shares.tolist()}
    text = path.read_text(encoding="utf-8")
    assert "<em>PCA (uncentred)</em>" in text
    assert "(30 of them)" in text
    path = write_page(GTPCA(2).fit(X), X, tmp_path / "still.html")
    assert data_of(path)["energy"]["pca"] is None
    assert "(uncentred)</em>" not in path.read_text(encoding="utf-8")


def test_samples_are_matched_once(monkeypatch):
    model, X = spikes()
    passes, measure = [], model.measure
    monkeypatch.setattr(model, "measure", lambda rows: passes.append(rows) or measure(rows))
    for name in ("encode", "resmse", "score_samples", "transform"):
        monkeypatch.setattr(model, name, None)
    gathered(model, X)
    assert passes == [X]


def test_rows_of_dask(tmp_path):
    da = pytest.importorskip("dask.array", reason='needs dask: pip install "gtpca[dask]"')
    model, X = spikes()
    here = write_page(model, X, tmp_path / "here.html", check=False)
    there = write_page(model, da.from_array(X, chunks=(11, 64)), tmp_path / "there.html")
    assert data_of(here) == data_of(there)


def test_histogram_of_values_and_of_bins():
    bars = contents.histogram([1, 1, 3], [1, 2, 3])
    assert (bars["x"], bars["counts"], bars["width"]) == ([1, 2, 3], [2, 0, 1], None)
    bars = contents.histogram([0, 99, 99], np.arange(100))
    assert (bars["counts"][0], bars["counts"][-1], sum(bars["counts"])) == (1, 2, 3)


def test_samples_without_energy(tmp_path):
    model, X = spikes()
    data = data_of(write_page(model, np.zeros_like(X), tmp_path / "page.html"))
    assert data["energy"]["explained"] == [0, 0]
    assert not numbers(data["points"]["explained"]).any()


def test_means_of_samples_are_not_shown():
    model, X = spikes(center="samples")
    shown = rows(gathered(model, X + 100).data["samples"]["original"])
    np.testing.assert_allclose(shown, X - X.mean(axis=1, keepdims=True), atol=1e-3)


# --- layouts and packing ---


@pytest.mark.parametrize(
    ("shape", "moved", "drawn", "factor", "hidden"),
    [
        ((50,), (0,), (1, 50), 1, 0),
        ((3, 50), (1,), (3, 50), 1, 0),
        ((50, 64), (0,), (64, 50), 1, 0),
        ((30, 1000), (0,), (64, 30), 1, 936),
        ((20, 30), (0, 1), (20, 30), 1, 0),
        ((3, 20, 30), (1, 2), (20, 30, 3), 1, 0),
        ((20, 30, 4), (0, 1), (41, 61), 1, 0),
        ((20, 12, 12), (1, 2), (51, 51), 1, 4),
        ((9000,), (0,), (1, 1800), 5, 0),
        ((300, 300), (0, 1), (75, 75), 4, 0),
    ],
)
def test_layouts(shape, moved, drawn, factor, hidden):
    layout = layouts.lay_out(choose_view(shape, moved))
    described = layout.described()
    assert (tuple(described["shape"]), described["factor"]) == (drawn, factor)
    assert described["hidden"] == hidden
    assert layout(np.ones((2, *shape))).shape == (2, *drawn)


def test_a_layout_averages_neighbours_and_is_linear():
    layout = layouts.lay_out(choose_view((5001,), (0,)))
    assert layout.factor == 3
    x = np.arange(5001.0)
    np.testing.assert_allclose(layout(x)[0, 0], x.reshape(-1, 3).mean(axis=1))
    np.testing.assert_allclose(layout(2 * x + 1), 2 * layout(x) + layout(np.ones(5001)))


@pytest.mark.parametrize("levels", [256, 2**16])
def test_packed_rows_are_right_to_half_a_step(levels):
    X = np.random.default_rng(0).standard_normal((5, 7)) * [[1], [10], [100], [1e-3], [0]]
    packed = packing.pack_rows(X, levels)
    step = np.ptp(X, axis=1, keepdims=True) / (levels - 1)
    assert np.all(np.abs(rows(packed) - X) <= 0.51 * step + 1e-5 * np.abs(X))


# --- safety ---


def test_strings_cannot_become_markup(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, _ = make_spikes(20, n_times=32, random_state=0)
    frame = pandas.DataFrame(X, columns=[f"{j}{HOSTILE}" for j in range(32)])
    model = GTPCA(1, Shift(8), solver=QUICK, random_state=0).fit(frame)
    labels = [HOSTILE, "fine"] * 10
    hostile = {"labels": labels, "title": HOSTILE, "text": f"{HOSTILE}\n\n{HOSTILE}"}
    path = write_page(model, frame, tmp_path / "page.html", **hostile)
    fine = {"labels": ["a", "b"] * 10, "title": "c", "text": "d\n\ne"}
    plain = write_page(model, frame, tmp_path / "plain.html", **fine)
    tags, expected = (Tags(p.read_text(encoding="utf-8")).tags for p in (path, plain))
    assert [tag for tag, _ in tags] == [tag for tag, _ in expected]
    assert not any(name.startswith("on") for _, attributes in tags for name in attributes)
    data = data_of(path)
    assert data["points"]["labels"][0] == HOSTILE
    assert data["samples"]["names"][0] == f"0{HOSTILE}"


def test_a_text_is_below_the_heading_in_paragraphs(tmp_path):
    model, X = spikes()
    text = "A < B & more,\nin two lines.\r\n\r\n  \n Another paragraph.\n"
    page = write_page(model, X, tmp_path / "page.html", text=text).read_text(encoding="utf-8")
    shown = '<p class="text">A &lt; B &amp; more,\nin two lines.</p>\n'
    assert f'</h1>\n{shown}<p class="text">Another paragraph.</p>\n<p>2 components' in page


def test_json_has_no_sign_of_markup():
    text = packing.safe_json({"a": HOSTILE})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": HOSTILE}


def test_only_the_two_scripts_of_the_page_may_run(tmp_path):
    model, X = spikes()
    page = Tags(write_page(model, X, tmp_path / "page.html").read_text(encoding="utf-8"))
    (policy,) = [a["content"] for tag, a in page.tags if tag == "meta" and "http-equiv" in a]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    allowed = re.findall(r"'sha256-(.*?)'", policy)
    hashes = [base64.b64encode(sha256(s.encode()).digest()).decode() for s in page.scripts]
    assert hashes[1:] == allowed  # the first holds data
    assert not any("src" in a or "href" in a for tag, a in page.tags if tag != "a")


# --- size and samples ---


def test_sixty_thousand_samples_fit(tmp_path):
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.uint8, (60_000, 28, 28))
    X[:] = rng.integers(256, size=(60_000, 28, 1), dtype=np.uint8)
    model = GTPCA(3, Rotation(4), solver=QUICK, random_state=0).fit(np.asarray(X[:200]))
    path = write_page(model, X, tmp_path / "page.html", labels=np.arange(60_000) % 7)
    assert 6e6 < path.stat().st_size < 8e6
    text, data = path.read_text(encoding="utf-8"), data_of(path)
    assert "2,000 of 60,000 samples are shown" in text
    assert sum(data["histograms"]["poses"][0]["bars"][0]["counts"]) == 60_000
    shown, pictures = numbers(data["points"]["number"]), numbers(data["samples"]["rows"])
    assert len(shown) == 2000
    assert f"{len(pictures):,} of these can be looked at" in text
    assert len(pictures) > 1000
    original = rows(data["samples"]["original"]).reshape(-1, 28, 28)
    np.testing.assert_allclose(original, X[shown[pictures]], atol=0.6)


def test_large_samples_and_many_components_fit(tmp_path):
    X = np.random.default_rng(0).standard_normal((300, 120, 90)).astype(np.float32)
    model = GTPCA(40).fit(X)
    path = write_page(model, X, tmp_path / "page.html")
    assert path.stat().st_size < 8e6
    text = path.read_text(encoding="utf-8")
    assert "2 neighbouring points per axis averaged" in text
    assert "32 of 40 components are shown" in text


def test_labels_keep_their_proportions():
    model, X = spikes(400)
    labels = ["rare"] * 40 + ["common"] * 360
    some = gathered(model, X, labels, most=100).data["points"]["labels"]
    assert (some.count("rare"), some.count("common")) == (10, 90)


def test_labels_get_colours_in_their_order_if_they_are_few():
    model, X = spikes()
    points = gathered(model, X, [str(i % 10 + 1) for i in range(40)]).data["points"]
    assert points["classes"] == [str(i + 1) for i in range(10)]
    points = gathered(model, X, [f"{'a' * 90}{i % 2}" for i in range(40)]).data["points"]
    assert points["classes"] == ["a" * 79 + "…"]
    points = gathered(model, X, [str(i) for i in range(40)]).data["points"]
    assert (points["classes"], points["labels"][7]) == ([], "7")


def test_one_sample_is_enough(tmp_path):
    model, X = spikes()
    data = data_of(write_page(model, X[:1], tmp_path / "page.html", labels=["only"]))
    assert data["points"]["labels"] == ["only"]
    np.testing.assert_allclose(rows(data["samples"]["original"]), X[:1], atol=1e-4)


def test_the_seed_chooses_the_samples(tmp_path):
    model, X = spikes(100)
    pages = [
        write_page(model, X, tmp_path / f"{i}.html", max_samples=10, random_state=seed)
        for i, seed in enumerate([0, 0, 1])
    ]
    first, same, other = (page.read_bytes() for page in pages)
    assert first == same
    assert first != other


# --- files and errors ---


def test_a_failed_page_leaves_the_old_one(tmp_path):
    model, X = spikes()
    X = X.copy()
    path = write_page(model, X, tmp_path / "page.html")
    before = path.read_bytes()
    X[-1, 0] = np.nan
    with pytest.raises(ValueError, match="missing values"):
        write_page(model, X, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"model": "pca"}, TypeError, "model='pca' is not a GTPCA"),
        ({"model": GTPCA()}, NotFittedError, "not fitted"),
        ({"labels": ["a", "b"]}, ValueError, r"labels has shape \(2,\), but X has 40 samples"),
        ({"title": 3}, TypeError, "title=3 must be a string"),
        ({"text": ["a"]}, TypeError, r"text=\['a'\] must be a string"),
        ({"max_samples": 0}, ValueError, "max_samples=0 must be an integer of at least 1"),
        ({"X": np.zeros((3, 5, 5))}, ValueError, r"X has samples of shape \(5, 5\)"),
    ],
)
def test_errors_name_the_parameter(options, error, message, tmp_path):
    model, X = spikes()
    given = {"model": model, "X": X, "path": tmp_path / "page.html"} | options
    with pytest.raises(error, match=message):
        write_page(**given)
    assert not list(tmp_path.iterdir())


def test_the_folder_must_exist(tmp_path):
    model, X = spikes()
    with pytest.raises(OSError, match=r"path='.*nowhere.*' must be a file in a folder that exists"):
        write_page(model, X, tmp_path / "nowhere" / "page.html")


@pytest.mark.parametrize("module", ["plotly", "jinja2"])
def test_a_missing_package_is_named(module):
    code = f"""import sys, gtpca.page
assert "plotly" not in sys.modules and "jinja2" not in sys.modules
sys.modules[{module!r}] = None
gtpca.page.write_page(None, None, None)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.strip().rpartition("\n")[2]
    assert last == f'ImportError: {module} is missing: pip install "gtpca[report]"'


def test_gaps_are_packed_beside_what_is_predicted(tmp_path):
    X = spikes()[1]
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.3, np.nan, X)
    model = GTPCA(1, Shift(16), missing="ignore", solver=QUICK, random_state=0).fit(X)
    given = data_of(write_page(model, X, tmp_path / "gaps.html"))["samples"]
    hidden = numbers(given["gaps"]).reshape(X.shape) > 0
    assert np.array_equal(hidden, np.isnan(X))
    original, rebuilt = rows(given["original"]), rows(given["rebuilt"])
    assert np.allclose(original[~hidden], X[~hidden], atol=1e-3)
    assert np.allclose(original[hidden], rebuilt[hidden], atol=1e-3)
    whole = write_page(model, np.nan_to_num(X), tmp_path / "whole.html")
    assert data_of(whole)["samples"]["gaps"] is None

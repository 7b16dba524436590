"""Models as ONNX graphs, run by onnxruntime."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from helpers import QUICK, noise

from gtpca import GTPCA, ProbabilisticGTPCA, Shift
from gtpca.export import to_onnx

pytest.importorskip("onnx", reason="needs onnx: gtpca[onnx]")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime: gtpca[onnx]")


def run(path, X):
    """The outputs of a file, by name."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"x": X.astype(np.float32)}), strict=True))


def check(model, X, path):
    """The codes of the file are those of the model, but for ties; its size."""
    to_onnx(model, path)
    found, codes = run(path, X), model.encode(X.astype(np.float32))
    large = np.linalg.norm(X.reshape(len(X), -1), axis=1)[:, None]
    same = (found["index"] == codes.index).all(axis=1)
    assert same.mean() > 0.97
    np.testing.assert_allclose(
        (found["scores"] / large)[same], (codes.scores / large)[same], atol=1e-5
    )
    # where another transform was taken, the first of them explains as much
    first = np.abs(np.abs(found["scores"]) - np.abs(codes.scores))[:, 0] / large[:, 0]
    assert first.max() < 1e-4
    for name, values in model.poses(codes).items():
        if np.asarray(values).dtype.kind in "biuf":
            np.testing.assert_allclose(found[name][same], values[same], rtol=1e-5)
    return path.stat().st_size


def test_every_family(family_and_shape, tmp_path):
    family, shape = family_and_shape
    X = noise(40, *shape, seed=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = GTPCA(2, family, solver=QUICK, random_state=0).fit(X)
    if model.operator_.continuous is not None:
        with pytest.raises(ValueError, match="poses between the transforms of a list"):
            to_onnx(model, tmp_path / "model.onnx")
        return
    check(model, X, tmp_path / "model.onnx")


@pytest.mark.parametrize(
    "how",
    [
        {"polarity": "positive"},
        {"center": True},
        {"center": "samples"},
        {"feature_weight": np.linspace(0.5, 2, 40)},
    ],
    ids=["positive", "features", "samples", "weighted"],
)
def test_settings(how, tmp_path):
    X = noise(60, 40, seed=3) + 0.4
    check(GTPCA(2, Shift(12), solver=QUICK, random_state=0, **how).fit(X), X, tmp_path / "m.onnx")


def test_a_thousand_windows_in_a_small_file(tmp_path):
    X = noise(1000, 256, seed=4)
    model = GTPCA(3, Shift(64, boundary="partial"), solver=QUICK, random_state=0).fit(X[:200])
    assert check(model, X, tmp_path / "model.onnx") < 100_000


def test_errors_say_what_would_work(tmp_path):
    X = noise(40, 24, seed=5)
    shared = GTPCA(2, Shift(8), shared_pose=True, solver=QUICK, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"shared_pose=True .* use model.encoder\(\)"):
        to_onnx(shared, tmp_path / "model.onnx")
    swept = GTPCA(2, Shift(8), refine=1, solver=QUICK, random_state=0).fit(X)
    with pytest.raises(ValueError, match="refine cannot be exported"):
        to_onnx(swept, tmp_path / "model.onnx")
    density = ProbabilisticGTPCA(0, Shift(8), shrink=False, max_iter=200, tol=0.1).fit(X)
    with pytest.raises(TypeError, match="only a GTPCA can be exported"):
        to_onnx(density, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())

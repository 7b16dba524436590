"""Whether models that an earlier version saved still give the same answers, to which digit.

The earlier version fits and saves small models of many kinds and writes down what they answer; this
checkout loads the files and answers again. Where bits differ, it is by how many units of rounding
(eps of the rows' type, times the largest number of the answer), and how far the scores of both are
from the exact ones, which are computed from the definition in extended precision.

Run: python benchmarks/old_models.py OLD     a folder of a checkout, or a revision of git

Writes old_models.json beside this file. Takes about a minute.
"""

from __future__ import annotations

import json
import pickle
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from same_results import HERE, ROOT, python, sources

import gtpca
from gtpca import ALS, GTPCA, Compose, Reflection, Rotation, Scaling, Shift, TimeWarp

PARTIAL = Shift(40, boundary="partial")
CASES = {
    "inside": (Shift(60), (200,), {}),
    "few offsets": (Shift(60), (70,), {}),
    "crop": (Shift(90), (64,), {}),
    "partial": (PARTIAL, (128,), {}),
    "partial, long": (Shift(400, boundary="partial"), (600,), {}),
    "partial, upright": (PARTIAL, (100,), {"polarity": "positive"}),
    "partial, refined": (PARTIAL, (100,), {"refine": 2}),
    "partial, weighted": (PARTIAL, (100,), {"feature_weight": np.linspace(0.5, 1.5, 100)}),
    "partial, one pose": (PARTIAL, (100,), {"shared_pose": True}),
    "partial, channels": (Shift(60, axes=1, boundary="partial"), (3, 100), {}),
    "max_shift": (Shift(40, max_shift=7), (100,), {}),
    "circle of 64": (Shift(boundary="circular"), (64,), {}),
    "circle of 427": (Shift(boundary="circular"), (427,), {}),
    "circle of 131": (Shift(boundary="circular"), (131,), {}),
    "channels": (Shift(40, axes=1), (3, 100), {}),
    "refined": (Shift(40), (100,), {"refine": 2}),
    "centred": (Shift(40), (100,), {"center": True}),
    "samples centred": (Shift(40), (100,), {"center": "samples"}),
    "weighted": (Shift(40), (100,), {"feature_weight": np.linspace(0.5, 1.5, 100)}),
    "one pose": (Shift(40), (100,), {"shared_pose": True}),
    "image": (Shift((9, 9)), (28, 28), {}),
    "image, partial": (Shift((15, 15), boundary="partial"), (20, 20), {}),
    "image, torus": (Shift((16, 16), boundary="circular"), (16, 16), {}),
    "large image": (Shift((100, 100)), (150, 150), {}),
    "rotation": (Rotation(12), (14, 14), {}),
    "time warp": (TimeWarp(), (50,), {}),
    "scaling": (Scaling(axes=(0, 1)), (16, 16), {}),
    "shift of flips": (Compose(Shift((8, 8)), Reflection(0)), (12, 12), {}),
    "shift of turns": (Compose(Shift((8, 8)), Rotation([0.0, 90.0, 180.0, 270.0])), (12, 12), {}),
    "curve of flips": (Compose(Shift(40), Reflection()), (64,), {}),
    "PCA": (None, (30,), {}),
}
TYPES = (np.float64, np.float32)


def rows(shape, dtype, n=40):
    """Smooth noise."""
    X = np.random.default_rng(0).standard_normal((n, *shape))
    for axis in range(1, X.ndim):
        if X.shape[axis] > 3:
            X = (X + np.roll(X, 1, axis) + np.roll(X, 2, axis)) / 2
    return X.astype(dtype)


def answers(model, X):
    """All that a model says of samples, by method."""
    codes = model.encode(X)
    poses = {f"poses {name}": values for name, values in model.poses(codes).items()}
    return poses | {
        "index": codes.index,
        "transform": model.transform(X),
        "decode": model.decode(codes),
        "reconstruct": model.reconstruct(X),
        "align": np.stack([model.align(X), model.align(X, component=1)]),
        "inverse_transform": model.inverse_transform(model.transform(X)),
        "resmse": model.resmse(X),
        "score_samples": model.score_samples(X),
    }


def each_case(folder, answer):
    """``answer(file, family, rows, options)`` of every case, by name."""
    for name, (family, shape, options) in CASES.items():
        for dtype in TYPES:
            label = f"{name}, {np.dtype(dtype).name}"
            path = Path(folder, label.replace(" ", "-") + ".gtpca")
            yield label, answer(path, family, rows(shape, dtype), options)


def write(folder):
    """Fit, save and answer with the library that is imported: the earlier one."""
    solver = ALS(n_init=2, max_iter=5)

    def answer(path, family, X, options):
        model = GTPCA(3, family, solver=solver, random_state=0, **options).fit(X)
        model.save(path)
        return answers(model, X)

    with open(Path(folder, "answers.pickle"), "wb") as file:
        pickle.dump(dict(each_case(folder, answer)), file)


def read(folder):
    """What differs, by case: see :func:`difference`."""
    with open(Path(folder, "answers.pickle"), "rb") as file:
        before = iter(pickle.load(file).values())

    def answer(path, family, X, options):
        model, old = gtpca.load(path), next(before)
        new, eps = answers(model, X), float(np.finfo(X.dtype).eps)
        differ = {name: difference(old[name], new[name], eps) for name in old}
        differ = {name: value for name, value in differ.items() if value != 0}
        if "transform" in differ and not (model.shared_pose or model.refine):
            exact = exact_scores(model, X, old["index"])
            for which, found in (("old", old), ("new", new)):
                differ[f"error of {which}"] = difference(exact, found["transform"], eps)
        return differ

    return dict(each_case(folder, answer))


def difference(old, new, eps):
    """0: the same bits; else the largest difference in units of rounding of the largest entry."""
    old, new = np.asarray(old), np.asarray(new)
    if old.dtype == new.dtype and old.tobytes() == new.tobytes():
        return 0
    return float(f"{float(np.abs(old - new).max() / np.abs(old).max()) / eps:.2g}")


def exact_scores(model, X, index):
    """``s_k = <r, T w_k> / |T w_k|`` in given poses, with the residual ``r`` of those before."""
    operator, R = model.operator_, X.reshape(len(X), -1).astype(np.longdouble)
    scores = np.empty(index.shape, np.longdouble)
    for k, w in enumerate(model.components_.reshape(len(model.components_), -1)):
        moved = operator.apply_at(w, index[:, k]).astype(np.longdouble)
        moved /= np.sqrt(np.sum(moved**2, axis=1, keepdims=True))
        scores[:, k] = np.sum(R * moved, axis=1)
        R = R - scores[:, k, None] * moved
    return scores


def main(old):
    with sources(old) as source, tempfile.TemporaryDirectory() as folder:
        python(source, __file__, "--write", folder)
        found = json.loads(python(ROOT / "src", __file__, "--read", folder))
    lines = [f' "{name}": {json.dumps(differ)}' for name, differ in found.items()]
    Path(HERE, "old_models.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    same = sum(not differ for differ in found.values())
    print(f"{len(found)} models, {same} with the same bits")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1] == "--write":
        write(sys.argv[2])
    elif sys.argv[1] == "--read":
        json.dump(read(sys.argv[2]), sys.stdout)
    else:
        main(sys.argv[1])

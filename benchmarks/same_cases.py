"""The cases of same_results.py, run on the library that is imported.

Run: python benchmarks/same_cases.py SOURCE FOLDER [TEXT]

Writes the hashes of all results to standard output, as JSON: for each case whose name holds TEXT
and each of its results; their numbers go to values.pickle in FOLDER, which is for files of cases
too. SOURCE is where the library must have come from.

Only what both versions have can be used here: the public interface, by names that have not changed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import pickle
import sys
import traceback
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import gtpca
from gtpca import ALS, GTPCA, Compose, Reflection, Shift

ROOT = Path(__file__).resolve().parent.parent


def listed_families():
    """``ALL_FAMILIES`` of the tests of this checkout, for both versions.

    Samples are judged everywhere: earlier versions know no other domain.
    """
    sys.path.append(str(ROOT / "tests"))  # for what conftest.py imports
    spec = importlib.util.spec_from_file_location("listed", ROOT / "tests" / "conftest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for family, _ in module.ALL_FAMILIES.values():
        names = [name for name in family.get_params() if name.rpartition("__")[2] == "domain"]
        family.set_params(**dict.fromkeys(names, "all"))
    return module.ALL_FAMILIES


# --- data, and what is compared ---


def planted(family, shape, n=40, dtype=np.float64, seed=0):
    """Three templates in random poses, noise, and a row of zeros; (n, *shape)."""
    operator = family.bind(shape)
    rng = np.random.default_rng(seed)
    X = 0.2 * rng.standard_normal((n, operator.n_features))
    for w in np.random.default_rng(99).standard_normal((3, operator.n_weights)):
        index = rng.integers(operator.n_transforms, size=n)
        X += rng.standard_normal((n, 1)) * operator.apply(w)[index]
    X[3] = 0
    return X.reshape(n, *shape).astype(dtype)


def sample_weights(n):
    """Some of them zero."""
    return np.maximum(np.random.default_rng(7).uniform(-0.3, 2, n), 0)


def feature_weights(shape):
    """Some of them zero."""
    return np.maximum(np.random.default_rng(8).uniform(-0.2, 1, shape), 0)


def results(model, X):
    """All that a fitted model says of itself and of the rows ``X``.

    With the signs for which the largest entry of each component is positive, whatever those that
    were kept: both versions then agree where nothing but signs differ.
    """
    codes, output = model.encode(X), model.transform(X)
    signs = largest_signs(model.components_)
    both = {"scores": codes.scores * signs + 0.0, "index": codes.index, "poses": model.poses(codes)}
    both |= {name: getattr(model, name) for name in FITTED}
    both["components_"] = (model.components_.T * signs).T
    last, turned = model.n_components_ - 1, np.ones(output.shape[1])
    turned[: len(signs)] = signs
    return both | {
        "transform": output * turned + 0.0,  # no negative zeros
        "inverse_transform": model.inverse_transform(output),
        "decode": model.decode(codes),
        "align": [model.align(X), model.align(X, component=last)],
        "resmse": model.resmse(X),
        "score_samples": model.score_samples(X),
    }


def largest_signs(components):
    """The sign of the entry of each component that is largest in size, (k,)."""
    flat = components.reshape(len(components), -1)
    largest = flat[np.arange(len(flat)), np.abs(flat).argmax(axis=1)]
    return np.where(largest < 0, -1.0, 1.0)


FITTED = (
    "components_",
    "explained_energy_",
    "explained_energy_ratio_",
    "n_components_",
    "n_iter_",
    "history_",
    "mean_",
    "sample_shape_",
)


def digest(value) -> str:
    """Hash of type, shape and bytes of an array, or of everything in a list or dict."""
    if isinstance(value, dict):
        value = [part for item in sorted(value.items()) for part in item]
    if isinstance(value, (list, tuple)):
        return hashlib.sha256(" ".join(map(digest, value)).encode()).hexdigest()
    array = np.asarray(value)
    content = repr(array).encode() if array.dtype == object else array.tobytes()
    return hashlib.sha256(f"{array.dtype} {array.shape} ".encode() + content).hexdigest()


# --- fits to rows in memory ---

# One or two families of every kind of operator.
SOME = (
    "identity",
    "shift-placed",
    "shift-2d-mixed",
    "shift-circular",
    "scaling",
    "shift-crop",
    "shift-partial",
    "shift-channels-first",
    "rotation",
    "custom",
    "compose-shift-rotation",
    "compose-crop-reflection",
)
SLOW = ("compose-crop-warp", "compose-rotation-shift")
QUICK = ALS(n_init=4, max_iter=20)
SHARED = {"shared_pose": True, "n_components": 3}
VARIANTS = {
    "refine": {"refine": 1},
    "centred": {"center": True},
    "centred-samples": {"center": "samples"},
    "feature-weight": {"feature_weight": True},
    "sample-weight": {"sample_weight": True},
    "share": {"n_components": 0.6},
    "batches": {"batch_size": 15, "n_jobs": 2},
    "all": {"refine": 1, "center": True, "feature_weight": True, "output": "scores+poses"},
}
POSITIVE = {
    "positive": {"polarity": "positive"},
    "positive-all": {"polarity": "positive", "refine": 1, "center": True, "sample_weight": True},
}


def fitted(of, n=40, dtype=np.float64, **options):
    """Results of a fit to planted rows; ``of`` is a family and a shape."""
    return fitted_to(planted(*of, n, dtype), of, **options)


def fitted_to(X, of, sample_weight=False, **options):
    """Results of a fit to ``X``, on other rows of the same kind."""
    weight = sample_weights(len(X)) if sample_weight else None
    return results(new_model(of, **options).fit(X, sample_weight=weight), like(X, of))


def new_model(of, feature_weight=False, **options):
    """A model with few starts and passes, unless the options say otherwise."""
    family, shape = of
    weight = feature_weights(shape) if feature_weight else None
    usual = {"n_components": 2, "random_state": 0, "solver": QUICK}
    once = {"n_restarts": 1}  # earlier versions do not decide by themselves
    return GTPCA(family=family, feature_weight=weight, **once | usual | options)


def like(X, of):
    """New rows, of the type of ``X`` and flat where those are."""
    return planted(*of, 25, X.dtype, seed=1).reshape(-1, *X.shape[1:])


def family_cases(families, folder):
    for i, (name, of) in enumerate(families.items()):
        solver = QUICK if name in SLOW else None
        yield f"family/{name}", partial(fitted, of, solver=solver)
        yield f"family/{name}/float32", partial(fitted, of, dtype=np.float32)
        if name not in SLOW:
            dtype = (np.float64, np.float32)[i % 2]
            yield f"shared/{name}/{dtype.__name__}", partial(fitted, of, dtype=dtype, **SHARED)


def variant_cases(families, folder):
    for name in SOME:
        for variant, options in (VARIANTS | POSITIVE).items():
            yield f"variant/{variant}/{name}", partial(fitted, families[name], **options)
    for name in SOME[1::2]:
        for variant, options in VARIANTS.items():
            case = partial(fitted, families[name], **SHARED | options)
            yield f"variant/{variant}/{name}/shared", case


def size_cases(families, folder):
    """Enough rows for each of the subsamples on which a search goes on."""
    sizes = {"shift-placed": (700, 2500, 17_000), "shift-crop": (700, 17_000), "rotation": (2500,)}
    sizes |= {"custom": (17_000,), "identity": (17_000,)}
    for name, counts in sizes.items():
        for n in counts:
            case = partial(fitted, families[name], n, np.float32)
            yield f"size/{name}/{n}", partial(case, solver=None)
            yield f"size/{name}/{n}/shared", partial(case, **SHARED)
    case = partial(fitted, families["shift-placed"], 17_000, sample_weight=True)
    yield "size/weights", partial(case, center=True, refine=1, n_jobs=2)
    yield "size/weights/shared", partial(case, center=True, **SHARED)


def window_cases(families, folder):
    """Windows of which few rows see a part only; and one that must stay inside the sample."""
    windows = {"curve": (Shift(40), (16,)), "channels": (Shift(50, axes=0), (16, 2))}
    windows |= {"image": (Shift((15, 14)), (8, 9)), "inside": (Shift(20), (40,))}
    windows["composed"] = (Compose(Shift(40), Reflection()), (16,))
    for name, of in windows.items():
        for n in (6, 100):
            yield f"window/{name}/{n}", partial(fitted, of, n, solver=None)
            yield f"window/{name}/{n}/centred", partial(fitted, of, n, center=True)
            yield f"window/{name}/{n}/shared", partial(fitted, of, n, **SHARED)


def input_cases(families, folder):
    """Flat rows, integers, other orders of axes, and a generator as random state."""
    of = families["shift-2d-mixed"]
    X = planted(*of)
    flat = partial(fitted_to, X.reshape(len(X), -1), of, sample_shape=of[1])
    yield "input/flat", flat
    yield "input/flat-poses", partial(flat, output="scores+poses")
    yield "input/integers", partial(fitted_to, np.round(50 * X).astype(np.int16), of)
    yield "input/fortran", partial(fitted_to, np.asfortranarray(X), of)
    yield "input/generator", lambda: fitted_to(X, of, random_state=np.random.RandomState(5))
    yield "input/changed", partial(changed, of, X)


def changed(of, X):
    """Parameters that count after a fit too."""
    model = new_model(of, refine=1).fit(X)
    return [results(model.set_params(**o), X) for o in ({"refine": 0}, {"output": "scores+poses"})]


# --- rows that are read in pieces ---

PIECES = {
    "plain": {},
    "refine": {"refine": 1, "center": True},
    "weights": {"sample_weight": True, "feature_weight": True, "n_jobs": 2},
    "shared": SHARED | {"center": "samples"},
}


def piece_cases(families, folder):
    for name in ("shift-placed", "shift-crop", "custom", "identity"):
        for residual in ("memory", "scratch", "recompute"):
            for extra, options in PIECES.items():
                case, where = partial(in_pieces, families[name], residual), {"folder": folder}
                yield f"memmap/{name}/{residual}/{extra}", partial(case, mapped, **where | options)
                if importlib.util.find_spec("dask") and residual != "scratch":
                    yield f"dask/{name}/{residual}/{extra}", partial(case, chunked, **options)


def in_pieces(of, residual, put, folder=None, sample_weight=False, **options):
    """A fit to rows that ``put`` has put elsewhere, and the results of these rows."""
    X = put(planted(*of, 150, np.float32), folder)
    weight = sample_weights(150) if sample_weight else None
    model = new_model(of, residual=residual, batch_size=40, **options)
    return results(model.fit(X, sample_weight=weight), X)


def mapped(X, folder):
    np.save(folder / "rows.npy", X)
    return np.load(folder / "rows.npy", mmap_mode="r")


def chunked(X, folder):
    import dask.array

    return dask.array.from_array(X, chunks=(35, *X.shape[1:]))


# --- streams ---

STREAMS = {
    "plain": {},
    "horizon": {"horizon": 150},
    "centred": {"center": True},
    "centred-horizon": {"center": True, "horizon": 150, "feature_weight": True},
    "refine": {"refine": 1},
    "positive": {"polarity": "positive", "batch_size": 30},
    "shared": SHARED,
    "shared-centred": SHARED | {"center": True, "horizon": 150},
}


def stream_cases(families, folder):
    for name in ("shift-placed", "shift-crop", "custom", "identity"):
        for kind, options in STREAMS.items():
            if (name, "shared_pose" in options) == ("identity", True):
                continue  # raised an error before
            case = partial(stream, families[name], **options)
            yield f"stream/{name}/{kind}/kept", partial(case, (60, 60, 90, 1))
            yield f"stream/{name}/{kind}/not-kept", partial(case, (1100, 80, 120))
            yield f"stream/{name}/{kind}/after-fit", partial(case, (50, 50), n_fitted=60)
    case = partial(stream, families["shift-placed"])
    yield "stream/dropped", partial(case, (500, 500, 100))
    yield "stream/files", partial(case, (60, 60, 90, 1), path=folder / "stream.gtpca")


def stream(of, sizes, n_fitted=0, path=None, gaps=False, **options):
    """Results after every batch, of which every other is in float32 and weighted."""
    model, found = new_model(of, **options), []
    change = holed if gaps else np.asarray
    if n_fitted:
        model.fit(planted(*of, n_fitted, seed=5))
    for i, n in enumerate(sizes):
        X = change(planted(*of, n + 4, (np.float64, np.float32)[i % 2], seed=10 + i)[4:])
        model.partial_fit(X, sample_weight=sample_weights(n) + 0.1 if i % 2 else None)
        found.append({"n_samples_seen_": model.n_samples_seen_} | results(model, like(X, of)))
        model = model if path is None else from_file(model, path)
    return found


# --- model files ---


def file_cases(families, folder):
    (folder / "old").mkdir(exist_ok=True)
    for name in SOME:
        yield f"file/{name}", partial(filed, families[name], folder / "own.gtpca")
        # Written by the old version, which runs first, and read by both.
        old = folder / "old" / f"{name}.gtpca"
        yield f"file/{name}/of-old", partial(filed, families[name], old, keep=True)
    for path in sorted((ROOT / "tests" / "files").glob("model-v[12]-*.gtpca")):
        yield f"file/{path.stem}", partial(committed, path)


def filed(of, path, keep=False):
    """Results of a model from a file, which is written unless it is there and to be kept."""
    if not (keep and path.exists()):
        new_model(of, center=True, feature_weight=True).fit(planted(*of)).save(path)
    return results(gtpca.load(path), planted(*of, seed=1))


def committed(path):
    model = gtpca.load(path)
    X = np.sin(np.arange(4 * model.n_features_in_) ** 1.3).reshape(4, *model.sample_shape_)
    return results(model, X)


def from_file(model, path):
    model.save(path)
    return gtpca.load(path)


# --- torch ---

NETWORKS = {"plain": {}, "all": {"center": True, "feature_weight": True, "polarity": "positive"}}
SCHEDULE = {"epochs": 2, "steps_per_epoch": 4, "batch_size": 8}


def torch_cases(families, folder):
    if importlib.util.find_spec("torch") is None:
        return
    for name in ("identity", "shift-placed", "shift-crop", "rotation", "compose-shift-reflection"):
        for kind, options in NETWORKS.items():
            for case in (by_adam, by_network, converted):
                label = f"torch/{case.__name__}/{name}/{kind}"
                yield label, partial(case, families[name], **options)


def by_adam(of, **options):
    from gtpca.nn import Adam

    return fitted(of, sample_weight=True, solver=Adam(**SCHEDULE), **options)


def by_network(of, feature_weight=False, center=False, **options):
    """A network that is trained; it centres each sample."""
    from gtpca.nn import GTPCNetwork

    X = planted(*of, dtype=np.float32)
    options["center"] = "samples" if center else False
    options["feature_weight"] = feature_weights(of[1]) if feature_weight else None
    network = GTPCNetwork(2, *of, random_state=0, **options)
    return network_results(network.fit(X, **SCHEDULE, random_state=1), X)


def converted(of, **options):
    """To a network and back, and on with a batch."""
    from gtpca.nn import GTPCNetwork

    X = planted(*of)
    network = GTPCNetwork.from_estimator(new_model(of, **options).fit(X))
    found = network_results(network, X)
    return [found, results(network.to_estimator().partial_fit(planted(*of, seed=3)), X)]


def network_results(network, X):
    import torch

    with torch.no_grad():
        x = torch.from_numpy(X)
        found = [*network.encode(x), network(x)]
    return {"network": [t.numpy() for t in found]} | results(network.to_estimator(), X)


# --- gaps, densities, and noise that is not white ---

GAPS = {"plain": {}, "refine": {"refine": 1, "center": True}, "shared": SHARED}
DENSITIES = {
    "soft": {},
    "hard": {"em": "hard"},
    "features": {"noise": "features"},
    "hard-features": {"em": "hard", "noise": "features"},
    "learned": {"prior": "learned"},
}


def gap_cases(families, folder):
    for name in SOME[1:]:
        for kind, options in GAPS.items():
            yield f"gaps/{kind}/{name}", partial(with_gaps, families[name], **options)
    case = partial(with_gaps, families["shift-crop"], dtype=np.float32)
    yield "gaps/float32/shift-crop", case
    for name in ("shift-placed", "shift-crop", "custom"):
        case = partial(stream, families[name], (60, 60, 90), gaps=True, missing="ignore")
        yield f"gaps/stream/{name}", case
        yield f"gaps/stream/{name}/shared", partial(case, **SHARED)


def with_gaps(of, dtype=np.float64, **options):
    """Results of a fit to planted rows of which a fifth is hidden."""
    X, new = (holed(planted(*of, n, dtype, seed)) for n, seed in ((40, 0), (25, 1)))
    model = new_model(of, missing="ignore", **options).fit(X)
    return results(model, new) | {"impute": model.impute(new)}


def holed(X):
    """The rows with NaN at a fifth of their values."""
    return np.where(np.random.default_rng(3).random(X.shape) < 0.2, np.nan, X)


def density_cases(families, folder):
    for name in ("shift-placed", "shift-crop", "shift-circular", "rotation", "scaling"):
        for kind, options in DENSITIES.items():
            yield f"density/{kind}/{name}", partial(density, families[name], **options)
            if kind in ("soft", "features"):
                case = partial(density, families[name], gaps=True, missing="ignore", **options)
                yield f"density/{kind}/{name}/gaps", case
    for name in ("shift-placed", "shift-circular"):
        for shared in ({}, SHARED):
            case = partial(fitted, families[name], noise="stationary", **shared)
            yield f"coloured/{name}{'/shared' if shared else ''}", case
        yield f"coloured/{name}/density", partial(density, families[name], noise="stationary")


def density(of, gaps=False, **options):
    """Results of the fit of a density."""
    change = holed if gaps else np.asarray
    X, new = change(planted(*of)), change(planted(*of, 25, seed=1))
    model = gtpca.ProbabilisticGTPCA(2, of[0], max_iter=12, random_state=0, **options).fit(X)
    codes = model.encode(new)
    return {
        "components_": model.components_,
        "noise_variance_": model.noise_variance_,
        "history_": model.history_,
        "scores": codes.scores,
        "index": codes.index,
        "decode": model.decode(codes),
        "score_samples": model.score_samples(new),
    }


# --- all of them ---

PARTS = (
    family_cases,
    variant_cases,
    size_cases,
    window_cases,
    input_cases,
    piece_cases,
    stream_cases,
    file_cases,
    torch_cases,
    gap_cases,
    density_cases,
)


def main(source, folder, only=""):
    """Hashes of all cases with the library that is imported here, as JSON on standard output.

    The numbers themselves go to ``values.pickle`` in the folder.
    """
    if not Path(gtpca.__file__).is_relative_to(source):
        sys.exit(f"{gtpca.__file__} was imported, but the sources are in {source}.")
    warnings.simplefilter("ignore")
    families = listed_families()
    cases = dict(case for part in PARTS for case in part(families, Path(folder)))
    hashes, values = {}, {}
    for name, case in cases.items():
        if only in name:
            found = outcome(case)
            hashes[name] = found if "error" in found else {k: digest(v) for k, v in found.items()}
            values[name] = {part: numbers(value) for part, value in found.items()}
    Path(folder, "values.pickle").write_bytes(pickle.dumps(values))
    json.dump(hashes, sys.stdout)


def outcome(case) -> dict[str, Any]:
    """The results of a case by name, or the error that it raised."""
    try:
        found = case()
    except Exception as error:
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"}
    found = found if isinstance(found, list) else [found]
    return {
        f"{name}[{i}]" if len(found) > 1 else name: value
        for i, each in enumerate(found)
        for name, value in each.items()
    }


def numbers(value) -> np.ndarray:
    """All numbers of an array, or of everything in a list or dict, in one row."""
    if isinstance(value, dict):
        value = [part for _, part in sorted(value.items())]
    if isinstance(value, (list, tuple)):
        return np.concatenate([np.zeros(0), *map(numbers, value)])
    array = np.asarray(value)
    return array.astype(np.float64).ravel() if array.dtype.kind in "biuf" else np.zeros(0)


if __name__ == "__main__":
    main(*sys.argv[1:])

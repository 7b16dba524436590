"""What several test files use: a quick solver, groups, poses by hand, samples."""

from __future__ import annotations

import tracemalloc
from importlib.util import find_spec

import numpy as np
import pytest

from gtpca import ALS, Compose, Reflection, Rotation, Shift
from gtpca.testing import make_planted

BAD = (ValueError, TypeError)
needs_callbacks = pytest.mark.skipif(
    find_spec("sklearn.callback") is None, reason="needs scikit-learn 1.9"
)
QUICK = ALS(n_init=2, max_iter=10)
GROUPS = {
    "circular": (Shift(boundary="circular"), (7,)),
    "circular-even": (Shift(boundary="circular"), (8,)),
    "circular-channels": (Shift(boundary="circular", axes=-1), (2, 8)),
    "circular-images": (Shift(boundary="circular", axes=(0, 1)), (5, 4)),
    "right-angles": (Rotation(4), (4, 4)),
    "right-angles-odd": (Rotation(4), (5, 5)),
    "half-turn-oblong": (Rotation([0, 180]), (4, 5)),
    "flip": (Reflection(), (9,)),
    "flips": (Reflection((0, 1)), (4, 5)),
    "dihedral": (Compose(Rotation(4), Reflection(0)), (5, 5)),
    "all": (Compose(Shift(boundary="circular", axes=(0, 1)), Rotation(4), Reflection(0)), (4, 4)),
    "other-order": (Compose(Rotation(4), Shift(boundary="circular", axes=(0, 1))), (4, 4)),
}


def memory(function):
    """Largest number of bytes in use while ``function`` runs."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def shown(family, w, shape):
    """What weights look like in every pose: the poses, one dict per transform, and the samples."""
    w = np.asarray(w, dtype=float)
    operator = family.bind(shape)
    assert operator.weight_shape == w.shape
    columns = operator.describe(np.arange(operator.n_transforms))
    poses = [{name: v[t] for name, v in columns.items()} for t in range(operator.n_transforms)]
    return poses, operator.apply(w.ravel()).reshape(-1, *shape)


def by(name, family, w, shape):
    """Samples as a dict over one pose column."""
    poses, samples = shown(family, w, shape)
    assert len({pose[name] for pose in poses}) == len(poses)
    return {float(pose[name]): s.tolist() for pose, s in zip(poses, samples, strict=True)}


def in_pose(family, w, shape, **pose):
    """The one sample with this pose."""
    poses, samples = shown(family, w, shape)
    fits = [t for t, p in enumerate(poses) if all(p[name] == v for name, v in pose.items())]
    assert len(fits) == 1, f"{len(fits)} transforms with {pose} among {poses}"
    return samples[fits[0]]


def noise(*shape, seed=0):
    """White noise."""
    return np.random.default_rng(seed).standard_normal(shape)


def two_planted(family, shape, n):
    """The sum of two components in random poses and a little noise, (n, *shape)."""
    operator = family.bind(shape)
    return sum(make_planted(operator, n, random_state=s)[0] for s in range(2))


def poisoned(X, value):
    """A copy with one bad entry."""
    X = X.copy()
    X.flat[7] = value
    return X


def falling_scales(n=200, d=30, seed=0):
    """Rows (n, d) with a mean, whose features have falling scales."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * np.linspace(3, 0.1, d) + rng.standard_normal(d)

"""The walk of an array through a fit and others: which file calls what in which other.

Every call of a function of gtpca is seen by ``sys.setprofile``. Its caller is the nearest function
of gtpca below it on the stack: what scikit-learn, joblib and NumPy do between the two is left out.
A change of file is a pair (file of the caller, function called in another file); each counts once.

Run: python benchmarks/trace_walk.py [NAME ..] [--components 1] [--quiet]

NAME    fit, transform, gaps, shared, density, choose; all of them by default
"""

from __future__ import annotations

import argparse
import sys
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
from sklearn.base import clone

import gtpca
from gtpca import GTPCA, ProbabilisticGTPCA, Shift
from gtpca.diagnostics import choose

ROOT = Path(gtpca.__file__).parent.as_posix() + "/"


def file_of(frame):
    """The file of a frame, from the package on; None outside of it."""
    path = Path(frame.f_code.co_filename).as_posix()
    return path.removeprefix(ROOT) if path.startswith(ROOT) else None


def files_below(frame):
    """The files of gtpca on the stack below a frame, the nearest first."""
    while frame := frame.f_back:
        if file := file_of(frame):
            yield file


def depth_of(files):
    """How often the file changes on a stack."""
    return sum(a != b for a, b in pairwise(files))


def trace(action):
    """Changes of file during ``action()``, in the order of the first call.

    Returns
    -------
    dict of (caller, file, function) to depth
        The caller is None for what was called from outside.
    """
    walk = {}

    def note(frame, event, _):
        if event != "call" or not (file := file_of(frame)):
            return
        step = (next(files_below(frame), None), file, frame.f_code.co_qualname)
        if step[0] != file and step not in walk:
            walk[step] = depth_of([file, *files_below(frame)])

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return walk


def packages(walk):
    """The packages that are visited; the modules beside them are "root"."""
    return {file.partition("/")[0] if "/" in file else "root" for _, file, _ in walk}


def walks(n_components=1):
    """What 200 noisy series walk through, by name."""
    X = np.random.default_rng(0).standard_normal((200, 64))
    holed = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    model = GTPCA(n_components, Shift(16), random_state=0)
    fitted = clone(model).fit(X)
    gaps = GTPCA(n_components, Shift(16), missing="ignore", random_state=0)
    shared = GTPCA(2, Shift(16), shared_pose=True, random_state=0)
    density = ProbabilisticGTPCA(1, Shift(16), random_state=0)
    return {
        "fit": lambda: model.fit(X),
        "transform": lambda: fitted.transform(X),
        "gaps": lambda: gaps.fit(holed),
        "shared": lambda: shared.fit(X),
        "density": lambda: density.fit(X),
        "choose": lambda: choose(X, "shift", windows=(12, 20), n_components=1, random_state=0),
    }


def lines(name, walk):
    """How many steps there are, and each of them, further in the more files are below it.

    A step that was listed before is not listed again; what it calls later says where it is from.
    """
    visited = sorted(packages(walk))
    yield f"{name}: {len(walk)} changes of file, {len(visited)} packages: {', '.join(visited)}"
    above: list[str] = []
    for (caller, file, function), depth in walk.items():
        del above[depth:]
        origin = f" (from {caller})" if above and above[-1] != caller else ""
        yield f"{'  ' * (depth + 1)}{file}: {function}{origin}"
        above.append(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--components", type=int, default=1)
    parser.add_argument("--quiet", action="store_true", help="only the counts")
    given = parser.parse_args()
    known = walks(given.components)
    warnings.simplefilter("ignore")  # there is nothing in noise
    for name in given.names or known:
        walk = trace(known[name])
        print("\n".join(list(lines(name, walk))[: 1 if given.quiet else None]))


if __name__ == "__main__":
    main()

"""The walk of one array through ``fit`` and ``transform``: which file calls what in which other.

Every call of a function of gtpca is seen by ``sys.setprofile``. Its caller is the nearest function
of gtpca below it on the stack: what scikit-learn, joblib and NumPy do between the two is left out.
A change of file is a pair (file of the caller, function called in another file); each counts once.

Run: python benchmarks/trace_walk.py [--components 1] [--quiet]
"""

from __future__ import annotations

import argparse
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

import gtpca
from gtpca import GTPCA, Shift

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
    """The walks of 200 noisy series through ``fit`` and ``transform``, by name."""
    X = np.random.default_rng(0).standard_normal((200, 64))
    model = GTPCA(n_components, Shift(16), random_state=0)
    return {"fit": trace(lambda: model.fit(X)), "transform": trace(lambda: model.transform(X))}


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
    parser.add_argument("--components", type=int, default=1)
    parser.add_argument("--quiet", action="store_true", help="only the counts")
    given = parser.parse_args()
    for name, walk in walks(given.components).items():
        print("\n".join(list(lines(name, walk))[: 1 if given.quiet else None]))


if __name__ == "__main__":
    main()

"""Reads mutated files in a process of its own, so that a crash can be counted.

    python fuzzing.py models|data|KIND FOLDER FIRST LAST

``data`` takes the kinds of files in turn. Case ``i`` is always the same file. Each line of output
is the number of the case that comes next, and at the end what was found, as JSON: errors, loads,
and failures (anything that is neither a clear error nor a sound result).
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import resource
import shutil
import signal
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import samples

import gtpca
from gtpca.readers import read_data

SECONDS = 10  # a case that takes longer hangs
ROOM = 2**30  # bytes that the process may grow by
FORBIDDEN = {"os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "pickle.find_class"}
FORBIDDEN |= {"socket.connect", "os.remove", "os.rename"}
LOCK = ".tsv.lock", ".json.lock"  # which mne-bids puts beside what it reads, and takes away
HUGE = ("fit into memory", "more memory")


def mutate(data: bytes, rng) -> bytes:
    """A few of: flipped bits, cut, inserted, repeated, zeroed, swapped and extreme bytes."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        if not data:
            break
        a, b = sorted(rng.integers(0, len(data), 2).tolist())
        b = min(b, a + int(rng.integers(1, 40)))
        kind = rng.integers(8)
        if kind == 0:
            for _ in range(rng.integers(1, 9)):
                data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del data[int(rng.integers(len(data))) :]
        elif kind == 2:
            data[a:a] = rng.bytes(int(rng.integers(1, 30)))
        elif kind == 3:
            data[a:a] = data[a:b]
        elif kind == 4:
            data[a:b] = bytes(b - a)
        elif kind == 5:
            del data[a:b]
        elif kind == 6:
            extreme = (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x00\x00\x00\x80", b"9999999999")
            extreme = extreme[rng.integers(4)]
            data[a : a + len(extreme)] = extreme
        else:
            data[a] = int(rng.integers(256))
    return bytes(data)


def peak_memory() -> int:
    """Bytes that this program has had in memory at most; ``ru_maxrss`` would be that of all before.

    A process begins with the maximum of the one that it was forked from, up to its exec.
    """
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"^VmHWM:\s*(\d+) kB", status, re.MULTILINE)[1])


def limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def watch(seen) -> None:
    """Note whatever a file could make Python run."""

    def hook(event, arguments):
        ours = event == "os.remove" and str(arguments[0]).endswith(LOCK)
        if event in FORBIDDEN and not ours and seen is not None:
            seen.append(event)

    sys.addaudithook(hook)


class Models:
    """Mutated model files: bytes, members, and values under right checksums."""

    def __init__(self, folder, family=None, n_features=8):
        rng = np.random.default_rng(0)
        self.X = rng.standard_normal((6, n_features))
        family = family or gtpca.Compose(gtpca.Shift(5), gtpca.Reflection())
        solver = gtpca.ALS(n_init=2, max_iter=3)
        model = gtpca.GTPCA(2, family, center=True, solver=solver, random_state=0).fit(self.X)
        self.keep(folder, model)

    def keep(self, folder, model) -> None:
        folder.mkdir(parents=True)
        self.path = folder / "m.gtpca"
        model.save(self.path)
        self.data = self.path.read_bytes()
        with zipfile.ZipFile(self.path) as archive:
            self.members = {name: archive.read(name) for name in archive.namelist()}
        self.scores = self.answer(model)

    def answer(self, model) -> np.ndarray:
        return model.transform(self.X)

    def prepare(self, rng) -> None:
        self.how = rng.integers(3)
        self.path.write_bytes((self.bytes_of, self.swapped, self.forged)[self.how](rng))

    def read(self) -> None:
        scores = self.answer(gtpca.load(self.path))
        if self.how < 2 and not np.array_equal(scores, self.scores):
            raise AssertionError("another model was loaded")

    def bytes_of(self, rng):
        return mutate(self.data, rng)

    def swapped(self, rng):
        """Members lost, twice, under another name or with other content."""
        pairs = list(self.members.items())
        i, j = rng.integers(len(pairs), size=2)
        kind = rng.integers(4)
        if kind == 0:
            del pairs[i]
        elif kind == 1:
            pairs.append((pairs[i][0], pairs[j][1]))
        elif kind == 2:
            pairs[i], pairs[j] = (pairs[i][0], pairs[j][1]), (pairs[j][0], pairs[i][1])
        else:
            pairs[i] = (pairs[i][0], mutate(pairs[i][1], rng))
        return packed(pairs)

    def forged(self, rng):
        """One value of the JSON, or one array, replaced; all checksums right."""
        members, content = dict(self.members), json.loads(self.members["model.json"])
        arrays = sorted(content["members"])
        if rng.integers(3) == 0:
            name = arrays[rng.integers(len(arrays))]
            members[name] = mutate(members[name], rng)
        else:
            replace_one(content, rng)
        if isinstance(content.get("members"), dict):
            sums = {name: hashlib.sha256(members[name]).hexdigest() for name in arrays}
            content["members"] = sums
        members["model.json"] = json.dumps(content).encode()
        members["model.json.sha256"] = hashlib.sha256(members["model.json"]).hexdigest().encode()
        return packed(members.items())


class EventModels(Models):
    """The same of models of recordings."""

    def __init__(self, folder, window=8):
        self.X = np.random.default_rng(0).standard_normal((80 * window, 2))
        for start in range(0, len(self.X) - window, 5 * window):
            self.X[start : start + window, 0] += 5 * np.hanning(window)
        how = {"noise": "stationary", "rate": 100.0, "max_iter": 2, "random_state": 0}
        self.keep(folder, gtpca.EventGTPCA(2, gtpca.Shift(window), **how).fit(self.X))

    def answer(self, model) -> np.ndarray:
        events = model.encode(self.X)
        return np.column_stack([events.time, events.component, events.scores])


def packed(pairs):
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w") as archive:
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, data in pairs:
            archive.writestr(name, data)
    return buffer.getvalue()


VALUES = (None, True, -1, 0, 7, 10**9, 2**62, 10**40, 1e300, "", "x", [], {}, [1, 2], [[]])
VALUES += ({"$tuple": [2, 3]}, {"$float": "nan"}, {"$object": "Identity", "parameters": {}})
VALUES += ({"$object": "Rotation", "parameters": {"angles": 10**9, "axes": [0, 0]}},)
VALUES += ({"$array": "mean_.npy"}, {"$array": "../m"}, {"$x": 1}, {"$scalar": "f", "value": 1})


def replace_one(content, rng) -> None:
    """Put something else at a random place of nested lists and dicts, or swap two places."""
    places = []

    def walk(node):
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], (dict, list)):
                walk(node[key])

    walk(content)
    (a, i), (b, j) = (places[k] for k in rng.integers(len(places), size=2))
    if rng.integers(4) == 0:
        a[i], b[j] = json.loads(json.dumps(b[j])), json.loads(json.dumps(a[i]))
    else:
        a[i] = VALUES[rng.integers(len(VALUES))]


class Sample:
    """All files of one sample in a folder, and mutants of one of them in another."""

    def __init__(self, folder, write):
        self.root, self.case = folder / "original", folder / "case"
        self.root.mkdir(parents=True)
        self.path = write(self.root)
        self.files = sorted(p.relative_to(self.root) for p in self.root.rglob("*") if p.is_file())

    def mutate(self, rng, change=mutate) -> Path:
        """Write a mutant, and return its path."""
        shutil.rmtree(self.case, ignore_errors=True)
        part = self.files[rng.integers(len(self.files))]
        shutil.copytree(self.root, self.case)
        (self.case / part).write_bytes(change((self.root / part).read_bytes(), rng))
        return self.case / self.path.relative_to(self.root)


class DataFiles:
    """Mutated files of one kind."""

    def __init__(self, folder, kind):
        self.kind = kind
        self.sample = Sample(folder, lambda root: samples.write_sample(kind, root))
        self.original = self.sample.path

    def prepare(self, rng) -> None:
        self.path = self.sample.mutate(rng)

    def read(self) -> None:
        with read_data(self.path, **samples.options(self.kind)) as data:
            rows = np.asarray(data.rows[:100])
            if rows.dtype.kind not in "biuf" or rows.ndim < 2 or not rows.size:
                raise AssertionError(f"rows of {rows.dtype} and shape {rows.shape}")


def outcome(fuzz, rng, seen) -> str:
    """ "error", "load", or what went wrong."""
    fuzz.prepare(rng)
    seen.clear()
    signal.alarm(SECONDS)
    try:
        fuzz.read()
        found = "load"
    except (ValueError, OSError) as error:
        clear = "\n" not in str(error) and not any(text in str(error) for text in HUGE)
        found = "error" if clear else f"said {error}"
    except Exception as error:
        found = f"raised {error!r}"
    finally:
        signal.alarm(0)
    return f"ran {seen}" if seen else found


def subjects(what, folder) -> list:
    """What is read in turn; each has been read once, so that all imports are done."""
    if what == "models":
        return [Models(folder / "rows"), EventModels(folder / "recordings")]
    kinds = [k for k in samples.KINDS if samples.available(k)] if what == "data" else [what]
    found = [DataFiles(folder / kind, kind) for kind in kinds]
    for one in found:
        with read_data(one.original, **samples.options(one.kind)) as data:
            np.asarray(data.rows[:100])
    return found


def main(what, folder, first, last) -> None:
    warnings.simplefilter("ignore")
    shutil.rmtree(folder, ignore_errors=True)
    fuzzed = subjects(what, Path(folder))
    seen: list[str] = []
    watch(seen)
    limit_memory()
    before = peak_memory()
    counts: dict = {"error": 0, "load": 0, "failures": []}
    for i in range(int(first), int(last)):
        print(i, flush=True)
        one = fuzzed[i % len(fuzzed)]
        found = outcome(one, np.random.default_rng([20, i]), seen)
        if found in counts:
            counts[found] += 1
        else:
            counts["failures"].append(f"{i}, {getattr(one, 'kind', what)}: {found}")
    growth = peak_memory() - before
    print(json.dumps({**counts, "growth": growth}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Events in recordings: what is found of planted ones, counts in noise, real beats, long files.

    python benchmarks/bench_events.py [planted] [counts] [fresh] [beats] [long] [online]
    python benchmarks/bench_events.py alphacsc --peer PYTHON [--draws 10]

Each entry is written to bench_events.json as soon as it is known, and is not computed again: what
was interrupted goes on. Draws are numbered from 0 on; those from 100 on were for development.

planted   60,000 points, three templates of 40, 600 events that cover 40 %; an event counts as found
          within 3 points, by the right template, one to one.
counts    60,000 points of noise, or with a few events of one template: numbers of events as fitted,
          cross-fitted and in a surrogate.
fresh     the same on draws 20 to 39, which were not seen when the rule was made by which events are
          called above noise; it was changed after draws 0 to 19.
beats     MIT-BIH records 100 and 119, one lead: annotated beats, within 150 ms after one lag;
          "times": seconds of the fit over passes (points that were decoded, also in parts, over
          points) and over one search for peaks with an FFT correlation per template, the best of 3.
alphacsc  the recordings of "planted" by BatchCDL at three penalties, in an interpreter that has
          alphacsc (numpy 2.3.5, alphacsc 0.4.1): peaks of activations at least half a window apart,
          above 0, 1/4 or 1/2 of their quantile .9. The best of these nine by F is its answer; fits
          that do not end within 300 processor seconds have none.
long      memory maps from 10^5 to 10^7 points: seconds, memory, and pieces against one piece.
online    the recordings of "planted" at noise .25 in ten parts of 6,000 points: likeness and F in
          the whole recording after a fit of the first part, and after ``partial_fit`` of the rest.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.signal import find_peaks, lfilter

from gtpca import EventGTPCA, Shift

FILE = Path(__file__).with_suffix(".json")
N, LENGTH = 60_000, 40
u = np.arange(LENGTH)
TEMPLATES = np.stack(
    [
        -np.exp(-(((u - 16) / 3) ** 2)) + 0.5 * np.exp(-(((u - 25) / 5) ** 2)),
        np.hanning(LENGTH) * np.sin(u / 2),
        0.8 * np.exp(-(((u - 18) / 6) ** 2)) * np.cos((u - 18) / 5),
    ]
)
CASES = {
    "noise .1": {"noise": 0.1},
    "noise .25": {"noise": 0.25},
    "noise .4": {"noise": 0.4},
    "sizes 1, .6, .4": {"noise": 0.15, "sizes": (1, 0.6, 0.4)},
    "AR(.9) noise .25": {"noise": 0.25, "ar": 0.9},
}


def planted(seed, noise=0.25, sizes=(1, 1, 1), counts=(300, 200, 100), ar=0.0, n=N):
    """A recording, and starts and kinds of its events."""
    rng = np.random.default_rng(seed)
    y, starts, kinds = np.zeros(n), [], []
    for k, count in enumerate(counts):
        free = n - LENGTH - max(0, count - 1) * LENGTH
        start = np.sort(rng.integers(0, free + 1, count)) + LENGTH * np.arange(count)
        for t, a in zip(start, sizes[k] * rng.uniform(0.8, 1.2, count), strict=True):
            y[t : t + LENGTH] += a * TEMPLATES[k]
        starts.append(start)
        kinds.append(np.full(count, k))
    return y + noise * noise_of("AR" if ar else "white", rng, n), *map(
        np.concatenate, (starts, kinds)
    )


def noise_of(kind, rng, n=N):
    """Noise of unit variance, or about that."""
    if kind == "white":
        return rng.standard_normal(n)
    if kind == "AR":
        return lfilter([np.sqrt(1 - 0.81)], [1, -0.9], rng.standard_normal(n + 500))[500:]
    if kind == "1/f":
        spectrum = np.fft.rfft(rng.standard_normal(2 * n))
        y = np.fft.irfft(spectrum / np.sqrt(np.maximum(1, np.arange(len(spectrum)))))[:n]
        return y / y.std()
    return rng.laplace(size=n) if kind == "Laplace" else rng.standard_t(3, size=n)


def likeness(a, b):
    """Cosine of two waveforms at the best lag, and that lag."""
    c = np.correlate(np.pad(a, len(b)), b, "valid") / np.linalg.norm(a) / np.linalg.norm(b)
    return c.max(), int(c.argmax()) - len(b)


def compared(W, start, group, true_start, true_kind, tolerance=3):
    """Likeness (mean and least), precision and recall."""
    found = np.array([[likeness(w.ravel(), t) for t in TEMPLATES] for w in W])
    rows, columns = linear_sum_assignment(-found[:, :, 0])
    hits = 0
    for i, k in zip(rows, columns, strict=True):
        mine = np.sort(start[group == i] + int(found[i, k, 1]))
        hits += matched(mine, np.sort(true_start[true_kind == k]), tolerance)
    like = found[rows, columns, 0]
    return {
        "likeness": float(like.mean()),
        "least likeness": float(like.min()),
        "precision": hits / max(1, len(start)),
        "recall": hits / len(true_start),
    }


def matched(found, true, tolerance):
    """How many of two sorted lists are pairs, one to one, within a tolerance."""
    i = j = hits = 0
    while i < len(found) and j < len(true):
        if abs(found[i] - true[j]) <= tolerance:
            hits, i, j = hits + 1, i + 1, j + 1
        elif found[i] < true[j]:
            i += 1
        else:
            j += 1
    return hits


def run_planted(known, draws=10):
    """Precision, recall and likeness of every case."""
    for case, how in CASES.items():
        for alarms in (1, 10) if case == "noise .4" else (1,):
            for seed in range(draws):
                y, start, kind = planted(seed, **how)
                noise = "stationary" if "ar" in how else "white"
                model = EventGTPCA(
                    3, Shift(LENGTH), noise=noise, false_alarms=alarms, counts=False, random_state=0
                )

                def one(model=model, y=y, start=start, kind=kind):
                    begun = time.process_time()
                    events = model.fit(y).encode(y)
                    told = compared(model.components_, events.start, events.component, start, kind)
                    rises = bool(np.all(np.diff(model.history_) <= 1e-9 * model.history_[0]))
                    return told | {"seconds": time.process_time() - begun, "monotone": rises}

                known(f"planted/{case}/F{alarms}/{seed}", one)


def run_counts(known, draws=range(20), name="counts"):
    """Numbers of events in noise, and with few events."""
    for kind in ("white", "AR", "1/f", "Laplace", "t(3)", "300", "30", "8"):
        for seed in draws:

            def one(kind=kind, seed=seed):
                if kind.isdigit():
                    y = planted(seed, counts=(int(kind), 0, 0))[0]
                else:
                    y = noise_of(kind, np.random.default_rng(seed))
                model = EventGTPCA(1, Shift(LENGTH), random_state=0).fit(y)
                counts = model.event_counts_
                return {
                    "fitted": counts.fitted,
                    "cross": counts.cross_fitted,
                    "surrogate": counts.surrogate,
                    "above": counts.above_noise,
                }

            known(f"{name}/{kind}/{seed}", one)


def beats_of(record):
    """One lead in mV, places of beats and their symbols."""
    from gtpca.datasets import fetch_ecg

    ecg = fetch_ecg(record)
    return ecg.data[:, 0], ecg.beats, ecg.symbols


def lag_of(start, beats):
    """The commonest distance from an event to a beat."""
    near = np.clip(np.searchsorted(start, beats)[:, None] + np.arange(-2, 2), 0, len(start) - 1)
    apart = (beats[:, None] - start[near]).ravel()
    counts, edges = np.histogram(apart, np.arange(-1000, 1001, 4))
    return int(np.median(apart[np.abs(apart - edges[counts.argmax()]) < 20]))


def against_beats(start, beats, tolerance=54):
    """Recall, precision, median jitter after one lag, and the beat of each event (-1: none)."""
    moved, of = start + lag_of(start, beats), np.full(len(start), -1)
    i = j = 0
    while i < len(moved) and j < len(beats):
        if abs(moved[i] - beats[j]) <= tolerance:
            of[i], i, j = j, i + 1, j + 1
        elif moved[i] < beats[j]:
            i += 1
        else:
            j += 1
    hit = of >= 0
    jitter = float(np.median(np.abs(moved[hit] - beats[of[hit]])))
    return {"recall": hit.sum() / len(beats), "precision": hit.mean(), "jitter": jitter}, of


@contextmanager
def counted_passes():
    """A list that gets the number of points of every pass, also over parts of a recording."""
    from gtpca.fitting import events as fitting
    from gtpca.model import events as model

    read, decode = [], model.decode_all

    def counting(signals, *args, **how):
        read.append(sum(signal.n_points for signal in signals))
        return decode(signals, *args, **how)

    model.decode_all = fitting.decode_all = counting
    try:
        yield read
    finally:
        model.decode_all = fitting.decode_all = decode


def run_beats(known):
    """Records 100 and 119."""
    for record, k, shared in (("100", 1, False), ("119", 2, True), ("119", 2, False)):

        def one(record=record, k=k, shared=shared):
            lead, beats, symbols = beats_of(record)
            model = EventGTPCA(
                k, Shift("0.7s"), rate=360, shared_pose=shared, counts=False, random_state=0
            )
            seconds, encoding, units = [], [], []
            for _ in range(3):
                with counted_passes() as read:
                    begun = time.process_time()
                    model.fit(lead)
                    seconds.append(time.process_time() - begun)
                begun = time.process_time()
                events = model.encode(lead)
                encoding.append(time.process_time() - begun)
                units.append(unit_of(lead, model.components_))
            told = against_beats(events.start, beats)[0]
            told |= {"seconds": min(seconds), "encode": min(encoding), "unit": min(units)}
            told |= {"passes": sum(read) / len(lead), "whole passes": 3 + model.n_iter_}
            told |= {"n": len(events), "load": os.getloadavg()[0]}
            told["times"] = told["seconds"] / told["unit"] / told["passes"]
            if not shared and k > 1:
                told |= by_kind(events, k, beats, symbols)
            return told

        known(f"beats/{record}/{'shared' if shared else 'own'}", one)


def by_kind(events, k, beats, symbols, tolerance=54):
    """The same for templates with events of their own, each with a lag: one event for a beat.

    The event that gains most has the first choice; ``purity``: the largest share of one kind.
    """
    moved = events.start.copy()
    for g in range(k):
        mine = events.component == g
        moved[mine] += lag_of(events.start[mine], beats)
    of, free = np.full(len(events), -1), np.ones(len(beats), bool)
    for i in np.argsort(-events.gain, kind="stable"):
        near = np.flatnonzero(free & (np.abs(beats - moved[i]) <= tolerance))
        if len(near):
            of[i] = near[np.abs(beats[near] - moved[i]).argmin()]
            free[of[i]] = False
    hit = of >= 0
    pure = []
    for g in range(k):
        kinds = symbols[of[hit & (events.component == g)]]
        pure.append(float(max(np.mean(kinds == s) for s in np.unique(kinds))))
    jitter = float(np.median(np.abs(moved[hit] - beats[of[hit]])))
    return {"recall": hit.sum() / len(beats), "precision": hit.mean(), "jitter": jitter} | {
        "purity": pure
    }


def unit_of(lead, W):
    """Seconds of one FFT correlation per template and one search for peaks."""
    from gtpca.model.decoding import correlations

    times = []
    for _ in range(5):
        begun = time.process_time()
        for w in W:
            c = correlations(lead[:, None], w.reshape(1, -1, 1))[0]
        find_peaks(c, height=0.0, distance=len(w) // 2)
        times.append(time.process_time() - begun)
    return min(times)


PENALTIES, BARS = (0.2, 0.3, 0.4), (0.0, 0.25, 0.5)  # .1 was slower and worse on draw 100
LIMIT = 300  # processor seconds of a fit by alphacsc


def activations(z, bar):
    """Peaks of activations (K, n) above a share of their quantile .9: starts and atoms."""
    starts, atoms = [np.zeros(0, int)], [np.zeros(0, int)]
    for k, row in enumerate(np.abs(z)):
        peaks = find_peaks(np.pad(row, 1), distance=LENGTH // 2)[0] - 1
        peaks = peaks[row[peaks] > 0]
        if len(peaks):
            peaks = peaks[row[peaks] > bar * np.quantile(row[peaks], 0.9)]
        starts.append(peaks)
        atoms.append(np.full(len(peaks), k))
    return np.concatenate(starts), np.concatenate(atoms)


def limited():
    """Let this process end after some processor time."""
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))


def run_alphacsc(known, python, draws=10):
    """Convolutional dictionary learning of the same recordings, draw by draw."""
    script = Path(__file__).with_name("peer_alphacsc.py")
    for seed in range(draws):
        for case, how in CASES.items():
            for penalty in PENALTIES[::-1]:

                def one(seed=seed, how=how, penalty=penalty):
                    y, start, kind = planted(seed, **how)
                    with tempfile.TemporaryDirectory() as folder:
                        source, result = Path(folder, "y.npy"), Path(folder, "found.npz")
                        np.save(source, y)
                        words = [python, script, source, result, LENGTH, len(TEMPLATES), penalty]
                        plain = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
                        subprocess.run([str(w) for w in words], env=plain, preexec_fn=limited)
                        if not result.exists():
                            return {"seconds": float(LIMIT), "ended": False}
                        with np.load(result) as found:
                            atoms, z, seconds = (found[n] for n in ("atoms", "z", "seconds"))
                    told = {"seconds": float(seconds)}
                    for bar in BARS:
                        each = compared(atoms, *activations(z, bar), start, kind)
                        told["likeness"] = each["likeness"]
                        told[f"precision {bar:g}"] = each["precision"]
                        told[f"recall {bar:g}"] = each["recall"]
                    return told

                known(f"alphacsc/{case}/{penalty:g}/{seed}", one)


def beside_alphacsc(results):
    """F and seconds of both in every case, on the draws that both have; the best for alphacsc.

    The difference is that of F, ours less theirs, with its standard error over draws; ``least`` is
    the smallest of any draw if alphacsc has the best penalty and bar of that draw.
    """
    found = {}
    for case in CASES:
        alarms = 10 if case == "noise .4" else 1
        names = {p: f"alphacsc/{case}/{p:g}" for p in PENALTIES}
        seeds = [
            s
            for s in range(10)
            if f"planted/{case}/F{alarms}/{s}" in results
            and all(f"{name}/{s}" in results for name in names.values())
        ]
        if not seeds:
            continue
        mine = [results[f"planted/{case}/F{alarms}/{s}"] for s in seeds]
        own = [_harmonic(one["precision"], one["recall"]) for one in mine]
        best: tuple = (-1.0, 0.0, 0.0, 0.0, own)
        most = np.zeros(len(seeds))
        for penalty, name in names.items():
            theirs = [results[f"{name}/{s}"] for s in seeds]
            if not all(one.get("ended", True) for one in theirs):
                continue
            seconds = float(np.mean([one["seconds"] for one in theirs]))
            for bar in BARS:
                each = [_harmonic(o[f"precision {bar:g}"], o[f"recall {bar:g}"]) for o in theirs]
                most = np.maximum(most, each)
                best = max(best, (float(np.mean(each)), penalty, bar, seconds, each))
        apart = np.subtract(own, best[4])
        error = np.std(apart, ddof=1) / np.sqrt(len(own)) if len(own) > 1 else 0.0
        found[case] = {
            "draws": len(seeds),
            "F": float(np.mean(own)),
            "difference": float(apart.mean()),
            "error": float(error),
            "least": float(np.min(own - most)),
            "seconds": float(np.mean([one["seconds"] for one in mine])),
            "alphacsc F": best[0],
            "penalty": best[1],
            "bar": best[2],
            "alphacsc seconds": best[3],
        }
    return found


def _harmonic(a, b):
    return 2 * a * b / (a + b) if a + b else 0.0


def run_online(known, draws=10, size=6000):
    """A fit of a first part, and what further parts make of it."""
    for seed in range(draws):

        def one(seed=seed):
            y, start, kind = planted(seed, **CASES["noise .25"])
            model = EventGTPCA(3, Shift(LENGTH), counts=False, random_state=0).fit(y[:size])
            told = {f"first {k}": v for k, v in judged(model, y, start, kind).items()}
            begun = time.process_time()
            for low in range(size, N, size):
                model.partial_fit(y[low : low + size])
            return told | {"seconds": time.process_time() - begun} | judged(model, y, start, kind)

        known(f"online/{seed}", one)


def judged(model, y, start, kind):
    """Likeness of templates, and F of the events that they find."""
    events = model.encode(y)
    told = compared(model.components_, events.start, events.component, start, kind)
    return {
        "likeness": told["likeness"],
        "least likeness": told["least likeness"],
        "F": _harmonic(told["precision"], told["recall"]),
    }


def run_long(known):
    """Memory maps of 10^5 to 10^7 points."""
    for n in (100_000, 1_000_000, 10_000_000):

        def one(n=n):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "long.npy")
                out = np.lib.format.open_memmap(path, "w+", np.float32, (n,))
                for i, start in enumerate(range(0, n, 100_000)):
                    out[start : start + 100_000] = planted(
                        1000 + i, counts=(100, 100, 50), n=100_000
                    )[0]
                out.flush()
                del out
                y = np.load(path, mmap_mode="r")
                base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                model = EventGTPCA(
                    3, Shift(LENGTH), counts=False, random_state=0, max_iter=2, tol=0
                )
                begun = time.process_time()
                model.fit(y)
                fit = time.process_time() - begun
                begun = time.process_time()
                events = model.encode(y)
                encode = time.process_time() - begun
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            return {
                "fit": fit,
                "encode": encode,
                "n_iter": model.n_iter_,
                "events": len(events),
                "MB more": (peak - base) / 1024,
                "MB": peak / 1024,
            }

        known(f"long/{n}", one)


def main(wanted):
    """Run what is wanted, and print means with standard errors."""
    results = json.loads(FILE.read_text()) if FILE.exists() else {}

    def known(name, compute):
        if name not in results:
            found = {k: _plain(v) for k, v in compute().items()}
            kept = json.loads(FILE.read_text()) if FILE.exists() else {}
            results.clear()
            results.update(kept | {name: found})  # another process may have gone on
            part = FILE.with_suffix(f".{os.getpid()}.part")
            part.write_text(json.dumps(results, indent=0, sort_keys=True) + "\n")
            part.replace(FILE)

    runs = {"planted": run_planted, "counts": run_counts, "beats": run_beats, "long": run_long}
    runs["online"] = run_online
    runs["fresh"] = partial(run_counts, draws=range(20, 40), name="fresh")
    wanted, peer = without(wanted, "--peer", None)
    wanted, draws = without(wanted, "--draws", 10)
    runs["alphacsc"] = partial(run_alphacsc, python=peer, draws=int(draws))
    for name in wanted or ("planted", "counts", "beats", "long"):
        runs[name](known)
    for name, numbers in summary(results).items():
        print(name, ", ".join(f"{k} {m:.3f} +- {e:.3f}" for k, (m, e) in numbers.items()))
    for case, numbers in beside_alphacsc(results).items():
        print(case, ", ".join(f"{k} {v:.3f}" for k, v in numbers.items()))


def without(words, option, default):
    """Words without an option, and its value."""
    if option not in words:
        return words, default
    i = words.index(option)
    return words[:i] + words[i + 2 :], words[i + 1]


def summary(results):
    """Mean and standard error over draws of every entry."""
    groups: dict = {}
    for name, told in results.items():
        head, _, last = name.rpartition("/")
        groups.setdefault(
            head if last.isdigit() and not name.startswith("long") else name, []
        ).append(told)
    found = {}
    for name, each in groups.items():
        keys = [k for k, v in each[0].items() if isinstance(v, (int, float))]
        values = {k: np.array([one[k] for one in each], float) for k in keys}
        found[name] = {
            k: (v.mean(), v.std(ddof=1) / np.sqrt(len(v)) if len(v) > 1 else 0.0)
            for k, v in values.items()
        }
    return found


def _plain(value):
    return (
        value.item()
        if isinstance(value, np.generic)
        else [_plain(v) for v in value]
        if (isinstance(value, list))
        else value
    )


if __name__ == "__main__":
    main(sys.argv[1:])

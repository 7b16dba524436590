"""Events in recordings: what is found of planted ones, counts in noise, real beats, long files.

    python benchmarks/bench_events.py [planted] [counts] [beats] [long] [peer]

Each entry is written to bench_events.json as soon as it is known, and is not computed again: what
was interrupted goes on. Draws are numbered from 0 on; those from 100 on were for development.

planted   60,000 points, three templates of 40, 600 events that cover 40 %; an event counts as found
          within 3 points, by the right template, one to one.
counts    60,000 points of noise, or with a few events of one template: numbers of events as fitted,
          cross-fitted and in a surrogate.
beats     MIT-BIH records 100 and 119, one lead: annotated beats, within 150 ms after one lag.
long      memory maps from 10^5 to 10^7 points: seconds, memory, and pieces against one piece.
peer      alphacsc (BatchCDL at three penalties) on the recordings of planted, if it is installed.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
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
BEATS = set("NLRBAaJSVrFejnE/fQ?")


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


def run_counts(known, draws=20):
    """Numbers of events in noise, and with few events."""
    for kind in ("white", "AR", "1/f", "Laplace", "t(3)", "300", "30", "8"):
        for seed in range(draws):

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

            known(f"counts/{kind}/{seed}", one)


def beats_of(record):
    """One lead in mV, places of beats and their symbols."""
    from gtpca.readers.wfdb import read_annotations, read_wfdb

    folder = Path(os.environ["GTPCA_DATA"], "ecg")
    lead = read_wfdb(folder / f"{record}.hea").values[:, 0]
    samples, symbols = read_annotations(folder / f"{record}.atr")
    beat = np.isin(symbols, list(BEATS))
    return lead, samples[beat], symbols[beat]


def against_beats(start, beats, tolerance=54):
    """Recall, precision, median jitter after one lag, and the beat of each event (-1: none)."""
    near = np.clip(np.searchsorted(start, beats)[:, None] + np.arange(-2, 2), 0, len(start) - 1)
    apart = (beats[:, None] - start[near]).ravel()
    counts, edges = np.histogram(apart, np.arange(-1000, 1001, 4))
    lag = int(np.median(apart[np.abs(apart - edges[counts.argmax()]) < 20]))
    moved, of = start + lag, np.full(len(start), -1)
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


def run_beats(known):
    """Records 100 and 119."""
    for record, k, shared in (("100", 1, False), ("119", 2, True), ("119", 2, False)):

        def one(record=record, k=k, shared=shared):
            lead, beats, symbols = beats_of(record)
            model = EventGTPCA(
                k, Shift("0.7s"), rate=360, shared_pose=shared, counts=False, random_state=0
            )
            begun = time.process_time()
            model.fit(lead)
            seconds = time.process_time() - begun
            begun = time.process_time()
            events = model.encode(lead)
            told, of = against_beats(events.start, beats)
            unit = unit_of(lead, model.components_)
            told |= {"seconds": seconds, "encode": time.process_time() - begun, "unit": unit}
            told |= {"passes": 3 + model.n_iter_, "n": len(events)}
            if not shared and k > 1:
                # a lag for each template: where in its window the beat is
                told["precision"], pure = 0.0, []
                for g in range(k):
                    mine = events.component == g
                    part, of = against_beats(events.start[mine], beats)
                    told["precision"] += part["precision"] * mine.sum() / len(events)
                    kinds = symbols[of[of >= 0]]
                    pure.append(max(np.mean(kinds == s) for s in np.unique(kinds)))
                told["purity"] = pure
            return told

        known(f"beats/{record}/{'shared' if shared else 'own'}", one)


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
            }

        known(f"long/{n}", one)


def run_peer(known, draws=10, penalties=(0.05, 0.1, 0.2)):
    """alphacsc at three penalties, as far as it is installed."""
    from alphacsc import BatchCDL

    for case, how in CASES.items():
        for penalty in penalties:
            for seed in range(draws):

                def one(how=how, penalty=penalty, seed=seed):
                    y, start, kind = planted(seed, **how)
                    if "ar" in how:  # whitened by its own first-order autoregression
                        y = lfilter([1, -np.corrcoef(y[1:], y[:-1])[0, 1]], [1], y)
                    begun = time.process_time()
                    peer = BatchCDL(
                        n_atoms=3,
                        n_times_atom=LENGTH,
                        rank1=False,
                        uv_constraint="auto",
                        reg=penalty,
                        n_iter=30,
                        solver_z="lgcd",
                        random_state=0,
                        n_jobs=1,
                        verbose=0,
                    )
                    peer.fit(y[None, None])
                    z = peer.z_hat_[0]
                    group, place = np.nonzero(z > 0.25 * np.quantile(z[z > 0], 0.95))
                    # an event is a peak of the activations: neighbours within half a window are one
                    kept = []
                    for k in range(3):
                        mine = place[group == k]
                        for t in mine[np.argsort(-z[k, mine])]:
                            near = [s for g, s in kept if g == k and abs(s - t) < LENGTH // 2]
                            if not near:
                                kept.append((k, t))
                    kept = np.array(kept).reshape(-1, 2)
                    seconds = time.process_time() - begun
                    W = peer.D_hat_[:, 0]
                    return compared(W, kept[:, 1], kept[:, 0], start, kind) | {"seconds": seconds}

                known(f"peer/{case}/{penalty}/{seed}", one)


def main(wanted):
    """Run what is wanted, and print means with standard errors."""
    results = json.loads(FILE.read_text()) if FILE.exists() else {}

    def known(name, compute):
        if name not in results:
            results[name] = {k: _plain(v) for k, v in compute().items()}
            part = FILE.with_suffix(".part")
            part.write_text(json.dumps(results, indent=0, sort_keys=True) + "\n")
            part.replace(FILE)

    runs = {"planted": run_planted, "counts": run_counts, "beats": run_beats, "long": run_long}
    runs["peer"] = run_peer
    for name in wanted or ("planted", "counts", "beats", "long"):
        runs[name](known)
    for name, numbers in summary(results).items():
        print(name, ", ".join(f"{k} {m:.3f} +- {e:.3f}" for k, (m, e) in numbers.items()))


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

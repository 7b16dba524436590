"""
Spike sorting
=============

An electrode hears three neurons. Their spikes are found as events of one template, cut out with a
margin, and sorted by a mixture that finds the place of each spike in its window together with its
kind: spikes are sampled at different fractions of a point, and neurons have no common peak.
"""

import matplotlib.pyplot as plt
import numpy as np

from gtpca import EventGTPCA, MixtureGTPCA, Shift
from gtpca.plots import plot_kinds

RATE = 20_000
UNITS = [(0.10, 0.35, 0.45), (0.10, 0.60, 0.60), (0.16, 0.35, 0.70)]  # ms


def spike(t, width, after, late):
    """The voltage at times (ms) from the trough."""
    return -np.exp(-0.5 * (t / width) ** 2) + after * np.exp(-0.5 * ((t - late) / 2.2 / width) ** 2)


rng = np.random.default_rng(0)
recording = 0.15 * rng.standard_normal(10 * RATE)
times = np.sort(rng.uniform(0.01, 9.99, 320))
true = rng.choice(3, 320, p=[0.5, 0.3, 0.2])
for time, unit in zip(times, true, strict=True):
    near = int(time * RATE) + np.arange(-30, 60)
    recording[near] += rng.normal(1, 0.12) * spike(1000 * (near / RATE - time), *UNITS[unit])

# %%
# Find, cut, sort
# ---------------

finder = EventGTPCA(1, Shift("1.5ms"), rate=RATE, counts=False, random_state=0).fit(recording)
events = finder.encode(recording)
windows = finder.cut(recording, events, before=8, after=8)
sorter = MixtureGTPCA(3, 0, Shift(30), random_state=0).fit(windows)
neuron, sure = sorter.predict(windows), sorter.predict_proba(windows).max(axis=1)
print(f"{len(events)} spikes were found, {len(times)} are there")
print(f"{np.sum(sure < 0.95)} of them are uncertain")

# %%
# The neurons, with some of their spikes, and the true neuron of each spike that is near one:

peak = finder.poses(events)["peak"]
nearest = np.abs(peak[:, None] - times).argmin(axis=1)
lag = np.median(times[nearest] - peak)
near = np.abs(peak + lag - times[nearest]) < 6e-4
plot_kinds(sorter, windows[near], labels=np.array(["a", "b", "c"])[true[nearest[near]]])

# %%
# A quarter of a second, with a mark for each spike. Where two overlap, their window is like no
# kind, and the likelihood says so: these are the least likely ones.

likelihood = sorter.score_samples(windows)
start, stop = 2.0, 2.25
here = (peak > start) & (peak < stop)
fig, (above, below) = plt.subplots(2, 1, figsize=(8, 4.4), layout="constrained")
at = np.arange(int(start * RATE), int(stop * RATE))
above.plot(at / RATE, recording[at], color="0.6", linewidth=0.5)
for g in range(3):
    mine = here & (neuron == g)
    above.plot(peak[mine], np.full(mine.sum(), 0.9), "v", label=f"neuron {g}")
above.set_xlabel("s")
above.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
for number in np.argsort(likelihood)[:4]:
    below.plot(1000 * np.arange(windows.shape[1]) / RATE, windows[number], linewidth=1)
below.set_title("the four least likely windows")
below.set_xlabel("ms")
plt.show()

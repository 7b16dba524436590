"""
Heartbeats as they come
=======================

A recording is played point by point, as a sensor would deliver it. A stream reports every beat a
bounded time after it has ended, and an encoder tells at once how the latest beat differs from the
usual ones. The recording is record 119 of the MIT-BIH arrhythmia database where it is at hand, and
a simulated one otherwise.
"""

import os
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from gtpca import GTPCA, EventGTPCA, Shift
from gtpca.datasets import fetch_ecg


def simulated(n_points=60_000, rate=360.0):
    """Beats about every 0.85 seconds, of which every sixth is another kind, and noise."""
    rng, t = np.random.default_rng(0), np.arange(252) / rate
    normal = 1.2 * np.exp(-(((t - 0.25) / 0.02) ** 2)) + 0.3 * np.exp(-(((t - 0.5) / 0.06) ** 2))
    other = 0.9 * np.exp(-(((t - 0.28) / 0.07) ** 2)) - 0.5 * np.exp(-(((t - 0.5) / 0.08) ** 2))
    y, start, number = 0.05 * rng.standard_normal(n_points), 50, 0
    while start + 252 < n_points:
        y[start : start + 252] += (other if number % 6 == 5 else normal) * rng.uniform(0.9, 1.1)
        start, number = start + int(rate * rng.normal(0.85, 0.05)), number + 1
    return y, rate


here = Path(os.environ.get("GTPCA_DATA", "")) / "ecg" / "119.dat"
if here.is_file():
    ecg = fetch_ecg("119")
    lead, rate = ecg.data[:60_000, 0], ecg.sampling_rate
else:
    lead, rate = simulated()
learned, played = lead[:30_000], lead[30_000:]

# %%
# Templates and beats of the first half
# -------------------------------------

model = EventGTPCA(2, Shift("0.7s"), rate=rate, counts=False, random_state=0).fit(learned)
beats = model.cut(learned, model.encode(learned))
shapes = GTPCA(2, center="samples", random_state=0).fit(beats)  # they are aligned already
encoder = shapes.encoder()

# %%
# The second half, point by point
# -------------------------------
# As soon as a beat is certain, its window is cut from the latest points, and coded.

stream = model.stream(learned, delay="3s")
found, scores, delays = [], [], []
begin = time.process_time()
for point in played:
    events = stream(point)
    for start in events.start:
        found.append(start)
        scores.append(encoder(played[start : start + beats.shape[1]])[0])
        delays.append((stream.n_points - start) / rate)
seconds = time.process_time() - begin
scores = np.array(scores)
print(f"{len(found)} beats; {100 * seconds * rate / len(played):.1f} % of the time of a processor")
print(f"reported {np.mean(delays):.1f} s after their beginning, {np.max(delays):.1f} s at most")

# %%
# The same beats as in the whole recording, whose own noise makes prices that differ a little:

events = model.encode(played)
same = np.isin(found, events.start).mean()
print(f"{100 * same:.0f} % of them are events of the whole recording, to the point")

fig, (above, below) = plt.subplots(2, 1, figsize=(8, 4), sharex=True, layout="constrained")
part = slice(0, int(30 * rate))
above.plot(np.arange(len(played))[part] / rate, played[part], color="black", lw=0.6)
at = np.array(found) / rate
below.scatter(at, scores[:, 0], s=12, label="first component")
below.scatter(at, scores[:, 1], s=12, label="second component")
below.set(xlabel="s", ylabel="score", xlim=(0, 30))
below.legend(loc="upper right")
plt.show()

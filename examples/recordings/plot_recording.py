"""
Heartbeats of half an hour
==========================

Record 119 of the MIT-BIH arrhythmia database: an electrocardiogram of half an hour, in which normal
beats and premature ventricular contractions alternate. Nothing is cut: the templates and the
positions of all beats are found in the recording as it is.
"""
# sphinx_gallery_thumbnail_path = "images/examples/plot_recording-1.png"

import matplotlib.pyplot as plt
import numpy as np

from gtpca import EventGTPCA, Shift
from gtpca.datasets import fetch_ecg

ecg = fetch_ecg("119")
lead, rate = ecg.data[:, 0], ecg.sampling_rate
print(f"{len(lead)} points at {rate:g} Hz, {len(ecg.beats)} beats by the cardiologists")

# %%
# Two templates, each with its own events
# ------------------------------------------
# The window is the length of a beat. There is no threshold to choose.

model = EventGTPCA(2, Shift("0.7s"), rate=rate, counts=False, random_state=0).fit(lead)
events = model.encode(lead)
print(f"{len(events)} events")

fig, axes = plt.subplots(1, 2, figsize=(8, 2.4), sharey=True, layout="constrained")
for k, ax in enumerate(axes):
    ax.plot(np.arange(len(model.components_[k])) / rate, model.components_[k], color="black")
    ax.set_title(f"template {k + 1}: {np.sum(events.component == k)} events")
    ax.set_xlabel("s")

# %%
# The kind of beat of each event whose peak is near an annotated beat:

peak = np.rint(model.poses(events)["peak"] * rate).astype(int)
nearest = np.abs(peak[:, None] - ecg.beats).argmin(axis=1)
near = np.abs(peak - ecg.beats[nearest]) <= 0.15 * rate
for k in range(2):
    mine = near & (events.component == k)
    kinds, counts = np.unique(ecg.symbols[nearest[mine]], return_counts=True)
    print(f"template {k + 1}:", dict(zip(kinds.tolist(), counts.tolist(), strict=True)))

# %%
# A piece of the recording, and the time from one event to the next

model.plot_events(lead, events=events, start=120, stop=132)
model.plot_intervals(lead, events=events)
plt.show()

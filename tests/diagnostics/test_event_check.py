"""What ``check`` says of templates of recordings."""

from __future__ import annotations

import numpy as np
import samples

from gtpca import EventGTPCA, Shift
from gtpca.diagnostics import EventCheck, check
from gtpca.fitting.event_counts import EventCounts


def test_real_events_are_above_noise_and_halves_agree():
    y = samples.recording()
    model = EventGTPCA(1, Shift(20), counts=False, random_state=0).fit(y)
    found = check(model, y)
    assert found.counts.above_noise
    assert found.halves[0] > 0.95
    assert found.table["other_half"][0] == found.counts.cross_fitted
    assert found.sentence.startswith(f"The {len(model.encode(y))} events are more than noise")
    assert "template" in str(found)
    again = EventGTPCA(1, Shift(20), random_state=0).fit(y).event_counts_
    assert again.cross_fitted == found.counts.cross_fitted


def test_templates_that_share_a_pose_and_short_recordings():
    y = samples.recording()
    model = EventGTPCA(2, Shift(20), shared_pose=True, counts=False, random_state=0).fit(y)
    found = check(model, y)
    assert found.halves.shape == (2,)
    assert found.fitted.shape == (1,)
    assert len(found.text.splitlines()) == 3
    short = check(model, y[:1000])
    assert short.halves is None
    assert "too short" in short.sentence


def said(above, halves, noise="white"):
    excess = (300.0, 2.0, 1.5) if above else (3.0, 2.0, 1.5)
    counts = EventCounts(40, 38, 3, excess)
    fitted = np.array([25, 15])
    return EventCheck(counts, fitted, fitted - 1, np.array(halves), noise=noise)


def test_sentences():
    assert said(True, [0.97, 0.95]).sentences == [
        "The 40 events are more than noise would give: templates of the other half find 38, which "
        "gain 300 prices beyond their own; noise would gain 2 (more than 10 is needed).",
        "Both halves have the same templates: their similarity is 0.95 (0.9 is needed).",
    ]
    assert said(True, [0.97, 0.4]).sentence == (
        "Halves differ in template 2: their similarity is 0.40 (0.9 is needed); fit 1 with `-k 1`."
    )
    assert said(False, [0.3, 0.4]).sentence == (
        "The 40 events are not above noise: templates of the other half find 38, which gain 3 "
        "prices beyond their own; noise would gain 2 (more than 10 is needed); try another "
        "window, or noise='stationary' (--noise stationary), or a longer recording."
    )
    assert "noise='stationary'" not in said(False, [0.3, 0.4], "stationary").sentence
    assert said(True, [0.3, 0.4]).sentence.endswith(
        "a longer recording or another window may help."
    )

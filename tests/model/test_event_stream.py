"""Events of recordings that are still going on: those of the whole recording, a little later."""

from __future__ import annotations

import numpy as np
import pytest

from gtpca import EventGTPCA, Shift

U = np.arange(20)
SHAPES = np.stack([np.hanning(20), np.hanning(20) * np.sin(U / 2)])


def planted(seed=0, n=6000, count=60, channels=None):
    """A recording with overlapping events of two kinds."""
    rng = np.random.default_rng(seed)
    y = 0.15 * rng.standard_normal((n, channels or 1)) + 3.0
    for start, k, a in zip(
        rng.integers(0, n - 20, count),
        rng.integers(0, 2, count),
        rng.uniform(0.8, 1.2, count),
        strict=True,
    ):
        y[start : start + 20] += a * SHAPES[k][:, None] * np.linspace(1, 0.5, channels or 1)
    return y if channels else y[:, 0]


def fitted(y, **how):
    return EventGTPCA(2, Shift(20), random_state=0, counts=False, **how).fit(y)


def played(stream, y, size):
    """All events of a recording that is played in pieces, and when each was reported."""
    parts, when = [], []
    for start in range(0, len(y), size):
        parts.append(stream(y[start : start + size]))
        when.append(np.full(len(parts[-1]), stream.n_points))
    parts.append(stream.finish())
    when.append(np.full(len(parts[-1]), stream.n_points))
    return [
        np.concatenate([getattr(p, n) for p in parts]) for n in ("start", "component", "scores")
    ], (np.concatenate(when))


CASES = {
    "plain": {},
    "signed": {"polarity": "both"},
    "shared": {"shared_pose": True},
    "whitened": {"noise": "stationary"},
    "as it is": {"center": False},
    "channels": {"channels": 2},
}


@pytest.mark.parametrize("case", CASES)
def test_the_events_of_the_whole_recording(case):
    how = dict(CASES[case])
    y = planted(1, channels=how.pop("channels", None)) - (3.0 if case == "as it is" else 0.0)
    model = fitted(y, **how)
    events = model.encode(y)
    stream = model.stream(y)
    (start, component, scores), when = played(stream, y, 70)
    assert len(events) > 30
    np.testing.assert_array_equal(start, events.start)
    np.testing.assert_array_equal(component, events.component)
    np.testing.assert_allclose(scores, events.scores, atol=1e-6)
    assert stream.delay == 16 * 20
    late = when - (start + 20)
    assert late[when < len(y)].max() <= stream.delay + 70


def test_how_points_are_divided_does_not_matter():
    y = planted(2)
    model = fitted(y)
    pieces = [played(model.stream(y, delay=100), y, size)[0] for size in (1, 33, len(y))]
    for found in pieces[1:]:
        for a, b in zip(found, pieces[0], strict=True):
            np.testing.assert_array_equal(a, b)


def test_an_event_is_reported_after_the_delay_at_the_latest():
    y = planted(3)
    model = fitted(y)
    (start, _, _), when = played(model.stream(y, delay=60), y, 1)
    assert (when - (start + 20)).max() <= 60


def test_gaps_make_no_events():
    y = planted(4)
    y[2000:2300] = np.nan
    y[4000:4003] = np.nan
    model = fitted(y)
    events = model.encode(y)
    (start, _, scores), _ = played(model.stream(y), y, 100)
    np.testing.assert_array_equal(start, events.start)
    np.testing.assert_allclose(scores, events.scores, atol=1e-3)  # amplitudes in gaps are iterated
    assert not np.any((start > 2010) & (start < 2290))


def test_times_are_those_of_the_recording():
    y = planted(5)
    model = EventGTPCA(2, Shift("0.2s"), rate=100.0, random_state=0, counts=False).fit(y)
    stream = model.stream(y, delay="1s")
    assert stream.delay == 100
    events = stream(y)
    assert len(events) > 20
    np.testing.assert_allclose(events.time, events.start / 100)
    assert events.sizes == (len(y),)
    assert "100" in repr(stream)


def test_errors_say_what_would_work():
    y = planted(6)
    model = fitted(y)
    with pytest.raises(ValueError, match="delay=30 must be at least two windows, 40 points"):
        model.stream(y, delay=30)
    with pytest.raises(ValueError, match="X holds 2 recordings"):
        model.stream([y, y])
    stream = model.stream(y)
    with pytest.raises(
        ValueError, match=r"x has shape \(3, 2\), but must be the next points, \(n,\)"
    ):
        stream(np.zeros((3, 2)))
    with pytest.raises(TypeError, match="must hold numbers"):
        stream(["a"])
    with pytest.raises(ValueError, match="infinite"):
        stream([np.inf])
    assert len(stream(0.5)) == 0
    assert stream.n_points == 1
    stream.finish()
    with pytest.raises(ValueError, match="the stream has finished"):
        stream(y)


def test_a_short_recording_has_no_events():
    model = fitted(planted(7))
    stream = model.stream(planted(7))
    assert len(stream(np.zeros(5))) == 0
    assert len(stream.finish()) == 0

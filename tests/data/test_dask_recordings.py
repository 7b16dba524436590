"""Recordings in Dask arrays: pieces are decoded where they are, with the same events."""

from __future__ import annotations

import numpy as np
import pytest
import samples

from gtpca import EventGTPCA, Shift
from gtpca.data import signals

da = pytest.importorskip("dask.array", reason="needs dask: gtpca[dask]")

from test_dask import cluster, threads  # noqa: E402


@pytest.fixture
def short_pieces(monkeypatch):
    """So that a small recording has several pieces, also on the client."""
    monkeypatch.setattr(signals, "CORE", 2000)
    monkeypatch.setattr(signals, "WINDOWS", 8)


def fitted(X, **how):
    model = EventGTPCA(1, Shift(20), counts=False, random_state=0, **how).fit(X)
    return model, model.encode(X)


@pytest.mark.parametrize("where", [cluster, threads])
@pytest.mark.parametrize("noise", ["white", "stationary"])
def test_the_same_events_as_in_memory(where, noise, short_pieces):
    y = samples.recording()
    y[3000:3030] = np.nan
    both = [y, y[:2500]]
    model, events = fitted(both, noise=noise)
    with where():
        lazy = [da.from_array(each, chunks=700) for each in both]
        other, found = fitted(lazy, noise=noise)
    np.testing.assert_array_equal(found.start, events.start)
    np.testing.assert_array_equal(found.recording, events.recording)
    np.testing.assert_allclose(found.scores, events.scores)
    np.testing.assert_allclose(other.components_, model.components_)


def test_points_stay_where_they_are(short_pieces):
    """Of each piece a worker reads its own points and what is next to it, and no more."""
    read = []

    def block(block_info=None):
        [(low, high)] = block_info[None]["array-location"]
        read.append((low, high))
        return samples.recording()[low:high]

    lazy = da.map_blocks(block, chunks=(tuple([500] * 12),), dtype=float)
    model, events = fitted(samples.recording())
    with threads():
        read.clear()
        again = model.encode(lazy)
    np.testing.assert_array_equal(again.start, events.start)
    assert max(high for _, high in read) == 6000

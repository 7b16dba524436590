"""Chunks that do not change, and the residual that does."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from command import environment
from helpers import noise

from gtpca import Shift
from gtpca.data.chunks import Chunk
from gtpca.data.residual import Memory, Residual
from gtpca.model.coding import deflate
from gtpca.model.matching import make_block, match
from gtpca.operators.base import with_feature_weight


def chunk_of(family=None, shape=(24,), n=20):
    operator = (family or Shift(8)).bind(shape)
    X = noise(n, operator.n_features)
    room = Residual(X, operator, memory=Memory(2**20))
    block = make_block(operator, noise(1, operator.n_weights, seed=1))
    return Chunk(X, operator, residual=room), block


def test_a_chunk_does_not_change():
    chunk, block = chunk_of()
    before = dict(vars(chunk))
    match(chunk, block)
    after = deflate(chunk, block)
    assert all(vars(chunk)[name] is value for name, value in before.items())
    assert vars(chunk).keys() == before.keys()
    assert after.rows is not chunk.rows
    with pytest.raises(FrozenInstanceError):
        chunk.codes = None


def test_what_is_kept_is_never_that_of_other_rows_or_operators():
    chunk, _ = chunk_of()
    kept = chunk.energies
    assert chunk.energies is kept
    assert chunk.with_codes(None).energies is kept
    other = replace(chunk, rows=2 * chunk.rows)
    np.testing.assert_allclose(other.energies, 4 * kept)
    q = np.linspace(1, 2, 24)
    weighed = replace(chunk, operator=with_feature_weight(chunk.operator, q))
    np.testing.assert_allclose(weighed.energies, np.sum(q * chunk.rows**2, axis=1))
    assert chunk.energies is kept


@pytest.mark.parametrize("family", [Shift(8), Shift((6, 7), axes=(0, 1))], ids=str)
def test_rows_of_its_own_are_changed_in_place_with_what_was_prepared(family):
    shape = (24,) if isinstance(family.window, int) else (24, 25)
    chunk, block = chunk_of(family, shape)
    own = chunk.owning()
    assert own.rows is not chunk.rows
    match(own, block)
    after = deflate(own, block)
    assert after.rows is own.rows
    prepared = chunk.operator.prepare(after.rows)
    np.testing.assert_allclose(after.prepared, prepared, atol=1e-9)
    np.testing.assert_allclose(after.energies, np.sum(after.rows**2, axis=1))
    room, kept = after.residual.memory.room, after.residual.kept.values()
    used = sum(found.nbytes for found in kept if isinstance(found, np.ndarray))
    assert room + used == 2**20


def test_nothing_large_is_allocated_by_an_import():
    code = """
import tracemalloc
import numpy as np
tracemalloc.start()
import gtpca.data.chunks
import gtpca.data.residual as residual
largest = max(trace.size for trace in tracemalloc.take_snapshot().traces)
assert largest < 2**22, largest
assert residual.keep_freed_pages.cache_info().currsize == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True, env=environment())


def test_what_was_seen_is_one_row_unless_there_are_gaps():
    chunk, _ = chunk_of()
    assert chunk.seen.shape == (1, 24)
    assert chunk.seen.all()
    np.testing.assert_array_equal(chunk.value_weights(0.5), np.ones((1, 24)))
    X = chunk.rows.copy()
    X[3, 5] = np.nan
    gaps = Chunk(X, with_feature_weight(chunk.operator, np.full(24, 2.0)))
    np.testing.assert_array_equal(gaps.seen, ~np.isnan(X))
    np.testing.assert_array_equal(gaps.value_weights(0.5), np.where(np.isnan(X), 1.0, 2.0))

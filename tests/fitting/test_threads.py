"""BLAS has as many threads after fits that overlap as before them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from gtpca import ALS, GTPCA, Shift
from gtpca.diagnostics import stability
from gtpca.fitting.threads import SingleBlasThread

X = np.random.default_rng(0).standard_normal((40, 24))
PATIENCE = 60  # seconds, if threads do not meet


def blas_threads() -> list[int]:
    return [found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"]


def set_blas_threads(count):
    """In a thread that ends: threadpoolctl lets others set it again only then."""
    thread = Thread(target=lambda: threadpool_limits(count, user_api="blas"))
    thread.start()
    thread.join()


@pytest.fixture
def two():
    """Two threads of BLAS, if it can have them."""
    before = set(blas_threads())
    set_blas_threads(2)
    if set(blas_threads()) != {2}:
        pytest.skip("BLAS cannot have two threads here")
    yield
    set_blas_threads(max(before))


class First(ALS):
    """A search that says when it has begun, and waits until the other has."""

    begun, goes_on, seen = Event(), Event(), []

    def solve(self, *args, **how):
        self.seen.extend(blas_threads())
        self.begun.set()
        assert self.goes_on.wait(PATIENCE)
        return super().solve(*args, **how)


class Second(First):
    """One that waits until the first fit is done."""

    begun, goes_on, seen = Event(), Event(), []


First.goes_on = Second.begun


def test_fits_that_overlap_restore_the_threads(two):
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(GTPCA(1, Shift(8), solver=First(), random_state=0).fit, X)
        assert First.begun.wait(PATIENCE)
        second = pool.submit(GTPCA(1, Shift(8), solver=Second(), random_state=0).fit, X)
        first.result(PATIENCE)  # began first, ends first: the second found what it had set
        Second.goes_on.set()
        second.result(PATIENCE)
    assert set(First.seen) == set(Second.seen) == {1}
    assert set(blas_threads()) == {2}


def test_diagnostics_in_threads_restore_them(two):
    model = GTPCA(1, Shift(8), random_state=0).fit(X)
    for _ in range(3):
        stability(model, X, n_splits=4, n_jobs=2)
        assert set(blas_threads()) == {2}


def test_errors_leave_too(two):
    limit = SingleBlasThread()
    with limit:
        with pytest.raises(KeyError), limit:
            raise KeyError
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {2}

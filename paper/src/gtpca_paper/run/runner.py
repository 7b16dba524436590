"""Run what is missing of a plan, in several processes, with progress."""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context

from threadpoolctl import threadpool_limits

from gtpca_paper.run.jobs import Job, run_together, together
from gtpca_paper.run.store import Store, Summary, missing, read_rows

__all__ = ["Clock", "Outcome", "run"]

MERGE_EVERY = 20.0  # seconds between two writings of rows.jsonl
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass
class Outcome:
    """What became of a run.

    Attributes
    ----------
    summary : Summary
    failed : dict of str to str
        Names of jobs that raised an error, and the error.
    """

    summary: Summary
    failed: dict[str, str] = field(default_factory=dict)


@dataclass
class Clock:
    """Time left, from the times of finished jobs that are most like those to come.

    Parameters
    ----------
    jobs : list of Job
        Jobs to come.
    workers : int
    """

    jobs: list[Job]
    workers: int = 1
    times: dict[tuple, list[float]] = field(default_factory=dict)

    def stop(self, job, seconds) -> None:
        """Note that a job has ended."""
        self.jobs = [other for other in self.jobs if other is not job]
        for likeness in _likenesses(job):
            self.times.setdefault(likeness, []).append(seconds)

    def left(self) -> float | None:
        """Seconds to come; None as long as nothing has ended."""
        if not self.times:
            return None
        return sum(self._guess(job) for job in self.jobs) / self.workers

    def _guess(self, job) -> float:
        known = next(x for x in map(self.times.get, _likenesses(job)) if x)
        return sum(known) / len(known)


def _likenesses(job):
    """From much alike to hardly."""
    return (
        (job.experiment, job.setting, job.task, job.model),
        (job.experiment, job.setting, job.model),
        (job.experiment, job.model),
        (job.experiment,),
        (),
    )


def run(jobs, out, *, workers=1, report=None) -> Outcome:
    """Run the jobs of which a row is missing; each writes its rows as soon as it ends.

    A job that raises an error is noted, and the others go on. Order and number of workers do not
    change any value: every job draws from its own seeds, on one thread.

    Parameters
    ----------
    jobs : list of Job
    out : path
        Folder of the rows; it is made if it is not there.
    workers : int
        Processes; 1 is the present one.
    report : callable or None
        Called with a message and, by name, the number of jobs ``done``, their ``total``, and the
        seconds ``left`` or None.

    Returns
    -------
    Outcome
    """
    store = Store(out)
    todo = missing(jobs, read_rows(out))
    store.describe(jobs)
    clock, merged = Clock(list(todo), min(workers, max(len(todo), 1))), time.monotonic()
    failed = {}
    for done, (job, seconds, error) in enumerate(_finished(todo, store, workers), start=1):
        clock.stop(job, seconds)
        if error:
            failed[job.name] = error
        if report:
            said = f"{job.name}: {error or f'{seconds:.1f} s'}"
            report(said, done=done, total=len(todo), left=clock.left())
        if time.monotonic() - merged > MERGE_EVERY:
            store.merge()
            merged = time.monotonic()
    return Outcome(Summary.of(jobs, store.merge()), failed)


def _finished(jobs, store, workers) -> Iterator[tuple[Job, float, str]]:
    """Jobs as they end, their seconds, and an error or nothing."""
    groups = together(jobs)
    if workers == 1 or len(groups) < 2:
        for group in groups:
            yield from _shared(group, *_work(group, store))
        return
    # Forked processes inherit the locks of threads that they do not inherit.
    with (
        _threads_of_children(),
        ProcessPoolExecutor(workers, get_context("spawn"), _watch, (os.getpid(),)) as pool,
    ):
        yield from _collected(pool, groups, store)


def _shared(group, seconds, error):
    """What became of a group, job by job."""
    return [(job, seconds / len(group), error) for job in group]


def _collected(pool: Executor, groups, store):
    futures = {pool.submit(_work, group, store): group for group in groups}
    try:
        for future in as_completed(futures):
            try:
                seconds, error = future.result()
            except BrokenProcessPool as broken:
                seconds, error = 0.0, f"the process ended: {broken}"
            yield from _shared(futures[future], seconds, error)
    finally:
        pool.shutdown(cancel_futures=True)


def _work(group, store, task: Callable = run_together) -> tuple[float, str]:
    """Run a group of jobs and keep their rows; seconds, and an error or nothing."""
    start = time.perf_counter()
    try:
        with threadpool_limits(1):
            if group[0].needs_torch:
                _limit_torch()
            for job, rows in task(group, store.checkpoint(group[0])):
                store.keep(job, rows)
    except Exception as error:
        if os.environ.get("GTPCA_TRACEBACK"):
            traceback.print_exc()
        return time.perf_counter() - start, f"{type(error).__name__}: {error}"
    store.forget(group[0])
    return time.perf_counter() - start, ""


def _limit_torch() -> None:
    import torch

    torch.set_num_threads(1)


class _threads_of_children:
    """One thread for each process started inside: libraries read this when they are loaded."""

    def __enter__(self):
        self.before = {name: os.environ.get(name) for name in THREADS}
        os.environ.update(dict.fromkeys(THREADS, "1"))

    def __exit__(self, *error):
        for name, value in self.before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _watch(parent) -> None:
    """End this process when the one that started it has gone, killed or not."""

    def wait():
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()

"""A fit tells how it goes: callbacks of scikit-learn, and the logger "gtpca"."""

from __future__ import annotations

import logging
import sys
from contextlib import contextmanager

__all__ = ["Progress", "show_log"]

logger = logging.getLogger("gtpca")


class Progress:
    """Tells scikit-learn's callbacks of a fit: fit > component > iteration.

    Parameters
    ----------
    estimator : GTPCA
    root : callback context of scikit-learn
        That of the fit.
    """

    def __init__(self, estimator, root):
        self.estimator, self.root = estimator, root
        self.root.call_on_fit_task_begin(estimator=estimator)
        self.stop = False

    @contextmanager
    def component(self):
        """Yields ``report(iteration, explained) -> bool`` for one component."""
        context = self.root.subcontext("component", max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self.estimator)

        def report(iteration, explained):
            leaf = context.subcontext("iteration")
            leaf.call_on_fit_task_begin(estimator=self.estimator)
            return leaf.call_on_fit_task_end(estimator=self.estimator)

        yield report
        self.stop = bool(context.call_on_fit_task_end(estimator=self.estimator))

    def log(self, message, *args):
        """Tell the logger "gtpca": everybody if the estimator is verbose, else who debugs."""
        logger.log(logging.INFO if self.estimator.verbose else logging.DEBUG, message, *args)

    def explained(self, number, share, result):
        """Log how much of the energy is explained after a component."""
        self.log(
            "component %d: %.2f %% of the energy explained so far, %d passes, %s",
            *(number, 100 * share, result.n_iter, result.stopped),
        )

    def end(self):
        """The fit is done."""
        self.root.call_on_fit_task_end(estimator=self.estimator)


def show_log():
    """Make the messages of ``verbose`` visible where nobody has set up logging."""
    logger.setLevel(logging.INFO)
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler(sys.stderr))

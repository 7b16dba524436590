"""Histograms of the times from one event to the next."""

from __future__ import annotations

import numpy as np

__all__ = ["interval_counts"]

BINS = 60
LAST = 0.99  # share of intervals that is drawn


def interval_counts(events, groups: int):
    """Histograms of the times from each event to the next one of its template.

    Parameters
    ----------
    events : Events
    groups : int
        Number of templates with separate events; 1 if they share a pose.

    Returns
    -------
    edges : array (61,)
    counts : int array (groups, 60)
    intervals : list of arrays
        All intervals of each template; None instead of these three if there are none.
    """
    each = [events[events.component == k].intervals for k in range(groups)]
    every = np.concatenate(each)
    if not len(every):
        return None
    edges = np.linspace(0, float(np.quantile(every, LAST)) * 1.05 or 1.0, BINS + 1)
    return edges, np.stack([np.histogram(one, edges)[0] for one in each]), each

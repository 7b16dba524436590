"""``partial_fit``: a model that follows a stream of batches."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from gtpca import checks
from gtpca.data import validation
from gtpca.fitting.streaming import Online
from gtpca.model.coding import weighted_sums
from gtpca.model.model import FittedGTPCA

__all__ = ["IncrementalGTPCA", "restored"]

START_ROWS = 1024  # up to so many rows are kept, and fitted anew when they have doubled
START_BYTES = 2**26
N_FITS = 5  # so often before they are dropped: a stream stays near the optimum in which it began


@contextmanager
def restored(model):
    """Where an error leaves the attributes of the model as they were before."""
    before = dict(model.__dict__)
    try:
        yield
    except BaseException:
        model.__dict__.clear()
        model.__dict__.update(before)
        raise


class IncrementalGTPCA(FittedGTPCA):
    """The method ``partial_fit`` of :class:`~gtpca.GTPCA`."""

    horizon: int | None
    explained_energy_: np.ndarray
    explained_energy_ratio_: np.ndarray
    history_: list[np.ndarray]
    n_iter_: np.ndarray
    n_samples_seen_: int
    online_: dict[str, Any]
    fit: Callable
    _check_parameters: Callable

    def partial_fit(self, X, y=None, sample_weight=None):
        """Learn from one more batch of rows, while what was learnt from earlier ones fades.

        The first batch is fitted with all starts and moves. As long as there are at most 1024 rows
        they are kept, and fitted anew each time they have doubled. When there are more, those kept
        are fitted from five seeds, the best of these is taken, and the rows are dropped. From then
        on every batch is seen once: each component is matched, its sums (those of before, times a
        decay, and those of the batch) give new weights, and the next one goes on with the residual.
        After ``fit``, it goes on from the components found. With ``center=True`` the mean fades
        with the horizon, or is that of all rows; with ``refine`` only codes are swept.

        Parameters
        ----------
        X : array (n, \\*sample_shape), or (n, d) flat rows
            Some hundred rows at a time, or more.
        y : ignored
        sample_weight : array (n,) or None

        Returns
        -------
        self
        """
        X = validation.counted(X)
        with restored(self):
            if self.horizon is not None:
                checks.whole("horizon", self.horizon, 1)
            if hasattr(self, "components_"):
                self._check_parameters()
                self._go_on(X, sample_weight)
            else:
                self.fit(X, sample_weight=sample_weight)
                self._take(self._fresh(X, sample_weight), self._keep_rows(None, X, sample_weight))
        return self

    def _go_on(self, X, sample_weight):
        """Update by one more batch, or fit anew all that was kept."""
        old = getattr(self, "online_", {}).get("kept")
        kept = None if old is None else self._keep_rows(old, X, sample_weight)
        if kept is not None and len(kept["rows"]) >= 2 * kept["n_fitted"]:
            after = self._fit_kept(kept)
            kept["n_fitted"] = len(kept["rows"])
        else:
            dropped = old is not None and kept is None
            past = self._fit_kept(old, N_FITS) if dropped else self._past()
            self._move_mean(X, sample_weight, past)
            chunks = self.chunks(X, sample_weight)
            after = past.advance(chunks, self.operator_, self.polarity, self.horizon)
        self._take(after, kept)

    def _move_mean(self, X, sample_weight, past):
        """Where features are centred: the mean of all rows, each counted as it has faded."""
        if self.mean_ is None:
            return
        chunks = self.chunks(X, sample_weight, entered=False)
        sums = chunks.sum(weighted_sums)
        fresh, old = sums[:-1], past.faded_mass(chunks.n_rows, self.horizon)
        self.mean_ = (old * self.mean_ + fresh.reshape(self.sample_shape_)) / (old + sums[-1])

    def _keep_rows(self, kept, X, sample_weight):
        """The rows kept so far and those of ``X``; None if they are too many."""
        rows = validation.new_rows(self, X, self.sample_shape_)
        n = rows.n_rows + (0 if kept is None else len(kept["rows"]))
        if n > START_ROWS or n * rows.n_features * rows.dtype.itemsize > START_BYTES:
            return None
        weight = np.ones(rows.n_rows)
        if sample_weight is not None:
            weight = checks.weights("sample_weight", sample_weight, [(rows.n_rows,)])
        if kept is None:
            return {"rows": np.array(rows.read(0, n)), "weight": weight, "n_fitted": n}
        both = np.concatenate([kept["rows"], rows.read(0, rows.n_rows)])
        return kept | {"rows": both, "weight": np.append(kept["weight"], weight)}

    def _fit_kept(self, kept, n_fits=1) -> Online:
        """Fit the rows kept so far; of several fits from other starts the best is taken."""
        X, weight = kept["rows"].reshape(-1, *self._row_shape), kept["weight"]
        if self.horizon is not None:
            weight = weight * np.exp(np.arange(1 - len(X), 1) / self.horizon)
        rivals = self._rivals(n_fits if self.operator_.n_transforms > 1 else 1)
        fits = [model.fit(X, sample_weight=weight) for model in rivals]
        found = min(fits, key=lambda model: (model.n_components_, -model.explained_energy_.sum()))
        names = ("components_", "n_components_", "n_iter_", "history_", "mean_", "operator_")
        for name in names:
            setattr(self, name, getattr(found, name))
        return self._fresh(X, weight)

    def _rivals(self, n):
        """Models to be fitted from other starts; the first has the seed of this one."""
        seeds = check_random_state(clone(self).random_state).randint(2**31 - 1, size=n - 1)
        others = (clone(self).set_params(random_state=int(seed)) for seed in seeds)
        return [clone(self), *others]

    def _fresh(self, X, sample_weight) -> Online:
        """The stream of these rows alone, to which the model has just been fitted."""
        begun = Online.begin(self.operator_, self._blocks(np.float64))
        chunks = self.chunks(X, sample_weight)
        return begun.advance(chunks, self.operator_, self.polarity, self.horizon)

    def _past(self) -> Online:
        """Where the stream stands; after a fit, what is known of its rows."""
        if hasattr(self, "online_"):
            return Online(**{name: self.online_[name] for name in Online.__annotations__})
        blocks = self._blocks(np.float64)
        if self.n_samples_seen_ == 0:  # the weights of a network
            return Online.begin(self.operator_, blocks)
        total = self.explained_energy_[0] / self.explained_energy_ratio_[0]
        past = (self.explained_energy_, total, self.n_samples_seen_)
        return Online.begin(self.operator_, blocks, *past)

    def _take(self, stream: Online, kept):
        """Set the fitted attributes."""
        W, explained = stream.components(self.operator_, self.polarity)
        self.components_ = W.reshape(-1, *self.operator_.weight_shape)
        self.explained_energy_ = explained
        self.explained_energy_ratio_ = explained / stream.energy
        passes = zip(self.history_, stream.explained, strict=True)
        self.history_ = [np.append(history, value) for history, value in passes]
        self.n_iter_ = self.n_iter_ + 1
        self.n_samples_seen_ = stream.n_rows
        self.online_ = vars(stream) | {"kept": kept}

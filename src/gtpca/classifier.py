"""GTPCAClassifier: one model per class; a sample belongs to the class whose model fits best."""

from __future__ import annotations

from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from gtpca import checks
from gtpca._typing import ArrayLike, BaseEstimator, ClassifierMixin, Documented, Samples
from gtpca.base import BaseModel
from gtpca.estimator import GTPCA
from gtpca.probabilistic import BaseDensity

__all__ = ["GTPCAClassifier"]


class GTPCAClassifier(Documented, ClassifierMixin, BaseEstimator):
    """One model per class; a sample is assigned to the class whose model fits it best.

    With a :class:`GTPCA`, it is the class with the largest explained share of the energy of a
    sample; with a :class:`ProbabilisticGTPCA` or a :class:`MixtureGTPCA`, the class with the
    largest likelihood times its share of the training data. Nothing is aligned first: every class
    finds its own pose for a sample.

    There is no ``predict_proba``: shares are not probabilities, and likelihoods of many features
    are overconfident. scikit-learn's ``CalibratedClassifierCV(GTPCAClassifier(..))`` converts
    ``decision_function`` to probabilities.

    Parameters
    ----------
    estimator : GTPCA, ProbabilisticGTPCA, MixtureGTPCA or None
        The model of a class, which is cloned; default: ``GTPCA()``.

    Attributes
    ----------
    classes_ : array (C,)
    estimators_ : list of C fitted models
        In the order of ``classes_``.
    class_prior_ : array (C,)
        Shares of the classes in the training data, by sample weight.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from gtpca import GTPCA, GTPCAClassifier, Shift
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 2
    >>> X = 0.3 * rng.standard_normal((60, 24))
    >>> for i in range(60):
    ...     X[i, i % 20 : i % 20 + 5] += [[1, 3, 5, 3, 1], [5, 1, -2, 1, 5]][y[i]]
    >>> model = GTPCAClassifier(GTPCA(1, Shift(window=5), random_state=0))
    >>> model.fit(X[:40], y[:40]).score(X[40:], y[40:])
    1.0
    """

    classes_: np.ndarray
    estimators_: list[Any]
    class_prior_: np.ndarray
    n_features_in_: int

    def __init__(self, estimator: Any = None):
        self.estimator = estimator

    def fit(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit a model to the samples of every class.

        Parameters
        ----------
        X : array (n, \\*sample_shape), (n, d), or whatever the estimator takes
            For anything but NumPy arrays, classes are selected by sample weights of 0 and 1.
        y : array (n,)
            The classes: numbers or text.
        sample_weight : array (n,) or None

        Returns
        -------
        self
        """
        model = self._one()
        targets = _targets(X, y)
        weight = np.ones(len(targets))
        if sample_weight is not None:
            weight = checks.weights("sample_weight", sample_weight, [weight.shape])
        classes, number = np.unique(targets, return_inverse=True)
        mass = np.bincount(number, weight, len(classes))
        if not np.all(mass > 0):
            raise ValueError(
                f"the class {str(classes[mass.argmin()])!r} has no sample of positive weight; "
                "leave it out of y, or give it a weight."
            )
        found = [_fitted(model, X, number == c, sample_weight) for c in range(len(classes))]
        return with_classes(self, classes, found, mass / mass.sum())

    def save(self, path: str | PathLike[str]) -> None:
        """Write classes and models to one file, which :func:`gtpca.load` reads; no code is in it.

        Parameters
        ----------
        path : path
            The usual extension is ``.gtpca``.
        """
        from gtpca.persistence.models import save

        save(self, path)

    def _one(self):
        """The estimator of one class."""
        model = GTPCA() if self.estimator is None else self.estimator
        if not isinstance(model, BaseModel):
            raise TypeError(
                f"estimator={model!r} must be a GTPCA, a ProbabilisticGTPCA or a MixtureGTPCA."
            )
        return model

    def class_scores(self, X: Samples) -> np.ndarray:
        """How well every class fits, (n, C): explained shares, or log-likelihoods with priors."""
        check_is_fitted(self)
        each = np.stack([np.asarray(model.score_samples(X)) for model in self.estimators_], axis=1)
        likely = isinstance(self.estimators_[0], BaseDensity)
        return each + np.log(self.class_prior_) if likely else each

    def decision_function(self, X: Samples) -> np.ndarray:
        """:meth:`class_scores`, (n, C); for two classes the second minus the first, (n,)."""
        scores = self.class_scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Samples) -> np.ndarray:
        """The class of every sample, (n,)."""
        best = self.class_scores(X).argmax(axis=1)
        return self.classes_[best]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        model = self._one()
        tags.input_tags = model.__sklearn_tags__().input_tags
        tags.classifier_tags.poor_score = not isinstance(model, BaseDensity)  # of points in a plane
        return tags


def with_classes(classifier, classes, models, prior):
    """The classifier, of which classes (C,), a model for each, and their shares (C,) are set."""
    classifier.classes_, classifier.estimators_, classifier.class_prior_ = classes, models, prior
    classifier.n_features_in_ = models[0].n_features_in_
    if hasattr(models[0], "feature_names_in_"):
        classifier.feature_names_in_ = models[0].feature_names_in_
    return classifier


def _targets(X, y):
    """The classes of samples as an array (n,), checked."""
    if y is None:
        raise ValueError("GTPCAClassifier requires y to be passed, but the target y is None.")
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    check_consistent_length(X, y)
    if not len(y):
        raise ValueError("X and y have no samples; at least one is needed.")
    check_classification_targets(y)
    return y


def _fitted(model, X, mine, weight):
    """A clone, fitted to the samples of a class."""
    weight = None if weight is None else np.asarray(weight, dtype=np.float64)
    if isinstance(X, np.ndarray) and not isinstance(X, np.memmap):
        return clone(model).fit(X[mine], sample_weight=None if weight is None else weight[mine])
    return clone(model).fit(X, sample_weight=mine * (1.0 if weight is None else weight))

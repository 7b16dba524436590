"""How the paper measures: residuals in two normalisations, accuracies of scores in three forms."""

from __future__ import annotations

import numpy as np

__all__ = ["accuracies", "balanced_accuracies", "classify", "resmse"]


def resmse(residual, energy, *, target, task) -> dict[str, float | None]:
    """Residual energy over energy: ratios of sums over test samples, not means of ratios.

    In the outlier task, ``paper`` is the mean residual of the target class over the mean energy of
    *all* test samples, as in the paper's tables; ``own`` has the target class above and below.

    Parameters
    ----------
    residual, energy : arrays (n,)
        ``|x_i - proj(x_i)|^2`` and ``|x_i|^2`` of the test samples.
    target : bool array (n,)
        Which are of the class that the projection was fitted to.
    task : {"projection", "classification", "outlier"}

    Returns
    -------
    dict of str to float or None
        By name of the normalisation; None if the model diverged.

    Examples
    --------
    >>> import numpy as np
    >>> target = np.array([True, True, False, False])
    >>> residual, energy = np.array([1.0, 3.0, 9.0, 9.0]), np.array([4.0, 4.0, 1.0, 1.0])
    >>> resmse(residual, energy, target=target, task="outlier")
    {'paper': 0.8, 'own': 0.5}
    """
    if task != "outlier":
        return {"same": _figure(residual.sum() / energy.sum())}
    above = residual[target].mean()
    return {
        "paper": _figure(above / energy.mean()),
        "own": _figure(above / energy[target].mean()),
    }


def _figure(value) -> float | None:
    return float(value) if np.isfinite(value) else None


def accuracies(predicted, y, n_paper) -> dict[str, float]:
    """Percentage of right answers, on the paper's first ``n_paper`` samples and on all.

    Examples
    --------
    >>> import numpy as np
    >>> accuracies(np.array([1, 0, 0, 0]), np.array([1, 0, 1, 1]), 2)
    {'paper': 100.0, 'own': 50.0}
    """
    return _by_part(_accuracy, predicted, y, n_paper)


def balanced_accuracies(predicted, y, n_paper) -> dict[str, float]:
    """As :func:`accuracies`, the mean over classes: 50 where one of two is always answered.

    Examples
    --------
    >>> import numpy as np
    >>> balanced_accuracies(np.zeros(10), np.array([1] + 9 * [0]), None)
    {'same': 50.0}
    """
    return _by_part(_balanced_accuracy, predicted, y, n_paper)


def _by_part(measure, predicted, y, n_paper) -> dict[str, float]:
    """A measure of the answers on the paper's first samples and on all."""
    if n_paper is None:
        return {"same": measure(predicted, y)}
    return {"paper": measure(predicted[:n_paper], y[:n_paper]), "own": measure(predicted, y)}


def _accuracy(predicted, y) -> float:
    return float(np.mean(100.0 * (predicted == y)))


def _balanced_accuracy(predicted, y) -> float:
    return float(np.mean([_accuracy(predicted[y == c], c) for c in np.unique(y)]))


def classify(train, y, test, *, protocols, seeds, epochs, steps) -> list[np.ndarray]:
    """Classes of the test samples by the classifier of the paper, from each of several inputs.

    It scales its input in all protocols but the paper's.

    Parameters
    ----------
    train, test : list of array (n, q)
        Inputs of each classifier.
    y : array (n,)
        Classes of the training samples.
    protocols : list of str
        Of each classifier.
    seeds : list of int
        One for each classifier.
    epochs, steps : int
        And batches of an epoch.
    """
    from gtpca_paper.baselines.classifier import Downstream, fit_together

    schedule = {"epochs": epochs, "steps_per_epoch": steps}
    models = [
        Downstream(standardize=protocol != "paper", **schedule, random_state=seed)
        for protocol, seed in zip(protocols, seeds, strict=True)
    ]
    fit_together(models, train, y)
    return [model.predict(Z) for model, Z in zip(models, test, strict=True)]

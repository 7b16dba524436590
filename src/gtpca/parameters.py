"""What the parameters of GTPCA must be and what they come to, and warnings before a fit."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from gtpca import checks
from gtpca.data.chunks import RESIDUALS
from gtpca.data.missing import MISSING
from gtpca.data.orientation import neighbours
from gtpca.families.base import check_size
from gtpca.families.text import as_family
from gtpca.fitting import wording
from gtpca.fitting.coloured import check_noise, is_white
from gtpca.fitting.fit import show_log
from gtpca.fitting.outliers import OUTLIERS
from gtpca.model import outputs
from gtpca.model.matching import POLARITIES
from gtpca.model.ridge import AUTO, COST
from gtpca.operators.base import weigh_features
from gtpca.operators.grid import Grid
from gtpca.operators.poses import is_still
from gtpca.solvers.als import ALS

__all__ = [
    "bind_family",
    "check_n_components",
    "check_parameters",
    "check_templates",
    "ridge_of",
    "warn_early",
    "warn_if_transposed",
    "warn_of_domain",
]

RULES = {
    "polarity": checks.one_of(*POLARITIES),
    "output": checks.one_of(*outputs.OUTPUTS),
    "center": checks.one_of(False, True, "samples"),
    "shared_pose": checks.one_of(False, True),
    "missing": checks.one_of(*MISSING),
    "noise": check_noise,
    "outliers": checks.one_of(*OUTLIERS),
    "residual": checks.one_of(*RESIDUALS),
    "ridge": checks.auto_or(checks.non_negative),
    "refine": checks.at_least(0),
    "n_restarts": checks.auto_or(checks.at_least(1)),
    "batch_size": checks.optional(checks.at_least(1)),
    "horizon": checks.optional(checks.at_least(1)),
    "progress": checks.one_of("auto", True, False),
}
LEAST_DOMAIN = 0.5  # share of the points below which a fit warns


def check_parameters(estimator):
    """Raise an error for parameters that make no sense; return a private copy of the solver."""
    checks.parameters(estimator, RULES)
    if estimator.shared_pose and estimator.polarity == "positive" and estimator.n_components != 1:
        raise ValueError(
            "polarity='positive' needs one component per pose; use polarity='both' with "
            "shared_pose=True."
        )
    if estimator.outliers is not None and not is_white(estimator.noise):
        raise ValueError(
            f"outliers={estimator.outliers!r} needs noise='white': a filter would spread bad "
            "values over their neighbours. Use noise='white', or outliers=None."
        )
    if estimator.outliers in ("values", "both") and isinstance(estimator.n_components, float):
        raise ValueError(
            f"outliers={estimator.outliers!r} needs a number of components, not the share "
            f"n_components={estimator.n_components!r}: what components show decides which values "
            "are artefacts."
        )
    as_family(estimator.family)
    if estimator.verbose:
        show_log()
    solver = ALS() if estimator.solver is None else estimator.solver
    if isinstance(solver, type) or not hasattr(solver, "solve"):
        raise TypeError(f"solver={solver!r} is not a solver; use ALS() or None.")
    if estimator.shared_pose and not getattr(solver, "joint", True):
        raise ValueError(
            f"solver={solver!r} finds one component at a time; with shared_pose=True use ALS()."
        )
    if estimator.ridge not in (0, "auto") and not getattr(solver, "ridged", False):
        raise ValueError(
            f"ridge={estimator.ridge!r} needs solver=ALS(): {solver!r} does not support a ridge; "
            "use ridge='auto' or 0 with it."
        )
    solver.check()
    return clone(solver)


def check_n_components(n_components, operator, shared_pose=False):
    """An int of at least 1 or a float in (0, 1)."""
    if isinstance(n_components, (float, np.floating)) and 0 < n_components < 1:
        return float(n_components)
    integer = isinstance(n_components, (int, np.integer)) and not isinstance(n_components, bool)
    if not integer or n_components < 1:
        raise ValueError(
            f"n_components={n_components!r} must be an integer of at least 1 or a share of the "
            "energy in (0, 1)."
        )
    most = min(operator.n_weights, operator.n_features)
    if (is_still(operator) or shared_pose) and n_components > most:
        raise ValueError(
            f"n_components={n_components} is more than the {most} features; with a single "
            f"transform or a shared pose there are at most {most} components."
        )
    return int(n_components)


def check_templates(estimator, operator, count):
    """Templates as rows of unit norm, (t, L); an error for those that cannot be used."""
    if estimator.templates is None:
        return np.empty((0, operator.n_weights))
    if not is_white(estimator.noise):
        raise ValueError(
            "templates need noise='white': a filter that is estimated from the samples would "
            "change them. Use noise='white', or templates=None."
        )
    if estimator.outliers is not None:
        raise ValueError(
            f"templates cannot be combined with outliers={estimator.outliers!r}; use outliers=None."
        )
    if isinstance(count, float):
        raise ValueError(
            f"templates need a number of components, not the share n_components={count!r}."
        )
    W = check_template_shape(estimator.templates, operator)
    if len(W) > count:
        raise ValueError(f"{len(W)} templates need n_components={len(W)} or more; it is {count}.")
    if estimator.shared_pose and len(W) < count:
        raise ValueError(
            f"In one pose all components must be given: {len(W)} templates for "
            f"n_components={count}. Use n_components={len(W)}, or shared_pose=False."
        )
    norms = np.linalg.norm(W, axis=1, keepdims=True)
    if not np.all(norms > 0):
        raise ValueError(f"Template {np.flatnonzero(norms == 0)[0]} is zero everywhere.")
    return W / norms


def check_template_shape(templates, operator):
    """Templates as flat rows (t, L); one alone may lack the first axis."""
    W, shape = np.asarray(templates), operator.weight_shape
    fits = W.shape == shape or W.shape[1:] in (shape, (operator.n_weights,))
    if W.dtype.kind not in "iufb" or not fits:
        raise ValueError(
            f"templates must be numbers of shape (t, {', '.join(map(str, shape))}), each as large "
            f"as a component of the family; got {W.dtype} of shape {W.shape}."
        )
    W = W.reshape(-1, operator.n_weights).astype(np.float64)
    if not np.isfinite(W).all():
        raise ValueError("templates contain NaN or infinite values; cut or fill them.")
    return W


def bind_family(family, sample_shape, feature_weight=None):
    """The operator of a family, or of its text, with the feature weight.

    The default is the weight of a grid whose inner products are integrals; False means none.
    """
    family = as_family(family)
    check_size(family, sample_shape)
    operator = family.bind(sample_shape)
    weight = feature_weight
    if weight is None and isinstance(sample_shape, Grid):
        weight = sample_shape.weight
    return operator if weight is None or weight is False else weigh_features(operator, weight)


def ridge_of(estimator, operator):
    """Fields of a problem with the ridge of an estimator: none where rows see all of a component,
    or the same part of it, and none for solvers that know of none.
    """
    ridged = estimator.solver is None or getattr(estimator.solver, "ridged", False)
    auto, shared = estimator.ridge == "auto", estimator.shared_pose
    if not ridged or not operator.crops or is_still(operator) or (auto and shared):
        return {}
    return {"ridge": AUTO, "cost": COST} if auto else {"ridge": float(estimator.ridge)}


def warn_early(estimator, operator, n_rows):
    """Warn, before any work is done, of valid but probably unintended input."""
    family, count = as_family(estimator.family), estimator.n_components
    _warn_of_windows(operator)
    warn_of_domain(family, operator)
    if is_still(operator) and family.hint_if_still is not None:
        checks.warn(wording.still_family(family, operator), UserWarning)
    if not is_still(operator) and count > n_rows:
        checks.warn(wording.many_components(count, n_rows), UserWarning)


def warn_if_transposed(operator, rows):
    """Warn if flat rows in memory look like the points of series, and features like samples."""
    if is_still(operator) or len(operator.sample_shape) != 1 or not rows.in_memory:
        return
    found = neighbours(rows.read(0, rows.n_rows))
    if found is not None and found.transposed:
        checks.warn(wording.transposed(found, rows.n_rows, rows.n_features), UserWarning)


def _warn_of_windows(operator):
    """Warn if a component is more than twice as long as the sample."""
    sample, window = operator.sample_shape, operator.weight_shape
    pairs = enumerate(zip(sample, window, strict=True)) if len(sample) == len(window) else ()
    for axis, (size, length) in pairs:
        if length > 2 * size:
            checks.warn(wording.long_window(operator, axis), UserWarning)


def warn_of_domain(family, operator):
    """Warn if samples are compared on less than half of their points."""
    if operator.domain_share < LEAST_DOMAIN:
        checks.warn(wording.small_domain(as_family(family), operator), UserWarning)

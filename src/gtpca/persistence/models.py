"""Models in files: no pickle, nothing is executed on loading, every byte is checked.

The operator is never stored: a family is bound again to the shape of a sample.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from dataclasses import fields
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

import gtpca
from gtpca import checks
from gtpca.base import BaseFitted, BaseModel
from gtpca.classifier import GTPCAClassifier, with_classes
from gtpca.estimator import FROZEN, GTPCA
from gtpca.families.base import everywhere
from gtpca.families.text import as_family
from gtpca.fitting.fitted import (
    Fitted,
    FittedComponents,
    FittedDensity,
    FittedEvents,
    FittedMixture,
)
from gtpca.mixture import MixtureGTPCA
from gtpca.parameters import check_n_components, check_parameters
from gtpca.persistence.classifiers import check_classes, class_names
from gtpca.persistence.container import read_container, write_container
from gtpca.persistence.densities import check_density_file, check_mixture_file
from gtpca.persistence.events import check_event_file, check_template_shape
from gtpca.persistence.labels import check_labels
from gtpca.persistence.noises import check_noise_file
from gtpca.persistence.shapes import is_array, is_floats
from gtpca.persistence.values import Decoder, Encoder
from gtpca.probabilistic import BaseDensity, ProbabilisticGTPCA, check_density
from gtpca.recordings import EventGTPCA, check_event_parameters
from gtpca.text import one_line

__all__ = ["load", "save"]

LARGEST_FAMILY = 2**24
DOMAINS = 3  # files of earlier formats have no domain: samples were compared everywhere
MOST_SWEEPS, MOST_JOBS = 10_000, 4096
FITTED_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*_|_[A-Za-z][A-Za-z0-9_]*")
KINDS = {kind.__name__: kind for kind in (GTPCA, ProbabilisticGTPCA, MixtureGTPCA, EventGTPCA)}
VALUES: dict[type, type[Fitted]] = {
    GTPCA: FittedComponents,
    ProbabilisticGTPCA: FittedDensity,
    MixtureGTPCA: FittedMixture,
    EventGTPCA: FittedEvents,
}
ASIDE = ("row_weight_", "rejected_", "losses_")
LEFT_OUT = ("feature_names_in_", "online_", *ASIDE)  # of files, if there is nothing to store


def save(model: BaseFitted | GTPCAClassifier, path: str | PathLike[str]) -> None:
    """Write a fitted model to a file; :meth:`gtpca.GTPCA.save`."""
    encoder = Encoder()
    write = _classifier if type(model) is GTPCAClassifier else _content
    content = {"gtpca_version": gtpca.__version__, **write(model, encoder)}
    write_container(path, content, encoder.arrays)


def _content(model, encoder, place="") -> dict[str, Any]:
    """A model as JSON; names of its arrays begin with ``place``."""
    if type(model) not in KINDS.values():
        *others, last = (*KINDS, GTPCAClassifier.__name__)
        names = f"{', '.join(others)} and {last}"
        raise ValueError(f"a {type(model).__name__} cannot be saved; only {names} themselves can.")
    check_is_fitted(model)
    _check_parameters(model, _told(model.fit_))
    if not isinstance(model, EventGTPCA):
        as_family(model.family).check_repeatable()
        _check_operator(model)
    parameters, fitted = _parameters(model), _told(model.fit_) | _others(model)
    return {
        **({} if type(model) is GTPCA else {"estimator": type(model).__name__}),
        "parameters": {n: encoder.encode(value, f"{place}{n}") for n, value in parameters.items()},
        "fitted": {n: encoder.encode(value, f"{place}{n}") for n, value in fitted.items()},
    }


def _classifier(model, encoder) -> dict[str, Any]:
    """A classifier as JSON: its classes, and a model for each."""
    check_is_fitted(model)
    fitted = {"classes_": class_names(model.classes_), "class_prior_": model.class_prior_}
    return {
        "estimator": GTPCAClassifier.__name__,
        "parameters": {"estimator": None if model.estimator is None else 0},
        "fitted": {name: encoder.encode(value, name) for name, value in fitted.items()},
        "models": [_content(one, encoder, f"{c}.") for c, one in enumerate(model.estimators_)],
    }


def load(path: str | PathLike[str], max_size: int = LARGEST_FAMILY) -> Any:
    """Read a model that was written by ``save`` of one of the estimators.

    ``transform`` and the other methods return the same results as before saving, to the last bit
    (on the same machine and with the same versions of NumPy and SciPy).

    Parameters
    ----------
    path : path
    max_size : int
        The largest number of values that a family may need
        (``family.size(sample_shape).n_values``), which is checked before anything is allocated, so
        that a hostile file cannot fill the memory or run for ever; for the models of a classifier
        together. Increase it for your own large models.

    Returns
    -------
    GTPCA, ProbabilisticGTPCA, MixtureGTPCA, EventGTPCA or GTPCAClassifier

    Examples
    --------
    >>> import os, tempfile
    >>> import gtpca
    >>> from gtpca.datasets import make_spikes
    >>> X, _ = make_spikes(50, n_times=64, random_state=0)
    >>> model = gtpca.GTPCA(1, gtpca.Shift(16), random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "spikes.gtpca"))
    ...     same = gtpca.load(os.path.join(folder, "spikes.gtpca"))
    >>> bool((same.transform(X) == model.transform(X)).all())
    True
    """
    checks.integer("max_size", max_size, 1)
    content, arrays = read_container(path)
    try:
        known = content.get("estimator") == GTPCAClassifier.__name__
        rebuild = _rebuild_classifier if known else _rebuild
        return rebuild(content, Decoder(arrays), max_size)
    except ImportError:
        raise
    except MemoryError:
        raise ValueError(f"{path} needs more memory than there is.") from None
    except Exception as error:  # any exception of the estimator's checks
        raise ValueError(f"{path} holds no valid model: {one_line(error)}") from None


def _parameters(model) -> dict:
    """All parameters; samples of noise are replaced by what was estimated from them."""
    told = model.get_params(deep=False)
    return told if isinstance(told["noise"], str) else told | {"noise": model.noise_}


def _name(field: str) -> str:
    """The name of a field of a fitted value in files."""
    return "_row_shape" if field == "row_shape" else f"{field}_"


def _told(fit) -> dict:
    """All fields of a fitted value except the operator and what follows from it."""
    names = [field.name for field in fields(fit) if field.name != "operator"]
    told = {_name(name): getattr(fit, name) for name in (*names, *fit.follows)}
    return {n: value for n, value in told.items() if n not in LEFT_OUT or value is not None}


def _others(model) -> dict:
    """What other code has set on an estimator, such as the choice of ``set_output``."""
    names = {*inspect.signature(type(model)).parameters, "fit_"}
    found = {k: v for k, v in vars(model).items() if k not in names and "callback" not in k}
    for name in found:
        _check_other(type(model), name)
    return found


def _check_other(kind, name) -> None:
    """Check that other attributes begin or end with an underscore and hide none of the class."""
    known = inspect.getattr_static(kind, name, None) is not None
    if known or "callback" in name or name == "fit_" or not FITTED_NAME.fullmatch(name):
        raise ValueError(f"the attribute {name[:80]!r} is not one of a fitted model")


def _parted(kind, fitted) -> tuple[dict, dict]:
    """The fitted value of an estimator in a file, and what other code has set on it."""
    value = VALUES[kind]
    known = {_name(n) for n in (*(field.name for field in fields(value)), *value.follows)}
    known -= {"operator_"}
    others = {name: fitted[name] for name in fitted if name not in known}
    for name in others:
        _check_other(kind, name)
    return {name: fitted[name] for name in fitted if name in known}, others


def _rebuild(content, decoder, max_size) -> Any:
    """The model, checked before and after its family is bound."""
    parameters, fitted = (decoder.decode(content.get(k)) for k in ("parameters", "fitted"))
    if not isinstance(parameters, dict) or not isinstance(fitted, dict):
        raise ValueError("parameters and fitted attributes must be named")
    kind = _kind_of(content)
    unknown = set(parameters) - set(inspect.signature(kind).parameters)
    if unknown:
        name = min(unknown)[:40]
        raise ValueError(f"{kind.__name__} has no parameter {name!r} in this version")
    if content["format_version"] < DOMAINS and parameters.get("family") is not None:
        parameters["family"] = everywhere(as_family(parameters["family"]))
    model = kind(**parameters)
    fitted, others = _parted(kind, fitted)
    fitted |= _untold(model, fitted)
    _check_complete(kind, fitted)
    _check_parameters(model, fitted)
    _check_cautions(fitted["cautions_"])
    _check_shapes(model, fitted, max_size)
    check_labels(fitted["labels_"], fitted["sample_shape_"])
    operator = _bind(model, fitted, max_size)
    held = {f.name: fitted[_name(f.name)] for f in fields(VALUES[kind]) if _name(f.name) in fitted}
    model.fit_ = VALUES[kind](operator=operator, **held)
    CHECKS[kind](model)
    vars(model).update(others)
    return model


def _rebuild_classifier(content, decoder, max_size) -> GTPCAClassifier:
    """The classifier, with all of its models."""
    parameters, fitted = (decoder.decode(content.get(k)) for k in ("parameters", "fitted"))
    if not isinstance(fitted, dict) or parameters not in ({"estimator": None}, {"estimator": 0}):
        raise ValueError("parameters must say whether the estimator was given")
    given, found, version = content.get("models"), [], content["format_version"]
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise ValueError("models must be a list")
    for each in given:
        found.append(_rebuild(each | {"format_version": version}, decoder, max_size))
        max_size -= int(as_family(found[-1].family).size(found[-1].grid_).n_values)
    classes = check_classes(fitted.get("classes_"), fitted.get("class_prior_"), found)
    model = GTPCAClassifier(None if parameters["estimator"] is None else clone(found[0]))
    return with_classes(model, classes, found, fitted["class_prior_"])


def _kind_of(content):
    """The class of the model in a file; older files do not state it, and have a GTPCA."""
    name = content.get("estimator", "GTPCA")
    if not isinstance(name, str) or name not in KINDS:
        raise ValueError(f"there is no estimator {str(name)[:40]!r} in this version")
    return KINDS[name]


def _untold(model, fitted):
    """What older files lack: parameters that a fit keeps; no ridge, labels or cautions."""
    known: dict[str, Any] = {"cautions_": []}
    if isinstance(model, GTPCA):
        known |= {f"{name}_": getattr(model, name) for name in FROZEN}
        known |= {"ridge_": np.zeros(len(fitted.get("history_", ()))), "labels_": None}
    return {name: value for name, value in known.items() if name not in fitted}


def _check_complete(kind, fitted) -> None:
    """Raise an error unless all fields without a default are present."""
    value = VALUES[kind]
    for name in (*value.needed(), *value.follows):
        if name != "operator" and _name(name) not in fitted:
            raise ValueError(f"{_name(name)} is missing")


def _check_parameters(model, fitted) -> None:
    """The checks of ``fit``, and bounds that prevent a forged model from running for ever."""
    if isinstance(model, EventGTPCA):
        check_event_parameters(model)
    elif isinstance(model, BaseDensity):
        check_density(model)
    else:
        check_parameters(model)
        check_parameters(clone(model).set_params(**{n: fitted[_name(n)] for n in FROZEN}))
        checks.integer("refine", model.refine, 0, MOST_SWEEPS)
        checks.integer("verbose", int(model.verbose), 0)
    check_random_state(model.random_state)
    if model.n_jobs is not None:
        checks.integer("n_jobs", model.n_jobs, -MOST_JOBS, MOST_JOBS)
    if isinstance(model, BaseModel) and model.sample_shape is not None:
        checks.sizes("sample_shape", model.sample_shape)


def _check_shapes(model, fitted, max_size) -> None:
    """Check that the fitted attributes are consistent with the shape of a sample."""
    components, count = fitted["components_"], fitted["n_components_"]
    if not is_array(components, "f", np.shape(components)) or components.ndim < 2:
        raise ValueError("components_ must be finite numbers, one component a row")
    axis = 1 if isinstance(model, MixtureGTPCA) else 0
    if checks.integer("n_components_", count, 0) != components.shape[axis]:
        raise ValueError(f"n_components_={count} does not fit components_ of {components.shape}")
    if isinstance(model, EventGTPCA):
        check_template_shape(fitted, max_size)
        return
    for name in ("sample_shape_", "_row_shape"):
        shape = fitted[name]
        if not isinstance(shape, tuple) or not 0 < len(shape) <= 32:
            raise ValueError(f"{name} must be a tuple of sizes")
        if math.prod(checks.sizes(name, shape)) != fitted["n_features_in_"]:
            size = fitted["n_features_in_"]
            raise ValueError(f"{name}={shape} does not fit n_features_in_={size}")
    checks.integer("n_features_in_", fitted["n_features_in_"], 1, max_size)
    mean = fitted.get("mean_")
    if mean is not None and not is_floats(mean, fitted["sample_shape_"]):
        raise ValueError("mean_ must be finite numbers of the shape of a sample")


def _check_cautions(cautions) -> None:
    if not isinstance(cautions, list) or not all(isinstance(text, str) for text in cautions):
        raise ValueError("cautions_ must be a list of sentences")


def _check_components(model) -> None:
    count = checks.integer("n_components_", model.n_components_, 1)
    shape = (count, *model.operator_.weight_shape)
    if not is_floats(model.components_, shape):
        raise ValueError(f"components_ must be finite numbers of shape {shape}")
    if not model.components_.reshape(count, -1).any(axis=1).all():
        raise ValueError("components_ must not be zero")
    check_noise_file(model, "whitened_components_", (count,))
    check_n_components(model.n_components, model.operator_, model.shared_pose_)
    _check_record(model, count)


CHECKS: dict[type, Callable] = {
    GTPCA: _check_components,
    ProbabilisticGTPCA: check_density_file,
    MixtureGTPCA: check_mixture_file,
    EventGTPCA: check_event_file,
}


def _check_record(model, count) -> None:
    """Check the record of the fit, for each component or for all together."""
    for name in ("explained_energy_", "explained_energy_ratio_"):
        if not is_array(getattr(model, name), "f", (count,)):
            raise ValueError(f"{name} must be {count} numbers")
    passes, history = model.n_iter_, model.history_
    if not any(is_array(passes, "iu", (size,)) for size in (1, count)):
        raise ValueError(f"n_iter_ must be 1 or {count} integers")
    if not is_floats(model.ridge_, passes.shape) or np.any(model.ridge_ < 0):
        raise ValueError(f"ridge_ must be {len(passes)} numbers of at least 0")
    if not isinstance(history, list) or len(history) != len(passes):
        raise ValueError(f"history_ must be a list of {len(passes)} arrays")
    if not all(is_array(values, "f", (np.size(values),)) for values in history):
        raise ValueError("history_ must hold arrays of numbers")
    _check_aside(model)


def _check_aside(model) -> None:
    """What is told of rows and values that were set aside."""
    weight, rejected, losses = (getattr(model, name) for name in ASIDE)
    if weight is not None and not is_floats(weight, (np.size(weight),)):
        raise ValueError("row_weight_ must hold a number for every row")
    shape = (len(rejected) if np.ndim(rejected) else 0, *model.sample_shape_)
    if rejected is not None and not is_array(rejected, "b", shape):
        raise ValueError("rejected_ must say of every value whether it was set aside")
    known = losses is None or isinstance(losses, list)
    if not known or not all(is_array(each, "f", (np.size(each),)) for each in losses or ()):
        raise ValueError("losses_ must be a list of arrays of numbers")


def _bind(model, fitted, max_size):
    """The operator, if it is not larger than allowed."""
    shape, labels = fitted["sample_shape_"], fitted["labels_"]
    grid = shape if labels is None else labels.grid(shape)
    if isinstance(model, EventGTPCA):
        return model.bind(grid)
    family = as_family(model.family)
    needed = family.size(grid).n_values
    if not needed <= max_size:
        raise ValueError(
            f"{type(family).__name__} needs {needed:.3g} numbers, more than max_size={max_size}; "
            "if you trust the file, pass a larger max_size to load"
        )
    return model.bind(grid)


def _check_operator(model) -> None:
    """Check that the family is still the one that was fitted, as stored in the file."""
    old, new = model.operator_, model.bind(model.grid_)
    probe = np.random.default_rng(0).standard_normal((1, old.n_features))
    w = np.random.default_rng(1).standard_normal(old.n_weights)
    shapes = [(o.n_transforms, o.weight_shape, o.reference) for o in (old, new)]
    first, second = (np.atleast_1d(o.feature_weight) for o in (old, new))
    same = shapes[0] == shapes[1] and np.array_equal(first, second)
    same = same and all(
        np.array_equal(*(o.correlate(o.prepare(row), w[None]) for o in (old, new)))
        for row in (probe, np.abs(probe))
    )
    if not same:
        raise ValueError(
            f"family={model.family!r} or feature_weight was changed after the fit; fit again "
            "before saving."
        )

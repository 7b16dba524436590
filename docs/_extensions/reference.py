"""Tables of the reference: methods and parameters of a class, one line each, without internals."""

from __future__ import annotations

import inspect
import re
from functools import cached_property
from importlib import import_module
from typing import Any

# What the library calls itself, by a base class of those that have it.
INTERNAL = {
    "BaseFitted": "bind chunks grid_ measure model_ opened recipe",
    "Family": "bind check_repeatable hint_if_large size windows",
    "ALS": "check looks_ahead polish solve",
    "Adam": "check polish solve",
    "Diagnosis": "named said",
    "Check": "named on_page",
    "Codes": "check",
    "Events": "of",
    "GTPCNetwork": "forget keep",
}
SHOWN = {"Family"}  # whoever writes one needs them
FOREIGN = ["BaseEstimator", "TransformerMixin", "CallbackSupportMixin", "ClassifierMixin"]
FOREIGN += ["OutlierMixin", "Module", "Exception", "tuple", "Bunch"]  # have their own pages
ROUTING = re.compile(r"get_metadata_routing|set_\w+_request")  # of metadata, by scikit-learn
# Parameters of the estimators, by what they are for.
GROUPS = {
    "What moves, and in which samples": "family shared_pose polarity templates sample_shape "
    "sample_dim center feature_weight prior refractory rate",
    "How many": "n_components n_kinds",
    "Noise, gaps and artefacts": "noise missing outliers ridge shrink contamination false_alarms",
    "Speed and accuracy": "solver em n_restarts n_init max_iter tol refine counts batch_size "
    "residual horizon n_jobs random_state",
    "Reporting": "output verbose progress",
}
# Where the first sentence of the docstring does not say what a parameter is for.
SAID = {
    "shared_pose": "One pose of a sample for all components, or one for each.",
    "polarity": "Whether components may match upside down.",
    "noise": "What noise is like: white, coloured, or as in given samples of it.",
    "missing": "Whether NaN is an error, or a value that was not observed.",
    "solver": "How a component is found.",
    "random_state": "Seed of everything that is drawn.",
    "n_kinds": "Number of kinds of samples.",
    "progress": "Whether to show how far a fit is.",
    "shrink": "Whether held-out rows decide how far patterns are smoothed and shrunk.",
}
LONGEST = 100  # characters about a parameter, where its first sentence can be cut
ESTIMATORS = ("GTPCA", "ProbabilisticGTPCA", "MixtureGTPCA", "EventGTPCA")


def internal(fullname: str) -> list[str]:
    """Names of a class that are not for its users."""
    cls = _found(fullname)
    bases = [] if cls.__name__ in SHOWN else [base.__name__ for base in cls.__mro__]
    return sorted({n for base in bases for n in INTERNAL.get(base, "").split()})


def hidden(fullname: str) -> list[str]:
    """Names that have no entry: internals, and what scikit-learn documents."""
    routing = [name for name in dir(_found(fullname)) if ROUTING.fullmatch(name)]
    return sorted({*internal(fullname), *routing, "set_output", "set_params"})


def methods(fullname: str) -> dict[str, dict[str, str]]:
    """Public methods and properties of a class with a line each, by heading; plots stand apart."""
    cls = _found(fullname)
    own = [name for name in _public(cls) if _definer(cls, name).__module__.startswith("gtpca")]
    found: dict[str, dict[str, str]] = {"Methods": {}, "Plots": {}}
    for name in own:
        if name not in internal(fullname) and name != "set_params":
            text = _said(cls, name).replace("; see :func:`gtpca.plots.", "; :func:`~gtpca.plots.")
            text = re.sub(r":(meth|attr):`(\w+)`", rf":\1:`~{fullname}.\2`", text)
            found["Plots" if name.startswith("plot_") else "Methods"][name] = text
    return {heading: names for heading, names in found.items() if names}


def summary(fullname: str) -> str:
    """The first line about a class."""
    return (inspect.getdoc(_found(fullname)) or "").partition("\n\n")[0].replace("\n", " ")


def inherited(fullname: str) -> list[tuple[str, str]]:
    """Methods that come from scikit-learn, each with its first line."""
    cls = _found(fullname)
    if not any(base.__name__ == "BaseEstimator" for base in cls.__mro__):
        return []
    from_there = [n for n in _public(cls) if _definer(cls, n).__module__.startswith("sklearn")]
    names = sorted({*from_there, "set_params"})
    return [(name, re.sub(r":\w+:`(.*?)( <.*?>)?`", r"\1", _said(cls, name))) for name in names]


def parameters(fullname: str) -> dict[str, list[tuple[str, str, str]]]:
    """Parameters of an estimator by group: name, default, and the first sentence about it."""
    cls = _found(fullname)
    if cls.__name__ not in ESTIMATORS:
        return {}
    described = _described(cls)
    given = inspect.signature(cls).parameters
    return {
        group: [(n, repr(given[n].default), described[n]) for n in names.split() if n in given]
        for group, names in GROUPS.items()
    }


def _found(fullname: str) -> Any:
    module, _, name = fullname.rpartition(".")
    return getattr(import_module(module), name)


def _public(cls) -> list[str]:
    """Methods and properties, in alphabetical order."""
    kinds = (property, cached_property, classmethod, staticmethod)
    names = [n for n in dir(cls) if not n.startswith("_") and not ROUTING.fullmatch(n)]
    found = [(n, inspect.getattr_static(cls, n)) for n in names]
    return [n for n, v in found if inspect.isfunction(v) or isinstance(v, kinds)]


def _definer(cls, name):
    return next(base for base in cls.__mro__ if name in vars(base))


def _said(cls, name) -> str:
    """The first sentence about a method."""
    text = inspect.getdoc(inspect.getattr_static(cls, name)) or ""
    first = " ".join(text.partition("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z`])", first, maxsplit=1)[0]


def _described(cls) -> dict[str, str]:
    """The first sentence about every parameter in the docstring of a class."""
    from numpydoc.docscrape import NumpyDocString

    found = {}
    for entry in NumpyDocString(inspect.getdoc(cls))["Parameters"]:
        text = " ".join(" ".join(entry.desc).split())
        found |= {name.strip(): _shortened(text) for name in entry.name.split(",")}
    return found | SAID


def _shortened(text: str) -> str:
    """The first sentence; if it is long, its first clause."""
    sentence = re.split(r"(?<=\.) (?=[A-Z\"`])", text, maxsplit=1)[0]
    if len(sentence) <= LONGEST:
        return sentence
    return f"{re.split('[:;] ', sentence, maxsplit=1)[0].rstrip('.')}."


CONTEXT = {
    "hidden": hidden,
    "summary_of": summary,
    "methods_of": methods,
    "inherited_of": inherited,
    "parameters_of": parameters,
    "foreign": FOREIGN,
}

"""``write_page``: checks, the template, and a file that is complete or does not exist."""

from __future__ import annotations

import re
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

import gtpca
from gtpca import checks
from gtpca._typing import RandomState, Samples
from gtpca.base import BaseFitted, BaseModel
from gtpca.data.rows import counted
from gtpca.diagnostics.summary import quick_check
from gtpca.families.text import as_family
from gtpca.files import atomic_file
from gtpca.operators.grid import Grid, axis_texts
from gtpca.operators.poses import has_own_search, is_still
from gtpca.optional import require
from gtpca.page.contents import gather, n_shown
from gtpca.page.packing import clipped, safe_json, script_hash
from gtpca.page.reality import reality, reality_chart
from gtpca.page.recordings import gather_recording
from gtpca.views import measures, palette
from gtpca.views.parts import is_density
from gtpca.views.spectra import noise_spectra

__all__ = ["write_page"]

LARGEST = 7_800_000  # bytes of the page
ROOM_LEFT = 150_000  # of these for text, styles and our own scripts
SCRIPTS = ("data.js", "figures.js", "draw.js", "samples.js", "alignment.js", "page.js")
RECORDING_SCRIPTS = ("data.js", "figures.js", "draw.js", "alignment.js", "recording.js")


def write_page(
    model: Any,
    X: Samples,
    path: str | PathLike[str],
    *,
    labels: Any = None,
    ids: Any = None,
    check: Any = None,
    commands: Any = None,
    title: str | None = None,
    text: str | None = None,
    max_samples: int = 2000,
    random_state: RandomState = 0,
) -> Path:
    """Write one HTML file that shows a fitted model; it needs no server and no connection.

    The page shows the components, what they explain compared with "PCA (uncentred)", the scores,
    single samples with their reconstructions and poses, sliders that build a sample ``sum_k s_k T
    w_k`` in the reference pose, and histograms of the poses. It stays below 8 MB: samples are drawn
    at random, in the proportions of the labels, and large ones are averaged over neighbours; the
    page says so. Shares and histograms count all samples.

    Parameters
    ----------
    model : GTPCA, ProbabilisticGTPCA, MixtureGTPCA or EventGTPCA
        Fitted. For a density, the pattern is shown with the components, and poses with their
        standard deviations and probabilities. Of several kinds the page shows patterns, samples
        and poses by kind, which kinds uncertain samples are between, and classes by kind if there
        are labels. Of templates of recordings it shows the trace with its events, amplitudes over
        time, intervals, and events piled up.
    X : array (n, \\*sample_shape) or (n, d), or recordings
        Samples, those of the fit or new ones; anything that ``model.encode`` accepts, read chunk by
        chunk.
    path : path
        The file to write. An existing file is replaced once the new one is complete.
    labels : array (n,), dict of str to array (n,), or None
        Shown next to the samples; up to ten distinct labels are distinguished in the scatter plot,
        and more that are numbers are a quantity with a colour scale. Several columns can be
        selected by name.
    ids : array (n,), dict of one str to array (n,), or None
        Names of the samples.
    check : Check, None or False
        The result of :func:`gtpca.diagnostics.check`, for the section "Is it real?". None: a
        quick one of small data, which takes a second or a few; False: none.
    commands : tuple of str or None
        What to run for that section, and what to do where there is no evidence for a pattern, as
        ``gtpca report`` says it; default: what to call in Python.
    title : str or None
        The heading.
    text : str or None
        Shown below the heading, as plain text; a blank line begins a new paragraph.
    max_samples : int
        Largest number of points in the scatter plot.
    random_state : int, RandomState or None
        For the samples that are shown.

    Returns
    -------
    Path
        Of the page.

    Examples
    --------
    >>> from gtpca import GTPCA, Shift
    >>> from gtpca.datasets import make_spikes
    >>> from gtpca.page import write_page
    >>> X, _ = make_spikes(200, random_state=0)
    >>> model = GTPCA(2, Shift(64), random_state=0).fit(X)
    >>> write_page(model, X, "spikes.html").name  # doctest: +SKIP
    'spikes.html'
    """
    environment, plotly = _environment(), _plotly()
    path = _check(model, path, title=title, text=text)
    room = LARGEST - ROOM_LEFT - len(plotly.encode())
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
    if model.of_recordings:
        for name, given in (("labels", labels), ("ids", ids)):
            if given is not None:
                raise ValueError(f"{name} are of samples; the page of a recording has none.")
        found = gather_recording(model, X, room, rng)
        context = _recording_texts(model, found, check or None, title) | {
            "text": _paragraphs(text or "")
        }
        context |= _parts(plotly, found.data, RECORDING_SCRIPTS)
        return _write(environment, "recording.html", context, path)
    X = counted(X, model)
    columns = _columns("labels", labels, X, "label")
    weight = measures.set_aside(model, X.shape[0] if hasattr(X, "shape") else len(X)).weight
    if weight is not None:
        columns.setdefault("row weight", np.array([f"{v:.3g}" for v in weight], dtype=object))
    called = next(iter(_columns("ids", ids, X, "id").items()), None)
    contents = gather(
        model,
        X,
        labels=next(iter(columns.values()), None),
        columns=columns,
        ids=called,
        room=room,
        max_samples=checks.integer("max_samples", max_samples, 1),
        rng=rng,
    )
    check = quick_check(model, X) if check is None else check or None
    data = contents.data | {"real": reality_chart(check)}
    context = _texts(model, X, contents, title) | {"text": _paragraphs(text or "")}
    context |= {"real": reality(check), "next": commands or _calls(model)} | _parts(plotly, data)
    return _write(environment, "page.html", context, path)


def _write(environment, template, context, path) -> Path:
    """The page in its file, all of it or nothing."""
    text = environment.get_template(template).render(context)
    with atomic_file(path) as file:
        file.write(text.encode("utf-8", "replace"))
    return path


def _check(model, path, **words):
    """The path, if all arguments are valid."""
    recordings = isinstance(model, BaseFitted) and model.of_recordings
    if not recordings and not isinstance(model, BaseModel):
        raise TypeError(
            f"model={clipped(repr(model))} is not a GTPCA, a density or an EventGTPCA; fit one."
        )
    check_is_fitted(model)
    for name, value in words.items():
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name}={clipped(repr(value))} must be a string or None.")
    path = Path(path)
    if path.is_dir() or not path.parent.is_dir():
        raise OSError(f"path={str(path)!r} must be a file in a folder that exists.")
    return path


def _columns(option, given, X, name) -> dict[str, np.ndarray]:
    """Columns of text by name, one text per sample each."""
    named = given if isinstance(given, dict) else {} if given is None else {name: given}
    return {str(k): _check_labels(option, values, X) for k, values in named.items()}


def _check_labels(option, labels, X):
    """One string per sample, (n,)."""
    labels = np.asarray(labels)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if labels.shape != (n,):
        raise ValueError(
            f"{option} has shape {labels.shape}, but X has {n} samples; give one label for each."
        )
    names = map(str, labels.tolist())
    return np.array([name if name.strip() else "(none)" for name in names], dtype=object)


def _texts(model, X, contents, title):
    """The texts for the template."""
    count = model.n_components_
    return {
        "title": title or _heading(model),
        "family": clipped("Identity()" if model.family is None else str(model.family), 200),
        "contents": contents,
        "n_components": count,
        "n_shown": n_shown(model),
        "moves": not is_still(model.operator_),
        "n_transforms": model.operator_.n_transforms,
        "shared": bool(model.shared_pose_),
        "density": is_density(model),
        "noise": _noise(model) if is_density(model) else "",
        "n_kinds": len(contents.kinds.rows) if contents.kinds else 0,
        "doubt": model.doubt_ if is_density(model) and not model.has_kinds else None,
        "cautions": model.cautions_,
        "spectra": _spectra(model),
        "center": model.center_,
        "weighted": model.operator_.feature_weight is not None,
        "pca_name": measures.PCA,
        "positive": palette.POSITIVE,
        "negative": palette.NEGATIVE,
        "parameters": {name: _spoken(v) for name, v in model.get_params(deep=False).items()},
        "facts": _facts(model, X, contents),
        "version": gtpca.__version__,
    }


def _recording_texts(model, contents, check, title):
    """What the template of a recording says in words."""
    count = model.n_components_
    plural = "" if count == 1 else "s"
    return {
        "title": title or f"EventGTPCA: {count} template{plural}",
        "contents": contents,
        "n_components": count,
        "shared": bool(model.shared_pose_),
        "counts": model.event_counts_,
        "counts_text": model.counts_text_,
        "check": check,
        "cautions": model.cautions_,
        "positive": palette.POSITIVE,
        "negative": palette.NEGATIVE,
        "parameters": {name: _spoken(v) for name, v in model.get_params(deep=False).items()},
        "facts": _recording_facts(model, contents),
        "version": gtpca.__version__,
    }


def _recording_facts(model, contents):
    """Recordings and fit, as pairs."""
    shape = " × ".join(map(str, model.sample_shape_))
    facts = {
        "recordings": f"{len(contents.sizes):,}",
        "points": f"{sum(contents.sizes):,}",
        "channels": f"{model.n_channels_}",
        "shape of a template": shape,
        "least distance of events": f"{model.refractory_} points",
        "places per event": "one for all templates" if model.shared_pose_ else "one",
        "passes with frozen prices": f"{model.n_iter_}",
    }
    if model.noise_ is not None:
        facts |= _whitened(model)
    if isinstance(model.grid_, Grid):
        facts["axes"] = clipped("; ".join(axis_texts(model.grid_)), 300)
    return facts


def _calls(model) -> tuple[str, str]:
    """What to call in Python for the diagnostics, and if there is no pattern."""
    other = "another family or more samples may help"
    found = "`gtpca.diagnostics.choose(X, model.family)` tries other windows"
    if model.has_kinds:
        return "gtpca.diagnostics.choose_kinds(X, model.family)", other
    return "gtpca.diagnostics.check(model, X)", found if as_family(model.family).windows else other


def _paragraphs(text) -> list[str]:
    """A text, split at blank lines."""
    found = re.split(r"\n\s*\n", text.replace("\r\n", "\n"))
    return [paragraph.strip() for paragraph in found if paragraph.strip()]


def _heading(model):
    """The default heading."""
    count, name = model.n_components_, "ProbabilisticGTPCA" if is_density(model) else "GTPCA"
    if model.has_kinds:
        n_kinds = len(model.kind_weights_)
        return f"MixtureGTPCA: {n_kinds} kind{'' if n_kinds == 1 else 's'}"
    said = "a pattern" if count == 0 else f"{count} component{'' if count == 1 else 's'}"
    return f"{name}: {said}"


def _spoken(value):
    """A parameter in a few characters; arrays by their shape."""
    if hasattr(value, "shape") and np.size(value) > 1:
        return f"array of shape {tuple(value.shape)}"
    return clipped(repr(value), 200)


def _facts(model, X, contents):
    """Data and fit, as pairs."""
    shape = " × ".join(map(str, model.sample_shape_))
    facts = {
        "samples": f"{contents.n_rows:,}",
        "shape of a sample": shape,
        "values": f"{getattr(X, 'dtype', 'numbers')}",
        "shape of a component": " × ".join(map(str, model.operator_.weight_shape)),
        "transforms": "found sample by sample"
        if has_own_search(model.operator_)
        else f"{model.operator_.n_transforms:,}",
        "poses per sample": "one" if model.shared_pose_ else "one per component",
        "passes of the fit": ", ".join(map(str, np.ravel(model.n_iter_))),
    }
    if model.operator_.domain_share < 1:
        facts["samples are judged on"] = measures.domain_text(model.operator_)
    if aside := measures.set_aside(model).text:
        facts["set aside as artefacts"] = aside
    facts |= _likelihoods(model) if is_density(model) else {}
    if model.noise_ is not None:
        facts |= _whitened(model)
    columns = contents.data["points"]["columns"]
    if columns:
        facts["labels"] = clipped(", ".join(column["name"] for column in columns), 200)
    if isinstance(model.grid_, Grid):
        facts["axes"] = clipped("; ".join(axis_texts(model.grid_)), 300)
    return facts


def _likelihoods(model):
    """The likelihood of the fit, as pairs."""
    found = {
        "standard deviation of the noise": _noise(model),
        "log-likelihood of a training sample": f"{model.history_[-1]:.4g}",
    }
    if model.has_kinds:
        return found | {"patterns were smoothed by": f"{model.smoothing_:g} points"}
    found = {
        "norm of the pattern": f"{np.linalg.norm(model.mean_pattern_):.4g}",
        "standard deviations of scores": ", ".join(
            f"{size:.4g}" for size in np.sqrt(model.explained_variance_)
        ),
    } | found
    if model.held_out_gain_ is not None:
        found["held-out gain over noise alone"] = f"{model.held_out_gain_:.3g} nats per sample"
    return {name: said for name, said in found.items() if said}


def _whitened(model):
    """The whitening before the fit, as pairs."""
    orders = ", ".join(map(str, model.noise_.orders))
    found = {"noise": f"stationary, whitened by an autoregression of order {orders}"}
    left = None if is_density(model) else model.data_resmse_
    if left is not None:
        found["left of the energy in units of the data"] = ", ".join(f"{v:.3g}" for v in left)
    return found


def _spectra(model) -> list[dict[str, str]]:
    """The spectrum of noise along each axis, as points of a picture of 300 x 100; none if white."""
    if model.noise_ is None:
        return []
    pictures = []
    for found in noise_spectra(model):
        levels = np.log10(found.power.mean(axis=0))
        low, high = levels.min(), max(levels.max(), levels.min() + 1e-9)
        x = 300 * found.frequency / found.frequency[-1]
        y = 100 - 100 * (levels - low) / (high - low)
        pictures.append(
            {
                "points": " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True)),
                "name": found.name,
                "unit": found.unit,
                "last": f"{found.frequency[-1]:.4g}",
                "low": f"{10**low:.3g}",
                "high": f"{10**high:.3g}",
            }
        )
    return pictures


def _noise(model):
    """Standard deviation of a value; the root mean square over features, if they differ."""
    return f"{np.sqrt(np.mean(model.noise_variance_)):.3g}"


def _parts(plotly, data, scripts=SCRIPTS) -> dict[str, Any]:
    """The scripts, the styles, the data, and the policy that allows only these."""
    own = "\n".join(_resource(name) for name in scripts)
    allowed = f"{script_hash(plotly)} {script_hash(own)}"
    return {
        "plotly": plotly,
        "script": own,
        "style": f":root {{ {_variables()} }}\n{_resource('page.css')}",
        "data": safe_json(data),
        "policy": f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'",
    }


def _variables() -> str:
    """The single colours of the palette, as the style sheet names them."""
    colours = palette.for_page().items()
    return " ".join(f"--{name}: {value};" for name, value in colours if isinstance(value, str))


def _resource(name) -> str:
    return (resources.files("gtpca.page") / name).read_text(encoding="utf-8")


def _plotly() -> str:
    """plotly.js, with line ends as a browser reads them, so that its hash is that of the page."""
    return require("plotly.offline", "report").get_plotlyjs().replace("\r\n", "\n")


def _environment():
    jinja2 = require("jinja2", "report")
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: _resource(f"{name}.jinja")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

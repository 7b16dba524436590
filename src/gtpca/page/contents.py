"""All that the page shows, sampled and reduced until it fits."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from gtpca.data.codes import Codes
from gtpca.fitting import wording
from gtpca.fitting.cautions import piles_of
from gtpca.operators.grid import Axis
from gtpca.page.alignment import gather_alignment
from gtpca.page.kinds import Kinds, kind_column, kind_tables
from gtpca.page.layouts import Layout, lay_out
from gtpca.page.packing import clipped, pack, pack_rows, safe_json
from gtpca.views import measures, palette
from gtpca.views.palette import Scale
from gtpca.views.parts import PATTERN, is_density, parts
from gtpca.views.samples import component_view, sample_view

__all__ = ["Contents", "gather"]

COMPONENTS = 32  # that are shown
CARDS = 96  # patterns and components of all kinds that are shown
CLASSES = 10  # labels with a colour
NAMES = 2048  # features, or poses in words, whose names are shown
BASE64 = 4 / 3  # characters per byte
POINTS_SHARE = 0.4  # share of the room for the numbers of the points; the rest is for pictures
PARTS_SHARE = 0.15  # share of the room for pictures that is used for what each component adds
SAME_ENERGY = 1e-3  # relative spread up to which all samples count as of unit norm
BARS, BINS = 60, 50  # up to this number, single values have a bar each


@dataclass(frozen=True)
class Contents:
    """The contents of the page.

    Parameters
    ----------
    data : dict
        For the scripts, as JSON.
    n_rows, n_points, n_pictures : int
        Numbers of all samples, those in the scatter plot, and those with a picture.
    explained : list of float
        Share of the energy after 1, 2, .. components.
    pca : UncentredPCA or None
    sample_layout : dict
    labels : list of str
        The distinct labels, if there are few.
    kinds : Kinds or None
        Tables of the kinds of samples.
    """

    data: dict[str, Any]
    n_rows: int
    n_points: int
    n_pictures: int
    explained: list[float]
    pca: measures.UncentredPCA | None
    sample_layout: dict[str, Any]
    labels: list[str]
    kinds: Kinds | None = None


def gather(model, X, *, labels, room, max_samples, rng, columns=None, ids=None) -> Contents:
    """Encode all rows of ``X``, choose some, and pack what is shown into ``room`` characters.

    All rows are read once; some of them again for PCA, and those that are shown. ``labels`` are the
    first of the ``columns`` (by name), and ``ids`` is a name with one text per sample.
    """
    codes, left = measures.measure(model, X)
    sure, kinds = (measures.doubts(model, X) if is_density(model) else {}), None
    errors = {} if sure else measures.pose_errors(model, X)
    columns = columns or {}
    if model.has_kinds:
        share = sure.pop("kinds")
        sure["kind_probability"], kinds = share.max(axis=1), kind_tables(model, share, columns)
        columns = kind_column(codes.kind, columns)
        labels = next(iter(columns.values())) if labels is None else labels
    poses, each = measures.pose_columns(model, codes), measures.shares(left)[:, -1]
    layout = lay_out(sample_view(model))
    explained = measures.shares(left.sum(axis=0, keepdims=True))[0].tolist()
    pca = None if model.has_kinds else measures.uncentred_pca(model, X)
    data = {
        "palette": palette.for_page(),
        "components": _components(model, codes),
        "builder": _builder(model, codes, layout),
        "energy": {"explained": explained, "pca": _line(pca), "first": 1 - _n_patterns(model)},
        "histograms": _histograms(model, poses, each, sure, _by_kind(model, codes)),
        "axes": _first_axes(codes.scores.shape[1], left[:, 0]),
    }
    room -= len(safe_json(data))
    order = _drawn(labels, len(codes), rng)
    numbers = np.sort(order[: _n_points(codes, poses, room, max_samples)])
    points = _points(codes, poses, each, sure, errors, numbers) | _labels(labels, numbers)
    points |= {"columns": _columns(columns, numbers), "ids": _ids(ids, numbers)}
    points["kinds"] = pack(share[numbers]) if model.has_kinds else None
    data["alignment"] = gather_alignment(model, X, codes, poses, numbers)
    _say_units(model, points["poses"] + data["histograms"]["poses"])
    room -= len(safe_json(points)) + len(safe_json(data["alignment"]))
    pictured, samples = _pictured(model, X, codes, order[: len(numbers)], layout, room)
    samples["rows"] = pack(np.searchsorted(numbers, pictured))
    return Contents(
        data=data | {"points": points, "samples": samples},
        n_rows=len(codes),
        n_points=len(numbers),
        n_pictures=len(pictured),
        explained=explained,
        pca=pca,
        sample_layout=layout.described(),
        labels=points["classes"],
        kinds=kinds,
    )


def _first_axes(count, energies):
    """Which quantities the scatter shows first: two scores, or the only one over the sample number.

    Where all samples have the same energy, the first score hardly varies, and the next two are
    shown. The sample number follows the scores in the list of quantities.
    """
    if count == 1:
        return [1, 0]
    alike = count > 2 and np.std(energies) <= SAME_ENERGY * np.mean(energies)
    return [1, 2] if alike else [0, 1]


def _pictured(model, X, codes, order, layout, room):
    """Numbers and pictures of the first samples in an order, as many as there is room for.

    What each component adds is stored for as many of them as fit into the remaining room.
    """
    for_parts = PARTS_SHARE * room if _n_parts(model) else 0
    most = _n_pictures(layout, room - for_parts, gaps=model.missing == "ignore")
    pictured = np.sort(order[:most])
    samples = _samples(model, X, codes, pictured, layout)
    room -= len(safe_json(samples))
    others = order[: min(most, _n_divided(model, layout, room) - 1)]
    divided = np.union1d(pictured[:1], others)  # the first is the one that is shown first
    samples["parts"] = _parts(model, codes[divided], layout)
    if samples["parts"]:
        samples["parts"]["rows"] = pack(np.searchsorted(pictured, divided))
    return pictured, samples


def _line(pca):
    """The line of PCA, if there is one."""
    return None if pca is None else {"name": measures.PCA, "shares": pca.shares.tolist()}


def _drawn(labels, n, rng):
    """All row numbers in random order; every prefix has the labels in proportion."""
    groups = np.zeros(n, int) if labels is None else np.unique(labels, return_inverse=True)[1]
    place = np.empty(n)
    for group in range(groups.max() + 1):
        rows = np.flatnonzero(groups == group)
        place[rows] = (rng.permutation(len(rows)) + rng.random()) / len(rows)
    return np.argsort(place, kind="stable")


def _n_points(codes, poses, room, most):
    """A number of points whose numbers take their share of the room."""
    columns = min(COMPONENTS, codes.scores.shape[1])
    poses_of = sum(1 + 2 * min(COMPONENTS, v.values.shape[1]) for v in poses.values())
    width = 4 * (columns + poses_of + 6)
    return int(min(len(codes), most, max(1, POINTS_SHARE * room / (BASE64 * width + 100))))


def _n_parts(model):
    """The number of patterns and components that are distinguished by colour within a sample."""
    count = _n_patterns(model) + model.n_components_
    return min(count, len(palette.CYCLE)) if count > 1 else 0


def n_shown(model) -> int:
    """The number of components that are shown, of each kind if there are several."""
    most = COMPONENTS if not model.has_kinds else max(0, CARDS // len(model.kind_weights_) - 1)
    return min(model.n_components_, most)


def _n_patterns(model):
    """The number of patterns of a sample: one in front of the components of a density."""
    return int(is_density(model))


def _n_divided(model, layout, room):
    """The number of samples for which it is stored what each component adds."""
    size = np.prod(layout.described()["shape"]) + 20
    return int(max(1, room / (BASE64 * size * max(1, _n_parts(model)))))


def _n_pictures(layout: Layout, room, gaps):
    size = np.prod(layout.described()["shape"]) * (2 * _levels(layout)[1] + gaps)
    return int(max(1, room / (BASE64 * (size + 20))))


def _levels(layout):
    """The number of levels of a stored number, and its bytes: curves have more than pictures."""
    return (2**16, 2) if layout.kind == "lines" else (256, 1)


def _components(model, codes):
    """The components as they were found, after a pattern, in the shape of the weights."""
    layout, every = lay_out(component_view(model)), parts(model)
    of_each = _n_patterns(model) + model.n_components_
    few = _n_patterns(model) + n_shown(model)
    places = [j for j in range(len(every)) if j % of_each < few]
    shown = [every[j] for j in places]
    drawn = layout(np.stack([part.weights for part in shown]))
    names = [part.name for part in shown]
    notes = [_size(part) for part in shown] if model.has_kinds else None
    later = _own_times(model, codes, layout.view)
    return {
        "layout": layout.described(),
        "values": pack_rows(drawn),
        "names": names,
        "notes": notes,
        # one for all that share a pose, or one for each kind
        "later": None if later is None else [later[j * len(later) // len(every)] for j in places],
    }


def _own_times(model, codes, view) -> list[float] | None:
    """By how much the median pose of each component, or kind, is later than its window is drawn.

    None where poses are no times: no positions are known, or the window does not slide along them.
    """
    axis = view.drawn[-1]
    name = f"start_{view.axes[axis].name}" if view.axes else ""
    poses, known = model.operator_.describe(codes.index), view.positions
    starts = poses.get(name, poses.get("start"))
    if not view.axes or view.axes[axis].points is None or len(view.drawn) > 1 or starts is None:
        return None
    axes = model.operator_.pose_space.named
    periodic = any(n in axes and axes[n].period is not None for n in (name, "start"))
    if periodic or known.dtype.kind not in "iuf":
        return None
    groups = _by_kind(model, codes)
    every = starts.T if groups is None else [starts[mine, 0] for mine in groups]
    return [float(np.median(v)) - float(known[0]) if len(v) else 0.0 for v in every]


def _size(part):
    """The size of a part of a kind, in words."""
    what = "norm" if part.is_pattern else "standard deviation of scores"
    return f"{what} {part.size:.3g}"


def _builder(model, codes, layout):
    """Every component in the reference pose with score 1, and the range of its slider."""
    count = model.n_components_
    if count == 0 or model.has_kinds:
        return None
    index = np.full((count + 1, 1 if model.shared_pose_ else count), model.operator_.reference)
    base, *each = model.decode(Codes(np.eye(count + 1, count, k=-1), index))
    drawn = layout((np.stack(each) - base)[:COMPONENTS])
    scores = codes.scores[:, :COMPONENTS].astype(np.float64)
    reach = np.quantile(np.abs(scores), 0.999, axis=0)
    reach = np.where(reach > 0, reach, 1.0)
    return {
        "base": pack(layout(base[None])[0]),
        "parts": pack_rows(drawn),
        "high": reach.tolist(),
        "low": np.where(scores.min(axis=0) < 0, -reach, 0.0).tolist(),
        "typical": np.median(scores, axis=0).tolist(),
    }


def _by_kind(model, codes):
    """Which samples are of each kind, (G, n); None if there is only one."""
    if not model.has_kinds:
        return None
    return codes.kind == np.arange(len(model.kind_weights_))[:, None]


def _histograms(model, poses, explained, sure, by_kind=None):
    """Histograms of the poses of each component, or of each kind, and of explained shares."""
    columns = []
    for name, pose in poses.items():
        (values, possible), words = _in_numbers(pose)
        every = values.T[:COMPONENTS]
        if by_kind is not None:
            every = [values[mine, 0] for mine in by_kind]
        bars = [histogram(v, possible) for v in every]
        for k, (bar, v) in enumerate(zip(bars, every, strict=True)):
            bar["flag"] = _flag(model, name, possible, v, bar, k if by_kind is None else 0)
        columns.append({"name": clipped(name), "words": words, "bars": bars})
    floor = min(0.0, float(explained.min()))
    found = {"poses": columns, "explained": histogram(explained, np.linspace(floor, 1, 99))}
    if sure and columns:
        found["probability"] = histogram(sure["pose_probability"], np.linspace(0, 1, 99))
    return found


def _flag(model, name, possible, values, bar, component):
    """The bars at which many more poses are than by chance, and a sentence; None if there are none.

    Poses between transforms count with the nearest one.
    """
    scale = np.unique(possible)
    if len(values) == 0 or scale.dtype.kind not in "iuf" or len(scale) < 2:
        return None
    near = scale[np.searchsorted((scale[1:] + scale[:-1]) / 2, values)]
    piles = piles_of(model.operator_, name, possible, near, component=component)
    if not piles:
        return None
    pile = max(piles, key=lambda pile: pile.share)
    x = np.array(bar["x"])
    marked = [int(np.abs(x - value).argmin()) for value in pile.values]
    return {"bars": sorted(set(marked)), "text": wording.pile_here(pile, model.operator_)}


def histogram(values, possible) -> dict:
    """Counts of each of the ``possible`` values, or of bins between them if there are many."""
    possible = np.unique(np.asarray(possible, dtype=np.float64))
    values = np.asarray(values, dtype=np.float64)
    if len(possible) <= BARS:
        counts = np.bincount(np.searchsorted(possible, values), minlength=len(possible))
        return {"x": possible.tolist(), "counts": counts.tolist(), "width": None}
    counts, edges = np.histogram(values, BINS, (possible[0], possible[-1]))
    middle = (edges[1:] + edges[:-1]) / 2
    return {"x": middle.tolist(), "counts": counts.tolist(), "width": float(edges[1] - edges[0])}


def _in_numbers(pose):
    """A pose in numbers, and the words for the numbers 0, 1, .., if any."""
    values, possible = pose
    if values.dtype == bool:
        return pose, ["no", "yes"]
    if values.dtype.kind in "iuf":
        return pose, None
    levels = np.unique(possible)
    words = [clipped(level) for level in levels] if len(levels) <= NAMES else None
    return measures.Pose(np.searchsorted(levels, values), np.arange(len(levels))), words


def _points(codes, poses, explained, sure, errors, numbers):
    """Scores, poses, explained shares and uncertainties of some rows."""
    columns = []
    for name, pose in poses.items():
        (values, _), words = _in_numbers(pose)
        shown = values[numbers, :COMPONENTS].astype(np.float64)
        column = {"name": clipped(name), "words": words, "width": shown.shape[1]}
        spread = sure.get(f"{name}_std")
        column["std"] = None if spread is None else pack(spread[numbers])
        se = errors.get(name)
        column["se"] = None if se is None else pack(se[numbers, :COMPONENTS].astype(np.float64))
        columns.append(column | {"values": pack(shown)})
    likely = ("pose_probability", "log_likelihood", "kind_probability")
    told = [name for name in likely if name in sure]
    scores = codes.scores[numbers, :COMPONENTS]
    return {
        "number": pack(numbers),
        "scores": pack(scores),
        "explained": pack(explained[numbers]),
        "poses": columns,
        "sure": [
            {"name": name.replace("_", " "), "values": pack(sure[name][numbers])} for name in told
        ],
    }


def _say_units(model, columns) -> None:
    """Append the units of quantities that have one to their names."""
    units = model.operator_.pose_space.units
    for column in columns:
        if column["name"] in units:
            column["name"] += f" ({units[column['name']]})"


def _ids(ids, numbers):
    """Name and ids of some rows."""
    return None if ids is None else {"name": ids[0], "texts": [clipped(ids[1][i]) for i in numbers]}


def _columns(columns, numbers):
    """Columns of labels: words, or a quantity if there are more distinct numbers than colours."""
    return [{"name": clipped(name)} | _column(texts, numbers) for name, texts in columns.items()]


def _column(texts, numbers):
    found = _as_quantity(texts)
    if found is not None and len(np.unique(found)) > CLASSES:
        return {"values": pack(found[numbers]), "labels": [clipped(t) for t in texts[numbers]]}
    return _labels(texts, numbers)


def _as_quantity(texts):
    """Texts that are all finite numbers, as numbers."""
    try:
        found = np.array([float(text) for text in texts])
    except ValueError:
        return None
    return found if np.isfinite(found).all() else None


def _labels(labels, numbers):
    """The labels of some rows, and all distinct ones if there are not many."""
    if labels is None:
        return {"labels": None, "classes": []}
    classes = list(dict.fromkeys(clipped(label) for label in sorted(set(labels), key=_rank)))
    shown = [clipped(label) for label in labels[numbers]]
    return {"labels": shown, "classes": classes if len(classes) <= CLASSES else []}


def _rank(label):
    """Sort key: numbers by size, then words."""
    try:
        return 0, float(label), label
    except ValueError:
        return 1, 0.0, label


def _samples(model, X, codes, numbers, layout):
    """Samples and their reconstructions, with the range of values for pictures."""
    drawn, rebuilt = (
        layout(measures.as_seen(model, X, numbers)),
        layout(model.decode(codes[numbers])),
    )
    levels, hidden = _levels(layout)[0], np.isnan(drawn)
    drawn = np.where(hidden, rebuilt, drawn)
    ends = np.quantile(drawn, [0.001, 0.999])  # a few values must not hide all others
    return {
        "layout": layout.described(),
        "original": pack_rows(drawn, levels),
        "rebuilt": pack_rows(rebuilt, levels),
        "gaps": pack(hidden.astype(np.uint8)) if hidden.any() else None,
        "range": [float(ends[0]), float(ends[1] if ends[1] > ends[0] else ends[0] + 1)],
        "scale": asdict(Scale.of(ends, signed=bool(drawn.min() < 0))),
        "names": _names(model),
    }


def _parts(model, codes, layout):
    """What a pattern and each component add to each sample, one after the other."""
    if not _n_parts(model):
        return None
    base = model.decode(replace(codes, scores=np.zeros(codes.scores.shape)))
    drawn = [layout(base)] * _n_patterns(model)
    for k in range(_n_parts(model) - len(drawn)):
        alone = np.where(np.arange(codes.scores.shape[1]) == k, codes.scores, 0)
        drawn.append(layout(model.decode(replace(codes, scores=alone)) - base))
    each = np.stack(drawn, axis=1)
    names = [PATTERN] * _n_patterns(model) + [f"component {k + 1}" for k in range(len(drawn))]
    names = names[: len(drawn)]
    return pack_rows(each.reshape(-1, *each.shape[2:]), 256) | {"names": names}


def _names(model):
    """Names of the points of a series, if they have any and their positions are unknown."""
    axis = sample_view(model).axes[0] if sample_view(model).axes else Axis()
    names = model.fit_.feature_names_in
    if names is None and axis.points is None:
        names = axis.names
    series = len(model.sample_shape_) == 1
    if names is None or not series or len(names) > NAMES:
        return None
    return [clipped(name) for name in names]

"""All samples before and after they are moved to the rest position of the first component."""

from __future__ import annotations

import numpy as np

from gtpca.page.layouts import block_means, lay_out
from gtpca.page.packing import clipped, pack, pack_rows
from gtpca.views import measures
from gtpca.views.parts import parts
from gtpca.views.samples import component_view, sample_view

__all__ = ["gather_alignment", "pack_map"]

ROWS, POINTS = 150, 200  # largest number of rows of a heat map
CHANNELS = 4  # channels in which the component is strongest
BATCH = 256  # samples that are aligned at a time


def gather_alignment(model, X, codes, poses, numbers) -> dict | None:
    """Heat maps sorted by pose, and averages; for images only the averages.

    Parameters
    ----------
    model : GTPCA
    X : array (n, \\*sample_shape)
    codes : Codes
        Of all samples.
    poses : dict of str to Pose
        The informative poses.
    numbers : int array (m,)
        The samples that are drawn, ascending.

    Returns
    -------
    dict or None
        None if nothing moves.
    """
    if not poses:
        return None
    views = sample_view(model), component_view(model)
    if any(view.kind not in ("lines", "rows") for view in views):
        return _pictures(model, X, codes, numbers, views)
    name, values = _sorted_by(poses, numbers)
    group, names = _groups(codes, numbers)
    order = np.lexsort((values, group))
    channels = _strongest(views[1], parts(model)[0].weights)
    maps = _curves(model, X, numbers, views, channels)
    unit = model.operator_.pose_space.units.get(name)
    pose = f"{name} ({unit})" if unit else name
    return {
        "kind": "curves",
        "groups": names,
        "pose": clipped(f"kind, then {pose}" if names != [""] else pose),
        "places": pack(_blocks(values[order])),
        "per_row": -(-len(order) // ROWS),
        "count": len(order),
        "channels": [clipped(views[0].channel_names[c]) for c in channels],
        "before": _packed(maps[0], order, views[0], group),
        "after": _packed(maps[1], order, views[1], group),
    }


def _groups(codes, numbers):
    """The group of each sample whose average is drawn: its kind, if there are several; names."""
    if codes.kind is None:
        return np.zeros(len(numbers), dtype=int), [""]
    found, group = np.unique(codes.kind[numbers], return_inverse=True)
    return group, [f"kind {g}" for g in found]


def _sorted_by(poses, numbers):
    """The last quantity in numbers, of the first component, by which samples are sorted."""
    found = [(name, pose.values) for name, pose in poses.items() if pose.values.dtype.kind in "iuf"]
    name, values = (found or list(poses.items()))[-1]
    column = (values if found else np.unique(values.values, return_inverse=True)[1])[numbers]
    return name, column.reshape(len(numbers), -1)[:, 0].astype(np.float64)


def _strongest(view, weights):
    """The channels in which a component has most energy, ascending."""
    energy = (view.channels(weights[None])[0] ** 2).sum(axis=-1)
    return np.sort(np.argsort(-energy, kind="stable")[:CHANNELS])


def _curves(model, X, numbers, views, channels):
    """Samples and their aligned versions, (m, channels, points) each, with few points."""
    parts: tuple[list, list] = ([], [])
    for start in range(0, len(numbers), BATCH):
        seen = measures.as_seen(model, X, numbers[start : start + BATCH])
        for part, view, values in zip(parts, views, (seen, model.align(seen)), strict=True):
            chosen = view.channels(values)[:, channels]
            part.append(block_means(chosen, _factor(view), 2).astype(np.float32))
    return [np.concatenate(part) for part in parts]


def _factor(view):
    return -(-len(view.positions) // POINTS)


def _blocks(values):
    """Means of neighbouring rows, to limit their number."""
    return block_means(np.asarray(values), -(-len(values) // ROWS), 0)


def _packed(values, order, view, group):
    """Heat maps of each channel, and averages of each group of samples."""
    each = [np.nanmean(values[group == g], axis=0, dtype=np.float64) for g in np.unique(group)]
    means = np.stack(each, axis=1)
    rows = _blocks(values[order])
    return {
        "x": pack(block_means(view.positions.astype(np.float64), _factor(view), 0)),
        "name": view.position_name,
        "maps": [pack_map(rows[:, c]) for c in range(rows.shape[1])],
        "means": [pack(mean) for mean in means],
        "rows": len(rows),
    }


def pack_map(values) -> dict:
    """A heat map in bytes: the values are ``low + step q``, and 255 is where there is none."""
    known = values[~np.isnan(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    step = (high - low) / 254 if high > low else 1.0
    rounded = np.where(np.isnan(values), 255, np.rint((values - low) / step))
    return {"low": low, "step": step, "values": pack(rounded.astype(np.uint8))}


def _pictures(model, X, codes, numbers, views):
    """The averages of images before and after, of each kind if there are several."""
    group, names = _groups(codes, numbers)
    layouts = [lay_out(view) for view in views]
    means: list[list[np.ndarray]] = [[], []]
    for g in range(len(names)):
        for part, mean in zip(means, _averages(model, X, numbers[group == g]), strict=True):
            part.append(mean)
    drawn = [layout(np.stack(mean)) for layout, mean in zip(layouts, means, strict=True)]
    return {
        "kind": "pictures",
        "groups": names,
        "count": len(numbers),
        "layouts": [layout.described() for layout in layouts],
        "means": [pack_rows(picture) for picture in drawn],
    }


def _averages(model, X, numbers):
    """The average of some images before and after."""
    sums, counts = [np.zeros(1), np.zeros(1)], [np.zeros(1, int), np.zeros(1, int)]
    for start in range(0, len(numbers), BATCH):
        seen = measures.as_seen(model, X, numbers[start : start + BATCH])
        for i, values in enumerate((seen, model.align(seen))):
            sums[i] = sums[i] + np.nansum(values, axis=0, dtype=np.float64)
            counts[i] = counts[i] + (~np.isnan(values)).sum(axis=0)
    return [total / np.maximum(count, 1) for total, count in zip(sums, counts, strict=True)]

"""Poses that a user gives: physical quantities, as the nodes or parameters that a chunk holds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gtpca.operators.poses import PoseAxis

__all__ = ["given_poses"]

PIECE = 2**22  # distances between poses and nodes that are computed at once
SLACK = 1e-9  # of a step, by which rounding may exceed a range


def given_poses(poses, operator, n_rows, n_poses):
    """Given poses of rows, see :attr:`gtpca.data.chunks.Chunk.given`.

    Where poses are those of a list, the nearest one is taken; up to half a step beyond the first
    and the last of them count.

    Parameters
    ----------
    poses : array (n, g) or (n,), array (n, g, p), or dict of str to arrays (n, g)
        The first quantity of ``describe``, the parameters of all poses, or quantities by name; NaN
        where a pose is free.
    operator : Operator
    n_rows : int
    n_poses : int
        The largest ``g``.

    Returns
    -------
    int array (n, g), float array (n, g, p), or None if all are free
    """
    quantities = _quantities(poses, operator)
    for name, values in quantities.items():
        _check_shape(name, values, n_rows, n_poses)
    known = _known(quantities)
    if not known.any():
        return None
    if operator.continuous is not None:
        return _parameters(quantities, operator, known)
    return _nearest_nodes(quantities, operator, known)


def _quantities(poses, operator):
    """Named quantities (n, g), in float64."""
    names = list(operator.describe(np.zeros(1, dtype=np.int64)))
    if isinstance(poses, Mapping):
        given = dict(poses)
    else:
        values = _numbers("poses", poses)
        given = {names[0]: values}
        if values.ndim == 3:
            names = [axis.name for axis in operator.pose_space.axes]
            if values.shape[2] != len(names):
                raise ValueError(
                    f"poses of shape {values.shape} must have {len(names)} parameters in their "
                    f"last axis: {', '.join(names)}."
                )
            given = dict(zip(names, values.transpose(2, 0, 1), strict=True))
    wrong = [name for name in given if name not in names]
    if wrong or not given:
        raise ValueError(
            f"poses must be named by quantities of the family: {', '.join(names)}; got "
            f"{', '.join(map(repr, wrong)) or 'none'}."
        )
    arrays = {name: _numbers(f"poses[{name!r}]", values) for name, values in given.items()}
    return {n: values[:, None] if values.ndim == 1 else values for n, values in arrays.items()}


def _numbers(name, values):
    """An array of numbers in float64."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers, with NaN where a pose is free.") from error


def _check_shape(name, values, n_rows, n_poses):
    """Raise an error unless the quantity is (n, g) with at most ``n_poses`` columns."""
    if values.ndim != 2 or len(values) != n_rows or not 1 <= values.shape[1] <= n_poses:
        raise ValueError(
            f"poses[{name!r}] has shape {values.shape}, but must have one row for each of the "
            f"{n_rows} samples and 1 to {n_poses} columns, one per component (a single one if "
            "they share the pose), with NaN where a pose is free."
        )


def _known(quantities):
    """Which poses are known, bool (n, g): all of their quantities, or none of them."""
    first, *others = ((name, ~np.isnan(values)) for name, values in quantities.items())
    for name, known in others:
        if known.shape != first[1].shape or np.any(known != first[1]):
            raise ValueError(
                f"poses[{first[0]!r}] and poses[{name!r}] must have the same shape, and NaN in the "
                "same places: a pose is either known or free."
            )
    return first[1]


def _parameters(quantities, operator, known):
    """Poses (n, g, p) between the nodes; NaN where they are free."""
    axes = operator.pose_space.axes
    p = len(axes)
    missing = [axis.name for axis in axes if axis.name not in quantities]
    if missing:
        raise ValueError(
            f"poses must contain all parameters of a pose; {', '.join(missing)} of "
            f"{', '.join(axis.name for axis in axes)} are missing."
        )
    zero, one = (operator.continuous.describe(np.full((1, p), end)) for end in (0.0, 1.0))
    found = np.full((*known.shape, p), np.nan)
    for j, axis in enumerate(axes):
        scale = one[axis.name][0] - zero[axis.name][0]
        values = (quantities[axis.name] - zero[axis.name][0]) / scale
        if not axis.wraps:
            _check_range(axis.name, quantities[axis.name], values, (axis.low, axis.high), scale)
        found[..., j] = axis.within(values)
    return found


def _check_range(name, shown, values, ends, scale=1.0):
    """Raise an error that names the first value outside the range ``ends``."""
    slack = SLACK * max(ends[1] - ends[0], np.finfo(float).tiny)
    wrong = np.argwhere((values < ends[0] - slack) | (values > ends[1] + slack))
    if len(wrong):
        row, column = wrong[0]
        low, high = (scale * end for end in ends)
        raise ValueError(
            f"poses[{name!r}] of row {row}, component {column}, is {shown[row, column]:g}, but the "
            f"family reaches {low:g} to {high:g}. NaN leaves a pose free; for windows, a shorter "
            "one or boundary='partial' reaches further."
        )


def _nearest_nodes(quantities, operator, known):
    """Numbers of the nearest nodes (n, g), -1 where poses are free."""
    every = operator.describe(np.arange(operator.n_transforms))
    nodes = {name: _numbers(f"{name} of the family", every[name]) for name in quantities}
    _check_distinct(np.stack(list(nodes.values()), axis=1), nodes, every)
    targets, axes = [], []
    for name, values in quantities.items():
        places = np.unique(nodes[name])
        steps = np.diff(places) if len(places) > 1 else np.ones(1)
        ends = (places[0] - steps[0] / 2, places[-1] + steps[-1] / 2)
        period = operator.pose_space.named[name].period
        if period is None:
            _check_range(name, values, values, ends)
        targets.append(values[known] / steps.min())
        scaled = None if period is None else period / steps.min()
        axes.append((PoseAxis(name, *ends, period=scaled), nodes[name] / steps.min()))
    found = np.full(known.shape, -1, dtype=np.int32)
    found[known] = _argmin(targets, axes, operator.n_transforms)
    return found


def _check_distinct(places, names, every):
    """Raise an error if some of the quantities do not tell all nodes apart."""
    if len(np.unique(places, axis=0)) < len(places):
        others = [name for name in every if name not in names]
        raise ValueError(
            f"poses[{', '.join(map(repr, names))}] do not determine the transform; give "
            f"{' or '.join(others)} too, as a dict such as poses(codes) returns."
        )


def _argmin(targets, axes, m):
    """The nearest of ``m`` nodes to each of some poses, (N,)."""
    found, step = [], max(1, PIECE // m)
    for start in range(0, len(targets[0]), step):
        far = np.zeros((len(targets[0][start : start + step]), m))
        for values, (axis, nodes) in zip(targets, axes, strict=True):
            far += axis.difference(values[start : start + step, None], nodes) ** 2
        found.append(far.argmin(axis=1))
    return np.concatenate(found)

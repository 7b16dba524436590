"""The transforms of every family as explicit matrices, from their definitions in the documentation.

A transform that moves points is ``(T w)(x) = w(y(x))``, multilinear between grid points and zero
beyond them; nothing here calls the library.
"""

from __future__ import annotations

from functools import reduce
from itertools import groupby, product

import numpy as np


def transforms(family, shape, taps="cubic"):
    """All matrices of a family (m, d, L), and the shape of its weights.

    Shifts between samples are interpolated with cubic ``taps``, or with linear ones.

    Neighbours with ``domain="common"`` show nothing where one of their combinations reads beyond
    the grid; and where they read weights that none of them reads well, they read the nearest weight
    that one does.
    """
    parts = family.parts if type(family).__name__ == "Compose" else [family]
    T = np.eye(np.prod(shape))[None]
    for common, run in groupby(parts, key=lambda part: part.domain == "common"):
        parts_here = []
        for part in run:
            matrices, shape = uncut(part, shape, taps)
            parts_here.append(matrices)
        together = reduce(combined, parts_here)
        covered = np.all(together.sum(axis=2) > 1 - 1e-9, axis=0)
        if common and not covered.all():
            read = covered
            for matrices in parts_here:
                shares = np.max(np.sum(matrices[:, read] ** 2, axis=1), axis=0)
                read = shares >= 0.2 * shares.max()
            together = np.array([M @ nearest_to(read, shape) for M in together])
            together *= covered[:, None]
        T = combined(T, together)
    return T, shape


def nearest_to(read, shape):
    """The matrix (L, L) that puts, for each weight, the nearest of those that are ``read``."""
    x = np.indices(shape).reshape(len(shape), -1)
    distance = np.sum((x[:, :, None] - x[:, None, :]) ** 2, axis=0) + np.where(read, 0, 1e9)
    nearest = np.min(distance, axis=1, keepdims=True)
    ties = distance == nearest
    return ties / np.sum(ties, axis=1, keepdims=True)


def combined(outer, inner):
    """All products of two lists of matrices, the outer ones in turn for each inner one."""
    return np.array([outside @ inside for inside in inner for outside in outer])


def uncut(family, shape, taps):
    """All matrices of a family that is none of several, wherever they read."""
    kind = type(family).__name__
    if kind == "Custom":
        T = [
            np.apply_along_axis(t, 0, np.eye(*shape)) if callable(t) else t
            for t in family.transforms
        ]
        return np.array(T), T[0].shape[1:]
    axes = [0] if getattr(family, "axes", None) is None else np.atleast_1d(family.axes)
    if kind == "Shift" and family.axes is None:
        axes = range(np.size(family.window))
    weight_shape = np.array(shape)
    if kind == "Shift" and family.window is not None:
        weight_shape[list(axes)] = family.window
    x = np.indices(shape, dtype=float).reshape(len(shape), -1)
    grid = np.indices(weight_shape).reshape(len(shape), 1, -1)
    read = [y[:, :, None] - grid for y in SOURCES[kind](family, x, list(axes), shape, weight_shape)]
    if kind == "Shift" and family.boundary == "circular":
        size = np.array(shape)[:, None, None]
        read = (np.array(read) + size / 2) % size - size / 2
    if kind == "Shift" and family.fractions > 1 and taps == "cubic":
        return keys_cubic(np.abs(read)), tuple(weight_shape)
    return np.prod(np.maximum(1 - np.abs(read), 0), axis=1), tuple(weight_shape)  # multilinear


def keys_cubic(s):
    """Keys' kernel of distances (m, r, d, L) between where points read and where weights are."""
    near, far = 1.5 * s**3 - 2.5 * s**2 + 1, -0.5 * s**3 + 2.5 * s**2 - 4 * s + 2
    return np.prod(np.where(s <= 1, near, np.where(s < 2, far, 0.0)), axis=1)


def shifted(family, x, axes, shape, windows):
    """Where points ``x`` (r, d) read the weights, for every transform: ``(T w)(x) = w(y(x))``."""
    wraps = family.boundary == "circular"
    places = [[0] for _ in shape]
    for j in np.arange(len(shape))[axes]:
        D, L = shape[j], windows[j]
        inside = {o: min(D, o + L) - max(0, o) for o in (range(D) if wraps else range(-L, D + 1))}
        least = {"valid": 1.0, "partial": family.min_overlap, "circular": 0.0}[family.boundary]
        steps = {o: o - (D - L) // 2 for o in inside if inside[o] >= least * min(D, L) - 1e-9}
        reach = np.inf if family.max_shift is None else family.max_shift
        places[j] = [o for o, s in steps.items() if abs(s) <= reach and s % family.step == 0]
        if len(places[j]) > 1 and family.fractions > 1:
            first, last, F = places[j][0], places[j][-1], family.fractions
            closed = wraps and len(places[j]) == D
            places[j] = [o / F for o in range(first * F, (last + closed) * F + (not closed))]
    read = [x - np.array(o)[:, None] for o in product(*places)]
    return [y % np.array(shape)[:, None] for y in read] if wraps else read


def mapped(family, x, axes, shape, _):
    """``y = c + A^-1 (x - c)`` about the centre ``c``."""
    turns = getattr(family, "angles", 1)
    turns = np.deg2rad(np.arange(turns) * 360 / turns if np.ndim(turns) == 0 else turns)
    maps = {
        "Identity": lambda: [np.eye(1)],
        "Reflection": lambda: [np.diag(s) for s in product((1, -1), repeat=len(axes))],
        "Rotation": lambda: [
            np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) for a in turns
        ],
        "Scaling": lambda: [s * np.eye(len(axes)) for s in family.factors],
        "Affine": lambda: np.array(family.matrices),
    }
    c, read = (np.array(shape)[:, None] - 1) / 2, []
    for A in maps[type(family).__name__]():
        whole = np.eye(len(shape))
        whole[np.ix_(axes, axes)] = A
        read.append(c + np.linalg.solve(whole, x - c))
    return read


def warped(family, x, axes, shape, _):
    (axis,), read = axes, []
    for s in family.strengths:
        u, y = x[axis] / (shape[axis] - 1), x.copy()
        phi = u ** np.exp(s) if family.kind == "power" else u - s * np.sin(np.pi * u) / np.pi
        y[axis] = phi * (shape[axis] - 1)
        read.append(y)
    return read


def deformed(family, x, axes, shape, _):
    angles = np.pi * (x + 0.5) / np.array(shape)[:, None]
    orders = np.array(list(product(range(family.n_basis), repeat=len(axes))))
    basis = np.prod(np.cos(orders[:, :, None] * angles), axis=1)
    draws = np.random.RandomState(family.random_state)
    fields = draws.standard_normal((family.n_fields - 1, len(axes), len(orders))) @ basis
    lengths = np.sqrt(np.sum(fields**2, axis=1)).max(axis=1)
    return [x, *(x + family.amplitude * u / s for u, s in zip(fields, lengths, strict=True))]


SOURCES = {"Shift": shifted, "TimeWarp": warped, "Deformation": deformed} | dict.fromkeys(
    ("Identity", "Reflection", "Rotation", "Scaling", "Affine"), mapped
)

"""Fits in noise that is not white: its filter, and components in the units of the data.

The filter is estimated twice. The rows as they come make a first one, in which the pattern still
is; what a first fit leaves of the rows makes the second, which is about as good as one from noise
alone. Components are found in whitened rows. What is shown of them is the
least-squares solution for the rows in the units of the data, in the poses and with the coefficients
that were found.
"""

from __future__ import annotations

import warnings
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from gtpca import checks
from gtpca.data.chunks import Chunk
from gtpca.data.codes import Codes
from gtpca.data.containers import open_container
from gtpca.data.energies import energy
from gtpca.fitting.fit import Fit, fit
from gtpca.model.coding import code, decode, encode
from gtpca.model.matching import Block, Stats, coded_statistics
from gtpca.model.stationary import (
    StationaryNoise,
    estimate_noise,
    lag_one,
    shift_axes,
    shifts,
)

__all__ = [
    "NOISES",
    "check_noise",
    "data_solution",
    "estimated_noise",
    "fit_coloured",
    "given_noise",
    "in_data_units",
    "is_white",
    "n_first_fits",
    "residual",
    "residual_correlation",
    "sampled",
]

NOISES = ("white", "stationary")
MOST_VALUES = 2**19  # from which a filter is estimated; of more, rows spread over all of them
TINY = np.finfo(float).tiny
FEW_ROWS = 100  # below, a fit without any whitening is tried as a beginning, too
FEW_STEPS = 3  # fits from each of these beginnings
LOOKED_AT = 2**15  # values of which the correlation of what is left is taken
NOTHING = 1e-12  # share of the energy below which what is left is rounding


def check_noise(label, value, names=NOISES):
    """``value``: a name, samples of noise, or a noise that another model has."""
    if isinstance(value, str):
        return checks.choice(label, value, names)
    if value is None or isinstance(value, (bool, int, float)):
        known = " or ".join(map(repr, names))
        raise ValueError(
            f"{label}={value!r} must be {known}, samples of noise as an array "
            "(n, *sample_shape), or noise_ of a fitted model."
        )
    return value


def is_white(noise) -> bool:
    """Whether a parameter asks for nothing to be whitened."""
    return isinstance(noise, str) and noise != "stationary"


def n_first_fits(noise, n_rows) -> int:
    """How many fits :func:`estimated_noise` needs before the last one; 0 if none is estimated."""
    if not isinstance(noise, str) or is_white(noise):
        return 0
    return 2 * FEW_STEPS if n_rows < FEW_ROWS else 1


def given_noise(noise, operator, preprocessing) -> StationaryNoise | None:
    """The noise that a user gives; None if it is to be estimated from the rows.

    Samples of noise are centred as the rows are. They may be shorter or longer than those along the
    axes that shift.
    """
    if isinstance(noise, str):
        return None
    axes = shift_axes(operator)
    if isinstance(noise, StationaryNoise):
        if noise.sample_shape != operator.sample_shape or noise.axes != tuple(axes):
            raise ValueError(
                f"noise is of samples of shape {noise.sample_shape} along the axes {noise.axes}, "
                f"but X has samples of shape {operator.sample_shape}, shifted along "
                f"{tuple(axes)}."
            )
        return noise
    samples = _noise_samples(noise, operator, axes)
    if preprocessing.per_sample:
        samples = samples - np.nanmean(samples, axis=tuple(a + 1 for a in axes), keepdims=True)
    elif preprocessing.mean is not None:
        samples = samples - np.nanmean(samples, axis=(0, *(a + 1 for a in axes)), keepdims=True)
    if not np.nansum(np.abs(samples)) > 0:
        raise ValueError("noise holds nothing but zeros, after centring if there is any.")
    return replace(estimate_noise(samples, axes), sample_shape=operator.sample_shape)


def _noise_samples(noise, operator, axes):
    """Samples of noise as an array (n, ..) with the channels of the samples."""
    container = open_container(noise)
    samples = np.asarray(noise if container is None else container.rows, np.float64)
    shape = operator.sample_shape
    if samples.ndim == 2 and len(shape) > 1 and samples.shape[1] == operator.n_features:
        samples = samples.reshape(-1, *shape)
    if samples.ndim == 1 and len(shape) == 1:
        samples = samples[None]
    fits = samples.ndim == len(shape) + 1 and len(samples) > 0
    fits = fits and all(
        samples.shape[a + 1] > 1 if a in axes else samples.shape[a + 1] == size
        for a, size in enumerate(shape)
    )
    if not fits:
        wanted = ", ".join("any" if a in axes else str(size) for a, size in enumerate(shape))
        raise ValueError(
            f"noise has shape {samples.shape}, but must be samples of noise, (n, {wanted}), for "
            f"samples of shape {shape}."
        )
    if np.isinf(samples).any():
        raise ValueError("noise holds infinite values.")
    return samples


def residual_correlation(chunks, rest_of) -> float | None:
    """The lag-one correlation of what a fit leaves of some rows; None if it does not shift them.

    Parameters
    ----------
    chunks : Chunks
        Rows in memory.
    rest_of : callable
        ``rest_of(chunk)``: what is left of rows, (n, d).
    """
    operator = chunks.operator
    if operator.n_transforms == 1 or not shifts(operator):
        return None
    chunk = sampled(chunks, LOOKED_AT)
    return lag_one(_grid(rest_of(chunk), operator), operator.moved_axes)


def sampled(chunks, most_values=MOST_VALUES) -> Chunk:
    """Rows in memory of so many values: all, or some spread over all of them."""
    most = max(2, most_values // chunks.operator.n_features)
    n = chunks.n_rows
    numbers = np.arange(n) if n <= most else np.unique(np.linspace(0, n - 1, most).astype(int))
    return chunks.take(numbers)


def noise_of_rows(chunk, operator) -> StationaryNoise:
    """The noise of centred rows, with all that is in them."""
    return estimate_noise(_grid(chunk.rows, operator), shift_axes(operator), chunk.weight)


def noise_of_residual(chunk, rest, operator, before) -> StationaryNoise:
    """The noise of what a fit left of centred rows; ``before``, if it left nothing."""
    left = energy(replace(chunk, rows=rest))
    if not left > NOTHING * energy(chunk):
        return before
    return estimate_noise(_grid(rest, operator), shift_axes(operator), chunk.weight)


def _grid(rows, operator):
    return rows.astype(np.float64, copy=False).reshape(-1, *operator.sample_shape)


def fit_coloured(problem_of, centred, preprocessing, noise, recipe) -> Fit:
    """A fit in noise that is not white.

    Parameters
    ----------
    problem_of : callable
        ``problem_of(preprocessing)``: the :class:`Problem` of all rows as it says.
    centred : Chunks
        Centred rows, neither whitened nor weighted, on the plain operator.
    preprocessing : Preprocessing
        How rows are centred.
    noise : StationaryNoise or None
        None: estimated, twice.
    recipe : Recipe
    """

    def fit_with(preprocessing, recipe):
        return fit(problem_of(preprocessing), recipe, preprocessing)

    if noise is None:
        chunk = sampled(centred)

        def rest_of(noise):
            first = replace(preprocessing, noise=noise)
            rng = deepcopy(recipe.rng)  # the last fit has the seeds of a white one
            found = fit_with(first, replace(recipe, refine=0, n_restarts=1, rng=rng))
            return None if recipe.progress.stop else residual(chunk, found.model)

        noise = estimated_noise(chunk, centred.operator, rest_of)
    recipe.progress.stop = False  # one fit there must be
    found = fit_with(replace(preprocessing, noise=noise), replace(recipe, anneal=True))
    model, left, _ = in_data_units(centred, found.model)
    return replace(found, model=model, data_left=left)


def residual(chunk, model):
    """What components leave of centred rows, (n, d): coloured again after it was whitened.

    Components in the units of the data would leave steps at the ends of their windows.
    """
    operator, noise = model.operator, model.preprocessing.noise
    rows = chunk.rows if noise is None else noise.whiten(chunk.rows)
    seen = model.preprocessing.whitened(chunk.rows, operator)
    blocks = model.blocks(seen.dtype)
    codes = encode(replace(chunk, rows=seen, operator=operator), blocks, model.sweeps)
    rest = rows - decode(codes, operator, blocks, rows.dtype)
    return rest if noise is None else noise.colour(rest)


def estimated_noise(chunk, operator, rest_of) -> StationaryNoise:
    """The noise of what a fit leaves of rows that are whitened by the noise of all that is in them.

    Of few rows that is a poor beginning where a pattern is smooth. Then a fit without any whitening
    is another one, both are followed twice more, and the noise under which the rest is more likely
    is taken.

    Parameters
    ----------
    chunk : Chunk
        Centred rows.
    operator : Operator
    rest_of : callable
        ``rest_of(noise)`` fits rows that are whitened by ``noise``, or as they are, and gives what
        is left of those of the chunk, (n, d); None where the fit was asked to stop.
    """
    few = len(chunk.rows) < FEW_ROWS
    found: list[tuple[float, Any]] = []
    before = noise_of_rows(chunk, operator)
    with warnings.catch_warnings():  # the last fit gives them
        warnings.simplefilter("ignore")
        for start in (None, before) if few else (before,):
            noise = start
            for _ in range(FEW_STEPS if few else 1):
                rest = rest_of(noise)
                if rest is None:
                    return before if noise is None else noise
                noise = noise_of_residual(chunk, rest, operator, before)
            found.append((likelihood(chunk, rest, noise), noise))
    return max(found, key=lambda pair: pair[0])[1]


def likelihood(chunk, rest, noise) -> float:
    """``log p`` of noise (n, d), but for a constant, with the variance that makes it largest."""
    E = noise.whiten(rest)
    hidden = np.isnan(E)
    weight = chunk.weigh(np.ones(len(E)))
    count = weight @ (~hidden).sum(axis=1)
    logs = noise.log_determinants(hidden if hidden.any() else None)
    mean = weight @ np.nansum(E**2, axis=1) / count
    return float(-count / 2 * np.log(max(mean, TINY)) - np.sum(weight * logs))


def in_data_units(chunks, model):
    """The model with components in the units of the data, of unit norm; ``left`` and ``rest``.

    See :func:`data_solution`. The weights of the model become what whitened rows show of these, and
    keep their signs, which scores have decided.
    """
    V, left, rest = data_solution(chunks, model)
    lengths = np.linalg.norm(V, axis=1, keepdims=True)
    after = replace(model, data_weights=V / lengths, weights=model.weights / lengths)
    return after, left, rest


def data_solution(chunks, model):
    """Least-squares weights for rows in the units of the data, with the codes of whitened ones.

    Parameters
    ----------
    chunks : Chunks
        Centred rows, neither whitened nor weighted, on the plain operator.
    model : Model
        In whitened rows.

    Returns
    -------
    V : array (k, L)
        With the coefficients ``a`` of whitened rows, one component or block after the other.
    left : array (k + 1,) or (2,)
        Energy of the rows in the data, after 0, 1, .., k components; after all of a block.
    rest : Chunks
        What all components leave of the rows in the data.
    """
    operator, blocks = model.operator, model.blocks(chunks.dtype)
    left, found, first = [chunks.sum(energy_in, operator)], [], 0
    how = (model.preprocessing, operator, blocks, model.sweeps)
    known: list[Block | None] = [None] * len(blocks)
    chunks = chunks.then(coded, *how, blocks=known)
    for k, block in enumerate(blocks):
        columns = slice(first, first + len(block))
        stats = chunks.sum(coded_stats, operator, columns, k)
        [V] = operator.normal(stats.moments).solve(stats.rhs, np.zeros_like(stats.rhs))
        sound = np.isfinite(V).all(axis=1, keepdims=True) & V.any(axis=1, keepdims=True)
        found.append(np.where(sound, V, block.weights))
        known = list(known)
        known[k] = replace(block, weights=found[-1], norms=np.ones((1, len(block))))
        chunks = chunks.then(without, found[-1], columns, k, blocks=known)
        left.append(chunks.sum(energy_in, operator))
        first += len(block)
    return np.concatenate(found), np.array(left), chunks


def energy_in(chunk, operator):
    """``sum_i |x_i|^2`` in the inner product of another operator, weighted."""
    return energy(_weighed(chunk, operator))


def _weighed(chunk, operator):
    """The chunk in the inner product of an operator."""
    if operator.feature_weight is None:
        return chunk
    return replace(chunk, operator=operator)


def coded(chunk, preprocessing, operator, blocks, sweeps):
    """Centred rows with the codes of whitened ones: coefficients in place of scores."""
    rows = preprocessing.whitened(chunk.rows, operator)
    seen = replace(chunk, rows=rows, operator=operator, codes=None)
    codes, first, found = code(seen, blocks, sweeps), 0, []
    for block, index in zip(blocks, codes.index.T, strict=True):
        found.append(block.coef(codes.scores[:, first : first + len(block)], index))
        first += len(block)
    return chunk.with_codes(Codes(np.concatenate(found, axis=1), codes.index))


def coded_stats(chunk, operator, columns, k) -> Stats:
    """:class:`Stats` of rows with the codes that they have on some components."""
    index, coef = chunk.codes.index[:, k], chunk.codes.scores[:, columns]
    chunk = _weighed(chunk, operator)
    return coded_statistics(chunk, index, coef, np.zeros(1))


def without(chunk, V, columns, k):
    """The rows less some components in the data."""
    coef = chunk.codes.scores[:, columns]
    return chunk.plus(V, chunk.codes.index[:, k], -coef, chunk.codes)

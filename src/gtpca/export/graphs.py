"""A fitted model as an ONNX graph: scores, transforms and poses without this library.

For every component the graph has the match of :mod:`gtpca.model.matching` in single precision: all
products with the moved weights, divided by their norms, the largest of them, and the residual that
the next component sees. Products of shifts are a convolution, so that the file holds the weights
alone; those of other families a product with all moved weights.
"""

from __future__ import annotations

import math
from os import PathLike
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gtpca.files import atomic_file
from gtpca.model.matching import Block
from gtpca.model.preprocessing import sample_means
from gtpca.operators.shift import ShiftOperator
from gtpca.optional import require

__all__ = ["to_onnx"]

OPSET = 18
LARGEST = 2**26  # numbers in a file


def to_onnx(model: Any, path: str | PathLike[str]) -> None:
    """Write the encoder of a model as an ONNX file.

    The graph takes ``x``, (n, \\*sample_shape) in float32, and returns ``scores`` (n, k), ``index``
    (n, k), and one output (n, k) for every pose that is a number, such as ``start``. They are those
    of ``encode`` in single precision; of transforms that tie up to rounding, another one may be
    taken.

    Parameters
    ----------
    model : GTPCA
        Fitted; of any family with a list of transforms, with components that have their own poses.
    path : path
        The usual extension is ``.onnx``.
    """
    onnx = require("onnx", "onnx")
    check_is_fitted(model)
    fitted = _checked(model)
    graph = _Graph(onnx.helper, onnx.numpy_helper)
    inputs, outputs = _encoder(graph, fitted, onnx.TensorProto)
    made = onnx.helper.make_graph(graph.nodes, "gtpca", inputs, outputs, graph.constants)
    proto = onnx.helper.make_model(
        made, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=10
    )
    proto.producer_name = "gtpca"
    onnx.checker.check_model(proto)
    with atomic_file(path) as file:
        file.write(proto.SerializeToString())


def _checked(model):
    """The model as a value; an error if its codes do not follow from one match per component."""
    found: Any = getattr(model, "model_", None)
    if not hasattr(found, "preprocessing"):
        raise TypeError(f"model is a {type(model).__name__}, but only a GTPCA can be exported.")
    operator = found.operator
    reasons = {
        "shared_pose=True with several components": found.shared_pose and len(found.weights) > 1,
        "refine": found.sweeps > 0,
        "noise='stationary'": found.preprocessing.noise is not None,
        "poses between the transforms of a list": operator.continuous is not None,
    }
    for name, given in reasons.items():
        if given:
            raise ValueError(
                f"{name} cannot be exported: codes must follow from one match per component. Fit "
                "without it, or use model.encoder()."
            )
    size = operator.n_transforms * operator.n_features * len(found.weights)
    if not _is_shift(operator) and size > LARGEST:
        raise ValueError(f"the moved components are {size} numbers, more than {LARGEST}.")
    return found


def _is_shift(operator) -> bool:
    return type(operator) is ShiftOperator and 1 <= len(operator._moving) <= 3


class _Graph:
    """Nodes and constants of a graph; every method returns the name of its output."""

    def __init__(self, helper, arrays):
        self.helper, self.arrays = helper, arrays
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(self.arrays.from_array(np.ascontiguousarray(values), name))
        return name

    def numbers(self, values) -> str:
        """A constant in single precision."""
        return self.constant(np.asarray(values, dtype=np.float32))

    def whole(self, *values) -> str:
        """A constant of integers."""
        return self.constant(np.array(values, dtype=np.int64))

    def __call__(self, kind: str, *inputs: str, to: str | None = None, **how: Any) -> str:
        name = f"n{len(self.nodes)}" if to is None else to
        self.nodes.append(self.helper.make_node(kind, list(inputs), [name], **how))
        return name


def _encoder(g, model, types):
    """The graph of a model; its inputs and outputs."""
    operator, k = model.operator, len(model.weights)
    rows = g("Reshape", "x", g.whole(-1, operator.n_features))
    rest = _preprocessed(g, model.preprocessing, operator, rows)
    scores, index = [], []
    for number, block in enumerate(model.blocks(np.float64)):
        part = _Component(g, operator, block)
        score, found, amount = part.match(rest)
        scores.append(score)
        index.append(found)
        if number + 1 < k:
            rest = g("Sub", rest, g("Mul", amount, part.moved(found)))
    g("Concat", *scores, axis=1, to="scores")
    g("Concat", *index, axis=1, to="index")
    value = g.helper.make_tensor_value_info
    outputs = [value("scores", types.FLOAT, ["n", k]), value("index", types.INT64, ["n", k])]
    for name, values in operator.describe(np.arange(operator.n_transforms)).items():
        if np.asarray(values).dtype.kind in "biuf":
            g("Gather", g.numbers(values), "index", to=name)
            outputs.append(value(name, types.FLOAT, ["n", k]))
    return [value("x", types.FLOAT, ["n", *operator.sample_shape])], outputs


def _preprocessed(g, preprocessing, operator, rows):
    """Centred rows (n, d), zero outside the domain."""
    if preprocessing.mean is not None:
        rows = g("Sub", rows, g.numbers(preprocessing.mean))
    if preprocessing.per_sample:
        rows = g("MatMul", rows, g.numbers(np.eye(operator.n_features) - _means(operator)))
    if operator.domain is not None:
        rows = g("Mul", rows, g.numbers(operator.domain))
    return rows


def _means(operator):
    """The matrix (d, d) that maps rows to the means of their channels."""
    return sample_means(np.eye(operator.n_features), operator)


class _Component:
    """The match of one component."""

    def __init__(self, g, operator, block: Block):
        self.g, self.operator, self.shift = g, operator, _is_shift(operator)
        self.weights, self.positive = block.weights[0], block.polarity == "positive"
        self.root = np.broadcast_to(block.root[:, 0, 0], operator.n_transforms)
        self.norms = np.broadcast_to(block.norms[:, 0], operator.n_transforms)
        self.constant = len(block.root) == 1
        if not self.shift:
            self.bank = g.numbers(operator.apply(self.weights))

    def match(self, rest):
        """Score, transform and coefficient of rows (n, d), (n, 1) each."""
        g, q = self.g, self.operator.feature_weight
        weighed = rest if q is None else g("Mul", rest, g.numbers(q))
        products = self._products(weighed)
        root = g.numbers(self.root[:1] if self.constant else self.root)
        products = g("Mul", products, root)
        sizes = products if self.positive else g("Abs", products)
        index = g("ArgMax", sizes, axis=1, keepdims=1)
        z = g("GatherElements", products, index, axis=1)
        z = g("Relu", z) if self.positive else z
        amount = g("Mul", z, root if self.constant else g("Gather", root, index))
        norms = g.numbers(self.norms[:1] if self.constant else self.norms)
        score = g("Mul", amount, norms if self.constant else g("Gather", norms, index))
        return score, index, amount

    def _products(self, rows):
        """``<x_i, T_t w>``, (n, m)."""
        if not self.shift:
            return self.g("Gemm", rows, self.bank, transB=1)
        g, operator = self.g, self.operator
        channels = [j for j in range(len(operator.tracks)) if j not in operator._moving]
        order = (*channels, *operator._moving)
        tracks = [operator.tracks[j] for j in operator._moving]
        grid = g("Reshape", rows, g.whole(-1, *operator.sample_shape))
        grid = g("Transpose", grid, perm=(0, *(j + 1 for j in order)))
        count = math.prod(operator.sample_shape[j] for j in channels)
        grid = g("Reshape", grid, g.whole(-1, count, *(t.size for t in tracks)))
        for axis, track in enumerate(tracks, start=2):
            grid = self._extended(grid, axis, track)
        kernel = self.weights.reshape(operator.weight_shape).transpose(order)
        kernel = kernel.reshape(1, count, *(t.window for t in tracks))
        lags = g("Conv", grid, g.numbers(kernel), strides=[t.step for t in tracks])
        return g("Reshape", lags, g.whole(-1, operator.n_transforms))

    def _extended(self, grid, axis, track):
        """Samples of which all windows are pieces, the first one at the beginning."""
        g = self.g
        if track.circular:
            places = (track.first + np.arange(track.window + track.step * (track.count - 1))) % (
                track.size
            )
            return g("Gather", grid, g.whole(*places), axis=axis)
        before, last = -track.first, track.first + track.step * (track.count - 1) + track.window
        pads = g.whole(before, last - track.size)
        return g("Pad", grid, pads, g.numbers(0.0), g.whole(axis))

    def moved(self, index):
        """``T_index w`` of transforms (n, 1), (n, d)."""
        g, operator = self.g, self.operator
        if not self.shift:
            return g("Gather", self.bank, g("Reshape", index, g.whole(-1)))
        padded, starts = operator.padded(self.weights)
        first = np.ravel_multi_index(starts, padded.shape)
        reach = np.ravel_multi_index(np.indices(operator.sample_shape), padded.shape).ravel()
        places = g("Add", g("Gather", g.whole(*first), index), g.whole(*reach))
        return g("Gather", g.numbers(padded.ravel()), places)

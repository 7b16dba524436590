"""Parameters and fitted attributes as JSON and arrays, and back.

Plain values stay as they are. What JSON lacks is an object whose name begins with ``$``:

    {"$array": "components_.npy"}                    a member of the file
    {"$tuple": [..]}, {"$dict": [[key, value], ..]}  and dicts with text as keys stay objects
    {"$float": "nan"}, {"$scalar": "float32", "value": 0.5}, {"$strings": [..]}
    {"$sparse": [data, indices, indptr], "shape": [rows, columns]}
    {"$object": "Shift", "parameters": {..}}         a family or a solver, by its name in CLASSES
    {"$value": "Axis", "fields": {..}}               labels or noise, by the name in VALUES
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from scipy import sparse

from gtpca.data.labels import Labels
from gtpca.families import FAMILIES, Family
from gtpca.files import NPY_KINDS
from gtpca.fitting.event_counts import EventCounts
from gtpca.model.autoregression import Autoregression
from gtpca.model.stationary import StationaryNoise
from gtpca.operators.grid import Axis
from gtpca.solvers.als import ALS

__all__ = ["Decoder", "Encoder"]

CLASSES: dict[str, type] = {cls.__name__: cls for cls in (*FAMILIES, ALS)}
VALUES: dict[str, Any] = {
    cls.__name__: cls for cls in (Autoregression, Axis, EventCounts, Labels, StationaryNoise)
}
RENAMED = {"ALS": {"foresight": "lookahead"}}  # parameters in files of earlier versions
DEEPEST, LARGEST = 32, 2**64
FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
SCALARS = {"bool", "float16", "float32", "float64"}
SCALARS |= {f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}


def find_class(name):
    """One of the library's own families or solvers; a file never causes an import."""
    if name == "Adam":
        from gtpca.nn import Adam

        return Adam
    if not isinstance(name, str) or name not in CLASSES:
        raise ValueError(f"{str(name)[:40]!r} is not a family or solver of this version of gtpca")
    return CLASSES[name]


class Encoder:
    """Converts values to JSON; arrays are collected separately.

    Attributes
    ----------
    arrays : dict of str to array
        The members of the file, by name.
    """

    def __init__(self):
        self.arrays: dict[str, np.ndarray] = {}

    def encode(self, value, place: str, depth: int = 0) -> Any:
        """``value`` as JSON; ``place`` says where it was found, for messages and names."""
        if depth > DEEPEST:
            raise ValueError(f"{place} is nested more than {DEEPEST} deep and cannot be saved.")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return str(value)
        if isinstance(value, np.generic):
            return self._scalar(value, place)
        if isinstance(value, (int, float)):
            return self._number(value, place)
        if isinstance(value, (list, tuple, range)):
            items = [self.encode(v, f"{place}.{i}", depth + 1) for i, v in enumerate(value)]
            return {"$tuple": items} if isinstance(value, tuple) else items
        if isinstance(value, dict):
            return self._dict(value, place, depth)
        if sparse.issparse(value):
            return self._sparse(value, place)
        if hasattr(value, "__array__"):
            return self._array(np.asarray(value), place)
        if type(value) in VALUES.values():
            told = {field.name: getattr(value, field.name) for field in fields(value)}
            inner = {k: self.encode(v, f"{place}.{k}", depth + 1) for k, v in told.items()}
            return {"$value": type(value).__name__, "fields": inner}
        return self._object(value, place, depth)

    def _number(self, value, place):
        if isinstance(value, int):
            if abs(value) >= LARGEST:
                raise ValueError(f"{place}={value} has more than 64 bits and cannot be saved.")
            return int(value)
        if not math.isfinite(value):
            return {"$float": str(float(value))}
        return float(value)

    def _scalar(self, value, place):
        if value.dtype.name not in SCALARS:
            raise ValueError(f"{place}={value!r} cannot be saved; use a plain number.")
        return {"$scalar": value.dtype.name, "value": self.encode(value.item(), place)}

    def _dict(self, value, place, depth):
        inner = {k: self.encode(v, f"{place}.{k}", depth + 1) for k, v in value.items()}
        if all(isinstance(k, str) and not k.startswith("$") for k in inner):
            return inner
        return {"$dict": [[self.encode(k, place, depth + 1), v] for k, v in inner.items()]}

    def _array(self, array, place):
        if array.dtype == object and array.ndim == 1 and all(isinstance(v, str) for v in array):
            return {"$strings": [str(v) for v in array]}
        if array.dtype.kind not in NPY_KINDS:
            raise ValueError(f"{place} is an array of {array.dtype}, which cannot be saved.")
        name = stem = re.sub(r"[^A-Za-z0-9_.-]", "_", place)[:150]
        while f"{name}.npy" in self.arrays:
            name = f"{stem}-{len(self.arrays)}"
        self.arrays[f"{name}.npy"] = array
        return {"$array": f"{name}.npy"}

    def _sparse(self, matrix, place):
        csr = sparse.csr_array(matrix)
        parts = {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr}
        parts = {name: self._array(part, f"{place}.{name}") for name, part in parts.items()}
        return {"$sparse": list(parts.values()), "shape": list(csr.shape)}

    def _object(self, value, place, depth):
        name = type(value).__name__
        if isinstance(value, np.random.RandomState):
            raise ValueError(
                f"{place} is a RandomState and cannot be saved; set it to a number or None, "
                "set_params(random_state=0), which does not change a fitted model."
            )
        if name not in (*CLASSES, "Adam") or find_class(name) is not type(value):
            raise ValueError(_unknown(value, place))
        inner = value.get_params(deep=False).items()
        inner = [(k, v) for k, v in inner if not (isinstance(v, str) and v == "deprecated")]
        inner = {k: self.encode(v, f"{place}.{k}", depth + 1) for k, v in inner}
        return {"$object": name, "parameters": inner}


def _unknown(value, place) -> str:
    """Why an object cannot be saved, and what to do."""
    if callable(value):
        return f"{place} is a function and cannot be saved; give Custom the matrix instead."
    if isinstance(value, Family):
        return (
            f"{place}={value!r} is not a family of gtpca and cannot be saved; use Custom with its "
            "matrices, or joblib.dump where you trust the file."
        )
    return f"{place} is of type {type(value).__name__}, which cannot be saved."


class Decoder:
    """Converts JSON back to values; anything unknown is a ValueError.

    Parameters
    ----------
    arrays : dict of str to array
        The members of the file; each may be used once.
    """

    def __init__(self, arrays):
        self._arrays = dict(arrays)
        self._tags: dict[tuple[str, ...], Callable[..., Any]] = {
            ("$array",): self._array,
            ("$tuple",): self._tuple,
            ("$dict",): self._dict,
            ("$float",): self._float,
            ("$strings",): self._strings,
            ("$scalar", "value"): self._scalar,
            ("$sparse", "shape"): self._sparse,
            ("$object", "parameters"): self._object,
            ("$value", "fields"): self._fields,
        }

    def decode(self, node, depth: int = 0) -> Any:
        """The value of a piece of JSON."""
        if depth > DEEPEST:
            raise ValueError(f"values are nested more than {DEEPEST} deep")
        if isinstance(node, list):
            return [self.decode(item, depth + 1) for item in node]
        if isinstance(node, dict):
            return self._tagged(node, depth)
        if isinstance(node, float) and not math.isfinite(node):
            raise ValueError("a number is out of range")
        if isinstance(node, int) and abs(node) >= LARGEST:
            raise ValueError("a number has more than 64 bits")
        return node

    def _tagged(self, node, depth):
        if not any(name.startswith("$") for name in node):
            return {name: self.decode(value, depth + 1) for name, value in node.items()}
        tag = self._tags.get(tuple(sorted(node)))
        if tag is None:
            raise ValueError(f"{str(sorted(node))[:80]} is not a value of this format")
        return tag(*(node[name] for name in sorted(node)), depth=depth + 1)

    def _array(self, name, depth):
        if not isinstance(name, str) or name not in self._arrays:
            raise ValueError(f"the array {str(name)[:80]!r} is missing or used twice")
        return self._arrays.pop(name)

    def _list(self, node, what):
        if not isinstance(node, list):
            raise ValueError(f"{what} must hold a list")
        return node

    def _tuple(self, items, depth):
        return tuple(self.decode(item, depth) for item in self._list(items, "$tuple"))

    def _dict(self, pairs, depth):
        pairs = self._list(pairs, "$dict")
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            raise ValueError("$dict must hold pairs")
        return {self._key(k, depth): self.decode(v, depth) for k, v in pairs}

    def _key(self, node, depth):
        key = self.decode(node, depth)
        try:
            hash(key)
        except TypeError:
            raise ValueError("a key of $dict must not change") from None
        return key

    def _float(self, name, depth):
        if not isinstance(name, str) or name not in FLOATS:
            raise ValueError(f"$float must be one of {', '.join(FLOATS)}")
        return FLOATS[name]

    def _strings(self, items, depth):
        items = self._list(items, "$strings")
        if not all(isinstance(item, str) for item in items):
            raise ValueError("$strings must hold text")
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array

    def _scalar(self, dtype, node, depth):
        if not isinstance(dtype, str) or dtype not in SCALARS:
            raise ValueError(f"{str(dtype)[:40]!r} is not a type of a number")
        value = self.decode(node, depth)
        if not isinstance(value, (bool, int, float)):
            raise ValueError("$scalar must hold a number")
        try:
            return np.dtype(dtype).type(value)
        except (OverflowError, ValueError):
            raise ValueError(f"$scalar {value} does not fit into {dtype}") from None

    def _sparse(self, parts, shape, depth):
        parts = self.decode(self._list(parts, "$sparse"), depth)
        good = isinstance(shape, list) and [type(s) for s in shape] == [int, int]
        if not good or len(parts) != 3 or not all(isinstance(p, np.ndarray) for p in parts):
            raise ValueError("$sparse must hold three arrays and a shape")
        data, indices, indptr = parts
        if indices.dtype.kind != "i" or indptr.dtype.kind != "i" or data.dtype.kind not in "biuf":
            raise ValueError("$sparse must hold numbers, and integers as positions")
        matrix = sparse.csr_array((data, indices, indptr), shape=tuple(shape))
        matrix.check_format(full_check=True)  # compiled code would read out-of-range positions
        return matrix

    def _object(self, name, parameters, depth):
        cls = find_class(name)
        if not isinstance(parameters, dict):
            raise ValueError(f"the parameters of {name} must be named")
        renamed = RENAMED.get(name, {})
        parameters = {k: v for k, v in parameters.items() if renamed.get(k) is None} | {
            new: parameters[old] for old, new in renamed.items() if old in parameters
        }
        unknown = set(parameters) - set(inspect.signature(cls).parameters)
        if unknown:
            raise ValueError(f"{name} has no parameter {min(unknown)[:40]!r} in this version")
        try:
            return cls(**{k: self.decode(v, depth) for k, v in parameters.items()})
        except TypeError as error:
            raise ValueError(f"{name}: {error}") from None

    def _fields(self, name, fields, depth):
        cls = VALUES.get(name) if isinstance(name, str) else None
        if cls is None or not isinstance(fields, dict):
            raise ValueError(f"{str(name)[:40]!r} is not a value of this version of gtpca")
        unknown = set(fields) - set(inspect.signature(cls).parameters)
        if unknown:
            raise ValueError(f"{name} has no field {min(unknown)[:40]!r} in this version")
        return cls(**{k: self.decode(v, depth) for k, v in fields.items()})

"""Numbers and strings in a form that is small and safe inside a page."""

from __future__ import annotations

import base64
import json
from hashlib import sha256

import numpy as np

__all__ = ["clipped", "pack", "pack_rows", "safe_json", "script_hash"]

LONGEST = 80  # characters of a label
FLOAT32 = np.finfo(np.float32)


def pack(array) -> dict:
    """Numbers as little-endian bytes in base64; floats become float32, integers int32."""
    array = np.asarray(array)
    if array.dtype.kind in "biu":
        kind = "u1" if array.dtype == np.uint8 else "u2" if array.dtype == np.uint16 else "i4"
    else:
        kind = "f4"
    if kind == "f4" and np.abs(array).max(initial=0) > FLOAT32.max:
        raise ValueError(f"X has values above {FLOAT32.max:.2g}; divide it by a suitable constant.")
    data = np.ascontiguousarray(array, dtype=f"<{kind}").tobytes()
    return {"type": kind, "data": base64.b64encode(data).decode("ascii")}


def pack_rows(rows, levels=2**16) -> dict:
    """Arrays (n, ..) as integers ``q``: the values are ``low_i + step_i q``.

    ``levels`` is 256 (one byte each) or 65536; the error is at most half a step.
    """
    flat = np.asarray(rows, dtype=np.float64).reshape(len(rows), -1)
    low, high = flat.min(axis=1, initial=np.inf), flat.max(axis=1, initial=-np.inf)
    step = np.where(high > low, (high - low) / (levels - 1), 1.0)
    rounded = np.rint((flat - low[:, None]) / step[:, None])
    rounded = rounded.astype(np.uint8 if levels == 256 else np.uint16)
    return {"size": flat.shape[1], "low": pack(low), "step": pack(step), "values": pack(rounded)}


def safe_json(value) -> str:
    """JSON that cannot end a ``<script>`` element, or open a comment or a tag."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def script_hash(text) -> str:
    """The source expression of an inline script in a Content-Security-Policy."""
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode('ascii')}'"


def clipped(text, longest=LONGEST) -> str:
    """``text``, shortened if it is too long to be shown."""
    text = str(text)
    return text if len(text) <= longest else text[: longest - 1] + "…"

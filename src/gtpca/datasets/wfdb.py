"""Records of WFDB (PhysioNet): a header ``.hea``, signal files and annotations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gtpca.files import check_regular

__all__ = ["WFDBRecord", "read_annotations", "read_wfdb"]

# Values of a file by its format: the type of a sample, and the number that means "not observed".
FORMATS = {
    "16": ("<i2", -(2**15)),
    "32": ("<i4", -(2**31)),
    "61": (">i2", -(2**15)),
    "80": ("u1", 0),
    "160": ("<u2", 0),
    "212": ("", -(2**11)),
    "24": ("", -(2**23)),
}
OFFSET = {"80": 128, "160": 2**15}  # of formats without a sign
GAIN = 200.0  # units of the converter per physical unit, where a header has none
LONGEST_HEADER = 2**24  # bytes
SIGNAL = re.compile(r"(\d+)(?:x(\d+))?(?::(\d+))?(?:\+(\d+))?")
SCALE = re.compile(r"([-+.\deE]+)(?:\((-?\d+)\))?(?:/(\S+))?")
SKIP, NUMBER, SUBTYPE, CHANNEL, TEXT = 59, 60, 61, 62, 63  # words that are no annotations
SYMBOLS = dict(enumerate(' NLRaVFJASEj/Q~ | sT*D"=pB^t+u?![]en@xf()r', start=0))


@dataclass(frozen=True, eq=False)
class WFDBRecord:
    """A record: ``values`` (n, C) in physical units, ``rate`` in Hz, channels and their units."""

    values: np.ndarray
    rate: float
    channels: list[str]
    units: list[str]


@dataclass(frozen=True, eq=False)
class _Line:
    """A line of the header that tells of one signal."""

    file: str
    format: str
    skew: int
    offset: int
    gain: float
    baseline: int
    unit: str
    name: str


def read_wfdb(path: str | Path) -> WFDBRecord:
    """The record of a header, such as ``100.hea``.

    Signals of the formats 16, 24, 32, 61, 80, 160 and 212, one sample of each per frame. Signal
    files must stand beside the header.

    Raises
    ------
    ValueError
        In one line, if the header or a signal file is not what it should be.
    """
    path = Path(path)
    if path.stat().st_size > LONGEST_HEADER:
        raise ValueError("is no WFDB header: it is too long")
    lines = [line for line in path.read_text("latin-1").splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("#")]
    first = lines[0].split() if lines else []
    if len(first) < 2 or not first[1].isdigit():
        raise ValueError("is no WFDB header: its first line must name the record and its signals")
    if "/" in first[0]:
        raise ValueError("has several segments; give the header of one segment")
    count = int(first[1])
    rate = float(re.split(r"[/(]", first[2])[0]) if len(first) > 2 else 250.0
    if not 0 < rate < np.inf:
        raise ValueError(f"says {first[2]} samples per second; that must be above zero")
    length = int(first[3]) if len(first) > 3 and first[3].isdigit() else 0
    if len(lines) < 1 + count or count == 0:
        raise ValueError(f"tells of {len(lines) - 1} signals where it says {count}")
    signals = [_line(line) for line in lines[1 : 1 + count]]
    columns: dict[_Line, np.ndarray] = {}
    for name in dict.fromkeys(signal.file for signal in signals):
        group = [signal for signal in signals if signal.file == name]
        values = _samples(_beside(path, name), group, length)
        columns |= zip(group, values.T, strict=True)
    shortest = min(map(len, columns.values()))
    values = np.stack([columns[signal][:shortest] for signal in signals], axis=1)
    names = [signal.name or f"signal {i}" for i, signal in enumerate(signals)]
    return WFDBRecord(values, rate, names, [signal.unit for signal in signals])


def _line(text) -> _Line:
    """One signal of the header."""
    fields = text.split(maxsplit=8)
    found = SIGNAL.fullmatch(fields[1]) if len(fields) > 1 else None
    if found is None or found[1] not in FORMATS:
        known = ", ".join(sorted(FORMATS, key=int))
        kind = fields[1] if len(fields) > 1 else "nothing"
        raise ValueError(f"has a signal of format {kind}; those that are read are {known}")
    if found[2] not in (None, "1"):
        raise ValueError(f"has {found[2]} samples of {fields[0]} per frame; only one is read")
    scale = SCALE.fullmatch(fields[2]) if len(fields) > 2 else None
    gain = (float(scale[1]) if scale else GAIN) or GAIN
    if not np.isfinite(gain):
        raise ValueError(f"has a signal of gain {fields[2]}; that must be finite")
    zero = int(fields[4]) if len(fields) > 4 and re.fullmatch(r"-?\d+", fields[4]) else 0
    baseline = int(scale[2]) if scale and scale[2] else zero
    unit = (scale[3] if scale else None) or "mV"
    name = fields[8] if len(fields) > 8 else ""
    skew, offset = int(found[3] or 0), int(found[4] or 0)
    return _Line(fields[0], found[1], skew, offset, gain, baseline, unit, name)


def _beside(path, name) -> Path:
    """A signal file of a header; nothing but a name, so that no header leads elsewhere."""
    if name != Path(name).name or name in (".", ".."):
        raise ValueError(f"names the signal file {name!r}; it must stand beside the header")
    return path.with_name(name)


def _samples(path, group, length) -> np.ndarray:
    """The signals of one file in physical units, (n, C), NaN where nothing was observed."""
    kinds = {signal.format for signal in group}
    if len(kinds) > 1:
        raise ValueError(f"has signals of several formats in {path.name}")
    kind = kinds.pop()
    try:
        check_regular(path)
        data = path.read_bytes()[group[0].offset :]
    except OSError as error:
        raise ValueError(f"needs {path.name} beside it: {error.strerror}") from None
    numbers = _numbers(data, kind)
    n = len(numbers) // len(group)
    if n < length:
        raise ValueError(f"says {length} samples, but {path.name} holds {n}: it is cut")
    n = length or n
    numbers = numbers[: n * len(group)].reshape(n, len(group))
    baseline = np.array([signal.baseline for signal in group])
    gain = np.array([signal.gain for signal in group])
    hidden = numbers == FORMATS[kind][1] - OFFSET.get(kind, 0)
    values = np.where(hidden, np.nan, (numbers - baseline) / gain)
    for column, signal in zip(values.T, group, strict=True):
        _unskewed(column, min(signal.skew, n))
    return values


def _unskewed(column, skew) -> None:
    """A signal that was written so many samples late is moved to its place."""
    if skew:
        column[: len(column) - skew] = column[skew:].copy()
        column[len(column) - skew :] = np.nan


def _numbers(data, kind) -> np.ndarray:
    """All numbers of a signal file, one after the other."""
    if kind == "212":  # two numbers of 12 bits in three bytes
        if len(data) % 3 == 2:  # the last of an odd count
            data += b"\0"
        whole = np.frombuffer(data, np.uint8)[: len(data) // 3 * 3].reshape(-1, 3).astype(np.int16)
        pairs = np.stack(
            [whole[:, 0] | (whole[:, 1] & 15) << 8, whole[:, 2] | (whole[:, 1] & 240) << 4], axis=1
        )
        return np.where(pairs > 2047, pairs - 4096, pairs).ravel()
    if kind == "24":
        whole = np.frombuffer(data, np.uint8)[: len(data) // 3 * 3].reshape(-1, 3).astype(np.int32)
        value = whole[:, 0] | whole[:, 1] << 8 | whole[:, 2] << 16
        return np.where(value >= 2**23, value - 2**24, value)
    dtype = np.dtype(FORMATS[kind][0])
    values = np.frombuffer(data[: len(data) // dtype.itemsize * dtype.itemsize], dtype)
    return values.astype(np.int32) - OFFSET.get(kind, 0)


def read_annotations(path: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """Annotations of a file such as ``100.atr``: samples (n,) and symbols (n,).

    Symbols are those of PhysioNet: ``"N"`` a normal beat, ``"V"`` a premature ventricular
    contraction, ``"+"`` a change of rhythm.
    """
    words = np.frombuffer(Path(path).read_bytes()[: 2**28], "<u2").astype(np.int64)
    place, at, samples, symbols = 0, 0, [], []
    while place < len(words):
        code, since = int(words[place] >> 10), int(words[place] & 1023)
        place += 1
        if code == 0 and since == 0:
            break
        if code == SKIP:
            if place + 2 > len(words):
                break
            apart = int(words[place] << 16 | words[place + 1])
            at += apart - 2**32 if apart >= 2**31 else apart
            place += 2
        elif code == TEXT:
            place += (since + 1) // 2
        elif code not in (NUMBER, SUBTYPE, CHANNEL):
            at += since
            samples.append(at)
            symbols.append(SYMBOLS.get(code, "?"))
    return np.array(samples, dtype=np.int64), np.array(symbols, dtype=str)

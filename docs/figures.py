"""Figures in the prose of README, pages and examples, with where each of them comes from.

A figure is a piece of a page with a format field for every number, ``"leaves {:.3f} of it"``, and
the numbers: from a file of ``benchmarks``, from what an example prints, or computed in a moment. A
page holds if it shows the digits that the fields give.

    python docs/figures.py                    list all figures that are stale; runs some examples
    python docs/figures.py --write            and write the digits into the pages
    python docs/figures.py bench_ridge.json   only those of some sources
    python docs/figures.py --others           list decimals in the text that no figure covers
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import re
import runpy
import string
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from scipy.special import ndtr

ROOT = Path(__file__).parents[1]
NUMBER = r"(\**[-+]?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)\**)"
# Functions that yield a page, a piece of it and its numbers, by the name of their source.
SOURCES: dict[str, Callable] = {}


@dataclass(frozen=True)
class Figure:
    """A piece of ``page``, a file of the repository, whose fields are ``values``."""

    page: str
    text: str
    values: tuple

    def _fields(self) -> list[tuple[str, str | None]]:
        """Pairs of what stands before a field and its format, None behind the last."""
        parts = string.Formatter().parse(self.text)
        return [(before, None if name is None else spec or "") for before, name, spec, _ in parts]

    @property
    def pattern(self) -> re.Pattern:
        """What finds the piece in the page, whatever its numbers are and wherever lines break."""
        found = ""
        for before, spec in self._fields():
            words = [re.escape(word) for word in re.split(r"\s+", before)]
            found += r"(?:\s|\n# )+".join(words) + ("" if spec is None else NUMBER)
        return re.compile(found)

    @property
    def digits(self) -> list[str]:
        """The numbers as the page should show them."""
        formats = [spec for _, spec in self._fields() if spec is not None]
        return [format(v, spec) for v, spec in zip(self.values, formats, strict=True)]

    def stale(self) -> Iterator[str]:
        """What is wrong with the page, if anything."""
        found = [*self.pattern.finditer(self._read())]
        if not found:
            yield f"{self.page} does not say {self.text!r}, {', '.join(self.digits)}"
        for match in found:
            if [*match.groups()] != self.digits:
                shown = " ".join(match[0].split())
                yield f"{self.page}: {shown!r} should have {', '.join(self.digits)}"

    def write(self) -> None:
        """Put the digits into the page."""

        def mended(match):
            text = match[0]
            for group, digits in reversed([*enumerate(self.digits, 1)]):
                a, b = (place - match.start() for place in match.span(group))
                text = text[:a] + digits + text[b:]
            return text

        text = self.pattern.sub(mended, self._read())
        (ROOT / self.page).write_text(text, encoding="utf-8")

    def _read(self) -> str:
        return (ROOT / self.page).read_text(encoding="utf-8")


def of(source: str) -> Callable:
    """Decorate the function that yields the figures of a source, given what the source says."""

    def add(figures):
        SOURCES[source] = figures
        return figures

    return add


def figures(source: str, said=None) -> list[Figure]:
    """The figures of a source; ``said`` is what it says, if that is known already."""
    said = load(source) if said is None else said
    return [Figure(page, text, tuple(values)) for page, text, *values in SOURCES[source](said)]


def load(source: str):
    """The content of a JSON file, what an example prints, or nothing for what is computed here."""
    if source.endswith(".json"):
        return json.loads((ROOT / "benchmarks" / source).read_text())
    return run_example(source) if source.startswith("plot_") else ""


def run_example(name: str) -> str:
    """What an example prints."""
    import matplotlib as mpl

    mpl.use("Agg")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        path = next((ROOT / "examples").rglob(f"{name}.py"))
        runpy.run_path(str(path), run_name="__main__")
    return out.getvalue()


def numbers(pattern: str, said: str) -> list[float]:
    """The numbers that the groups of ``pattern`` find in what an example prints."""
    match = re.search(pattern, said)
    if not match:
        raise ValueError(f"the example does not print {pattern!r}, but\n{said}")
    return [float(group) for group in match.groups()]


def span(values) -> tuple[float, float]:
    """The smallest and the largest."""
    return min(values), max(values)


@of("a fit of spikes")
def _(_):
    from gtpca import GTPCA, Shift
    from gtpca.datasets import make_spikes

    X, _ = make_spikes(300, random_state=0)
    for text, family in (
        ("one {:.1f} %, two {:.1f} % and three {:.1f} %.", Shift(64, boundary="partial")),
        ("at the border, it is {:.1f}, {:.1f} and {:.1f} %.)", Shift(64)),
    ):
        model = GTPCA(3, family, random_state=0).fit(X)
        yield "README.md", text, *(100 * np.cumsum(model.explained_energy_ratio_))


@of("a fit of noise")
def _(_):
    from gtpca import GTPCA, Shift

    X = np.random.default_rng(0).standard_normal((200, 128))
    share = 100 * GTPCA(1, Shift(32), random_state=0).fit(X).score(X)
    yield "docs/diagnostics.md", "window of 32 points explains {:.0f} % of the energy", share


@of("the demo")
def _(_):
    from gtpca import demo

    found = demo.run()
    text = "(`make demo`): one component {:.3f}, five of PCA {:.3f}."
    yield "docs/comparison.md", text, found.resmse[0], found.pca_resmse[4]


@of("plot_spikes")
def _(said):
    likeness = numbers(r"average of aligned new noise: (\S+)", said)
    yield "README.md", "has an average that correlates with it at {:.2f}.", *likeness
    yield "docs/guide.md", "the two correlate at {:.2f}.", *likeness
    yield "docs/howto/is-it-real.md", "correlation {:.2f} in [the first example]", *likeness


@of("plot_digits_rotated")
def _(said):
    lines = r"PCA +(\S+)\n.*each +(\S+)\n.*one angle +(\S+)\n.*then PCA +(\S+)\n.*undo\) +(\S+)"
    still, own, shared, turned_back, upright = numbers(lines, said)
    yield (
        "README.md",
        "is right in {:.2f} of the cases (PCA of the rotated digits: {:.2f}, of the upright ones: "
        "{:.2f}). `shared_pose=True` gives one pose for the whole image, and {:.2f}; to `align` by "
        "the first component and then use PCA gives {:.2f}.",
        *(own, still, upright, shared, turned_back),
    )
    text = "eight such scores reach {:.2f}, and {:.2f} in one pose."
    yield "docs/howto/classifier.md", text, own, shared


@of("plot_eeg_latency")
def _(said):
    fixed, gain = numbers(r"the trials +explained (\S+) .* gain (\S+) to", said)
    absent = numbers(r"absent +explained \S+ to (\S+),", said)
    chance = numbers(r"fixed .* gain (\S+) to (\S+)", said)
    text = (
        "latencies add {:.3f} to the explained share, and {:.3f} to {:.3f} where the response never"
    )
    yield "docs/guide.md", text, gain, *chance
    yield (
        "examples/series/plot_eeg_latency.py",
        "explain {:.2f} of the trials, and at most {:.2f} without a response. Latencies add {:.3f} "
        "to that, but {:.3f} to {:.3f} where nothing moves",
        *(fixed, *absent, gain, *chance),
    )


@of("plot_heartbeats")
def _(said):
    text = "Blood pressure in an artery, {:.0f} heartbeats:"
    yield "examples/series/plot_heartbeats.py", text, *numbers(r"(\d+) beats,", said)


@of("plot_too_many_transforms")
def _(said):
    text = "the component tells rays ({:.3f}) from noise ({:.3f})."
    shares = numbers(r"\n +1 +(\S+) +(\S+)", said)
    yield "examples/extending/plot_too_many_transforms.py", text, *shares


@of("bench_shared_pose.json")
def _(d):
    rows = {"rotated": "rotated by one of 20 angles", "shifted": "shifted, 28 x 28 in 56 x 56"}
    for name, title in rows.items():
        values = (d[name][key] for key in ("ordinary_resmse", "resmse", "accuracy"))
        yield "docs/guide.md", f"| {title} | {{:.3f}} | {{:.3f}} | {{:.3f}} |", *values
    left, right = d["upright"]["resmse"], d["upright"]["accuracy"]
    text = "| upright, in place, PCA | {:.3f} | {:.3f} | {:.3f} |"
    yield "docs/guide.md", text, left, left, right
    yield (
        "docs/comparison.md",
        "in place both leave {:.3f} with 20 components; shifted, separate poses leave {:.3f}, and "
        "in one pose the scores classify at {:.3f}, beside {:.3f} for digits that never moved",
        *(left, d["shifted"]["ordinary_resmse"], d["shifted"]["accuracy"], right),
    )


@of("bench_likelihood.json")
def _(d):
    page = "docs/guide.md"
    text = "picked 3 among 0 to 8 in {} of {} draws."
    yield page, text, d["number"]["right"], len(d["number"]["picked"])
    for row in d["varied poses"]:
        cells = ["{}", *["{:.3f}"] * 3, *["{:.3f}, {:.3f}"] * 3]
        names = ["true model", "single", "woody"]
        names += [f"{name} {k}" for name in ("energy", "hard", "soft") for k in (3, 6)]
        values = (row[name] for name in names)
        yield page, f"| {row['noise']} | {' | '.join(cells)} |", row["draws"], *values
    (last,) = (row for row in d["varied poses"] if row["noise"] == 1.5)
    text = "standard errors are {:.3f} and {:.3f} for soft EM with 3 and 6 components."
    yield page, text, last["se"]["soft 3"], last["se"]["soft 6"]
    six, three = last["soft 6 less best"], last["soft 3 less best"]
    if (six["best"], three["best"]) == ("soft 3", "hard 6"):
        yield (
            page,
            "soft EM with 6 is {:.3f} ± {:.3f} below soft EM with 3, which is {:.3f} ± {:.3f} "
            "above the best other method, hard EM with 6.",
            *(-six["mean"], six["se"], three["mean"], three["se"]),
        )
    weak = d["poses"]
    soft = min(row[f"soft {k}"] for row in weak for k in (3, 6))
    below = max(-row[f"soft {k} less best"]["mean"] for row in weak for k in (3, 6))
    (loud,) = (row for row in weak if row["noise"] == 1.5)
    yield (
        page,
        "soft EM is right in at least {:.3f} of the beats and within {:.3f} of the best of them, a "
        "single component and Woody averaging in at least {:.3f}, energy with several components "
        "in {:.2f} to {:.2f} at noise 1.5.",
        *(soft, below, min(min(row["single"], row["woody"]) for row in weak)),
        *span([loud["energy 3"], loud["energy 6"]]),
    )
    yield from _faint(d["faint"], page)
    yield from _doubts(d["doubts"], page)
    yield from _calibration(d["calibration"], page)
    yield from _eeg_places(d["eeg"], page)
    ratios = [span([row[f"soft over {other}"] for row in d["passes"]]) for other in OTHER_PASSES]
    yield (
        page,
        "A soft pass costs {:.1f} to {:.1f} hard ones, and {:.1f} to {:.1f} passes of the same "
        "block by energy ({:.1f} to {:.1f} of its components without the pattern).",
        *np.ravel(ratios),
    )


OTHER_PASSES = ("hard", "energy", "energy of components")


def _faint(rows, page):
    names = ("energy", "hard", "plain soft", "soft")
    for row in rows:
        if row["size"] == 2.5:
            fields = ", ".join(["{:.3f}"] * 4) + " | " + ", ".join(["{:.2f}"] * 4)
            values = (row[f"{name} {what}"] for what in ("correlation", "size") for name in names)
            yield page, f"| {row['n']:,} | {fields} |", *values
    nothing = sorted((row for row in rows if row["size"] == 0), key=lambda row: row["n"])
    if all(row["told"] == row["plain below nothing"] == 1 for row in nothing):
        text = "Its size is {:.2f} and {:.2f} (300 and 3,000 rows) of what energy finds, and other "
        text += "held-out rows were less likely with it than with noise alone in all of 20 draws"
        yield page, text, *(row["plain size over hard"] for row in nothing)
    text = (
        "What shrinking leaves of the pattern is {:.2f} and {:.2f} of what energy finds; held-out "
    )
    text += "rows are then as likely as with noise alone, to {:.3f} nats."
    gap = max(abs(row["gain"]) for row in nothing)
    yield page, text, *(row["size over hard"] for row in nothing), math.ceil(1000 * gap) / 1000


def _doubts(rows, page):
    noise, pattern = ([row for row in rows if bool(row["norm"]) == there] for there in (0, 1))
    yield (
        page,
        "it said so in {} of {} of noise (200 rows with 0 and 2 components, 40 rows), and in {} of "
        "{} of a pattern (norm 2 in 200 rows with 0 and 5 components, norm 3 in 40 rows with 0 "
        "and 4).",
        *(sum(row["doubt"] for row in noise), len(noise)),
        *(sum(row["doubt"] for row in pattern), len(pattern)),
    )


def _calibration(rows, page):
    gap = max(abs(row["covered"] - row["mass"]) for row in rows)
    (few,) = (row for row in rows if (row["n"], row["noise"]) == (600, 1.5))
    yield (
        page,
        "as often as they say within {:.3f}, from 600 to 2,400 beats and up to the strongest noise "
        "(there, with 600 beats, they say {:.2f} and contain it in {:.2f}). With `shrink=False` "
        "they say {:.2f} there and contain it in {:.2f}.",
        *(gap, few["mass"], few["covered"], few["plain mass"], few["plain covered"]),
    )


def _eeg_places(rows, page):
    *single, together = rows
    methods = [f"{name} {k}" for name in ("energy", "hard", "soft") for k in (3, 6)]
    methods += ["single", "woody"]
    found = span([row[name] for row in single for name in methods])
    known = span([row[f"places known {k}"] for row in single for k in (3, 6)])
    gaps = [together[f"soft {k} less best"] for k in (3, 6)]
    yield (
        page,
        "finds {:.2f} to {:.2f} of the places, one place for all trials {:.2f} (six channels, ten "
        "draws each). A model fitted to these very trials with the places known finds "
        "{:.2f} to {:.2f}:",
        *(*found, together["one place for all"], *known),
    )
    text = "Soft EM is {:.3f} ± {:.3f} and {:.3f} ± {:.3f} (3 and 6 components) below the best"
    yield page, text, *(value for gap in gaps for value in (-gap["mean"], gap["se"]))


@of("bench_colour.json")
def _(d):
    page = "docs/howto/noise.md"
    yield from _shares_in_noise(d, page)
    gains = {row["noise"]: row for row in d["likelihood"]}
    colours = [gains[f"AR(1) {k}"] for k in (".5", ".7", ".9")]
    draws = [line["gain"] > 0 for line in d["draws"]["likelihood"] if line["noise"] != "white"]
    yield (
        page,
        "prefer the stationary model by {:.0f}, {:.0f} and {:.0f} nats per row where neighbours "
        "are correlated by .5, .7 and .9, in {} of {} draws; in white noise the two differ by "
        "{:.2f}.",
        *(row["gain"] for row in colours),
        *(sum(draws), len(draws), abs(gains["white"]["gain"])),
    )
    small, large = d["cost"]
    yield (
        page,
        "{:.1f} times that of a white fit for 300 rows of 120 points, {:.1f} times for 3,000 of "
        "500 (`ProbabilisticGTPCA(shrink=False)`: {:.1f} and {:.1f} times).",
        *(row[name] for name in ("gtpca fit", "density alone fit") for row in (small, large)),
    )
    text = "are whitened in every pass, which takes {:.2f} and {:.2f} times as long."
    yield page, text, small["streamed pass"], large["streamed pass"]
    turned = {row["beta"]: row for row in d["turned"]}
    names = ("as they are", "own spectrum", "spectrum of noise")
    yield (
        page,
        "agree in {:.2f} of the pairs as they are, in {:.2f} after a filter by the spectrum of the "
        "images themselves, and in {:.2f} by that of noise alone; in white noise in {:.2f}, {:.2f} "
        "and {:.2f}.",
        *(turned[beta][name] for beta in (2, 0) for name in names),
    )
    yield from _responses(d, page)


BOTH_WAYS = [f"{name} {way}" for name in ("gtpca", "density") for way in ("white", "stationary")]


def _shares_in_noise(d, page):
    """Places found, white noise assumed and stationary, and what knowing the filter would add."""
    cells = "{:.2f} → {:.2f} | {:.2f} → {:.2f} |"
    for row in d["pulses"]:
        rows = "" if row["n"] == 300 else f", {row['n']}"
        line = f"| {row['pattern']}, {row['noise']}{rows} | {cells}"
        yield page, line, *(row[name] for name in BOTH_WAYS)
    for row in d["images"]:
        yield page, f"| {row['noise']} | {cells}", *(row[name] for name in BOTH_WAYS)
    yield page, "(d' = 6, means of {} draws; poses within a pixel", d["images"][0]["draws"]
    many = [row for row in d["pulses"] if row["n"] == 300]
    gains = [
        row[f"{name} known"] - row[f"{name} stationary"]
        for row in many
        for name in ("gtpca", "density")
    ]
    text = "With the filter of 10,000 rows of noise alone no share is more than {:.2f} higher."
    yield page, text, math.ceil(100 * max(gains)) / 100


def _responses(d, page):
    """What is found of EEG trials, and of simulated responses."""
    sets = [next(row for row in d["eeg"] if row["channels"] == c) for c in ("OZ", "six", "all")]
    found = [value for row in sets for name, value in row.items() if name in BOTH_WAYS]
    yield (
        page,
        "within 160 ms (draws: {}): no fit, whitened or not, finds more than {:.2f} of the "
        "places, and one place for all would find {:.2f}. d' of the average response is {:.1f} at "
        "one electrode, {:.1f} at six and {:.1f} at all; a matched filter that knows the response "
        "of the other trials finds {:.2f}, {:.2f} and {:.2f}. If every trial were the average "
        "response in such noise, it would find {:.2f}, {:.2f} and {:.2f}:",
        *(sets[0]["draws"], math.ceil(100 * max(found)) / 100, sets[0]["one place for all"]),
        *(row["d'"] for row in sets),
        *(row["matched, response of the others"] for row in sets),
        *(row["matched, if trials were the average"] for row in sets),
    )
    cells = "{:.2f} → {:.2f} | {:.2f} → {:.2f} | {:.2f} |"
    for row in d["erp"]:
        names = (*BOTH_WAYS, "matched")
        yield page, f"| {row['d']:g}, {row['n']} | {cells}", *(row[name] for name in names)
    text = "with white noise assumed → stationary, means of {} draws:\n\n| d'"
    yield page, text, d["erp"][0]["draws"]
    few = [line for line in d["draws"]["erp"] if (line["n"], line["d"]) == (99, 4)]
    above = sum(line["likelier than from the truth"] > 0 for line in few)
    yield page, "leads from the truth in {} of {} draws:", above, len(few)
    few = [line for line in d["draws"]["erp"] if (line["n"], line["d"]) == (99, 5)]
    missed = sum(line["likelier than from the truth"] < 0 for line in few)
    yield page, "the search misses the more likely one in {} of {} draws.", missed, len(few)


@of("bench_network.json")
def _(d):
    page = "docs/guide.md"
    yield page, "| published (network) | {:.3f} | {:.3f} | {:.3f} |", *d["published"]
    titles = {"network": "`GTPCNetwork`, the paper's schedule", "als": "`GTPCA` with `ALS()`"}
    for name, title in titles.items():
        runs = np.array([run[name] for run in d["runs"]])
        errors = runs.std(axis=0, ddof=1) / len(runs) ** 0.5
        fields = " | ".join(["{:.3f} ± {:.3f}"] * 3)
        yield page, f"| {title} | {fields} |", *np.ravel([runs.mean(axis=0), errors], order="F")


@of("bench_fractions.json")
def _(d):
    page, low = "docs/howto/between-samples.md", "noise 0.0023"

    def mean(noise, *names):
        found = [run[names[0]][names[1]] for run in d[noise].values()]
        return float(np.mean(found))

    for F in (1, 2, 4, 8, 16):
        name = "whole samples" if F == 1 else f"`fractions={F}`"
        values = [mean(low, f"fractions {F}", key) for key in ("residual", "rms", "se", "covered")]
        line = "| " + name + " | {:.2f} | {:.3f} | {:.3f} | {:.0f} % |"
        values[3] *= 100
        if F > 1:
            line += " {:.1f} |"
            values.append(np.mean(list(d["pass"][str(F)].values())))
        yield page, line, *values
    yield (
        page,
        "phase correlation has an error of {:.3f}, and the parabola through the largest "
        "correlation and its neighbours one of {:.3f}",
        *(mean(low, "peers", peer) for peer in ("phase", "parabola")),
    )
    text = "on whole samples leave {:.2f} of the noise, three {:.2f}"
    yield page, text, *(mean(low, "shared", k) for k in "23")
    text = "the error is {:.2f} samples with whole samples and {:.2f} with eighths"
    yield page, text, *(mean("noise 0.5", f"fractions {F}", "rms") for F in (1, 8))


@of("bench_refined.json")
def _(d):
    page = "docs/howto/any-pose.md"
    for case, runs in d.items():
        kind, *fields = case.split(", ")
        if kind != "rotation":
            continue
        rows = list(runs.values())
        ratios = [
            [row[f"{name} 24 refined"] / row[f"{name} {other}"] for row in rows]
            for name, other in (("residual", "360"), ("seconds", "180"))
        ]
        values = [*np.mean(ratios, axis=1), np.mean([row["degrees 24 refined"] for row in rows])]
        yield page, f"| {fields[0]} | {fields[1]} | " + "{:.3f} | {:.2f} | {:.2f} |", *values


@of("bench_ridge.json")
def _(d):
    page, spikes = "docs/guide.md", ("spikes-classification", "spikes-outlier")
    changes = {name: _ridge_change(found) for name, found in d.items()}
    several = [c for name in spikes for c in changes[name][0]]
    errors = [e for name in (*spikes, "oscillations") for e in changes[name][1]]
    yield (
        page,
        "change by {:.1f} to {:.1f} % for spikes in long windows and by {:.0f} to {:.1f} % for "
        "oscillations, whose first two components keep the ridge (five repetitions each, standard "
        "errors up to {:.1f} %)",
        *(*span(several), *(abs(c) for c in span(changes["oscillations"][0])), max(errors)),
    )
    least = {
        ridge: min(min(run["middle"]) for name in spikes for run in d[name][ridge])
        for ridge in ("auto", "0")
    }
    text = (
        "At least {:.0f} % of the energy of each of the first three components of spikes is in the "
    )
    text += "middle half of the window, where it is as little as {:.0f} % without"
    yield page, text, 100 * least["auto"], 100 * least["0"]
    costs, _ = changes["spikes-outlier, codes with the ridge"]
    yield (
        page,
        "With codes under the ridge, spikes would cost {:.0f} to {:.0f} % more",
        *span(costs),
    )


def _ridge_change(found):
    """Changes of the held-out error in percent beside no ridge, for each k, and standard errors."""
    plain = np.array([run["resmse"] for run in found["0"]])
    (other,) = set(found) - {"0"}
    left = np.array([run["resmse"] for run in found[other]])
    change = 100 * (left.mean(axis=0) / plain.mean(axis=0) - 1)
    error = 100 * (left - plain).std(axis=0, ddof=1) / len(left) ** 0.5 / plain.mean(axis=0)
    return change.tolist(), error.tolist()


@of("bench_gaps.json")
def _(d):
    page = "docs/guide.md"
    least = {
        weight: {
            noise: min(run["ratio"] for run in runs if run["noise"] == noise)
            for noise in {run["noise"] for run in runs}
        }
        for weight, runs in d["weights"].items()
    }
    quiet, loud = sorted(least["0.02"])
    yield (
        page,
        "fits explain at least {:.3f} of what the true components explain from the same gaps if "
        "the noise has 0.3 of the standard deviation of the signal, and {:.2f} if it has all of it "
        "and 60 % are hidden. With 0.05 and 0.1, and an earlier solver, {:.3f} and {:.3f} were "
        "reached in little noise. No reconstruction had more than {:.2f} times the energy of "
        "the largest row.",
        *(least["0.02"][quiet], least["0.02"][loud], least["0.05"][quiet], least["0.1"][quiet]),
        max(run["largest"] for run in d["weights"]["0.02"]),
    )
    ratios = [
        span([run["ratio"] for name, run in d["passes"].items() if name.endswith(f", {k}")])
        for k in (1, 3, 20)
    ]
    yield (
        page,
        "A pass costs {:.1f} to {:.1f} times as much with separate poses, {:.1f} to {:.1f} times "
        "as much for a shared block of three, and {:.0f} to {:.0f} times as much for one of twenty",
        *np.ravel(ratios),
    )


@of("bench_impute.json")
def _(d):
    for data in dict.fromkeys(row["data"] for row in d["rows"]):
        for kind in ("random", "block"):
            runs = [r["errors"] for r in d["rows"] if (r["data"], r["kind"]) == (data, kind)]
            means = [f"{np.mean([run[name] for run in runs]):.3f}" for name in runs[0]]
            shown = [f"**{mean}**" if mean == min(means) else mean for mean in means]
            fields = " | ".join(["{}"] * len(shown))
            yield "docs/guide.md", f"| {data} | {kind} | {fields} |", *shown


KIND_SETS = ("beats", "ArrowHead", "OSULeaf", "Trace")
GROUPED = {
    "mixture": "`MixtureGTPCA`",
    "scores": "k-means on scores of GT-PCA",
    "fft": "k-means on \\|FFT\\|",
    "aligned": "k-means on aligned samples",
    "kshape": "k-Shape of tslearn",
    "kshape circular": "k-Shape, circular",
    "kasba": "KASBA of aeon",
}


def means_of(figures):
    """The mean of every method."""
    return {name: told["mean"] for name, told in figures.items() if isinstance(told, dict)}


def tuned(figures, method):
    """The figure of a method; of one with settings, such as "dtw 0.2", the best; None: unknown."""
    if method in figures:
        return figures[method]
    every = [value for name, value in figures.items() if re.fullmatch(rf"{method} [\d.]+", name)]
    return max(every, default=None)


@of("kinds of samples")
def _(_):
    planted, real = (
        json.loads((ROOT / "benchmarks" / f"{name}.json").read_text("utf-8"))
        for name in ("bench_kinds", "bench_kinds_real")
    )
    cells = [means_of(cell) for cell in planted["figures"].values()]
    for method, title in GROUPED.items():
        means = np.mean([tuned(cell, method) for cell in cells])
        found = [means, *(tuned(means_of(real[name]), method) for name in KIND_SETS)]
        columns = "".join(" |" if value is None else " {:.2f} |" for value in found)
        text = f"| {title} |{columns}"
        yield "docs/comparison.md", text, *(value for value in found if value is not None)


@of("bench_kinds.json")
def _(d):
    page = "docs/howto/which-pattern.md"
    for name, cell in d["figures"].items():
        found = [tuned(means_of(cell), method) for method in (*GROUPED, "truth")]
        yield page, f"| {name} | {' | '.join(['{:.2f}'] * len(found))} |", *found
    yield page, "{:.2f} times as much for four", d["cost"]["ratio"]
    text = "took {:.0f} seconds of processor time, {} passes"
    yield page, text, d["cost"]["fit_processor"], d["cost"]["fit_passes"]
    means = {m: [cell[m]["mean"] for cell in d["figures"].values()] for m in d["figures"][name]}
    text = "an index of {:.2f} to {:.2f} by padded, and {:.2f} to {:.2f} by circular"
    yield page, text, *span(means["sbd"]), *span(means["circular"])
    vary = [name for name in d["figures"] if "0.35" in name]
    known, best = ([d["figures"][n][m]["mean"] for n in vary] for m in ("circular", "truth"))
    yield (
        page,
        "it has {:.2f} to {:.2f} where the true\n  density has {:.2f} to {:.2f}",
        *span(known),
        *span(best),
    )
    first = next(iter(d["figures"].values()))
    text = "EM that starts at the true density ends with {:.2f}, where the search ends with {:.2f}"
    yield page, text, first["started"]["mean"], first["mixture"]["mean"]
    below = np.subtract(*(first[method]["draws"] for method in ("truth", "mixture")))
    error = below.std(ddof=1) / np.sqrt(len(below))
    yield page, "to the truth, {:.3f} ± {:.3f}, is lost", below.mean(), error
    least = min(
        (each["kshape circular"] for each in d["above"].values()), key=lambda one: one["mean"]
    )
    yield page, "in all five, by {:.2f} ± {:.2f} at least", least["mean"], least["error"]
    text = (
        "{:.2f} to {:.2f}, k-Shape {:.2f} to {:.2f} with circular shifts, {:.2f} to {:.2f} as it is"
    )
    spans = [v for m in ("mixture", "kshape circular", "kshape") for v in span(means[m])]
    yield "README.md", text, *spans
    yield "docs/comparison.md", text, *spans


@of("bench_artefacts.json")
def _(d):
    page = "docs/howto/artefacts.md"
    cases = {'none (`"both"`)': ("none", "both")}
    for kind in ("rows", "values"):
        for share in (0.01, 0.05, 0.2):
            cases[f"{100 * share:.0f} % bad {kind}"] = (f"{share:g} of {kind}", kind)
    for name, (case, way) in cases.items():
        found = [d[f"{pose}, {case}"] for pose in ("separate", "shared")]
        counts = [one[w]["at_least"]["0.95"] for one in found for w in ("None", way)]
        yield page, f"| {name} | {{}} | {{}} | {{}} | {{}} |", *counts


@of("bench_kind_choice.json")
def _(d):
    page = "docs/howto/which-pattern.md"
    yield page, "both numbers are right in {} of {} draws", d["right_chosen"], d["of"]


@of("bench_kinds_real.json")
def _(d):
    page, order = "docs/howto/which-pattern.md", ("mixture", "scores", "fft", "aligned", "kshape")
    for name in KIND_SETS:
        text = f"| {name}, {{}} kinds | {' | '.join(['{:.2f}'] * len(order))} |"
        yield page, text, d[name]["kinds"], *(d[name][way]["mean"] for way in order)
    yield page, "fits to ArrowHead have {:.2f} to {:.2f}", *span(d["ArrowHead"]["mixture"]["draws"])
    others = [d["ArrowHead"][f"mixture {count}"]["mean"] for count in (0, 1)]
    yield page, "With no component and with one, ArrowHead has {:.2f} and {:.2f}.", *others


@of("bench_classes.json")
def _(d):
    page, order = "docs/howto/which-pattern.md", ("likelihood", "share", "nearest", "scores", "fft")
    for name, cell in d.items():
        means = [cell[method]["mean"] for method in order]
        yield page, f"| {name} | {' | '.join(['{:.2f}'] * len(means))} |", *means
    found = (cell["as found"]["mean"] for cell in d.values())
    yield page, "likelihood has {:.2f} and {:.2f}.", *found
    for other, text in (
        ("nearest", "above the nearest sample by {:.3f} ± {:.3f} and {:.3f} ± {:.3f} in the same"),
        ("scores", "above the machine on\nscores by {:.2f} ± {:.2f} and {:.2f} ± {:.2f}."),
    ):
        above = [
            np.subtract(*(one[way]["draws"] for way in ("likelihood", other))) for one in d.values()
        ]
        errors = [each.std(ddof=1) / np.sqrt(len(each)) for each in above]
        pairs = zip(above, errors, strict=True)
        yield page, text, *(value for each, error in pairs for value in (each.mean(), error))


@of("bench_aligned.json")
def _(d):
    page, order = "docs/howto/classifier.md", ("aligned", "scores", "nearest", "fft")
    for name, cell in d.items():
        means = [cell[method]["mean"] for method in order if method in cell]
        blank = " |" * (len(order) - len(means))
        yield page, f"| {name} | {' | '.join(['{:.2f}'] * len(means))} |{blank}", *means
    errors = [one["error"] for cell in d.values() for one in cell.values()]
    yield page, "draws, standard errors up to {:.2f}", max(errors)


@of("bench_known_poses.json")
def _(d):
    page, least = "docs/howto/stimulus-response.md", []
    order = ("together", "whitened", "regression", "separate", "averages", "free")
    for name, case in d.items():
        if name == "third":
            continue
        means = [value for method in order for value in case[method]["mean"]]
        cells = " | ".join(["{:.2f}, {:.2f}"] * len(order))
        yield page, f"| {name}, {{:.0f}} % | {cells} |", 100 * case["overlap"], *means
        least += case["together"]["least"] if name.endswith("noise 1") else []
    above = math.floor(100 * min(least)) / 100
    yield page, "with a likeness of more than {:.2f} in every draw", above
    free, known = (d["third"][name]["mean"] for name in ("free", "known"))
    text = "raise the likeness of the third from {:.2f} to {:.2f}"
    yield page, text, free[2], known[2]
    text = "of its latencies with the true ones from {:.2f} to {:.2f}."
    yield page, text, free[3], known[3]


REGISTERED = {
    "gtpca 1": "| GT-PCA, one component |",
    "gtpca 4": "| GT-PCA, four in one pose |",
    "phase": "| phase correlation (scikit-image) |",
    "pystackreg": "| pystackreg |",
}


@of("bench_pose_peers.json")
def _(d):
    columns = [
        ("moved, noise 0.1", "pixels", "{:.2f} ± {:.2f}"),
        ("moved, noise 1", "pixels", "{:.2f} ± {:.2f}"),
        ("turned, noise 0.1", "degrees", "{:.1f} ± {:.1f}"),
        ("turned, noise 0.1", "pixels", "{:.2f} ± {:.2f}"),
        ("turned, noise 1", "degrees", "{:.1f} ± {:.1f}"),
        ("turned, noise 1", "pixels", "{:.2f} ± {:.2f}"),
    ]
    for name, text in REGISTERED.items():
        values = []
        for case, measure, _form in columns:
            found = np.array([row[f"{measure} {name}"] for row in d[case].values()])
            values += [found.mean(), found.std(ddof=1) / np.sqrt(len(found))]
        seconds = np.mean([row[f"seconds {name}"] for row in d["turned, noise 1"].values()])
        line = " | ".join(form for *_, form in columns)
        yield "docs/comparison.md", f"{text} {line} | {{:.1f}} |", *values, seconds


@of("bench_peers.json")
def _(d):
    page, shape = "docs/comparison.md", d["kshape"]
    yield page, "| average of the series | {:.3f} |", shape["mean"]["likeness"]
    yield page, "| DBA (tslearn) | {:.3f} | | {:.1f} |", *shape["DBA"].values()
    yield page, "| k-Shape (tslearn) | {:.3f} | {:.2f} | {:.1f} |", *shape["k-Shape"].values()
    text = "| GT-PCA, `Shift(44)` | {:.3f} | {:.2f} | {:.1f} | k-Shape finds"
    yield page, text, *shape["GT-PCA"].values()
    ratios = []
    for count in (4, 8, 16):
        names = f"steerable, {count} numbers", f"GT-PCA, {count} numbers"
        theirs, ours = (d["steerable"][name] for name in names)
        ratios.append(ours["seconds"] / theirs["seconds"])
        text = f"| {count} | {{:.3f}} | {{:.2f}} | {{:.3f}} | {{:.1f}} |"
        yield page, text, *theirs.values(), *ours.values()
    yield page, "Steerable PCA is exact, {:.0f} to {:.0f} times as fast", *span(ratios)
    warp = "GT-PCA, `TimeWarp` with 21 strengths"
    for who, title, digits in (("elastic", "elastic (fdasrsf)", 1), ("GT-PCA", warp, 2)):
        one, free = (d["elastic"][f"{who}, {kind}"] for kind in ("one parameter", "free"))
        text = f"| {title} | {{:.3f}} | {{:.{digits}f}} | {{:.3f}} | {{:.{digits}f}} |"
        yield page, text, *one.values(), *free.values()
    atom = "alphacsc, one atom, `reg=1`, 20 iterations"
    for who, title, digits in (("dictionary", atom, 1), ("GT-PCA", "GT-PCA, `Shift(44)`", 2)):
        one, three = (d["dictionary"][f"{who}, {count} events"] for count in (1, 3))
        text = f"| {title} | {{:.3f}} | {{:.{digits}f}} | {{:.3f}} | {{:.{digits}f}} |"
        yield page, text, *one.values(), *three.values()


@of("bench_warps.json")
def _(d):
    page, noises = "docs/howto/own-timing.md", ("0.02", "0.1", "0.3")

    def left(name):
        found = d["curves"][name]
        kinds = (found[kind]["left"]["mean"] for kind in ("one parameter", "free"))
        return *kinds, found["seconds"]

    def wrong(name):
        return [d["clean"][name][noise]["mean"] for noise in noises]

    errors = " {:.3f} | {:.3f} | {:.3f} |"
    text = "| `FreeWarp()` | {:.3f} | {:.3f} | {:.2f} |" + errors
    yield page, text, *left("FreeWarp"), *wrong("FreeWarp")
    few = "FreeWarp(weights=14)"
    yield page, f"| `{few}` | | | |{errors}", *wrong(few)
    yield page, "| `TimeWarp`, 21 strengths | {:.3f} | {:.3f} | {:.2f} |", *left("TimeWarp")
    text = "| elastic (fdasrsf) | {:.3f} | {:.3f} | {:.1f} |" + errors
    yield page, text, *left("fdasrsf"), *wrong("fdasrsf")
    noise = [d["noise"][kind]["suggested"] for kind in ("white", "AR(.9)")]
    yield page, "it suggested one in {:d} and {:d}.", *noise
    yield from _real_curves(d, page)
    yield from _bent_curves(d, "docs/comparison.md")


JUDGED = {
    "FreeWarp, chosen": "`FreeWarp`, chosen",
    "FreeWarp(5)": "`FreeWarp(5)`",
    "fdasrsf": "elastic (fdasrsf)",
    "fdasrsf, chosen": "elastic, chosen",
    "no warp": "two components, no warp",
}


def _real_curves(d, page):
    """Errors at hidden points of real curves, and neurons between two presses."""
    real = d["real"]
    for name, title in JUDGED.items():
        values = [real[data][name] for data in ("growth", "gait", "pinch")]
        values = [100 * value[key] for value in values for key in ("mean", "error")]
        yield page, f"| {title} |" + " {:.2f} ± {:.2f} |" * 3, *values
    both = [100 * real["gait"][f"{name}, channels together"]["mean"] for name in list(JUDGED)[::4]]
    yield page, "the error of gait is {:.2f} (no warp: {:.2f})", *both
    told = []
    for name in ("FreeWarp, one start", "FreeWarp", "affinewarp"):
        found = d["neurons"][name]
        told += [*(found["correlation"][key] for key in ("mean", "error")), found["seconds"]]
    text = "between the presses by {:.3f} ± {:.3f}, in {:.1f} s, and by {:.3f} ± {:.3f}, in "
    text += "{:.1f} s, with all starts; that of affinewarp's linear warps by {:.3f} ± {:.3f}, "
    text += "in {:.0f} s."
    yield page, text, *told


BENT = {
    "FreeWarp": "`FreeWarp()`",
    "TimeWarp": "`TimeWarp`, 21 strengths",
    "fdasrsf": "fdasrsf",
    "scikit-fda": "scikit-fda",
    "fdars": "fdars",
    "affinewarp": "affinewarp",
    "DTW barycentre": "DTW barycentre (tslearn)",
    "soft-DTW barycentre": "soft-DTW barycentre (tslearn)",
}


def _bent_curves(d, page):
    """Aligned curves of all packages, by all measures."""
    text = "of fdasrsf leaves {:.3f}, that of scikit-fda {:.3f} and that of fdars {:.3f}, "
    text += "beside {:.3f}"
    names = ("fdasrsf", "scikit-fda", "fdars", "FreeWarp")
    yield page, text, *(min(d["tune"][name]["tried"]) for name in names)
    true = [d["even"][kind][key] for kind in ("one parameter", "free") for key in ("mean", "error")]
    yield page, "| the true warps | {:.3f} ± {:.3f} | {:.3f} ± {:.3f} | |", *true
    for name, title in BENT.items():
        if name not in d["curves"]:
            continue
        found = d["curves"][name]
        lefts = [found[kind]["left"] for kind in ("one parameter", "free")]
        values = [value[key] for value in lefts for key in ("mean", "error")]
        text = f"| {title} | {{:.3f}} ± {{:.3f}} | {{:.3f}} ± {{:.3f}} | {{:.2f}} |"
        yield page, text, *values, found["seconds"]
        measures = ("least squares", "Sobolev", "correlation", "template", "DTW")
        values = [found["free"][name]["mean"] for name in measures]
        yield page, f"| {title} |" + " {:.3f} |" * 5, *values


RECORDED = {
    "noise .1": "noise 0.1",
    "noise .25": "noise 0.25",
    "noise .4": "noise 0.4",
    "sizes 1, .6, .4": "noise 0.15, sizes 1, 0.6, 0.4",
    "AR(.9) noise .25": 'AR(0.9) noise 0.25, `noise="stationary"`',
}


COUNTED = {
    "white": "white noise",
    "AR": "AR(0.9) noise",
    "1/f": "1/f noise",
    "Laplace": "Laplace noise",
    "t(3)": "t(3) noise",
    "300": "300 events in noise 0.25",
    "30": "30 events in noise 0.25",
    "8": "8 events in noise 0.25",
}


@of("bench_events.json")
def _(d):
    page = "docs/comparison.md"
    bench = runpy.run_path(str(ROOT / "benchmarks" / "bench_events.py"))
    means, beside = bench["summary"](d), bench["beside_alphacsc"](d)
    for case, title in RECORDED.items():
        found = means[f"planted/{case}/F1"]
        values = [found[name][0] for name in ("precision", "recall", "likeness", "seconds")]
        yield page, f"| {title} | {{:.3f}} | {{:.3f}} | {{:.3f}} | {{:.1f}} |\n", *values
    for case, told in beside.items():
        title = RECORDED[case] + (", `false_alarms=10`" if case == "noise .4" else "")
        numbers = "{:.0f} | {:.3f} | {:.1f} | {:.3f} | {:.3f} ± {:.3f} | {:.1f} | {:.1f}"
        text = f"| {title}; draws: {numbers} |"
        names = ("draws", "F", "seconds", "alphacsc F", "difference", "error")
        names += ("penalty", "alphacsc seconds")
        yield page, text, *(told[name] for name in names)
    spans = [span([one[name] for one in beside.values()]) for name in ("F", "alphacsc F")]
    text = "has F {:.2f} to {:.2f}, alphacsc {:.2f} to {:.2f} at the best of three"
    yield "README.md", text, *sum(spans, ())
    text = "beside the best of the nine in each single draw, F of `EventGTPCA` is {:.3f} higher"
    yield page, text, min(one["least"] for one in beside.values())
    text = "penalties (at least {:.0f} draws of each of five cases)"
    yield "README.md", text, min(one["draws"] for one in beside.values())
    page, (few, many) = "docs/howto/templates.md", (d[f"long/{n}"] for n in (10**5, 10**7))
    text = (
        "with $10^7$ points took {:.0f} seconds to fit and {:.1f} to encode, and {:.0f} MB in all"
    )
    yield page, text, many["fit"], many["encode"], many["MB"]
    yield page, "one with $10^5$ points {:.1f} and {:.1f} seconds", few["fit"], few["encode"]
    some = d[f"long/{10**6}"]
    further = [(many[task] - some[task]) / 9 for task in ("fit", "encode")]
    yield page, "a further million points takes {:.1f} and {:.1f} seconds", *further
    for name, title in COUNTED.items():
        rows = [d[f"fresh/{name}/{seed}"] for seed in range(20, 40)]
        found = [np.mean([row[way] for row in rows]) for way in ("fitted", "cross", "surrogate")]
        text = f"| {title} | {{:.1f}} | {{:.1f}} | {{:.1f}} | {{}} of 20 |"
        yield page, text, *found, sum(row["above"] for row in rows)
    beats = {
        "100, one template": d["beats/100/own"],
        "119, two templates in one pose": d["beats/119/shared"],
        "119, two templates with events of their own": d["beats/119/own"],
    }
    for title, row in beats.items():
        text = f"| {title} | {{:.3f}} | {{:.3f}} | {{:.0f}} points |"
        yield page, text, row["recall"], row["precision"], row["jitter"]
    text = "In the last row {:.2f} and {:.2f} of the events"
    yield page, text, *sorted(d["beats/119/own"]["purity"])
    times = span([row["times"] for row in beats.values()])
    yield page, "takes {:.0f} to {:.0f} times as long as one FFT", *times
    online = means["online"]
    text = "templates is {:.3f} after the first of ten parts of 6,000 points, and {:.3f} after all"
    yield "docs/howto/real-time.md", text, online["first likeness"][0], online["likeness"][0]
    whole = means["planted/noise .25/F1"]["likeness"][0]
    yield "docs/howto/real-time.md", "a fit of the whole recording has {:.3f}", whole


@of("bench_cluster.json")
def _(d):
    page = "docs/howto/cluster.md"
    by_case = {(int(run["rows"]), int(run["workers"])): run for run in d["runs"]}
    for rows in (10**4, 10**5, 10**6):
        one, two = by_case[rows, 1], by_case[rows, 2]
        values = one["processor"], two["processor"], one["model_processor"]
        yield page, f"| {rows:,} | {{:.2f}} | {{:.2f}} | {{:.2f}} |", *values
    largest = [by_case[10**6, workers]["seconds"] for workers in (1, 2)]
    text = "two workers took {:.2f} of the time of one with $10^6$ rows"
    yield page, text, largest[1] / largest[0]
    cases = "`Shift(400)`, two workers", "`Rotation(36)`, one worker"
    checks = d["checks"]["runs"]
    for title, run in zip(cases, checks, strict=True):
        names = ("model_processor", "processor", "model_seconds", "seconds")
        text = f"{title} | {{:.2f}} | {{:.2f}} | {{:.1f}} | {{:.1f}} |"
        yield page, text, *(run[name] for name in names)
    above = [100 * (run["processor"] / run["model_processor"] - 1) for run in checks]
    yield page, "Processor seconds are {:.0f} and {:.0f} % above the formula.", *above


@of("bench_large.json")
def _(d):
    page = "docs/howto/cluster.md"
    yield page, "and {:.2f} of that of a single process for 2 GB of longer rows", d["dask"]["ratio"]
    few, many = d["dask"], d["zarr"]
    each = (many["overhead_seconds_per_pass"] - few["overhead_seconds_per_pass"]) / (
        many["chunks"] - few["chunks"]
    )
    fixed = few["overhead_seconds_per_pass"] - few["chunks"] * each
    text = "what the scheduler needs for a pass: {:.2f} s and {:.1f} ms per chunk ({} and {} chunks"
    yield page, text, fixed, 1000 * each, few["chunks"], many["chunks"]
    kept = [case["recomputed"] for case in d["components"].values() if isinstance(case, dict)]
    yield page, "residual not kept | up to {:.1f} times that at $k = 20$", max(kept)
    text = "A fit of 4 GB took {:.0f} MB in [the benchmark]"
    yield "docs/howto/larger-than-memory.md", text, d["memory"]["4 GB"]["megabytes"]


@of("the formula of a pass")
def _(_):
    page = "docs/howto/cluster.md"
    code = re.search(r"\ndef seconds_per_pass.*?\n\n", (ROOT / page).read_text(), re.DOTALL)[0]
    names = {"np": np}
    exec(code, names)
    n, d, workers = 10**9, 1024, 100
    seconds, chunks = names["seconds_per_pass"], n * 4 * d / 1e9
    fixed = seconds(0, d, fft=d, n_chunks=chunks)
    compute = seconds(n, d, fft=d, workers=workers, n_chunks=0) - seconds(0, d, fft=d, n_chunks=0)
    hours = []
    for title, bandwidth in (
        (f"in the memory of the workers ({4 * d * n / workers / 1e9:.0f} GB each)", np.inf),
        ("on a local disk of each worker, 2 GB/s", 2e9),
        ("in an object store, 100 MB/s for each worker", 1e8),
    ):
        read = n / workers * 4 * d / bandwidth
        total = compute + read + fixed
        hours.append(200 * total / 3600)
        text = f"| {title} | {{:.0f}} s | {{:.0f}} s | {{:.0f}} s | {{:.1f}} min |"
        yield page, text, compute, read, fixed, total / 60
    text = "Twenty passes for each of ten components are {:.0f} to {:.0f} hours."
    yield page, text, hours[0], hours[-1]


@of("bench_speed.json")
def _(d):
    page, cases = "docs/speed.md", d["cases"]
    one = {name: case["threads"]["1"] for name, case in cases.items() if "threads" in case}
    faster = {name: runs["base"]["seconds"] / runs["new"]["seconds"] for name, runs in one.items()}
    verdicts = [case.get("quality", {}).get("verdict", {}) for case in cases.values()]
    full = [v for v in verdicts if v.get("seeds", 0) >= 20]
    ends = [(v["mean_ratio"][-1], v["standard_error"][-1]) for v in full]
    good = sum(mean + 2 * error <= BAR for mean, error in ends)
    worse = sum(mean - 2 * error > BAR for mean, error in ends)
    equal = sum(ndtr(2 - (BAR - 1) / error) for _, error in ends)
    yield page, "It holds in {} of {} cases", good, len(ends)
    yield page, "an exactly equal solver would be expected to miss it in {:.1f} of them", equal
    yield page, "In {} cases is the mean more than two standard errors above 1.01", worse
    yield page, "the mean of all ratios is {:.3f}", np.mean([mean for mean, _ in ends])
    text = "time warps and scalings ({:.1f} and {:.1f} instead of 5)."
    yield page, text, faster["timewarp"], faster["scaling"]
    yield page, "within the differences of runs ({:.1f}):", faster["circular-shared"]
    gains = [
        one[name]["new"]["seconds"] / cases[name]["threads"]["all"]["new"]["seconds"]
        for name in ("digits-shifted", "digits-rotated")
    ]
    text = "60,000 shifted digits {:.2f} times as fast, and that of rotated ones {:.2f} times,"
    yield page, text, *gains
    text = (
        "`import gtpca` takes {:.2f} times as long as `import sklearn.decomposition`, with `GTPCA` "
    )
    text += "{:.2f} times, and `gtpca fit` of a table of 300 x 256 {:.2f} times."
    yield page, text, *(d["first_use"]["ratio"][f"{n} new"] for n in FIRST_USE)


FIRST_USE = ("import", "estimator", "command")
BAR = 1.01  # of ratios of held-out residuals


@of("bench_diagnostics.json")
def _(d):
    page = "docs/diagnostics.md"
    for noise in dict.fromkeys(line["noise"] for line in d["level"]):
        text = f'| {noise} | `"gaussian"` | {{}} of {{}} ({{:.1f}} %) |'
        yield page, text, *_called(d["level"], noise=noise)
    for noise in dict.fromkeys(line["noise"] for line in d["noise"]):
        yield page, f"| {noise} | {{}} of {{}} |", *_called(d["noise"], noise=noise)[:2]
    yield from _beyond_the_first(d, page)
    for which, noise in dict.fromkeys((line["which"], line["noise"]) for line in d["others"]):
        found = _called(d["others"], which=which, noise=noise)[:2]
        yield page, f"| {noise}, {which} | {{}} of {{}} |", *found
    for noise in dict.fromkeys(line["noise"] for line in d["again"]):
        text = f"{noise[0].upper() + noise[1:]} once more, in new sets: {{}} of {{}}."
        yield page, text, *_called(d["again"], noise=noise)[:2]
    mean = 100 * np.mean([line["real"] for line in d["noise"]])
    yield page, "In the mean {:.1f} % of {:,} sets.", mean, len(d["noise"])
    for noise, kind in dict.fromkeys((line["noise"], line["surrogate"]) for line in d["kinds"]):
        text = f'| {noise} | `"{kind}"` | {{}} of {{}} ({{:.1f}} %) |'
        yield page, text, *_called(d["kinds"], noise=noise, surrogate=kind)
    second = [line | {"real": int(line["real"] > 1)} for line in d["second"]]
    own, one = (_called(second, **{"one pose": shared})[:2] for shared in (False, True))
    text = "Gaussian surrogates call a second component real in {} of {} data sets with poses of "
    yield page, text + "their own, and in {} of {} in one pose.", *own, *one
    for norm in sorted({line["norm"] for line in d["power"]}):
        yield page, f"{norm}: {{}} of {{}}", *_called(d["power"], norm=norm)[:2]
    yield page, "without a pattern {} of {}.", *_called(d["level"], noise="white noise")[:2]
    for line in d["cost"]:
        text = f"| {line['case']} | {line['components']} | {{:.0f}} ms | {{:.0f}} |"
        yield page, text, 1000 * line["fit"], line["fits"]
    yield from _choices(d["choose"], page)
    yield from _eeg_floor(d["eeg"], page)


def _called(lines, **how):
    """How many data sets are called real, of how many, and the share in percent."""
    real = [line["real"] for line in lines if all(line[key] == how[key] for key in how)]
    return sum(real), len(real), 100 * np.mean(real)


def _beyond_the_first(d, page):
    """Second components, patterns that are found, and doubts of densities."""
    lines = [line | {"real": int(line["real"] > 1)} for line in d["beside"]]
    for noise, norm in dict.fromkeys((line["noise"], line["norm"]) for line in lines):
        how = {"noise": noise, "norm": norm}
        own, one = (_called(lines, **how, **{"one pose": shared})[:2] for shared in (False, True))
        yield page, f"| {noise} | {norm} | {{}} of {{}} | {{}} of {{}} |", *own, *one
    for noise, norm in dict.fromkeys((line["noise"], line["norm"]) for line in d["found"]):
        lines = [line for line in d["found"] if (line["noise"], line["norm"]) == (noise, norm)]
        kinds = [k for k in ("innovations", "gaussian") if any(k == x["surrogate"] for x in lines)]
        counts = [_called(lines, surrogate=kind)[:2] for kind in kinds]
        cells = " | ".join(["{} of {}"] * len(kinds) + [""] * (2 - len(kinds)))
        yield page, f"| {noise} | {norm} | {cells} |", *(n for pair in counts for n in pair)
    doubts = [line | {"real": line["doubt"]} for line in d["doubt"]]
    for noise, norm in dict.fromkeys((line["noise"], line["norm"]) for line in doubts):
        found = _called(doubts, noise=noise, norm=norm)[:2]
        pattern = f"norm {norm}" if norm else "no pattern"
        yield page, f"| {noise}, {pattern} | {{}} of {{}} |", *found


def _choices(lines, page):
    for count, size, first in product((1, 3), (24, 60, 140), (0, 200)):
        seeds = range(first, first + 10)
        cases = [line for line in lines if (line["count"], line["size"]) == (count, size)]
        cases = [line for line in cases if line["seed"] in seeds]
        windows = span([line["window"] for line in cases])
        right = sum(line["holds"] >= 0.95 and line["ratio"] <= 1.6 for line in cases)
        number = sum(line["components"] == count for line in cases)
        text = f"| {count} | {size} | {first} to {seeds[-1]} | {{}} to {{}} "
        text += "| {} of {} | {} of {} |"
        yield page, text, *windows, right, len(cases), number, len(cases)


def _eeg_floor(lines, page):
    names = ("channel", "added", "surrogate")
    one = {tuple(line[name] for name in names): line for line in lines}
    own, plain, mixed = (one["PZ", 0, kind] for kind in ("innovations", "gaussian", "mixed"))
    yield (
        page,
        "first explains {:.0f} %, and the bar is {:.0f} % (the default), {:.0f} % "
        '(`"gaussian"`) or {:.0f} % (`"mixed"`)',
        *(100 * value for value in (plain["gain"], own["bar"], plain["bar"], mixed["bar"])),
    )
    full = [_called(lines, surrogate=kind, added=1)[:2] for kind in ("gaussian", "mixed")]
    half = _called(lines, surrogate="gaussian", added=0.5)[:2]
    text = 'is found in {} of {} draws (`"mixed"`: {}), with half of it in {} of {}.'
    yield page, text, *full[0], full[1][0], *half


SHAPES = {
    "oscillations": "| oscillations | 10 | {:.2f} | {:.1f} |",
    "3 rows of 10^6 points": "Shift(1000) | 1 | {:.2f} | {:.1f} |",
    "k = 100": "Shift(100) | 100 | {:.2f} | {:.1f} |",
    "k = 200": "Shift(50) | 200 | {:.2f} | {:.1f} |",
    "64 channels": "Shift(500) | 2 | {:.2f} | {:.1f} |",
    "circles of 509 points, a prime": "a prime | 2 | {:.2f} | {:.1f} |",
    "circles of 512 points": "512 points | 2 | {:.2f} | {:.1f} |",
    "10^6 transforms": "| 5 images of 1,100 x 1,100, Shift((100, 100)) | 1 | {:.2f} | {:.1f} |",
    "10^6 rows of 4 points": "Shift(2) | 1 | {:.2f} | {:.1f} |",
}


LASTING = {  # cases of bench_how_long.py, as docs/howto/how-long.md calls them
    "shifts": "| 256 points | shifts |",
    "shifts, one pose": "| | the same, in one pose |",
    "shifts, density": "| | the same, `ProbabilisticGTPCA` |",
    "circular shifts": "| 128 points | circular shifts |",
    "time warps": "| | 3 time warps |",
    "scalings": "| | 11 scalings |",
    "rotations": "| 28 x 28 | 24 rotations |",
    "rotations, refined": "| | the same, `refine_poses=True` |",
    "shifts of images": "| 32 x 32 | shifts of 20 x 20 |",
    "shifts and rotations": "| 24 x 24 | shifts of 20 x 20, 8 rotations |",
}


@of("bench_how_long.json")
def _(d):
    page = "docs/howto/how-long.md"
    shares = {name: [row["share"] for row in d[name].values()] for name in LASTING}
    for name, text in LASTING.items():
        each = np.mean([row["microseconds"] for row in d[name].values()])
        found = np.mean(shares[name]), max(shares[name]), each
        yield page, text + " {:.2f} | {:.2f} | {:.0f} us |", *found
    yield page, "It was {:.2f} at most.", max(map(max, shares.values()))


@of("bench_shapes.json")
def _(d):
    page = "docs/speed.md"
    for name, text in SHAPES.items():
        yield page, text, d[name]["seconds"], d[name]["over_bare"]
    text = "60 points takes {:.1f} times as long as with"
    yield page, text, d["dask"]["over_synchronous"]


@of("bench_encoder.json")
def _(d):
    page, (one, three) = (
        "docs/howto/real-time.md",
        (d["encoder"][k]["over_pca"] for k in d["encoder"]),
    )
    yield (
        page,
        "takes {:.2f} times as long with one component and {:.2f} times with three, and "
        "`transform` of one row {:.2f} and {:.2f} times.",
        *(one["encoder"], three["encoder"], one["transform"], three["transform"]),
    )
    cost = [d["stream"][f"us_per_point_and_template, pieces of {n}"] for n in (1, 100, 1000)]
    yield (
        page,
        "costs {:.1f}, {:.2f} and {:.2f} microseconds of a processor per point and template in "
        "pieces of 1, 100 and 1,000 points.",
        *cost,
    )


def others() -> Iterator[str]:
    """Decimals and percentages in the text of pages, outside of code, that no figure covers."""
    covered = {
        (one.page, match.start(group))
        for source in SOURCES
        for one in figures(source)
        for match in one.pattern.finditer(one._read())
        for group in range(1, match.re.groups + 1)
    }
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    pages += sorted((ROOT / "docs" / "howto").glob("*.md"))
    for path in pages:
        page, text = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
        plain = CODE.sub(lambda match: " " * len(match[0]), text)
        for match in DECIMAL.finditer(plain):
            if not any((page, match.start() - bold) in covered for bold in (0, 2)):
                line = text.count("\n", 0, match.start()) + 1
                around = " ".join(text[max(0, match.start() - 40) : match.end() + 20].split())
                yield f"{page}, line {line}: {around}"


CODE = re.compile(
    r"^( *)```.*?^\1```$|<!-- table.*?end of table -->|`[^`\n]+`|\$[^$]+\$|\]\([^)]*\)",
    re.MULTILINE | re.DOTALL,
)
DECIMAL = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d+|\.\d+|\d+ %)")


def main(arguments=None) -> int:
    """List, or write, the figures that are stale."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="*", help="of these sources alone; default: all")
    parser.add_argument("--write", action="store_true", help="write the digits into the pages")
    parser.add_argument("--others", action="store_true", help="list decimals of no source")
    args = parser.parse_args(arguments)
    if args.others:
        print("\n".join(others()))
        return 0
    faults = []
    for source in args.sources or SOURCES:
        try:
            found = figures(source)
        except Exception as error:  # of a benchmark with other names, of data that are missing
            faults.append(f"{source}: cannot be read: {error!r}")
            continue
        for one in found:
            stale = [f"{source}: {fault}" for fault in one.stale()]
            if stale and args.write:
                one.write()
            faults += stale
    print("\n".join(faults) or "all figures hold")
    return bool(faults) and not args.write


if __name__ == "__main__":
    sys.exit(main())

"""Sentences of diagnostics: the quantity, its value, the threshold, and the command to run next."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np
from sklearn.base import clone

from gtpca.families.text import as_family, format_family
from gtpca.views.parts import is_density

__all__ = [
    "Commands",
    "choice",
    "coloured",
    "faint",
    "no_pattern",
    "noise_floor",
    "pose_confidence",
    "stability",
]

CLEAR_STRENGTH = 4.0  # norm of a pattern, in standard deviations of the noise: poses are clear


@dataclass(frozen=True)
class Commands:
    """The commands that follow from a model.

    Parameters
    ----------
    family : str
        As ``--family`` takes it, if that is possible.
    any_window : str
        The same without its window.
    options : tuple of str
        What ``fit`` and ``choose`` have to be told besides.
    fit_only : tuple of str
        What ``fit`` has to be told besides.
    density : bool
        Whether it has a pattern, which is the first of the directions that are counted.
    count : int
        Directions of the model.
    """

    family: str
    any_window: str
    options: tuple[str, ...] = ()
    fit_only: tuple[str, ...] = ()
    density: bool = False
    count: int = 1

    @classmethod
    def of(cls, model) -> Commands:
        """Those of a model, or of an estimator that is not fitted."""
        texts = _text(as_family(model.family)), _text(_without_window(model.family))
        density = is_density(model)
        both = ["--shared-pose"] if not density and model.shared_pose else []
        if model.sample_shape is not None:
            both += ["--sample-shape", "x".join(map(str, np.ravel(model.sample_shape)))]
        fit = ["--probabilistic"] if density else _centring(model)
        if model.polarity != ("positive" if density else "both"):
            fit = ["--polarity", model.polarity, *fit]
        if not isinstance(model.noise, str) or model.noise == "stationary":
            fit = [*fit, "--noise", "stationary"]
        count = getattr(model, "n_components_", 1) + density
        return cls(*texts, tuple(both), tuple(fit), density, count)

    def fit(self, k, data="DATA", output="MODEL") -> str:
        """The command that fits ``k`` directions of the same kind; one may be a pattern."""
        count = max(0, k - self.density)
        words = ["gtpca", "fit", data, "-o", output, "-k", count, "--family", self.family]
        return _typed(*words, *self.options, *self.fit_only)

    def choose(self, data="DATA") -> str:
        """The command that looks for a window and a number of components."""
        return _typed("gtpca", "choose", data, "--family", self.any_window, *self.options)


def _centring(model) -> list[str]:
    """What ``fit`` has to be told of the centring of a GTPCA."""
    if not model.center:
        return []
    return ["--center", "samples" if model.center == "samples" else "features"]


def _typed(*words) -> str:
    """Words as they are typed."""
    return shlex.join(map(str, words))


def _text(family) -> str:
    """A family as ``--family`` takes it, if that is possible."""
    try:
        return format_family(family).removesuffix("()")
    except ValueError:
        return repr(family)


def _without_window(family):
    """The family with no window, if it has one."""
    family = as_family(family)
    return clone(family).set_params(window=None) if hasattr(family, "window") else family


def percent(share) -> str:
    """A share in percent, with three digits."""
    return f"{100 * share:.3g} %"


def no_pattern(doubt, commands, data) -> str:
    """That held-out rows of a density speak against a pattern."""
    after = commands.choose(data)
    return f"{doubt[0].upper()}{doubt[1:]}; try other windows with `{after}`."


def coloured(colour, commands, data, model) -> str:
    """That what a model leaves is not white."""
    after = f"{commands.fit(commands.count, data, _beside(model))} --noise stationary"
    return f"{colour[0].upper()}{colour[1:]}; try `{after}`."


def faint(strength, sentence) -> str:
    """That poses are not to be trusted because a pattern is faint."""
    times = (CLEAR_STRENGTH / max(strength, 0.1)) ** 2
    return (
        f"The pattern is faint: its norm is {strength:.2g} standard deviations of the noise (about "
        f"{CLEAR_STRENGTH:g} are needed for poses of single samples; averages of {times:.2g} "
        "samples in one pose would have it, or as many channels with noise of their own). "
        f"{sentence}"
    )


def noise_floor(found, model, data) -> str:
    """How many components are above noise."""
    k, count = found.n_real, len(found.gains)
    fails = min(k, count - 1)
    tried = int((found.surrogates[fails] == found.surrogates[fails]).sum())
    seen = (
        f"explains {percent(found.gains[fails])} of what is left, and of {tried} surrogates of "
        f"noise the bar is {percent(found.band[fails])} (p = {found.p_values[fails]:.2g}, level "
        f"{found.level:g})"
    )
    if k == count:
        more = found.commands.fit(2 * k, data, _beside(model))
        return f"Component {k}, the last, is above noise: it {seen}; to try more, `{more}`."
    if k == 0:
        after = found.commands.choose(data)
        return f"Component 1 is not above noise: it {seen}; try other windows with `{after}`."
    keep = found.commands.fit(k, data, model)
    return f"Component {k + 1} is not above noise: it {seen}; keep {k} with `{keep}`."


def _beside(model) -> PurePath:
    """A file beside that of a model, which is to be kept."""
    path = PurePath(model)
    return path.with_name(f"{path.stem}-more{path.suffix}")


def pose_confidence(found, model, data, bar) -> str:
    """How many poses are ambiguous, or at the ends of their range."""
    for name, shares in found.ends.items():
        if shares.max() > found.end_bars[name]:
            return _at_ends(found, name, int(shares.argmax()), model, data)
    k = int(found.ambiguous.argmax())
    seen = (
        f"{percent(found.ambiguous[k])} of the samples have another pose of component {k + 1} "
        f"within odds of 19 to 1 (margin below {found.clear:.3g}; bar {percent(bar)})"
    )
    if found.ambiguous[k] > bar:
        after = _typed("gtpca", "transform", model, data, "-o", "poses.csv", "--poses")
        return f"Poses are not all to be trusted: {seen}; look at them with `{after}`."
    after = _typed("gtpca", "report", model, data, "-o", "report.html")
    return f"Poses are clear: {seen}; look at them with `{after}`."


def _at_ends(found, name, k, model, data):
    """Too many poses are at the ends of their range."""
    seen = (
        f"{percent(found.ends[name][k])} of the samples sit at the first or last {name} of "
        f"component {k + 1} (bar {percent(found.end_bars[name])})"
    )
    if name.startswith(("start", "centre")):
        return (
            f"{seen}: the window may be too short, or boundary='partial' is needed; see "
            f"`{found.commands.choose(data)}`."
        )
    after = _typed("gtpca", "plot", "poses", model, data, "-o", "poses.png")
    return f"{seen}: the range may be too narrow; see `{after}`."


def stability(found, model, data) -> str:
    """From which number on components are not found again."""
    k, count = found.n_stable, found.halves.shape[1]
    look = min(k, count - 1)
    halves, seeds = (np.median(v[:, look]) for v in (found.halves, found.seeds))
    seen = (
        f"similarity {halves:.2f} between halves of the rows and {seeds:.2f} between seeds "
        f"(threshold {found.threshold:g})"
    )
    if k == count:
        after = _typed("gtpca", "report", model, data, "-o", "report.html")
        return f"Component {k}, the last, is stable: {seen}; look at all with `{after}`."
    if k == 0:
        after = found.commands.choose(data)
        return f"Component 1 is not stable: {seen}; try other windows with `{after}`."
    keep = found.commands.fit(k, data, model)
    return f"Component {k + 1} is not stable: {seen}; keep {k} with `{keep}`."


def choice(found, model, data) -> str:
    """The window and the number of components that are suggested."""
    k, most = found.n_components, len(found.gains)
    last = min(k, most - 1)
    seen = (
        f"component {last + 1} explains {percent(found.gains[last])} of what is left (noise "
        f"{percent(found.band[last])}, level {found.level:g})"
    )
    fit = Commands.of(found.estimator).fit(max(k, 1), data, model)
    if k == 0:
        return f"No component is above noise: {seen}; to look at one all the same, `{fit}`."
    if k == most:
        seen += f", and {most} were the most to be tried"
    if found.window is None:
        return f"{counted(k)} above noise: {seen}; next `{fit}`."
    error = found.errors.mean(axis=1).min()
    return (
        f"Window {found.window} has the smallest held-out error, {percent(error)} (flat from "
        f"{found.flat[0]} to {found.flat[1]}: within one standard error of the difference), and "
        f"{counted(k)} above noise: {seen}; next `{fit}`."
    )


def counted(k) -> str:
    """So many components, with their verb."""
    return "1 component is" if k == 1 else f"{k} components are"

"""Sentences of diagnostics: the quantity, its value, the threshold, and the command to run next."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import numpy as np
from sklearn.base import clone

from gtpca.data.labels import reading_words
from gtpca.families.text import as_family, format_family
from gtpca.fitting.cautions import MOST_OFFSET
from gtpca.fitting.wording import speak_of_colour
from gtpca.text import file_word, typed
from gtpca.views.parts import is_density, known_labels

__all__ = [
    "CHOOSE_OPTIONS",
    "CLEAR_STRENGTH",
    "Commands",
    "choice",
    "choice_doubts",
    "end_bar",
    "events_beside_noise",
    "faint",
    "fit_options",
    "kinds",
    "new_file",
    "no_pattern",
    "noise_floor",
    "pose_confidence",
    "stability",
    "templates_of_halves",
    "warp_choice",
]

# Options of `gtpca fit` that `gtpca choose` has as well.
CHOOSE_OPTIONS = {
    "shared_pose",
    "sample_shape",
    "missing",
    "center",
    "noise",
    "polarity",
    "ridge",
    "seed",
    "jobs",
}
# Parameters that a command states anyway, and those that do not change the result of a fit.
SAID = {"n_components", "family", "n_restarts", "n_jobs", "random_state"}
COLOUR_FIRST = (
    "fit again with noise='stationary' (--noise stationary) first, since noise that is not white "
    "can hide one"
)
CLEAR_STRENGTH = 4.0  # norm of a pattern, in standard deviations of the noise, for clear poses
MOST_AT_ENDS = 0.1  # share of poses at the ends of their range, or twice that of equal shares
LONGEST = 1000  # longest text of a family that a user would type
NO_MATTER = {"output", "sample_dim", "verbose", "progress", "residual", "horizon", "contamination"}


def fit_options(model) -> dict[str, Any]:
    """The options of ``gtpca fit`` that describe a model, by name.

    None is the default of the option, True a flag. How a file is read is not included, except for
    ``missing``, which is a parameter of a model. Files with samples of noise or with
    templates are not known.
    """
    density, seed = is_density(model), model.random_state
    noise = model.noise if isinstance(model.noise, str) else None
    center = {"samples": "samples", True: "features"}.get(_given(model, "center", False))
    shape = model.sample_shape
    return {
        "shared_pose": _unless(model, "shared_pose", False),
        "sample_shape": None if shape is None else "x".join(map(str, np.ravel(shape))),
        "missing": _unless(model, "missing", "error"),
        "polarity": _unless(model, "polarity", "positive" if density else "both"),
        "center": center,
        "noise": noise if noise in ("stationary", "features") else None,
        "noise_from": None,
        "templates": None,
        "outliers": _unless(model, "outliers", None),
        "ridge": _unless(model, "ridge", "auto"),
        "refine": _unless(model, "refine", 0),
        "probabilistic": True if density else None,
        "seed": int(seed) if isinstance(seed, int | np.integer) and seed else None,
        "restarts": _unless(model, "n_restarts", "auto"),
        "batch_size": model.batch_size,
        "jobs": model.n_jobs,
    }


def _unless(model, name, default):
    """A parameter, or None if it is at its default."""
    value = _given(model, name, default)
    return None if value == default else value


def _given(model, name, default):
    """A parameter; the default if the estimator has none of this name."""
    return model.get_params(deep=False).get(name, default)


def _words(options) -> list[str]:
    """Options as typed."""
    given = {name.replace("_", "-"): v for name, v in options.items() if v is not None}
    return [w for n, v in given.items() for w in ([f"--{n}"] if v is True else [f"--{n}", str(v)])]


GAPS = (
    "Samples have gaps: their poses were not compared with the next best ones, which needs all "
    "values; fill them with `impute` to see how clear poses are."
)


OWN_POSES = (
    "Poses were not compared with the next best ones: this family has no list of transforms; "
    "`choose_warp(X)`, or `gtpca choose` with this family, tells whether warps are supported."
)


NOT_REPEATED = (
    "Whether halves of the samples have the same components was not tested: "
    "`gtpca.diagnostics.check(model, X)`, or `gtpca check`, does so."
)


@dataclass(frozen=True)
class Commands:
    """The commands that follow from a model, and from the files that it and its samples are in.

    Parameters
    ----------
    family : str
        In the form of ``--family``.
    any_window : str or None
        The same without its window; None if it has none.
    options : dict
        Further options of ``fit``, see :func:`fit_options`.
    density : bool
        Whether it has a pattern, which is the first of the directions that are counted.
    changed : tuple of str or None
        If no command can describe the model: the parameters that differ from their defaults. The
        next step is then given in Python.
    model, data : path
        Names of files.
    reading : tuple of str
        Words that tell ``fit`` and ``choose`` how to read the data.
    again : tuple of str
        Words that tell commands with a model, which remembers most of it.
    on_page : bool
        Whether sentences are on the page of the model, which need not send anybody there.
    """

    family: str
    any_window: str | None
    options: dict[str, Any]
    density: bool = False
    changed: tuple[str, ...] | None = None
    model: Any = "MODEL"
    data: Any = "DATA"
    reading: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    on_page: bool = False

    @classmethod
    def of(cls, model) -> Commands:
        """The commands of a model, or of an unfitted estimator."""
        family, options = as_family(model.family), fit_options(model)
        any_window = _without_window(family)
        plain = None if any_window is None else _text(any_window)
        changed = _changed(model, options) or _text(family) is None
        names = tuple(_differing(model)) if changed else None
        labels = known_labels(model)
        reading = () if labels is None else tuple(reading_words(labels.reading))
        density = is_density(model)
        return cls(_text(family) or "", plain, options, density, names, reading=reading)

    def named(self, model, data, reading=None, again=()) -> Commands:
        """The same with the names of files; ``reading`` None: unchanged."""
        reading = self.reading if reading is None else tuple(reading)
        return replace(self, model=model, data=data, reading=reading, again=tuple(again))

    def fit(self, k, output) -> str:
        """The command that fits ``k`` directions of the same kind; one may be a pattern."""
        count = max(0, k - self.density)
        if self.changed is not None:
            return f"sklearn.base.clone(model).set_params(n_components={count}).fit(X)"
        words = ["-k", count, "--family", self.family, *_words(self.options), *self.reading]
        return typed("gtpca", "fit", file_word(self.data), "-o", file_word(output), *words)

    def fewer(self, k) -> str:
        """The command that keeps ``k`` directions, in a separate file."""
        return self.fit(k, new_file(self.model, f"-k{k}"))

    def more(self, k) -> str:
        """The command that searches for ``k`` directions, in a separate file."""
        return self.fit(k, new_file(self.model, "-more"))

    def choose(self) -> str:
        """The command that searches for a window and a number of components."""
        if self.changed is not None:
            own = [name for name in self.changed if name not in ("n_components", "family")]
            same = "" if self.density else "".join(f", {name}=model.{name}" for name in own)
            return f"gtpca.diagnostics.choose(X, model.family{same})"
        known = {name: v for name, v in self.options.items() if name in CHOOSE_OPTIONS}
        if self.density:  # these are of the pattern, and of densities alone
            known["polarity"] = None
            known["noise"] = None if known["noise"] == "features" else known["noise"]
        words = ["--family", self.any_window, *_words(known), *self.reading]
        return typed("gtpca", "choose", file_word(self.data), *words)

    def windows(self) -> str:
        """What may help if nothing was found; only a family with windows has other windows."""
        if self.any_window is None:
            look = self.look("it") if self.changed is None else ""
            return f"another family or more samples may help{look}"
        return f"try other windows with `{self.choose()}`"

    def report(self) -> str:
        """The command that writes a page."""
        return self._look("report", new_file("report.html"))

    def look(self, what) -> str:
        """The end of a sentence that sends somebody to the page; empty if that is where it is."""
        return "" if self.on_page else f"; look at {what} with `{self.report()}`"

    def check(self) -> str:
        """The command that runs all diagnostics."""
        return typed("gtpca", "check", file_word(self.model), file_word(self.data), *self.again)

    def poses(self) -> str:
        """The command that writes a table of poses."""
        return self._look("transform", new_file("poses.csv"), "--poses")

    def histogram(self) -> str:
        """The command that plots poses."""
        return self._look("plot", new_file("poses.png"), kind=("poses",))

    def _look(self, command, output, *more, kind=()):
        words = [file_word(self.model), file_word(self.data), "-o", file_word(output), *more]
        return typed("gtpca", command, *kind, *words, *self.again)


def _differing(model) -> list[str]:
    """Parameters that differ from their defaults."""
    given, default = (m.get_params(deep=False) for m in (model, type(model)()))
    return [name for name, v in given.items() if repr(v) != repr(default[name])]


def _changed(model, options) -> bool:
    """Whether a parameter that matters differs from its default, and no option says so."""
    free = SAID | NO_MATTER | set(options) - (set() if isinstance(model.noise, str) else {"noise"})
    return any(name not in free for name in _differing(model))


def new_file(path, more="") -> str:
    """A name like ``path``, with ``more`` at the end of its stem, that no file has.

    In the same folder, or in the current one if that is not writable.
    """
    path = PurePath(path)
    if not os.access(path.parent, os.W_OK):
        path = PurePath(path.name)
    for count in itertools.count(1):
        again = "" if count == 1 else f"-{count}"
        found = path.with_name(f"{path.stem}{more}{again}{path.suffix}")
        if not os.path.lexists(found):
            break
    return str(found)


def _text(family) -> str | None:
    """A family in the form of ``--family``; None if it cannot be written, or is too long."""
    try:
        text = format_family(family).removesuffix("()")
    except ValueError:
        return None
    return text if len(text) <= LONGEST else None


def _without_window(family):
    """The family with no window, moving the same axes; None if it has no window to choose."""
    found = clone(family)
    for name in family.windows:
        axes, size = name.removesuffix("window") + "axes", np.ndim(found.get_params()[name])
        if size and found.get_params()[axes] is None:  # one window per axis says which axes move
            found.set_params(**{axes: tuple(range(len(found.get_params()[name])))})
        found.set_params(**{name: None})
    return found if family.windows else None


def end_bar(count) -> float:
    """The share of poses that may be at the ends of a range with so many values."""
    return max(MOST_AT_ENDS, 4 / count)


def percent(share) -> str:
    """A share in percent, with three digits."""
    return f"{100 * share:.3g} %"


def no_pattern(doubt, commands, cautions=()) -> str:
    """Held-out rows of a density are evidence against a pattern; suggests what to try."""
    coloured = speak_of_colour(cautions)
    return f"{doubt[0].upper()}{doubt[1:]}; {COLOUR_FIRST if coloured else commands.windows()}."


def faint(strength, sentence) -> str:
    """Poses cannot be trusted because a pattern is faint."""
    times = (CLEAR_STRENGTH / max(strength, 0.1)) ** 2
    return (
        f"The pattern is faint: its norm is {strength:.2g} standard deviations of the noise (about "
        f"{CLEAR_STRENGTH:g} are needed for poses of single samples; averages of {times:.2g} "
        "samples in the same pose would reach that, or as many channels with independent noise). "
        f"{sentence}"
    )


def noise_floor(found, commands) -> str:
    """The number of components above noise."""
    k, count = found.n_real, len(found.gains)
    if found.offset > MOST_OFFSET:
        return _of_an_offset(found.offset, commands, count)
    fails = min(k, count - 1)
    seen = _beside_noise(found, fails)
    if k == count:
        more = commands.more(2 * k)
        return f"Component {k}, the last, is above noise: it {seen}; to try more, `{more}`."
    if k == 0:
        return f"Component 1 is not above noise: it {seen}; {commands.windows()}."
    keep = commands.fewer(k)
    return f"Component {k + 1} is not above noise: it {seen}; keep {k} with `{keep}`."


def _of_an_offset(share, commands, count) -> str:
    """A test of what is mostly a constant says nothing."""
    seen = (
        f"The means of samples hold {percent(share)} of the energy (bar {percent(MOST_OFFSET)}): "
        "what component 1 explains of a constant says nothing about a pattern"
    )
    if commands.density or commands.changed is not None:
        return f"{seen}; subtract the mean of each sample, and fit again."
    centred = replace(commands, options=commands.options | {"center": "samples"})
    return f"{seen}; fit again with `{centred.fit(count, new_file(commands.model, '-centred'))}`."


def caution(text) -> str:
    """A warning of the fit, as a sentence."""
    return f"{text[0].upper()}{text[1:]}"


def events_beside_noise(found) -> str:
    """The number of events, with templates of other data and in noise, and what to do."""
    counts = found.counts
    if counts.above_noise is None:
        return (
            f"{counts.fitted} events were found, but not compared with noise: recordings are too "
            "short to be cut into halves; give longer ones."
        )
    mine, noise, _ = counts.excess
    seen = (
        f"templates of the other half find {counts.cross_fitted}, which gain {mine:.3g} prices "
        f"beyond their own; noise would gain {noise:.3g} (more than {counts.bar:.3g} is needed)"
    )
    if counts.above_noise:
        return f"The {counts.fitted} events are more than noise would give: {seen}."
    white = found.noise != "stationary"
    other = ", or noise='stationary' (--noise stationary)" if white else ""
    return (
        f"The {counts.fitted} events are not above noise: {seen}; try another window{other}, or a "
        "longer recording."
    )


def templates_of_halves(found) -> str:
    """Whether both halves of recordings have the same templates."""
    least, bar = float(np.min(found.halves)), f"{found.threshold:g} is needed"
    if found.n_stable == len(found.halves):
        return f"Both halves have the same templates: their similarity is {least:.2f} ({bar})."
    k = int(np.argmin(found.halves)) + 1
    fewer = "" if found.n_stable == 0 else f"; fit {found.n_stable} with `-k {found.n_stable}`"
    more = fewer or "; a longer recording or another window may help"
    return f"Halves differ in template {k}: their similarity is {least:.2f} ({bar}){more}."


SINGLE = 0.8  # share of the energy of a component in one point
HEAVY = 1.0  # excess kurtosis that is mentioned
KINDS = {
    "flips": " (signs of innovations flipped)",
    "blocks": " (innovations, which are skewed, permuted in blocks)",
}


def _beside_noise(found, k) -> str:
    """What component ``k`` explains, compared with surrogates, and what is suspicious."""
    tried = int((found.surrogates[k] == found.surrogates[k]).sum())
    kind = KINDS.get(found.kinds[k], "") if k < len(found.kinds) else ""
    seen = (
        f"explains {percent(found.gains[k])} of the residual; for {tried} surrogates of "
        f"noise{kind} the bar is {percent(found.band[k])} (p = {found.p_values[k]:.2g}, level "
        f"{found.level:g})"
    )
    if found.peaks is not None and found.peaks[k] > SINGLE:
        seen += (
            f", it is hardly more than a single point ({percent(found.peaks[k])} of its energy; "
            f"bar {percent(SINGLE)}), as is typical of outliers"
        )
    if found.kurtosis > HEAVY:
        seen += (
            f", and the residual has heavy tails (excess kurtosis {found.kurtosis:.2g}, 0 "
            f"for Gaussian noise; bar {HEAVY:g})"
        )
    return seen


def pose_confidence(found, commands, bar) -> str:
    """The share of poses that are ambiguous, or at the ends of their range."""
    for name, shares in found.ends.items():
        if shares.max() > found.end_bars[name]:
            return _at_ends(found, name, int(shares.argmax()), commands)
    k = int(found.ambiguous.argmax())
    seen = (
        f"{percent(found.ambiguous[k])} of the samples have another pose of component {k + 1} "
        f"within odds of 19 to 1 (margin below {found.clear:.3g}; bar {percent(bar)})"
    )
    if found.ambiguous[k] > bar:
        after = commands.poses()
        return f"Not all poses can be trusted: {seen}; look at them with `{after}`."
    return f"Poses are clear: {seen}{commands.look('them')}."


def _at_ends(found, name, k, commands):
    """Too many poses are at the ends of their range."""
    seen = (
        f"{percent(found.ends[name][k])} of the samples are at the first or last {name} of "
        f"component {k + 1} (bar {percent(found.end_bars[name])})"
    )
    if name.startswith(("start", "centre")) and commands.any_window is not None:
        return (
            f"{seen}: the window may be too short, or boundary='partial' is needed; see "
            f"`{commands.choose()}`."
        )
    return f"{seen}: the range may be too narrow; see `{commands.histogram()}`."


def stability(found, commands) -> str:
    """The first component that is not found again."""
    k, count = found.n_stable, found.halves.shape[1]
    look = min(k, count - 1)
    halves, seeds = (np.median(v[:, look]) for v in (found.halves, found.seeds))
    seen = (
        f"similarity {halves:.2f} between halves of the rows and {seeds:.2f} between seeds "
        f"(threshold {found.threshold:g})"
    )
    if k == count:
        return f"Component {k}, the last, is stable: {seen}{commands.look('all')}."
    if k == 0:
        return f"Component 1 is not stable: {seen}; {commands.windows()}."
    keep = commands.fewer(k)
    return f"Component {k + 1} is not stable: {seen}; keep {k} with `{keep}`."


def choice(found, commands) -> str:
    """The suggested window and number of components, and reasons to doubt them."""
    k, most = found.n_components, len(found.gains)
    last = min(k, most - 1)
    seen = (
        f"component {last + 1} explains {percent(found.gains[last])} of the residual (noise "
        f"{percent(found.band[last])}, level {found.level:g}"
    )
    chosen = len(found.windows) > 1
    seen += ", not corrected for the choice of the window on the same samples)" if chosen else ")"
    fit = commands.fit(max(k, 1), new_file(commands.model))
    if commands.changed is not None:
        fit = "found.estimator.fit(X)"
    doubts = "".join(f" But {doubt}." for doubt in found.doubts)
    if k == 0:
        text = f"No component is above noise: {seen}; to look at one anyway, `{fit}`."
    elif found.window is None:
        text = f"{counted(k)} above noise: {seen}; next `{fit}`."
    else:
        text = f"{_best_window(found)}, and {counted(k)} above noise: {seen}; next `{fit}`."
    return text + doubts


def _best_window(found) -> str:
    """The suggested window, its error, and which others are equally good."""
    errors = found.errors.mean(axis=1)  # NaN for windows that were not tried in all folds
    error = errors[found.windows == found.window][0]
    among = ""
    if error > np.nanmin(errors):
        shorter = int(found.windows[np.nanargmin(errors)])
        among = f" of the windows that can move far enough (window {length(found, shorter)} cannot)"
    first, last = (length(found, window) for window in found.flat)
    return (
        f"Window {length(found, found.window)} has the smallest held-out error{among}, "
        f"{percent(error)} (flat from {first} to {last}: within one standard error of the "
        "difference)"
    )


def kinds(found) -> str:
    """Numbers of kinds and components that are suggested, and what speaks against them."""
    count, components = found.n_kinds, found.n_components
    rest = np.delete(np.arange(len(found.pairs)), found.chosen)
    text = f"Take {_kinds(count, components)}, the simplest within one standard error of the best"
    if len(rest):
        means = found.likelihoods.mean(axis=1)
        second = rest[means[rest].argmax()]
        behind = means[found.chosen] - means[second]
        text += (
            f": held-out samples are {abs(behind):.2g} nats {'less' if behind < 0 else 'more'} "
            f"likely each than with {_kinds(*found.pairs[second])}"
        )
    text += "; next `found.estimator.fit(X)`."
    if len(found.stand_ins):
        others = " and ".join(_kinds(*pair) for pair in found.stand_ins)
        text += (
            f" But kinds and components can stand for each other here: {others} would do as well, "
            "up to a standard error."
        )
    if found.rises:
        text += (
            f" But the likelihood rises up to {count} kinds, the most that were tried: try more; "
            "if it never falls, samples vary continuously instead of falling into kinds."
        )
    return text


def _kinds(count, components) -> str:
    """So many kinds with so many components."""
    many = f"{count} kind{'' if count == 1 else 's'}"
    return f"{many} with {components} component{'' if components == 1 else 's'}"


def warp_choice(found, commands) -> str:
    """The suggested warp and what it gains beside no warp; or that no warp is supported."""
    gain, error = found.gain
    warp, plain = (found.shares[number] for number in (found.best_warp, found.plain))
    without = counted_components(found.n_components[found.plain])
    beside = (
        f"at hidden points the error is {percent(warp)} with the best warp and {percent(plain)} "
        f"with {without} and no warp (difference {100 * gain:.2g} +- {100 * error:.2g} %)"
    )
    fit = commands.fit(max(1, int(found.n_components[found.chosen])), new_file(commands.model))
    if commands.changed is not None:
        fit = "found.estimator.fit(X)"
    if not found.supported:
        return f"No warp is supported: {beside}; without warps, `{fit}`."
    knots, weights = int(found.knots[found.chosen]), int(found.weights[found.chosen])
    return (
        f"Take {knots} knot{'' if knots == 1 else 's'}, {weights} weights and "
        f"{counted_components(found.n_components[found.chosen])}: {beside}; next `{fit}`."
    )


def counted_components(count) -> str:
    """So many components."""
    return f"{count} component{'' if count == 1 else 's'}"


def length(found, window) -> str:
    """A window in points, and in the unit of its axis if that is known."""
    if found.step is None:
        return str(window)
    return f"{window} ({window * found.step:.3g} {found.unit})"


def choice_doubts(found, most_beyond, few_places, few_rows) -> list[str]:
    """Reasons to doubt a window and a number of components, a clause each.

    Parameters
    ----------
    found : Choice
    most_beyond, few_places : float
        Share of the samples that a window need not follow, and of the points of a sample below
        which its places are few.
    few_rows : int
        Number of samples in a fold below which they are few.
    """
    doubts = [] if found.window is None else _window_doubts(found, most_beyond, few_places)
    *_, low, high = found.tried
    if low < found.n_components == high:
        doubts.append(f"at most {high} components were tried: there may be more")
    if 0 < found.n_components < low:
        doubts.append(
            f"at least {low} components were requested, but only {counted(found.n_components)} "
            "above noise"
        )
    folds = found.errors.shape[1]
    if found.window is not None and found.n_samples < few_rows * folds:
        doubts.append(
            f"{found.n_samples} samples are few for a choice by {folds} folds "
            f"({few_rows * folds} are needed)"
        )
    return doubts


def _window_doubts(found, most_beyond, few_places) -> list[str]:
    """Reasons to doubt a window."""
    named = f"window {length(found, found.window)}"
    shortest, longest, *_ = found.tried
    place = int((found.windows == found.window).argmax())
    confined = found.beyond[place] > most_beyond
    doubts = []
    for end, word in ((longest, "longest"), (shortest, "shortest")):
        if found.window == end and shortest < longest and not (confined and end == longest):
            doubts.append(
                f"{named} is the {word} that was tried: a {word[:-3]}er one may be better"
            )
    room = "" if found.places is None else f"it has {found.places} positions in {found.size} points"
    if confined:
        doubts.append(
            f"{named} cannot move far enough: {room}, and {percent(found.beyond[place])} of the "
            f"samples match best beyond these (bar {percent(most_beyond)}), so that their poses "
            "are wrong; try shorter windows or boundary='partial'"
        )
    elif found.places is not None and found.places < few_places * found.size:
        doubts.append(f"{named} can hardly move: {room}")
    if found.places is not None and found.ends[place] > end_bar(found.places):
        doubts.append(
            f"{percent(found.ends[place])} of the samples are at the first or last position of "
            f"{named} (bar {percent(end_bar(found.places))}): patterns may lie beyond these"
        )
    return doubts


def counted(k) -> str:
    """A number of components, with the verb."""
    return "1 component is" if k == 1 else f"{k} components are"

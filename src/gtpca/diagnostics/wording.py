"""Sentences of diagnostics: the quantity, its value, the threshold, and the command to run next."""

from __future__ import annotations

import shlex

import numpy as np

from gtpca.families.text import as_family, format_family

__all__ = ["choice", "fit_command", "noise_floor", "pose_confidence", "stability"]


def fit_command(model, k, data="DATA", output="MODEL") -> str:
    """The command, or for densities the call, that fits ``k`` components of the same kind."""
    family = family_text(model.family)
    if not hasattr(model, "shared_pose"):
        return f"ProbabilisticGTPCA({k}, {family!r}).fit({data})"
    words = ["gtpca", "fit", str(data), "-o", str(output), "-k", str(k), "--family", family]
    words += ["--shared-pose"] if model.shared_pose else []
    words += ["--polarity", "positive"] if model.polarity == "positive" else []
    words += {False: [], True: ["--center", "features"]}.get(model.center, ["--center", "samples"])
    return shlex.join(words)


def family_text(family) -> str:
    """A family as ``--family`` takes it, if that is possible."""
    try:
        return format_family(as_family(family))
    except ValueError:
        return repr(family)


def percent(share) -> str:
    """A share in percent, with three digits."""
    return f"{100 * share:.3g} %"


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
        more = found.fit_command(2 * k, data, model)
        return f"Component {k}, the last, is above noise: it {seen}; look for more with `{more}`."
    if k == 0:
        after = f"gtpca choose {shlex.quote(str(data))} --family shift"
        return f"Component 1 is not above noise: it {seen}; try other windows with `{after}`."
    keep = found.fit_command(k, data, model)
    return f"Component {k + 1} is not above noise: it {seen}; keep {k} with `{keep}`."


def pose_confidence(found, model, data, bar) -> str:
    """How many poses are ambiguous, or at the ends of their range."""
    data, model = shlex.quote(str(data)), shlex.quote(str(model))
    for name, shares in found.ends.items():
        k = int(shares.argmax())
        if shares[k] > found.end_bars[name]:
            return (
                f"{percent(shares[k])} of the samples sit at the first or last {name} of component "
                f"{k + 1} (bar {percent(found.end_bars[name])}): the window may be too short, or "
                f"boundary='partial' is needed; see `gtpca choose {data} --family shift`."
            )
    k = int(found.ambiguous.argmax())
    seen = (
        f"{percent(found.ambiguous[k])} of the samples have another pose of component {k + 1} "
        f"within odds of 19 to 1 (margin below {found.clear:.3g}; bar {percent(bar)})"
    )
    if found.ambiguous[k] > bar:
        after = f"gtpca transform {model} {data} -o poses.csv --poses"
        return f"Poses are not all to be trusted: {seen}; look at them with `{after}`."
    after = f"gtpca report {model} {data} -o report.html"
    return f"Poses are clear: {seen}; look at them with `{after}`."


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
        after = shlex.join(["gtpca", "report", str(model), str(data), "-o", "report.html"])
        return f"Component {k}, the last, is stable: {seen}; look at all with `{after}`."
    if k == 0:
        after = shlex.join(["gtpca", "choose", str(data), "--family", "shift"])
        return f"Component 1 is not stable: {seen}; try other windows with `{after}`."
    keep = found.fit_command(k, data, model)
    return f"Component {k + 1} is not stable: {seen}; keep {k} with `{keep}`."


def choice(found, model, data) -> str:
    """The window and the number of components that are suggested."""
    k, most = found.n_components, len(found.gains)
    last = min(k, most - 1)
    seen = (
        f"component {last + 1} explains {percent(found.gains[last])} of what is left (noise "
        f"{percent(found.band[last])}, level {found.level:g})"
    )
    fit = fit_command(found.estimator, max(k, 1), data, model)
    if k == 0:
        return f"No component is above noise: {seen}; to look at one all the same, `{fit}`."
    if k == most:
        seen += f", and {most} were the most to be tried"
    if found.window is None:
        return f"{counted(k)} above noise: {seen}; next `{fit}`."
    error = found.errors.mean(axis=1).min()
    return (
        f"Window {found.window} has the smallest held-out error, {percent(error)} (flat from "
        f"{found.flat[0]} to {found.flat[1]}: within one standard error), and {counted(k)} above "
        f"noise: {seen}; next `{fit}`."
    )


def counted(k) -> str:
    """So many components, with their verb."""
    return "1 component is" if k == 1 else f"{k} components are"

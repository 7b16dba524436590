"""Warnings for valid but probably unintended input, and for fits that found little."""

from __future__ import annotations

from gtpca.operators.grid import axis_name, shape_text
from gtpca.text import shortened

__all__ = [
    "coloured_residual",
    "in_order",
    "long_fit",
    "long_window",
    "many_components",
    "no_pattern",
    "not_converged",
    "offset",
    "pile",
    "pile_here",
    "small_domain",
    "speak_of_colour",
    "spoken_time",
    "still_family",
    "too_long",
    "transposed",
]

OTHER_WINDOWS = "gtpca.diagnostics.choose(X, family) tries other windows; more rows may help too."
OTHER_FAMILIES = "Another family or more rows may help."
OTHER_NOISE = "Fit with noise='stationary' first: noise that is not white can hide a pattern."
OFFSET = "the means of samples hold"  # how cautions begin,
NOT_WHITE = "what the components leave is not white"  # which identifies them, in files too


def long_window(operator, axis: int) -> str:
    """A component is more than twice as long as the sample on an axis."""
    size, length = operator.sample_shape[axis], operator.weight_shape[axis]
    return (
        f"components have {length} points on {axis_name(operator.grid, axis)}, more than twice the "
        f"{size} of samples of shape {shape_text(operator.grid)}; a window of at most {2 * size} "
        "is plenty there. Are the samples meant to be longer, or to have other axes?"
    )


def still_family(family, operator) -> str:
    """A family has a single transform, and what would help."""
    return (
        f"{family!r} leaves a single position to samples of shape {shape_text(operator.grid)}: "
        f"nothing moves, as in ordinary PCA. {family.hint_if_still}".rstrip()
    )


def small_domain(family, operator) -> str:
    """Only a small part of a sample is covered by every transform."""
    return (
        f"{shortened(repr(family), 80)} compares samples of shape {shape_text(operator.grid)} on "
        f"{100 * operator.domain_share:.0f} % of their points, where every transform is "
        "defined; a smaller range of transforms keeps more, and domain='all' uses all points, "
        "which is right if the background is zero."
    )


def offset(share, center=False) -> str:
    """Most of the energy is in the means of samples; ``center`` None: no option helps."""
    seen = (
        f"{OFFSET} {100 * share:.3g} % of the energy: the first component is "
        "mostly a constant, and poses are decided by the rest."
    )
    if center is None:
        return f"{seen} Subtract the mean of each sample before the fit."
    other = ", or center=True (--center features), which subtracts the mean sample"
    return (
        f"{seen} Use center='samples' (--center samples), which subtracts the mean of each sample"
        f"{'' if center else other}."
    )


def loud(share) -> str:
    """A few samples hold much of the energy, and decide what the kinds are."""
    return (
        f"loud samples hold {100 * share:.0f} % of the energy beyond four times what three "
        "quarters of them have: they take kinds of their own, or become the noise of all. If size "
        "says nothing, divide each sample by its norm before the fit; if they are artefacts, leave "
        "them out (row_weight_ of GTPCA(outliers='rows') says which they are)."
    )


def coloured_residual(correlation, share, bar) -> str:
    """The residual, which holds a share of the energy, is not white."""
    side = "above" if correlation > 0 else "below"
    return (
        f"{NOT_WHITE}: neighbours are correlated by "
        f"{correlation:.2f} ({side} {bar:g} is much), and {100 * share:.0f} % of the energy is "
        "left. noise='stationary' (--noise stationary) may find poses and components that such "
        "noise hides."
    )


def in_order(cautions) -> list[str]:
    """Cautions that explain others first: an offset makes neighbours alike, and colour poses."""
    first = (OFFSET, NOT_WHITE)
    return sorted(cautions, key=lambda said: [not said.startswith(words) for words in first])


def speak_of_colour(cautions) -> bool:
    """Whether one of the cautions is that noise is not white."""
    return any(said.startswith(NOT_WHITE) for said in cautions)


def pile(found, operator) -> str:
    """Many samples take few poses, and the possible cause."""
    share, number = f"{100 * found.share:.0f} %", found.component + 1
    return f"{share} of the samples have component {number} at {_piled_at(found, operator)}"


def pile_here(found, operator) -> str:
    """The same below a histogram, which says of what."""
    return f"{100 * found.share:.0f} % are at {_piled_at(found, operator)}"


def _piled_at(found, operator) -> str:
    """Where poses accumulate, beside chance, and the possible cause."""
    unit = operator.pose_space.units.get(found.name, "")
    corners = "" if operator.domain_share < 1 else " corners (domain='common' leaves them out) or"
    where, cause = {
        "right angles": ("a right angle", _TURNED.format(corners)),
        "ends": (f"the first or the last {found.name}", _ENDS),
        "one": (f"the same {found.name}, {found.values[0]:.6g}{unit and f' {unit}'}", _STILL),
    }[found.kind]
    return f"{where} ({100 * found.chance:.2g} % of the poses): {cause}"


_TURNED = (
    "something that does not rotate with the samples may decide, such as{} an offset "
    "(center='samples' subtracts it)."
)
_ENDS = "the range may be too narrow, or the window too short or too long."
_STILL = "samples may hardly move, or something that stands still, such as a background, decides."


def many_components(count, n_rows) -> str:
    """There are more components than rows."""
    return (
        f"n_components={count} is more than the {n_rows} rows of X: there are components for "
        "single rows, and finding all of them may take a long time."
    )


def transposed(found, n_rows, n_features) -> str:
    """Rows look like the points of a series."""
    return (
        f"X may be transposed: neighbouring rows of its {n_rows} x {n_features} values correlate "
        f"by {found.rows:.2f}, neighbouring features by {found.features:.2f}, as if each column "
        "were a sample. Rows are samples: if they are not, fit X.T."
    )


def long_fit(cost) -> str:
    """The size of a fit, and about how long it will take."""
    return (
        f"{cost.n_transforms:,} transforms of {cost.n_rows:,} rows: this fit will take about "
        f"{spoken_time(cost.seconds)}"
    )


def spoken_time(seconds) -> str:
    """A time with one or two digits, since an estimate has no more.

    Examples
    --------
    >>> from gtpca.fitting.wording import spoken_time
    >>> spoken_time(14.2), spoken_time(470), spoken_time(200_000)
    ('14 seconds', '8 minutes', '56 hours')
    """
    for size, name in ((3600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= 2 * size or size == 1:
            return f"{seconds / size:.0f} {name}s"
    raise AssertionError


def too_long(text, family, hours, variable) -> str:
    """A fit is refused, and what to do."""
    return (
        f"{text}, and {hours:g} hours are allowed. {family.hint_if_large} Fewer rows are enough to "
        f"try it; {variable}=1000 in the environment allows 1000 hours."
    )


def not_converged(estimator, history) -> str:
    """EM ran out of passes."""
    return (
        f"max_iter={estimator.max_iter} passes of EM did not converge to tol={estimator.tol}: the "
        f"last gained {history[-1] - history[-2]:.2g} per sample. Increase max_iter."
    )


def no_pattern(trust, needed) -> str:
    """Held-out rows give no evidence for a pattern."""
    said = _below_nothing(trust, needed) if trust.below_nothing else _as_in_noise(trust)
    return f"there is no evidence for a pattern: {said}; poses and scores are those of noise"


def _below_nothing(trust, needed):
    """Noise alone is more likely."""
    smaller = (
        ""
        if trust.total is None
        else (
            f", and smoothed and shrunk it gains {trust.total:.2g} nats in total ({needed:g} "
            "are needed)"
        )
    )
    return (
        "held-out rows are less likely with it than with noise alone, by "
        f"{-trust.gain:.2g} nats per row (above 0 is needed){smaller}"
    )


def _as_in_noise(trust):
    """The same is found in noise of the same colour, tails and loudness."""
    return (
        f"held-out halves gain {trust.halves:.3g} nats per row from it, and one of "
        f"{len(trust.noise)} surrogates of noise like the rows gains {max(trust.noise):.3g} "
        "(less is needed)"
    )


def event_counts(counts) -> str:
    """Whether there are more events than noise would give."""
    said = f"{counts.fitted} events"
    if counts.above_noise is None:
        return f"{said}, which were not compared with noise."
    mine, noise, most = (_three(x) for x in (*counts.excess[:2], counts.bar))
    said += (
        f"; templates of the other half find {counts.cross_fitted}, which gain {mine} prices more "
        "than they cost. Noise with the spectrum and the tails of the recordings has "
        f"{counts.surrogate}, and templates of its other half gain {noise} there ({most} is the "
        "bar): "
    )
    if not counts.above_noise:
        return f"{said}the events are not above noise."
    return f"{said}the events are more than noise would give."


def _three(number) -> str:
    """Three digits of a number, without an exponent below a million."""
    return f"{float(f'{number:.3g}'):,g}"


def drifting(points) -> str:
    """A recording changes so slowly that events hardly stand out."""
    return (
        f"X drifts: its correlations with templates keep their sign for {points:.0f} points on "
        "average, so that events must be larger than the drift. Subtract a running median, or give "
        "noise='stationary'."
    )


def clipped(label, share) -> str:
    """A recording is clipped at its largest or smallest value."""
    return (
        f"{label} may be clipped: {100 * share:.0f} % of its values are the largest or smallest. "
        "Templates and amplitudes are clipped as well; mark such values as NaN to leave them out."
    )

"""What is said of what is allowed but hardly meant, and of fits that found little."""

from __future__ import annotations

from gtpca.operators.grid import axis_name, shape_text

__all__ = [
    *("long_fit", "long_window", "many_components", "no_pattern", "not_converged", "spoken_time"),
    *("still_family", "too_long"),
]

OTHER_WINDOWS = "gtpca.diagnostics.choose(X, family) tries other windows; more rows may help too."
OTHER_FAMILIES = "Another family or more rows may help."


def long_window(operator, axis: int) -> str:
    """That a component is more than twice as long as the sample on an axis."""
    size, length = operator.sample_shape[axis], operator.weight_shape[axis]
    return (
        f"components have {length} points on {axis_name(operator.grid, axis)}, more than twice the "
        f"{size} of samples of shape {shape_text(operator.grid)}; a window of at most {2 * size} "
        "is plenty there. Are the samples meant to be longer, or to have other axes?"
    )


def still_family(family, operator) -> str:
    """That a family has a single transform, and what would help."""
    return (
        f"{family!r} leaves a single position to samples of shape {shape_text(operator.grid)}: "
        f"nothing moves, as in ordinary PCA. {family.hint_if_still}".rstrip()
    )


def many_components(count, n_rows) -> str:
    """That there are more components than rows."""
    return (
        f"n_components={count} is more than the {n_rows} rows of X: there are components for "
        "single rows, and finding all of them may take long."
    )


def long_fit(cost) -> str:
    """How large a fit is, and about how long it will take."""
    return (
        f"{cost.n_transforms:,} transforms of {cost.n_rows:,} rows: this fit will take about "
        f"{spoken_time(cost.seconds)}"
    )


def spoken_time(seconds) -> str:
    """A time in one digit or two: more would be a lie.

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
    """That a fit is refused, and what to do."""
    return (
        f"{text}, and {hours:g} hours are allowed. {family.hint_if_large} Fewer rows are enough to "
        f"try it; {variable}=1000 in the environment allows 1000 hours."
    )


def not_converged(estimator, history) -> str:
    """That EM ran out of passes."""
    return (
        f"max_iter={estimator.max_iter} passes of EM did not converge to tol={estimator.tol}: the "
        f"last gained {history[-1] - history[-2]:.2g} per sample. Increase max_iter."
    )


def no_pattern(trust, needed) -> str:
    """That held-out rows say nothing of a pattern."""
    smaller = (
        ""
        if trust.total is None
        else (
            f", and made smoother and smaller it gains {trust.total:.2g} nats in all ({needed:g} "
            "are needed)"
        )
    )
    return (
        "there is no evidence for a pattern: held-out rows are less likely with it than with "
        f"noise alone, by {-trust.gain:.2g} nats per row (above 0 is needed){smaller}; poses and "
        "scores are those of noise"
    )

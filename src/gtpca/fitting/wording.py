"""What is said of what is allowed but hardly meant, and of fits that found little."""

from __future__ import annotations

from gtpca.operators.grid import axis_name, shape_text

__all__ = [
    "coloured_residual",
    "long_window",
    "many_components",
    "no_pattern",
    "not_converged",
    "still_family",
]

COLOURED = 0.5  # correlation of neighbours from which on noise is said not to be white
NEGATIVE = 0.2  # where it is negative, whitening gains from there on
MOSTLY_NOISE = 0.5  # share of the energy that is left, from which on it counts as noise

OTHER_WINDOWS = "gtpca.diagnostics.choose(X, family) tries other windows; more rows may help too."


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


def coloured_residual(correlation, share) -> str | None:
    """That what is left of rows, a share of their energy, is not white; None if it is."""
    if correlation is None or share < MOSTLY_NOISE or -NEGATIVE < correlation < COLOURED:
        return None
    bar = f"above {COLOURED:g}" if correlation > 0 else f"below {-NEGATIVE:g}"
    return (
        "what the components leave is not white: neighbours are correlated by "
        f"{correlation:.2f} ({bar} is much), and {100 * share:.0f} % of the energy is left; with "
        "noise='stationary' poses and components may be found that such noise hides"
    )

"""What is said, before any work is done, of what is allowed but hardly meant."""

from __future__ import annotations

from gtpca.operators.grid import axis_name, shape_text

__all__ = ["long_window", "many_components", "still_family"]


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

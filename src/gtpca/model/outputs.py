"""The output of ``transform``: scores, with or without transforms or poses; and its inverse.

Or samples moved to the pose of the first component, which need no codes beyond that pose.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from sklearn.utils import check_array

from gtpca import checks
from gtpca.data.codes import Codes
from gtpca.model.model import CodedModel
from gtpca.model.pose_errors import parameters
from gtpca.operators.poses import is_pose

__all__ = [
    "ALIGNED",
    "OUTPUTS",
    "codes_of",
    "error_columns",
    "inverse",
    "named_columns",
    "names",
    "side_by_side",
]

ALIGNED = "aligned"
OUTPUTS = ("scores", "scores+poses", "scores+units", ALIGNED)
EXACT = 2**24  # float32 represents all integers up to this one


def names(model: CodedModel, output: str) -> list[str]:
    """Names of the columns: ``gtpca0, ..``, then ``gtpca0_index, ..`` or ``gtpca0_start, ..``.

    If the pose is shared, ``gtpca_index`` or ``start``; ``start_s`` if the unit is known. Where
    poses lie between the transforms of a list, both outputs name their parameters. Values of
    aligned samples are ``aligned0, ..``.
    """
    checks.choice("output", output, OUTPUTS)
    if output == ALIGNED:
        return [f"aligned{j}" for j in range(model.operator.n_weights)]
    scores = [f"gtpca{k}" for k in range(model.n_components)]
    if output == "scores":
        return scores
    operator = model.operator
    if output == "scores+poses" and operator.continuous is None:
        return scores + (["gtpca_index"] if model.shared_pose else [f"{s}_index" for s in scores])
    if output == "scores+poses":
        told: Iterable[str] = [axis.name for axis in operator.pose_space.axes]
    else:
        told = operator.describe(np.zeros(1, dtype=np.int64))
    units = operator.pose_space.units
    poses = [f"{pose}_{units[pose]}" if pose in units else pose for pose in told]
    return scores + [n for pose in poses for n in _pose_names(scores, pose, model.shared_pose)]


def _pose_names(scores, pose, shared):
    return [pose] if shared else [f"{score}_{pose}" for score in scores]


def named_columns(model: CodedModel, codes: Codes, output: str) -> dict[str, np.ndarray]:
    """The columns (n,) by name, each with its own type."""
    tables = (codes.scores, *_beside(model, codes, output))
    columns = (column for table in tables for column in table.T)
    return dict(zip(names(model, output), columns, strict=True))


def error_columns(model: CodedModel, errors) -> dict[str, np.ndarray]:
    """Standard errors of poses as columns (n,), called like the poses with ``_se`` appended.

    One per parameter: the start of a window and its centre have the same.
    """
    scores, units = (
        [f"gtpca{k}" for k in range(model.n_components)],
        model.operator.pose_space.units,
    )
    columns: dict[str, np.ndarray] = {}
    for pose in parameters(model.operator):
        told = f"{pose}_{units[pose]}" if pose in units else pose
        names_here = _pose_names(scores, told, model.shared_pose)
        columns |= {f"{n}_se": c for n, c in zip(names_here, errors[pose].T, strict=True)}
    return columns


def _beside(model, codes, output):
    """Arrays (n, k), or (n, 1) if the pose is shared, that accompany the scores."""
    if output == "scores+poses" and is_pose(codes.index):
        return list(np.moveaxis(codes.index, 2, 0))
    if output == "scores+poses":
        return [codes.index]
    return list(model.poses(codes).values()) if output == "scores+units" else []


def side_by_side(model: CodedModel, output: str, scores, index) -> np.ndarray:
    """All columns in one array (n, columns) of floats, without rounding.

    Transforms have the type of the scores, unless float32 cannot represent their numbers.
    """
    checks.choice("output", output, OUTPUTS)
    tables = _beside(model, Codes(scores, index), output)
    if output == "scores+poses" and not is_pose(index):
        exact = model.operator.n_transforms <= EXACT
        return np.hstack([scores, *tables], dtype=scores.dtype if exact else np.float64)
    if not all(table.dtype.kind in "biuf" for table in tables):
        raise ValueError(
            f"output={output!r}: these poses are text, which an array of numbers cannot hold; use "
            "output='scores+poses', or poses(encode(X))."
        )
    return np.hstack([scores, *tables])


def codes_of(model: CodedModel, output: str, X) -> Codes:
    """The codes from the output of :func:`side_by_side`; plain scores are in the reference pose."""
    if output in ("scores+units", ALIGNED):
        raise ValueError(
            f"output={output!r} cannot be inverted; use output='scores+poses', or decode(codes)."
        )
    scores, k = check_array(X, dtype=[np.float64, np.float32]), model.n_components
    wanted = len(names(model, output))
    if scores.shape[1] != wanted:
        raise ValueError(f"X has {scores.shape[1]} columns, but {wanted} are needed.")
    if output == "scores":
        return Codes(scores, np.full((len(scores), model.n_poses), model.operator.reference))
    if model.operator.continuous is not None:
        pose = scores[:, k:].reshape(
            len(scores), len(model.operator.pose_space.axes), model.n_poses
        )
        return Codes(scores[:, :k], np.moveaxis(pose, 1, 2).astype(np.float64))
    index = np.rint(scores[:, k:]).astype(np.int64)
    if index.min() < 0 or index.max() >= model.operator.n_transforms:
        raise ValueError("X holds transform indices that the family does not have.")
    return Codes(scores[:, :k], index)


def inverse(model: CodedModel, row_shape, output: str, X) -> np.ndarray:
    """Samples in the original shape of rows, from the output of ``transform``."""
    codes = codes_of(model, output, X)
    return model.decode(codes).reshape(len(codes), *row_shape)

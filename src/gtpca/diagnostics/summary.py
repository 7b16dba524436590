"""``check``: all that can be said of a fitted model and its samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gtpca.diagnostics import wording
from gtpca.diagnostics.noise import NoiseFloor, noise_floor
from gtpca.diagnostics.poses import PoseConfidence, pose_confidence
from gtpca.diagnostics.splits import Stability, stability

__all__ = ["Check", "check"]


@dataclass(frozen=True, eq=False)
class Check:
    """What all diagnostics found.

    Attributes
    ----------
    noise : NoiseFloor
    stability : Stability
    poses : PoseConfidence
    doubt : str or None
        What held-out rows of a density say against a pattern: its ``doubt_``.
    colour : str or None
        That what the model leaves is not white: its ``colour_``.
    strength : float or None
        Norm of the pattern of a density, in standard deviations of the noise: its ``strength_``.
    """

    noise: NoiseFloor
    stability: Stability
    poses: PoseConfidence
    doubt: str | None = None
    colour: str | None = None
    strength: float | None = None

    @property
    def sentence(self) -> str:
        """What matters most, and what to do next."""
        return self.advice()

    def advice(self, model="MODEL", data="DATA") -> str:
        """The first sentence that is about something wrong; if nothing is, that about noise."""
        if self.doubt is not None:
            return wording.no_pattern(self.doubt, self.noise.commands, data)
        if self.colour is not None:
            return wording.coloured(self.colour, self.noise.commands, data, model)
        found = (self.noise, self.stability, self.poses)
        first = next((each for each in found if not each.passed), self.noise)
        faint = self.strength is not None and self.strength < wording.CLEAR_STRENGTH
        if first is self.poses and faint:
            return wording.faint(self.strength, first.advice(model, data))
        return first.advice(model, data)

    def __str__(self) -> str:
        said = [] if self.doubt is None and self.colour is None else [self.sentence]
        return "\n\n".join([*said, *map(str, (self.noise, self.stability, self.poses))])


def check(model, X, *, n_jobs=None, random_state=0, progress=None) -> Check:
    """Run :func:`noise_floor`, :func:`stability` and :func:`pose_confidence`.

    Parameters
    ----------
    model : GTPCA or ProbabilisticGTPCA
        Fitted.
    X : array (n, \\*sample_shape) or (n, d)
        What it was fitted to.
    n_jobs : int or None
        Threads.
    random_state : int, RandomState or None
    progress : callable or None
        Such as ``tqdm``: ``progress(iterable, total=.., desc=..)``.

    Returns
    -------
    Check
    """
    how: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress}
    return Check(
        noise_floor(model, X, random_state=random_state, **how),
        stability(model, X, random_state=random_state, **how),
        pose_confidence(model, X, **how),
        getattr(model, "doubt_", None),
        model.colour_,
        getattr(model, "strength_", None),
    )

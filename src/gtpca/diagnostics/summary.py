"""``check``: all that can be said of a fitted model and its samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    """

    noise: NoiseFloor
    stability: Stability
    poses: PoseConfidence
    doubt: str | None = None

    @property
    def sentence(self) -> str:
        """What matters most, and what to do next.

        The first sentence that is about something wrong; if nothing is, that about noise.
        """
        if self.doubt is not None:
            return wording.no_pattern(self.doubt, self.noise.commands)
        found = (self.noise, self.stability, self.poses)
        return next((each for each in found if not each.passed), self.noise).sentence

    def advice(self, model="MODEL", data="DATA", reading=None, again=()) -> str:
        """The sentence with the names of files; see :meth:`NoiseFloor.advice`."""
        return self.named(model, data, reading, again).sentence

    def named(self, model, data, reading=None, again=()) -> Check:
        """The same, with sentences that name files; see :meth:`NoiseFloor.advice`."""
        files = (model, data, reading, again)
        noise, poses = self.noise.named(*files), self.poses.named(*files)
        return replace(self, noise=noise, stability=self.stability.named(*files), poses=poses)

    def __str__(self) -> str:
        said = [] if self.doubt is None else [self.sentence]
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
    )

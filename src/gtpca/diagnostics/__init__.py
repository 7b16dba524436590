"""Diagnostics: components compared with noise, stability, certainty of poses, model selection.

Every function takes a fitted model, GTPCA or ProbabilisticGTPCA, and samples; :func:`choose`,
:func:`choose_kinds` and :func:`choose_warp` take samples alone, and :func:`check` also an
EventGTPCA and recordings. The results have a ``table``, a ``sentence`` that says what to do next,
and mostly ``plot()``; printing one shows the table and the sentence.

Sentences are written in ``gtpca.diagnostics.wording`` and nowhere else; each names the quantity,
its value, the threshold and the next command. A test of :func:`noise_floor` is a ``Trial``: a gain,
what is signal and what is noise, and a function that measures the gain of other samples.
"""

from gtpca.diagnostics.choice import Choice, choose
from gtpca.diagnostics.kinds import KindChoice, choose_kinds
from gtpca.diagnostics.noise import NoiseFloor, noise_floor
from gtpca.diagnostics.poses import PoseConfidence, pose_confidence
from gtpca.diagnostics.recordings import EventCheck
from gtpca.diagnostics.splits import Stability, stability
from gtpca.diagnostics.summary import Check, check
from gtpca.diagnostics.warps import WarpChoice, choose_warp

__all__ = [
    "Check",
    "Choice",
    "EventCheck",
    "KindChoice",
    "NoiseFloor",
    "PoseConfidence",
    "Stability",
    "WarpChoice",
    "check",
    "choose",
    "choose_kinds",
    "choose_warp",
    "noise_floor",
    "pose_confidence",
    "stability",
]

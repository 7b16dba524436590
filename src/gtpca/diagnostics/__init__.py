"""What is real: components beside noise, their stability, how sure poses are, and what to choose.

Every function takes a fitted model, GTPCA or ProbabilisticGTPCA, and samples; :func:`choose` and
:func:`choose_kinds` take samples alone, and :func:`check` also an EventGTPCA and recordings. What
they return has a ``table``, a ``sentence`` that says what to do next, and mostly ``plot()``;
printed, it is table and sentence.
"""

from gtpca.diagnostics.choice import Choice, choose
from gtpca.diagnostics.kinds import KindChoice, choose_kinds
from gtpca.diagnostics.noise import NoiseFloor, noise_floor
from gtpca.diagnostics.poses import PoseConfidence, pose_confidence
from gtpca.diagnostics.recordings import EventCheck
from gtpca.diagnostics.splits import Stability, stability
from gtpca.diagnostics.summary import Check, check

__all__ = [
    "Check",
    "Choice",
    "EventCheck",
    "KindChoice",
    "NoiseFloor",
    "PoseConfidence",
    "Stability",
    "check",
    "choose",
    "choose_kinds",
    "noise_floor",
    "pose_confidence",
    "stability",
]

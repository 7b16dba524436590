"""What is real: components beside noise, their stability, how sure poses are, and what to choose."""

from gtpca.diagnostics.choice import Choice, choose
from gtpca.diagnostics.noise import NoiseFloor, noise_floor
from gtpca.diagnostics.poses import PoseConfidence, pose_confidence
from gtpca.diagnostics.stability import Stability, stability

__all__ = [
    *("Choice", "NoiseFloor", "PoseConfidence", "Stability"),
    *("choose", "noise_floor", "pose_confidence", "stability"),
]

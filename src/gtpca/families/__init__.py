"""Families of transforms, as a user writes them; independent of any grid until they are bound."""

from gtpca.families.base import Family, Size
from gtpca.families.compose import Compose
from gtpca.families.free_warp import FreeWarp
from gtpca.families.shift import Shift
from gtpca.families.similarity import Similarity
from gtpca.families.simple import Custom, Identity, Reflection
from gtpca.families.warps import Affine, Deformation, Rotation, Scaling, TimeWarp

# All families that files and texts may name, in the order in which messages list them.
FAMILIES = (
    Identity,
    Shift,
    Rotation,
    Reflection,
    Scaling,
    Similarity,
    TimeWarp,
    FreeWarp,
    Affine,
    Deformation,
    Custom,
    Compose,
)

__all__ = [
    "FAMILIES",
    "Affine",
    "Compose",
    "Custom",
    "Deformation",
    "Family",
    "FreeWarp",
    "Identity",
    "Reflection",
    "Rotation",
    "Scaling",
    "Shift",
    "Similarity",
    "Size",
    "TimeWarp",
]

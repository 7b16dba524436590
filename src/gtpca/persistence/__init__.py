"""Models in files: no pickle, nothing that is run on loading, every byte checked."""

from gtpca.persistence.models import load, save

__all__ = ["load", "save"]

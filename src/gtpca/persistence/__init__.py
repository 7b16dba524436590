"""Models in files: no pickle, nothing is executed on loading, every byte is checked.

A model file (``models.py``) is a zip archive (``container.py``) of arrays and JSON (``values.py``).
Every plain fitted attribute is saved automatically: arrays, numbers, text, lists, tuples, dicts.
The operator is bound again. A change that old readers would misinterpret increases
``container.FORMAT_VERSION``, and a file of the new format is added to ``tests/files``, from which
none is ever removed.
"""

from gtpca.persistence.models import load, save

__all__ = ["load", "save"]

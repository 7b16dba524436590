"""Checkpoints of training: written atomically, read without executing code."""

from __future__ import annotations

from pathlib import Path

import torch

from gtpca.files import atomic_file

__all__ = ["Checkpoint"]

FORMAT = 2
FINGERPRINTS = ("mean", "feature_weight", "validation")


class Checkpoint:
    """A file from which training can be resumed.

    Parameters
    ----------
    path : path or None
        None: nothing is written or read.
    plan : dict
        Describes the training; a file with another plan is refused.
    """

    def __init__(self, path, plan: dict):
        self.path, self.plan = None if path is None else Path(path), plan
        if self.path is not None and not self.path.parent.is_dir():
            raise ValueError(f"checkpoint={str(path)!r} is in a folder that does not exist.")

    def save(self, content: dict) -> None:
        """Write the file again, atomically: there is always a complete one."""
        if self.path is None:
            return
        with atomic_file(self.path) as file:
            torch.save({"format": FORMAT, "plan": self.plan, **content}, file)

    def load(self) -> dict | None:
        """What was saved, or None."""
        if self.path is None or not self.path.exists():
            return None
        try:
            content = torch.load(self.path, weights_only=True, map_location="cpu")
        except Exception as error:  # for a broken file, torch may raise anything
            raise ValueError(f"checkpoint={str(self.path)!r} cannot be read: {error}") from None
        self._check(content)
        return content

    def _check(self, content):
        name = str(self.path)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(
                f"checkpoint={name!r} is not a checkpoint of this version; move it away."
            )
        for key, value in self.plan.items():
            found = content["plan"].get(key)
            if found != value:
                other = f"{key}={found!r}, not {value!r}"
                raise ValueError(
                    f"checkpoint={name!r} belongs to a training with "
                    f"{f'another {key}' if key in FINGERPRINTS else other}; move it away or go on "
                    "as before."
                )

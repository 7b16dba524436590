"""Where a row comes from: the commit, the versions and the processor it was computed with."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["provenance"]

PACKAGES = ("gtpca", "numpy", "scipy", "scikit-learn", "torch")
SOURCES = ("src", "paper/src")  # a change elsewhere does not change a row


@cache
def provenance() -> dict[str, str]:
    """``commit``, ``python``, the versions of :data:`PACKAGES` that are there, ``processor``.

    The commit ends with "+" if sources differ from it, and is empty outside a clone. It is that
    of the first call: whoever runs for long calls it before anything else.
    """
    return {
        "commit": _commit(),
        "python": platform.python_version(),
        **versions(),
        "processor": processor(),
    }


def versions() -> dict[str, str]:
    """Versions of the packages that results depend on, of those that are installed."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def processor() -> str:
    """Name of the processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _commit() -> str:
    root = Path(__file__).parents[4]
    if not (root / "paper" / "src" / "gtpca_paper").exists():  # installed, not in a clone
        return ""
    commit = _git(root, "rev-parse", "--short=12", "HEAD")
    changed = _git(root, "status", "--porcelain", "--", *SOURCES)
    return commit + ("+" if commit and changed else "")


def _git(root, *arguments) -> str:
    command = ["git", "-C", str(root), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""

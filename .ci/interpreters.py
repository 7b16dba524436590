"""Print the path of each Python from 3.11 on that is found: one per version, the oldest first.

Looked for are ``python3.x`` on the path and the versions of pyenv.
"""

import glob
import os
import shutil
import subprocess
import sys

OLDEST, NEWEST = 11, 20
ASK = "import sys, venv, ssl; print('%d.%d' % sys.version_info[:2])"


def candidates():
    """Paths that may be interpreters."""
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    yield sys.executable
    for minor in range(OLDEST, NEWEST):
        yield shutil.which(f"python3.{minor}")
        yield from sorted(glob.glob(f"{root}/versions/3.{minor}.*/bin/python"))


def version(path):
    """The version of an interpreter as text, or None if it does not run."""
    try:
        said = subprocess.check_output([path, "-c", ASK], stderr=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        return None
    return said.decode().strip()


def found():
    """Path of the first interpreter of each version."""
    paths = {}
    for path in filter(None, candidates()):
        paths.setdefault(version(path), path)
    wanted = [f"3.{minor}" for minor in range(OLDEST, NEWEST)]
    return {name: paths[name] for name in wanted if name in paths}


if __name__ == "__main__":
    print("\n".join(found().values()))

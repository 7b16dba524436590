"""Check what ``dist`` holds, and try the wheel as a user would, in a clean environment.

It is installed with the command line and the drawings; the first example of the README and ``gtpca
demo`` are run, outside the repository. Usage: ``python .ci/try_wheel.py [INTERPRETER ..]``; without
any: with all that are found.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from interpreters import found

ROOT = Path(__file__).parents[1]
LARGEST = 1_000_000  # bytes of a wheel
ADDRESS = r"\]\((https://github\.com/[^/]+/[^/]+)/(?:blob|raw)/HEAD/([^)#]+)[^)]*\)"


def main(interpreters) -> None:
    """Check the files, then try the wheel with each interpreter."""
    (wheel,), (sdist,), (paper,) = (
        list(ROOT.glob(f"dist/{name}"))
        for name in ("gtpca-*.whl", "gtpca-*.tar.gz", "gtpca_paper-*.whl")
    )
    check_files(wheel, sdist)
    for interpreter in interpreters or found().values():
        with tempfile.TemporaryDirectory(prefix="gtpca-wheel-") as folder:
            try_wheel(wheel, paper, interpreter, Path(folder))


def check_files(wheel, sdist) -> None:
    """The wheel is small and holds nothing of the paper, links of the README lead on."""
    size = wheel.stat().st_size
    check(size < LARGEST, f"{wheel.name} has {size} bytes")
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    check(not any("paper/" in name for name in names), f"{sdist.name} has nothing of the paper")
    with zipfile.ZipFile(wheel) as archive:
        alone = all(re.match(r"gtpca(_command\.py|-|/)", name) for name in archive.namelist())
        check(alone, f"{wheel.name} has nothing of the paper")
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        text = archive.read(name).decode()
    check(not re.search(r"\]\((?!https?:|#)", text), "the README has absolute links only")
    lost = [path for _, path in re.findall(ADDRESS, text) if not (ROOT / path).exists()]
    check(not lost, f"links of the README that lead nowhere: {lost or 'none'}")


def check(good, text) -> None:
    """Say what was checked, and stop where it does not hold."""
    print(f"{'ok  ' if good else 'FAIL'}  {text}", flush=True)
    if not good:
        sys.exit(1)


def try_wheel(wheel, paper, interpreter, folder) -> None:
    """Install the wheel into a new environment in ``folder``; run the example, demo and paper."""
    subprocess.run([interpreter, "-m", "venv", folder / "env"], check=True)
    programs = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    pip = [programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-c", ROOT / "constraints.txt", f"{wheel}[cli,plot]"], check=True)
    example = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    said = run(folder, programs / "python", "-c", example[1])
    (expected,) = re.findall(r"print\(.*\)  # (.*)", example[1])
    check(said.strip() == expected, f"{interpreter}: the README's example says {said.strip()}")
    table = run(folder, programs / "gtpca", "demo")
    drawn = (folder / "gtpca-demo.png").is_file()
    check(drawn and "GT-PCA" in table, f"{interpreter}: gtpca demo prints a table and draws")
    program = programs / "gtpca"
    alone = subprocess.run([program, "reproduce", "--list"], cwd=folder, capture_output=True)
    told = b"pip install gtpca-paper" in alone.stderr
    check(told and alone.returncode, f"{interpreter}: gtpca reproduce says what to install")
    subprocess.run([*pip, "--no-deps", paper], check=True)
    listed = "oscillations" in run(folder, program, "reproduce", "--list")
    check(listed, f"{interpreter}: gtpca reproduce lists the experiments")
    modules = run(folder, programs / "python", "-m", "gtpca", "--version")
    check(modules.startswith("gtpca "), f"{interpreter}: {modules.strip()}")


def run(folder, *command) -> str:
    """What a program says, started in ``folder``, away from the sources."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    how = {"cwd": folder, "env": clean | {"MPLBACKEND": "Agg"}, "text": True}
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, **how).stdout


if __name__ == "__main__":
    main(sys.argv[1:])

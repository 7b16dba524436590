"""What a release is made of: versions, addresses and workflows agree with each other."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import gtpca

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted(ROOT.glob(".github/workflows/*.yml"))

pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="only in the repository")


def text(name):
    return (ROOT / name).read_text("utf-8")


def settings():
    return tomllib.loads(text("pyproject.toml"))


def test_the_version_is_the_same_everywhere():
    version = gtpca.__version__
    assert f"\nversion: {version}\n" in text("CITATION.cff")
    assert re.search(r"^## \[(.*?)\]", text("CHANGELOG.md"), re.MULTILINE)[1] == version


def test_the_address_is_the_same_everywhere():
    address = settings()["tool"]["hatch"]["metadata"]["hooks"]["custom"]["address"]
    assert f'\nrepository-code: "{address}"\n' in text("CITATION.cff")


def test_the_oldest_versions_are_those_declared():
    oldest = dict(re.findall(r"^([\w-]+)==(.*)$", text("constraints-oldest.txt"), re.MULTILINE))
    for needed in settings()["project"]["dependencies"]:
        name, _, least = needed.partition(">=")
        assert f"{least}." in f"{oldest[name]}.", name


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_jobs_are_calls_of_make(path):
    targets = set(re.findall(r"^([a-z-]+):.*## ", text("Makefile"), re.MULTILINE))
    called = re.findall(r"\brun: (.*)", path.read_text("utf-8"))
    assert called
    if path.stem == "docs" and "docs" not in targets:
        pytest.skip("there is no target that builds a site")
    for line in called:
        assert re.match(r"make ([a-z-]+)", line)[1] in targets


def test_every_python_that_is_declared_is_tested():
    declared = [c.rpartition(" ")[2] for c in settings()["project"]["classifiers"] if "3." in c]
    listed = ", ".join(f'"{version}"' for version in declared)
    assert text(".github/workflows/tests.yml").count(f"python: [{listed}]") == 2


def test_workflows_follow_their_schema():
    pytest.importorskip("check_jsonschema", reason="it brings the schema of workflows")
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema"]
    how = {"capture_output": True, "text": True, "check": False}
    done = subprocess.run([*check, "vendor.github-workflows", *map(str, WORKFLOWS)], **how)
    assert done.returncode == 0, done.stdout

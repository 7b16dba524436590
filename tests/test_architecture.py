"""The shape of the code: layers, sizes, the walk of one array, and public names that stay."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from command import environment

import gtpca

SOURCE, TESTS = Path(gtpca.__file__).parent, Path(__file__).parent
PAPER = TESTS.parent / "paper" / "src"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
parse = cache(ast.parse)

# Each layer with those that it may import, and with them all that these may import.
LAYERS = {
    "checks": "",
    "optional": "",
    "files": "",
    "text": "",
    "_typing": "",
    "operators": "checks _typing",
    "families": "operators text",
    "data": "operators optional files text",
    "model": "data",
    "solvers": "model",
    "fitting": "solvers",
    "base": "fitting families",
    "parameters": "fitting families",
    "estimator": "base parameters",
    "probabilistic": "estimator",
    "mixture": "probabilistic",
    "classifier": "probabilistic",
    "recordings": "estimator",
    "persistence": "mixture classifier recordings families files",
    "export": "model",
    "views": "model",
    "diagnostics": "mixture recordings views",
    "plots": "views",
    "page": "diagnostics base views files",
    "nn": "estimator solvers files",
    "datasets": "checks files optional _typing",
    "readers": "datasets data files optional text",
    "testing": "operators",
    "gtpca": "optional persistence",
    "demo": "gtpca datasets plots",
    "commands": "gtpca datasets demo diagnostics nn page plots readers testing",
    "cli": "optional text",
}

# Imports inside functions: of modules that need an optional dependency, and of `save`.
LATE = {
    ("cli", "commands"),
    ("commands", "demo"),
    ("model", "readers.writers"),
    ("recordings", "persistence"),
    ("recordings", "plots"),
    ("commands", "diagnostics"),
    ("commands", "page"),
    ("commands", "plots"),
    ("data", "data.dask"),
    ("diagnostics", "plots"),
    ("base", "persistence"),
    ("classifier", "persistence"),
    ("base", "plots"),
    ("persistence", "nn"),
}


PUBLIC = {
    "gtpca": """ALS EventGTPCA Events GTPCA Affine Codes Compose Custom Deformation Family FreeWarp
        GTPCAClassifier Identity MixtureGTPCA Operator PosePosterior ProbabilisticGTPCA Reflection
        Rotation Scaling Shift Similarity TimeWarp labelled load pad quadrature""",
    "gtpca.families": "Compose Custom Family Identity Reflection Shift",
    "gtpca.operators": "BankOperator Operator",
    "gtpca.solvers": "ALS",
    "gtpca.persistence": "load save",
    "gtpca.nn": "Adam GTPCLayer GTPCNetwork LayerOutput",
    "gtpca.testing": "PlantedRows assert_same_components check_operator make_planted",
    "gtpca.datasets": """DatasetError event_windows fetch_curves fetch_ecg fetch_eeg fetch_errp
        fetch_handwriting fetch_mnist fetch_neurons make_oscillations make_spikes random_crop
        random_embedding random_rotation simulate_errp sliding_windows""",
    "gtpca.diagnostics": """Check Choice EventCheck NoiseFloor PoseConfidence Stability check choose
        noise_floor pose_confidence stability""",
    "gtpca.plots": """plot_choice plot_components plot_energy plot_events plot_history
        plot_intervals plot_noise_floor plot_perturbation plot_pose_confidence
        plot_pose_posterior plot_poses plot_reconstructions plot_scores plot_stability""",
    "gtpca.export": "to_onnx",
    "gtpca.page": "write_page",
    "gtpca.readers": "Data FileRows Recording read_data read_signal write_array write_table",
}
NEEDS = {"gtpca.nn": "torch", "gtpca.plots": "matplotlib"}


@cache
def modules(folder):
    """The text of all modules below a folder, by their path in it."""
    files = sorted(folder.rglob("*.py"))
    return {file.relative_to(folder).as_posix(): file.read_text("utf-8") for file in files}


def allowed(layer):
    """All layers that a layer may import."""
    direct = LAYERS[layer].split()
    return {layer, *direct}.union(*map(allowed, direct))


def layer_of(name):
    """The layer of ``gtpca.name``; "gtpca" for its public names."""
    first = name.partition(".")[0]
    return first if first in LAYERS else "gtpca"


def imported(node):
    """What a node takes from gtpca, without the name of the package; the version is free."""
    if isinstance(node, ast.ImportFrom):
        names = ["." * node.level + f"{node.module}.{alias.name}" for alias in node.names]
    elif isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        names = [f"{node.value.id}.{node.attr}"]  # gtpca.name, after `import gtpca`
    else:
        names = []
    ours = {name.removeprefix("gtpca.") for name in names if name.startswith(("gtpca.", "."))}
    return ours - {"__version__"}


def all_imports(late):
    """File, its layer, and the name of everything imported: in functions, or else elsewhere."""
    for file, text in modules(SOURCE).items():
        tree = parse(text)
        inside = {n for f in ast.walk(tree) if isinstance(f, FUNCTIONS) for n in ast.walk(f)}
        layer = file.partition("/")[0].removesuffix(".py").replace("__init__", "gtpca")
        for node in ast.walk(tree):
            if (node in inside and not isinstance(node, ast.Attribute)) == late:
                yield from ((file, layer, name) for name in imported(node))


def test_layers_import_only_what_is_below_them():
    wrong = [
        (file, layer, name)
        for file, layer, name in all_imports(late=False)
        if layer_of(name) not in allowed(layer)
        and not (file == "__init__.py" and name in gtpca.SUBMODULES)  # for type checkers
    ]
    assert wrong == []


@pytest.mark.parametrize("module", ["gtpca", "gtpca.datasets"])
def test_late_names_are_those_that_type_checkers_see(module):
    package = importlib.import_module(module)
    tree = parse(Path(package.__file__).read_text("utf-8"))
    seen = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module not in ("typing", "gtpca.optional")
        for alias in node.names
    }
    submodules = {name for name, home in seen.items() if home == module}
    assert seen == package.HOMES | dict.fromkeys(submodules, module)
    assert set(package.HOMES) == set(package.__all__)
    assert set(dir(package)) >= {*package.__all__, *submodules}


def packages_after(code):
    """What is imported after ``code``, in a new interpreter, beside the standard library."""
    show = f"{code}\nimport sys\nprint(*sys.modules)"
    how = {"capture_output": True, "text": True, "check": True, "env": environment()}
    found = subprocess.run([sys.executable, "-c", show], **how).stdout.split()
    return {name.partition(".")[0] for name in found} - sys.stdlib_module_names


def test_the_package_imports_nothing_before_it_is_asked():
    assert packages_after("import gtpca") - packages_after("") == {"gtpca"}


def test_the_estimator_needs_no_more_packages_than_scikit_learn():
    needed = packages_after("from gtpca import GTPCA")
    assert needed - packages_after("import sklearn.decomposition") == {"gtpca"}


def test_imports_inside_functions_are_those_listed():
    listed = [(file, f"{target}.") for file, target in LATE]
    wrong = [
        (file, layer, name)
        for file, layer, name in all_imports(late=True)
        if not any(layer == who and f"{name}.".startswith(what) for who, what in listed)
    ]
    assert wrong == []


def test_only_the_command_looks_for_the_paper():
    assert [f for f, text in modules(SOURCE).items() if "gtpca_paper" in text] == [
        "commands/paper.py"
    ]


def test_every_module_of_the_root_has_a_layer():
    found = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py"} - {"__main__"}
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert (found - {"__init__"}) | packages | {"gtpca"} == set(LAYERS)
    assert len(found) <= 16


def functions():
    """All functions of the library."""
    for text in modules(SOURCE).values():
        yield from (node for node in ast.walk(parse(text)) if isinstance(node, FUNCTIONS))


def test_few_functions_take_operator_and_polarity():
    both = [
        node.name
        for node in functions()
        if {"operator", "polarity"}
        <= {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
    ]
    assert len(both) <= 10, both


def code_of(node):
    """The statements of a module, class or function, without its docstring."""
    return node.body[ast.get_docstring(node) is not None :]


def test_functions_are_short():
    bodies = [body for node in functions() if (body := code_of(node))]
    sizes = [body[-1].end_lineno - body[0].lineno + 1 for body in bodies]
    assert np.median(sizes) <= 8
    assert np.percentile(sizes, 90) <= 25
    assert max(sizes) <= 50


def n_lines(text):
    """Lines of a module, without docstrings and blank lines."""
    lines = text.splitlines()
    for node in ast.walk(parse(text)):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Module)) and ast.get_docstring(node):
            place = node.body[0]
            lines[place.lineno - 1 : place.end_lineno] = [""] * (
                place.end_lineno - place.lineno + 1
            )
    return sum(bool(line.strip()) for line in lines)


@pytest.mark.parametrize(
    ("folder", "most"), [(SOURCE, 600), (PAPER, 600), (TESTS, 800)], ids=["src", "paper", "tests"]
)
def test_files_are_short(folder, most):
    assert {file: n for file, text in modules(folder).items() if (n := n_lines(text)) > most} == {}


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_stay(module):
    if module in NEEDS:
        pytest.importorskip(NEEDS[module])
    found = importlib.import_module(module)
    assert set(PUBLIC[module].split()) <= set(found.__all__)
    assert [name for name in found.__all__ if not hasattr(found, name)] == []

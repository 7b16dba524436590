"""What is optional is imported late, and missing parts are named."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import gtpca
from gtpca.optional import missing, require

WITHOUT = """
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {module!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
"""


def last_line(code):
    """Last line that Python says on standard error."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.stderr.strip().rpartition("\n")[2]


def test_a_module_and_its_parts_are_returned():
    assert require("json", "io").loads("1") == 1
    assert require("xml.dom", "io") is sys.modules["xml.dom"]


def test_the_package_of_a_missing_part_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "json.decoder", None)
    with pytest.raises(ImportError) as caught:
        require("json.decoder", "io")
    assert str(caught.value) == 'json is missing: pip install "gtpca[io]"'


def test_a_clone_that_is_not_installed_is_named_by_its_folder(monkeypatch):
    def lost(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "metadata", lost)
    clone = Path(gtpca.__file__).parents[2]
    what = clone if (clone / "pyproject.toml").exists() else "gtpca"
    assert str(missing("h5py", "io")) == f'h5py is missing: pip install "{what}[io]"'


def test_the_package_imports_nothing_optional():
    code = "import sys, gtpca.demo, gtpca.plots\nfrom gtpca import *\nprint(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for module in ("torch", "dask", "matplotlib"):
        assert f"'{module}'" not in done.stdout


@pytest.mark.parametrize(
    ("code", "module"), [("import gtpca; gtpca.nn", "torch"), ("import gtpca.data.dask", "dask")]
)
def test_the_error_names_the_extra(code, module):
    line = last_line(WITHOUT.format(module=module) + code)
    assert line == f'ImportError: {module} is missing: pip install "gtpca[{module}]"'


def test_a_drawing_names_its_extra():
    code = WITHOUT.format(module="matplotlib") + (
        "import numpy as np\n"
        "from gtpca import GTPCA, plots\n"
        "plots.plot_history(GTPCA(1).fit(np.eye(3)))\n"
    )
    assert last_line(code) == 'ImportError: matplotlib is missing: pip install "gtpca[plot]"'


def test_submodules_are_imported_when_they_are_asked_for():
    code = (
        "import sys, gtpca; assert 'nn' in dir(gtpca); assert 'gtpca.page' not in sys.modules;"
        "print(gtpca.page.write_page.__name__, gtpca.plots.plot_scores.__name__,"
        "gtpca.datasets.make_spikes.__name__, gtpca.readers.read_data.__name__,"
        "gtpca.testing.make_planted.__name__, {'torch', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "write_page plot_scores make_spikes read_data make_planted set()\n"


def test_a_submodule_that_is_not_there():
    with pytest.raises(AttributeError, match="'gtpca' has no attribute 'plot'"):
        gtpca.plot  # noqa: B018

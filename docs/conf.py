"""The documentation site: `make docs`. All it needs is local, so that it works from files too."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

import gtpca  # noqa: E402

project = "gtpca"
author = "The gtpca developers"
copyright = author
version = release = gtpca.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "pages",
]
exclude_patterns = ["_build", "**sg_execution_times.rst"]
templates_path = ["_templates"]
nitpicky = True
# Names of the inside, which docstrings of operators and solvers mention.
nitpick_ignore_regex = [
    ("py:mod", r"gtpca\.(data|model|operators|solvers)\..*"),
    ("py:func", r"gtpca\.views\..*"),
    ("py:class", r"(ShiftAxis|gtpca\.operators\.grid\.Grid)"),
    ("py:meth", "bind"),
]

# Markdown, as it is also read in the repository
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

# The reference
import reference  # noqa: E402

autosummary_generate = True
autosummary_context = reference.CONTEXT
suppress_warnings = ["config.cache"]  # of the functions in it
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Warnings that examples give are shown without the path of the machine that runs them.
warnings.formatwarning = lambda message, category, *_: f"{category.__name__}: {message}\n"

# The gallery: an example whose data or packages are missing is shown, but not run
from pages import gallery_pattern  # noqa: E402
from sphinx_gallery.sorting import ExplicitOrder  # noqa: E402

SECTIONS = "first-steps series recordings images functions noise large-data extending"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "backreferences_dir": "api/backreferences",
    "doc_module": ("gtpca",),
    "filename_pattern": gallery_pattern(),
    "subsection_order": ExplicitOrder([f"../examples/{name}" for name in SECTIONS.split()]),
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 10_000,
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "abort_on_example_error": True,
    # What a block prints is shown; not the value of its last line, such as Text(0.5, 1.0, ..).
    "capture_repr": (),
}

html_theme = "pydata_sphinx_theme"
html_title = "gtpca"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 8,
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": [], "which-family": [], "comparison": [], "auto_examples/index": []}

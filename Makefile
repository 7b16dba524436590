# Development tasks. Needs only make and Python >= 3.11; `make` alone lists the targets.

PYTHON ?= python3
VENV ?= .venv
CORE_VENV ?= .venv-core
AEON_VENV ?= .venv-aeon
SPIKE_VENV ?= .venv-spikeinterface
OLDEST_VENV ?= .venv-oldest
RELEASE_VENV ?= .venv-release
JOBS ?= 2
OLD ?= HEAD
# What test-interpreters runs; default: everything.
TESTS ?=

# Where an environment has its programs.
PROGRAMS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := $(VENV)/$(PROGRAMS)
STAMP := $(VENV)/.installed
DEMO_STAMP := $(VENV)/.installed-demo
CORE_STAMP := $(CORE_VENV)/.installed
AEON_STAMP := $(AEON_VENV)/.installed
SPIKE_STAMP := $(SPIKE_VENV)/.installed
OLDEST_STAMP := $(OLDEST_VENV)/.installed
RELEASE_STAMP := $(RELEASE_VENV)/.installed
DOCS_STAMP := $(VENV)/.installed-docs
SITE := docs/_build/html

# All extras but torch, which is large.
EXTRAS := plot,data,cli,report,io,images,eeg,dask,onnx

PIP_INSTALL := -m pip install --quiet --disable-pip-version-check --no-input -c constraints.txt
# One thread per test worker: the workers already fill the processors.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS)
CHECK_PYTHON := $(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python >= 3.11 is needed: make PYTHON=...")'

# Figures are written, never shown.
export MPLBACKEND ?= Agg

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-long test-core test-aeon test-spikeinterface browser lint format bench bench-speed
.PHONY: figures pictures same-results clean test-oldest test-interpreters release release-tag docs docs-serve
.DELETE_ON_ERROR:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## create the virtual environment and install everything for development

# Of aeon, which does not install beside these versions, the examples read the files alone.
$(STAMP): pyproject.toml paper/pyproject.toml constraints.txt
	@$(CHECK_PYTHON)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP_INSTALL) -e ".[dev,torch,$(EXTRAS)]" -e paper
	$(BIN)/python $(PIP_INSTALL) --no-deps aeon
	@touch $@

# What the demonstration and the command need: a small part, so that a first look is quick.
$(DEMO_STAMP): pyproject.toml constraints.txt
	@$(CHECK_PYTHON)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP_INSTALL) -e ".[cli,plot,report]"
	@touch $@

$(CORE_STAMP): pyproject.toml constraints.txt
	@$(CHECK_PYTHON)
	$(PYTHON) -m venv --clear $(CORE_VENV)
	$(CORE_VENV)/$(PROGRAMS)/python $(PIP_INSTALL) -e . pytest
	@touch $@

# aeon does not install beside the versions of constraints.txt.
$(AEON_STAMP): pyproject.toml constraints-aeon.txt
	@$(CHECK_PYTHON)
	$(PYTHON) -m venv --clear $(AEON_VENV)
	$(AEON_VENV)/$(PROGRAMS)/python $(subst constraints.txt,constraints-aeon.txt,$(PIP_INSTALL)) -e . pytest aeon
	@touch $@

# SpikeInterface needs zarr below 3, which does not install beside the versions of constraints.txt.
$(SPIKE_STAMP): pyproject.toml
	@$(CHECK_PYTHON)
	$(PYTHON) -m venv --clear $(SPIKE_VENV)
	$(SPIKE_VENV)/$(PROGRAMS)/python $(subst -c constraints.txt,,$(PIP_INSTALL)) -e . pytest spikeinterface numba neo pynwb
	@touch $@

$(OLDEST_STAMP): pyproject.toml constraints-oldest.txt
	@$(CHECK_PYTHON)
	$(PYTHON) -m venv --clear $(OLDEST_VENV)
	$(OLDEST_VENV)/$(PROGRAMS)/python $(subst constraints.txt,constraints-oldest.txt,$(PIP_INSTALL)) -e . pytest
	@touch $@

$(RELEASE_STAMP): constraints.txt
	@$(CHECK_PYTHON)
	$(PYTHON) -m venv --clear $(RELEASE_VENV)
	$(RELEASE_VENV)/$(PROGRAMS)/python $(PIP_INSTALL) build twine
	@touch $@

$(DOCS_STAMP): $(STAMP)
	$(BIN)/python $(PIP_INSTALL) -e ".[docs]"
	@touch $@

demo: $(DEMO_STAMP) ## run the demonstration; writes gtpca-demo.png
	$(BIN)/python -m gtpca.demo

test: lint ## lint, then the test suite
	$(PYTEST)

test-long: $(STAMP) ## the test suite with the tests that take minutes
	$(PYTEST) -m "long or not long"

test-core: $(CORE_STAMP) ## the test suite with no optional dependency installed
	$(CORE_VENV)/$(PROGRAMS)/python -m pytest

test-aeon: $(AEON_STAMP) ## the tests with aeon, in an environment of their own
	$(AEON_VENV)/$(PROGRAMS)/python -m pytest tests/data/test_aeon.py

test-spikeinterface: $(SPIKE_STAMP) ## the tests with SpikeInterface, in an environment of their own
	$(SPIKE_VENV)/$(PROGRAMS)/python -m pytest tests/data/test_spikeinterface.py

test-oldest: $(OLDEST_STAMP) ## the core's tests with the oldest NumPy, SciPy and scikit-learn that are declared
	$(OLDEST_VENV)/$(PROGRAMS)/python -m pytest

test-interpreters: ## the tests without torch, on every Python from 3.11 on that is found; TESTS=tests/data for some
	@set -e; for python in $$($(PYTHON) .ci/interpreters.py); do \
		name=.venv-$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
		echo "$$python in $$name"; \
		$$python -m venv $$name; \
		$$name/$(PROGRAMS)/python $(PIP_INSTALL) -e ".[dev,$(EXTRAS)]"; \
		$$name/$(PROGRAMS)/python $(PIP_INSTALL) --no-deps -e paper; \
		$$name/$(PROGRAMS)/python -m pytest -n $(JOBS) $(TESTS); \
	done

release: $(RELEASE_STAMP) ## build sdist and wheel, check them, and try the wheel in clean environments
	rm -rf dist
	$(RELEASE_VENV)/$(PROGRAMS)/python -m build
	$(RELEASE_VENV)/$(PROGRAMS)/python -m build --outdir dist paper
	$(RELEASE_VENV)/$(PROGRAMS)/python -m twine check --strict dist/*
	$(RELEASE_VENV)/$(PROGRAMS)/python .ci/try_wheel.py

release-tag: ## as release, if TAG=v0.1.0 is the version of the package
	@for file in src/gtpca/__init__.py paper/src/gtpca_paper/__init__.py; do \
		grep -qx '__version__ = "$(TAG:v%=%)"' $$file || \
			{ echo "TAG=$(TAG) is not the version in $$file" >&2; exit 1; }; \
	done
	$(MAKE) release

browser: ## install Chromium, which the page is tested in (Debian, as root)
	@.ci/browser

lint: $(STAMP) ## ruff and mypy
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(STAMP) ## sort imports, fix what ruff can fix, format
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

docs: $(DOCS_STAMP) ## build the documentation: docs/_build/html/index.html
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -q -j $(JOBS) \
		 -d docs/_build/doctrees docs $(SITE)
	$(BIN)/python docs/check_site.py $(SITE)

docs-serve: docs ## build the documentation and show it on http://localhost:8000
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory $(SITE) 8000

figures: $(STAMP) ## list figures in the text of the pages that are stale; ARGS=--write mends them
	$(BIN)/python docs/figures.py $(ARGS)

pictures: $(STAMP) ## draw the pictures of the pages again
	$(BIN)/python docs/draw_all.py

bench: $(STAMP) ## run every benchmarks/bench_*.py
	@set -e; for script in $(sort $(wildcard benchmarks/bench_*.py)); do \
		echo "$$script"; $(BIN)/python "$$script"; \
	done

same-results: $(STAMP) ## compare all results, to the last bit, with those of the revision OLD=HEAD
	$(BIN)/python benchmarks/same_results.py $(OLD)

bench-speed: $(STAMP) ## times beside those of an earlier version; ARGS=--quick for a few of them
	$(BIN)/python benchmarks/bench_speed.py $(ARGS)

clean: ## remove caches and build products; keeps the virtual environments
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis gtpca-demo.png
	rm -rf docs/_build docs/auto_examples docs/api/generated docs/api/backreferences
	find src tests paper -name __pycache__ -type d -prune -exec rm -rf {} +

# Everything happens in .venv, made from the pinned requirements; `make help` lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# The files of requirements pin everything, with hashes: nothing is left for pip to resolve, and a newer
# release of somebody else's package cannot break an installation.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps

.PHONY: help demo test test-all tests coverage check style types mutants stress fuzz choice release package bench spark service notebook docs docs-serve clean

help:
	@echo "make demo      simulate free-will privacy, then a tour of the collector"
	@echo "make test      style, types, layering, and all quick tests and doctests"
	@echo "make test-all  the same with the slow tests, and those for which a tool is there"
	@echo "make check     style, types and layering only"
	@echo "make coverage  make test, and fail if too few branches run"
	@echo "make mutants   small faults in every room: which ones do the tests notice?"
	@echo "make stress    10,000 random mixtures, every public number, against an oracle of its own"
	@echo "make fuzz      100,000 hostile inputs: surveys, specs, calls, reports, evidence, options"
	@echo "make release   build wheel and source archive, and try both in empty environments"
	@echo "make package   the npm package of freewill.js, in dist (needs Node and npm)"
	@echo "make bench     speed and accuracy beside the rivals"
	@echo "make choice    every solver on every structure and size, beside the one that is chosen"
	@echo "make spark     add Spark to .venv (its tests and commands also need Java 17)"
	@echo "make notebook  add what the tests in a Jupyter notebook need"
	@echo "make docs      build the documentation into site/; make docs-serve shows it"
	@echo "make service   add what all of the collector's tests need (and PostgreSQL, Node, Chromium)"

$(READY): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Freewill needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv --clear $(VENV)
	$(INSTALL) --require-hashes -r requirements/dev.txt
	$(INSTALL) --no-build-isolation --editable .
	@touch $@

demo: $(READY)
	@$(BIN)/python examples/demo.py
	@$(BIN)/python examples/tour.py

check: style types

style: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(READY)
	$(BIN)/mypy

# One thread a process: the tests already use both cores. Tests start many processes, each of which
# would compile the package anew where no bytecode may be written.
test test-all tests coverage mutants: export OMP_NUM_THREADS := 1
test test-all tests coverage mutants: export OPENBLAS_NUM_THREADS := 1
test test-all tests coverage mutants: export PYTHONDONTWRITEBYTECODE :=

# Which tests, whether branches are counted, and how many examples of a property: `make test` and
# `make test-all` say so. Types are checked beside them.
TESTS ?= -m "not slow and not later"
COVER ?=
PROFILE ?= everyday
WORKERS ?= 2
tests: export HYPOTHESIS_PROFILE := $(PROFILE)
test: style
	@$(MAKE) --no-print-directory -j 2 types tests

test-all:
	@$(MAKE) --no-print-directory test TESTS= PROFILE=freewill

# What is slow goes the same ways again.
coverage:
	@$(MAKE) --no-print-directory test COVER=--cov

tests: $(READY)
	$(BIN)/pytest -n $(WORKERS) --dist worksteal $(TESTS) $(COVER)

# So many of each room. MUTANTS=all tries all of them; ROOMS="numeric stats/fit" these rooms or files only.
MUTANTS ?= 100
ROOMS ?=
mutants: $(READY)
	$(BIN)/python -m tools.mutants --count $(MUTANTS) $(ROOMS)
	$(if $(ROOMS),,$(BIN)/python -m tools.mutants.javascript)

# Two processes of one thread, about forty minutes. STRESS="--only 17" shows one mixture in full.
STRESS ?=
stress: $(READY)
	$(BIN)/python -m tools.stress $(STRESS)

# Two processes of one thread, about a quarter of an hour. FUZZ="--only 17" shows one input in full,
# FUZZ="--count 5000 --kind evidence" tries so many of a kind.
FUZZ ?=
fuzz: $(READY)
	$(BIN)/python -m tools.fuzz $(FUZZ)

release: $(READY)
	rm -rf dist
	$(BIN)/python -m hatchling build -t wheel -t sdist
	$(BIN)/python tools/try_release.py dist/*.whl dist/*.tar.gz

spark: $(READY)
	$(INSTALL) --require-hashes -r requirements/spark.txt

service: $(READY)
	$(INSTALL) --require-hashes -r requirements/service.txt

notebook: $(READY)
	$(INSTALL) --require-hashes -r requirements/notebook.txt

package: $(READY)
	$(BIN)/python -m tools.javascript.package

# Dead links and anchors, pages in no menu and names that cannot be documented are errors.
docs: $(READY)
	$(INSTALL) --require-hashes -r requirements/docs.txt
	$(BIN)/python -m sphinx --quiet --jobs auto --fail-on-warning --keep-going -c docs . site
	@echo "site/index.html is the documentation."

docs-serve: docs
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory site 8080

choice: $(READY)
	$(BIN)/python -m benchmarks.choice

bench: $(READY)
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) .venv-* .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .mutants .coverage* dist site jupyter_execute

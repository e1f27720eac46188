# Needs Python 3.11+, make and a package index; everything else is installed into $(VENV), but for the
# PostgreSQL server, Java and Chromium that some tests start (see tests/servers/install.sh).
#   make demo     private answers about made-up people, a report to look at, and the console on the same people
#   make test     everything CI checks
#   make fast     the quick tests, in a minute and a half
# Another interpreter, beside an existing environment:
#   PYTHON=python3.12 VENV=.venv-3.12 make test

SHELL := /bin/bash
VENV ?= .venv
BENCH_VENV ?= .venv-bench
BIN := $(VENV)/bin
PIP := -m pip install --quiet --disable-pip-version-check

# An environment made by another Python than the one asked for would be used silently: refuse instead.
ifeq ($(origin PYTHON),undefined)
PYTHON := python3
else ifneq ($(wildcard $(BIN)/python),)
ifeq ($(filter clean distclean,$(MAKECMDGOALS)),)
asked := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
found := $(shell $(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
ifneq ($(asked),$(found))
$(error PYTHON=$(PYTHON) is Python "$(asked)" but $(VENV) holds Python "$(found)": \
run `make distclean` first, or name another environment, e.g. VENV=.venv-$(asked))
endif
endif
endif

.PHONY: help demo test tests fast servers check bench fuzz reproduce docs clean distclean
.DEFAULT_GOAL := help

help:
	@echo "targets: demo test fast check bench fuzz reproduce docs clean distclean"

demo: $(VENV)/.installed-demo
	$(BIN)/dalenius demo --console

test: check tests

tests: $(VENV)/.installed-dev servers
	$(BIN)/python -m pytest

# For every save: no server, nothing that takes long, most of the coverage (tests/slow.py).
fast: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m "not slow"

# PostgreSQL, Java and Chromium for the tests: installed where that needs no question; the tests start and stop them.
servers:
	@tests/servers/install.sh

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src
	$(BIN)/lint-imports

bench: $(VENV)/.installed-dev $(BENCH_VENV)/.installed
	$(BIN)/python -m benchmarks

# Random questions about random tables and their neighbours, for hours; CASES=1000 for so many on each engine. It may be
# stopped at any time, and goes on where it stopped as long as the code is the same; SEED=1 draws other cases.
fuzz: $(VENV)/.installed-dev servers
	$(BIN)/python -m tests.tables.hostile $(if $(CASES),--cases $(CASES)) $(if $(SEED),--seed $(SEED))

# DATA=folder where it is not beside the repository; takes about half an hour.
reproduce: $(VENV)/.installed-dev
	$(BIN)/python -m experiments $(if $(DATA),--data $(DATA))

docs: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir site

clean:
	rm -rf site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -path './.venv*' -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV) $(BENCH_VENV)

# The stamps: an environment is installed anew only when what it was installed from has changed.

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python $(PIP) --editable .
	@touch $@

$(VENV)/.installed-demo: pyproject.toml | $(BIN)/python
	$(BIN)/python $(PIP) --editable '.[web]'
	@touch $@ $(VENV)/.installed

# What the console's image ships is what is tested: with its Python, the versions of deploy/requirements.lock.
$(VENV)/.installed-dev: pyproject.toml deploy/requirements.lock | $(BIN)/python
	@if $(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; \
	then sed 's/ --hash=.*//' deploy/requirements.lock; fi > $(VENV)/locked.txt
	$(BIN)/python $(PIP) --constraint $(VENV)/locked.txt --editable '.[dev]'
	@touch $@ $(VENV)/.installed $(VENV)/.installed-demo

$(BENCH_VENV)/bin/python:
	$(PYTHON) -m venv $(BENCH_VENV)

$(BENCH_VENV)/.installed: benchmarks/requirements-peers.txt | $(BENCH_VENV)/bin/python
	$(BENCH_VENV)/bin/python $(PIP) --requirement $<
	@touch $@

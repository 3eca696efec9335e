# Two commands are all that a newcomer needs: `make demo` and `make test`. Each sets up .venv by itself.
#   make PYTHON=python3.12 test     makes .venv with another Python (remove .venv first to change it later)
#   make WORKERS=8 test             runs the tests in eight processes
#   make GPU=1 test                 installs GPU packages, on a machine that shows no GPU

PYTHON  ?= python3
WORKERS ?= 2

VENV      := .venv
BIN       := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PLAN      := $(VENV)/.plan.json

.DELETE_ON_ERROR:
.PHONY: help install demo test lint check bench bench-gpu

help:
	@echo "make demo      train a small model in two minutes and see it work"
	@echo "make test      run all tests"
	@echo "make check     format, lint, types, import rules and the fast tests: what a commit must pass"
	@echo "make lint      the same without the tests"
	@echo "make bench     seqloom and other libraries side by side, in half an hour; make BENCH=--quick bench in minutes"
	@echo "make bench-gpu the same on a GPU"
	@echo "make install   only make .venv and install into it"

demo: install
	@$(BIN)/seqloom demo

test: install
	@$(BIN)/python -m pytest -q -r s -n $(WORKERS)

lint: install
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/ruff check --quiet
	@$(BIN)/mypy
	@$(BIN)/python tests/arrows.py

check: lint
	@$(BIN)/python -m pytest -q -n $(WORKERS) -m "not slow and not gpu"

# Peers that are not installed are named in the table. BENCH: options, as in `make BENCH=--quick bench`.
bench: install
	@$(BIN)/python benchmarks/bench.py $(BENCH)

bench-gpu: install
	@$(BIN)/python benchmarks/bench.py --device cuda $(BENCH)
	@$(BIN)/python benchmarks/training_gpu.py --out benchmarks/results/training_gpu.txt
	@$(BIN)/python benchmarks/generation_gpu.py --out benchmarks/results/generation_gpu.txt

install: $(INSTALLED)
	@:

# What pip would take is looked at first: gigabytes of GPU packages are for machines with a GPU, or for who asks for them.
$(INSTALLED): pyproject.toml constraints.txt | $(BIN)/pip
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --dry-run --ignore-installed --report $(PLAN) \
	    --constraint constraints.txt torch >/dev/null 2>&1 || true
	@if [ -z "$(GPU)" ] && [ ! -e /dev/nvidiactl ] && grep -qs '"name": "nvidia' $(PLAN); then \
	    echo "torch would bring gigabytes of GPU packages, and there is no GPU here; point pip at an index of CPU builds (CONTRIBUTING.md says how), or take them all the same: make GPU=1 $(MAKECMDGOALS)" >&2; exit 1; fi
	@echo "installing seqloom and what it needs into $(VENV) (once; torch is large)" >&2
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

# The wanted Python is checked first, so that what is missing is said in one line.
$(BIN)/pip:
	@command -v "$(PYTHON)" >/dev/null || { \
	    echo "seqloom needs Python 3.11 or newer, and there is no '$(PYTHON)' here; install it, or name another: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "seqloom needs Python 3.11 or newer, and '$(PYTHON)' is $$("$(PYTHON)" --version 2>&1 | head -n 1); name another: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
	    echo "'$(PYTHON)' lacks its venv module; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@"$(PYTHON)" -m venv $(VENV)

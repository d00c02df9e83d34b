# Every target sets up what it needs in .venv; nothing but Python 3.11+ and pip is assumed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Two worker processes by default, each with one BLAS thread: results do not depend on the machine.
JOBS ?= 2
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1

.PHONY: demo test test-slow coverage docs examples mutants lint bench leaderboard realdata check-install check-oldest clean help

help:
	@echo "make demo   a minute: why robula matters, with a picture"
	@echo "make test   the whole test suite"
	@echo "make coverage  the same, with the share of the source that it runs (part of make test from Python 3.12 on)"
	@echo "make docs   the documentation site, docs/_build/html/index.html"
	@echo "make examples  the pictures of examples/, on real data"
	@echo "make mutants  half an hour: changes that matter, one by one, and whether the tests notice"
	@echo "make lint   ruff and mypy"
	@echo "make check-install, make check-oldest  a clean wheel; the oldest dependencies"
	@echo "make bench  speed tables: robust steps against plain ones, and against NUTS"
	@echo "make leaderboard  hours, resumable: every method against every attack, docs/leaderboard.md"
	@echo "make realdata  an hour, resumable: robula and its rivals on real data, docs/realdata.md"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "robula needs Python 3.11 or newer; point PYTHON at one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-bench: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@touch $@

$(VENV)/.installed-docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/robula demo --out demo

# Coverage is part of the summary where Python can measure it at little cost, from 3.12 on; before, it takes two fifths
# longer and has a target of its own. fail_under is in pyproject.toml.
PYTEST := -m pytest -n $(JOBS) --dist worksteal
COVERED := --cov --cov-report=term:skip-covered
test: $(VENV)/.installed-dev
	COVERAGE_CORE=sysmon $(BIN)/python $(PYTEST) -m "not slow" \
		$$($(BIN)/python -c 'import sys; print("$(COVERED)" if sys.version_info >= (3, 12) else "")')

coverage: $(VENV)/.installed-dev
	$(BIN)/python $(PYTEST) -m "not slow" $(COVERED)

# And what guards in the large what another test guards in the small.
test-slow: $(VENV)/.installed-dev
	$(BIN)/python $(PYTEST) -m slow

# Warnings are errors; the examples on the pages run, once, and again when they change.
docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# examples/air_quality.py needs a file that is not ours to give; AIR_QUALITY says where it is.
examples: $(VENV)/.installed-docs
	for script in $(filter-out examples/air_quality.py,$(wildcard examples/*.py)); do \
		MPLBACKEND=agg $(BIN)/python $$script --out docs/images/examples/$$(basename $$script .py).png || exit 1; done
	if [ -n "$(AIR_QUALITY)" ]; then \
		MPLBACKEND=agg $(BIN)/python examples/air_quality.py "$(AIR_QUALITY)" --out docs/images/examples/air_quality.png; fi

# scripts/mutants.toml has the list; ONLY=name runs a part of it. Fails where under 95 % are caught.
mutants: $(VENV)/.installed-dev
	$(BIN)/python scripts/mutants.py --jobs $(JOBS) --only "$(ONLY)"

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.speed

leaderboard: $(VENV)/.installed-dev $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks.leaderboard --jobs $(JOBS) --page

# A wheel of its own in a fresh environment, without extras; PYTHON says which interpreter.
check-install:
	scripts/check_install.sh $(PYTHON)

# The oldest dependencies that are declared.
check-oldest:
	scripts/check_oldest.sh $(PYTHON)

realdata: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks.realdata --jobs $(JOBS) --page

clean:
	rm -rf $(VENV) demo docs/_build .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis

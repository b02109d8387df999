# Every target does its own set-up: a fresh checkout needs only Python 3.11 (with venv) and make.
PYTHON ?= python3
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
LOCKED := uv pip compile --universal --generate-hashes --python-version 3.11 --no-header --no-annotate

.DEFAULT_GOAL := help
.PHONY: help install dev run gateway test lint types layers format check fidelity bench soak long-answer mutants image migrate-rev lock

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(VENV)/.installed ## Set up what the program needs, in .venv

dev: $(VENV)/.installed-dev ## Set up what working on it needs as well

run: install ## Start the bridge (page on http://127.0.0.1:8001/)
	@$(BIN)/threadbridge serve $(ARGS)

gateway: install ## Start the page and the API alone, without the chat platforms
	@$(BIN)/threadbridge serve --only web $(ARGS)

test: dev ## Run the tests (ARGS="tests/bridge -k inbox" for some of them)
	@$(BIN)/pytest -n 3 --dist worksteal $(ARGS)

lint: dev ## Check format and style
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

types: dev ## Check the types
	@$(BIN)/mypy

layers: dev ## Check who imports whom
	@$(BIN)/lint-imports

format: dev ## Bring the code into form
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

check: lint types layers test ## All that must be green: format, style, types, import layers, tests

fidelity: dev ## Show what of the corpus of answers reaches the screen (ARGS=telegram for one platform)
	@$(BIN)/python -m tests.fidelity $(ARGS)

bench: dev ## Measure speed and database growth against the floors
	@$(BIN)/python -m benchmarks $(ARGS)

soak: dev ## Measure what many turns add to memory and disk
	@$(BIN)/python -m benchmarks.soak $(ARGS)

long-answer: dev ## See that an answer of half an hour comes whole (ARGS="--minutes 5" for a shorter one)
	@$(BIN)/python -m benchmarks.long_answer $(ARGS)

mutants: dev ## Take pieces out of the program and see that a test notices
	@$(BIN)/python -m tests.mutants $(ARGS)

image: ## Build the container image `threadbridge` (ARGS="--build-arg BASE=…" for another base)
	@docker build --tag threadbridge --build-arg VERSION=$(VERSION) $(ARGS) .

migrate-rev: dev ## Write a migration from the tables: make migrate-rev MSG="add a column"
	@$(BIN)/python -m bridge.persistence.revise "$(MSG)"

lock: ## Pin all dependencies anew (needs uv)
	$(LOCKED) pyproject.toml --group build -o requirements.lock
	$(LOCKED) pyproject.toml --group build --group dev -c requirements.lock -o requirements-dev.lock
	$(LOCKED) --group peers --no-deps -o requirements-peers.lock

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'Python 3.11 or newer is needed. Name one: make PYTHON=python3.12 …' >&2; exit 1; }
	@echo 'Setting up .venv; this takes a minute or two, once.'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: requirements.lock pyproject.toml | $(BIN)/python
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --no-build-isolation --no-deps -e .
	@$(BIN)/python -m compileall -q agent bridge channels migrations
	@touch $@

$(VENV)/.installed-dev: requirements-dev.lock requirements-peers.lock $(VENV)/.installed
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@$(PIP) install --require-hashes --no-deps --no-warn-conflicts -r requirements-peers.lock
	@touch $@

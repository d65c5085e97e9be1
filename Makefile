# Two commands do everything on a fresh machine: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := agent aggregator collectors diagnostics remediations deploy bench tests
DEMO ?= h100-gpu-lost
SOAK ?= 20
MINUTES ?= 2
ARGS ?=
PYTEST := $(BIN)/python -m pytest -q -rs
MAKEFLAGS += --no-print-directory

# TOOLS=install puts the real tools of tests/tools.toml on the machine; a test that then lacks
# its tool fails instead of being skipped.
ifeq ($(TOOLS),install)
export GPUDIAG_TOOLS := required
endif

# make itself can only end with 0 or 2, so it cannot carry the verdict on: statuses 0 to 3 are
# verdicts of a walk that was made and end make with 0; anything else (64, 70) is a failure.
# Scripts that want the verdict call .venv/bin/gpudiag.
verdict = || { status=$$?; [ $$status -le 3 ] || exit $$status; }

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

# One stamp a set: made again when pyproject.toml or the pins change, or when PYTHON is given and
# .venv is of another version.
ifneq ($(origin PYTHON),file)
made_of := $(shell sed -n 's/^version *= *\([0-9]*\.[0-9]*\).*/\1/p' $(VENV)/pyvenv.cfg 2>/dev/null)
asked_for := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
ifneq ($(made_of),$(asked_for))
other_python := other-python
endif
endif
.PHONY: other-python

$(VENV)/.installed-%: pyproject.toml constraints.txt $(other_python)
	@command -v $(PYTHON) >/dev/null || { echo "set-up: there is no $(PYTHON) here; gpudiag needs Python 3.11 or newer: give one with PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) deploy/dev/set_up.py $*

.PHONY: install
install: $(VENV)/.installed-test ## make .venv with the commands and what tests need (PYTHON=python3.12 chooses)

.PHONY: run
run: $(VENV)/.installed-run ## walk this machine once (ARGS="--json" are handed on)
	@$(BIN)/gpudiag run $(ARGS) $(verdict)

.PHONY: demo
demo: $(VENV)/.installed-run ## replay a sick node; needs no GPU (DEMO=h100-gpu-lost)
	@$(BIN)/gpudiag run --replay tests/nodes/$(DEMO) $(ARGS) $(verdict)

.PHONY: tools
tools: $(VENV)/.installed-test
	@$(BIN)/python deploy/dev/compile_messages.py
ifeq ($(TOOLS),install)
	@$(BIN)/python deploy/dev/install_tools.py
	@$(MAKE) torch
endif

.PHONY: torch
torch: $(VENV)/.installed-torch ## PyTorch, for the tests that run real jobs of it

# pytest ends with 5 where it ran no test: right for one pass of a chosen few, wrong for all.
chosen = $(if $(ARGS),|| [ $$? -eq 5 ])

# By file, in their order: what a module has started is started once, and groups of xdist 3.8 do
# nothing under pytest 9.2. Sick jobs of tests/lab/torch run after what looks at the whole machine.
.PHONY: test
test: tools ## all tests (TOOLS=install: with the real tools, as root)
	@echo "test: two workers"
	@$(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder -m 'not serial' $(ARGS) $(chosen)
	@echo "test: one at a time"
	@$(PYTEST) -m serial $(ARGS) $(chosen)

.PHONY: fuzz
fuzz: $(VENV)/.installed-test ## hypothesis at random, 2,000 examples a property
	@HYPOTHESIS_PROFILE=fuzz $(PYTEST) --timeout 1800 -n 2 -m 'hypothesis and not serial' $(ARGS)

.PHONY: soak
soak: $(VENV)/.installed-test ## all tests again and again, 200 kills -9 where CI makes 5, heat killed in each state, 10 slow ranks where it makes 2, all generated recordings (SOAK=20)
	@for turn in $$(seq $(SOAK)); do echo "soak: turn $$turn of $(SOAK)"; GPUDIAG_KILLS=200 GPUDIAG_ROUNDS=10 GPUDIAG_GENERATED=all $(MAKE) test || exit 1; done

.PHONY: lint
lint: $(VENV)/.installed-test ## ruff, mypy, import contracts
	@echo "lint: ruff" && $(BIN)/ruff check --quiet . && $(BIN)/ruff format --check --quiet .
	@echo "lint: mypy" && $(BIN)/mypy --no-error-summary
	@echo "lint: imports" && $(BIN)/lint-imports --no-logo
	@find $(PACKAGES) -name '*.py' | xargs wc -l | awk '$$1 > 300 && $$2 != "total" { print "lint: long module, " $$1 " lines: " $$2 }'

.PHONY: verification
verification: $(VENV)/.installed-test ## write the generated part of docs/verification.md
	@$(BIN)/python -m deploy.dev.verification

.PHONY: messages
messages: $(VENV)/.installed-test ## write the catalogues of translations from what the sources say, and compile them
	@$(BIN)/python -m deploy.dev.messages

.PHONY: remedies
remedies: $(VENV)/.installed-test ## write docs/remedies.md from the catalogue of remedies
	@$(BIN)/python -m deploy.dev.remedies

.PHONY: codes
codes: $(VENV)/.installed-test ## write the tables of Xids and SXids from their sources
	@$(BIN)/python -m deploy.dev.make_codes

.PHONY: bench
bench: $(VENV)/.installed-test ## seconds and memory of the commands, beside a bare Python
	@$(BIN)/python -m bench.run $(ARGS)
	@$(BIN)/python -m bench.nvml
	@$(BIN)/python -m bench.network
	@$(BIN)/python -m bench.agent --minutes $(MINUTES)
	@$(BIN)/python -m bench.ingest
	@$(BIN)/python -m bench.logs $(ARGS)

.PHONY: score
score: $(VENV)/.installed-test ## how often the diagnosis of recorded nodes is true (CORPUS=DIR: and of real logs)
	@$(BIN)/python -m tests.score

.PHONY: bless
bless: $(VENV)/.installed-test ## write what recorded nodes are expected to get, and print what changed
	@$(BIN)/python -m tests.nodes.bless $(ARGS)

.PHONY: build
build: $(VENV)/.installed-test ## wheel and sdist into dist/
	@echo "build: wheel and sdist" && rm -rf dist
	@said=$$($(BIN)/python -m build --no-isolation --outdir dist . 2>&1) || { echo "$$said"; exit 1; }
	@ls -1 dist

.PHONY: clean
clean: ## remove .venv and what tools left
	@rm -rf $(VENV) build dist .hypothesis .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

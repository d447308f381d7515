# EasyRider from a fresh clone: every target makes sure of its own environment in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# stamps: what runs the product, and what also runs its tests and benches
RUN := $(VENV)/.run-ready
TEST := $(VENV)/.test-ready

# what a site and the image hold: no plots, no Parquet, no servers
SERVICES := telemetry actuator forecaster policy policy-api infra-bridge recorder twin cli

# test files that run at a time; 1 runs them one after another
WORKERS ?= 3

.DEFAULT_GOAL := help
.PHONY: help install demo run up down test promises lint type bench bench-controllers bench-forecasters docs lock clean

help: ## show this
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-18s %s\n", $$1, $$2}'

install: $(RUN) ## build .venv with everything that runs

demo: $(RUN) ## a simulated rack loses a supply module, without and with control (4 minutes)
	$(BIN)/easyrider demo --out demo-out

run: $(RUN) ## keep the whole stack up on this machine and say where to look
	$(BIN)/easyrider up

up: $(RUN) ## the same in containers: every service, two simulated nodes (needs Docker with Compose)
	@deploy/compose/stack.sh up

down: ## end those containers, and remove what they kept; keys and settings in site/ stay
	@deploy/compose/stack.sh down

test: $(TEST) ## every test that can run here, WORKERS files at a time (most of them wait for clocks)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

promises: $(TEST) ## every promise of docs/promises.md with its tests, and whether it held (20 minutes)
	$(BIN)/python tests/shared/promises.py

lint: $(TEST) ## style and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

type: $(TEST) ## static types, strict
	$(BIN)/mypy

bench: $(TEST) ## measure planner, twin and agent; writes bench/out
	$(BIN)/python bench/planner.py
	$(BIN)/python bench/hierarchy.py
	$(BIN)/python bench/planner_scattered.py
	$(BIN)/python bench/twin.py
	$(BIN)/python bench/day.py
	$(BIN)/python bench/steady.py
	$(BIN)/python bench/periods.py
	$(BIN)/python bench/fingerprints.py
	$(BIN)/python bench/agent.py
	$(BIN)/python bench/fleet.py
	$(BIN)/python bench/forecaster_speed.py

bench-controllers: $(RUN) ## controllers side by side in a simulated hall; QUICK=1, TRACES=DIR, SEEDS=3
	$(BIN)/easyrider bench controllers --out bench/out $(if $(filter-out 0,$(QUICK)),--quick) \
	  $(if $(TRACES),--traces '$(TRACES)') $(if $(SEEDS),--seeds $(SEEDS))

bench-forecasters: $(TEST) ## forecasters on recorded and synthetic loads; QUICK=1, TRACES=DIR
	$(BIN)/easyrider bench forecasters --out bench/out $(if $(filter-out 0,$(QUICK)),--quick) \
	  $(if $(TRACES),--traces '$(TRACES)')

docs: $(RUN) ## write what is generated from code: docs/subjects.md, docs/asyncapi.json, docs/openapi.json
	$(BIN)/python -m easyrider.catalogue
	$(BIN)/python -m easyrider.access_tables
	$(BIN)/python -m easyrider_policy_api.describe
	$(BIN)/python -m easyrider.trip_presets

lock: ## resolve requirements anew (needs uv); versions and hashes only, no index
	uv pip compile pyproject.toml --extra all --extra rivals --group build --group test --group lint --group bench --group peers \
	  --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet -o requirements/test.txt
	uv pip compile pyproject.toml --extra all --group build --constraint requirements/test.txt \
	  --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet -o requirements/run.txt
	uv pip compile pyproject.toml $(SERVICES:%=--extra %) --constraint requirements/test.txt \
	  --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet -o requirements/services.txt
	uv pip compile --group pyproject.toml:build --constraint requirements/test.txt \
	  --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet -o requirements/build.txt

clean: ## remove caches and outputs; the environment stays (rm -r .venv to be rid of it)
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache bench/out demo-out dist build
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "EasyRider needs Python 3.11 or newer; name one: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# --no-deps: the list is complete, so nothing is fetched that it does not name
$(RUN): requirements/run.txt pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --require-hashes --no-deps -r requirements/run.txt
	$(PIP) install --quiet --no-index --no-deps --no-build-isolation -e .
	@touch $@

$(TEST): requirements/test.txt $(RUN)
	$(PIP) install --quiet --require-hashes --no-deps -r requirements/test.txt
	@touch $@

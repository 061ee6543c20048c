.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# What all of this is made with: exact versions, and the hashes of their files. `make lock` writes it.
LOCK := requirements-dev.txt
# The AWS CDK: half a gigabyte that only the tests of its construct need.
CDK_LOCK := requirements-cdk.txt
# Django, which only the tests of its backend need; Python 3.11 gets the last one that it runs, and the backport.
DJANGO_LOCK := requirements-django.txt
# What builds the documentation site, in an environment of its own.
DOCS_LOCK := requirements-docs.txt
# Test processes: more than most machines have processors, because the end-to-end tests mostly wait.
WORKERS ?= 4

.PHONY: help demo docs test quick soak mutants bench compare check audit bundle dist sbom lock reference format clean

help: ## Say what there is to make
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

$(READY): pyproject.toml $(LOCK)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "duebell needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes --only-binary :all: --requirement $(LOCK)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY) ## Run the example on the embedded stack, no AWS account needed (ARGS=--once: end when the task has run)
	$(BIN)/python -m examples.sales.demo $(ARGS)

test: $(READY) ## Run every test that CI runs, the end-to-end ones included (ARGS='-m "not e2e"' leaves those out)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

quick: $(READY) ## Run the tests for the loop while developing: no emulator, no browser, nothing slow; a minute and a half on two cores
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not e2e and not slow" --ignore tests/page $(ARGS)

soak: $(READY) ## Play a hundred thousand simulated histories, a sixth over the real table code and SDK; about two and a half hours on two cores
	$(BIN)/python -m tests.simulation.play --count 100000 $(ARGS)

mutants: $(READY) ## Break conditions of the protocol, one at a time, and see that a test fails; some minutes (ARGS='--sample 200 --seed 1': so many lines of the whole product at random; what survives is to be read)
	$(BIN)/python -m tests.mutants $(ARGS)

bench: $(READY) ## Measure what duebell costs beside what one would take instead, half an hour (ARGS=capacity: one part)
	$(BIN)/python -m bench $(ARGS)

compare: $(READY) ## Run the other ways to schedule on AWS beside duebell and write docs/compare.md, seven minutes (ARGS=simulated: half a minute, no emulator)
	$(BIN)/python -m alternatives $(ARGS)

check: $(READY) ## Lint, formatting, types, and the links and sentences of the docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/cfn-lint infra/template.yaml
	$(BIN)/python docs/check_links.py
	$(BIN)/python docs/check_words.py

audit: $(READY) ## Look for known faults: in the templates with checkov (some 300 MB, installed beside), in the lock with pip-audit
	@test -x $(VENV)/audit/bin/checkov || ($(PYTHON) -m venv $(VENV)/audit && $(VENV)/audit/bin/pip install --quiet checkov==3.3.30)
	$(VENV)/audit/bin/checkov --compact --quiet --skip-download --framework cloudformation --file infra/template.yaml
	$(VENV)/audit/bin/checkov --compact --quiet --skip-download --framework terraform --directory infra/terraform
	@test -x $(VENV)/pip-audit/bin/pip-audit || ($(PYTHON) -m venv $(VENV)/pip-audit && $(VENV)/pip-audit/bin/pip install --quiet pip-audit==2.10.1)
	$(VENV)/pip-audit/bin/pip-audit --strict --require-hashes --disable-pip --progress-spinner off --requirement $(LOCK)

bundle: $(READY) ## Make the page's script and style sheets of its modules; needs npm. Commit what it writes
	@test -x $(VENV)/esbuild/node_modules/.bin/esbuild || npm install --silent --no-audit --no-fund --ignore-scripts --prefix $(VENV)/esbuild esbuild@0.28.2
	$(BIN)/python -m tests.bundle $(VENV)/esbuild/node_modules/.bin/esbuild

dist: $(READY) ## Build wheel and sdist into dist/, check them, and run the smoke tests with each in an empty environment
	@test -x $(VENV)/twine/bin/twine || ($(PYTHON) -m venv $(VENV)/twine && $(VENV)/twine/bin/pip install --quiet twine==7.0.0)
	$(BIN)/python -m tests.dist $(VENV)/twine/bin/twine

sbom: $(READY) ## List all parts of the wheel and of the Lambda bundle in build/sbom, in CycloneDX
	@test -x $(VENV)/sbom/bin/cyclonedx-py || ($(PYTHON) -m venv $(VENV)/sbom && $(VENV)/sbom/bin/pip install --quiet cyclonedx-bom==7.5.0)
	$(BIN)/python -m tests.sbom $(VENV)/sbom/bin/cyclonedx-py

lock: ## Write the lock anew for what pyproject.toml asks for (ARGS=--upgrade: with the newest versions of everything)
	@test -x $(VENV)/lock/bin/uv || ($(PYTHON) -m venv $(VENV)/lock && $(VENV)/lock/bin/pip install --quiet uv==0.13.9)
	$(VENV)/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-emit-find-links --custom-compile-command 'make lock' --extra dev --output-file $(LOCK) $(ARGS) pyproject.toml
	$(VENV)/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-emit-find-links --custom-compile-command 'make lock' --extra cdk --constraint $(LOCK) \
	  --output-file $(CDK_LOCK) $(ARGS) pyproject.toml
	$(VENV)/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-emit-find-links --custom-compile-command 'make lock' --extra django --constraint $(LOCK) \
	  --output-file $(DJANGO_LOCK) $(ARGS) pyproject.toml
	$(VENV)/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-emit-find-links --custom-compile-command 'make lock' --group pyproject.toml:docs \
	  --output-file $(DOCS_LOCK) $(ARGS)

docs: $(VENV)/docs/.ready ## Build the documentation site into build/site, strictly, from what is here
	$(VENV)/docs/bin/python docs/make_site.py

$(VENV)/docs/.ready: $(DOCS_LOCK)
	$(PYTHON) -m venv $(VENV)/docs
	$(VENV)/docs/bin/python -m pip install --quiet --require-hashes --only-binary :all: --requirement $(DOCS_LOCK)
	@touch $@

reference: $(READY) ## Write docs/reference.md, docs/commands.md, and what the tables of settings and parameters define
	$(BIN)/python docs/make_reference.py
	$(BIN)/python docs/make_settings.py

format: $(READY) ## Format the code and fix what the linter can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## Remove the virtual environment and everything built
	rm -rf $(VENV) dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

# The front door. `make export` and `make test` are all a newcomer needs; each sets up what it uses.
# The first Python of 3.11 to 3.13 that runs; scripts/set_up.py says in one line what a machine lacks.
PYTHON ?= $(shell for one in python3.11 python3 python3.12 python3.13; do \
	"$$one" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2> /dev/null && echo "$$one" && exit; \
	done; echo python3)
VENV ?= .venv
BIN := $(VENV)/bin
ARTEFACT ?= artefacts/matcher-int8
# The site is built in an environment of its own: a few megabytes, no torch.
DOCS_VENV ?= .venv-docs
SITE ?= build/site
# The stamps carry a checksum of what was installed: a changed lock installs again.
sum = $(shell cat $(1) | cksum | cut -d ' ' -f 1)
INSTALLED := requirements.lock scripts/set_up.py pyproject.toml mobilebert_runtime/pyproject.toml
READY := $(VENV)/.ready-$(call sum,$(INSTALLED))
READY_DEV := $(VENV)/.ready-dev-$(call sum,$(INSTALLED) requirements-dev.lock)
# Processes of the test run, each with single-threaded libraries; a file stays in one process, in its order, and
# files start in theirs: the longest, end to end, first.
WORKERS ?= 2
# Which of the slow tests run: exports, devices, trainings (tests/turns.py), all, or commit: the third it chooses.
TURN ?= all
# Compiling every module of every package is half of the installation: a module is compiled when it is first used,
# and kept, which some containers forbid.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: export test test-slow test-landing test-all lint docs format bench dist lock clean

export: $(READY) ## the shipped matcher as a verified int8 TFLite artefact
	$(BIN)/mobilebert export --model shipped --target tflite --quant int8 --seq-len 128 --out $(ARTEFACT) --force

PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadscope --no-loadscope-reorder \
	--durations 25

test: $(READY_DEV) ## everything but what is marked slow
	$(PYTEST) -m "not slow"

test-slow: $(READY_DEV) ## exports, devices, trainings: studies, Android tools, long fuzzing; a third with TURN=exports
	$(PYTEST) -m slow --turn $(TURN)

test-landing: $(READY_DEV) ## what CI runs: `make test`, and the third of the slow tests that the commit chooses
	$(PYTEST) --turn commit

test-all: test test-slow ## every test

lint: $(READY_DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pip check

format: $(READY_DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(DOCS_VENV)/.ready ## the site with the API reference, in build/site; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs build --site-dir $(abspath $(SITE))

bench: $(READY) ## latency of the shipped matcher, int8 beside fp32, interleaved
	$(BIN)/mobilebert export --model shipped --quant none --out artefacts/matcher-fp32 --force
	$(BIN)/mobilebert export --model shipped --quant int8 --out $(ARTEFACT) --force
	$(BIN)/mobilebert bench artefacts/matcher-fp32 $(ARTEFACT) --threads 4

# A release: wheels and sdists, and of each shipped matcher a data wheel, .tflite, .onnx and zips, with checksums.
MODELS ?= $(notdir $(wildcard models/mobilebert_models/shipped/matcher-*))
HOME_URL ?= $(if $(GITHUB_REPOSITORY),$(GITHUB_SERVER_URL)/$(GITHUB_REPOSITORY))
RELEASED := $(foreach one,$(MODELS),build/release/$(one)-tflite build/release/$(one)-onnx)

dist: $(READY) $(RELEASED) ## what a release holds, in dist/; some minutes a matcher, the exports are kept in build/
	$(BIN)/python scripts/make_dist.py dist $(if $(HOME_URL),--home $(HOME_URL)) \
	  $(foreach one,$(MODELS),--model $(one) build/release/$(one)-tflite build/release/$(one)-onnx)

build/release/%-tflite: $(READY)
	$(BIN)/mobilebert export --model $* --target tflite --no-measure --out $@ --force

build/release/%-onnx: $(READY)
	$(BIN)/mobilebert export --model $* --target onnx --no-measure --out $@ --force

lock: ## the locks again, with hashes, for the versions that are locked; needs uv
	$(PYTHON) scripts/lock.py

$(READY): $(INSTALLED)
	$(PYTHON) scripts/set_up.py $(VENV) requirements.lock
	@touch $@

$(READY_DEV): $(READY) requirements-dev.lock
	$(PYTHON) scripts/set_up.py $(VENV) requirements.lock requirements-dev.lock
	@touch $@

$(DOCS_VENV)/.ready: requirements-docs.lock
	$(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_VENV)/bin/python -m pip install --quiet --requirement requirements-docs.lock
	@touch $@

clean: ## what this Makefile set up and built; artefacts/ and runs/ stay
	rm -rf $(VENV) $(DOCS_VENV) build dist *.egg-info mobilebert_runtime/*.egg-info

include android_bench/android.mk
include web/web.mk

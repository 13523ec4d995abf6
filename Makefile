# The front door. `make export` and `make test` are all a newcomer needs; each sets up what it uses.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
ARTEFACT ?= artefacts/matcher-int8
# The site is built in an environment of its own: a few megabytes, no torch.
DOCS_VENV ?= .venv-docs
SITE ?= build/site
# The stamps carry a hash of what was installed: a changed lock installs again.
hash = $(shell cat $(1) | sha256sum | cut -c1-16)
READY := $(VENV)/.ready-$(call hash,requirements.lock pyproject.toml mobilebert_runtime/pyproject.toml)
READY_DEV := $(VENV)/.ready-dev-$(call hash,requirements.lock requirements-dev.lock pyproject.toml mobilebert_runtime/pyproject.toml)
# Processes of the test run, each with single-threaded libraries; a file stays in one process, in its order, and
# files start in theirs: the longest, end to end, first.
WORKERS ?= 2
# Compiling every module of every package is half of the installation: a module is compiled when it is first used,
# and kept, which some containers forbid.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: export test test-slow lint docs format bench clean

export: $(READY) ## the shipped matcher as a verified int8 TFLite artefact
	$(BIN)/mobilebert export --model shipped --target tflite --quant int8 --seq-len 128 --out $(ARTEFACT) --force

PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadscope --no-loadscope-reorder \
	--durations 25

test: $(READY_DEV) ## ten minutes: everything but what is marked slow
	$(PYTEST) -m "not slow"

test-slow: $(READY_DEV) ## studies, Android tools, further exports, long fuzzing; CI runs it after `test`
	$(PYTEST) -m slow

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

# The lock names every package, so two processes can install a part each; unpacking keeps one core busy.
# setuptools comes before them: it builds the two packages of this tree, and every pip that starts loads its hook.
$(READY): requirements.lock pyproject.toml mobilebert_runtime/pyproject.toml
	@echo "setting up $(VENV): the locked packages, a minute or two"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile pip==26.3 $(shell grep ^setuptools== requirements.lock)
	xargs -P 2 -n 17 $(BIN)/python -m pip install --no-compile --no-deps --progress-bar on < requirements.lock
	$(BIN)/python -m pip install --quiet --no-compile --no-deps --no-build-isolation --editable ./mobilebert_runtime --editable .
	@touch $@

$(READY_DEV): $(READY) requirements-dev.lock
	@echo "adding the test tools to $(VENV)"
	$(BIN)/python -m pip install --no-compile --progress-bar on --requirement requirements.lock --requirement requirements-dev.lock
	@touch $@

$(DOCS_VENV)/.ready: requirements-docs.lock
	$(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_VENV)/bin/python -m pip install --quiet --requirement requirements-docs.lock
	@touch $@

clean:
	rm -rf $(VENV) $(DOCS_VENV) artefacts build *.egg-info

include android_bench/android.mk

# The front door. `make export` and `make test` are all a newcomer needs; each sets up what it uses.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready-$(shell cat requirements.lock pyproject.toml | sha256sum | cut -c1-16)
ARTEFACT ?= artefacts/matcher-int8

.PHONY: export test lint format bench clean

export: $(READY) ## the shipped matcher as a verified int8 TFLite artefact
	$(BIN)/mobilebert export --model shipped --target tflite --quant int8 --seq-len 128 --out $(ARTEFACT) --force

test: $(READY) ## what CI runs after lint
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY) ## latency of the shipped matcher, int8 beside fp32, interleaved
	$(BIN)/mobilebert export --model shipped --quant none --out artefacts/matcher-fp32 --force
	$(BIN)/mobilebert export --model shipped --quant int8 --out $(ARTEFACT) --force
	$(BIN)/mobilebert bench artefacts/matcher-fp32 $(ARTEFACT) --threads 4

# The stamp carries a hash of what was installed: a changed lock installs again.
$(READY): requirements.lock pyproject.toml
	@echo "setting up $(VENV): the locked packages, a minute or two"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip==26.3
	$(BIN)/python -m pip install --progress-bar on --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	@rm -f $(VENV)/.ready-*
	@touch $@

clean:
	rm -rf $(VENV) artefacts build *.egg-info

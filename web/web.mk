# Targets of the web package and the site; the project's Makefile includes this file and defines BIN and READY_DEV.
# A fresh clone needs node 20 or later and Debian's chromium; everything else comes from npm and PyPI by lock files.
WEB_READY := web/node_modules/.ready-$(call sum,web/package-lock.json)
FASTEMBED_VENV ?= build/fastembed
FASTEMBED := $(FASTEMBED_VENV)/.ready-$(call sum,web/requirements-fastembed.txt)
WEB_ONNX ?= artefacts/matcher-onnx

.PHONY: web web-quick web-test

# `make test` and `make test-slow` run a sample of the web tests with these; without node or Chromium they say "not run".
# CI runs it before `make test`, which alone fetches nothing from npm.
test-slow test-landing: web-quick

web-quick: ## npm's packages, which each push fetches where node is there
	@if command -v npm > /dev/null; then timeout 300 $(MAKE) $(WEB_READY) || echo "not run: the web tests, for npm's packages can't be had"; fi

web: $(WEB_READY) ## the npm package into web/dist, the site's files into mobilebert_export/site_files
	cd web && npm run check && npm run build

web-test: web $(READY_DEV) $(FASTEMBED) $(ARTEFACT)/io.json $(WEB_ONNX)/io.json ## the package and the site, in Node and Chromium
	MOBILEBERT_WEB=1 MOBILEBERT_TFLITE=$(ARTEFACT) MOBILEBERT_ONNX=$(WEB_ONNX) \
		FASTEMBED_PYTHON=$(FASTEMBED_VENV)/bin/python OMP_NUM_THREADS=1 $(BIN)/python -m pytest -s tests/web \
		tests/android_bench/test_web_result.py tests/mobilebert_export/test_transformers_layout.py

$(WEB_READY): web/package-lock.json web/package.json
	cd web && ONNXRUNTIME_NODE_INSTALL=skip npm ci
	@touch $@

$(FASTEMBED): web/requirements-fastembed.txt
	$(PYTHON) -m venv $(FASTEMBED_VENV)
	$(FASTEMBED_VENV)/bin/python -m pip install --quiet --requirement web/requirements-fastembed.txt
	@touch $@

$(ARTEFACT)/io.json: | $(READY)
	$(MAKE) export

$(WEB_ONNX)/io.json: | $(READY)
	$(BIN)/mobilebert export --model shipped --target onnx --out $(WEB_ONNX) --force

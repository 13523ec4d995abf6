# Targets of the Android work; the project's Makefile includes this file and defines BIN, READY and READY_DEV.
ANDROID_TOOLS ?= build/android-tools
ANDROID_RUNNERS := $(ANDROID_TOOLS)/runner-tflite.tar $(ANDROID_TOOLS)/runner-onnx.tar
RUNNER_SOURCES := $(addprefix android_bench/,__init__.py measuring/__init__.py measuring/worker.py measuring/external_model.py measuring/machine.py runner/device.py \
	runner/run.sh runner/bundle.py) $(wildcard mobilebert_runtime/*.py)
export MOBILEBERT_ANDROID_TOOLS := $(abspath $(ANDROID_TOOLS))

ANDROID_TESTS := tests/android_bench/test_phone_layouts.py tests/android_bench/test_phone_gradle.py tests/android_bench/test_phone_core.py tests/android_bench/test_phone_host.py tests/android_bench/test_phone_app.py \
	tests/android_bench/test_phone_bridge.py tests/android_bench/test_phone_aar.py tests/android_bench/test_phone_loader.py tests/android_bench/test_phone_tasks.py \
	tests/android_bench/test_phone_icu.py tests/android_bench/test_phone_shrunk.py tests/android_bench/test_phone_maven.py tests/android_bench/test_phone_cold_start.py \
	tests/android_bench/test_phone_arm.py tests/android_bench/test_arm_instructions.py

.PHONY: android-quick android-tools android-test android-test-all android-artefacts apk aar maven

# The slow tests run the Java core, the driver and the APK with these; the bridge and the Arm tests need more
# than a push can wait for, and say "not run" until `make android-tools`.
test-slow test-landing: android-quick

android-quick: $(READY) ## the smaller Android tools, which each push fetches
	-timeout 300 $(BIN)/python -m android_bench.toolchain.tools quick

android-tools: $(READY) ## fetch what the Android tests use; says what this machine cannot get
	-$(BIN)/python -m android_bench.toolchain.tools
	-$(MAKE) --keep-going $(ANDROID_RUNNERS)

$(ANDROID_TOOLS)/runner-%.tar: $(RUNNER_SOURCES) requirements.lock | $(READY)
	$(BIN)/mobilebert phone bundle $* --out $@ --force

android-test: android-tools $(READY_DEV) ## Java core, driver on a real adbd, APK, bridge, Arm kernels of two processors
	$(BIN)/python -m pytest $(ANDROID_TESTS)

android-artefacts: $(READY) ## int8 for both runtimes: the default matcher for the APK, matcher-qqp-m for the Arm comparison
	test -d artefacts/matcher-int8 || \
		$(BIN)/mobilebert export --target tflite --quant int8 --out artefacts/matcher-int8
	test -d artefacts/matcher-int8-onnx || \
		$(BIN)/mobilebert export --target onnx --quant int8 --out artefacts/matcher-int8-onnx
	test -d artefacts/matcher-qqp-m-int8 || \
		$(BIN)/mobilebert export --model matcher-qqp-m --target tflite --quant int8 --out artefacts/matcher-qqp-m-int8
	test -d artefacts/matcher-qqp-m-int8-onnx || \
		$(BIN)/mobilebert export --model matcher-qqp-m --target onnx --quant int8 --out artefacts/matcher-qqp-m-int8-onnx

android-test-all: android-tools android-artefacts $(READY_DEV) ## the same with those artefacts, on four processors
	MOBILEBERT_ANDROID_ALL=1 $(BIN)/python -m pytest $(ANDROID_TESTS)

apk: android-tools android-artefacts ## the app without Gradle: build/mobilebert-bench.apk, with ONNX Runtime where it can be had
	$(BIN)/python -m android_bench.build_app.apk build/mobilebert-bench.apk artefacts/matcher-int8 artefacts/matcher-int8-onnx

aar: android-quick ## the Android library without Gradle: build/aar, with its POM and the listing of its interface
	$(BIN)/python -m android_bench.build_app.aar build/aar

maven: android-tools $(READY) ## the Android libraries as a Maven repository: build/maven/mobilebert-maven.zip
	test -d artefacts/matcher-open-m || \
		$(BIN)/mobilebert export --model matcher-open-m --target tflite --quant int8 --out artefacts/matcher-open-m
	rm -rf build/maven
	$(BIN)/python -m android_bench.build_app.maven build/maven artefacts/matcher-open-m matcher-open-m

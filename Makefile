# SPDX-License-Identifier: Apache-2.0
# The two commands of the README, and what they consist of. CMake builds; see CMakePresets.json.

.PHONY: all demo check test bench engines fuzz attack install deps build models packages clean

all: build

demo: models
	@examples/demo/demo.sh

# What takes two minutes of it: no engine, no sanitizer.
check: deps
	@tests/run.sh check

test: deps
	@tests/run.sh

bench: deps
	@cmake --preset default -Wno-dev --log-level=WARNING
	@cmake --build --preset default
	@examples/demo/models.sh
	@bench/run.sh

# The programs of docs/ENGINES.md: builds llama.cpp's and whisper.cpp's programs first, two hours in all.
engines: models
	@examples/demo/deps.sh engines
	@examples/demo/engine-device.sh vulkan 3.14.0 3.17.1 3.20.0
	@examples/demo/engine-programs.sh
	@examples/demo/engine-others.sh
	@examples/demo/onnxruntime.sh onnxruntime-1.17.3 >/dev/null
	@examples/demo/onnxruntime.sh transformers-4.3.2 >/dev/null
	@bench/engines.py --markdown
	@bench/engines.py --markdown --others
	@bench/serving.py

fuzz: deps
	@tests/fuzz/run.sh $(or $(SECONDS_PER_TARGET),600)

# The long form of what the tests in tests/attack do: twenty minutes.
attack: deps
	@tests/attack/run.sh $(KILLS) $(SESSIONS) $(RECORDINGS)

deps:
	@examples/demo/deps.sh

# Programs and libraries, without tests and benches and what only those need.
build:
	@examples/demo/deps.sh build
	@cmake --preset programs -Wno-dev --log-level=WARNING
	@cmake --build --preset programs

# Debian packages and a relocatable tar.gz, in build-package/packages.
packages:
	@examples/demo/deps.sh packages
	@packaging/build.sh

# The real engine and random-weights models that the demo, the tests and the benches run.
models: build
	@examples/demo/models.sh

install: build
	@cmake --install build

clean:
	rm -rf build build-clang build-asan build-tsan build-package

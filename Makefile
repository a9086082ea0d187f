# The front of the project: each target is one line in `make help`.
SHELL := /bin/bash
BUILD ?= build
JOBS ?= $(shell nproc)
CTEST = ctest --test-dir $(BUILD) --output-on-failure

.DEFAULT_GOAL := all
.PHONY: all help deps demo test conformance soak qemu bench check format clean

help:  ## lists the targets, one line each
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

deps:  ## installs what is missing from Debian
	@tools/install-deps.sh

all: $(BUILD)/build.ninja  ## configures and builds into build/ (the default)
	@ninja -C $(BUILD) -j $(JOBS)

$(BUILD)/build.ninja: | deps
	@cmake --preset release -B $(BUILD)

demo: all  ## mounts a small bucket made on the spot and shows it (KEEP=1 leaves it mounted)
	@KEEP=$(KEEP) tools/demo.sh $(BUILD)/bin

test: all  ## runs all tests that need nothing but this machine
	@$(CTEST) -LE soak $(if $(ONLY),-R $(ONLY))

conformance: all  ## bucketd against real clients, our client against independent servers (ONLY=name)
	@python3 test/conformance/run.py --bin $(BUILD)/bin $(if $(ONLY),--only $(ONLY))

soak: all  ## the long runs, minutes each (ONLY=name)
	@$(CTEST) -L soak $(if $(ONLY),-R $(ONLY))

qemu: all  ## image volumes on the kernels 6.1 and 6.12, in an emulator (KERNEL=6.1|6.12|PATH, CGROUPS=v1|v2, ONLY=names)
	@tools/install-deps.sh --qemu
	@python3 test/qemu/run.py --bin $(BUILD)/bin $(if $(KERNEL),--kernel $(KERNEL)) $(if $(CGROUPS),--cgroups $(CGROUPS)) $(if $(ONLY),--only "$(ONLY)")

bench: all  ## measures; writes build/bench/*.json and a table (ONLY=name, LONG=1, BENCH_ARGS=…)
	@python3 test/bench/run.py --bin $(BUILD)/bin --out $(BUILD)/bench $(if $(ONLY),--only $(ONLY)) $(if $(LONG),--long) $(BENCH_ARGS)

check:  ## formatting, static checks, include edges, generated files, sanitizer builds, brief fuzzing
	@tools/install-deps.sh --all
	@tools/check.sh $(ONLY)

format:  ## formats every source file
	@git ls-files '*.cc' '*.h' | xargs clang-format -i

clean:  ## removes what was built
	@rm -rf build build-debug build-clang build-asan build-tsan build-fuzz

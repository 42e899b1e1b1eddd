# TL Runtime. `make` lists the targets.
#
# Needed: Go, a C and a C++ compiler, Python 3.10 or newer, make. What else the
# tests want goes into build/venv; optional peers that are missing (spin, clang,
# valgrind, ninja, pkg-config) are skipped with a line that says so.

ifneq ($(words $(CURDIR)),1)
$(error make splits names at spaces: move the sources to a folder without one, from "$(CURDIR)")
endif

BUILD  := $(CURDIR)/build
PREFIX ?= /usr/local
PYTHON ?= python3

VERSION := $(shell cat packaging/VERSION)
LIBRARY := $(BUILD)/libtl_runtime.so.$(VERSION)
FULL    := $(BUILD)/libtl_runtime_full.so.$(VERSION)
BITCODE := $(BUILD)/tl_runtime.bc
CHECKED := $(BUILD)/checked
VENV    := $(BUILD)/venv
IN_VENV := $(VENV)/bin
SMALL   := $(if $(wildcard $(VENV)/.ready),$(VENV),$(BUILD)/small)
REQUIREMENTS := python/tests/requirements.txt
FAST    := python/tl_runtime/_fast.abi3.so
WITH_LIBRARY := PYTHONPATH=python TL_RUNTIME_LIBRARY=$(LIBRARY)

# What `tl run` compiles with and runs on.
TOOL      := $(BUILD)/tl
WITH_TOOL := TL_RUNTIME_LIBRARY=$(LIBRARY) TL_PYTHON=$(IN_VENV)/python TL_CACHE=$(BUILD)/cache
DIGITS    := $(BUILD)/examples/planned

SYSTEM_CMAKE := $(shell command -v cmake 2>/dev/null)
CMAKE := $(or $(SYSTEM_CMAKE),$(IN_VENV)/cmake)
INSTALL_CMAKE := $(or $(SYSTEM_CMAKE),$(SMALL)/bin/cmake)
CTEST := $(or $(and $(SYSTEM_CMAKE),$(shell command -v ctest 2>/dev/null)),$(IN_VENV)/ctest)
NINJA := $(if $(shell command -v ninja 2>/dev/null),-G Ninja)
JOBS  ?= $(shell nproc 2>/dev/null || echo 2)

# How much of the proof suite is tried, which parts of it (all when empty), and from which seed.
SCALE ?= 1
ONLY  ?=
SEED  ?= $(shell date +%s)
PROVE  = $(WITH_LIBRARY) go run ./tools/prove -build $(BUILD) -only '$(ONLY)'

# A package has longer than Go's ten minutes: a busy machine is no defect.
GO_TEST := go test -timeout 40m

TL_POINTERS ?= 1000000

# Of every suite `make test` runs what finds most for its time, `make test-rest` the others.
QUICK_STEPS ?= gen+lint go c python+demo
REST_STEPS  ?= c-rest model+go-rest+race+packages+ecosystem+interop python-rest+checked prove+scale+docs install
# What continuous integration leaves out.
BY_HAND     ?= exports+pythons models

LIBRARY_SOURCES := $(filter-out %_test.go,$(shell find capi cshim runtime -name '*.go' -o -name '*.[chsS]')) \
	capi/exports.map go.mod $(wildcard go.sum) packaging/build_library.sh packaging/VERSION
FULL_SOURCES := $(LIBRARY_SOURCES) $(filter-out %_test.go,$(shell find compiler -name '*.go')) capi/exports_full.map

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: help lib full full-static python-fast bitcode static debug checked demo demo-c demo-python demo-planned demo-tiny tool FORCE test prove proof bench gen gen-check format lint lint-lite install uninstall clean venv
.PHONY: wheel sdist release abi
.PHONY: test-rest test-all test-c-programs
.PHONY: $(addprefix test-,$(subst +, ,$(QUICK_STEPS) $(REST_STEPS) $(BY_HAND)))

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1\t\2/p' Makefile | expand -t 14

lib: $(LIBRARY) ## build build/libtl_runtime.so; its header is include/tl_runtime.h

$(LIBRARY): $(LIBRARY_SOURCES)
	@echo 'building the library, about a minute'
	@packaging/build_library.sh $(BUILD)

full: $(FULL) ## build build/libtl_runtime_full.so, which has graphs and their plans as well; its header is include/tl_graph.h

$(FULL): $(FULL_SOURCES)
	packaging/build_library.sh --full $(BUILD)

full-static: $(BUILD)/libtl_runtime_full.a ## build build/libtl_runtime_full.a, to link into a program instead

$(BUILD)/libtl_runtime_full.a: $(FULL_SOURCES)
	packaging/build_library.sh --full --static $(BUILD)

python-fast: $(FAST) ## build the Python package's extension module, if there are a C compiler and CPython 3.11 or newer

# Without them there is no file, and the package goes through ctypes.
$(FAST): $(wildcard python/src/*) include/tl_runtime.h packaging/build_python_fast.sh
	@CFLAGS="-Wall -Wextra -Werror" packaging/build_python_fast.sh $(@D) $(PYTHON) || [ $$? -eq 77 ]

bitcode: $(BITCODE) ## build build/tl_runtime.bc from include/tl_inline.ll, if clang 15 or newer is installed

# Without that compiler there is no file.
$(BITCODE): include/tl_inline.ll packaging/build_bitcode.sh
	@packaging/build_bitcode.sh $@ || [ $$? -eq 77 ]

static: $(BUILD)/libtl_runtime.a ## build build/libtl_runtime.a, to link into a program

$(BUILD)/libtl_runtime.a: $(LIBRARY_SOURCES)
	packaging/build_library.sh --static $(BUILD)

debug: $(LIBRARY).debug ## build build/libtl_runtime.so with its symbols in a file beside it, for debuggers

$(LIBRARY).debug: $(LIBRARY_SOURCES)
	packaging/build_library.sh --debug $(BUILD)

checked: $(CHECKED)/libtl_runtime.so.$(VERSION) ## build build/checked/libtl_runtime.so, which verifies its books while it works

$(CHECKED)/libtl_runtime.so.$(VERSION): $(LIBRARY_SOURCES)
	packaging/build_library.sh $(CHECKED) -tags tlcheck

# demo-c and so on, in this order, and what that was.
demo: demo-c demo-python demo-planned demo-tiny ## train a network on handwritten digits, plan it, compile it, run it; run a small language
	@cat examples/demo.txt

demo-c: $(LIBRARY)
	@$(MAKE) --no-print-directory -C examples/digits BUILD=$(BUILD) run

demo-python: $(LIBRARY) python-fast $(SMALL)/.ready
	@echo; $(WITH_LIBRARY) $(SMALL)/bin/python examples/digits.py examples/data/digits.csv.gz $(DIGITS)

demo-planned: demo-python $(TOOL)
	@$(WITH_TOOL) TL_PYTHON=$(SMALL)/bin/python $(SMALL)/bin/python examples/digits_planned.py $(DIGITS) $(TOOL)

demo-tiny: $(LIBRARY) $(SMALL)/.ready $(TOOL)
	@echo; $(MAKE) --no-print-directory -C examples/tiny BUILD=$(BUILD) PYTHON=$(SMALL)/bin/python test

tool: $(TOOL) ## build build/tl, which plans, compiles and runs models, and lowers programs

$(TOOL): FORCE
	@[ -f $@ ] || echo 'building build/tl, half a minute'
	@packaging/build_library.sh --tool $(BUILD)

FORCE:

venv: $(VENV)/.ready

CHECK_PYTHON := $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed")'

$(VENV)/.ready: $(REQUIREMENTS)
	@$(CHECK_PYTHON)
	@echo 'installing what the tests need into build/venv, 740 MB'
	@test -x $(IN_VENV)/python || $(PYTHON) -m venv $(VENV)
	@$(IN_VENV)/python -m pip install --quiet -r $(REQUIREMENTS) $(if $(SYSTEM_CMAKE),,cmake)
	@touch $@

# What the demo and `make install` need of it.
ifneq ($(SMALL),$(VENV))
$(SMALL)/.ready: $(REQUIREMENTS)
	@$(CHECK_PYTHON)
	@echo 'installing NumPy and llvmlite into build/small, 270 MB'
	@test -x $(SMALL)/bin/python || $(PYTHON) -m venv $(SMALL)
	@grep -E '^(numpy|llvmlite)==' $(REQUIREMENTS) >$(SMALL)/requirements.txt
	@$(SMALL)/bin/python -m pip install --quiet -r $(SMALL)/requirements.txt $(if $(SYSTEM_CMAKE),,cmake)
	@touch $@
endif

DOCS_VENV := $(BUILD)/docs-venv

.PHONY: docs test-docs
docs: $(LIBRARY) $(DOCS_VENV)/.ready ## build the documentation site, build/docs/index.html
	$(WITH_LIBRARY) docs/site/build.sh $(BUILD) $(DOCS_VENV)

$(DOCS_VENV)/.ready: docs/site/requirements.txt
	test -x $(DOCS_VENV)/bin/python || $(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_VENV)/bin/python -m pip install --quiet -r $<
	touch $@

test: ## run what finds most of every suite, in both paths: 8 to 15 minutes on two cores, downloads of 740 MB apart
	@.ci/suite $(BUILD)/test 'make test: 8 to 15 minutes on two cores, and the download of build/venv (740 MB) once' \
		$(MAKE) $(QUICK_STEPS)

test-rest: ## run the rest: 25 to 45 minutes on two cores; libraries of others are downloaded
	@.ci/suite $(BUILD)/test-rest 'make test-rest: 25 to 45 minutes on two cores, and the download of libraries of others once' \
		$(MAKE) $(REST_STEPS) $(BY_HAND)

test-all: ## run both
	@failed=0; for part in test test-rest; do $(MAKE) --no-print-directory $$part || failed=1; done; exit $$failed

test-gen: gen-check

test-lint: lint

# Lint vets, and what a test has under testing.Short is its quick half. Some want the packages in build/venv.
# Which devices the suite could not run on is told at the end.
test-go: $(LIBRARY) $(FULL) $(VENV)/.ready
	TL_PYTHON=$(IN_VENV)/python $(GO_TEST) -vet=off -short ./...
	@go test -vet=off -v -run '^TestConform$$' ./runtime/device/backends | sed -n 's/^.*: skip: /skip: /p'

# Packages that have more than the quick half: rapid tries a fifth in it. Examples are part of it.
LONG_GO = $(sort $(dir $(shell grep -rlE 'testing\.Short|rapid\.Check|headless\.Some' --include=*_test.go . | grep -v '^./build/')))
test-go-rest: $(LIBRARY) $(FULL) $(VENV)/.ready
	TL_PYTHON=$(IN_VENV)/python $(GO_TEST) -vet=off $(LONG_GO)

# The compiler and runtime/offsets start no goroutine (TestTheCompilerIsSequential): the detector has nothing to find there.
test-race:
	$(GO_TEST) -vet=off -race $(filter-out tlruntime/runtime/offsets,$(shell go list ./runtime/...))

# Those that take longer than five seconds, third and later ways to run a program, C++ under AddressSanitizer, which takes
# long to compile.
REST_C := instructions|memcheck|undefined|undefined_inlined|static|compilers|linear|debugger|mpi_others|tsan\..*|kinds\.(plain|limit|sampled|instructions)
REST_C := $(REST_C)|headers\.(matrix|no_exceptions)|(device_faults|device_tensors|growing|realloc|profile)\.(asan|debug|no_leaks.*)
REST_C := $(REST_C)|(host_limits|host_refuses|inject|memory|small_stacks|descriptors|start|chain|first_use|threads|pointers)\..*
REST_C := $(REST_C)|(.*hpp|no_exceptions|registry_places)\.asan
REST_C := ^($(REST_C)|.*\.(inline_slow|small_.|no_leaks_tracked))$$
RUN_C   = $(CTEST) --test-dir $(BUILD)/cmake --output-on-failure --parallel $(JOBS)

test-c: test-c-programs
	$(RUN_C) --exclude-regex '$(REST_C)'

test-c-rest: test-c-programs
	MAKEFLAGS=--no-print-directory $(CMAKE) --build $(BUILD)/cmake --parallel $(JOBS) --target rest_programs
	$(RUN_C) --tests-regex '$(REST_C)'

test-c-programs: $(BUILD)/cmake/.configured
	MAKEFLAGS=--no-print-directory $(CMAKE) --build $(BUILD)/cmake --parallel $(JOBS)

$(BUILD)/cmake/.configured: CMakeLists.txt $(wildcard cmake/*.cmake tests_c/CMakeLists.txt tests_c/proof/CMakeLists.txt tests_c/cmake/*.cmake) \
		$(if $(SYSTEM_CMAKE),,$(VENV)/.ready)
	$(CMAKE) -S . -B $(BUILD)/cmake $(NINJA) -DTL_RUNTIME_LIBRARY_DIR=$(BUILD) -DTL_RANDOM_POINTERS=$(TL_POINTERS)
	touch $@

# The checkers run in Go's tests of the tables, and inside the library below the model of the interface and programs of
# tests_c.
CHECKED_GO := $(addprefix ./runtime/,consistency heap object mempool registry tensor) ./tests_go/mempool
MODEL      := $(BUILD)/cmake/tests_c/proof/model
CHECKED_C  := scopes|objects|references|adopt|types|vec|clone|cycles|frames|arena|tensors|growing|shrinking|slots|tensor_pool|sparse|sparse_borrowed|sparse_faults|views|dlpack|dlpack_deleters|memory_pool|memory_limits|out_of_memory|registry|registry_batch|registry_deleters|workspace|destructor|debug|debug_threads|stress|device_tensors|sharing
test-checked: checked test-c-programs proof
	go test -tags tlcheck $(CHECKED_GO)
	.ci/checked $(CHECKED) $(BUILD)/cmake/tests_c/vec_test $(CTEST) --test-dir $(BUILD)/cmake --output-on-failure --parallel $(JOBS) \
		--tests-regex '^($(CHECKED_C))\.(fast|slow|debug)$$'
	for path in 1 0; do for mode in turns free wild; do \
		TL_FASTPATH=$$path .ci/checked $(CHECKED) $(MODEL) $(MODEL) plain $$mode || exit 1; done; done

test-python: $(LIBRARY) $(FULL) bitcode python-fast $(VENV)/.ready $(TOOL)
	.ci/python $(BUILD) $(LIBRARY) $(IN_VENV)/python $(JOBS) quick

test-python-rest: $(LIBRARY) $(FULL) bitcode python-fast $(VENV)/.ready $(TOOL)
	.ci/python $(BUILD) $(LIBRARY) $(IN_VENV)/python $(JOBS) rest

# The whole suite on the other Pythons, which takes minutes for each.
test-pythons: $(LIBRARY) bitcode python-fast $(VENV)/.ready $(TOOL)
	.ci/pythons $(BUILD) $(LIBRARY) $(IN_VENV)/python whole

# The sample is the same each time; `make prove` begins elsewhere.
test-prove: proof
	$(PROVE) -scale 0.01 -seed 2

prove: proof ## run the whole proof suite, hours of it, and write docs/proof.md; SCALE=0.1 less, ONLY=matrix,builds/arm64 parts or programs
	$(PROVE) -scale $(SCALE) -seed $(SEED) -page docs/proof.md

proof: $(LIBRARY) python-fast $(VENV)/.ready $(BUILD)/cmake/.configured
	MAKEFLAGS=--no-print-directory $(CMAKE) --build $(BUILD)/cmake --parallel $(JOBS) --target proof

test-demo: demo

# Large packages of others, in continuous integration alone.
test-interop: $(LIBRARY)
	.ci/interop $(BUILD) $(LIBRARY) $(PYTHON)

test-ecosystem: $(LIBRARY) $(TOOL)
	.ci/ecosystem $(BUILD) $(LIBRARY) $(PYTHON)

# Ninety networks that PyTorch exports, by hand: it takes minutes.
test-exports: $(LIBRARY) $(VENV)/.ready $(TOOL)
	TL_PYTHON=$(IN_VENV)/python .ci/exports $(BUILD) $(LIBRARY) $(IN_VENV)/python

# Several processes, by MPI.
test-scale: $(LIBRARY) python-fast $(TOOL)
	.ci/scale $(BUILD) $(LIBRARY) $(PYTHON)

# Every page in a browser, where one is installed.
test-docs: docs
	.ci/browser $(BUILD)/docs $(DOCS_VENV)/bin/python

test-model:
	docs/model/run.sh quick

# To the end, which takes minutes, whatever was searched before.
test-models:
	docs/model/run.sh

test-install: $(LIBRARY) $(FULL) full-static bitcode
	rm -rf $(BUILD)/staged
	$(MAKE) --no-print-directory install PREFIX=/opt/tl DESTDIR=$(BUILD)/staged
	tests_c/scripts/installed_tree.sh $(BUILD)/staged/opt/tl $(CC)
	$(MAKE) --no-print-directory uninstall PREFIX=/opt/tl DESTDIR=$(BUILD)/staged
	@test -z "$$(find $(BUILD)/staged ! -type d ! -name consumer)" || { find $(BUILD)/staged ! -type d; exit 1; }
	@test -z "$$(find $(BUILD)/staged/opt/tl -mindepth 2 -type d)" || { find $(BUILD)/staged -type d; exit 1; }
	@! $(MAKE) --no-print-directory --dry-run install PREFIX=relative >$(BUILD)/refused 2>&1
	@grep -q 'PREFIX=relative is not an absolute path; write PREFIX=/' $(BUILD)/refused

test-packages: $(LIBRARY)
	.ci/packages $(BUILD) $(PYTHON)

bench: $(LIBRARY) python-fast $(VENV)/.ready $(TOOL) ## measure beside malloc and the peers that are installed; writes bench/RESULTS.md
	PATH="$(IN_VENV):$$PATH" bench/run.sh $(BUILD)

gen: ## write everything that is derived from capi/
	go run ./tools/gen
	packaging/build_bitcode.sh --text
	packaging/licenses.sh

gen-check: ## fail when a derived file or a document is stale, or a documented error has no test
	go run ./tools/gen -check
	go run ./tools/gen -coverage
	go run ./tools/doccheck
	packaging/licenses.sh --check
	packaging/build_bitcode.sh --check
	@echo 'gen-check: derived files are fresh, documented errors have tests, documents agree'

# Builds are not looked at: that of the Python package has a copy of the sources with those that they need.
WITH_GO := $(wildcard *.go) $(filter-out build/ python/,$(wildcard */))
lint-lite: ## gofmt, go vet, file sizes
	@test -z "$$(gofmt -l $(WITH_GO))" || { gofmt -l $(WITH_GO); echo 'lint: run gofmt'; exit 1; }
	go vet ./...
	GOOS=darwin CGO_ENABLED=0 go vet ./runtime/device/...
	.ci/sizes

format: $(VENV)/.ready ## format C and C++ by .clang-format
	@.ci/format $(IN_VENV)/clang-format -i

lint: lint-lite $(VENV)/.ready ## lint-lite, clang-format, mypy and the linters that are installed
	@.ci/format $(IN_VENV)/clang-format --dry-run -Werror
	@.ci/optional staticcheck ./...
	@.ci/optional shellcheck --severity=error .ci/* $(shell find bench docs packaging tests_c tools -name '*.sh')
	@cd python && $(IN_VENV)/mypy

# What makes and checks packages, in an environment of its own.
PACKAGES := $(BUILD)/packages

$(PACKAGES)/.ready: packaging/requirements.txt
	test -x $(PACKAGES)/bin/python || $(PYTHON) -m venv $(PACKAGES)
	$(PACKAGES)/bin/python -m pip install --quiet -r packaging/requirements.txt
	touch $@

wheel: $(PACKAGES)/.ready ## build the wheels of the Python package into build/dist
	packaging/build_wheels.sh $(PACKAGES) $(BUILD)/dist

sdist: $(PACKAGES)/.ready ## build the source distribution of the Python package into build/dist; Go alone builds it
	$(PACKAGES)/bin/python -m build --no-isolation --sdist --outdir $(BUILD)/dist python

release: $(PACKAGES)/.ready ## build everything that belongs to a tag into build/release
	packaging/release.sh $(PACKAGES) $(BUILD) $(MAKE)

abi: debug ## write packaging/abi: the interface's types and layouts, for a release
	packaging/abi.sh write $(BUILD)

# The path goes into pkg-config's file and, as advice, into the loader's list: it has to be one from everywhere.
ifneq ($(and $(filter install,$(MAKECMDGOALS)),$(filter-out /%,$(PREFIX))),)
$(error PREFIX=$(PREFIX) is not an absolute path; write PREFIX=$(abspath $(PREFIX)))
endif

# What was built once and is installed, too, is of the same sources.
BUILT := $(wildcard $(FULL) $(BUILD)/libtl_runtime.a $(BUILD)/libtl_runtime_full.a)

install: $(LIBRARY) $(BUILT) bitcode $(if $(SYSTEM_CMAKE),,$(SMALL)/.ready) ## install to PREFIX (default /usr/local), below DESTDIR
	$(INSTALL_CMAKE) -S . -B $(BUILD)/install $(NINJA) -DBUILD_TESTING=OFF -DTL_RUNTIME_LIBRARY_DIR=$(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX)
	$(INSTALL_CMAKE) --build $(BUILD)/install
	DESTDIR=$(DESTDIR) $(INSTALL_CMAKE) --install $(BUILD)/install
	@packaging/ldconfig.sh $(PREFIX) $(DESTDIR)

uninstall: ## remove what was installed to PREFIX, below DESTDIR
	DESTDIR=$(DESTDIR) packaging/uninstall.sh $(PREFIX)

clean: ## remove build/
	rm -rf $(BUILD)

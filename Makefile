PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
endif

.PHONY: demo install test soak check lint types clean

demo: install
	$(BIN)/python tools/demo.py

install: $(VENV)/installed
test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n 2 --dist loadfile

soak: $(VENV)/installed-dev
	$(BIN)/python -m pytest -m soak --timeout 1800 tests/faults tests/server

check: lint types test

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python tools/build_front.py --check

types: $(VENV)/installed-dev
	$(BIN)/mypy

$(VENV)/installed: requirements.txt requirements/builtin.txt
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Python 3.11 or newer is needed, this is ' + sys.version)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -r requirements.txt -r requirements/builtin.txt
	touch $@

$(VENV)/installed-dev: $(VENV)/installed requirements/dev.txt
	$(BIN)/python -m pip install -q -r requirements/dev.txt
	touch $@

clean:
	rm -rf $(VENV) .demo

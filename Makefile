# Every recipe is one line; the first run makes .venv and installs into it.
PYTHON ?= python3
# Each interpreter that is named gets an environment of its own: `make test PYTHON=python3.13`.
NAMED := $(filter command environment,$(origin PYTHON))
VENV := .venv$(if $(NAMED),$(shell $(PYTHON) -c 'import sys; print("-%d.%d" % sys.version_info[:2])'))
# What `make test` runs: `make test TESTS="-m 'not client' tests"`.
TESTS ?= tests
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Enough for the demo: what the package itself needs, without tools of development.
OWN := $(VENV)/.own
# The versions that development and CI use; `make lock` writes them anew, `make LOCKED=` goes without.
LOCKED ?= --constraint constraints.txt

.PHONY: demo test test-long test-versions recordings check bench smoke docs lock owner clean

# Play a recorded session through the real hook entry and watch it fill.
demo: $(if $(wildcard $(READY)),$(READY),$(OWN))
	@$(BIN)/brimline demo

# All tests, the real Claude Code client included (it is fetched once with npm).
test: $(READY)
	$(BIN)/python -m pytest -n 3 $(TESTS)

# The same with more of it: seeds, kills, hooks at once.
test-long: $(READY)
	$(BIN)/python -m pytest -n 2 -m long --timeout 1800 tests

# What the mod relies on, in the first client that has mods, one in between and the pinned one.
test-versions: $(READY)
	$(BIN)/python -m pytest -n 2 -m long --timeout 1800 tests/client/test_mod_versions.py

# Record the sessions of tests/transcript/test_recordings.py anew, in the pinned client.
recordings: $(READY)
	$(BIN)/python -m tests.client.recordings

# Lint, format, types, layers, generated docs.
check: $(READY)
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports && $(BIN)/python docs/generate.py --check

# Interleaved timings as ratios to an empty interpreter; writes benchmarks/RESULTS.md.
bench: $(READY)
	$(BIN)/python benchmarks/run.py

# Build sdist and wheel, install them alone in a fresh environment, run doctor and one hook.
smoke: $(READY)
	$(BIN)/python benchmarks/smoke.py

# Rewrite the generated reference pages and the README picture.
docs: $(READY)
	$(BIN)/python docs/generate.py

# Take the newest versions that pyproject.toml admits into constraints.txt.
lock:
	rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock && .venv-lock/bin/python -m pip install --quiet --editable '.[dev]' && .venv-lock/bin/python -m pip freeze --exclude-editable > constraints.txt && rm -rf .venv-lock

# Once, before anything is published: `make owner OWNER=name` names the account on GitHub everywhere.
owner:
	git grep -lz 'OWNER/brimline' -- . ':!Makefile' | xargs -0 perl -pi -e 's{OWNER/brimline}{$(OWNER)/brimline}g'

clean:
	rm -rf .venv .venv-* .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build

# A new environment with what $(1) needs.
INSTALL = $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "brimline needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")' && $(PYTHON) -m venv $(VENV) && { $(BIN)/python -m pip install --quiet $(LOCKED) --editable '$(1)' || { echo 'brimline: the versions in constraints.txt are not to be had here, so the newest are taken'; $(BIN)/python -m pip install --quiet --editable '$(1)'; }; } && touch $@

$(READY): pyproject.toml constraints.txt
	$(call INSTALL,.[dev])

$(OWN): pyproject.toml constraints.txt
	$(call INSTALL,.)

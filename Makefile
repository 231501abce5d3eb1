# Everything a fresh machine needs: Python 3.11 or newer with venv and pip. The rest is installed into .venv.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check
# pyenv puts a python3.12 on the path that refuses to start while another version is active
PYTHON312 ?= $(lastword python3.12 $(wildcard $(HOME)/.pyenv/versions/3.12.*/bin/python3.12))

.DEFAULT_GOAL := help
.PHONY: help demo check test test-lowest test-pythons test-lerobot test-franka test-foxglove docs explorable reproduce oracle mutants bench soak sizes clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.installed ## two arms, nine moves and a wall: in your browser, or as a film in out/demo
	@if $(BIN)/python -c 'from farhand.running import browser; exit(not browser.has_browser())'; then \
		$(BIN)/farhand run dual-arm --open; \
	else \
		$(BIN)/farhand run dual-arm --headless --report out/demo \
		&& echo "open out/demo/index.html in a browser: a film of the two arms, plots and numbers"; \
	fi

check: $(VENV)/.installed-dev ## format, lint, types and the quick tests, in a minute and a half
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -n 2 -q -m quick

test: $(VENV)/.installed-dev ## format, lint, types and the whole test suite
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -n 2 -q

test-lowest: ## the test suite with the lowest versions that pyproject.toml allows
	@$(PYTHON) tests/lowest.py --venv .venv-lowest

test-pythons: ## the quick tests on Python 3.11, 3.12 and 3.13, where they are installed
	@for version in 3.11 3.12 3.13; do $(PYTHON) tests/lowest.py --newest --python $$version --venv .venv-$$version -m quick || exit 1; done

test-lerobot: $(VENV)/.installed-dev ## LeRobot's own commands and classes on simulated arms; it needs Python 3.12 and some gigabytes
	@$(PYTHON312) -m venv .venv-lerobot 2>/dev/null || { echo "LeRobot needs python3.12 on the path" >&2; exit 2; }
	@.venv-lerobot/bin/pip install -q "lerobot[feetech,dynamixel,damiao,core-scripts,training,diffusion]==0.6.1" msgpack pytest
	@.venv-lerobot/bin/pip install -q --force-reinstall --no-deps ./integrations/client ./integrations/lerobot
	@FARHAND_KERNELS=compiled $(BIN)/python -m farhand.running.fill_cache # not beside the tests
	@FARHAND=$(abspath $(BIN))/farhand .venv-lerobot/bin/python -m pytest -q --noconftest -c /dev/null --rootdir tests/lerobot tests/lerobot

test-franka: $(VENV)/.installed-dev ## the Franka maker's own client on arms that others simulate; it needs Python 3.12
	@$(PYTHON312) -m venv .venv-franka 2>/dev/null || { echo "franka-sim needs python3.12 on the path" >&2; exit 2; }
	@.venv-franka/bin/pip install -q "pylibfranka==0.21.3" "franka-sim==1.1.7"
	@FARHAND_FRANKA_PYTHON=$(abspath .venv-franka/bin/python) $(BIN)/python -m pytest -q tests/franka

test-foxglove: $(VENV)/.installed-dev ## Foxglove's own client on a published session; it needs Node.js
	@npm install --silent --no-fund --no-audit --prefix out/foxglove @foxglove/ws-protocol@0.8.0 ws@8 || { echo "Foxglove's client needs Node.js with npm" >&2; exit 2; }
	@FARHAND_FOXGLOVE_CLIENT=$(abspath out/foxglove/node_modules) $(BIN)/python -m pytest -q tests/publishing/test_foxglove.py

docs: $(VENV)/.installed-docs ## the documentation site, warnings are errors; into out/docs
	@$(BIN)/python -m sphinx -W --keep-going -n -q docs out/docs
	@echo "the site is in out/docs/index.html"

explorable: $(VENV)/.installed ## the page of the site on which delay shakes two arms, 189 runs; into out/docs
	@$(BIN)/python -m farhand_lab.explorable --out out/docs/explorable.html

reproduce: $(VENV)/.installed ## reproduce the published results; report in out/results, summary in docs/results
	@$(BIN)/farhand reproduce --report out/results --json docs/results/reproduce.json
	@$(BIN)/python docs/results/summarise.py

oracle: $(VENV)/.installed ## compare every rig's recordings and every verdict with the kept ones
	@$(BIN)/python -m farhand_lab.oracle compare

mutants: $(VENV)/.installed-dev ## change one sign or number at a time; a test must notice; results in docs/results
	@$(BIN)/python -m farhand_lab.mutants $(MUTANTS)

bench: $(VENV)/.installed-bench ## the benchmarks, beside their floors and peers
	@$(BIN)/farhand bench

soak: $(VENV)/.installed ## hours of every rig with random operators and faults; results in docs/results
	@$(BIN)/farhand soak

sizes: ## lines of code per module, without docstrings and comments; the largest first
	@$(PYTHON) tests/sizes.py

clean: ## back to a fresh checkout: removes .venv, out and caches
	@rm -rf $(VENV) .venv-* out build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis docs/api docs/_build
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
		|| { echo "Farhand needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>/dev/null || echo missing). Try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null \
		|| { echo "Farhand needs Python's venv and pip; on Debian and Ubuntu: apt install python3-venv" >&2; exit 2; }
	@$(PYTHON) -m venv --clear $(VENV) || { rm -rf $(VENV); exit 2; }

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo "Installing Farhand into $(VENV) (once; a minute or two) ..."
	@$(PIP) -e .
	@touch $@

# The extras bring the runtime with them, so they stamp it as well.
$(VENV)/.installed-dev $(VENV)/.installed-bench $(VENV)/.installed-docs: $(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	@echo "Installing Farhand with its $* tools into $(VENV) (once; a minute or two) ..."
	@$(PIP) -e '.[$*]'
	@touch $(VENV)/.installed $@

# Everything a fresh machine needs: Python 3.11 or newer with venv and pip. The rest is installed into .venv.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test reproduce bench soak clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.installed ## two arms, nine moves and a wall; the report goes to out/demo
	@$(BIN)/farhand run dual-arm --headless --report out/demo

test: $(VENV)/.installed-dev ## lint, types and the test suite
	@$(BIN)/ruff check .
	@$(BIN)/mypy farhand
	@$(BIN)/python -m pytest -n 2 -q

reproduce: $(VENV)/.installed ## reproduce the published results of all rigs into docs/results
	@$(BIN)/farhand reproduce --report docs/results --json docs/results/reproduce.json

bench: $(VENV)/.installed-bench ## the benchmarks, beside their floors and peers
	@$(BIN)/farhand bench

soak: $(VENV)/.installed ## hours of every rig with random operators and faults; results in docs/results
	@$(BIN)/farhand soak
	@$(BIN)/python -c "from farhand_lab.dual_arm.rates_wall import soak; raise SystemExit(soak(60))"

clean: ## back to a fresh checkout: removes .venv, out and caches
	@rm -rf $(VENV) out build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
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

# The dev and bench extras bring the runtime with them, so they stamp it as well.
$(VENV)/.installed-dev $(VENV)/.installed-bench: $(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	@echo "Installing Farhand with its $* tools into $(VENV) (once; a minute or two) ..."
	@$(PIP) -e '.[$*]'
	@touch $(VENV)/.installed $@

# Needs make and Python 3.11 or newer; everything else goes into $(VENV).
# Another interpreter: make demo PYTHON=/path/to/python3.12

PYTHON ?= python3
VENV ?= .venv
export PYTHON VENV

# Several attempts and a long wait, for slow lines; your own settings win.
PIP_RETRIES ?= 5
PIP_DEFAULT_TIMEOUT ?= 60
PIP_DISABLE_PIP_VERSION_CHECK ?= 1
export PIP_RETRIES PIP_DEFAULT_TIMEOUT PIP_DISABLE_PIP_VERSION_CHECK

# The workers, and the programs that tests start, compile everything once and not each by itself.
unexport PYTHONDONTWRITEBYTECODE

# Hypothesis tries the same examples on every run: quick has 20 of each; full (make test-all) has
# 100; dev searches for new ones.

BIN := $(VENV)/bin
PY := $(BIN)/python
# A stamp says which packages are in $(VENV). It is out of date after a change of pyproject.toml,
# and its name holds a checksum of this folder's path: a moved environment is made anew.
STAMP := $(VENV)/.installed-$(shell pwd | cksum | cut -d' ' -f1)
RUNTIME := $(STAMP)-runtime
TEST := $(STAMP)-test
DEV := $(STAMP)-dev
FRAMEWORKS := $(STAMP)-frameworks

# A test that hangs ends its worker, which another one replaces: the run goes on, and is red.
HANGING := -o faulthandler_timeout=600 -o faulthandler_exit_on_timeout=true

# Titles and commands for scripts/side_by_side.py.
DOCTESTS := --doctest-modules src/voirdire -o python_files=none \
	-o 'doctest_optionflags=NORMALIZE_WHITESPACE ELLIPSIS'
EXAMPLES = \
	"the examples of the pages, 1/2" "$(PY) scripts/pages.py --check --part 1/2" \
	"the examples of the pages, 2/2" "$(PY) scripts/pages.py --check --part 2/2" \
	"the wheel in an environment of its own" "scripts/check_wheel.sh" \
	"the examples in docstrings" "$(PY) -m pytest -p no:cacheprovider $(DOCTESTS)"

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo install test test-ci test-all golden bench docs lint format generate clean distclean system-packages

help: ## list these targets
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 16

demo: $(RUNTIME) ## set everything up, and judge, examine and reward bundled responses
	@$(BIN)/voirdire demo
	@echo "The command line is $(BIN)/voirdire."

install: $(DEV) $(FRAMEWORKS) system-packages ## install everything that any target needs

test: $(TEST) ## set everything up and run the tests of every day, in parallel
	@$(PY) -m pytest -n auto --dist worksteal $(HANGING) -m "not ci and not slow"

test-ci: $(DEV) $(FRAMEWORKS) system-packages ## what is real: browsers, servers, frameworks; the examples; the wheel
	@VOIRDIRE_REQUIRE_FRAMEWORKS=1 $(PY) -m pytest -n auto --dist worksteal $(HANGING) -m "ci and not slow"
	@$(PY) scripts/side_by_side.py $(EXAMPLES)

test-all: $(DEV) $(FRAMEWORKS) system-packages ## every test, slow ones too, with coverage; the examples; the wheel
	@HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-full} VOIRDIRE_REQUIRE_FRAMEWORKS=1 $(PY) scripts/all_tests.py
	@$(PY) scripts/side_by_side.py $(EXAMPLES)

golden: $(TEST) ## write the figures of tests/golden/ anew: a commit of its own, which says why
	@$(PY) scripts/golden.py

bench: $(TEST) ## measure speed and memory
	@for bench in benchmarks/bench_*.py; do $(PY) $$bench || exit 1; done

docs: $(DEV) ## build the documentation into docs/_build/html
	@$(PY) -m sphinx -E -n -W --keep-going -q -b html docs docs/_build/html
	@echo "Documentation: docs/_build/html/index.html"

lint: $(DEV) ## style, types, layers, spelling, changelog fragments, generated tables
	@$(PY) scripts/side_by_side.py \
		"mypy" "$(PY) -m mypy" \
		"the table of true sizes is current" "$(PY) scripts/t_size_table.py --check" \
		"docs/reference/cli.md is current" "$(PY) scripts/cli_page.py --check" \
		"codespell" "$(BIN)/codespell --skip ./docs/_build" \
		"import-linter" "$(BIN)/lint-imports --no-logo" \
		"towncrier" "$(PY) -m towncrier build --draft --version next --date today" \
		"changelog fragments" "$(PY) scripts/check_fragments.py" \
		"ruff check" "$(PY) -m ruff check ." \
		"ruff format" "$(PY) -m ruff format --check ."

format: $(DEV) ## format the code and mend what ruff can mend
	@$(PY) -m ruff check --fix-only .
	@$(PY) -m ruff format .

generate: $(DEV) ## write what is generated in the pages anew
	@$(PY) scripts/cli_page.py
	@$(PY) scripts/t_size_table.py
	@$(PY) scripts/pages.py

clean: ## remove what was built; the environment stays
	rm -rf build dist docs/_build htmlcov .coverage voirdire-demo .benchmarks .hypothesis \
		.mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +

distclean: clean ## remove the environment too
	rm -rf $(VENV)

system-packages:
	@scripts/system_packages.sh

$(RUNTIME): pyproject.toml
	@scripts/install.sh runtime
	@touch $@

$(TEST): $(RUNTIME)
	@scripts/install.sh test
	@touch $@

$(DEV): $(TEST)
	@scripts/install.sh lint docs
	@touch $@

$(FRAMEWORKS): $(TEST)
	@scripts/install.sh frameworks
	@touch $@

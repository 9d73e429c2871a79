# Each target sets up what it needs by itself: a fresh machine needs make and Python 3.10+.
# On Debian and Ubuntu a missing python3-venv or Java is installed when there are root rights.

RUN := scripts/run.sh
PYTEST := $(RUN) python -m pytest
# Whole files go to a worker, which has its own JVM and PostgreSQL; WORKERS=0 runs in one process.
SPREAD := -n $(or $(WORKERS),2) --dist loadfile
CODE := src tests examples benchmarks

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-spark test-thorough lint types format check docs-check smoke-oldest jar wheel bench clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' Makefile

demo:  ## Build a lake of two million orders in demo-lake/ and query it
	@scripts/setup.sh demo
	@$(RUN) python examples/demo.py

test:  ## Run the tests
	@scripts/setup.sh test
	@$(PYTEST) $(SPREAD) -m "not thorough" $(ARGS)

test-thorough:  ## Run the tests that take minutes: every pair of operations, with DuckDB too
	@scripts/setup.sh test
	@$(PYTEST) $(SPREAD) --dist load -m thorough $(ARGS)

test-fast:  ## Run the tests that need no JVM
	@scripts/setup.sh dev
	@$(PYTEST) $(SPREAD) -m "not spark and not thorough" $(ARGS)

test-spark:  ## Run the tests that start Spark
	@scripts/setup.sh test
	@$(PYTEST) $(SPREAD) -m spark $(ARGS)

lint:  ## Check style and spelling
	@scripts/setup.sh dev
	@$(RUN) ruff check $(wildcard $(CODE))
	@$(RUN) ruff format --check $(wildcard $(CODE))
	@$(RUN) codespell src tests examples benchmarks docs scripts Makefile *.md

types:  ## Check types
	@scripts/setup.sh dev
	@$(RUN) mypy

format:  ## Format the code and apply safe fixes
	@scripts/setup.sh dev
	@$(RUN) ruff check --fix $(wildcard $(CODE))
	@$(RUN) ruff format $(wildcard $(CODE))

docs-check:  ## Check that the documentation names what exists
	@scripts/setup.sh dev
	@$(PYTEST) tests/unit/test_docs.py

check: lint types test-fast  ## Run what has to pass before a push

smoke-oldest:  ## Try the main paths on the oldest supported PySpark
	@scripts/smoke_oldest.sh

jar:  ## Make the jar of the bridge with javac, for places that forbid compiling at run time
	@scripts/setup.sh dev
	@scripts/build_jar.sh

wheel: jar  ## Build the wheel, with the jar
	@$(RUN) pip wheel --quiet --no-deps --wheel-dir dist .

bench:  ## Run the benchmarks: SIZE=small|default|large, ARGS="--only append ddl"
	@scripts/setup.sh bench
	@$(RUN) python benchmarks/run.py --size $(or $(SIZE),default) $(ARGS)

clean:  ## Remove caches, the demo lake and what Spark leaves behind; keep the environments
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist demo-lake spark-warehouse \
		metastore_db derby.log
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

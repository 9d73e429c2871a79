#!/usr/bin/env bash
# Runs tests/smoke/smoke.py on the oldest PySpark that is supported, in .venv-oldest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/machine.sh

oldest="${OLDEST_PYSPARK:-4.0.*}"
make_venv .venv-oldest
install_into .venv-oldest oldest -e '.[test]' "pyspark==$oldest"
ensure_java .venv-oldest
VENV=.venv-oldest scripts/run.sh python tests/smoke/smoke.py

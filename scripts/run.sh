#!/usr/bin/env bash
# Runs a command of a virtual environment with the Java that set-up found:
#   scripts/run.sh pytest -m spark
#   VENV=.venv-oldest scripts/run.sh python tests/smoke/smoke.py
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv="$root/${VENV:-.venv}"

if [ -f "$venv/java-home" ]; then
  JAVA_HOME=$(cat "$venv/java-home")
  export JAVA_HOME
fi
# Spark starts its Python workers by name: they must be of the same environment.
export PATH="$venv/bin:$PATH" PYSPARK_PYTHON="$venv/bin/python"
# Another Spark of this machine would be started instead of the one installed here.
unset SPARK_HOME PYSPARK_DRIVER_PYTHON
# A host name that does not resolve would keep a local session from starting.
export SPARK_LOCAL_IP="${SPARK_LOCAL_IP:-127.0.0.1}"
# Java 17 takes the encoding of file names from the locale, and a bare machine has none.
[ -n "${LC_ALL:-${LANG:-}}" ] || export LC_ALL=C.UTF-8

cd "$root"
exec "$@"

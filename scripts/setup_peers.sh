#!/usr/bin/env bash
# Makes .venv-peers, where the benchmarks run Delta and Iceberg: this package, a PySpark that
# both support, and their jars in .venv-peers/ivy/jars. Repeated runs do nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/machine.sh

venv=.venv-peers
pyspark="${PEERS_PYSPARK:-4.1.*}"
packages="${PEERS_PACKAGES:-io.delta:delta-spark_4.1_2.13:4.4.0,org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0}"

make_venv "$venv"
install_into "$venv" peers -e . "pyspark==$pyspark"
ensure_java "$venv"

stamp="$venv/.installed-jars"
if [ -d "$venv/ivy/jars" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$packages" ]; then
  exit 0
fi
say "fetching $packages"
rm -rf "$venv/ivy"
# Where a Maven repository in the home directory has a package's description without its jar,
# Spark looks for the jar nowhere else. So it gets a home directory that has none.
if ! JDK_JAVA_OPTIONS="-Duser.home=$PWD/$venv" VENV=$venv scripts/run.sh python - \
  "$packages" "$PWD/$venv/ivy" >"$venv/ivy.log" 2>&1 <<'PYTHON'; then
import sys
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.jars.packages", sys.argv[1])
builder.config("spark.jars.ivy", sys.argv[2]).getOrCreate().stop()
PYTHON
  fail "the jars of Delta and Iceberg could not be fetched." "See $venv/ivy.log."
fi
printf '%s\n' "$packages" >"$stamp"

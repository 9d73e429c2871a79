#!/usr/bin/env bash
# Makes src/ducklake_spark/bridge/ducklake.jar with javac, from the source that Spark compiles at run time.
# The jar serves where compiling at run time is forbidden: spark.ducklake.bridge=jar takes it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/machine.sh

bridge=src/ducklake_spark/bridge
command -v javac > /dev/null || fail "javac is missing: install a JDK 17 (Debian and Ubuntu: openjdk-17-jdk-headless)"
jars=$(scripts/run.sh python -c 'import pathlib, pyspark; print(pathlib.Path(pyspark.__file__).parent / "jars")')
classes=$(mktemp -d)
trap 'rm -rf "$classes"' EXIT
sources=("$bridge"/java/ducklake/*.java)
# Catalogs can hold views from Spark 4.2 on.
if scripts/run.sh python -m zipfile -l "$jars"/spark-catalyst_*.jar | grep -q connector/catalog/RelationCatalog.class; then
  sources+=("$bridge"/java/views/*.java)
fi
javac --release 8 -nowarn -proc:none -Xlint:-options -d "$classes" -cp "$jars/*" "${sources[@]}"
scripts/run.sh python -m zipfile -c "$PWD/$bridge/ducklake.jar" "$classes/ducklake"
say "made $bridge/ducklake.jar"

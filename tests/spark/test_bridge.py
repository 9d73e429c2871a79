"""The Java half of the bridge: compiled by Spark's own compiler, by javac, and across versions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pyspark
import pytest

import ducklake_spark
from ducklake_spark.bridge.callbacks import in_flight
from ducklake_spark.bridge.compiler import PACKAGE, VERSION, source_files
from ducklake_spark.bridge.half import bridge_of
from ducklake_spark.errors import SnapshotNotFound

pytestmark = pytest.mark.spark

JARS = Path(pyspark.__file__).parent / "jars"
SOURCE = Path(ducklake_spark.__file__).parent / "bridge" / "java" / PACKAGE

CHILD = """
import sys
from pyspark.sql import SparkSession
import ducklake_spark

uri, jar = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.log.level", "ERROR").config("spark.jars", jar)
spark = builder.config("spark.ducklake.bridge", "jar").getOrCreate()
ducklake_spark.register(spark, "lake", uri)
print("sum", spark.sql("SELECT sum(i) FROM lake.main.t WHERE i > 1").first()[0])
"""


def javac(folder: Path) -> None:
    """Compile the source as strictly as Java is, which Janino is not."""
    if shutil.which("javac") is None:
        pytest.skip("javac is missing: the source of the bridge is checked by Janino alone")
    command = ["javac", "--release", "8", "-nowarn", "-proc:none", "-Xlint:-options"]
    paths = [str(path) for path in sorted(SOURCE.glob("*.java"))]
    if tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 2):
        paths += [str(path) for path in sorted((SOURCE.parent / "views").glob("*.java"))]
    done = subprocess.run(
        [*command, "-d", str(folder), "-cp", f"{JARS}/*", *paths],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_a_jar_made_by_javac_serves_where_compiling_is_forbidden(tmp_path):
    javac(tmp_path / "classes")
    jar = tmp_path / "ducklake.jar"
    with zipfile.ZipFile(jar, "w") as made:
        for path in sorted((tmp_path / "classes").rglob("*.class")):
            made.write(path, path.relative_to(tmp_path / "classes"))
    uri = f"ducklake:sqlite:{tmp_path}/lake.sqlite"
    with ducklake_spark.connect(uri, data_path=f"{tmp_path}/data/") as con:
        con.sql("CREATE TABLE t (i BIGINT)")
        con.sql("INSERT INTO t VALUES (1), (2), (3)")
    child = subprocess.run(
        [sys.executable, "-c", CHILD, uri, str(jar)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=300,
    )
    assert "sum 5" in child.stdout, child.stdout + child.stderr


def test_every_java_file_says_what_its_class_is_for():
    for name, text in source_files(views=True).items():
        stem = name.removesuffix(".java")
        before = text.partition(f" {stem} ")[0] + text.partition(f" {stem}\n")[0]
        assert "/** " in before, name


def test_the_classes_have_the_version_that_python_expects(spark):
    assert str(bridge_of(spark).java.version()) == VERSION


def test_an_error_of_a_callback_comes_back_as_the_very_object(spark, make_lake_location):
    location = make_lake_location("sqlite")
    ducklake_spark.register(spark, "errs", location.uri, data_path=location.data_path)
    spark.sql("SHOW TABLES IN errs.main").collect()
    with ducklake_spark.connect(location.uri, spark=spark) as con:
        con.sql("CREATE TABLE t (i INTEGER)")
    with pytest.raises(SnapshotNotFound) as caught:
        spark.sql("SELECT * FROM errs.main.t VERSION AS OF 99")
    assert any(found is caught.value for found in in_flight._errors.values())
    assert "99" in str(caught.value)

"""Leaving files out changes no answer, and EXPLAIN says which were left out."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import ducklake_spark
from ducklake_spark import Connection
from support.rows import sorted_rows

pytestmark = pytest.mark.spark

FILES = 12
ROWS = 8


def random_row(rng: random.Random, file: int) -> str:
    """Values that lie near each other within a file; some files have columns of NULLs only."""
    low = file * 10
    cells = (
        str(rng.randint(low, low + 12)),
        f"'{rng.choice('abcdefgh')}{low:03d}'",
        f"{rng.randint(low, low + 5)}.{rng.randint(0, 99):02d}",
        f"DATE '2024-{file % 12 + 1:02d}-{rng.randint(1, 28):02d}'",
        rng.choice(["'nan'::DOUBLE", f"{low / 10}::DOUBLE", f"{-low}::DOUBLE"]),
        rng.choice(["true", "false"]) if file % 3 else "true",
    )
    return ", ".join(cell if rng.random() > 0.2 and file % 5 != 4 else "NULL" for cell in cells)


@pytest.fixture(scope="module")
def con(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """A table of many small files with statistics, and a view of the same rows without any."""
    folder: Path = tmp_path_factory.mktemp("pruning")
    rng = random.Random(7)
    with ducklake_spark.connect(
        f"ducklake:sqlite:{folder}/lake.sqlite",
        spark=spark,
        alias="lake",
        data_path=f"{folder}/data/",
        data_inlining_row_limit=0,
    ) as connection:
        connection.sql(
            "CREATE TABLE t (i INTEGER, s VARCHAR, m DECIMAL(8,2), d DATE, f DOUBLE, b BOOLEAN)"
        )
        for file in range(FILES):
            rows = ", ".join(f"({random_row(rng, file)})" for _ in range(ROWS))
            connection.sql(f"INSERT INTO t VALUES {rows}")
        spark.createDataFrame(
            connection.table("t").collect(), connection.table("t").schema
        ).createOrReplaceTempView("same_rows")
        yield connection
        spark.catalog.dropTempView("same_rows")


def random_comparison(rng: random.Random) -> str:
    number = rng.randint(-5, FILES * 10 + 10)
    text = f"{rng.choice('abcdefgh')}{rng.randrange(FILES) * 10:03d}"
    day = f"DATE '2024-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}'"
    sign = rng.choice(["=", "<", "<=", ">", ">=", "<>"])
    return rng.choice(
        [
            f"i {sign} {number}",
            f"{number} {sign} i",
            f"s {sign} '{text}'",
            f"m {sign} {number}.5",
            f"d {sign} {day}",
            f"f {sign} {number / 10}",
            f"i IN ({number}, {number + 7}, {number + 40})",
            f"i BETWEEN {number} AND {number + 9}",
            f"s LIKE '{text[0]}%'",
            f"s LIKE '{text}%'",
            f"i + 1 {sign} {number}",
            f"year(d) = {rng.choice([2023, 2024])}",
            "b", "NOT b", "b IS NULL",
            rng.choice(["i IS NULL", "s IS NOT NULL", "f IS NULL", "d IS NOT NULL"]),
            f"coalesce(i, 0) {sign} {number}",
            "f = 'nan'::DOUBLE",
        ]
    )  # fmt: skip


def random_predicate(rng: random.Random, depth: int = 2) -> str:
    if depth == 0 or rng.random() < 0.4:
        return random_comparison(rng)
    left, right = random_predicate(rng, depth - 1), random_predicate(rng, depth - 1)
    return rng.choice([f"({left} AND {right})", f"({left} OR {right})", f"NOT ({left})"])


@pytest.mark.parametrize("seed", range(8))
def test_pruned_query_gives_the_rows_of_an_unpruned_one(con: Connection, seed: int):
    rng = random.Random(seed)
    for _ in range(6):
        predicate = random_predicate(rng)
        pruned = con.sql(f"SELECT * FROM t WHERE {predicate}")
        whole = con.sql(f"SELECT * FROM same_rows WHERE {predicate}")
        assert sorted_rows(pruned.collect()) == sorted_rows(whole.collect()), predicate


@pytest.mark.parametrize("seed", range(3))
def test_dataframe_filters_prune_as_sql_does(con: Connection, spark: SparkSession, seed: int):
    rng = random.Random(seed + 100)
    for _ in range(6):
        low = rng.randint(0, FILES * 10)
        condition = rng.choice(
            [
                F.col("i").between(low, low + 5),
                F.col("i").isin(low, low + 3) | F.col("b").isNull(),
                (F.col("m") > low) & ~F.col("s").startswith("a"),
                F.col("f").isNull() & F.col("i").isNotNull(),
            ]
        )
        pruned, whole = con.table("t").where(condition), spark.table("same_rows").where(condition)
        assert sorted_rows(pruned.collect()) == sorted_rows(whole.collect())


def test_join_and_aggregate_give_the_rows_of_an_unpruned_query(con: Connection):
    query = (
        "SELECT a.s, count(*) AS n FROM {0} a JOIN {0} b ON a.i = b.i "
        "WHERE a.i BETWEEN 20 AND 44 AND b.m < 40 GROUP BY a.s"
    )
    pruned, whole = con.sql(query.format("t")), con.sql(query.format("same_rows"))
    assert sorted_rows(pruned.collect()) == sorted_rows(whole.collect())


def files_read(plan: str) -> tuple[int, int]:
    found = re.search(r"(\d+) of (\d+) files", plan)
    assert found, plan
    return int(found[1]), int(found[2])


def test_explain_tells_how_many_files_are_read_and_what_excluded_the_others(con: Connection):
    plan = con.explain("SELECT * FROM t WHERE i > 1000")
    assert files_read(plan) == (0, FILES)
    assert re.search(rf"excluded: {FILES} by \w+", plan)
    kept, total = files_read(con.explain("SELECT * FROM t WHERE i BETWEEN 30 AND 35"))
    assert total == FILES
    assert 0 < kept <= 3
    assert files_read(con.explain("SELECT * FROM t")) == (FILES, FILES)
    [row] = con.sql("EXPLAIN SELECT * FROM t WHERE d > DATE '2030-01-01'").collect()
    assert files_read(row[1]) == (0, FILES)


def test_only_the_chosen_files_are_opened(con: Connection, tmp_path: Path):
    away = tmp_path / "away"
    wanted = con.sql("SELECT * FROM t WHERE i BETWEEN 30 AND 35")
    before = sorted_rows(wanted.collect())
    used = {Path(path.removeprefix("file://")) for path in _files_of(con, "i BETWEEN 30 AND 35")}
    folder = next(iter(used)).parent
    away.mkdir()
    hidden = [path for path in folder.glob("*.parquet") if path not in used]
    assert len(hidden) >= FILES - 3
    for path in hidden:
        shutil.move(path, away / path.name)
    try:
        again = con.sql("SELECT * FROM t WHERE i BETWEEN 30 AND 35")
        assert sorted_rows(again.collect()) == before
        assert con.sql("SELECT count(*) FROM t").collect()[0][0] == FILES * ROWS
        with pytest.raises(Exception, match="is not there"):
            con.sql("SELECT sum(i) FROM t").collect()
    finally:
        for path in hidden:
            shutil.move(away / path.name, path)


def _files_of(con: Connection, predicate: str) -> set[str]:
    rows = con.sql(f"SELECT DISTINCT filename FROM t WHERE {predicate}").collect()
    bounds = con.table("t", virtual_columns=["filename"])
    near = bounds.groupBy("filename").agg(F.min("i").alias("low"), F.max("i").alias("high"))
    may = near.where("low <= 35 AND high >= 30").collect()
    return {row["filename"] for row in [*rows, *may]}


def test_count_opens_no_file(con: Connection):
    con.sql("CREATE OR REPLACE TABLE gone AS SELECT i FROM t")
    folder = Path(con.table_version(("gone",)).directory)
    for path in folder.glob("*.parquet"):
        path.unlink()
    assert con.sql("SELECT count(*) FROM gone").collect()[0][0] == FILES * ROWS
    assert con.sql("SELECT count(*) AS n, count(*) AS m FROM lake.main.gone").collect() == [
        (FILES * ROWS, FILES * ROWS)
    ]
    assert "No data file is read" in con.explain("SELECT count(*) FROM gone")


def test_a_row_group_of_negative_zeros_is_found_by_zero(spark, location):
    with ducklake_spark.connect(
        location.uri,
        spark=spark,
        alias="lake",
        data_path=location.data_path,
        data_inlining_row_limit=0,
    ) as con:
        con.sql("CREATE TABLE z (d DOUBLE, s STRUCT(f FLOAT))")
        con.sql("INSERT INTO z SELECT CAST('-0.0' AS DOUBLE), {'f': CAST('-0.0' AS FLOAT)}")
        assert con.sql("SELECT count(*) FROM z WHERE d = 0").collect()[0][0] == 1
        assert con.sql("SELECT count(*) FROM z WHERE s.f = 0").collect()[0][0] == 1
        assert con.delete("z", "d IN (0, 5)") == 1

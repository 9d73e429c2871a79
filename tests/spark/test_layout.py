"""How many files a write makes, and where: small frames, partitions, ranges, folders of COPY."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import ducklake_spark
from ducklake_spark.errors import DataFileError, InvalidInput, NotNullViolation
from support.rows import same_rows

pytestmark = pytest.mark.spark


@pytest.fixture
def con(spark, tmp_path: Path):
    uri = f"ducklake:sqlite:{tmp_path / 'lake.sqlite'}"
    options = {"data_path": f"{tmp_path}/data/", "data_inlining_row_limit": 0}
    with ducklake_spark.connect(uri, spark=spark, alias="lake", **options) as connection:
        yield connection


def files_of(tmp_path: Path, table: str) -> list[str]:
    """The folder of each data file of a table."""
    folder = tmp_path / "data" / "main" / table
    files = (path for path in folder.rglob("*.parquet") if "-delete" not in path.name)
    return sorted(str(path.relative_to(folder).parent) for path in files)


def test_rows_of_python_make_one_file_in_their_order(con, tmp_path):
    con.sql("CREATE TABLE t (n BIGINT)")
    con.append("t", con.spark.createDataFrame([(i,) for i in range(500)], "n long"))
    assert files_of(tmp_path, "t") == ["."]
    assert [row[0] for row in con.sql("SELECT n FROM t ORDER BY rowid").collect()] == [*range(500)]


def test_each_partition_is_one_file_when_rows_are_shuffled(con, tmp_path):
    con.sql("CREATE TABLE t (n BIGINT, s VARCHAR) PARTITIONED BY (s, bucket(2, n))")
    rows = con.spark.range(0, 40_000, 1, 4).selectExpr("id AS n", "concat('k', id % 5) AS s")
    unknown = con.spark.createDataFrame(rows.rdd, rows.schema)  # its size is not known
    con.append("t", unknown)
    assert files_of(tmp_path, "t") == [f"s=k{k}/bucket={b}" for k in range(5) for b in range(2)]
    assert con.sql("SELECT count(*), sum(n) FROM t WHERE s = 'k3'").collect()[0][0] == 8000


def local_files(spark) -> set[Path]:
    return set(Path(spark.conf.get("spark.local.dir")).glob("ducklake-exchange-*"))


def test_rows_of_every_type_find_their_partition(con, spark, tmp_path):
    con.sql(
        "CREATE TABLE t (n BIGINT, d DECIMAL(9,2), f DOUBLE, b BLOB, l STRUCT(x INTEGER[]), "
        "at TIMESTAMP, ok BOOLEAN) PARTITIONED BY (d, f, b, day(at), ok)"
    )
    rows = spark.range(0, 60_000, 1, 3).selectExpr(
        "id AS n",
        "CAST(IF(id % 7 = 0, NULL, id % 3 + 0.25) AS DECIMAL(9,2)) AS d",
        "CASE id % 3 WHEN 0 THEN double('NaN') WHEN 1 THEN 0.0D ELSE -0.0D END AS f",
        "CAST(concat('x', id % 2) AS BINARY) AS b",
        "named_struct('x', array(CAST(id AS INT), NULL)) AS l",
        "CAST(timestamp_micros((id % 2 - 1) * 86400000000) AS TIMESTAMP_NTZ) AS at",
        "IF(id % 5 = 0, NULL, id % 2 = 0) AS ok",
    )
    con.append("t", spark.createDataFrame(rows.rdd, rows.schema))
    folders = files_of(tmp_path, "t")
    assert len(folders) == len(set(folders))  # -0.0 and 0.0 are one value
    read = con.sql('SELECT n, d, f, b, l, "at", ok FROM t ORDER BY n').collect()
    assert same_rows([tuple(r) for r in read], [tuple(r) for r in rows.orderBy("n").collect()])
    narrow = con.sql("SELECT count(*) FROM t WHERE d IS NULL AND ok IS NULL AND b = 'x1'::BLOB")
    assert narrow.collect()[0][0] == len(
        [i for i in range(60_000) if i % 7 == 0 and i % 5 == 0 and i % 2 == 1]
    )
    assert local_files(spark) == set()


def test_a_partitioned_write_that_fails_leaves_nothing(con, spark, tmp_path):
    con.sql("CREATE TABLE t (n BIGINT, s VARCHAR NOT NULL) PARTITIONED BY (bucket(4, n))")
    rows = spark.range(0, 40_000, 1, 2).selectExpr("id AS n", "IF(id = 39999, NULL, 'x') AS s")
    with pytest.raises(NotNullViolation, match=r"t\.s"):
        con.append("t", spark.createDataFrame(rows.rdd, rows.schema))
    assert files_of(tmp_path, "t") == []
    assert local_files(spark) == set()


def test_each_partition_is_one_sorted_file_when_the_table_is_sorted_too(con, spark, tmp_path):
    con.sql("CREATE TABLE t (n BIGINT, s VARCHAR) PARTITIONED BY (s)")
    con.sql("ALTER TABLE t SET SORTED BY (n DESC)")
    rows = spark.range(0, 40_000, 1, 4).selectExpr(
        "(id * 7919) % 40000 AS n", "concat('k', id % 5) AS s"
    )
    con.append("t", spark.createDataFrame(rows.rdd, rows.schema))
    assert files_of(tmp_path, "t") == [f"s=k{k}" for k in range(5)]
    placed = [r[0] for r in con.sql("SELECT n FROM t WHERE s = 'k2' ORDER BY rowid").collect()]
    assert placed == sorted(placed, reverse=True)
    assert len(placed) == 8000


def test_files_of_a_sorted_table_do_not_overlap_when_there_are_several(con, spark):
    con.sql("CREATE TABLE t (n BIGINT) SORTED BY (n DESC)")
    rows = spark.range(0, 50_000, 1, 4).selectExpr("(id * 7919) % 50000 AS n")
    con.append("t", con.spark.createDataFrame(rows.rdd, rows.schema))
    placed = [row[0] for row in con.sql("SELECT n FROM t ORDER BY rowid").collect()]
    assert placed == sorted(placed, reverse=True)


def test_updates_and_flushed_rows_go_to_their_partitions(con, tmp_path):
    con.sql("CREATE TABLE t (n BIGINT, s VARCHAR) PARTITIONED BY (s)")
    con.sql("INSERT INTO t SELECT i, 'a' FROM range(20) r(i)")
    con.sql("UPDATE t SET s = 'b' WHERE n < 5")
    con.sql("CALL lake.set_option('data_inlining_row_limit', 10)")
    con.sql("INSERT INTO t VALUES (100, 'c'), (101, 'd')")
    con.sql("CALL ducklake_flush_inlined_data('lake')")
    assert set(files_of(tmp_path, "t")) == {"s=a", "s=b", "s=c", "s=d"}
    found = con.sql("SELECT s, count(*) FROM t GROUP BY s").collect()
    assert sorted(tuple(row) for row in found) == [("a", 15), ("b", 5), ("c", 1), ("d", 1)]


def test_copy_writes_the_folders_that_duckdb_writes(con, tmp_path):
    query = "SELECT i % 3 AS k, CASE WHEN i % 2 = 0 THEN 'a/b' END AS s, i FROM range(12) r(i)"
    options = "(FORMAT parquet, PARTITION_BY (k, s))"
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    assert con.sql(f"COPY ({query}) TO '{ours}' {options}").collect()[0][0] == 12
    with duckdb.connect() as duck:
        duck.execute(f"COPY ({query}) TO '{theirs}' {options}")
        found = [
            duck.execute(
                f"SELECT * FROM read_parquet('{folder}/**/*.parquet', hive_partitioning = true)"
            ).fetchall()
            for folder in (ours, theirs)
        ]
    assert same_rows(*found)
    names = [sorted(str(p.relative_to(f)) for p in f.rglob("*.parquet")) for f in (ours, theirs)]
    assert names[0] == names[1]
    with pytest.raises(DataFileError):
        con.sql(f"COPY ({query}) TO '{ours}' {options}")
    with pytest.raises(InvalidInput):
        con.sql(f"COPY ({query}) TO '{tmp_path}/other' (FORMAT parquet, PARTITION_BY (nothing))")
    con.sql(f"COPY ({query}) TO '{ours}' (FORMAT parquet, PARTITION_BY (k), OVERWRITE true)")
    assert len(list(ours.rglob("*.parquet"))) == 3

"""What a user is told when a query or an insert fails in Spark, and that nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import ducklake_spark
from ducklake_spark import Connection
from ducklake_spark.errors import (
    ColumnMismatch,
    ColumnNotFound,
    CorruptDataFile,
    DuckLakeError,
    FunctionNotFound,
    InvalidInput,
    InvalidValue,
    LakeNotFound,
    MissingDataFile,
    NotNullViolation,
    NotSupported,
    SchemaNotFound,
    SnapshotNotFound,
    SparkFailure,
    TableNotFound,
)

pytestmark = pytest.mark.spark

NOISE = ("Traceback", "\tat ", "SQLSTATE", "Py4J", "_ducklake_", "line 1 pos")


@pytest.fixture
def con(spark: SparkSession, tmp_path: Path) -> Iterator[Connection]:
    """A lake whose table `orders` has 20 rows in one file."""
    with ducklake_spark.connect(
        f"ducklake:sqlite:{tmp_path}/lake.sqlite",
        spark=spark,
        alias="lake",
        data_path=f"{tmp_path}/data/",
        data_inlining_row_limit=0,
    ) as connection:
        connection.sql(
            "CREATE TABLE orders (id INTEGER NOT NULL, name VARCHAR, tiny TINYINT, big UBIGINT, "
            "half FLOAT, day DATE, at TIMESTAMPTZ)"
        )
        connection.sql("INSERT INTO orders (id, name) SELECT i, 'n' || i FROM range(20) s(i)")
        connection.sql("CREATE SCHEMA sales")
        yield connection


def data_files(con: Connection) -> list[Path]:
    return sorted(Path(con.lake("lake").data_path).rglob("*.parquet"))


def refused(con: Connection, run: Callable[[], object]) -> DuckLakeError:
    """The error of an action that has left neither a snapshot nor a file behind."""
    before = (con.lake("lake").latest(), data_files(con))
    with pytest.raises(DuckLakeError) as failure:
        run()
    assert (con.lake("lake").latest(), data_files(con)) == before
    assert not [noise for noise in NOISE if noise in str(failure.value)]
    return failure.value


# --- queries -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "kind", "words", "hint"),
    [
        ("FROM ordres", TableNotFound, "name ordres", '"orders"'),
        ("FROM lake.sales.orders", TableNotFound, '"lake.sales"', None),
        ("FROM salse.orders", SchemaNotFound, '"salse"', '"sales"'),
        ("FROM lkae.main.orders", LakeNotFound, '"lkae"', '"lake"'),
        ("SELECT nme FROM orders", ColumnNotFound, '"nme"', '"name"'),
        ("SELECT o.nme FROM orders o, orders p", ColumnNotFound, '"nme"', '"name"'),
        ("SELECT nosuch(id) FROM orders", FunctionNotFound, "name nosuch", None),
        ("FROM nosuch(1)", FunctionNotFound, "name nosuch", None),
        ("SELECT id FROM orders o, orders p", InvalidInput, "Ambiguous", None),
        ("SELECT id, count(*) FROM orders", InvalidInput, "GROUP BY", None),
        ("FROM orders AT (VERSION => 99)", SnapshotNotFound, "99", "snapshots 0 to 3"),
        ("FROM orders AT (TIMESTAMP => '2000-01-01')", SnapshotNotFound, "2000", None),
        ("FROM orders AT (VERSION => 'x')", InvalidInput, "'x'", None),
    ],
)
def test_query_that_makes_no_sense_is_told_at_once(
    con: Connection, sql: str, kind: type[DuckLakeError], words: str, hint: str | None
):
    error = refused(con, lambda: con.sql(sql))
    assert type(error) is kind
    assert words in error.message
    assert hint is None or hint in (error.hint or "")


def test_virtual_column_that_does_not_exist_is_told_with_those_that_do(con: Connection):
    con.sql("CREATE TABLE small (i INTEGER)")
    uri = str(con.lake("lake").db.url)
    con.sql(f"ATTACH '{uri}' AS inlining; INSERT INTO inlining.small VALUES (1)")
    assert data_files(con) == data_files(con)[:1]
    for table in ("orders", "small"):
        error = refused(con, lambda table=table: con.table(table, virtual_columns=["row_id"]))
        assert type(error) is InvalidInput
        assert "rowid" in (error.hint or "")


def test_failing_insert_prints_nothing(con: Connection, capfd: pytest.CaptureFixture[str]):
    refused(con, lambda: con.sql("INSERT INTO orders (id) SELECT 'abc'"))
    assert capfd.readouterr().err == ""


# --- changes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "query", "words"),
    [
        ("id, tiny", "SELECT i, i * 100 FROM range(5) s(i)", ("orders", "200", "INT8")),
        ("id", "SELECT 'abc'", ("orders", "'abc'", "INT32")),
        ("id, big", "SELECT 1, -1", ("orders", "-1", "UINT64")),
        ("id, big", "SELECT 1, 18446744073709551616", ("orders", "18446744073709551616")),
        ("id, half", "SELECT 1, 1e39", ("orders", "FLOAT")),
        ("id, day", "SELECT 1, '2024-02-30'", ("orders", "2024-02-30", "out of range")),
        ("id, day", "SELECT 1, 5", ("orders", "INTEGER -> DATE")),
        ("id, at", "SELECT 1, 5", ("orders", "INTEGER -> TIMESTAMP WITH TIME ZONE")),
        ("id, big", "SELECT 1, DATE '2024-01-01'", ("orders", "DATE -> UBIGINT")),
    ],
)
def test_value_of_a_query_that_does_not_fit_is_refused(
    con: Connection, columns: str, query: str, words: tuple[str, ...]
):
    error = refused(con, lambda: con.sql(f"INSERT INTO orders ({columns}) {query}"))
    assert type(error) is InvalidValue
    assert all(word in error.message for word in words)


def test_null_of_a_query_is_refused_when_the_column_allows_none(con: Connection):
    query = "SELECT CASE WHEN i < 4 THEN i END FROM range(5) s(i)"
    error = refused(con, lambda: con.sql(f"INSERT INTO orders (id) {query}"))
    assert type(error) is NotNullViolation
    assert "orders.id" in error.message


def test_columns_that_are_not_the_tables_are_refused(con: Connection, spark: SparkSession):
    error = refused(con, lambda: con.sql("INSERT INTO orders (id, name) SELECT 1"))
    assert type(error) is ColumnMismatch
    error = refused(con, lambda: con.sql("INSERT INTO orders BY NAME SELECT 1 AS id, 2 AS nme"))
    assert (type(error), error.hint) == (ColumnNotFound, 'did you mean "name"?')
    wrong = spark.sql("SELECT 1 AS id, 2 AS nme")
    assert type(refused(con, lambda: con.append("orders", wrong))) is ColumnNotFound
    nested = spark.sql("SELECT 1 AS id, array(1) AS name")
    assert '"name"' in refused(con, lambda: con.append("orders", nested)).message


def test_failure_of_the_users_own_code_is_told_in_its_words(con: Connection, spark: SparkSession):
    broken = spark.sql("SELECT CAST(id AS INT) AS id, raise_error('boom') AS name FROM range(9)")
    error = refused(con, lambda: con.append("orders", broken))
    assert type(error) is SparkFailure
    assert "boom" in error.message
    assert '"orders"' in error.message


def test_table_is_not_made_when_its_query_fails(con: Connection):
    query = "SELECT CAST(name AS INTEGER) AS n FROM orders"
    assert type(refused(con, lambda: con.sql(f"CREATE TABLE t AS {query}"))) is InvalidValue
    assert [row[0] for row in con.sql("SHOW TABLES").collect()] == ["orders"]


# --- files ---------------------------------------------------------------------------------------


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def overwrite(file: Path) -> None:
    file.write_bytes(b"?" * file.stat().st_size)


def spoil_the_pages(file: Path) -> None:
    """The footer stays: only reading the rows shows it."""
    data = file.read_bytes()
    file.write_bytes(data[:4] + b"\xff" * 200 + data[204:])


DAMAGES = [(Path.unlink, MissingDataFile), (truncate, CorruptDataFile)]
DAMAGES += [(overwrite, CorruptDataFile), (spoil_the_pages, CorruptDataFile)]


@pytest.mark.parametrize(("damage", "kind"), DAMAGES)
def test_damaged_file_is_told_by_name(
    con: Connection, damage: Callable[[Path], None], kind: type[DuckLakeError]
):
    [file] = data_files(con)
    damage(file)
    error = refused(con, lambda: con.sql("CREATE TABLE t AS SELECT * FROM orders"))
    assert type(error) is kind
    assert file.name in error.message
    assert error.hint


@pytest.mark.parametrize("action", [DataFrame.collect, DataFrame.toArrow, DataFrame.show])
@pytest.mark.parametrize(("damage", "kind"), DAMAGES)
def test_lazy_frame_tells_of_a_damaged_file_in_plain_words(
    con: Connection,
    damage: Callable[[Path], None],
    kind: type[DuckLakeError],
    action: Callable[[DataFrame], object],
):
    frame = con.table("orders").where("id > 3")
    [file] = data_files(con)
    damage(file)
    with pytest.raises(kind) as failure:
        action(frame)
    text = str(failure.value)
    assert text.startswith('Cannot read table "orders" at snapshot 3: ')
    assert file.name in text
    assert "Hint: " in text
    assert len(text) < 600


def test_store_that_spark_cannot_reach_is_told_before_anything_is_written(
    spark: SparkSession, tmp_path: Path
):
    with ducklake_spark.connect(
        f"ducklake:sqlite:{tmp_path}/lake.sqlite",
        spark=spark,
        data_path="s3://bucket/lake/",
        data_inlining_row_limit=0,
    ) as con:
        con.sql("CREATE TABLE t (i BIGINT)")
        with pytest.raises(NotSupported, match="no file system for s3://") as failure:
            con.sql("INSERT INTO t SELECT i FROM range(9) r(i)")
    assert "object stores are not supported yet" in failure.value.message
    assert "data path" in (failure.value.hint or "")
    assert len(str(failure.value).splitlines()) == 2

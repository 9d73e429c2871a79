"""Transactions through SQL and DataFrames."""

from __future__ import annotations

import pytest

import ducklake_spark
from ducklake_spark.errors import DuckLakeError, InvalidValue, TransactionError

pytestmark = pytest.mark.spark


@pytest.fixture
def cons(make_lake_location, spark):
    location = make_lake_location("sqlite")
    con = ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path
    )
    con.sql("CREATE TABLE t (id INTEGER, name VARCHAR)")
    yield con, con.cursor()
    con.close()


def rows(con, text="SELECT id FROM t ORDER BY id"):
    return [row[0] for row in con.sql(text).collect()]


def test_a_transaction_sees_its_own_rows_in_queries_and_dataframes(cons, spark):
    con, other = cons
    with con.transaction(author="Ada", message="load"):
        con.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
        con.append("t", spark.range(3, 40).selectExpr("CAST(id AS INT) id", "'x' name"))
        assert rows(con) == list(range(1, 40))
        assert con.table("t").filter("id > 37").count() == 2
        assert rows(con, "SELECT count(*) FROM t WHERE name = 'x'") == [37]
        con.sql("CREATE TABLE u AS SELECT id + 100 AS id FROM t WHERE id < 3")
        assert rows(con, "SELECT id FROM u ORDER BY id") == [101, 102]
        assert rows(other) == []
        with pytest.raises(DuckLakeError):
            other.sql("SELECT * FROM u")
    assert rows(other) == list(range(1, 40))
    last = con.snapshots().orderBy("snapshot_id", ascending=False).first()
    assert (last.author, last.commit_message) == ("Ada", "load")
    assert con.last_committed_snapshot() == last.snapshot_id == 2


def test_statements_begin_commit_and_undo(cons):
    con, other = cons
    con.sql("BEGIN TRANSACTION; INSERT INTO t VALUES (1, 'a')")
    seen = con.table("t")
    con.sql("ROLLBACK")
    con.sql("BEGIN; INSERT INTO t VALUES (2, 'b'); ABORT")
    assert rows(con) == []
    con.sql("BEGIN")
    con.sql("INSERT INTO t VALUES (3, 'c')")
    con.sql("COMMIT")
    assert rows(con) == rows(other) == [3]
    assert [row.id for row in seen.collect()] == [1]


def test_a_query_that_fails_in_an_insert_aborts_the_transaction(cons):
    con, other = cons
    con.sql("BEGIN; INSERT INTO t VALUES (1, 'a')")
    with pytest.raises(InvalidValue):
        con.sql("INSERT INTO t SELECT CAST(name AS INTEGER), name FROM t")
    with pytest.raises(TransactionError, match="aborted"):
        con.sql("SELECT * FROM t")
    with pytest.raises(TransactionError, match="rolled back"):
        con.sql("COMMIT")
    con.sql("INSERT INTO t VALUES (2, 'b')")
    assert rows(con) == rows(other) == [2]

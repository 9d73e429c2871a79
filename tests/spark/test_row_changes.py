"""DELETE, UPDATE and TRUNCATE: which rows they mean, and what becomes of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import functions as F

import ducklake_spark
from ducklake_spark.errors import (
    DuckLakeError,
    InvalidInput,
    InvalidValue,
    NotNullViolation,
    NotSupported,
)
from ducklake_spark.limits import limits
from support.writing import table_files

pytestmark = pytest.mark.spark


@pytest.fixture
def location(make_lake_location):
    return make_lake_location("sqlite")


@pytest.fixture
def con(location, spark):
    """A table with rows 0 to 19 in a file, and 20 to 22 in the catalog; `v` is NULL in some."""
    con = ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path
    )
    con.sql("CREATE TABLE t (id INTEGER NOT NULL, v INTEGER DEFAULT 7, s VARCHAR)")
    values = "SELECT i, CASE WHEN i % 4 > 0 THEN i END, 's' || i"
    con.sql(f"INSERT INTO t {values} FROM range(20) r(i)")
    con.sql(f"INSERT INTO t {values} FROM range(20, 23) r(i)")
    yield con
    con.close()


def ids(con, condition="true"):
    return [row[0] for row in con.sql(f"SELECT id FROM t WHERE {condition} ORDER BY 1").collect()]


def changed(con, text):
    return con.sql(text).collect()[0]["Count"]


def test_a_condition_that_is_null_deletes_nothing(con):
    assert changed(con, "DELETE FROM t WHERE v > 0 AND v <= 3") == 3
    assert changed(con, "DELETE FROM t WHERE v NOT IN (5, NULL)") == 0
    assert changed(con, "DELETE FROM t WHERE v = NULL OR id > 20") == 2
    assert changed(con, "DELETE FROM t WHERE v IS NULL") == 6
    assert ids(con) == [5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19]


def test_delete_takes_subqueries_ctes_aliases_and_sources(con):
    assert changed(con, "DELETE FROM t AS x WHERE x.id = (SELECT max(id) FROM t)") == 1
    assert changed(con, "DELETE FROM lake.main.t WHERE main.t.id IN (SELECT 21)") == 1
    assert changed(con, "WITH t AS (SELECT 20 AS k) DELETE FROM lake.t WHERE id IN (FROM t)") == 1
    assert (
        changed(con, "DELETE FROM t USING range(3) a(x), range(3) b(y) WHERE t.id = a.x + b.y") == 5
    )
    assert changed(con, "DELETE FROM t USING t o WHERE o.id = t.id + 1 AND o.s = 's19'") == 1
    assert (
        changed(con, "DELETE FROM t WHERE EXISTS (SELECT 1 FROM range(6, 8) r(k) WHERE k = t.id)")
        == 2
    )
    assert ids(con) == [5, *range(8, 18), 19]


def test_delete_by_row_id_and_by_python(con):
    assert changed(con, "DELETE FROM t WHERE rowid IN (1, 21)") == 2
    assert con.delete("t", "id < 3") == 2
    assert con.delete("t", F.col("id").between(4, 6)) == 3
    assert ids(con) == [3, *range(7, 21), 22]
    assert con.delete("t") == 16
    assert ids(con) == []


def test_update_keeps_row_ids(con):
    before = {row.id: row.rowid for row in con.sql("SELECT id, rowid FROM t").collect()}
    assert changed(con, "UPDATE t SET s = upper(s), v = id + 1 WHERE id >= 5") == 18
    assert changed(con, "UPDATE t SET v = DEFAULT WHERE id IN (1, 6, 21)") == 3
    rows = con.sql("SELECT id, v, s, rowid FROM t").collect()
    assert {row.id: row.rowid for row in rows} == before
    found = {row.id: (row.v, row.s) for row in rows}
    assert found[0] == (None, "s0")
    assert (found[1], found[6], found[21]) == ((7, "s1"), (7, "S6"), (7, "S21"))
    assert (found[5], found[22]) == ((6, "S5"), (23, "S22"))


def test_update_from_another_source(con):
    source = "(VALUES (1, 'one'), (1, 'one'), (20, 'twenty'), (99, 'none')) n(k, word)"
    assert changed(con, f"UPDATE t SET s = word FROM {source} WHERE n.k = t.id") == 2
    assert ids(con, "s IN ('one', 'twenty')") == [1, 20]


def test_a_row_with_two_outcomes_is_refused_and_nothing_changes(con, location):
    before = table_files(location)
    source = "(VALUES (1, 'a'), (1, 'b')) n(k, word)"
    for _ in range(2):
        with pytest.raises(InvalidInput, match="more than once"):
            con.sql(f"UPDATE t SET s = word FROM {source} WHERE n.k = t.id")
    assert ids(con, "s IN ('a', 'b')") == []
    assert table_files(location) == before


def test_update_by_python_takes_text_and_columns(con):
    assert con.update("t", {"v": "id * 2", "s": F.concat("s", F.lit("!"))}, "id = 3") == 1
    assert con.update("t", {"s": "upper(s)"}, F.col("id") == 20) == 1
    rows = con.sql("SELECT v, s FROM t WHERE id IN (3, 20) ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [(6, "s3!"), (None, "S20")]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("UPDATE t SET id = NULL WHERE id = 3", NotNullViolation),
        ("UPDATE t SET id = 3000000000 WHERE id = 3", InvalidValue),
        ("UPDATE t SET v = 'x' WHERE id = 3", InvalidValue),
        ("UPDATE t SET v = 1, V = 2", InvalidInput),
        ("UPDATE t SET missing = 1", DuckLakeError),
        ("UPDATE t SET t.v = 1", NotSupported),
        ("DELETE FROM t WHERE missing = 1", DuckLakeError),
    ],
)
def test_what_cannot_be_done_changes_nothing(con, location, text, error):
    before, last = table_files(location), con.last_committed_snapshot()
    with pytest.raises(error):
        con.sql(text)
    assert table_files(location) == before
    assert con.last_committed_snapshot() == last


def test_each_row_is_computed_once(con):
    assert changed(con, "UPDATE t SET v = 1000 WHERE random() < 0.5") == len(ids(con, "v = 1000"))
    assert ids(con) == list(range(23))


def test_a_transaction_sees_what_it_has_changed(con, location):
    other = con.cursor()
    with con.transaction():
        con.sql("INSERT INTO t SELECT i, i, 'new' FROM range(100, 130) r(i)")
        con.sql("INSERT INTO t VALUES (200, 1, 'new'), (201, 2, 'new')")
        assert changed(con, "UPDATE t SET s = 'old' WHERE s = 'new' AND id % 2 = 0") == 16
        assert changed(con, "DELETE FROM t WHERE id IN (1, 100, 101, 200, 22)") == 5
        assert changed(con, "UPDATE t SET s = 'older' WHERE id IN (2, 102, 21)") == 3
        expected = [0, *range(2, 22), *range(102, 130), 201]
        assert ids(con) == expected
        assert con.table("t").where("s = 'old'").count() == 13
        assert con.sql("SELECT count(*) FROM t").collect()[0][0] == len(expected)
        assert ids(other) == list(range(23))
    assert ids(con) == ids(other) == expected
    assert ids(other, "s = 'older'") == [2, 21, 102]
    rowids = [row[0] for row in other.sql("SELECT rowid FROM t").collect()]
    assert len(set(rowids)) == len(expected)
    assert {0, *range(2, 22)} <= set(rowids)
    other.close()


def test_rollback_leaves_rows_and_files_as_they_were(con, location):
    before = table_files(location)
    con.sql("BEGIN")
    con.sql("UPDATE t SET s = 'x' WHERE id < 15")
    con.sql("DELETE FROM t WHERE id < 13")
    con.sql("ROLLBACK")
    assert ids(con) == list(range(23))
    assert table_files(location) == before


def test_truncate_and_delete_of_everything_read_no_file(con, location):
    for path in table_files(location):
        Path(path).write_bytes(b"nothing to read")
    assert changed(con, "TRUNCATE t") == 23
    assert ids(con) == []
    con.sql("INSERT INTO t VALUES (1, 1, 'a')")
    assert changed(con, "DELETE FROM t") == 1


def test_only_files_that_may_match_are_read(con, location):
    kept = set(table_files(location))
    con.sql("INSERT INTO t SELECT i, i, 'far' FROM range(1000, 1020) r(i)")
    for path in kept:
        Path(path).write_bytes(b"nothing to read")
    assert changed(con, "DELETE FROM t WHERE id >= 1005") == 15
    assert changed(con, "UPDATE t SET s = 'x' WHERE id > 1000") == 4


def test_nested_values_and_odd_names_survive_an_update(con):
    con.sql(
        'CREATE TABLE "odd ""t" ("a.b" INTEGER, m MAP(VARCHAR, INTEGER), l STRUCT(x INTEGER)[])'
    )
    con.sql("""INSERT INTO "odd ""t" SELECT i, MAP {'k': i}, [{'x': i}] FROM range(30) r(i)""")
    assert changed(con, """UPDATE "odd ""t" SET "a.b" = -"a.b" WHERE "a.b" > 10""") == 19
    assert changed(con, """UPDATE "odd ""t" SET m = MAP {'z': 1} FROM range(2) u(k)
                           WHERE "a.b" = -20""") == 1  # fmt: skip
    rows = con.sql("""SELECT m['k'] AS k, l[1].x AS x FROM "odd ""t" WHERE "a.b" = -15""").collect()
    assert [tuple(row) for row in rows] == [(15, 15)]
    assert con.sql("""SELECT m['z'] AS z FROM "odd ""t" WHERE "a.b" = -20""").collect()[0].z == 1


def test_few_rows_of_a_large_table_make_one_file(con, location, spark):
    """The optimizer takes what is left by a filter for as large as the table."""
    wide = spark.range(0, 1_000_000, 1, 4).selectExpr(
        "id", "hex(rand(1) * 1e17) AS a", "rand() AS b"
    )
    con.create_table("large", wide.selectExpr("*", "concat(a, b, b + 1, b + 2, b + 3) AS c"))
    before = set(table_files(location))
    assert len(before) > 1
    assert sum(Path(path).stat().st_size for path in before) > 2 * limits().small_write_bytes
    assert changed(con, "UPDATE large SET b = -1 WHERE id % 10000 = 7") == 100
    made = [p for p in set(table_files(location)) - before if "delete" not in p]
    assert len(made) == 1
    assert con.sql("SELECT count(*), min(id), max(id) FROM large WHERE b = -1").collect()[0] == (
        100,
        7,
        990_007,
    )


@pytest.mark.parametrize("partitioned", [False, True])
@pytest.mark.parametrize("files_of_driver", [1000, 0])
def test_a_change_is_the_same_whoever_writes_the_delete_files(
    con, lower, files_of_driver, partitioned
):
    """Beyond a number of files tasks write them, and rows are computed before."""
    lower(driver_files=files_of_driver)
    if partitioned:
        con.sql("ALTER TABLE t SET PARTITIONED BY (bucket(3, id))")
    con.sql("CALL lake.set_option('data_inlining_row_limit', 0)")
    row_ids = dict(map(tuple, con.sql("SELECT id, rowid FROM t").collect()))
    assert changed(con, "UPDATE t SET v = -id WHERE id % 3 = 0") == 8
    merged = changed(
        con,
        "MERGE INTO t USING (SELECT i AS id FROM range(18, 26) r(i)) s USING (id) "
        "WHEN MATCHED AND id = 20 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET s = 'merged' WHEN NOT MATCHED THEN INSERT (id) VALUES (id)",
    )
    assert merged == 8
    assert ids(con) == [*range(20), 21, 22, 23, 24, 25]
    assert ids(con, "v = -id") == [0, 3, 6, 9, 12, 15, 18, 21]
    assert ids(con, "s = 'merged'") == [18, 19, 21, 22]
    after = dict(map(tuple, con.sql("SELECT id, rowid FROM t WHERE id < 23").collect()))
    assert after == {key: value for key, value in row_ids.items() if key != 20}


@pytest.mark.parametrize(
    ("limit", "value"), [("numbered_rows", 1 << 24), ("numbered_rows", 0), ("driver_files", 0)]
)
def test_rows_are_deleted_wherever_they_are_and_however_they_are_collected(
    con, lower, limit, value
):
    """As numbers, as bits, or by the tasks: in files, in the catalog, and of the transaction."""
    lower(**{limit: value})
    con.sql("BEGIN")
    con.sql("INSERT INTO t SELECT i, 0, 'own' FROM range(30, 50) r(i)")
    con.sql("INSERT INTO t VALUES (50, 0, 'own'), (51, 0, 'own')")
    doubled = "DELETE FROM t USING (VALUES (1), (1)) AS twice(x) WHERE id % 7 = x"
    assert changed(con, doubled) == 7
    assert changed(con, "DELETE FROM t WHERE id = -1") == 0
    con.sql("COMMIT")
    left = [i for i in (*range(23), *range(30, 52)) if i % 7 != 1]
    assert ids(con) == left

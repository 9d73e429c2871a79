"""MERGE: which clause a row takes, what becomes of it, and that it happens once or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

import ducklake_spark
from ducklake_spark.errors import (
    ColumnMismatch,
    ColumnNotFound,
    DuckLakeError,
    InvalidInput,
    InvalidValue,
    NotNullViolation,
)
from ducklake_spark.execution.merge import MergeResult
from support.writing import table_files

pytestmark = pytest.mark.spark

SOURCE = "(VALUES (1, 100, 'x'), (9, 900, 'z'), (NULL, 5, 'n')) AS src(id, v, s)"
TWICE = "(VALUES (1, 100), (1, 200)) AS src(id, v)"


@pytest.fixture
def location(make_lake_location):
    return make_lake_location("sqlite")


@pytest.fixture
def con(location, spark):
    con = ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path
    )
    con.sql("CREATE TABLE t (id INTEGER, v INTEGER DEFAULT 7, s VARCHAR)")
    con.sql("INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (NULL, NULL, 'c')")
    yield con
    con.close()


def merged(con, text):
    return con.sql(f"MERGE INTO t USING {text}").collect()[0]["Count"]


def rows(con, columns="rowid, id, v, s"):
    return [tuple(row) for row in con.sql(f"SELECT {columns} FROM t ORDER BY rowid").collect()]


def test_every_clause_has_its_rows_and_the_first_that_is_true_counts(con):
    count = merged(
        con,
        f"""{SOURCE} ON t.id = src.id
        WHEN MATCHED AND t.v > 1000 THEN DELETE
        WHEN MATCHED AND src.v / t.v = 10 THEN UPDATE SET v = t.v + src.v, s = t.s || src.s
        WHEN MATCHED THEN DELETE
        WHEN NOT MATCHED AND src.v < 10 THEN DO NOTHING
        WHEN NOT MATCHED BY TARGET THEN INSERT (id, s) VALUES (id * 10, DEFAULT)
        WHEN NOT MATCHED BY SOURCE AND v IS NULL THEN UPDATE SET v = DEFAULT, s = s || '!'
        WHEN NOT MATCHED BY SOURCE THEN DELETE""",
    )

    assert count == 4
    # A NULL matches nothing, on either side; ids of rows that stay are kept.
    assert rows(con) == [(0, 1, 110, "ax"), (2, None, 7, "c!"), (3, 90, 7, None)]
    assert con.sql("FROM lake.snapshots()").count() == 4


def test_whole_rows_go_by_place_and_by_name(con):
    turned = "(SELECT 'y' AS s, 2 AS id UNION ALL SELECT 'w', 8) AS src"

    count = merged(
        con,
        f"{turned} USING (id) WHEN MATCHED AND id < 5 THEN UPDATE BY NAME "
        "WHEN NOT MATCHED THEN INSERT BY NAME *",
    )
    assert count == 2
    assert rows(con)[1:] == [(1, 2, 20, "y"), (2, None, None, "c"), (3, 8, 7, "w")]
    assert merged(con, f"{SOURCE} USING (id) WHEN MATCHED THEN UPDATE SET *") == 1
    assert rows(con)[0] == (0, 1, 100, "x")
    with pytest.raises(ColumnMismatch, match="3 columns to fill, but 2 values"):
        merged(con, f"{turned} USING (id) WHEN NOT MATCHED THEN INSERT")


def test_a_value_is_computed_for_the_rows_of_its_clause_alone(con):
    guarded = "WHEN MATCHED AND src.v = 0 THEN DO NOTHING WHEN MATCHED THEN UPDATE SET s = CAST("
    zero = "(VALUES (1, 'bad', 0), (2, '5', 1)) AS src(id, w, v)"

    assert merged(con, f"{zero} USING (id) {guarded} CAST(src.w AS INTEGER) AS VARCHAR)") == 1
    assert rows(con, "id, s")[:2] == [(1, "a"), (2, "5")]


def test_sources_of_any_kind(con):
    con.spark.range(2, 4).createOrReplaceTempView("numbers")
    con.sql("CREATE TABLE u AS SELECT 1 AS id, 11 AS v")

    assert merged(con, "u ON t.id = u.id WHEN MATCHED THEN UPDATE SET v = lake.main.u.v") == 1
    assert merged(con, "numbers n ON t.id = n.id WHEN MATCHED THEN UPDATE SET v = t.id + n.id") == 1
    assert merged(con, "t AS o ON t.rowid = o.rowid + 1 WHEN MATCHED THEN UPDATE SET v = o.v") == 2
    assert rows(con, "v") == [(11,), (11,), (4,)]
    text = """WITH c AS (FROM u) MERGE INTO t AS x USING c ON x.id = c.id
        WHEN MATCHED THEN UPDATE SET v = (SELECT max(v) + 1 FROM c)"""
    assert con.sql(text).collect() == [(1,)]
    assert rows(con, "v")[0] == (12,)


def test_a_random_condition_is_asked_once(con):
    con.sql("INSERT INTO t SELECT i, 0, 'many' FROM range(1000, 1200) r(i)")

    changed = merged(
        con,
        "(SELECT i AS id, random() AS r FROM range(900, 1100) q(i)) AS src ON t.id = src.id "
        "WHEN MATCHED AND src.r < 0.5 THEN UPDATE SET v = 1, s = CAST(src.r AS VARCHAR) "
        "WHEN NOT MATCHED AND random() < 0.5 THEN INSERT VALUES (id, 2, CAST(r AS VARCHAR))",
    )
    counts = dict(con.sql("SELECT v, count(*) FROM t WHERE v < 3 GROUP BY v").collect())
    assert counts[1] + counts[2] == changed
    assert 10 < counts[1] < 90
    assert con.sql("FROM t WHERE v = 1 AND CAST(s AS DOUBLE) >= 0.5").count() == 0


@pytest.mark.parametrize(
    "clauses",
    [
        "WHEN MATCHED THEN UPDATE SET v = src.v",
        "WHEN MATCHED AND src.v = 100 THEN DELETE WHEN MATCHED THEN UPDATE SET v = src.v",
    ],
)
def test_a_row_that_would_change_twice_is_an_error_and_leaves_nothing(con, location, clauses):
    con.sql("CALL lake.set_option('data_inlining_row_limit', 0)")
    con.sql("INSERT INTO t SELECT i, 0, 'many' FROM range(100, 150) r(i)")
    con.sql("INSERT INTO t VALUES (1, 0, 'in a file')")
    before, files = rows(con), table_files(location)

    with pytest.raises(InvalidInput, match="changed more than once"):
        merged(con, f"{TWICE} ON t.id = src.id {clauses}")
    assert rows(con) == before
    assert table_files(location) == files


def test_two_matches_are_fine_when_one_of_them_changes_the_row_or_all_delete_it(con):
    one = "WHEN MATCHED AND src.v = 200 THEN UPDATE SET v = src.v"
    assert merged(con, f"{TWICE} ON t.id = src.id {one}") == 1
    assert rows(con)[0] == (0, 1, 200, "a")
    mixed = "WHEN MATCHED AND t.id = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 0"
    assert merged(con, f"{TWICE} ON t.id = src.id {mixed}") == 1
    assert rows(con, "rowid") == [(1,), (2,)]


def test_error_clauses_speak_for_themselves(con):
    with pytest.raises(InvalidValue, match=r"^Merge error condition WHEN MATCHED: bad 100$"):
        merged(con, f"{SOURCE} USING (id) WHEN MATCHED THEN ERROR 'bad ' || src.v")
    with pytest.raises(InvalidValue, match=r"^Merge error condition WHEN NOT MATCHED BY SOURCE$"):
        merged(
            con,
            f"{SOURCE} USING (id) WHEN NOT MATCHED BY SOURCE THEN ERROR WHEN MATCHED THEN DELETE",
        )
    assert merged(con, f"{SOURCE} USING (id) WHEN MATCHED AND src.v < 0 THEN ERROR") == 0
    assert merged(con, f"{SOURCE} USING (id) WHEN MATCHED THEN DO NOTHING") == 0
    assert rows(con, "v") == [(10,), (20,), (None,)]


@pytest.mark.parametrize(
    ("clauses", "error", "text"),
    [
        ("WHEN NOT MATCHED THEN DELETE", InvalidInput, "the table has no such row"),
        ("WHEN MATCHED THEN INSERT", InvalidInput, "has the row already"),
        ("WHEN NOT MATCHED AND t.v > 1 THEN INSERT", ColumnNotFound, "t.v"),
        ("WHEN NOT MATCHED BY SOURCE AND src.v > 1 THEN DELETE", ColumnNotFound, "src.v"),
        ("WHEN MATCHED AND v > 1 THEN DELETE", InvalidInput, "(?i)ambiguous"),
        ("WHEN MATCHED THEN DELETE WHEN MATCHED THEN DO NOTHING", InvalidInput, "No row can reach"),
        ("WHEN MATCHED THEN UPDATE SET v = 1, v = 2", InvalidInput, "set twice"),
        ("WHEN MATCHED THEN UPDATE SET w = 1", ColumnNotFound, '"w"'),
        ("WHEN NOT MATCHED THEN INSERT (id, v) VALUES (1)", ColumnMismatch, "1 values"),
        ("WHEN NOT MATCHED THEN INSERT (id, v)", InvalidInput, "expected VALUES"),
    ],
)
def test_clauses_that_make_no_sense_are_refused(con, clauses, error, text):
    with pytest.raises(error, match=text):
        merged(con, f"{SOURCE} ON t.id = src.id {clauses}")


def test_a_transaction_sees_its_merge_and_a_rollback_leaves_no_file(con, location):
    con.sql("CALL lake.set_option('data_inlining_row_limit', 0)")
    many = "(SELECT i AS id, -1 AS v, 'm' AS s FROM range(2, 60) r(i)) AS src USING (id)"
    upsert = f"{many} WHEN MATCHED THEN UPDATE WHEN NOT MATCHED THEN INSERT"
    files = table_files(location)

    con.begin()
    con.sql("INSERT INTO t VALUES (3, 3, 'own')")
    assert merged(con, upsert) == 58
    assert merged(con, f"{many} WHEN MATCHED AND src.id < 5 THEN DELETE") == 3
    assert con.sql("FROM t").count() == 57
    con.rollback()
    assert table_files(location) == files
    assert rows(con, "id") == [(1,), (2,), (None,)]

    with con.transaction():
        con.sql("INSERT INTO t VALUES (3, 3, 'own')")
        assert merged(con, upsert) == 58
    assert [row[:2] for row in rows(con)][:3] == [(0, 1), (1, 2), (2, None)]
    assert len({row[0] for row in rows(con)}) == 60


def test_not_null_holds_and_nothing_is_left(con, location):
    con.sql("CREATE TABLE n (id INTEGER NOT NULL, v INTEGER)")
    files = sorted(Path(location.data_path).rglob("*.parquet"))

    with pytest.raises(NotNullViolation):
        con.sql(
            f"MERGE INTO n USING {SOURCE} USING (id) WHEN NOT MATCHED THEN INSERT VALUES (id, v)"
        )
    assert sorted(Path(location.data_path).rglob("*.parquet")) == files


def test_files_that_a_constant_excludes_are_not_read(con, location):
    con.sql("CALL lake.set_option('data_inlining_row_limit', 0)")
    con.sql("CREATE TABLE p AS SELECT i AS id, 0 AS v FROM range(10) r(i)")
    con.sql("INSERT INTO p SELECT i, 1 FROM range(10) r(i)")
    first = con.sql("SELECT DISTINCT filename FROM p WHERE v = 0").collect()[0][0]
    kept = Path(first).read_bytes()
    Path(first).unlink()

    done = con.merge("p", con.spark.range(5, 15), on="target.id = source.id AND target.v = 1")
    done = done.when_matched_update({"v": "9"}).when_not_matched_insert({"id": "id"}).execute()
    assert done == MergeResult(inserted=5, updated=5, deleted=0)
    Path(first).write_bytes(kept)
    assert con.sql("FROM p").count() == 25


def test_files_without_a_key_of_the_source_are_not_read(con):
    con.sql("CALL lake.set_option('data_inlining_row_limit', 0)")
    con.sql("CREATE TABLE p (id INTEGER, part INTEGER, v INTEGER)")
    con.sql("ALTER TABLE p SET PARTITIONED BY (part)")
    con.sql("INSERT INTO p SELECT i, i // 10, 0 FROM range(120) r(i)")
    first = con.sql("SELECT DISTINCT filename FROM p WHERE part = 0").collect()[0][0]
    kept = Path(first).read_bytes()
    Path(first).unlink()

    source = con.sql(
        "SELECT CAST(i AS INTEGER) AS id, 50 AS part, 1 AS v FROM range(115, 125) r(i)"
    )
    done = con.merge("p", source, on=["id"])
    done = done.when_matched_update().when_not_matched_insert().execute()
    assert done == MergeResult(inserted=5, updated=5, deleted=0)
    Path(first).write_bytes(kept)
    assert con.sql("SELECT count(*), sum(v) FROM p").collect() == [(125, 10)]
    nothing = con.merge("p", source.where("id IS NULL"), on=["id"]).when_matched_delete()
    assert nothing.execute() == MergeResult()


def test_rows_that_match_no_key_are_there_for_subqueries(con):
    con.sql("CALL lake.set_option('data_inlining_row_limit', 0)")
    con.sql("CREATE TABLE p (id INTEGER, name VARCHAR, v INTEGER)")
    con.sql("ALTER TABLE p SET PARTITIONED BY (v)")
    con.sql("INSERT INTO p SELECT i, 'n' || i % 3, i % 12 FROM range(120) r(i)")
    con.sql("INSERT INTO p VALUES (NULL, 'n0', 0)")
    text = (
        "MERGE INTO p USING (VALUES (5, 'n2', 50), (5, 'n1', 60), (6, 'n0', 11), (NULL, 'n0', 70), "
        "(200, 'n0', 80), (200, 'n0', 80)) AS s(id, name, v) "
        "ON p.id = s.id AND p.name = s.name "
        "WHEN MATCHED AND s.v > (SELECT max(v) FROM p) "
        "THEN UPDATE SET v = s.v, name = CAST(p.rowid AS VARCHAR) "
        "WHEN NOT MATCHED AND s.v > (SELECT count(*) / 2 FROM p) THEN INSERT *"
    )
    kept = con.sql("SELECT rowid FROM p WHERE id = 5").collect()[0][0]
    assert con.sql(text).collect() == [(4,)]
    changed = "SELECT id, name, v FROM p WHERE v > 11 ORDER BY v, id"
    assert con.sql(changed).collect() == [
        *((5, str(kept), 50), (None, "n0", 70), (200, "n0", 80), (200, "n0", 80))
    ]
    assert con.sql("SELECT count(*) FROM p").collect() == [(124,)]


def test_the_builder_says_what_it_did(con):
    source = con.spark.createDataFrame([(2, 22, "bb"), (5, 55, "ee")], "id int, v int, s string")

    done = (
        con.merge("t", source, on=["id"])
        .when_matched_update(condition="target.v > 100")
        .when_matched_update({"v": "source.v", "s": "upper(target.s)"})
        .when_not_matched_insert()
        .when_not_matched_by_source_update({"v": "DEFAULT"}, condition="id IS NULL")
        .when_not_matched_by_source_delete()
        .execute()
    )
    assert done == MergeResult(inserted=1, updated=2, deleted=1)
    assert rows(con) == [(1, 2, 22, "B"), (2, None, 7, "c"), (3, 5, 55, "ee")]
    again = con.merge("lake.main.t", "SELECT 5 AS k", on="target.id = source.k")
    assert again.when_matched_delete().execute() == MergeResult(deleted=1)
    con.sql("CREATE TABLE u AS SELECT 2 AS id")
    named = con.merge("t", "u", on="a.id = b.id", target_alias="a", source_alias="b")
    assert named.when_matched_delete("a.v = 22").execute() == MergeResult(deleted=1)
    with pytest.raises(DuckLakeError, match="no clause"):
        named.execute()


def test_spark_s_dialect_has_its_own_stars_and_meaning(con):
    con.spark.createDataFrame([("q", 2), ("r", 6)], "s string, id int").createOrReplaceTempView("n")

    count = con.sql(
        "MERGE INTO t USING n ON t.id = n.id WHEN MATCHED THEN UPDATE SET t.s = n.s, v = 7 div 2 "
        "WHEN NOT MATCHED THEN INSERT *",
        dialect="spark",
    )
    assert count.collect() == [(2,)]
    assert rows(con)[1:] == [(1, 2, 3, "q"), (2, None, None, "c"), (3, 6, 7, "r")]

"""Scans of lakes that the real DuckDB wrote: the JVM must show what DuckDB shows."""

from __future__ import annotations

import datetime as dt
import decimal
import functools
import math
import re
import uuid
from pathlib import Path

import pytest

from ducklake_spark.bridge.errors import original_error
from ducklake_spark.errors import CorruptDataFile
from ducklake_spark.model.predicate import And, Comparison, In, IsNull
from ducklake_spark.spark.relation import explain_scans
from support.lakes import make_location
from support.scans import scan_table

pytestmark = pytest.mark.spark


@pytest.fixture
def lake(tmp_path):
    return make_location("sqlite", tmp_path)


def write(lake, *statements, inline=0):
    with lake.oracle(DATA_INLINING_ROW_LIMIT=inline) as duck:
        for statement in statements:
            duck.sql(statement)


def ask(lake, query):
    with lake.oracle(DATA_INLINING_ROW_LIMIT=0) as duck:
        return duck.sql(query)


def plain(value):
    """A value in a form that is the same from both engines."""
    if isinstance(value, dict):
        return tuple(sorted(((plain(k), plain(v)) for k, v in value.items()), key=repr))
    if isinstance(value, tuple) and hasattr(value, "asDict"):
        return plain(value.asDict())
    if isinstance(value, list | tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.timezone.utc).replace(tzinfo=None)
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, decimal.Decimal) and value == value.to_integral_value():
        return int(value)
    if isinstance(value, bytearray):
        return bytes(value)
    return value


def rows(frame):
    return sorted((tuple(plain(v) for v in row) for row in frame.collect()), key=repr)


def expected(lake, query):
    return sorted((tuple(plain(v) for v in row) for row in ask(lake, query)), key=repr)


def test_all_rows_are_shown_when_nothing_is_hidden(spark, lake):
    write(lake, "CREATE TABLE t AS SELECT i, 'v' || i AS s, i / 3 AS f FROM range(1000) r(i)")
    frame = scan_table(spark, lake, "t").frame
    assert frame.columns == ["i", "s", "f"]
    assert [field.metadata for field in frame.schema] == [{}, {}, {}]
    assert rows(frame) == expected(lake, "FROM t")


def test_a_scan_with_nothing_to_hide_adds_no_node(spark, lake):
    write(lake, "CREATE TABLE t AS SELECT i, 'v' || i AS s FROM range(100) r(i)")
    text = explained(scan_table(spark, lake, "t").frame.where("i > 5").select("s"))
    assert "Union" not in text
    assert "Join" not in text
    assert "GreaterThan(i,5)" in text
    assert "ReadSchema: struct<i:bigint,s:string>" in text


def explained(frame):
    return frame._jdf.queryExecution().toString().rsplit("== Physical Plan ==", 1)[1]


def test_no_rows_are_shown_when_there_are_no_files(spark, lake):
    write(lake, "CREATE TABLE t (i INT, s VARCHAR, u UUID)")
    frame = scan_table(spark, lake, "t", virtual=("rowid", "filename")).frame
    assert frame.columns == ["i", "s", "u", "rowid", "filename"]
    assert frame.collect() == []


def test_columns_keep_their_values_when_they_are_renamed_dropped_and_added(spark, lake):
    write(
        lake,
        "CREATE TABLE t (a INT, b VARCHAR, c DOUBLE)",
        "INSERT INTO t SELECT i, 'b' || i, i FROM range(20) r(i)",
        "ALTER TABLE t RENAME b TO bb",
        "ALTER TABLE t DROP c",
        "ALTER TABLE t ADD COLUMN c VARCHAR",
        "ALTER TABLE t ADD COLUMN d INT DEFAULT 42",
        "INSERT INTO t SELECT i, 'b' || i, 'c', i FROM range(20, 40) r(i)",
    )
    assert rows(scan_table(spark, lake, "t").frame) == expected(lake, "FROM t")


def test_filters_meet_the_right_column_when_names_change_hands(spark, lake):
    write(
        lake,
        "CREATE TABLE t (a INT, b INT, s STRUCT(x INT, y INT))",
        "INSERT INTO t SELECT i, i + 1000, {'x': i, 'y': i + 1000} FROM range(100) r(i)",
        "ALTER TABLE t RENAME b TO old_b",
        "ALTER TABLE t ADD COLUMN b INT DEFAULT 5",
        "ALTER TABLE t RENAME a TO b2",
        "ALTER TABLE t RENAME old_b TO a",
        "ALTER TABLE t RENAME COLUMN s.x TO z",
        "ALTER TABLE t RENAME COLUMN s.y TO x",
    )
    frame = scan_table(spark, lake, "t").frame
    conditions = ["b = 5", "a = 1005", "b2 = 5", "s.x = 1005", "s.z = 5", "b IS NULL", "a < 1003"]
    found = [frame.where(condition).count() for condition in conditions]
    assert found == [100, 1, 1, 1, 1, 0, 3]


DEFAULTS = {
    "b": "BOOLEAN DEFAULT 1",
    "i": "SMALLINT DEFAULT -7",
    "u8": "UTINYINT DEFAULT 200",
    "u64": "UBIGINT DEFAULT 18446744073709551615",
    "f": "FLOAT DEFAULT 'nan'",
    "d": "DOUBLE DEFAULT 0.1",
    "dc": "DECIMAL(10,2) DEFAULT 1.5",
    "dt": "DATE DEFAULT '0001-01-02'",
    "tm": "TIME DEFAULT '03:04:05.5'",
    "ts": "TIMESTAMP DEFAULT '2020-01-01 03:04:05.5'",
    "ms": "TIMESTAMP_MS DEFAULT '2020-01-01 03:04:05.5'",
    "ns": "TIMESTAMP_NS DEFAULT '2020-01-01 03:04:05.123456789'",
    "tz": "TIMESTAMPTZ DEFAULT '2020-01-01 03:04:05.5+02'",
    "v": "VARCHAR DEFAULT 'it''s \\ \"é\" 100%'",
    "j": "JSON DEFAULT '{\"a\": 1}'",
    "bl": "BLOB DEFAULT '\\x00a'",
    "uu": "UUID DEFAULT 'F79C3E09-677C-4BBD-A479-3F349CB785E7'",
}


def test_older_rows_show_the_default_when_a_column_is_added(spark, lake):
    write(
        lake,
        "CREATE TABLE t (id INT)",
        "INSERT INTO t VALUES (1), (2)",
        *(f"ALTER TABLE t ADD COLUMN {name} {kind}" for name, kind in DEFAULTS.items()),
        "INSERT INTO t (id) VALUES (3)",
    )
    frame = scan_table(spark, lake, "t").frame
    query = "SELECT * REPLACE (tm::VARCHAR AS tm, ns::VARCHAR AS ns) FROM t"
    assert rows(frame) == expected(lake, query)
    assert frame.where("dc = 1.5 AND v LIKE 'it%' AND id = 1").count() == 1


def test_nested_fields_are_adapted_when_a_struct_has_changed(spark, lake):
    write(
        lake,
        "CREATE TABLE t (id INT, s STRUCT(a INT, b VARCHAR), l STRUCT(x INT, y INT)[], "
        "m MAP(VARCHAR, STRUCT(p INT)))",
        "INSERT INTO t VALUES (1, {'a': 1, 'b': 'x'}, [{'x': 1, 'y': 2}, NULL], "
        "MAP {'k': {'p': 1}}), (2, NULL, NULL, NULL), (3, {'a': NULL, 'b': NULL}, [], MAP {})",
        "ALTER TABLE t ADD COLUMN s.c INT DEFAULT 5",
        "ALTER TABLE t ADD COLUMN s.d VARCHAR",
        "ALTER TABLE t DROP COLUMN s.a",
        "ALTER TABLE t RENAME COLUMN s.b TO bb",
        "ALTER TABLE t ADD COLUMN l.element.z INT",
        "ALTER TABLE t DROP COLUMN l.element.x",
        "ALTER TABLE t ADD COLUMN m.value.q INT",
        "INSERT INTO t VALUES (4, {'bb': 'n', 'c': 9, 'd': 'd'}, [{'y': 1, 'z': 2}], "
        "MAP {'k': {'p': 3, 'q': 4}})",
    )
    frame = scan_table(spark, lake, "t").frame
    assert rows(frame) == expected(lake, "FROM t")
    assert rows(frame.select("id", "s.c")) == expected(lake, "SELECT id, s.c FROM t")
    assert rows(frame.where("s IS NULL").select("id")) == [(2,)]


def test_a_struct_is_no_null_when_the_file_has_none_of_its_fields(spark, lake):
    write(
        lake,
        "CREATE TABLE t (id INT, s STRUCT(a INT))",
        "INSERT INTO t VALUES (1, {'a': 1}), (2, NULL), (3, {'a': NULL})",
        "ALTER TABLE t ADD COLUMN s.b INT",
        "ALTER TABLE t DROP COLUMN s.a",
    )
    frame = scan_table(spark, lake, "t").frame
    assert rows(frame) == expected(lake, "FROM t")
    assert rows(frame.selectExpr("id", "s IS NULL")) == expected(
        lake, "SELECT id, s IS NULL FROM t"
    )
    assert rows(frame.selectExpr("id", "s.b")) == expected(lake, "SELECT id, s.b FROM t")


PROMOTIONS = [
    ("TINYINT", "SMALLINT", ["-7", "127"], ["5"]),
    ("TINYINT", "DOUBLE", ["1"], ["0.5", "1", "1.5"]),
    ("INTEGER", "BIGINT", ["-70000", "2147483647"], ["5000000000", "-5000000000", "1"]),
    ("INTEGER", "DOUBLE", ["2147483647"], ["2147483646.5", "2147483647.5"]),
    ("INTEGER", "FLOAT", ["16777217"], ["16777216"]),
    ("INTEGER", "DECIMAL(18,4)", ["1"], ["0.5", "1.5"]),
    ("BIGINT", "DOUBLE", ["9007199254740993"], ["9007199254740992", "1"]),
    ("UTINYINT", "INTEGER", ["7", "255"], ["200", "-1"]),
    ("UINTEGER", "DOUBLE", ["7", "4294967295"], ["4294967294.5", "-1"]),
    ("UINTEGER", "BIGINT", ["7", "4294967295"], ["4294967294", "-1"]),
    ("UINTEGER", "UBIGINT", ["7", "4294967295"], ["4294967294"]),
    ("UBIGINT", "DOUBLE", ["7", "18446744073709551615"], ["8"]),
    ("FLOAT", "DOUBLE", ["1.1", "'nan'", "'-inf'"], ["1.1", "1.100000023841858"]),
    ("DECIMAL(9,2)", "DECIMAL(18,4)", ["-1.25", "1234567.89"], ["1234567.8899", "-1.2501"]),
    ("DECIMAL(9,2)", "DOUBLE", ["1.25"], ["1.2", "1.3", "125"]),
    ("DECIMAL(38,2)", "DOUBLE", ["-1.25"], ["1.5"]),
    ("DATE", "TIMESTAMP", ["'2020-01-02'", "'0001-01-01'"], ["'2020-01-01 23:59:59'"]),
    ("TIMESTAMP_S", "TIMESTAMP", ["'2020-01-02 03:04:05'"], ["'2020-01-02 03:04:04.9'"]),
    ("TIMESTAMP_MS", "TIMESTAMP", ["'2020-01-02 03:04:05.677'"], ["'2020-01-02 03:04:05.6779'"]),
    ("BOOLEAN", "INTEGER", ["true", "false"], ["0"]),
    ("VARCHAR", "JSON", ["'[]'", "'1'"], ["'[]'"]),
]


@pytest.fixture(scope="module")
def promoted(tmp_path_factory):
    lake = make_location("sqlite", tmp_path_factory.mktemp("promoted"))
    statements = []
    for index, (old, new, values, _) in enumerate(PROMOTIONS):
        rows = ", ".join(f"({value}::{old})" for value in [*values, "NULL"])
        statements += [
            f"CREATE TABLE t{index} (v {old}, s STRUCT(x {old}), l {old}[])",
            f"INSERT INTO t{index} SELECT v, {{'x': v}}, [v] FROM (VALUES {rows}) q(v)",
            f"ALTER TABLE t{index} ALTER v SET DATA TYPE {new}",
            f"ALTER TABLE t{index} ALTER s SET DATA TYPE STRUCT(x {new})",
        ]
    write(lake, *statements)
    return lake


@pytest.mark.parametrize(
    "index", range(len(PROMOTIONS)), ids=lambda i: "->".join(PROMOTIONS[i][:2])
)
def test_values_and_filters_are_right_when_the_type_was_promoted(spark, promoted, index):
    _, new, _, bounds = PROMOTIONS[index]
    frame = scan_table(spark, promoted, f"t{index}").frame
    assert rows(frame) == expected(promoted, f"FROM t{index}")
    kind = {"UBIGINT": "DECIMAL(20,0)", "INTEGER": "INT", "JSON": "STRING"}.get(new, new)
    kind = kind.replace("TIMESTAMP", "TIMESTAMP_NTZ")
    # DuckDB casts the literal to the file's type here, so the same rows without files decide.
    local = spark.createDataFrame(frame.collect(), frame.schema)
    for bound in bounds:
        tests = [f"v {op} CAST({bound} AS {kind})" for op in ("=", "<", ">", "<=", ">=", "<>")]
        tests += [f"s.x {op} CAST({bound} AS {kind})" for op in ("<", ">=")]
        assert counts(frame, tests) == counts(local, tests)


def counts(frame, conditions):
    parts = [frame.where(c).selectExpr(f"{n} AS n", "v") for n, c in enumerate(conditions)]
    found = functools.reduce(lambda a, b: a.union(b), parts).collect()
    return sorted(((conditions[n], plain(v)) for n, v in found), key=repr)


def test_a_timestamp_becomes_a_moment_in_the_sessions_zone_when_promoted(spark, lake):
    write(
        lake,
        "CREATE TABLE t (v TIMESTAMP, d DATE)",
        "INSERT INTO t VALUES ('2020-07-02 03:04:05', '2020-07-02')",
        "ALTER TABLE t ALTER v SET DATA TYPE TIMESTAMPTZ",
        "ALTER TABLE t ALTER d SET DATA TYPE TIMESTAMPTZ",
    )
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        frame = scan_table(spark, lake, "t").frame
        [row] = frame.selectExpr("unix_seconds(v)", "unix_seconds(d)").collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    query = "SET TimeZone = 'America/New_York'; SELECT epoch(v)::BIGINT, epoch(d)::BIGINT FROM t"
    assert [tuple(row)] == ask(lake, query)


def test_the_footer_decides_when_the_catalog_cannot_tell_the_type(spark, lake):
    write(
        lake,
        "CREATE TABLE t (id INT, v DECIMAL(9,2))",
        "INSERT INTO t SELECT i, i + 0.25 FROM range(10) r(i)",
        "ALTER TABLE t ALTER v SET DATA TYPE DOUBLE",
        "DELETE FROM t WHERE id < 8",
        "CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0.1)",
        "CREATE TABLE u (v UINTEGER)",
        "BEGIN",
        "INSERT INTO u VALUES (4294967295)",
        "ALTER TABLE u ALTER v SET DATA TYPE DOUBLE",
        "COMMIT",
        "CREATE TABLE d (i INT, s STRUCT(a INT))",
        "BEGIN",
        "INSERT INTO d VALUES (1, {'a': 1}), (2, NULL)",
        "ALTER TABLE d ADD COLUMN s.b INT DEFAULT 5",
        "ALTER TABLE d ADD COLUMN u UBIGINT DEFAULT 7",
        "COMMIT",
    )
    assert rows(scan_table(spark, lake, "t").frame) == expected(lake, "FROM t")
    assert rows(scan_table(spark, lake, "u").frame) == expected(lake, "FROM u")
    assert rows(scan_table(spark, lake, "d").frame) == expected(lake, "FROM d")


def test_raw_forms_are_decoded_at_every_level(spark, lake):
    values = (
        "('f79c3e09-677c-4bbd-a479-3f349cb785e7'::UUID, '03:04:05.67'::TIME, "
        "'2020-01-02 03:04:05.123456789'::TIMESTAMP_NS), "
        "('00000000-0000-0000-0000-000000000000', '00:00:00', '1969-12-31 23:59:59.999999999'), "
        "('ffffffff-ffff-ffff-ffff-ffffffffffff', '24:00:00', '1677-09-22 00:00:00'), "
        "(gen_random_uuid(), '23:59:59.999999', '2262-04-11 23:47:16.854775806'), "
        "(NULL, NULL, NULL)"
    )
    write(
        lake,
        "CREATE TABLE t (u UUID, t TIME, n TIMESTAMP_NS, l UUID[], s STRUCT(t TIME, i INT), "
        "m MAP(UUID, TIMESTAMP_NS), deep STRUCT(l MAP(VARCHAR, TIME)[]))",
        f"INSERT INTO t SELECT u, t, n, [u, NULL], {{'t': t, 'i': 1}}, "
        "CASE WHEN u IS NOT NULL THEN MAP {u: n} END, "
        f"{{'l': [MAP {{'k': t}}, NULL]}} FROM (VALUES {values}) v(u, t, n)",
        "INSERT INTO t (u) VALUES (NULL)",
    )
    text = (
        "SELECT u::VARCHAR, t::VARCHAR, n::VARCHAR, l::VARCHAR[], "
        "s::STRUCT(t VARCHAR, i INT), m::MAP(VARCHAR, VARCHAR), "
        "deep::STRUCT(l MAP(VARCHAR, VARCHAR)[]) FROM t"
    )
    assert rows(scan_table(spark, lake, "t").frame) == expected(lake, text)


def test_deleted_rows_are_hidden_at_each_snapshot(spark, lake):
    write(
        lake,
        "CREATE TABLE t AS SELECT i FROM range(1000) r(i)",
        "INSERT INTO t SELECT i FROM range(1000, 2000) r(i)",
        "DELETE FROM t WHERE i % 10 = 0",
        "DELETE FROM t WHERE i % 10 = 1 AND i < 500",
        "DELETE FROM t WHERE i >= 1000",
    )
    for version in range(1, 6):
        scanned = scan_table(spark, lake, "t", version=version)
        assert rows(scanned.frame) == expected(lake, f"FROM t AT (VERSION => {version})")
    assert [branch.deletes for branch in scanned.plan.branches] == [True]


def test_deletes_in_the_catalog_hide_rows_too(spark, lake):
    write(lake, "CREATE TABLE t AS SELECT i FROM range(100) r(i)", "DELETE FROM t WHERE i % 9 = 0")
    write(lake, "DELETE FROM t WHERE i IN (1, 2)", inline=10)
    scanned = scan_table(spark, lake, "t")
    assert scanned.plan.branches[0].files[0].inlined_deletes == 2
    assert rows(scanned.frame) == expected(lake, "FROM t")
    assert rows(scanned.frame.where("i < 4")) == [(3,)]


@pytest.mark.parametrize(
    ("way", "limits"),
    [
        ("invoke", {}),
        ("BroadcastHashJoin", {"bits_deletes": 5}),
        ("SortMergeJoin", {"bits_deletes": 5, "broadcast_deletes": 5}),
    ],
)
def test_deletes_are_hidden_in_the_way_that_their_number_allows(spark, lake, lower, way, limits):
    lower(**limits)
    write(
        lake,
        "CREATE TABLE t AS SELECT i FROM range(100) r(i)",
        "DELETE FROM t WHERE i % 9 = 0",
        "INSERT INTO t SELECT i FROM range(100, 120) r(i)",
        "INSERT INTO t SELECT i FROM range(200, 300) r(i)",
        "DELETE FROM t WHERE i % 7 = 0",
    )
    write(lake, "DELETE FROM t WHERE i IN (1, 299)", inline=10)
    frame = scan_table(spark, lake, "t").frame
    assert way in explained(frame)
    assert rows(frame) == expected(lake, "FROM t")
    assert rows(frame.where("i > 250")) == expected(lake, "FROM t WHERE i > 250")
    for version in range(1, 7):
        shown = scan_table(spark, lake, "t", version=version, virtual=("rowid",)).frame
        assert rows(shown) == expected(lake, f"SELECT i, rowid FROM t AT (VERSION => {version})")


def test_bits_of_deletes_are_sent_once_for_as_long_as_they_do_not_change(spark, lake):
    write(
        lake,
        "CREATE TABLE t AS SELECT i FROM range(100) r(i)",
        "DELETE FROM t WHERE i % 9 = 0",
    )

    def number():
        return re.search(r"Broadcast\((\d+)\)", explained(scan_table(spark, lake, "t").frame))[1]

    before = number()
    assert number() == before
    write(lake, "INSERT INTO t SELECT i FROM range(100, 110) r(i)")
    assert number() == before
    write(lake, "DELETE FROM t WHERE i = 5")
    assert number() != before


def test_a_position_outside_of_its_file_is_told(spark, lake):
    write(lake, "CREATE TABLE t AS SELECT i FROM range(10) r(i)", "DELETE FROM t WHERE i = 9")
    with lake.database() as db:
        db.execute(f"UPDATE {db.table('ducklake_data_file')} SET record_count = 9")
    with pytest.raises(CorruptDataFile, match=r"Row 9 of .* the file has 9 rows"):
        scan_table(spark, lake, "t")


def test_later_rows_of_a_merged_file_are_hidden_under_time_travel(spark, lake):
    write(
        lake,
        "CREATE TABLE t (i INT)",
        *(f"INSERT INTO t SELECT i FROM range({n * 20}, {n * 20 + 20}) r(i)" for n in range(3)),
        "CALL ducklake_merge_adjacent_files('lake')",
        "DELETE FROM t WHERE i % 7 = 0",
    )
    for version in range(1, 7):
        scanned = scan_table(spark, lake, "t", version=version, virtual=("rowid", "snapshot_id"))
        query = f"SELECT i, rowid, snapshot_id FROM t AT (VERSION => {version})"
        assert rows(scanned.frame) == expected(lake, query)


def test_row_ids_survive_when_rows_are_updated_flushed_and_rewritten(spark, lake):
    write(
        lake,
        "CREATE TABLE t AS SELECT i, 'a' AS s FROM range(50) r(i)",
        "UPDATE t SET s = 'b' WHERE i % 5 = 0",
        "DELETE FROM t WHERE i > 10 AND i < 45",
        "CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0.1)",
        "INSERT INTO t SELECT i, 'c' FROM range(100, 120) r(i)",
    )
    write(lake, "INSERT INTO t VALUES (1000, 'x')", "DELETE FROM t WHERE i = 1000", inline=10)
    write(lake, "CALL ducklake_flush_inlined_data('lake')", inline=10)
    names = ("rowid", "snapshot_id", "file_row_number")
    for version in range(1, 9):
        frame = scan_table(spark, lake, "t", version=version, virtual=names).frame
        query = f"SELECT i, s, rowid, snapshot_id, file_row_number FROM t AT (VERSION => {version})"
        assert rows(frame) == expected(lake, query)


def test_filters_on_virtual_columns_are_applied(spark, lake):
    write(
        lake,
        "CREATE TABLE t (i INT)",
        "INSERT INTO t SELECT i FROM range(20) r(i)",
        "INSERT INTO t SELECT i FROM range(20, 40) r(i)",
        "DELETE FROM t WHERE i = 25",
    )
    names = ("rowid", "snapshot_id", "filename", "file_row_number", "file_index")
    frame = scan_table(spark, lake, "t", virtual=names).frame
    [(first,)] = frame.where("i = 0").select("filename").collect()
    assert first in {path for (path,) in ask(lake, "SELECT DISTINCT filename FROM t")}
    assert frame.where("snapshot_id = 2").count() == 20
    assert frame.where("snapshot_id = 3").count() == 19
    assert frame.where("rowid BETWEEN 19 AND 21").count() == 3
    assert frame.where("file_row_number = 5").count() == 1
    assert frame.where(f"filename = '{first}'").count() == 20
    assert frame.groupBy("file_index").count().count() == 2


def foreign_file(lake, duck_query, path):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with lake.oracle() as duck:
        duck.sql(f"COPY ({duck_query}) TO '{path}' (FORMAT parquet)")


def test_columns_are_found_by_name_when_a_file_was_added(spark, lake, tmp_path):
    path = f"{tmp_path}/foreign/a.parquet"
    query = (
        "SELECT 'x' || i AS B, i::INT AS a, {'Y': i::SMALLINT, 'X': 'n'} AS s, [{'q': i}] AS l, "
        "MAP {'k': i} AS m FROM range(20) r(i)"
    )
    foreign_file(lake, query, path)
    write(
        lake,
        "CREATE TABLE t (a BIGINT, b VARCHAR, s STRUCT(x VARCHAR, y INT), l STRUCT(q BIGINT)[], "
        "m MAP(VARCHAR, BIGINT), z INT DEFAULT 9)",
        f"CALL ducklake_add_data_files('lake', 't', '{path}', allow_missing => true)",
        "ALTER TABLE t RENAME a TO aa",
        "ALTER TABLE t RENAME b TO a",
        "ALTER TABLE t ADD COLUMN b INT",
        "INSERT INTO t SELECT i, 'y', {'x': 'v', 'y': 1}, [], NULL, 1, 2 FROM range(20) r(i)",
        "DELETE FROM t WHERE aa = 3",
    )
    frame = scan_table(spark, lake, "t", virtual=("rowid", "snapshot_id")).frame
    assert rows(frame) == expected(lake, "SELECT *, rowid, snapshot_id FROM t")
    for condition in ("aa = 5", "a = 'x5'", "b IS NULL", "b = 2", "z = 9", "snapshot_id = 2"):
        query = f"SELECT aa FROM t WHERE {condition}"
        assert rows(frame.where(condition).select("aa")) == expected(lake, query)


def test_values_come_from_the_path_when_a_file_has_hive_folders(spark, lake, tmp_path):
    for year, region in (("2023", "a%2Fb"), ("2024", "__HIVE_DEFAULT_PARTITION__")):
        path = f"{tmp_path}/hive/year={year}/region={region}/f.parquet"
        foreign_file(lake, "SELECT i::INT AS i FROM range(5) r(i)", path)
    write(
        lake,
        "CREATE TABLE t (year INT, i INT, region VARCHAR)",
        f"CALL ducklake_add_data_files('lake', 't', '{tmp_path}/hive/*/*/*.parquet', "
        "hive_partitioning => true)",
        "DELETE FROM t WHERE i = 2 AND year = 2023",
    )
    frame = scan_table(spark, lake, "t").frame
    assert rows(frame) == expected(lake, "FROM t")
    assert frame.where("year = 2023").count() == 4
    assert frame.where("region = 'a/b'").count() == 4
    assert frame.where("region IS NULL AND i > 1").count() == 3


def test_files_are_found_when_paths_have_odd_characters(spark, tmp_path):
    odd = make_location("sqlite", tmp_path / "a b%20c#d é=1 [x]+&;,(y)")
    Path(odd.data_path).mkdir(parents=True)
    write(
        odd,
        'CREATE TABLE "t" (s VARCHAR, i INT)',
        "ALTER TABLE t SET PARTITIONED BY (s)",
        "INSERT INTO t SELECT 'p é/=%# ' || (i % 2), i FROM range(20) r(i)",
        "DELETE FROM t WHERE i IN (3, 4)",
    )
    frame = scan_table(spark, odd, "t", virtual=("filename",)).frame
    assert rows(frame) == expected(odd, "SELECT *, filename FROM t")


ARROW_VALUES = (
    "(170141183460469231731::HUGEINT, 5::UHUGEINT, '12:34:56.789'::TIMETZ, "
    "INTERVAL '1 year 2 months 3 days 04:05:06.7'), (-1, 0, '00:00:00', INTERVAL '0 days'), "
    "(NULL, NULL, NULL, NULL)"
)


def test_arrow_reads_the_types_that_the_jvm_does_not_have(spark, lake):
    write(
        lake,
        "CREATE TABLE t (h HUGEINT, u UHUGEINT, z TIMETZ, v INTERVAL, id UUID, t TIME, "
        "n TIMESTAMP_NS, l HUGEINT[], s STRUCT(v INTERVAL, d DATE), m MAP(VARCHAR, TIMETZ), "
        "dc DECIMAL(10,2), j JSON, b BLOB, tz TIMESTAMPTZ, ub UBIGINT)",
        "INSERT INTO t SELECT h, u, z, v, 'f79c3e09-677c-4bbd-a479-3f349cb785e7', '01:02:03.5', "
        "'2020-01-02 03:04:05.123456789', [h, NULL], {'v': v, 'd': DATE '2020-01-01'}, "
        "MAP {'k': z}, 1.5, '{}', 'a\\x00'::BLOB, '2020-01-01 00:00:00+00', "
        f"18446744073709551615 FROM (VALUES {ARROW_VALUES}) q(h, u, z, v)",
        "ALTER TABLE t ADD COLUMN extra INTERVAL DEFAULT '1 day'",
        "ALTER TABLE t RENAME h TO hh",
        "DELETE FROM t WHERE hh = -1",
    )
    scanned = scan_table(spark, lake, "t", virtual=("rowid", "snapshot_id", "filename"))
    assert {branch.reader for branch in scanned.plan.branches} == {"arrow"}
    query = (
        "SELECT * REPLACE (z::VARCHAR AS z, v::VARCHAR AS v, t::VARCHAR AS t, n::VARCHAR AS n, "
        "s::STRUCT(v VARCHAR, d DATE) AS s, m::MAP(VARCHAR, VARCHAR) AS m, "
        "extra::VARCHAR AS extra), rowid, snapshot_id, filename FROM t"
    )
    assert rows(scanned.frame) == expected(lake, query)


def test_arrow_applies_deletes_and_snapshots_like_the_jvm(spark, lake):
    write(
        lake,
        "CREATE TABLE t (i INT, h HUGEINT)",
        *(f"INSERT INTO t SELECT i, i FROM range({n * 20}, {n * 20 + 20}) r(i)" for n in range(3)),
        "CALL ducklake_merge_adjacent_files('lake')",
        "DELETE FROM t WHERE i % 7 = 0",
        "ALTER TABLE t ALTER h SET DATA TYPE DOUBLE",
    )
    for version in range(1, 8):
        frame = scan_table(spark, lake, "t", version=version, virtual=("rowid",)).frame
        assert rows(frame) == expected(lake, f"SELECT *, rowid FROM t AT (VERSION => {version})")


def test_spark_asks_for_files_with_the_querys_own_filters(spark, lake):
    write(
        lake,
        "CREATE TABLE t (i INT, d DATE, s STRUCT(x INT))",
        *(
            f"INSERT INTO t SELECT i, DATE '2020-01-01' + i::INT, {{'x': i}} "
            f"FROM range({n * 20}, {n * 20 + 20}) r(i)"
            for n in range(5)
        ),
    )
    scanned = scan_table(spark, lake, "t")
    scanned.frame.createOrReplaceTempView("asked")
    query = "SELECT count(*) FROM (SELECT i + 0 AS k, * FROM asked) WHERE i = 10 + 20"
    assert spark.sql(query).collect() == [(1,)]
    assert scanned.asked[-1] == (And((IsNull(1, negated=True), Comparison(1, "=", 30))), 1)
    many = ", ".join(str(n) for n in range(20, 40))
    assert spark.sql(f"SELECT count(*) FROM asked WHERE i IN ({many})").collect() == [(20,)]
    predicate, kept = scanned.asked[-1]
    assert kept == 1
    assert isinstance(predicate.parts[0], In)
    assert set(predicate.parts[0].values) == set(range(20, 40))
    assert scanned.frame.where("d BETWEEN '2020-01-05' AND '2020-01-07'").count() == 3
    assert scanned.asked[-1][1] == 1
    assert scanned.frame.where("s.x = 99").count() == 1
    assert scanned.asked[-1][1] == 1


def test_explain_tells_the_choice_without_running_the_query(spark, lake):
    write(
        lake,
        "CREATE TABLE t (i INT)",
        *(f"INSERT INTO t SELECT i FROM range({n * 20}, {n * 20 + 20}) r(i)" for n in range(4)),
    )
    frame = scan_table(spark, lake, "t").frame
    frame.createOrReplaceTempView("explained")
    query = spark.sql(
        "SELECT * FROM explained a JOIN explained b USING (i) "
        "WHERE a.i > (SELECT min(i) + 1 FROM explained WHERE i >= 60) AND a.i < 80"
    )
    reports = explain_scans(query)
    assert sorted(report.files_chosen for report in reports) == [1, 4, 4]
    assert {report.files_total for report in reports} == {4}
    assert all("of 4 files" in report.explain() for report in reports)


def test_self_joins_caching_and_reuse_give_the_same_rows(spark, lake):
    write(
        lake,
        "CREATE TABLE t AS SELECT i, i % 5 AS k FROM range(100) r(i)",
        "DELETE FROM t WHERE i % 3 = 0",
    )
    frame = scan_table(spark, lake, "t").frame
    joined = frame.alias("a").join(frame.alias("b"), "k").groupBy("k").count()
    query = "SELECT k, count(*) FROM t a JOIN t b USING (k) GROUP BY k"
    assert rows(joined) == expected(lake, query)
    cached = frame.cache()
    try:
        assert cached.count() == 66
        assert "InMemoryTableScan" in explained(frame.where("i > 5"))
    finally:
        cached.unpersist()


def test_a_frame_keeps_its_snapshot_when_the_table_changes_later(spark, lake):
    write(lake, "CREATE TABLE t AS SELECT i FROM range(10) r(i)")
    frame = scan_table(spark, lake, "t").frame
    write(lake, "INSERT INTO t SELECT i FROM range(10, 30) r(i)", "DELETE FROM t WHERE i = 1")
    assert rows(frame) == [(i,) for i in sorted(range(10), key=repr)]


@pytest.mark.parametrize(
    "setting",
    ["spark.sql.parquet.fieldId.read.enabled", "spark.sql.parquet.enableVectorizedReader"],
)
def test_a_query_fails_clearly_when_a_needed_setting_is_off(spark, lake, setting):
    write(lake, "CREATE TABLE t AS SELECT i FROM range(10) r(i)")
    frame = scan_table(spark, lake, "t").frame
    spark.conf.set(setting, "false")
    try:
        with pytest.raises(Exception, match=f"{setting} is off") as caught:
            frame.collect()
    finally:
        spark.conf.set(setting, "true")
    assert str(caught.value).startswith("Cannot read the lake")
    assert "Traceback" not in str(caught.value)
    assert frame.count() == 10


def test_a_missing_file_is_named_when_a_query_needs_it(spark, lake, caplog):
    write(
        lake,
        "CREATE TABLE t (i INT)",
        "INSERT INTO t SELECT i FROM range(20) r(i)",
        "INSERT INTO t SELECT i FROM range(20, 40) r(i)",
    )
    scanned = scan_table(spark, lake, "t")
    Path(scanned.plan.files[0].path).unlink()
    with pytest.raises(Exception, match="is not there") as caught:
        scanned.frame.collect()
    error = original_error(caught.value)
    assert type(error).__name__ == "MissingDataFile"
    assert scanned.plan.files[0].path in str(error)
    assert not [record for record in caplog.records if record.name.startswith("py4j")]
    assert scanned.frame.where("i > 20").count() == 19


def test_a_changed_file_is_refused(spark, lake):
    write(lake, "CREATE TABLE t AS SELECT i FROM range(10) r(i)")
    scanned = scan_table(spark, lake, "t")
    with Path(scanned.plan.files[0].path).open("ab") as file:
        file.write(b"more")
    with pytest.raises(Exception, match="but the catalog says") as caught:
        scanned.frame.count()
    assert type(original_error(caught.value)).__name__ == "CorruptDataFile"

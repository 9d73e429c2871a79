"""Partitioned tables: the same catalog, values and folders as DuckDB makes of the statements."""

from __future__ import annotations

import datetime as dt
import itertools

import duckdb
import pytest

import ducklake_spark
from ducklake_spark.model.entities import PartitionField, PartitionSpec
from ducklake_spark.model.literals import parse_text
from ducklake_spark.model.partition import (
    folder_names,
    hive_path,
    parse_transform,
    partition_value,
)
from ducklake_spark.model.schema import Schema, build_column
from ducklake_spark.model.temporal import TIMESTAMPS, parse_ordinal
from ducklake_spark.model.types import ScalarType, parse_sql_type
from ducklake_spark.plan.layout import WriteLayout
from ducklake_spark.spark.local import local_frame
from ducklake_spark.spark.partitioning import partition_columns
from support.catalogs import catalog_differences
from support.rows import same_rows

pytestmark = [pytest.mark.spark, pytest.mark.interop]

DEFINITIONS = [
    "CREATE TABLE t (a INTEGER, b VARCHAR)",
    "ALTER TABLE t SET PARTITIONED BY (a)",
    "ALTER TABLE t SET PARTITIONED BY (A)",
    "ALTER TABLE t RESET PARTITIONED BY",
    "ALTER TABLE t RESET PARTITIONED BY",
    "BEGIN",
    "ALTER TABLE t SET PARTITIONED BY (a)",
    "ALTER TABLE t SET PARTITIONED BY (b, bucket(4, a))",
    "INSERT INTO t SELECT 3, 'x' FROM range(30) r(i)",
    "COMMIT",
    "BEGIN",
    "ALTER TABLE t SET PARTITIONED BY (a)",
    "ALTER TABLE t RESET PARTITIONED BY",
    "COMMIT",
    "BEGIN",
    "CREATE TABLE n (a INTEGER, d DATE)",
    "ALTER TABLE n SET PARTITIONED BY (year(d), month(d), day(d))",
    "INSERT INTO n SELECT i, DATE '2024-03-05' FROM range(30) r(i)",
    "COMMIT",
    "BEGIN",
    "INSERT INTO n SELECT i, DATE '2024-03-05' FROM range(30) r(i)",
    "ALTER TABLE n SET PARTITIONED BY (a)",
    "COMMIT",
    "INSERT INTO n VALUES (1, DATE '2000-01-01')",
    "ALTER TABLE IF EXISTS missing SET PARTITIONED BY (a)",
    "CREATE TABLE gone (a INTEGER)",
    "ALTER TABLE gone SET PARTITIONED BY (a)",
    "DROP TABLE gone",
]


def connect(spark, location, **options):
    return ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path, **options
    )


@pytest.mark.parametrize("limit", [0, 10], ids=["files", "inlined"])
def test_the_same_statements_make_the_same_catalog(spark, catalog_kind, make_lake_location, limit):
    ours = make_lake_location(catalog_kind, "ours")
    theirs = make_lake_location(catalog_kind, "theirs")
    with connect(spark, ours, data_inlining_row_limit=limit) as con:
        for statement in DEFINITIONS:
            con.sql(statement)
    with theirs.oracle(data_inlining_row_limit=limit) as oracle:
        for statement in DEFINITIONS:
            oracle.sql(statement)
    with ours.database() as left, theirs.database() as right:
        assert catalog_differences(left, right) == {}


MOMENTS = (
    "'1969-12-31 23:59:59'",
    "'1970-01-01 00:00:00'",
    "'2024-02-29 06:07:08'",
    "'1582-10-10 00:00:01'",
    "'0044-03-15 (BC) 05:00:00'",
    "NULL",
)
NANOS = (
    "'1969-12-31 23:59:59.999999999'",
    "'2024-02-29 06:07:08'",
    "'1700-01-01 00:00:00'",
    "NULL",
)
# type -> values, and the transforms that it takes besides identity and bucket
COLUMNS = {
    "BOOLEAN": (("true", "false", "NULL"), ()),
    "TINYINT": (("-128", "0", "127", "NULL"), ()),
    "SMALLINT": (("-32768", "7", "NULL"), ()),
    "INTEGER": (("-2147483648", "34", "NULL"), ()),
    "BIGINT": (("-9223372036854775808", "34", "9223372036854775807", "NULL"), ()),
    "UTINYINT": (("0", "255", "NULL"), ()),
    "USMALLINT": (("34", "65535"), ()),
    "UINTEGER": (("34", "4294967295"), ()),
    "UBIGINT": (("34", "18446744073709551615", "NULL"), ()),
    "HUGEINT": (("-34", "170141183460469231731"), ()),
    "UHUGEINT": (("34", "170141183460469231731"), ()),
    "FLOAT": (("1.5", "-0.25", "1e30", "'nan'", "NULL"), ()),
    "DOUBLE": (("0.1", "-1.0", "1e300", "'inf'", "'nan'", "NULL"), ()),
    "DECIMAL(9,2)": (("14.20", "-0.01", "0", "NULL"), ()),
    "DECIMAL(18,4)": (("14.2", "-99999999999999.9999"), ()),
    "DECIMAL(38,10)": (("14.2", "-0.0000000001", "0", "NULL"), ()),
    "DATE": (tuple(m[:-10] + "'" if m != "NULL" else m for m in MOMENTS if "BC" not in m),
             ("year", "month", "day", "hour")),
    "TIME": (("'00:00:00'", "'22:31:08.25'", "NULL"), ("hour",)),
    "TIMETZ": (("'00:00:00+00'", "'22:31:08+05:30'", "'01:00:00-08'"), ("hour",)),
    "TIMESTAMP": (MOMENTS, ("year", "month", "day", "hour")),
    "TIMESTAMP_S": (MOMENTS, ("year", "month", "day", "hour")),
    "TIMESTAMP_MS": (MOMENTS, ("year", "month", "day", "hour")),
    "TIMESTAMP_NS": (NANOS, ("year", "month", "day", "hour")),
    "TIMESTAMPTZ": (MOMENTS[:4], ("year", "month", "day", "hour")),
    "INTERVAL": (("'14 months 5 days 06:00:00'", "'1 day'", "'0 days'"),
                 ("year", "month", "day", "hour")),
    "VARCHAR": (("''", "'a/b c'", "'é~!@#$%^&*()+{}|:<>?'", "'..'", "'%2F'", "'日本'", "NULL",
                 "'__HIVE_DEFAULT_PARTITION__'", "'abcd'", "'abcde'"), ()),
    "JSON": (("'{\"a\": 1}'", "'[1, 2]'", "NULL"), ()),
    "UUID": (("'F79C3E09-677c-4bbd-a479-3f349cb785e7'", "NULL"), ()),
    "BLOB": (("'abc'", "'iceberg'", "NULL"), ()),
}  # fmt: skip


def _keys(transforms):
    return ["identity", "bucket(7)", "bucket(1000)", *transforms]


def _sql_key(transform):
    name, _, rest = transform.partition("(")
    return "c" if name == "identity" else f"{name}({rest.rstrip(')')}{', ' if rest else ''}c)"


def test_values_and_folders_are_those_of_duckdb(make_lake_location):
    location = make_lake_location("duckdb", "lake")
    texts, expected = {}, {}
    with location.oracle(data_inlining_row_limit=0) as oracle:
        oracle.sql("BEGIN")
        for kind, (values, transforms) in COLUMNS.items():
            rows = ", ".join(f"(CAST({value} AS {kind}))" for value in values)
            texts[kind] = oracle.sql(f"SELECT c::VARCHAR FROM (VALUES {rows}) r(c)")
            for transform in _keys(transforms):
                table = f'"{kind} {transform}"'
                oracle.sql(f"CREATE TABLE {table} (c {kind})")
                oracle.sql(f"ALTER TABLE {table} SET PARTITIONED BY ({_sql_key(transform)})")
                oracle.sql(f"INSERT INTO {table} VALUES {rows}")
        oracle.sql("COMMIT")
    for kind, (_, transforms) in COLUMNS.items():
        data_type = parse_sql_type(kind)
        carried = [None if text is None else parse_key(text, data_type) for (text,) in texts[kind]]
        for transform in _keys(transforms):
            name = folder_names([("c", parse_transform(transform))])
            found = {partition_value(value, data_type, transform) for value in carried}
            expected[f"{kind} {transform}"] = {(text, hive_path(name, [text])) for text in found}
    with location.database() as db:
        assert _files(db) == expected


def parse_key(text, kind):
    """The value of a text; moments as integers, because Python's calendar ends before theirs."""
    if isinstance(kind, ScalarType) and kind.name in ("date", "time", *TIMESTAMPS):
        return parse_ordinal(text, kind.name)
    return parse_text(text, kind)


def _files(db):
    """The partition value and the folder of every file, by table."""
    rows = db.fetch(
        f"SELECT t.table_name, v.partition_value, f.path FROM {db.table('ducklake_data_file')} f "
        f"JOIN {db.table('ducklake_file_partition_value')} v ON v.data_file_id = f.data_file_id "
        f"JOIN {db.table('ducklake_table')} t ON t.table_id = f.table_id"
    )
    found = {}
    for table, value, path in rows:
        found.setdefault(table, set()).add((value, path.rpartition("/")[0] + "/"))
    return found


def test_spark_computes_the_keys_that_python_computes(spark):
    """The JVM divides rows, the driver prunes: both must mean the same partition."""
    names = [kind for kind in COLUMNS if kind != "BLOB"]
    kinds = [parse_sql_type(kind) for kind in names]
    with duckdb.connect() as con:
        con.execute("SET TimeZone = 'UTC'")
        texts = [
            [con.execute(f"SELECT CAST({v} AS {kind})::VARCHAR").fetchone()[0] for v in values]
            for kind, (values, _) in ((name, COLUMNS[name]) for name in names)
        ]
    # Values before the year 1 have no carrier in Python.
    carried = [
        [None if t is None or "BC" in t else parse_text(t, kind) for t in column]
        for column, kind in zip(texts, kinds, strict=True)
    ]
    rows = [
        tuple(column[i] if i < len(column) else None for column in carried)
        for i in range(max(map(len, carried)))
    ]
    ids = itertools.count(1)
    schema = Schema(tuple(build_column(f"x{i}", k, ids) for i, k in enumerate(kinds)))
    fields = [
        PartitionField(column.column_id, transform)
        for column, name in zip(schema.columns, names, strict=True)
        for transform in ("bucket(1000)", *COLUMNS[name][1])
    ]
    layout = WriteLayout(schema, "nowhere", "t", partition=PartitionSpec(1, tuple(fields)))
    frame = local_frame(spark, schema.columns, rows).toDF(*(f"c{i}" for i in range(len(kinds))))
    keys = partition_columns(frame, layout)
    found = frame.select(*(key.alias(f"k{i}") for i, key in enumerate(keys))).collect()
    for row, values in zip(found, rows, strict=True):
        for key, field in zip(row, fields, strict=True):
            kind = kinds[field.column_id - 1]
            expected = partition_value(values[field.column_id - 1], kind, field.transform)
            shown = None if key is None else str(key)
            assert shown == expected, (kind, field.transform, values[field.column_id - 1])


def test_each_reads_what_the_other_wrote_under_older_specs(spark, location):
    query = "SELECT a, d, s FROM t WHERE {} ORDER BY ALL"
    filters = ["d = DATE '1969-12-31'", "a = 3", "s = 'x/1'", "d > DATE '2020-01-01' AND a < 5",
               "d IS NULL", "s IN ('x/0', 'x/2') AND a = 2"]  # fmt: skip
    rows = (
        "SELECT i % 5, CASE WHEN i % 4 > 0 THEN DATE '1969-12-31' + (i * 500)::INTEGER END, "
        "'x/' || (i % 3) FROM range({}) r(i)"
    )
    with connect(spark, location) as con:
        con.sql("CREATE TABLE t (a INTEGER, d DATE, s VARCHAR) PARTITIONED BY (bucket(3, a))")
        con.sql(f"INSERT INTO t {rows.format(60)}")
        con.sql("ALTER TABLE t SET PARTITIONED BY (year(d), s)")
        con.sql(f"INSERT INTO t {rows.format(40)}")
    with location.oracle() as oracle:
        oracle.sql(f"INSERT INTO t {rows.format(30)}")
        oracle.sql("ALTER TABLE t SET PARTITIONED BY (bucket(4, s), month(d))")
        oracle.sql(f"INSERT INTO t {rows.format(50)}")
        everything = oracle.sql("SELECT a, d, s FROM t")
    with connect(spark, location) as con:
        con.sql("INSERT INTO t VALUES (3, DATE '1969-12-31', 'x/1')")
        everything.append((3, dt.date(1969, 12, 31), "x/1"))
        assert same_rows(con.sql("SELECT a, d, s FROM t").collect(), everything)
        for text in filters:
            expected = _filtered(everything, text)
            assert same_rows(con.sql(query.format(text)).collect(), expected), text


def _filtered(rows, text):
    """The rows for which a condition holds, by DuckDB without a lake."""
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t (a INTEGER, d DATE, s VARCHAR)")
        con.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        return con.execute(f"SELECT a, d, s FROM t WHERE {text}").fetchall()


ODD_VALUES = ["--5", "-5", "5", "-", "²", "", "a/b", "x" * 254, "é" * 100, "9" * 60]


def test_any_text_is_a_partition_value(spark, location):
    """Values that look like numbers, and names that are too long for a file system."""
    con = connect(spark, location, data_inlining_row_limit=0)
    con.sql("CREATE TABLE t (s VARCHAR, i INTEGER)")
    con.sql("ALTER TABLE t SET PARTITIONED BY (s)")
    rows = ", ".join(f"('{value}', {number})" for number, value in enumerate(ODD_VALUES))
    con.sql(f"INSERT INTO t VALUES {rows}")
    for number, value in enumerate(ODD_VALUES):
        found = con.sql(f"SELECT i FROM t WHERE s = '{value}'").collect()
        assert [row.i for row in found] == [number]
    assert con.check().collect() == []
    con.close()
    with location.oracle() as oracle:
        kept = oracle.sql("SELECT s, i FROM t ORDER BY i")
    assert kept == [(value, number) for number, value in enumerate(ODD_VALUES)]


def test_a_zero_with_a_sign_is_in_the_partition_of_zero(spark, location):
    con = connect(spark, location, data_inlining_row_limit=0)
    con.sql("CREATE TABLE t (d DOUBLE, i INTEGER)")
    con.sql("ALTER TABLE t SET PARTITIONED BY (d)")
    con.sql(
        "INSERT INTO t SELECT CAST(x AS DOUBLE), i FROM (VALUES ('-0.0', 0), ('0.0', 1)) v(x, i)"
    )
    con.sql("INSERT INTO t SELECT CAST('-0.0' AS DOUBLE), 2")
    assert con.check().collect() == []
    assert sorted(row.i for row in con.sql("SELECT i FROM t WHERE d = 0").collect()) == [0, 1, 2]

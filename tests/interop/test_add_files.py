"""The same files added by us and by the extension: the same catalogs, and rows that both read."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ducklake_spark
from support.catalogs import catalog_differences
from support.rows import same_rows

pytestmark = [pytest.mark.interop, pytest.mark.spark]

STAMPS = [dt.datetime(2020, 1, 2, 3, 4, 5, 6), None, dt.datetime(1969, 5, 6, 7, 8, 9, 999_999)]
# name -> the table's type, and what the file has for it
COLUMNS: dict[str, tuple[str, pa.Array]] = {
    "i": ("BIGINT", pa.array([1, -2, None], pa.int16())),
    "u": ("UBIGINT", pa.array([1, 2**32 - 1, None], pa.uint32())),
    "w": ("UINTEGER", pa.array([1, 2**32 - 1, None], pa.uint32())),
    "f": ("DOUBLE", pa.array([0.5, 2.5, None], pa.float32())),
    "n": ("FLOAT", pa.array([0.25, math.nan, 1.5], pa.float32())),
    "d": (
        "DECIMAL(18,3)",
        pa.array([Decimal("1.200"), None, Decimal("-3.4")], pa.decimal128(18, 3)),
    ),
    "e": ("DECIMAL(12,0)", pa.array([Decimal(7), None, Decimal(-3)], pa.decimal128(9, 0))),
    "t": ("TIMESTAMP", pa.array(STAMPS, pa.timestamp("us"))),
    "tn": ("TIMESTAMP_NS", pa.array(STAMPS, pa.timestamp("us"))),
    "tm": ("TIMESTAMP", pa.array(STAMPS, pa.timestamp("ns"))),
    "tz": ("TIMESTAMPTZ", pa.array([5, None, -5], pa.timestamp("ms", "UTC"))),
    "c": ("TIME", pa.array([5, None, 3_600_000_000], pa.time64("us"))),
    "da": ("DATE", pa.array([dt.date(1900, 1, 1), None, dt.date(2024, 2, 29)])),
    "s": ("VARCHAR", pa.array(["x", "éé", None])),
    "b": ("BOOLEAN", pa.array([True, False, None])),
    "uu": (
        "UUID",
        pa.array([uuid.UUID(int=5).bytes, None, uuid.UUID(int=2**127).bytes], pa.uuid()),
    ),
    "l": ("BIGINT[]", pa.array([[1, 2], [], None], pa.list_(pa.int32()))),
    "st": (
        "STRUCT(p BIGINT, q VARCHAR)",
        pa.array([{"q": "z", "p": 1}, None, {"q": None, "p": None}]),
    ),
    "m": (
        "MAP(VARCHAR, INTEGER)",
        pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int32())),
    ),
    "ls": (
        "STRUCT(x INTEGER)[]",
        pa.array([[{"x": 1}], None, []], pa.list_(pa.struct([("x", pa.int32())]))),
    ),
}
TABLE = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())


def by_pyarrow(folder: Path, spark) -> str:
    table = pa.table({name: values for name, (_, values) in COLUMNS.items()})
    pq.write_table(table, folder / "a.parquet")
    pq.write_table(table.select(list(COLUMNS)[::-1]), folder / "b.parquet")
    return f"{folder}/*.parquet"


def by_duckdb(folder: Path, spark) -> str:
    import duckdb

    by_pyarrow(folder, spark)
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    con.execute(f"COPY (FROM '{folder}/a.parquet') TO '{folder}/made.parquet' (FIELD_IDS 'auto')")
    return f"{folder}/made.parquet"


def by_spark(folder: Path, spark) -> str:
    """Without the types that Spark does not have, and NaN, of which its footers tell half."""
    names = [n for n in COLUMNS if n not in ("tz", "tn", "tm", "c", "uu", "u", "w", "n")]
    pq.write_table(pa.table({n: COLUMNS[n][1] for n in names}), folder / "a.parquet")
    frame = spark.read.parquet(f"{folder}/a.parquet")
    frame.coalesce(1).write.parquet(f"{folder}/spark")
    return f"{folder}/spark/*.parquet"


@pytest.fixture(params=[by_pyarrow, by_duckdb, by_spark], ids=lambda maker: maker.__name__)
def files(request, tmp_path, spark):
    folder = tmp_path / "files"
    folder.mkdir()
    return request.param(folder, spark)


def call(files: str) -> str:
    return f"CALL ducklake_add_data_files('lake', 't', '{files}', allow_missing => true)"


def connect(location, spark=None):
    options = {"alias": "lake", "data_path": location.data_path}
    return ducklake_spark.connect(location.uri, spark=spark, **options)


def test_both_add_the_same_files_alike(files, catalog_kind, make_lake_location, spark):
    ours = make_lake_location(catalog_kind, "ours")
    theirs = make_lake_location(catalog_kind, "theirs")
    with connect(ours) as con:  # without Spark: the files are few
        con.sql(f"CREATE TABLE t({TABLE})")
        con.sql(call(files))
    with theirs.oracle() as oracle:
        oracle.sql(f"CREATE TABLE t({TABLE})")
        oracle.sql(call(files))
        expected = oracle.sql("SELECT *, rowid FROM t")
    with ours.database() as left, theirs.database() as right:
        assert catalog_differences(left, right) == {}
    with ours.oracle() as oracle:
        assert same_rows(oracle.sql("SELECT *, rowid FROM t"), expected)
    expected = [_shown(row) for row in expected]
    for location in (ours, theirs):
        with connect(location, spark) as con:
            rows = con.sql("SELECT *, rowid FROM t").collect()
            assert same_rows(rows, expected)


def _shown(row: tuple) -> tuple:
    """Types that Spark carries as text, and moments without a zone, which PySpark gives."""
    values = dict(zip((*COLUMNS, "rowid"), row, strict=True))
    for name in ("tn", "c"):
        if values[name] is not None:
            text = str(values[name])
            values[name] = text.rstrip("0").rstrip(".") if "." in text else text
    if values["tz"] is not None:
        values["tz"] = values["tz"].astimezone(dt.timezone.utc).replace(tzinfo=None)
    return tuple(values.values())


# What is asked, where a wrong bound in the catalog would lose a row.
QUESTIONS = [
    "u > 4000000000", "w = 4294967295", "f = 2.5", "n > 1", "isnan(n)", "d < -3", "e = -3",
    "t < TIMESTAMP '1970-01-01'", "tm > TIMESTAMP '2020-01-01'", "tz IS NULL", "i = -2",
    "s >= 'é'", "NOT b", "da = DATE '2024-02-29'", "st.p = 1", "c IS NOT NULL", "l IS NULL",
]  # fmt: skip


@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
def test_no_filter_loses_a_row_of_an_added_file(location, tmp_path, spark):
    files = by_pyarrow(tmp_path, spark)
    with connect(location, spark) as con:
        con.sql(f"CREATE TABLE t({TABLE})")
        con.add_files("t", files)
        counts = [con.sql(f"SELECT i FROM t WHERE {q}").count() for q in QUESTIONS]
    with location.oracle() as oracle:
        assert counts == [len(oracle.sql(f"SELECT i FROM t WHERE {q}")) for q in QUESTIONS]
        # All of them have an answer: each is found in both files.
        assert all(count and count % 2 == 0 for count in counts)


@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
def test_moments_in_the_oldest_layout_are_read_alike(location, tmp_path, spark):
    stamps = [
        dt.datetime(2020, 1, 2, 3, 4, 5, 6),
        None,
        dt.datetime(1600, 1, 1),
        dt.datetime(3000, 1, 1),
    ]
    data = pa.table({"t": pa.array(stamps, pa.timestamp("us"))})
    pq.write_table(data, tmp_path / "old.parquet", use_deprecated_int96_timestamps=True)
    fine = pa.table({"t": pa.array([-1_500, 1_999], pa.timestamp("ns"))})
    pq.write_table(fine, tmp_path / "fine.parquet")
    micros = pa.table({"t": pa.array([-1_500, 1_500, 499], pa.timestamp("us"))})
    pq.write_table(micros, tmp_path / "micros.parquet")
    with connect(location, spark) as con:
        con.sql("CREATE TABLE t(t TIMESTAMP)")
        con.sql("CREATE TABLE m(t TIMESTAMP_MS)")
        con.add_files("t", [f"{tmp_path}/old.parquet", f"{tmp_path}/fine.parquet"])
        con.add_files("m", f"{tmp_path}/micros.parquet")
        rows = [con.table(name).collect() for name in ("t", "m")]
        early = con.sql("SELECT * FROM t WHERE t < TIMESTAMP '1700-01-01'").collect()
    with location.oracle() as oracle:
        for name, found in zip(("t", "m"), rows, strict=True):
            assert same_rows(found, oracle.sql(f"FROM {name}"))
        assert len(early) == len(oracle.sql("FROM t WHERE t < TIMESTAMP '1700-01-01'")) == 1


def test_hive_folders_are_columns_to_both(catalog_kind, make_lake_location, tmp_path, spark):
    for year, region in (("2020", "a%2Fb"), ("2021", "__HIVE_DEFAULT_PARTITION__"), ("02022", "")):
        folder = tmp_path / "h" / f"year={year}" / f"r={region}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"v": pa.array([1], pa.int32())}), folder / "f.parquet")
    ours = make_lake_location(catalog_kind, "ours")
    theirs = make_lake_location(catalog_kind, "theirs")
    table, added = (
        "CREATE TABLE t(year INTEGER, r VARCHAR, v INTEGER)",
        call(f"{tmp_path}/h/**/*.parquet"),
    )
    with connect(ours) as con:
        con.sql(table)
        con.sql(added)
    with theirs.oracle() as oracle:
        oracle.sql(table)
        oracle.sql(added)
        expected = oracle.sql("FROM t")
    with ours.database() as left, theirs.database() as right:
        different = catalog_differences(left, right)
        # The order of the columns that are in the path is that of a hash table there.
        assert different.keys() <= {"ducklake_name_mapping"}
    with ours.oracle() as oracle:
        assert same_rows(oracle.sql("FROM t"), expected)
    with connect(ours, spark) as con:
        assert same_rows(con.table("t").collect(), expected)
        assert con.sql("SELECT v FROM t WHERE year = 2020 AND r = 'a/b'").count() == 1


@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
def test_an_equal_mapping_of_either_engine_is_used_again(location, tmp_path):
    for name in "abc":
        pq.write_table(pa.table({"i": pa.array([1], pa.int32())}), tmp_path / f"{name}.parquet")
    with connect(location) as con:
        con.sql("CREATE TABLE t(i INTEGER)")
        con.add_files("t", f"{tmp_path}/a.parquet")
    with location.oracle() as oracle:
        oracle.sql(call(f"{tmp_path}/b.parquet"))
    with connect(location) as con:
        con.add_files("t", f"{tmp_path}/c.parquet")
    with location.database() as db:
        assert len(db.fetch(f"SELECT * FROM {db.table('ducklake_column_mapping')}")) == 1
        ids = db.fetch(f"SELECT data_file_id, mapping_id FROM {db.table('ducklake_data_file')}")
        assert sorted(ids) == [(1, 0), (2, 0), (3, 0)]

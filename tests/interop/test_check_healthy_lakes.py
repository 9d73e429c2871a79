"""A check finds nothing on sound lakes, whoever made them."""

from __future__ import annotations

import datetime as dt

import pytest

from ducklake_spark.operations.attach import AttachOptions, open_lake
from ducklake_spark.operations.check.run import check_lake
from ducklake_spark.operations.cleanup import cleanup_old_files
from ducklake_spark.operations.expire import expire_snapshots
from ducklake_spark.parquet.verify import verify_file
from support.histories import write_rich_history
from support.writing import Writer, open_session

pytestmark = pytest.mark.interop

EVERY_TYPE = """
    SELECT true AS b, 1::TINYINT AS i8, 2::SMALLINT AS i16, 3::INTEGER AS i32, -4::BIGINT AS i64,
        5::UTINYINT AS u8, 6::USMALLINT AS u16, 7::UINTEGER AS u32, 18446744073709551615::UBIGINT
        AS u64, 9::HUGEINT AS i128, 10::UHUGEINT AS u128, 0.1::FLOAT AS f, 'nan'::DOUBLE AS d,
        1.25::DECIMAL(9, 2) AS d9, 12345678901.5::DECIMAL(18, 1) AS d18,
        -1.5::DECIMAL(38, 3) AS d38, DATE '2024-02-29' AS da, TIME '12:34:56.789' AS ti,
        '12:34:56+02'::TIMETZ AS tz, TIMESTAMP '2024-01-02 03:04:05.6' AS ts,
        TIMESTAMP_S '2024-01-02 03:04:05' AS tss, TIMESTAMP_MS '2024-01-02 03:04:05.678' AS tsm,
        TIMESTAMP_NS '2024-01-02 03:04:05.678901234' AS tsn, '2024-01-02 03:04:05+00'::TIMESTAMPTZ
        AS tstz, INTERVAL 3 DAY AS iv, 'text' AS s, repeat('x', 300) AS long, ''::BLOB AS bl,
        uuid() AS id, '{"a": 1}'::JSON AS js, [1, 2, NULL] AS l, {'a': 1, 'b': 'x'} AS st,
        MAP {'k': [1.5]} AS m, [{'x': DATE '2020-01-01'}] AS ls
    UNION ALL
    SELECT false, -1, -2, -3, 4, 0, 0, 0, 0, -9, 0, 'inf'::FLOAT, -1e300, -1, -1, 1, '0044-03-15
        (BC)'::DATE, '00:00', NULL, '290000-01-01', NULL, NULL, NULL, NULL, NULL, 'ünï', 'y', 'ab',
        uuid(), NULL, [], NULL, MAP {}, NULL
"""


def findings(location):
    lake = open_lake(location.uri, "lake", AttachOptions())
    try:
        return check_lake(lake, lambda claims: [verify_file(claim) for claim in claims]).rows
    finally:
        lake.close()


def test_nothing_is_found_on_a_lake_of_the_extension(location):
    with location.oracle() as oracle:
        write_rich_history(oracle)
    assert findings(location) == ()
    lake = open_lake(location.uri, "lake", AttachOptions())
    expire_snapshots(lake, versions=range(0, 60, 3))
    lake.close()
    assert findings(location) == ()
    lake = open_lake(location.uri, "lake", AttachOptions())
    expire_snapshots(lake, older_than=dt.datetime.now(dt.timezone.utc))
    cleanup_old_files(lake, cleanup_all=True)
    lake.close()
    assert findings(location) == ()


@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
def test_nothing_is_found_on_values_of_every_type(location):
    with location.oracle() as oracle:
        oracle.sql(f"CREATE TABLE inlined AS {EVERY_TYPE}")
        oracle.sql("CALL lake.set_option('data_inlining_row_limit', 0)")
        oracle.sql(f"CREATE TABLE t AS {EVERY_TYPE}")
        for key in ("b", "i64", "u64", "f", "d9", "da", "ti", "ts", "tsm", "tstz", "s", "id"):
            oracle.sql(f"CREATE TABLE p_{key} AS FROM t LIMIT 0")
            oracle.sql(f'ALTER TABLE p_{key} SET PARTITIONED BY ("{key}", bucket(8, "{key}"))')
            oracle.sql(f"INSERT INTO p_{key} FROM t")
        oracle.sql("CREATE TABLE days(ts TIMESTAMP, d DATE)")
        oracle.sql("ALTER TABLE days SET PARTITIONED BY (year(ts), month(d), day(d), hour(ts))")
        oracle.sql("INSERT INTO days SELECT TIMESTAMP '2024-01-02 03:04:05', DATE '2023-12-31'")
        oracle.sql("CREATE TABLE wide(i TINYINT, f FLOAT, d DATE)")
        oracle.sql("INSERT INTO wide VALUES (1, 0.1, '2024-01-01'), (2, 16777217, '2024-01-02')")
        oracle.sql("ALTER TABLE wide ALTER i TYPE BIGINT")
        oracle.sql("ALTER TABLE wide ALTER f TYPE DOUBLE")
        oracle.sql("INSERT INTO wide VALUES (1000, 0.2, '2024-01-01')")
        oracle.sql("CALL ducklake_flush_inlined_data('lake')")
    assert findings(location) == ()


def test_nothing_is_found_on_a_lake_of_ours(location):
    session = open_session(location)
    writer = Writer(session)
    for name in ("t", "u"):
        writer.create_table(name)
    writer.insert(1, 2, 3)
    writer.insert_inlined(4, 5)
    writer.insert(6, table="u")
    writer.create_view("v")
    writer.create_macro("m")
    writer.drop_table("u")
    writer.comment("t", "ours")
    session.close_lakes()
    assert findings(location) == ()

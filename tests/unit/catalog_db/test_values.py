from __future__ import annotations

import datetime as dt
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ducklake_spark.catalog_db.dialect import Dialect, dialect_of
from ducklake_spark.catalog_db.values import decode_value, format_timestamp, parse_timestamp
from ducklake_spark.errors import CatalogError

UTC = dt.timezone.utc
SQLITE = dialect_of("sqlite")
MYSQL = dialect_of("mysql")


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (dt.datetime(2026, 11, 15, 21, 10, 4, 835170, UTC), "2026-11-15 21:10:04.83517+00"),
        (dt.datetime(2026, 11, 15, 21, 10, 4, 0, UTC), "2026-11-15 21:10:04+00"),
        (dt.datetime(2026, 11, 15, 21, 10, 4, 1, UTC), "2026-11-15 21:10:04.000001+00"),
        (
            dt.datetime(2026, 11, 15, 21, 10, tzinfo=dt.timezone(dt.timedelta(hours=2))),
            "2026-11-15 19:10:00+00",
        ),
    ],
)
def test_time_is_written_as_the_extension_writes_it(moment, text):
    assert format_timestamp(moment) == text
    assert SQLITE.encode(moment) == text


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-15 21:10:04.5+00",
        "2026-11-15T21:10:04.500000+00:00",
        "2026-11-15 21:10:04.5",
        "2026-11-15 21:10:04.5Z",
        "2026-11-16 02:40:04.5+05:30",
        "2026-11-15 18:10:04.5-0300",
        "2026-11-15 21:10:04.500000000",
    ],
)
def test_time_is_read_when_another_writer_spelt_it(text):
    assert parse_timestamp(text) == dt.datetime(2026, 11, 15, 21, 10, 4, 500000, UTC)
    assert decode_value("timestamptz", text).tzinfo is UTC


def test_time_is_refused_when_it_is_none():
    with pytest.raises(CatalogError, match="yesterday"):
        parse_timestamp("yesterday")


moments = st.datetimes(
    min_value=dt.datetime(1000, 1, 1), timezones=st.just(UTC), allow_imaginary=False
)


@given(moments)
def test_time_survives_text(moment):
    assert parse_timestamp(format_timestamp(moment)) == moment


@given(moments, moments)
def test_text_of_times_sorts_as_they_do(one, other):
    assert (format_timestamp(one) < format_timestamp(other)) == (one < other)


@pytest.mark.parametrize(
    ("kind", "stored", "value"),
    [
        ("boolean", 1, True),
        ("boolean", 0, False),
        ("boolean", "false", False),
        ("boolean", "true", True),
        ("boolean", True, True),
        ("bigint", 7, 7),
        ("uuid", uuid.UUID(int=5), str(uuid.UUID(int=5))),
        ("varchar", "", ""),
        ("timestamptz", 1_000_001, dt.datetime(1970, 1, 1, 0, 0, 1, 1, UTC)),
        ("timestamptz", dt.datetime(1970, 1, 1), dt.datetime(1970, 1, 1, tzinfo=UTC)),
        *((kind, None, None) for kind in ("boolean", "bigint", "uuid", "varchar", "timestamptz")),
    ],
)
def test_value_is_decoded(kind, stored, value):
    assert decode_value(kind, stored) == value
    assert type(decode_value(kind, stored)) is type(value)


@pytest.mark.parametrize("dialect", [SQLITE, MYSQL, dialect_of("duckdb")], ids=lambda d: d.name)
def test_uuid_is_passed_as_text(dialect: Dialect):
    assert dialect.encode(uuid.UUID(int=1)) == "00000000-0000-0000-0000-000000000001"


def test_boolean_is_passed_to_sqlite_as_number():
    assert [SQLITE.encode(value) for value in (True, False, None)] == [1, 0, None]
    assert type(SQLITE.encode(True)) is int

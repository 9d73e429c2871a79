"""Cells of VALUES take the type of their column."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from ducklake_spark.errors import ColumnMismatch, InvalidValue
from ducklake_spark.model.types import DecimalType, parse_sql_type
from ducklake_spark.sql import statements as st
from ducklake_spark.sql.constants import convert
from ducklake_spark.sql.parse import parse
from ducklake_spark.sql.values import constant_rows

UTC = dt.timezone.utc


def source(values: str) -> Any:
    (statement,) = parse(f"INSERT INTO t VALUES {values}")
    assert isinstance(statement, st.Insert)
    return statement.source


@pytest.mark.parametrize(
    ("cell", "kind", "expected"),
    [
        ("1.7", "INTEGER", 2),
        ("-2.5", "INTEGER", -3),
        ("2.5e0", "INTEGER", 2),
        ("' 12 '", "BIGINT", 12),
        ("true", "INTEGER", 1),
        ("18446744073709551615", "UBIGINT", 2**64 - 1),
        ("5", "VARCHAR", "5"),
        ("1.50", "VARCHAR", "1.50"),
        ("true", "VARCHAR", "true"),
        ("1", "BOOLEAN", True),
        ("'no'", "BOOLEAN", False),
        ("1.005", "DECIMAL(10,2)", Decimal("1.01")),
        ("3", "DECIMAL(10,2)", Decimal("3.00")),
        ("'nan'", "DOUBLE", None),
        ("1", "DOUBLE", 1.0),
        ("'2020-1-2'", "DATE", dt.date(2020, 1, 2)),
        ("DATE '2020-01-02'", "TIMESTAMP", dt.datetime(2020, 1, 2)),
        ("'2020-01-02 03:04:05.5'", "TIMESTAMP", dt.datetime(2020, 1, 2, 3, 4, 5, 500000)),
        ("'2020-01-02 00:00:00+02'", "TIMESTAMP", dt.datetime(2020, 1, 2)),
        ("'2020-01-02 00:00:00+02'", "TIMESTAMPTZ", dt.datetime(2020, 1, 1, 22, tzinfo=UTC)),
        ("'9:05'", "TIME", "09:05:00"),
        ("'a\\x00'", "BLOB", b"a\x00"),
        ("'{\"a\": 1}'", "JSON", '{"a": 1}'),
        ("['1', NULL]", "INTEGER[]", [1, None]),
        ("{'B': 2}", "STRUCT(a INTEGER, b VARCHAR)", {"a": None, "b": "2"}),
        ("{'a': 1, 'z': 2}", "STRUCT(a INTEGER, b VARCHAR)", {"a": 1, "b": None}),
        ("MAP {'k': '1'}", "MAP(VARCHAR, INTEGER)", {"k": 1}),
        ("NULL", "INTEGER", None),
    ],
)  # fmt: skip
def test_constant_is_converted_as_in_duckdb(cell: str, kind: str, expected: Any) -> None:
    rows = constant_rows(source(f"({cell})"), [parse_sql_type(kind)])

    assert rows is not None
    if cell == "'nan'":
        assert rows[0][0] != rows[0][0]
    else:
        assert rows == [(expected,)]
        assert type(rows[0][0]) is type(expected)


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        ("300", "UTINYINT"),
        ("-1", "UINTEGER"),
        ("'x'", "INTEGER"),
        ("1000", "DECIMAL(4,2)"),
        ("'maybe'", "BOOLEAN"),
        ("'2020-13-01'", "DATE"),
        ("'no json'", "JSON"),
        ("'no uuid'", "UUID"),
        ("'\\y'", "BLOB"),
    ],
)
def test_constant_is_refused_when_column_cannot_hold_it(cell: str, kind: str) -> None:
    with pytest.raises(InvalidValue):
        constant_rows(source(f"({cell})"), [parse_sql_type(kind)])


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        ("now()", "TIMESTAMP"),
        ("1 + 1", "INTEGER"),
        ("'2020-01-01'", "TIMESTAMPTZ"),
        ("'[1]'", "INTEGER[]"),
        ("{'z': 1}", "STRUCT(a INTEGER)"),  # an error, which DuckDB tells
    ],
)
def test_rows_are_not_constant_when_spark_has_to_compute(cell: str, kind: str) -> None:
    assert constant_rows(source(f"({cell})"), [parse_sql_type(kind)]) is None


def test_row_is_refused_when_it_has_too_few_values() -> None:
    with pytest.raises(ColumnMismatch, match="row 2"):
        constant_rows(source("(1, 2), (3)"), [parse_sql_type("INTEGER")] * 2)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("-1234567890123456789012345678.0123456789", DecimalType(38, 10)),
        ("99999999999999999999999999999999999999", DecimalType(38, 0)),
        ("0.00000000000000000000000000000000000001", DecimalType(38, 38)),
    ],
)
def test_decimals_of_38_digits_keep_them_all(text, kind) -> None:
    assert format(convert(text, kind), "f") == text

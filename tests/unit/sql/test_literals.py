from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from ducklake_spark.errors import InvalidInput
from ducklake_spark.sql.literals import literal_value
from ducklake_spark.sql.parse import parse_expression
from ducklake_spark.sql.variables import value_tree

CONSTANTS = [
    ("1", 1),
    ("-1", -1),
    ("1.50", Decimal("1.50")),
    ("1e3", 1000.0),
    ("'it''s'", "it's"),
    ("TRUE", True),
    ("NULL", None),
    ("(2)", 2),
    ("'5'::INT", 5),
    ("DATE '2020-01-02'", dt.date(2020, 1, 2)),
    ("TIMESTAMP '2020-01-02 03:04:05'", dt.datetime(2020, 1, 2, 3, 4, 5)),
    (
        "TIMESTAMPTZ '2020-01-02 03:04:05+02'",
        dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=dt.timezone(dt.timedelta(hours=2))),
    ),
    ("[1, 'a', NULL]", [1, "a", None]),
    ("{'a': 1, 'b': [2]}", {"a": 1, "b": [2]}),
    ("MAP {'k': 1}", {"k": 1}),
]


@pytest.mark.parametrize(("text", "value"), CONSTANTS)
def test_constant_is_a_python_value(text: str, value: Any) -> None:
    found = literal_value(parse_expression(text))

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["a", "now()", "1 + 1", "[a]", "{'a': now()}", "'1.5'::INT"])
def test_value_is_refused_when_it_must_be_computed(text: str) -> None:
    with pytest.raises(InvalidInput, match="constant"):
        literal_value(parse_expression(text))


@pytest.mark.parametrize("value", [v for _, v in CONSTANTS if not isinstance(v, float)])
def test_value_comes_back_when_written_as_a_tree(value: Any) -> None:
    assert literal_value(value_tree(value)) == value

"""Columns whose values come back have a dictionary in a file, others are plain."""

from __future__ import annotations

import decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ducklake_spark.parquet.dictionaries import Dictionaries
from ducklake_spark.parquet.statistics import find_leaves
from support.carried import a_batch, a_schema, write

ROWS = 20_000


def encodings(path):
    group = pq.read_metadata(path).row_group(0)
    chunks = [group.column(i) for i in range(group.num_columns)]
    return {c.path_in_schema: c.has_dictionary_page for c in chunks}


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("BIGINT", range(ROWS), False),
        ("BIGINT", [i % 50 for i in range(ROWS)], True),
        ("BIGINT", [i // 4 for i in range(ROWS)], True),
        ("BIGINT", [i % 5_000 for i in range(ROWS)], True),  # what a glance takes for distinct
        ("BIGINT", [None] * ROWS, True),
        ("VARCHAR", [f"text {i}" for i in range(ROWS)], False),
        ("VARCHAR", [f"a longer text {i % 9_000}" for i in range(ROWS)], True),
        ("DOUBLE", [i / 7 for i in range(ROWS)], False),
        ("DATE", [i % 3_000 for i in range(ROWS)], True),
    ],
)
def test_a_column_has_a_dictionary_when_that_is_smaller(tmp_path, kind, values, expected):
    schema = a_schema({"c": kind})
    (file,) = write(tmp_path, schema, a_batch(schema, c=list(values)))
    assert encodings(file.path) == {"c": expected}
    assert pq.ParquetFile(file.path).read().num_rows == ROWS


def test_decimals_are_judged_by_their_values(tmp_path):
    schema = a_schema({"few": "DECIMAL(10,2)", "many": "DECIMAL(10,2)"})
    numbers = [decimal.Decimal(i).scaleb(-2) for i in range(ROWS)]
    batch = a_batch(schema, few=[numbers[i % 9] for i in range(ROWS)], many=numbers)
    (file,) = write(tmp_path, schema, batch)
    assert encodings(file.path) == {"few": True, "many": False}


def test_nested_leaves_keep_their_dictionaries(tmp_path):
    schema = a_schema({"s": "STRUCT(x BIGINT)", "l": "VARCHAR[]"})
    rows = a_batch(schema, s=[{"x": i} for i in range(100)], l=[[str(i)] for i in range(100)])
    (file,) = write(tmp_path, schema, rows)
    assert set(encodings(file.path).values()) == {True}


def test_a_later_file_is_like_the_first_unless_it_is_much_larger(tmp_path):
    schema = a_schema({"c": "BIGINT"})
    unlike = [a_batch(schema, c=list(range(9_000))), a_batch(schema, c=[7] * 9_000)]
    files = write(tmp_path, schema, *unlike, row_group_rows=9_000, target_file_size=1)
    assert [encodings(file.path)["c"] for file in files] == [False, False]
    choice = Dictionaries(find_leaves(schema.columns))
    assert choice.choose(pa.table({"c": [1, 2, 3]})) == []
    assert choice.choose(pa.table({"c": [7] * 9})) == ["c"]

"""Rows that are dealt out by partition come together again, each once."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ducklake_spark.errors import DataFileError
from ducklake_spark.parquet.exchange import deal_out, gather


def texts(scalars):
    return tuple(None if scalar.as_py() is None else str(scalar.as_py()) for scalar in scalars)


def batches_of(*columns, rows: int = 3):
    """Columns with their key, and a number for each row."""
    length = len(columns[0])
    table = pa.table([*columns, pa.array(range(length))], names=[*"abcdef"[: len(columns)], "n"])
    return table.to_batches(max_chunksize=rows)


CHUNK = 32 * 1024 * 1024

KEYS = {
    "text": pa.array(["b", None, "a", "b", "", "a", None]),
    "binary": pa.array([b"\0", b"", None, b"\0", b"x", b"", b"x"]),
    "boolean": pa.array([True, None, False, True, True, False, None]),
    "double": pa.array([math.nan, 1.0, None, math.nan, -1.0, 1.0, math.inf]),
    "date": pa.array([dt.date(1969, 12, 31), None, dt.date(1, 1, 1)] * 2 + [dt.date(9999, 1, 1)]),
    "decimal": pa.array([Decimal("1.10"), None, Decimal("-1.10")] * 2 + [Decimal(0)]).cast(
        pa.decimal64(5, 2)
    ),
    "wide decimal": pa.array([Decimal(10**30), None, Decimal(1)] * 2 + [Decimal(0)]),
}


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("chunk", [1, 60, 10_000])
def test_every_row_comes_back_once_by_partition(tmp_path, kind, chunk):
    path = str(tmp_path / "a.arrow")
    rows = deal_out(batches_of(KEYS[kind]), (0,), texts, path, chunk_bytes=chunk)
    assert rows == Counter(texts([value]) for value in KEYS[kind])
    found = list(gather([path], list(rows)))
    assert sorted(n for piece in found for n in piece.column("n").to_pylist()) == list(range(7))
    order = [texts([value]) for piece in found for value in piece.column("a")]
    assert order == sorted(order, key=list(rows).index)
    assert found[0].schema.field("a").type == KEYS[kind].type


def test_rows_of_a_partition_keep_the_order_of_tasks_and_rows(tmp_path):
    paths = [str(tmp_path / f"{number}.arrow") for number in range(3)]
    for path in paths:
        deal_out(batches_of(pa.array(["x", "y"] * 5)), (0,), texts, path, chunk_bytes=CHUNK)
    found = pa.Table.from_batches(gather(paths, [("y",)]))
    assert found.column("a").to_pylist() == ["y"] * 15
    assert found.column("n").to_pylist() == [1, 3, 5, 7, 9] * 3
    assert list(gather(paths, [("z",)])) == []


@given(st.lists(st.tuples(*[st.integers(0, 3) | st.none()] * 4), min_size=1, max_size=50))
def test_several_keys_divide_as_their_values_do(tmp_path_factory, rows):
    path = str(tmp_path_factory.mktemp("exchange") / "a.arrow")
    columns = [pa.array(values, pa.int32()) for values in zip(*rows, strict=True)]
    counted = deal_out(batches_of(*columns), (0, 1, 2, 3), texts, path, chunk_bytes=CHUNK)
    as_texts = [tuple(None if v is None else str(v) for v in row) for row in rows]
    assert counted == Counter(as_texts)
    for values in counted:
        places = [n for piece in gather([path], [values]) for n in piece.column("n").to_pylist()]
        assert places == [i for i, row in enumerate(as_texts) if row == values]


def test_no_rows_make_no_file(tmp_path):
    empty = pa.record_batch([pa.array([], pa.string())], names=["a"])
    assert deal_out([empty], (0,), texts, str(tmp_path / "a.arrow"), chunk_bytes=CHUNK) == {}
    assert deal_out([], (0,), texts, str(tmp_path / "a.arrow"), chunk_bytes=CHUNK) == {}
    assert list(tmp_path.iterdir()) == []


def test_a_full_or_missing_disk_is_told(tmp_path):
    with pytest.raises(DataFileError, match=r"hand over rows.*missing"):
        deal_out(
            batches_of(KEYS["text"]),
            (0,),
            texts,
            str(tmp_path / "missing" / "a.arrow"),
            chunk_bytes=CHUNK,
        )

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ducklake_spark.model.bound_text import lower_bound, upper_bound
from ducklake_spark.model.literals import format_stat
from ducklake_spark.model.stats import TableColumnStats, merge_stats
from ducklake_spark.model.types import DecimalType, ScalarType
from ducklake_spark.model.written import ColumnStats

INT = ScalarType("int32")
TEXT = ScalarType("varchar")
DOUBLE = ScalarType("float64")


def part(low, high, *, values=1, nulls=0, nan=None) -> ColumnStats:
    return ColumnStats(1, None, values, nulls, low, high, nan)


def row(low, high, *, null=False, nan=None) -> TableColumnStats:
    return TableColumnStats(1, null, nan, low, high)


def merge(current, *parts, kind=INT, had_rows=True):
    return merge_stats(current, parts, kind, had_rows=had_rows)


def test_bounds_widen_by_value_not_by_text():
    assert merge(row("5", "9"), part("-10", "10")) == row("-10", "10")
    assert merge(row("9", "9"), part("10", "10")) == row("9", "10")
    assert merge(row("1.50", "1.50"), part("-2.00", "10.25"), kind=DecimalType(9, 2)) == row(
        "-2.00", "10.25"
    )


def test_text_widens_in_the_order_of_bytes():
    assert merge(row("b", "b"), part("B", "é"), kind=TEXT) == row("B", "é")


def test_the_first_rows_set_the_bounds():
    assert merge(None, part("1", "2"), part("0", "1", nulls=1), had_rows=False) == row(
        "0", "2", null=True
    )


def test_rows_of_nulls_alone_keep_the_bounds():
    assert merge(row("1", "2"), part(None, None, values=0, nulls=3)) == row("1", "2", null=True)
    assert merge(None, part(None, None, values=0, nulls=3), had_rows=False) == row(
        None, None, null=True
    )


def test_there_is_no_row_once_a_bound_is_unknown():
    assert merge(row("1", "2"), part("1", None)) is None
    assert merge(row("1", "2"), part(None, None)) is None
    assert merge(row("a", "x" * 256), part("b", "b"), kind=TEXT) is None


def test_a_missing_row_stays_missing_when_there_were_rows():
    assert merge(None, part("1", "2"), had_rows=True) is None


def test_missing_bounds_are_not_set_anew_because_they_may_mean_unknown():
    assert merge(row(None, None), part("1", "2")) is None
    assert merge(row(None, None), part("1", "2"), had_rows=False) == row("1", "2")


def test_a_float_with_nan_keeps_its_row_since_duckdb_then_ignores_the_bounds():
    found = merge(row("1.0", "2.0", nan=False), part(None, None, nan=True), kind=DOUBLE)
    assert found == row(None, None, nan=True)
    assert merge(found, part("1.0", "1.0", nan=False), kind=DOUBLE) == row(None, None, nan=True)
    unknown = merge(row("1.0", "2.0", nan=False), part(None, None, nan=False), kind=DOUBLE)
    assert unknown == row(None, None, nan=None)


def test_types_whose_bounds_duckdb_ignores_keep_their_row():
    for name in ("blob", "interval", "int128"):
        assert merge(row(None, None), part("1", "1"), kind=ScalarType(name)).min_value is None


def test_nulls_are_remembered_and_unknown_counts_are_unknown():
    assert merge(row("1", "1", null=True), part("1", "1")).contains_null is True
    assert merge(row("1", "1"), part("1", "1", nulls=None)).contains_null is None
    # The extension says "no NULLs" for an interval whatever there is.
    assert (
        merge(row(None, None), part(None, None), kind=ScalarType("interval")).contains_null is None
    )


def test_bounds_of_an_older_type_are_read_or_given_up():
    merged = merge(
        row("2024-01-01", "2024-01-02"),
        part("2024-01-01 00:00:01", "2024-01-03 00:00:00"),
        kind=ScalarType("timestamp"),
    )
    assert merged == row("2024-01-01 00:00:00", "2024-01-03 00:00:00")
    assert (
        merge(
            row("2024-01-01", "2024-01-02"),
            part("2024-01-03 00:00:00+00", "2024-01-03 00:00:00+00"),
            kind=ScalarType("timestamptz"),
        )
        is None
    )
    widened = merge(row("0.1", "0.1", nan=False), part("0.1", "0.1", nan=False), kind=DOUBLE)
    assert widened.max_value == "0.10000000149011612"


@given(st.lists(st.lists(st.text(max_size=300), min_size=1, max_size=3), min_size=1, max_size=4))
def test_the_bounds_cover_all_that_was_ever_written(files):
    current = None
    for number, values in enumerate(files):
        new = part(
            format_stat(min(values), TEXT, bound="min"),
            format_stat(max(values), TEXT, bound="max"),
            values=len(values),
        )
        current = merge(current, new, kind=TEXT, had_rows=number > 0)
        if current is None:
            return
        seen = [value for rows in files[: number + 1] for value in rows]
        assert lower_bound(current.min_value, TEXT) <= min(seen)
        assert upper_bound(current.max_value, TEXT) >= max(seen)

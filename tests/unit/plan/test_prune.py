from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import pytest

from ducklake_spark.model.entities import DataFile, PartitionField, PartitionSpec
from ducklake_spark.model.partition import partition_value
from ducklake_spark.model.predicate import (
    And,
    Comparison,
    Constant,
    In,
    IsNull,
    Or,
    StartsWith,
    Unknown,
)
from ducklake_spark.model.types import DecimalType, ScalarType
from ducklake_spark.plan.prune import FileStats, prune

INT = ScalarType("int32")
TEXT = ScalarType("varchar")
DOUBLE = ScalarType("float64")
DATE = ScalarType("date")
SPEC = PartitionSpec(9, (PartitionField(1, "year"), PartitionField(1, "month")))


def a_file(file_id=0, *, rows=10, partition_id=None, mapping_id=None) -> DataFile:
    return DataFile(
        file_id, "f", rows, 1, None, 0, 1, partition_id=partition_id, mapping_id=mapping_id
    )


def excluded(predicate, stats: FileStats | None, kind=INT) -> bool:
    known = {} if stats is None else {0: {1: stats}}
    return not prune([a_file()], predicate, {1: kind}, known).kept


def bounds(low, high, *, nan=None) -> FileStats:
    return FileStats(10, 0, low, high, nan)


@pytest.mark.parametrize(
    ("operator", "value", "gone"),
    [
        ("=", 4, True), ("=", 5, False), ("=", 9, False), ("=", 10, True),
        ("<", 5, True), ("<", 6, False), ("<=", 4, True), ("<=", 5, False),
        (">", 9, True), (">", 8, False), (">=", 10, True), (">=", 9, False),
        ("<>", 5, False),
    ],
)  # fmt: skip
def test_bounds_exclude_what_lies_outside(operator, value, gone):
    assert excluded(Comparison(1, operator, value), bounds("5", "9")) is gone


def test_numbers_are_compared_as_numbers():
    assert not excluded(Comparison(1, "=", 10), bounds("9", "11"))
    assert excluded(Comparison(1, "=", Decimal("1.5")), bounds("2.00", "10.00"), DecimalType(9, 2))


def test_not_equal_excludes_a_file_of_that_value_alone():
    assert excluded(Comparison(1, "<>", 5), bounds("5", "5"))


def test_a_file_without_statistics_is_kept():
    assert not excluded(Comparison(1, "=", 5), None)
    assert not excluded(Comparison(1, "=", 5), bounds(None, None))
    assert excluded(Comparison(1, "=", 5), bounds("6", None))


def test_a_value_of_another_class_than_the_column_excludes_nothing():
    assert not excluded(Comparison(1, "=", "4"), bounds("5", "9"))
    assert not excluded(Comparison(1, "=", 4.0), bounds("5", "9"))
    assert not excluded(Comparison(1, "=", True), bounds("5", "9"))


def test_null_counts_exclude_only_if_they_add_up_to_the_rows():
    assert excluded(IsNull(1), FileStats(10, 0, "5", "9"))
    assert not excluded(IsNull(1), FileStats(0, 0, None, None))  # an interval of the extension
    assert not excluded(IsNull(1), FileStats(None, 0, "5", "9"))
    assert excluded(IsNull(1, negated=True), FileStats(0, 10, None, None))
    assert not excluded(IsNull(1, negated=True), FileStats(0, 0, None, None))
    assert excluded(Comparison(1, "<>", 5), FileStats(0, 10, None, None))


def test_a_maximum_cut_at_256_bytes_excludes_nothing_but_the_minimum_does():
    cut = bounds("b" * 256, "b" * 256)
    assert not excluded(Comparison(1, ">", "c"), cut, TEXT)
    assert excluded(Comparison(1, "<", "b"), cut, TEXT)
    assert excluded(Comparison(1, ">", "c"), bounds("b" * 255, "b" * 255), TEXT)


def test_text_is_ordered_by_its_bytes():
    assert excluded(Comparison(1, "=", "Z"), bounds("a", "z"), TEXT)
    assert not excluded(Comparison(1, "=", "\U0001f600"), bounds("\uffff", "\U0010ffff"), TEXT)


@pytest.mark.parametrize(
    ("prefix", "gone"),
    [("a", True), ("b", False), ("bc", False), ("bz", True), ("c", True), ("", False)],
)
def test_a_prefix_is_compared_with_both_bounds(prefix, gone):
    assert excluded(StartsWith(1, prefix), bounds("bb", "bd"), TEXT) is gone


def test_nan_is_the_greatest_and_equals_itself():
    without = bounds("1.0", "2.0", nan=False)
    for operator in ("=", ">=", ">"):
        assert excluded(Comparison(1, operator, math.nan), without, DOUBLE)
    assert not excluded(Comparison(1, "<", math.nan), without, DOUBLE)
    for nan in (True, None):  # a NaN may be there, whatever the bounds say
        assert not excluded(Comparison(1, ">", 5.0), bounds("1.0", "2.0", nan=nan), DOUBLE)
        assert not excluded(Comparison(1, "=", math.nan), bounds("1.0", "2.0", nan=nan), DOUBLE)


def test_zero_has_one_value_with_two_signs():
    assert not excluded(Comparison(1, "=", -0.0), bounds("0.0", "0.0", nan=False), DOUBLE)


def test_a_float32_is_ruled_out_only_if_it_is_as_a_double_too():
    single = ScalarType("float32")
    tenth = bounds("0.1", "0.1", nan=False)
    assert not excluded(Comparison(1, "=", 0.1), tenth, single)
    assert not excluded(Comparison(1, ">", 0.1), tenth, single)  # true when compared as doubles
    assert excluded(Comparison(1, ">", 0.2), tenth, single)


def test_bytes_are_never_compared():
    assert not excluded(Comparison(1, "=", b"z"), bounds("61", "62"), ScalarType("blob"))


def test_moments_are_compared_in_utc():
    kind = ScalarType("timestamptz")
    noon = dt.datetime(2024, 1, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    day = bounds("2024-01-01 10:00:00+00", "2024-01-01 11:00:00+00")
    assert not excluded(Comparison(1, "=", noon), day, kind)
    assert excluded(Comparison(1, "<", noon), day, kind)


def test_parts_are_combined_as_sql_does():
    low, high = Comparison(1, "<", 5), Comparison(1, ">", 9)
    inside = Comparison(1, "=", 7)
    assert excluded(And((inside, low)), bounds("5", "9"))
    assert excluded(Or((low, high)), bounds("5", "9"))
    assert not excluded(Or((low, inside)), bounds("5", "9"))
    assert not excluded(Or((low, Unknown())), bounds("5", "9"))
    assert not excluded(And((inside, Unknown())), bounds("5", "9"))
    assert excluded(Constant(False), None)
    assert not excluded(Constant(True), None)
    assert not excluded(And(()), None)
    assert excluded(Or(()), None)
    assert excluded(In(1, (1, 20)), bounds("5", "9"))
    assert not excluded(In(1, (1, 6)), bounds("5", "9"))


def in_partition(predicate, values, *, kind=DATE, spec=SPEC, **options) -> bool:
    file = a_file(**({"partition_id": 9} | options))
    return bool(
        prune([file], predicate, {1: kind}, {}, specs={9: spec}, partition_values={0: values}).kept
    )


def on(year, month, day, operator="="):
    return Comparison(1, operator, dt.date(year, month, day))


def test_year_and_month_together_are_a_period():
    assert in_partition(on(2024, 3, 31), ("2024", "3"))
    assert not in_partition(on(2024, 4, 1), ("2024", "3"))
    assert not in_partition(on(2024, 3, 31, ">"), ("2024", "3"))
    assert in_partition(on(2024, 3, 30, ">"), ("2024", "3"))
    assert not in_partition(on(2024, 3, 1, "<"), ("2024", "3"))
    assert in_partition(on(2024, 3, 1), ("2024", "3"))
    assert in_partition(on(2024, 3, 1, "<="), ("2024", "3"))


def test_a_month_alone_excludes_by_equality_only():
    spec = PartitionSpec(9, (PartitionField(1, "month"),))
    assert not in_partition(on(2024, 4, 1), ("3",), spec=spec)
    assert in_partition(on(2020, 3, 9), ("3",), spec=spec)
    assert in_partition(on(2024, 4, 1, ">"), ("3",), spec=spec)


def test_the_year_of_a_timestamptz_excludes_nothing():
    """It is that of its writer's zone, and counted within its era."""
    spec = PartitionSpec(9, (PartitionField(1, "year"),))
    kind = ScalarType("timestamptz")
    moment = dt.datetime(2024, 1, 1, 2, tzinfo=dt.timezone.utc)
    assert in_partition(Comparison(1, "=", moment), ("2023",), kind=kind, spec=spec)
    assert in_partition(Comparison(1, "=", moment), ("2022",), kind=kind, spec=spec)


def test_a_nanosecond_before_1970_may_be_in_the_partition_of_1970():
    spec = PartitionSpec(9, (PartitionField(1, "year"),))
    kind = ScalarType("timestamp_ns")
    last = Comparison(1, "=", "1969-12-31 23:59:59.999999999")
    assert partition_value(-1, kind, "year") == "1970"
    assert in_partition(last, ("1970",), kind=kind, spec=spec)


def test_partition_values_count_for_files_of_that_spec_only():
    other = on(2025, 1, 1)
    assert not in_partition(other, ("2024", "3"))
    assert in_partition(other, ("2024", "3"), partition_id=8)
    assert in_partition(other, ("2024", "3"), partition_id=None)
    assert in_partition(other, ("2024", "3"), mapping_id=1)  # registered: its path was believed
    assert in_partition(other, ("2024",))


def test_an_identity_partition_is_one_value_or_null():
    spec = PartitionSpec(9, (PartitionField(1, "identity"),))
    assert in_partition(Comparison(1, "=", "b"), ("b",), kind=TEXT, spec=spec)
    assert not in_partition(Comparison(1, "=", "a"), ("b",), kind=TEXT, spec=spec)
    assert not in_partition(Comparison(1, "<>", "b"), ("b",), kind=TEXT, spec=spec)
    assert not in_partition(IsNull(1), ("b",), kind=TEXT, spec=spec)
    assert not in_partition(IsNull(1, negated=True), (None,), kind=TEXT, spec=spec)
    assert in_partition(IsNull(1), (None,), kind=TEXT, spec=spec)
    assert not in_partition(Comparison(1, "=", "x" * 300), ("x" * 299,), kind=TEXT, spec=spec)


def test_a_year_of_null_may_be_an_infinite_date():
    spec = PartitionSpec(9, (PartitionField(1, "year"),))
    assert in_partition(IsNull(1, negated=True), (None,), spec=spec)
    assert in_partition(IsNull(1), (None,), spec=spec)
    assert in_partition(on(2024, 1, 1, ">"), (None,), spec=spec)


def test_buckets_exclude_by_equality_also_after_the_type_grew():
    spec = PartitionSpec(9, (PartitionField(1, "bucket(16)"),))
    as_long, as_text = str((2017239379) % 16), str((-427558391 & 0x7FFFFFFF) % 16)
    others = [str(n) for n in range(16) if str(n) not in (as_long, as_text)]
    for kind in (INT, ScalarType("int128")):
        kept = [
            v
            for v in map(str, range(16))
            if in_partition(Comparison(1, "=", 34), (v,), kind=kind, spec=spec)
        ]
        assert set(kept) == {as_long, as_text}
        assert in_partition(Comparison(1, ">", 34), (others[0],), kind=kind, spec=spec)


def test_the_reasons_are_counted():
    files = [a_file(0, partition_id=9), a_file(1, partition_id=9), a_file(2)]
    stats = {i: {1: bounds("2024-03-01", "2024-03-05")} for i in range(3)}
    values = {0: ("2024", "3"), 1: ("2024", "4"), 2: ()}
    result = prune(
        files, on(2024, 3, 9), {1: DATE}, stats, specs={9: SPEC}, partition_values=values
    )
    assert result.kept == ()
    assert result.excluded == {"statistics": 2, "partition": 1}


def test_a_transform_of_a_newer_format_is_left_alone():
    spec = PartitionSpec(9, (PartitionField(1, "epoch_year"),))
    assert in_partition(on(2024, 1, 1), ("54",), spec=spec)


def test_a_bucket_is_exact_when_the_type_never_changed():
    spec = PartitionSpec(9, (PartitionField(1, "bucket(100)"),))
    kind = ScalarType("int64")
    own = partition_value(34, kind, "bucket(100)")
    older = partition_value(34, ScalarType("uint64"), "bucket(100)")
    assert own != older
    file, asked = a_file(partition_id=9), Comparison(1, "=", 34)

    def kept(value, *, same_types):
        known = {"specs": {9: spec}, "partition_values": {0: (value,)}}
        return bool(prune([file], asked, {1: kind}, {}, same_types=same_types, **known).kept)

    assert kept(own, same_types=True)
    assert kept(own, same_types=False)
    assert kept(older, same_types=False)
    assert not kept(older, same_types=True)

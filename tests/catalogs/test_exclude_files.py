"""Files left out by the metadata database itself: never one that the planner would keep."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from ducklake_spark.catalog.exclude import excluded_files, not_among
from ducklake_spark.catalog.files import load_file_stats
from ducklake_spark.catalog.plain_files import (
    GROUP_COLUMNS,
    PlainFiles,
    PlainGroup,
    PlainGroups,
    read_groups,
)
from ducklake_spark.catalog.plain_totals import load_plain_totals
from ducklake_spark.catalog.remembered import Remembered
from ducklake_spark.catalog_db.tables import DATA_FILE, DELETE_FILE, FILE_COLUMN_STATS, SNAPSHOT
from ducklake_spark.model.entities import DataFile
from ducklake_spark.model.literals import format_stat
from ducklake_spark.model.number_text import to_float32
from ducklake_spark.model.predicate import And, Comparison, Constant, In, IsNull, Or, StartsWith
from ducklake_spark.model.schema import Column
from ducklake_spark.model.types import DecimalType, ScalarType, format_type
from ducklake_spark.operations.file_bounds import find_bounds, places_of, stats_of
from ducklake_spark.plan.prune import FileStats, prune
from ducklake_spark.plan.totals import is_bounded, total_of_files

UTC = dt.timezone.utc
MOMENTS = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)) | st.builds(
    lambda second, micro: dt.datetime(2024, 2, 28, 23, 59) + dt.timedelta(0, second, micro),
    st.integers(0, 120),
    st.sampled_from([0, 1, 500_000]),
)
NUMBERS = st.integers(-20, 20) | st.integers(-(10**12), 10**12)
TEXTS = st.text("aAbéZ\U0001f600 %_'", max_size=3) | st.builds(
    lambda c, n: c * n, st.sampled_from("abé"), st.integers(60, 300)
)
DOMAINS = {
    ScalarType("int32"): st.integers(-(2**31), 2**31 - 1) | st.integers(-5, 5),
    ScalarType("int64"): st.integers(-(2**63), 2**63 - 1) | st.integers(2**62 - 3, 2**62 + 3),
    ScalarType("uint64"): st.integers(0, 2**64 - 1).map(Decimal),
    ScalarType("int128"): st.integers(-(10**37), 10**37).map(Decimal),
    ScalarType("float64"): st.floats(allow_nan=False) | NUMBERS.map(lambda n: n / 10),
    ScalarType("float32"): NUMBERS.map(lambda n: to_float32(n / 10)),
    DecimalType(15, 2): NUMBERS.map(lambda n: Decimal(n) / 100),
    DecimalType(38, 10): st.integers(-(10**37), 10**37).map(lambda n: Decimal(n).scaleb(-10)),
    ScalarType("date"): MOMENTS.map(dt.datetime.date),
    ScalarType("timestamp"): MOMENTS,
    ScalarType("timestamp_ms"): MOMENTS.map(lambda m: m.replace(microsecond=0)),
    ScalarType("timestamptz"): MOMENTS.map(lambda m: m.replace(tzinfo=UTC)),
    ScalarType("time"): MOMENTS.map(dt.datetime.time),
    ScalarType("varchar"): TEXTS,
    ScalarType("uuid"): st.uuids().map(str),
    ScalarType("boolean"): st.booleans(),
}
# Texts that are no bounds of any of these types, or of one the column may have had before.
STRANGE = st.sampled_from(
    [
        *("", "-", "abc", "--5", "5x", "1e5", "+5", " 5", "nan", "inf", "1.2.3", "x" * 300, "5-3"),
        *("0044-03-15 (BC)", "12020-01-01", "2020-01-01", "2020-01-01 00:00:00+02", "infinity"),
        *(
            "5.",
            "-.5",
            ".5",
            "5.5.5",
            "-5.5-",
            "5 ",
            "\u0663",
            "9" * 400,
            "0x10",
            "1_0",
            "-5",
            "7.50",
        ),
        *("2020-01-01 00:00:00.", "2020-01-01 00:00:001.", "2020-01-01 00:00:00.5+", "20-0-01-01"),
        *("0044-03-15 (BC) 00:00:00", "2020-01-01T00:00:00", "2020-01-01 00:00:00 x", "'; --"),
    ]
)
COLUMN, OTHER, ROWS = 7, 8, 100
tables = itertools.count(1000)


@st.composite
def bounds(draw, kind):
    """The row of statistics of one file: mostly true bounds, sometimes anything."""
    if draw(st.integers(0, 9)) == 0:
        low, high = draw(STRANGE | st.none()), draw(STRANGE | st.none())
    else:
        first, second = draw(DOMAINS[kind]), draw(DOMAINS[kind])
        low, high = (first, second) if first <= second else (second, first)
        low = format_stat(low, kind, bound="min")
        high = format_stat(high, kind, bound="max")
    return low, high, draw(st.sampled_from([False, False, None, True]))


@st.composite
def predicates(draw, kind, depth=2):
    shape = draw(st.sampled_from(["leaf", "leaf", "and", "or"] if depth else ["leaf"]))
    if shape != "leaf":
        parts = draw(st.lists(predicates(kind, depth - 1), min_size=1, max_size=3))
        return And(tuple(parts)) if shape == "and" else Or(tuple(parts))
    value, column = DOMAINS[kind], st.just(draw(st.sampled_from([COLUMN, COLUMN, OTHER])))
    leaves = [
        st.builds(Comparison, column, st.sampled_from(["=", "<", "<=", ">", ">="]), value),
        st.builds(In, column, st.lists(value, max_size=4).map(tuple)),
        st.builds(IsNull, column, st.booleans()),
        st.builds(Comparison, column, st.just("<>"), value),
        st.just(Constant(True)),
    ]
    if kind == ScalarType("varchar"):
        leaves.append(st.builds(StartsWith, column, TEXTS))
    return draw(st.sampled_from(leaves).flatmap(lambda leaf: leaf))


@st.composite
def cases(draw):
    kind = draw(st.sampled_from(list(DOMAINS)))
    files = draw(st.lists(st.tuples(bounds(kind), bounds(kind)), min_size=1, max_size=8))
    return kind, files, draw(st.lists(predicates(kind), min_size=1, max_size=4))


@pytest.fixture
def db(location):
    with location.database() as database:
        yield database


def data_file(number, table_id=0, **given):
    values = {
        "data_file_id": number,
        "table_id": table_id,
        "begin_snapshot": 1,
        "path": f"{number}.parquet",
        "path_is_relative": True,
        "file_format": "parquet",
        "record_count": ROWS,
        "file_size_bytes": 10,
        "row_id_start": 0,
        **given,
    }
    return tuple(values.get(name) for name in DATA_FILE.column_names)


def stats_row(number, table_id, low, high, nan=False, column=COLUMN):
    return (number, table_id, column, None, ROWS, 0, low, high, nan, None)


def left_out(db, table_id, predicate, kind):
    """The ids that the query names, which are those of the files that it keeps from being found."""
    query = excluded_files(db, table_id, predicate, {COLUMN: kind, OTHER: kind})
    if query is None:
        return set()
    condition = not_among(db, "d.data_file_id", query)
    sql = f"SELECT d.data_file_id FROM {db.table('ducklake_data_file')} d WHERE d.table_id = ?"
    all_files = {row[0] for row in db.fetch(sql, (table_id,))}
    found = db.fetch(f"{sql} AND {condition.sql}", (table_id, *condition.params))
    gone = {row[0] for row in db.fetch(query.sql, query.params)}
    assert all_files - {row[0] for row in found} == gone
    return gone


def test_the_database_leaves_out_no_more_than_the_planner(db):
    numbers = itertools.count(1)

    @settings(
        max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    @given(cases())
    def check(case):
        kind, files, asked = case
        table_id = next(tables)
        ids = [next(numbers) for _ in files]
        db.insert(DATA_FILE, [data_file(number, table_id) for number in ids])
        rows = [
            stats_row(number, table_id, *each, column=column)
            for number, both in zip(ids, files, strict=True)
            for column, each in zip((COLUMN, OTHER), both, strict=True)
        ]
        db.insert(FILE_COLUMN_STATS, rows)
        entries = [DataFile(number, "", ROWS, 10, None, 0, 1) for number in ids]
        stats = load_file_stats(db, table_id, [COLUMN, OTHER])
        for predicate in asked:
            kept = prune(entries, predicate, {COLUMN: kind, OTHER: kind}, stats).kept
            gone = left_out(db, table_id, predicate, kind)
            event(f"left out: {bool(gone)}")
            assert not gone & {file.data_file_id for file in kept}, (predicate, rows)

    check()


@pytest.mark.parametrize(
    ("kind", "texts", "asked", "gone"),
    [
        ("int64", [("1", "5"), ("6", "9"), (None, "3")], Comparison(COLUMN, "=", 7), {1, 3}),
        ("int64", [("-9", "-5"), ("10", "90"), ("9", "11")], Comparison(COLUMN, "<", 5), {2, 3}),
        ("float64", [("0.5", "0.9"), ("2.5", "3.5")], Comparison(COLUMN, ">=", 2.0), {1}),
        ("date", [("2020-01-01", "2020-02-01"), ("2021-01-01", "2021-02-01")],
         Comparison(COLUMN, ">", dt.date(2020, 12, 31)), {1}),
        ("timestamptz", [("2020-01-01 00:00:00+00", "2020-01-01 00:00:01.5+00")],
         Comparison(COLUMN, ">", dt.datetime(2020, 1, 1, 0, 0, 3, tzinfo=UTC)), {1}),
        ("varchar", [("Zebra", "ant"), ("bee", "cat")], Comparison(COLUMN, "<", "apple"), {2}),
        ("varchar", [("apple", "axe"), ("bee", "cat")], StartsWith(COLUMN, "be"), {1}),
        ("int64", [("1", "5"), ("6", "9"), ("20", "30")], In(COLUMN, (4, 25)), {2}),
        # A text of 256 bytes may be cut, and stand for a longer one.
        ("varchar", [("a", "a" * 256), ("a", "b")], Comparison(COLUMN, "=", "a" * 300), set()),
    ],
)  # fmt: skip
def test_the_database_leaves_out_files_that_cannot_match(db, kind, texts, asked, gone):
    db.insert(DATA_FILE, [data_file(number) for number in range(1, len(texts) + 1)])
    db.insert(FILE_COLUMN_STATS, [stats_row(n, 0, *each) for n, each in enumerate(texts, start=1)])
    assert left_out(db, 0, asked, ScalarType(kind)) == gone


def snapshot_row(number):
    return (number, dt.datetime(2024, 1, 1, tzinfo=UTC), 0, 1, 1)


@pytest.fixture
def plain(db):
    """Ten files of table 5, of which one has a delete file and one a name mapping."""
    db.insert(SNAPSHOT, [snapshot_row(number) for number in (1, 2, 3)])
    rows = [data_file(n, 5, begin_snapshot=1 + n % 2) for n in range(1, 9)]
    rows += [data_file(9, 5), data_file(10, 5, mapping_id=3)]
    db.insert(DATA_FILE, [*rows, data_file(11, 5, begin_snapshot=3), data_file(12, 6)])
    delete = {"delete_file_id": 1, "table_id": 5, "begin_snapshot": 2, "data_file_id": 9}
    delete |= {"path": "x.parquet", "path_is_relative": True, "format": "parquet"}
    delete |= {"delete_count": 1, "file_size_bytes": 1}
    db.insert(DELETE_FILE, [tuple(delete.get(name) for name in DELETE_FILE.column_names)])
    db.insert(FILE_COLUMN_STATS, [stats_row(n, 5, str(n * 10), str(n * 10 + 9)) for n in range(9)])
    return PlainFiles(db, 5, 2, "/lake/")


def counted(plain):
    """The groups of files that began with snapshot 1 and with snapshot 2."""
    query = plain.groups_query([1, 2])
    names = ", ".join(GROUP_COLUMNS)
    rows = plain.db.fetch(f"SELECT {names} FROM ({query.sql}) g", query.params)
    return read_groups(rows, 3)


def test_plain_files_are_counted_by_age_and_the_others_fetched(plain):
    groups = counted(plain)
    assert [(group.begin_snapshot, group.files) for group in groups.groups] == [(1, 4), (2, 4)]
    assert groups.others == 2
    others, _ = plain.load_others()
    assert [(file.data_file_id, file.delete_file is not None) for file in others] == [
        (9, True),
        (10, False),
    ]


def test_only_files_that_may_match_are_fetched(plain):
    groups = counted(plain)
    asked = Comparison(COLUMN, "=", 35)
    plain.db.trace = []
    found, facts = plain.load(groups, asked, {COLUMN: ScalarType("int64")})
    assert len(plain.db.trace) == 1
    assert [file.data_file_id for file in found] == [3]
    assert found[0].path == "/lake/3.parquet"
    assert facts.stats == {3: {COLUMN: FileStats(ROWS, 0, "30", "39", False)}}
    assert len(plain.load(groups, Constant(True), {})[0]) == 8


def test_files_that_are_no_longer_as_they_were_counted_are_noticed(plain):
    groups = counted(plain)
    plain.db.insert(SNAPSHOT, [snapshot_row(4)])
    assert len(plain.load(groups, Constant(True), {})[0]) == 8
    files = plain.db.table("ducklake_data_file")
    plain.db.execute(f"DELETE FROM {files} WHERE data_file_id = 3")
    assert plain.load(groups, Constant(True), {}) is None


def test_an_expired_snapshot_without_its_files_is_noticed(plain):
    groups = counted(plain)
    plain.db.execute(f"DELETE FROM {plain.db.table('ducklake_snapshot')} WHERE snapshot_id = 2")
    plain.db.execute(f"DELETE FROM {plain.db.table('ducklake_data_file')} WHERE data_file_id = 3")
    assert plain.load(groups, Constant(True), {}) is None


def test_totals_of_the_database_are_those_of_the_planner(db):
    """Or there are none: a text that is no bound makes the database silent, never wrong."""
    numbers = itertools.count(1)
    db.insert(SNAPSHOT, [snapshot_row(1)])
    kinds = [kind for kind in DOMAINS if is_bounded(kind, {format_type(kind)})]

    @settings(
        max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    @given(st.sampled_from(kinds).flatmap(lambda k: st.tuples(st.just(k), st.lists(bounds(k)))))
    def check(case):
        kind, texts = case
        table_id, files = next(tables), [next(numbers) for _ in texts]
        db.insert(DATA_FILE, [data_file(number, table_id) for number in files])
        rows = zip(files, texts, strict=True)
        db.insert(FILE_COLUMN_STATS, [stats_row(n, table_id, *each[:2]) for n, each in rows])
        plain = PlainFiles(db, table_id, 1, "")
        groups = PlainGroups((PlainGroup(1, 0, len(files), 0, 0),), 0, 1)
        told = load_plain_totals(plain, groups, {COLUMN: kind}, {COLUMN: True})
        entries = [DataFile(number, "", ROWS, 10, None, 0, 1) for number in files]
        column = Column(COLUMN, "c", format_type(kind))
        known = total_of_files(
            column, entries, load_file_stats(db, table_id, [COLUMN]), bounded=True
        )
        event(f"told: {told is not None}")
        assert told is None or told[COLUMN] == known, (told, known)

    check()


def test_bounds_in_memory_leave_out_no_more_than_the_planner(db):
    numbers = itertools.count(1)
    db.insert(SNAPSHOT, [snapshot_row(1)])

    @settings(
        max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    @given(cases())
    def check(case):
        kind, files, asked = case
        table_id, ids = next(tables), [next(numbers) for _ in files]
        db.insert(DATA_FILE, [data_file(number, table_id) for number in ids])
        rows = [
            stats_row(number, table_id, *each, column=column)
            for place, (number, both) in enumerate(zip(ids, files, strict=True))
            for column, each in zip((COLUMN, OTHER), both, strict=True)
            if (place + column) % 7  # some have no statistics
        ]
        db.insert(FILE_COLUMN_STATS, rows)
        groups = PlainGroups((PlainGroup(1, 0, len(ids), 0, 0),), 0, 1, str(ids))
        kinds = {COLUMN: kind, OTHER: kind}
        bounds = find_bounds(Remembered(), PlainFiles(db, table_id, 1, ""), groups, kinds)
        event(f"known: {bounds is not None}")
        if bounds is None:
            return
        entries = [DataFile(number, "", ROWS, 10, None, 0, 1) for number in ids]
        stats = load_file_stats(db, table_id, [COLUMN, OTHER])
        told = {number: stats_of(bounds, place, kinds) for place, number in enumerate(ids)}
        for predicate in asked:
            kept = {file.data_file_id for file in prune(entries, predicate, kinds, stats).kept}
            places = places_of(predicate, bounds, kinds)
            left = set(ids) if places is None else {ids[place] for place in places}
            event(f"left out: {left != set(ids)}")
            assert kept <= left, (predicate, rows)
            same = prune(entries, predicate, kinds, told).kept
            assert kept == {file.data_file_id for file in same}

    check()

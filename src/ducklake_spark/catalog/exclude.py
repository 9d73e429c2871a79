"""Leave files out inside the metadata database: a filter as SQL over the text of their bounds.

The SQL is coarser than `plan.prune`, which has the last word, and never excludes more than it.
Bounds are text, perhaps of another type that the column had once. A comparison counts only where
the text has the form that makes it right: numbers as doubles with a margin that is wider than
their error, days and moments by the fixed width of their first characters, text by its bytes.
Whatever has another form, or a type that is not known here, excludes nothing. Driver.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from ducklake_spark.catalog_db.connection import Database, Statement
from ducklake_spark.errors import InvalidValue
from ducklake_spark.limits import limits
from ducklake_spark.model.bound_text import is_float
from ducklake_spark.model.literals import format_text, from_python
from ducklake_spark.model.number_text import INTEGERS
from ducklake_spark.model.predicate import (
    And,
    Comparison,
    Constant,
    In,
    IsNull,
    Or,
    Predicate,
    StartsWith,
    Unknown,
    columns_of,
)
from ducklake_spark.model.types import DataType, DecimalType, ScalarType

Leaf = Comparison | In | StartsWith | IsNull
Side = Literal["<", ">"]

# A text of fewer characters has fewer than the 256 bytes at which bounds are cut.
_UNCUT: Final = 64
_TEXTS: Final = frozenset({"varchar", "json", "uuid"})
_WIDTHS: Final = {"date": 10, "timestamp": 19, "timestamp_s": 19, "timestamp_ms": 19}
_WIDTHS_UTC: Final = {"timestamptz": 19}
# A bound of a double may be the shortest text of a float that the column held before.
_MARGINS: Final = {True: (1e-6, 1e-40), False: (1e-9, 0.0)}


@dataclass(frozen=True, slots=True)
class TextForms:
    """How one database asks whether a text has a form, and compares it then.

    Attributes:
        number: the text as a double, or NULL.
        integer: the same where only whole numbers are expected, if that is cheaper.
        day, moment, utc: whether the text is a day, or a moment without or with an offset of zero.
        bytewise: appended to a text that is compared, so that its bytes decide.
        no_nan: whether a file is known to hold no NaN.
    """

    number: str
    day: str
    moment: str
    utc: str
    bytewise: str
    no_nan: str
    integer: str | None = None


_DAY: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOMENT: Final = _DAY + " [0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?"
_NUMBER: Final = "-?[0-9]{1,40}([.][0-9]{1,40})?"
_GLOB_DAY: Final = "-".join(("[0-9]" * 4, "[0-9]" * 2, "[0-9]" * 2))
_GLOB_MOMENT: Final = f"{_GLOB_DAY} {':'.join(('[0-9]' * 2,) * 3)}*"
# The text without its digits; and whether it begins with a digit or with a sign and something.
_PG_BARE: Final = "translate({0} COLLATE \"C\", '0123456789', '')"
_PG_START: Final = (
    "length({0}) < 60 AND (({0} COLLATE \"C\" >= '0' AND {0} COLLATE \"C\" < ':') "
    "OR ({0} COLLATE \"C\" > '-' AND {0} COLLATE \"C\" < '.'))"
)
_FORMS: Final = {
    "sqlite": TextForms(
        number=(
            "CASE WHEN (length({0}) < 40 AND ({0} GLOB '[0-9]*' OR {0} GLOB '-[0-9]*') "
            "AND substr({0}, 2) NOT GLOB '*[^0-9.]*' AND {0} NOT GLOB '*.*.*') "
            "THEN CAST({0} AS REAL) END"
        ),
        day=f"{{0}} GLOB '{_GLOB_DAY}'",
        moment=f"({{0}} GLOB '{_GLOB_MOMENT}' AND substr({{0}}, 20) NOT GLOB '*[^0-9.]*')",
        utc=(
            f"({{0}} GLOB '{_GLOB_MOMENT}+00' "
            "AND substr({0}, 20, length({0}) - 22) NOT GLOB '*[^0-9.]*')"
        ),
        bytewise="",
        no_nan="s.contains_nan IN (0, '0', 'false')",
        # A text that a whole number gives back is one; patterns take four times as long.
        integer="CASE WHEN CAST(CAST({0} AS INTEGER) AS TEXT) = {0} THEN CAST({0} AS REAL) END",
    ),
    "duckdb": TextForms(
        number=(
            f"TRY_CAST(CASE WHEN regexp_full_match({{0}}, '{_NUMBER}') THEN {{0}} END AS DOUBLE)"
        ),
        day=f"regexp_full_match({{0}}, '{_DAY}')",
        moment=f"regexp_full_match({{0}}, '{_MOMENT}')",
        utc=f"regexp_full_match({{0}}, '{_MOMENT}[+]00')",
        bytewise="",
        no_nan="s.contains_nan = FALSE",
    ),
    # Counted repetitions in a pattern take PostgreSQL ten times as long as all the rest: what is
    # left of a text without its digits, and where, says as much.
    "postgres": TextForms(
        number=(
            f"CASE WHEN {_PG_START} AND {_PG_BARE.format('substr({0}, 2)')} IN ('', '.') "
            "AND {0} NOT LIKE '%.' AND {0} NOT LIKE '-.%' THEN CAST({0} AS DOUBLE PRECISION) END"
        ),
        day=f"({{0}} LIKE '____-__-__' AND {_PG_BARE} = '--')",
        moment=(
            f"(({{0}} LIKE '____-__-__ __:__:__' AND {_PG_BARE} = '-- ::') OR "
            f"({{0}} LIKE '____-__-__ __:__:__._%' AND length({{0}}) < 30 "
            f"AND {_PG_BARE} = '-- ::.'))"
        ),
        utc=(
            f"(({{0}} LIKE '____-__-__ __:__:__+00' AND {_PG_BARE} = '-- ::+') OR "
            f"({{0}} LIKE '____-__-__ __:__:__._%+00' AND length({{0}}) < 33 "
            f"AND {_PG_BARE} = '-- ::.+'))"
        ),
        bytewise=' COLLATE "C"',
        no_nan="s.contains_nan = FALSE",
        integer=(
            f"CASE WHEN {_PG_START} AND {_PG_BARE.format('substr({0}, 2)')} = '' "
            "THEN CAST({0} AS DOUBLE PRECISION) END"
        ),
    ),
}


def text_forms(db: Database) -> TextForms | None:
    """The words of the kind of metadata database, if they are known."""
    return _FORMS.get(db.kind)


def excluded_files(
    db: Database, table_id: int, predicate: Predicate, kinds: Mapping[int, DataType]
) -> Statement | None:
    """A query of the ids of files of which no row can match.

    None when the metadata database cannot exclude anything.

    Args:
        db: the metadata database, whose kind decides the words.
        table_id: whose statistics.
        predicate: what is asked for.
        kinds: the types of the columns that it names.
    """
    writer = _writer(db, table_id, kinds)
    if writer is None:
        return None
    written = writer.write(predicate)
    return writer.query([written]) if isinstance(written, _Test) else written


def excluding_test(
    db: Database, table_id: int, predicate: Predicate, kinds: Mapping[int, DataType]
) -> Statement | None:
    """A condition on the statistics ``s`` of the only column of a predicate, for a join with them.

    True excludes the file; it may be NULL. None when statistics of one column cannot tell, or
    when the database is better asked for `excluded_files`: SQLite joins by sorting.
    """
    writer = _writer(db, table_id, kinds)
    if writer is None or db.kind == "sqlite" or len(columns_of(predicate)) != 1:
        return None
    written = writer.write(predicate)
    return written.condition if isinstance(written, _Test) else None


def not_among(db: Database, column: str, ids: Statement) -> Statement:
    """The condition that a column that is never NULL has none of the ids of a query.

    PostgreSQL reads the query again for each row once it takes the ids for too many for its
    memory, unless it is told in the words of a join; SQLite does so with those.
    """
    if db.kind == "sqlite":
        return Statement(f"{column} NOT IN ({ids.sql})", ids.params)
    return Statement(
        f"NOT EXISTS (SELECT 1 FROM ({ids.sql}) gone WHERE gone.data_file_id = {column})",
        ids.params,
    )


@dataclass(frozen=True, slots=True)
class _Test:
    """A condition on the statistics of one column that excludes the file they are of."""

    column_id: int
    condition: Statement


def _writer(db: Database, table_id: int, kinds: Mapping[int, DataType]) -> _Writer | None:
    forms = text_forms(db)
    stats = db.table("ducklake_file_column_stats")
    return None if forms is None else _Writer(forms, stats, table_id, kinds)


@dataclass(frozen=True)
class _Writer:
    forms: TextForms
    stats: str
    table_id: int
    kinds: Mapping[int, DataType]

    def write(self, predicate: Predicate) -> _Test | Statement | None:
        """What excludes a file: one row of its statistics, or a query that has its id."""
        match predicate:
            case And(parts):
                written = [self.write(part) for part in parts]
                return self._any([each for each in written if each is not None])
            case Or(parts):
                written = [self.write(part) for part in parts]
                known = [each for each in written if each is not None]
                return self._all(known) if parts and len(known) == len(parts) else None
            case Comparison() | In() | StartsWith() | IsNull():
                condition = self._leaf(predicate)
                if condition is None:
                    return None
                if is_float(self.kinds[predicate.column_id]):
                    condition = _both(Statement(self.forms.no_nan), condition)
                return _Test(predicate.column_id, condition)
            case Constant() | Unknown():
                return None

    def _any(self, parts: Sequence[_Test | Statement]) -> _Test | Statement | None:
        """One part is enough; the statistics are read once for all tests."""
        tests = [part for part in parts if isinstance(part, _Test)]
        queries = [part for part in parts if isinstance(part, Statement)]
        if not queries and len({test.column_id for test in tests}) == 1:
            return _Test(tests[0].column_id, _joined([test.condition for test in tests], " OR "))
        return _combined([*([self.query(tests)] if tests else []), *queries], "UNION ALL")

    def _all(self, parts: Sequence[_Test | Statement]) -> _Test | Statement | None:
        """Every part has to exclude the file."""
        tests = [part for part in parts if isinstance(part, _Test)]
        if len(tests) == len(parts) and len({test.column_id for test in tests}) == 1:
            return _Test(tests[0].column_id, _joined([test.condition for test in tests], " AND "))
        queries = [self.query([part]) if isinstance(part, _Test) else part for part in parts]
        return _combined(queries, "INTERSECT")

    def query(self, tests: Sequence[_Test]) -> Statement:
        """The ids of the files that one of the tests excludes."""
        by_column: dict[int, list[Statement]] = defaultdict(list)
        for test in tests:
            by_column[test.column_id].append(test.condition)
        condition = _joined(
            [
                _both(Statement("s.column_id = ?", (column_id,)), _joined(conditions, " OR "))
                for column_id, conditions in by_column.items()
            ],
            " OR ",
        )
        return Statement(
            f"SELECT s.data_file_id FROM {self.stats} s "
            f"WHERE s.table_id = ? AND s.data_file_id IS NOT NULL AND {condition.sql}",
            (self.table_id, *condition.params),
        )

    def _leaf(self, leaf: Leaf) -> Statement | None:
        kind = self.kinds.get(leaf.column_id)
        if kind is None:
            return None
        match leaf:
            case Comparison(_, operator, value):
                return self._outside(operator, value, kind)
            case In(_, values):
                return self._outside_all(values, kind)
            case StartsWith(_, prefix):
                return self._other_start(prefix, kind)
            case IsNull():
                return None

    def _outside(self, operator: str, value: Any, kind: DataType) -> Statement | None:
        """The column is surely below or above the value; equal bounds are left to the planner."""
        below = self._compare("max_value", "<", value, kind)
        above = self._compare("min_value", ">", value, kind)
        if below is None or above is None:
            return None
        match operator:
            case "=":
                return _joined([below, above], " OR ")
            case "<" | "<=":
                return above
            case ">" | ">=":
                return below
            case _:
                return None

    def _outside_all(self, values: Sequence[Any], kind: DataType) -> Statement | None:
        if not 0 < len(values) <= limits().values_per_filter:
            return None
        written = [self._outside("=", value, kind) for value in values]
        known = [each for each in written if each is not None]
        return _joined(known, " AND ") if len(known) == len(values) else None

    def _other_start(self, prefix: str, kind: DataType) -> Statement | None:
        below = self._compare("max_value", "<", prefix, kind) if _is_text(kind) else None
        above = self._compare("min_value", ">", prefix, kind) if _is_text(kind) else None
        if below is None or above is None:
            return None
        differs = Statement(f"substr(s.min_value, 1, {len(prefix)}) <> ?", (prefix,))
        return _joined([below, _both(above, differs)], " OR ")

    def _compare(self, bound: str, side: Side, value: Any, kind: DataType) -> Statement | None:
        """Whether a bound surely lies on one side of the value."""
        column = f"s.{bound}"
        try:
            comparable = from_python(value, kind)
            if _is_number(kind):
                return self._number(column, side, comparable, kind)
            if _is_text(kind):
                return self._text(column, side, comparable)
            return self._moment(column, side, comparable, kind)
        except (InvalidValue, OverflowError):
            return None

    def _number(self, column: str, side: Side, value: Any, kind: DataType) -> Statement | None:
        share, least = _MARGINS[is_float(kind)]
        number = float(value)
        if not math.isfinite(number):
            return None
        margin = abs(number) * share + least
        limit = number - margin if side == "<" else number + margin
        whole = isinstance(kind, ScalarType) and kind.name in INTEGERS
        form = (self.forms.integer if whole else None) or self.forms.number
        return Statement(f"{_of(form, column)} {side} ?", (limit,))

    def _text(self, column: str, side: Side, value: str) -> Statement | None:
        if "\0" in value or not _is_utf8(value):
            return None
        uncut = f"length({column}) < {_UNCUT} AND " if side == "<" else ""
        return Statement(f"{uncut}{column}{self.forms.bytewise} {side} ?", (value,))

    def _moment(self, column: str, side: Side, value: Any, kind: DataType) -> Statement | None:
        name = kind.name if isinstance(kind, ScalarType) else ""
        width = _WIDTHS.get(name) or _WIDTHS_UTC.get(name)
        if width is None:
            return None
        text = format_text(value, kind)
        if not re.fullmatch(_DAY if name == "date" else _MOMENT + "([+]00)?", text):
            return None  # a year of more than four digits, or before the first
        forms = self.forms
        form = forms.day if name == "date" else forms.utc if name in _WIDTHS_UTC else forms.moment
        start = f"substr({column}, 1, {width}){forms.bytewise}"
        return Statement(f"{_of(form, column)} AND {start} {side} ?", (text[:width],))


def _of(form: str, column: str) -> str:
    return form.replace("{0}", column)  # patterns have braces of their own


def _combined(queries: Sequence[Statement], word: str) -> Statement | None:
    """Several queries of ids as one; SQLite takes no parentheses around them."""
    if len(queries) < 2:
        return queries[0] if queries else None
    parts = [f"SELECT data_file_id FROM ({each.sql}) q{i}" for i, each in enumerate(queries)]
    return Statement(f" {word} ".join(parts), tuple(v for each in queries for v in each.params))


def _joined(conditions: Sequence[Statement], word: str) -> Statement:
    text = word.join(f"({each.sql})" for each in conditions)
    return Statement(f"({text})", tuple(value for each in conditions for value in each.params))


def _both(first: Statement, second: Statement) -> Statement:
    return Statement(f"(({first.sql}) AND ({second.sql}))", (*first.params, *second.params))


def _is_number(kind: DataType) -> bool:
    return isinstance(kind, DecimalType) or (
        isinstance(kind, ScalarType) and (kind.name in INTEGERS or is_float(kind))
    )


def _is_text(kind: DataType) -> bool:
    return isinstance(kind, ScalarType) and kind.name in _TEXTS


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

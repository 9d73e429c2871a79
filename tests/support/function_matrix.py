"""Many expressions in few Spark jobs, compared with DuckDB value by value and type by type.

One table holds, for each type, its interesting values three times: `a_<n>` and `b_<n>` together go
through all pairs, `c_<n>` is a third value beside them. An error of one row is seen as such in both
engines: DuckDB's TRY and Spark's TryEval stand around each expression, whose value is in a struct.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ducklake_spark.binder.decode import decode_plan
from ducklake_spark.binder.expressions import Expression, Function
from ducklake_spark.binder.operators import Get, Projection
from ducklake_spark.binder.types import BoundType
from ducklake_spark.errors import InvalidInput, NotSupported
from ducklake_spark.translate.expressions import Expressions
from ducklake_spark.translate.fragments import Fragment
from ducklake_spark.translate.functions import SCALARS
from ducklake_spark.translate.types import carrier, spark_type
from support.function_values import CARRIERS, VALUES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KINDS = list(VALUES)
_AT_ONCE = 64  # expressions that are bound together


@dataclass(frozen=True)
class Case:
    """An expression that is native, in the words of both."""

    text: str
    type: BoundType
    spark: str


@dataclass(frozen=True)
class Difference:
    """Where the two do not agree."""

    case: Case
    what: str

    def __str__(self) -> str:
        return f"{self.case.text}: {self.what}\n      {self.case.spark}"


def column_of(kind: str, place: int) -> str:
    """The column of a type for the argument at a place."""
    return f"{'abc'[place % 3]}_{KINDS.index(kind)}"


class Matrix:
    """The table of values in DuckDB and, as a file of carriers, in Spark if there is one."""

    def __init__(self, spark: SparkSession | None = None, directory: Path | None = None) -> None:
        self._con = duckdb.connect()
        self._con.execute("SET TimeZone = 'UTC'")
        side = max(len(each) for each in VALUES.values()) + 1
        columns = ", ".join(
            f"{_listed(kind)}[1 + {place} % {len(VALUES[kind]) + 1}] AS {letter}_{n}"
            for n, kind in enumerate(KINDS)
            for letter, place in (("a", "i"), ("b", "j"), ("c", "(i + 7 * j)"))
        )
        self._con.execute(
            f"CREATE TABLE t AS SELECT i * {side} + j AS id, {columns}"
            f" FROM range({side}) x(i), range({side}) y(j) ORDER BY id"
        )
        self._spark = spark
        self._simple: dict[str, str] = {}
        if directory is not None:
            self._frame = self._write_and_read(directory / "values.parquet")

    def _write_and_read(self, path: Path) -> DataFrame:
        names = [f"{letter}_{n}" for n in range(len(KINDS)) for letter in "abc"]
        casts = ", ".join(f"{self._stored(name)} AS {name}" for name in names)
        table = self._con.execute(f"SELECT id, {casts} FROM t ORDER BY id").to_arrow_table()
        pq.write_table(table, path)
        columns = ", ".join(f"{name} {CARRIERS[KINDS[int(name[2:])]]}" for name in names)
        spark: Any = self._spark
        return spark.read.schema(f"id BIGINT, {columns}").parquet(str(path)).coalesce(1)

    def _stored(self, name: str) -> str:
        ((_, node, _),) = self._bound([name])
        return f"CAST({name} AS {carrier(node.type)})"

    def cases(self, texts: Sequence[str]) -> list[Case]:
        """The cases of those expressions whose function is native for its arguments."""
        found = (self._case(text, node, get) for text, node, get in self._bound(texts))
        return [case for case in found if case is not None]

    def _case(self, text: str, node: Expression, get: Get) -> Case | None:
        if not isinstance(node, Function) or node.name not in SCALARS:
            return None
        expressions = Expressions(self._evaluate)
        columns = [Fragment((f"`{name}`",)) for name in get.columns]
        try:
            spark = expressions.scalar(node, columns)
        except NotSupported:
            return None
        return None if expressions.engine.calls else Case(text, node.type, str(spark))

    def _evaluate(self, query: str) -> tuple[Any, ...]:
        try:
            row = self._con.execute(query).fetchone()
        except duckdb.Error as error:
            raise InvalidInput(str(error)) from error
        return row or ()

    def _bound(self, texts: Sequence[str]) -> Iterator[tuple[str, Expression, Get]]:
        """Expressions that DuckDB binds, many at once: those that it does not are left out."""
        for start in range(0, len(texts), _AT_ONCE):
            yield from self._bound_together(texts[start : start + _AT_ONCE])

    def _bound_together(self, texts: Sequence[str]) -> Iterator[tuple[str, Expression, Get]]:
        plan = self._plan_of(texts)
        if plan is not None:
            projection = decode_plan(plan)
            assert isinstance(projection, Projection) and isinstance(projection.child, Get)
            for text, node in zip(texts, projection.expressions, strict=True):
                yield text, node, projection.child
        elif len(texts) > 1:
            middle = len(texts) // 2
            yield from self._bound_together(texts[:middle])
            yield from self._bound_together(texts[middle:])

    def _plan_of(self, texts: Sequence[str]) -> Any:
        query = f"SELECT {', '.join(texts)} FROM t"
        row = self._con.execute(
            "SELECT json_serialize_plan(?, skip_default := true)", [query]
        ).fetchone()
        try:
            plan = json.loads(row[0]) if row else {"error": True}
        except ValueError:  # DuckDB cuts the text of some errors inside of a character
            return None
        return None if plan.get("error") else plan

    def differences(self, cases: Sequence[Case], width: int = 150) -> Iterator[Difference]:
        """What DuckDB and Spark answer otherwise, `width` expressions at once."""
        for start in range(0, len(cases), width):
            yield from self._compared(cases[start : start + width])

    def _compared(self, cases: Sequence[Case]) -> Iterator[Difference]:
        answers, expected = self._spark_answers(cases), self._duckdb_answers(cases)
        if answers is None or expected is None:
            if len(cases) == 1:
                if answers is not None or expected is not None:
                    yield Difference(cases[0], "only one of both can run it at all")
                return
            middle = len(cases) // 2
            yield from self._compared(cases[:middle])
            yield from self._compared(cases[middle:])
            return
        for case, wanted, (kind, got) in zip(cases, expected, answers, strict=True):
            if kind != spark_type(case.type).replace(", ", ",").replace(": ", ":").lower().replace(
                "`", ""
            ).replace("string", "string"):
                yield Difference(case, f"the type is {kind}, not {spark_type(case.type)}")
            what = self._first_difference(wanted, got)
            if what:
                yield Difference(case, what)

    def _spark_answers(self, cases: Sequence[Case]) -> list[tuple[str, pa.Array]] | None:
        from pyspark.sql.classic.column import Column

        java: Any = self._spark
        parser = java._jsparkSession.sessionState().sqlParser()
        catalyst = java._jvm.org.apache.spark.sql
        columns = []
        for case in cases:
            parsed = parser.parseExpression(f"named_struct('v', {case.spark})")
            tried = catalyst.catalyst.expressions.TryEval(parsed)
            columns.append(Column(catalyst.classic.ExpressionUtils.column(tried)))
        try:
            frame = self._frame.select(*columns)
            table = frame.toArrow()
        except Exception:  # whatever it is: one expression after the other shows whose it is
            return None
        kinds = [field.dataType["v"].dataType.simpleString() for field in frame.schema]
        return [(k, c.combine_chunks()) for k, c in zip(kinds, table.columns, strict=True)]

    def _duckdb_answers(self, cases: Sequence[Case]) -> list[pa.Array] | None:
        texts = (
            f"TRY(struct_pack(v := CAST({case.text} AS {carrier(case.type)})))" for case in cases
        )
        listed = ", ".join(f"{text} AS r{n}" for n, text in enumerate(texts))
        try:
            table = self._con.execute(f"SELECT {listed} FROM t ORDER BY id").to_arrow_table()
        except duckdb.Error:  # a constant that is an error in spite of TRY
            return None
        return [each.combine_chunks() for each in table.columns]

    def _simple_type(self, kind: BoundType) -> str:
        """Spark's short name of the type that carries the values."""
        from pyspark.sql.types import StructType

        name = spark_type(kind)
        if name not in self._simple:
            self._simple[name] = StructType.fromDDL(f"v {name}")["v"].dataType.simpleString()
        return self._simple[name]

    def _first_difference(self, wanted: pa.Array, got: pa.Array) -> str | None:
        left, right = _comparable(wanted), _comparable(got)
        for row, (one, other) in enumerate(zip(left, right, strict=True)):
            if one != other:
                return f"row {row}: DuckDB {one}, Spark {other}"
        return None


def _listed(kind: str) -> str:
    return f"[{', '.join(f'CAST({value} AS {kind})' for value in VALUES[kind])}, NULL]"


def _comparable(answers: pa.Array) -> list[Any]:
    """Values for Python to compare: an error is one too, and NaN is NaN."""
    failed = pc.is_null(answers).to_pylist()
    values = answers.field("v")
    values = values.cast(_counted(values.type))
    return [
        "an error" if bad else repr(_plain(value))
        for bad, value in zip(failed, values.to_pylist(), strict=True)
    ]


def _counted(kind: pa.DataType) -> pa.DataType:
    """The type with numbers for dates: Python's own end at the year 9999."""
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_date(kind):
        return pa.int32()
    return pa.list_(_counted(kind.value_type)) if pa.types.is_list(kind) else kind


def _plain(value: Any) -> Any:
    match value:
        case bytearray():
            return bytes(value)
        case list():
            return [_plain(each) for each in value]
        case _:
            return value

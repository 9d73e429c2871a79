"""Many expressions over one table, computed by Spark and by DuckDB, compared in value and type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ducklake_spark.binder.expressions import Expression
from ducklake_spark.errors import DuckLakeError, NotSupported
from ducklake_spark.spark.engine import register_engine_calls
from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.translate.expressions import Expressions
from ducklake_spark.translate.fragments import column
from ducklake_spark.translate.types import from_carrier, spark_type, to_carrier
from support.bound_expressions import Binder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_Known = tuple[str, Expression, str]
_PLAIN = "FORMAT parquet, DICTIONARY_SIZE_LIMIT 1"  # a dictionary has one zero for both


@dataclass
class Report:
    """What came out.

    Attributes:
        differing: what Spark answers otherwise, with both answers.
        refused: what cannot be translated, with the reason.
        native: those that are Spark's own.
        engine: those that DuckDB computes in tasks.
        failure: what the last job that failed said.
    """

    differing: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    native: list[str] = field(default_factory=list)
    engine: list[str] = field(default_factory=list)
    failure: str = ""


class Matrix:
    """A table of DuckDB that Spark has as a view of its carriers."""

    def __init__(
        self, spark: SparkSession, binder: Binder, folder: Path, *, time_zone: str = "UTC"
    ) -> None:
        self.spark, self.binder, self.time_zone = spark, binder, time_zone
        self._path = str(folder / "rows.parquet")
        nodes = binder.bind(*(f'"{name}"' for name in binder.columns))
        carriers = ", ".join(
            f'{to_carrier(_quoted(name), node.type)} AS "{name}"'
            for name, node in zip(binder.columns, nodes, strict=True)
        )
        binder.connection.execute(f"COPY (SELECT {carriers} FROM t) TO '{self._path}' ({_PLAIN})")
        spark.read.parquet(self._path).createOrReplaceTempView("matrix")

    def compare(self, texts: Sequence[str]) -> Report:
        """Compute all of them in one job, and one by one if that fails."""
        report = Report()
        known: list[_Known] = []
        for text, node in zip(texts, self.binder.bind(*texts), strict=True):
            found = self._translate(node, text, report)
            known += [(text, node, found)] if found is not None else []
        if not self._try(known, report):
            single = Report()
            report.differing += [
                f"{each[0]}: {single.failure}" for each in known if not self._try([each], single)
            ]
            report.differing += single.differing
        return report

    def _try(self, known: Sequence[_Known], report: Report) -> bool:
        try:
            self._run(known, report)
        except DuckLakeError as error:
            report.failure = str(error)
            return False
        return True

    def ordered(self, name: str, words: str) -> list[str | None]:
        """The texts of a column in an order that `Expressions` writes."""
        node = self.binder.order(f'"{name}"')
        expressions = Expressions(self.binder.evaluate, self.time_zone)
        columns = [column("matrix", each) for each in self.binder.columns]
        key = expressions.ordering(
            expressions.scalar(node, columns),
            node.type,
            is_descending=words.startswith("DESC"),
            nulls_first=words.endswith("FIRST"),
        )
        register_engine_calls(self.spark, expressions.engine.calls)
        frame = self.spark.sql(f"SELECT `{name}` AS found FROM matrix ORDER BY {key}")
        self.binder.connection.register("answers", frame.toArrow())
        (value,) = self.binder.bind(f'"{name}"')
        found = from_carrier("found", value.type)
        rows = self.binder.connection.execute(f"SELECT {found}::VARCHAR FROM answers").fetchall()
        self.binder.connection.unregister("answers")
        return [text for (text,) in rows]

    def _translate(self, node: Expression, text: str, report: Report) -> str | None:
        columns = [column("matrix", name) for name in self.binder.columns]
        expressions = Expressions(self.binder.evaluate, self.time_zone)
        try:
            found = str(expressions.scalar(node, columns))
        except NotSupported as error:
            report.refused.append(f"{text}: {error}")
            return None
        calls = expressions.engine.calls
        register_engine_calls(self.spark, calls)
        (report.engine if calls else report.native).append(text)
        return found

    def _run(self, known: Sequence[_Known], report: Report) -> None:
        selected = [f"{found} AS e{at}" for at, (_, _, found) in enumerate(known)]
        with spark_failures("compare"):
            frame = self.spark.sql(f"SELECT n, {', '.join(selected)} FROM matrix")
            answers = frame.toArrow()
        for (text, node, _), field_ in zip(known, frame.schema.fields[1:], strict=True):
            expected = spark_type(node.type).replace(", ", ",").lower()
            found = _simple(field_.dataType)
            if found != _simple_text(expected):
                report.differing.append(f"{text}: is {found}, not {expected}")
        self._compare_values(known, answers, report)

    def _compare_values(self, known: Sequence[_Known], answers: Any, report: Report) -> None:
        connection = self.binder.connection
        connection.register("answers", answers)
        ours = ", ".join(f"CAST(e{at} AS VARCHAR)" for at in range(len(known)))
        theirs = ", ".join(
            f"CAST({to_carrier(f'({text})', node.type)} AS VARCHAR)" for text, node, _ in known
        )
        found = connection.execute(f"SELECT n, {ours} FROM answers ORDER BY n").fetchall()
        expected = connection.execute(f"SELECT n, {theirs} FROM t ORDER BY n").fetchall()
        connection.unregister("answers")
        for at, (text, _, _) in enumerate(known, 1):
            wrong = [
                f"row {a[0]}: {a[at]!r}, not {b[at]!r}"
                for a, b in zip(found, expected, strict=True)
                if a[at] != b[at]
            ]
            if wrong:
                report.differing.append(f"{text}: {'; '.join(wrong)}")


def _simple(kind: Any) -> str:
    return str(kind.simpleString()).replace(", ", ",")


def _simple_text(text: str) -> str:
    return text.replace("`", "").replace(": ", ":")


def _quoted(name: str) -> str:
    return f'"{name}"'

"""A bound query as one text for Spark, kept for as long as it means the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from ducklake_spark.binder.bind import BoundQuery
from ducklake_spark.binder.evaluate import evaluator
from ducklake_spark.binder.mirror import Mirror
from ducklake_spark.binder.operators import Get, Plan
from ducklake_spark.model.engine_call import EngineCall
from ducklake_spark.translate.expressions import Expressions
from ducklake_spark.translate.query import translate_query

TableKey = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class SparkText:
    """What Spark runs.

    Attributes:
        pieces: the text, cut where names of tables stand.
        tables: the tables of the mirror whose names these are.
        calls: functions that DuckDB computes in Spark's tasks.
    """

    pieces: tuple[str, ...]
    tables: tuple[TableKey, ...]
    calls: tuple[EngineCall, ...]

    def text(self, name: Callable[[TableKey], str]) -> str:
        """The text with Spark's names of the tables."""
        names = map(name, self.tables)
        rest = (name + piece for name, piece in zip(names, self.pieces[1:], strict=True))
        return "".join([self.pieces[0], *rest])


def spark_text(
    mirror: Mirror, bound: BoundQuery, plan: Plan, text: str, *, is_answered: bool
) -> SparkText:
    """What Spark runs for a plan of a bound query; `text` is what DuckDB has bound.

    `is_answered` says that values of the catalog stand in the plan.
    """
    key = (text, *mirror.state(text))
    found: SparkText | None = None if is_answered else mirror.texts.get(key)
    if found is None:
        found, is_repeatable = _translated(mirror, bound, plan)
        if is_repeatable and not is_answered:
            mirror.texts.put(key, found)
    return found


def _translated(mirror: Mirror, bound: BoundQuery, plan: Plan) -> tuple[SparkText, bool]:
    tables: list[TableKey] = []

    def table(get: Get) -> str:
        tables.append(key_of(get))
        return _MARK.format(len(tables) - 1)

    settings = mirror.settings
    expressions = Expressions(evaluator(mirror), mirror.time_zone, settings.others)
    text = translate_query(plan, bound.names, expressions, table)
    pieces, order = _cut(text)
    made = SparkText(pieces, tuple(tables[i] for i in order), expressions.engine.calls)
    return made, expressions.folding.is_repeatable


# Nobody can have written it, in a string say, before this process was there.
_SECRET: Final = uuid4().hex
_MARK: Final = f"\x00{_SECRET}{{}}\x00"
_MARKS: Final = re.compile(f"\x00{_SECRET}(\\d+)\x00")


def _cut(text: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The pieces between marks, and the numbers of the marks."""
    parts = _MARKS.split(text)
    return tuple(parts[::2]), tuple(map(int, parts[1::2]))


def key_of(get: Get) -> TableKey:
    """Which table of the mirror it is."""
    return get.catalog.lower(), get.schema.lower(), get.table.lower()

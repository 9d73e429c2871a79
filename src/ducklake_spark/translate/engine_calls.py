"""Calls that DuckDB computes in Spark's tasks: collected while a query is translated."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from ducklake_spark import caching
from ducklake_spark.binder.types import BoundType
from ducklake_spark.errors import InvalidInput, NotSupported
from ducklake_spark.model.engine_call import EngineCall
from ducklake_spark.translate.fragments import Fragment, joined, sql
from ducklake_spark.translate.types import (
    carrier,
    cast_text,
    from_carrier,
    null_text,
    spark_type,
    to_carrier,
)

Argument = tuple[Fragment, BoundType]
Setting = tuple[str, str]
Evaluate = Callable[[str], tuple[Any, ...]]
"""Runs a SELECT without tables in DuckDB: the first row, or an error of this package."""

_IN_UTC: Final = (("TimeZone", "UTC"),)
_ROW: Final = '"row"'
_DIGEST: Final = 12  # hexadecimal digits: 48 bits
_READABLE: Final = re.compile(r"\W+")
_NAMES: Final = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "mod"}


_CHECKED: Final = caching.declare(
    "calls that DuckDB binds",
    key="the name of a call",
    depends_on="its text and types, of which the name has a digest",
    seen_by="process",
    emptied="never",
    entries=10_000,
).make()


class EngineCalls:
    """What a query needs of DuckDB in tasks.

    Args:
        evaluate: tries at once whether a text is bound to the type that it shall have.
        settings: of DuckDB, with their values.
    """

    def __init__(self, evaluate: Evaluate, settings: tuple[Setting, ...] = _IN_UTC) -> None:
        self._evaluate = evaluate
        self._settings = settings
        self._calls: dict[str, EngineCall] = {}
        self.uses = 0

    def rewind(self, uses: int, calls: tuple[EngineCall, ...]) -> None:
        """Forget what came after that many uses, when there were these calls."""
        self.uses, self._calls = uses, {call.name: call for call in calls}

    @property
    def calls(self) -> tuple[EngineCall, ...]:
        """Those that the text may name, each once."""
        return tuple(self._calls.values())

    def call(
        self,
        label: str,
        text: str,
        arguments: Sequence[Argument],
        result: BoundType,
        *,
        is_volatile: bool = False,
    ) -> Fragment:
        """Spark SQL of DuckDB's answer.

        Args:
            label: what is called, for whoever reads the plan.
            text: DuckDB's SQL over columns ``a0``, ``a1`` and so on, of the types of `arguments`.
            arguments: Spark SQL of them with their types.
            result: the type of what `text` computes.
            is_volatile: whether the answer may be another each time.
        """
        kinds = [kind for _, kind in arguments]
        call = self._make(label, text, kinds, result, is_volatile)
        _CHECKED.find(call.name, lambda: self._check(label, text, kinds, result))
        self._calls[call.name] = call
        self.uses += 1
        values: list[Fragment | str] = [value for value, _ in arguments]
        values = values or ["0"]  # a function of Spark needs one
        return sql(f"{call.name}({{}})", joined(", ", values))

    def over_rows(
        self, label: str, text: str, arguments: Sequence[Argument], result: BoundType
    ) -> Fragment:
        """Spark SQL of an answer for each row that DuckDB finds for all rows at once.

        Args:
            label: what is called, for whoever reads the plan.
            text: a SELECT of ``row`` and ``answer`` from ``batch``, which has the columns ``row``,
                ``a0``, ``a1`` and so on. Where it has no row, the answer is NULL.
            arguments: Spark SQL of them with their types.
            result: the type of ``answer``.
        """
        kinds = [kind for _, kind in arguments]
        call = self._make(label, text, kinds, result, False, over=_query_of_rows)
        scalar = f"(WITH batch AS ({_nulls(kinds)}) SELECT any_value(answer) FROM ({text}))"
        _CHECKED.find(call.name, lambda: self._check(label, scalar, kinds, result))
        self._calls[call.name] = call
        self.uses += 1
        return sql(f"{call.name}({{}})", joined(", ", [value for value, _ in arguments]))

    def _make(
        self,
        label: str,
        text: str,
        kinds: Sequence[BoundType],
        result: BoundType,
        volatile: bool,
        over: Callable[[str, Sequence[BoundType], BoundType], str] | None = None,
    ) -> EngineCall:
        for kind in kinds:
            spark_type(kind)  # refuses what has no carrier
        query, type_ = (over or _query)(text, kinds, result), spark_type(result)
        told = "\0".join((query, type_, repr(self._settings), *map(str, map(carrier, kinds))))
        digest = hashlib.sha256(told.encode()).hexdigest()[:_DIGEST]
        readable = _READABLE.sub("_", _NAMES.get(label, label)).strip("_").lower() or "compute"
        name = f"duck_{readable}_{digest}"
        return EngineCall(name, query, type_, self._settings, volatile)

    def _check(self, label: str, text: str, kinds: Sequence[BoundType], result: BoundType) -> bool:
        """Whether DuckDB binds the text, to the type that was said."""
        rows = ", ".join(f"{null_text(kind)} AS a{at}" for at, kind in enumerate(kinds))
        types = f"typeof({text}), typeof({cast_text('NULL', result)})"
        try:
            found, expected = self._evaluate(f"SELECT {types} FROM (SELECT {rows or 0})")
        except InvalidInput as error:
            raise NotSupported(
                f"DuckDB cannot compute {label} in tasks: {error.message}"
            ) from error
        # What has no value but NULL is an integer at the top of a query of DuckDB.
        if found not in (expected, expected.replace('"NULL"', "INTEGER")):
            raise NotSupported(
                f"DuckDB cannot compute {label} in tasks: it would be {found}, not {expected}."
            )
        return True


def _nulls(kinds: Sequence[BoundType]) -> str:
    """A row of NULLs as the rows of a task are."""
    values = [f"{null_text(kind)} AS a{at}" for at, kind in enumerate(kinds)]
    return f"SELECT {', '.join([*values, f'0 AS {_ROW}'])}"


def _rows(kinds: Sequence[BoundType]) -> str:
    """The rows of a task, of their own types."""
    names = [f"a{at}" for at in range(len(kinds))]
    values = [from_carrier(name, kind) for name, kind in zip(names, kinds, strict=True)]
    columns = [f"{value} AS {name}" for value, name in zip(values, names, strict=True)]
    return f"SELECT {', '.join([*columns, _ROW])} FROM rows"


def _query_of_rows(text: str, kinds: Sequence[BoundType], result: BoundType) -> str:
    """The SELECT that a task runs for all of its rows."""
    answers = f"SELECT {_ROW}, answer FROM batch LEFT JOIN ({text}) USING ({_ROW})"
    answer = to_carrier("answer", result)
    return (
        f"WITH batch AS ({_rows(kinds)}) SELECT {answer} AS answer FROM ({answers}) ORDER BY {_ROW}"
    )


def _query(text: str, kinds: Sequence[BoundType], result: BoundType) -> str:
    """The SELECT that a task runs; what has a query inside might lose the order of the rows."""
    query = f"SELECT {to_carrier(f'({text})', result)} AS answer FROM ({_rows(kinds)})"
    return f"{query} ORDER BY {_ROW}" if "SELECT " in text else query

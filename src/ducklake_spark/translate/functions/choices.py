"""Functions that choose one of their arguments, or end the query."""

from __future__ import annotations

from typing import Final

from ducklake_spark.translate.fragments import Fragment, joined, sql
from ducklake_spark.translate.rules import Call, Rule, Rules

# Types that Spark orders as DuckDB does, and whose equal values are the same value.
_ORDERED: Final = frozenset(
    {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER"}
    | {"UBIGINT", "UHUGEINT", "DECIMAL", "BOOLEAN", "VARCHAR", "DATE", "TIMESTAMP", "BLOB"}
    | {"TIMESTAMP WITH TIME ZONE", "UUID"}
)


def _extreme(name: str) -> Rule:
    """greatest() and least(): NULLs are passed over on both sides."""

    def rule(call: Call) -> Fragment | None:
        ids = set(call.ids())
        if len(ids) != 1 or not ids <= _ORDERED or call.type != call.types[0]:
            return None
        if len(call.arguments) == 1:
            return call.arguments[0]
        return sql(f"{name}({{}})", joined(", ", call.arguments))

    return rule


RULES: Final[Rules] = {"greatest": _extreme("greatest"), "least": _extreme("least")}

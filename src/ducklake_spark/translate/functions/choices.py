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
        if ids == {"DOUBLE"} and len(call.arguments) == 2:
            return _first_of_equals(call, ">" if name == "greatest" else "<")
        if ids == {"FLOAT"} and len(call.arguments) > 1:  # without a negative zero in DuckDB
            return sql(f"({name}({{}}) + 0F)", joined(", ", call.arguments))
        if len(ids) != 1 or not ids <= _ORDERED or call.type != call.types[0]:
            return None
        if len(call.arguments) == 1:
            return call.arguments[0]
        return sql(f"{name}({{}})", joined(", ", call.arguments))

    return rule


def _first_of_equals(call: Call, operator: str) -> Fragment:
    """Of a zero and a negative zero DuckDB gives the first, Spark always the same."""
    test = f"{{1}} {operator} {{0}} OR {{0}} IS NULL"
    return sql(f"if({test}, {{1}}, {{0}})", *call.arguments)


RULES: Final[Rules] = {"greatest": _extreme("greatest"), "least": _extreme("least")}

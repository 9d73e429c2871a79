"""Macros that a snapshot shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from ducklake_spark.catalog_db.connection import Database, Statement
from ducklake_spark.catalog_db.statements import visible_at
from ducklake_spark.model.entities import MacroEntry, MacroImplementation, MacroParameter

Row = tuple[Any, ...]

# The text that stands for "no default", as for columns.
_NO_DEFAULT = "NULL"


def macro_queries(db: Database, snapshot_id: int) -> tuple[Statement, Statement, Statement]:
    """Ask for the macros, their overloads and the parameters of these; see `read_macros`."""
    return (
        Statement(
            f"SELECT macro_id, schema_id, macro_name FROM {db.table('ducklake_macro')} "
            f"WHERE {visible_at()} ORDER BY macro_id",
            (snapshot_id, snapshot_id),
        ),
        Statement(
            f"SELECT macro_id, impl_id, dialect, sql, type FROM {db.table('ducklake_macro_impl')} "
            "ORDER BY macro_id, impl_id"
        ),
        Statement(
            "SELECT macro_id, impl_id, parameter_name, parameter_type, default_value, "
            f"default_value_type FROM {db.table('ducklake_macro_parameters')} "
            "ORDER BY macro_id, impl_id, column_id"
        ),
    )


def read_macros(
    macros: Iterable[Row], implementations: Iterable[Row], parameters: Iterable[Row]
) -> dict[int, MacroEntry]:
    """All macros by id, overloads in their order."""
    taken: dict[tuple[int, int], list[MacroParameter]] = defaultdict(list)
    for macro_id, impl_id, name, kind, default, default_kind in parameters:
        given = None if default is None or default == _NO_DEFAULT else default
        taken[macro_id, impl_id].append(MacroParameter(name, kind, given, default_kind))
    found: dict[int, list[MacroImplementation]] = defaultdict(list)
    for macro_id, impl_id, dialect, sql, kind in implementations:
        made = MacroImplementation(dialect, sql, kind, tuple(taken[macro_id, impl_id]))
        found[macro_id].append(made)
    return {
        macro_id: MacroEntry(macro_id, schema_id, name, tuple(found[macro_id]))
        for macro_id, schema_id, name in macros
        if macro_id in found
    }

"""Macros that a snapshot shows."""

from __future__ import annotations

from collections import defaultdict

from ducklake_spark.catalog_db.connection import Database
from ducklake_spark.catalog_db.statements import visible_at
from ducklake_spark.model.entities import MacroEntry, MacroImplementation, MacroParameter

# The text that stands for "no default", as for columns.
_NO_DEFAULT = "NULL"


def load_macros(db: Database, snapshot_id: int) -> dict[int, MacroEntry]:
    """All macros by id, overloads in their order."""
    macros = db.fetch(
        f"SELECT macro_id, schema_id, macro_name FROM {db.table('ducklake_macro')} "
        f"WHERE {visible_at()} ORDER BY macro_id",
        (snapshot_id, snapshot_id),
    )
    if not macros:
        return {}
    implementations = _load_implementations(db)
    return {
        macro_id: MacroEntry(macro_id, schema_id, name, tuple(implementations[macro_id]))
        for macro_id, schema_id, name in macros
        if macro_id in implementations
    }


def _load_implementations(db: Database) -> dict[int, list[MacroImplementation]]:
    parameters: dict[tuple[int, int], list[MacroParameter]] = defaultdict(list)
    for macro_id, impl_id, name, kind, default, default_kind in db.fetch(
        "SELECT macro_id, impl_id, parameter_name, parameter_type, default_value, "
        f"default_value_type FROM {db.table('ducklake_macro_parameters')} "
        "ORDER BY macro_id, impl_id, column_id"
    ):
        given = None if default is None or default == _NO_DEFAULT else default
        parameters[macro_id, impl_id].append(MacroParameter(name, kind, given, default_kind))
    found: dict[int, list[MacroImplementation]] = defaultdict(list)
    for macro_id, impl_id, dialect, sql, kind in db.fetch(
        f"SELECT macro_id, impl_id, dialect, sql, type FROM {db.table('ducklake_macro_impl')} "
        "ORDER BY macro_id, impl_id"
    ):
        made = MacroImplementation(dialect, sql, kind, tuple(parameters[macro_id, impl_id]))
        found[macro_id].append(made)
    return dict(found)

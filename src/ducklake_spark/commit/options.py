"""Options of a lake that a transaction sets: they become true with it, and have no history."""

from __future__ import annotations

from collections.abc import Mapping

from ducklake_spark.catalog_db.connection import Database
from ducklake_spark.catalog_db.tables import METADATA

OptionPlace = tuple[str | None, int | None, str]
"""Scope (table, schema or None for the lake), the id of the object, the name of the option."""


def write_options(db: Database, options: Mapping[OptionPlace, str]) -> None:
    """Store options, inside the transaction of the database that is open."""
    table = db.table(METADATA.name)
    for (scope, scope_id, name), text in options.items():
        where = (
            f'"key" = ? AND {"scope IS NULL" if scope is None else "scope = ? AND scope_id = ?"}'
        )
        found = (name,) if scope is None else (name, scope, scope_id)
        if db.fetch(f"SELECT 1 FROM {table} WHERE {where}", found):
            db.execute(f'UPDATE {table} SET "value" = ? WHERE {where}', (text, *found))
        else:
            db.insert(METADATA, [(name, text, scope, scope_id)])

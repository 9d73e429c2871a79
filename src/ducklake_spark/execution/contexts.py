"""Where names are looked up: the context of a query, and what a name means in it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ducklake_spark.errors import InvalidInput
from ducklake_spark.lake import Lake
from ducklake_spark.model.entities import MacroEntry, SchemaEntry, ViewEntry
from ducklake_spark.model.moments import Zone, moment_of_sql

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

_DEEPEST_VIEW = 64
CATALOG_PLACEHOLDER = "{DUCKLAKE_CATALOG}"


@dataclass(frozen=True)
class Context:
    """Where names of a query are looked up: a view's own schema, a past snapshot."""

    home: tuple[Lake, str] | None = None
    version: int | None = None
    timestamp: dt.datetime | None = None
    depth: int = 0

    @property
    def is_past(self) -> bool:
        """Whether the query is about an older snapshot."""
        return self.version is not None or self.timestamp is not None

    def inside(self, lake: Lake, schema: str) -> Context:
        """The context of a view's or macro's own text."""
        if self.depth >= _DEEPEST_VIEW:
            raise InvalidInput("A view or macro refers to itself.", hint="define it anew.")
        return replace(self, home=(lake, schema), depth=self.depth + 1)


def find_objects(
    con: Connection,
    lake: Lake,
    schema_name: str,
    name: str,
    context: Context,
    *,
    is_table: bool = False,
) -> tuple[SchemaEntry | None, ViewEntry | None, MacroEntry | None]:
    """Schema, view and macro of that name, as the context's snapshot shows them."""
    if context.is_past:
        snapshot = lake.snapshot_at(version=context.version, timestamp=context.timestamp)
        state = lake.state_at(snapshot)
        schema = state.find_schema(schema_name)
        if schema is None:
            return None, None, None
        macro = state.find_macro(schema.schema_id, name, is_table=is_table)
        return schema, state.find_view(schema.schema_id, name), macro
    with con.reading(lake) as tx:
        schema = tx.local.find_schema(schema_name)
        if schema is None:
            return None, None, None
        macro = tx.local.find_macro(schema.schema_id, name, is_table=is_table)
        return schema, tx.local.find_view(schema.schema_id, name), macro


def time_travel(
    kind: str, value: Any, zone: Callable[[], Zone]
) -> tuple[int | None, dt.datetime | None]:
    """The number or the moment that an AT clause names."""
    if value is None:
        raise InvalidInput(f"AT ({kind.upper()} => NULL) names no snapshot.")
    if kind == "version":
        try:
            return int(value), None
        except ValueError:
            raise InvalidInput(f"AT (VERSION => {value!r}): a version is a number.") from None
    return None, moment_of_sql(value, zone)

"""The text of ducklake_snapshot_changes.changes_made, parsed and written.

``created_table:"main"."t",inserted_into_table:1``: tokens of a kind and a value, in a fixed order
of kinds. Names are quoted, ids are numbers. Pure; driver.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ducklake_spark.errors import NotSupported
from ducklake_spark.model.names import quote_identifier, quote_if_needed


class Kind(enum.Enum):
    """What can happen to a lake, in the order in which one snapshot lists it."""

    DROPPED_SCHEMA = "dropped_schema"
    DROPPED_TABLE = "dropped_table"
    DROPPED_VIEW = "dropped_view"
    CREATED_SCHEMA = "created_schema"
    CREATED_TABLE = "created_table"
    CREATED_VIEW = "created_view"
    CREATED_SCALAR_MACRO = "created_scalar_macro"
    CREATED_TABLE_MACRO = "created_table_macro"
    DROPPED_SCALAR_MACRO = "dropped_scalar_macro"
    DROPPED_TABLE_MACRO = "dropped_table_macro"
    INSERTED_INTO_TABLE = "inserted_into_table"
    DELETED_FROM_TABLE = "deleted_from_table"
    ALTERED_TABLE = "altered_table"
    ALTERED_VIEW = "altered_view"
    INLINED_INSERT = "inlined_insert"
    INLINED_DELETE = "inlined_delete"
    INLINE_FLUSH = "inline_flush"
    MERGE_ADJACENT = "merge_adjacent"
    REWRITE_DELETE = "rewrite_delete"
    COMPACTED_TABLE = "compacted_table"  # of old lakes; never written


# Tables and views are listed together, schema by schema.
_ORDER: Final = {kind: place for place, kind in enumerate(Kind)} | {
    Kind.CREATED_VIEW: list(Kind).index(Kind.CREATED_TABLE)
}
_KINDS: Final = {kind.value: kind for kind in Kind} | {"flushed_inlined": Kind.INLINE_FLUSH}
_NAMED: Final = frozenset(
    {
        Kind.CREATED_SCHEMA,
        Kind.CREATED_TABLE,
        Kind.CREATED_VIEW,
        Kind.CREATED_SCALAR_MACRO,
        Kind.CREATED_TABLE_MACRO,
    }
)
_TOKEN: Final = re.compile(r'\s*([^:,"]+):((?:"(?:[^"]|"")*"|[^",])*)(?:,|\Z)')
_NAME: Final = re.compile(r'"((?:[^"]|"")*)"|([^."]+)')

# Kind -> key of the map that snapshots() shows.
_SHOWN: Final[dict[Kind, str]] = {
    Kind.CREATED_SCHEMA: "schemas_created",
    Kind.DROPPED_SCHEMA: "schemas_dropped",
    Kind.CREATED_TABLE: "tables_created",
    Kind.DROPPED_TABLE: "tables_dropped",
    Kind.CREATED_VIEW: "views_created",
    Kind.DROPPED_VIEW: "views_dropped",
    Kind.CREATED_SCALAR_MACRO: "scalar_macros_created",
    Kind.CREATED_TABLE_MACRO: "table_macros_created",
    Kind.DROPPED_SCALAR_MACRO: "scalar_macros_dropped",
    Kind.DROPPED_TABLE_MACRO: "table_macros_dropped",
    Kind.INSERTED_INTO_TABLE: "tables_inserted_into",
    Kind.DELETED_FROM_TABLE: "tables_deleted_from",
    Kind.ALTERED_TABLE: "tables_altered",
    Kind.ALTERED_VIEW: "views_altered",
    Kind.INLINED_INSERT: "inlined_insert",
    Kind.INLINED_DELETE: "inlined_delete",
    Kind.INLINE_FLUSH: "flushed_inlined",
    Kind.MERGE_ADJACENT: "merge_adjacent",
    Kind.REWRITE_DELETE: "rewrite_delete",
}


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """One token: an id, or a name as a tuple of one part (schema) or two (schema, object)."""

    kind: Kind
    target: int | tuple[str, ...]

    def __str__(self) -> str:
        if isinstance(self.target, int):
            return f"{self.kind.value}:{self.target}"
        return f"{self.kind.value}:{'.'.join(map(quote_identifier, self.target))}"


def format_changes(changes: Iterable[LoggedChange]) -> str | None:
    """The text of one snapshot, each change once; None when there is nothing to say.

    >>> format_changes([LoggedChange(Kind.ALTERED_TABLE, 2), LoggedChange(Kind.DROPPED_TABLE, 1)])
    'dropped_table:1,altered_table:2'
    """
    ordered = sorted(dict.fromkeys(changes), key=_place)
    return ",".join(map(str, ordered)) or None


def parse_changes(text: str | None) -> list[LoggedChange]:
    """Read the text of one snapshot, or of several joined by commas.

    A kind that is not known is an error: what it means for others cannot be judged.

    >>> parse_changes('created_table:"s"."a,""b"')[0].target
    ('s', 'a,"b')
    """
    changes: list[LoggedChange] = []
    rest = (text or "").strip().strip(",")
    position = 0
    while position < len(rest):
        match = _TOKEN.match(rest, position)
        if match is None:
            raise _unreadable(rest, rest[position:])
        changes.append(_parse_token(match[1], match[2], rest))
        position = match.end()
        while rest[position : position + 1] == ",":  # a snapshot without changes among others
            position += 1
    return changes


def to_map(changes: Iterable[LoggedChange]) -> dict[str, list[str]]:
    """The changes as snapshots() shows them.

    >>> to_map(parse_changes('created_table:"main"."My t",inlined_insert:4'))
    {'tables_created': ['main."My t"'], 'inlined_insert': ['4']}
    """
    shown: dict[str, list[str]] = {}
    for change in changes:
        if change.kind in _SHOWN:
            shown.setdefault(_SHOWN[change.kind], []).append(_show(change))
    return shown


def _place(change: LoggedChange) -> tuple[int, str, int]:
    """Kinds in their order; names by schema, ids ascending, both otherwise as they came."""
    if isinstance(change.target, int):
        return _ORDER[change.kind], "", change.target
    return _ORDER[change.kind], change.target[0] if len(change.target) > 1 else "", 0


def _parse_token(word: str, value: str, text: str) -> LoggedChange:
    kind = _KINDS.get(word.strip().lower())
    if kind is None:
        raise NotSupported(
            f'The snapshot has a change of the kind "{word}", which DuckLake 1.0 does not have.',
            hint="it was written by a newer DuckDB or by another program.",
        )
    value = value.strip()
    if kind not in _NAMED:
        if not value.isdecimal():
            raise _unreadable(text, value)
        return LoggedChange(kind, int(value))
    parts = tuple(
        match[2] if match[1] is None else match[1].replace('""', '"')
        for match in _NAME.finditer(value)
    )
    wanted = 1 if kind is Kind.CREATED_SCHEMA else 2
    if len(parts) != wanted:
        raise _unreadable(text, value)
    return LoggedChange(kind, parts)


def _show(change: LoggedChange) -> str:
    if isinstance(change.target, int):
        return str(change.target)
    if change.kind is Kind.CREATED_SCHEMA:
        return change.target[0]
    return ".".join(map(quote_if_needed, change.target))


def _unreadable(text: str, part: str) -> NotSupported:
    return NotSupported(
        f"Cannot read the changes of a snapshot: {part!r} in {text!r}.",
        hint="the row of ducklake_snapshot_changes was written by another program.",
    )

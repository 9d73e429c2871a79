"""Where the metadata database itself keeps rows and deletes of a table. Driver.

That is asked for by the statement that also brings the files: a round trip and a plan less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ducklake_spark.catalog_db.connection import Database, Statement
from ducklake_spark.model.entities import InlinedTable, TableEntry

_ASKED, _INLINED, _DELETES, _LATEST = range(4)
_NULLS: Final = ("NULL",)


@dataclass(frozen=True, slots=True)
class Places:
    """The tables of the metadata database that belong to a table of the lake.

    Attributes:
        inlined: those with rows, oldest first, and the snapshot at which the columns that each
            has were new.
        has_deletes: there is one that hides rows of data files.
        latest: the newest snapshot when this was asked.
    """

    inlined: tuple[tuple[InlinedTable, int], ...]
    has_deletes: bool
    latest: int


def load_with_places(
    db: Database, table: TableEntry, query: Statement, columns: Sequence[str]
) -> tuple[list[tuple[Any, ...]], Places]:
    """The rows of a query, in any order, and the places of a table, by one statement.

    Args:
        db: the metadata database.
        table: whose places.
        query: what else is asked.
        columns: the names of its columns. The first and the fourth are whole numbers and the
            second is text, or NULL.
    """
    empty = _NULLS * len(columns)
    snapshots = db.table("ducklake_snapshot")
    version = (
        f"(SELECT max(v.begin_snapshot) FROM {db.table('ducklake_schema_versions')} v "
        "WHERE v.table_id = t.table_id AND v.schema_version <= t.schema_version)"
    )
    exists = db.has_table_query(f"ducklake_inlined_delete_{table.table_id}")
    parts = [
        Statement(f"SELECT {_ASKED}, {', '.join(columns)} FROM ({query.sql}) asked", query.params),
        Statement(
            _select(_INLINED, "t.schema_version", "t.table_name", "NULL", version, *empty[4:])
            + f" FROM {db.table('ducklake_inlined_data_tables')} t WHERE t.table_id = ?",
            (table.table_id,),
        ),
        Statement(f"{_select(_DELETES, *empty)} FROM ({exists.sql}) there", exists.params),
        Statement(_select(_LATEST, f"(SELECT max(snapshot_id) FROM {snapshots})", *empty[1:])),
    ]
    rows = db.fetch(
        " UNION ALL ".join(part.sql for part in parts),
        tuple(value for part in parts for value in part.params),
    )
    asked = [tuple(row[1:]) for row in rows if row[0] == _ASKED]
    inlined = [_inlined(table, row) for row in rows if row[0] == _INLINED]
    return asked, Places(
        tuple(sorted(inlined, key=lambda each: each[0].schema_version)),
        any(row[0] == _DELETES for row in rows),
        next(int(row[1] or 0) for row in rows if row[0] == _LATEST),
    )


def _select(kind: int, *columns: str) -> str:
    return f"SELECT {kind}, {', '.join(columns)}"


def _inlined(table: TableEntry, row: Sequence[Any]) -> tuple[InlinedTable, int]:
    """A version that came about only by making the inlined table has no row of its own."""
    begin = table.begin_snapshot if row[4] is None else int(row[4])
    return InlinedTable(table.table_id, str(row[2]), int(row[1])), begin

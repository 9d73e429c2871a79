"""Bounds of a column in all files of a table, as a few long texts. Driver.

A hundred thousand rows take a driver as long to hand over as the database needs to compare them; as
lists in one row each they take a fraction of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ducklake_spark.catalog_db.connection import Database, Statement

# How a database makes one text of a column, like a JSON array but for the quotes: in SQLite
# nothing else is as quick as a real one, in the others everything is.
_JOINED: Final = "'[' || string_agg(coalesce(CAST({0} AS VARCHAR), 'null'), ',') || ']'"
_LISTS: Final = {"sqlite": "json_group_array({0})", "postgres": _JOINED, "duckdb": _JOINED}
_COLUMNS: Final = ("data_file_id", "min_value", "max_value", "value_count", "null_count")


@dataclass(frozen=True, slots=True)
class BoundLists:
    """The statistics of one column as texts of lists: an entry for each file that has some."""

    count: int
    ids: str
    lows: str
    highs: str
    values: str
    nulls: str


def list_sql(db: Database, column: str) -> str | None:
    """The aggregate that makes the text of a list of a column; None where no quick one is known.

    Entries may be quoted; NULL is null.
    """
    form = _LISTS.get(db.kind)
    return None if form is None else form.format(column)


def load_bound_lists(
    db: Database, table_id: int, column_ids: Sequence[int], *, most: int
) -> tuple[dict[int, BoundLists], int]:
    """Statistics by column id, of all files of any age, and the newest snapshot; one statement.

    A column with more than `most` of them is left out.
    """
    lists = ", ".join(list_sql(db, f"s.{column}") or "NULL" for column in _COLUMNS)
    names = ", ".join(_COLUMNS)
    queries = [
        Statement(
            f"SELECT {int(column_id)}, "
            f"(SELECT max(snapshot_id) FROM {db.table('ducklake_snapshot')}), count(*), {lists} "
            f"FROM (SELECT {names} FROM {db.table('ducklake_file_column_stats')} "
            f"WHERE table_id = ? AND column_id = ? LIMIT {most + 1}) s",
            (table_id, column_id),
        )
        for column_id in column_ids
    ]
    rows = db.fetch(
        " UNION ALL ".join(query.sql for query in queries),
        tuple(value for query in queries for value in query.params),
    )
    found = {
        int(row[0]): BoundLists(int(row[2]), *(text or "[]" for text in row[3:]))
        for row in rows
        if int(row[2]) <= most
    }
    return found, int(rows[0][1])

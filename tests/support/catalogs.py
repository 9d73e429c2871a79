"""Compare two metadata databases table by table."""

from __future__ import annotations

import re
from typing import Any

from ducklake_spark.catalog_db.connection import Database
from ducklake_spark.catalog_db.tables import TABLES

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

# What may differ between two lakes that went through the same statements, and why.
IGNORED = {
    "ducklake_metadata": {"value"},  # who made it, and where the data is
    "ducklake_snapshot": {"snapshot_time"},
    "ducklake_schema": {"schema_uuid"},
    "ducklake_table": {"table_uuid"},
    "ducklake_view": {"view_uuid"},
    "ducklake_data_file": {"path", "file_size_bytes", "footer_size"},  # another Parquet writer
    "ducklake_delete_file": {"path", "file_size_bytes", "footer_size"},
    "ducklake_file_column_stats": {"column_size_bytes"},
    "ducklake_table_stats": {"file_size_bytes"},
    "ducklake_files_scheduled_for_deletion": {"schedule_start"},
}


def catalog_rows(db: Database, table: str) -> list[tuple]:
    """Rows of a catalog table without the columns that may differ, in a fixed order."""
    declared = TABLES[table]
    kept = [name for name in declared.column_names if name not in IGNORED.get(table, ())]
    rows = db.select(declared, columns=kept)
    return sorted((tuple(map(_comparable, row)) for row in rows), key=repr)


def _comparable(value: Any) -> Any:
    """Without what may be called differently: uuids as directories, bounds of booleans."""
    if value in ("true", "false"):
        return "1" if value == "true" else "0"  # two spellings of a bound, both in use
    return _UUID.sub("<uuid>", value) if isinstance(value, str) else value


# Where the id of a data file stands.
_FILE_TABLES = (
    "ducklake_data_file",
    "ducklake_delete_file",
    "ducklake_file_column_stats",
    "ducklake_file_partition_value",
    "ducklake_files_scheduled_for_deletion",
)


def catalog_differences(
    ours: Database, theirs: Database, *, any_file_ids: bool = False
) -> dict[str, tuple[list, list]]:
    """The rows that only one of the two has, by table.

    Args:
        ours: one database.
        theirs: the other.
        any_file_ids: files of one commit may have got their ids in another order: they are known
            by all else that the catalog says of them.
    """
    differences = {}
    for table in TABLES:
        left, right = catalog_rows(ours, table), catalog_rows(theirs, table)
        if any_file_ids and table in _FILE_TABLES:
            left, right = _without_ids(ours, table, left), _without_ids(theirs, table, right)
        if left != right:
            differences[table] = (
                [row for row in left if row not in right],
                [row for row in right if row not in left],
            )
    return differences


def _without_ids(db: Database, table: str, rows: list[tuple]) -> list[tuple]:
    """The rows with a description of each data file in the place of its id."""
    files = {row[0]: str(row[1:]) for row in catalog_rows(db, "ducklake_data_file")}
    kept = [n for n in TABLES[table].column_names if n not in IGNORED.get(table, ())]
    ids = [index for index, name in enumerate(kept) if name.endswith("_file_id")]
    place = kept.index("data_file_id")
    described = [
        (
            files.get(row[place], "gone"),
            *(value for index, value in enumerate(row) if index not in ids),
        )
        for row in rows
    ]
    return sorted(described, key=repr)


def inlined_rows(db: Database, table_id: int) -> dict[str, list[tuple]]:
    """What the catalog itself holds of a table: inlined rows and inlined deletes."""
    registered = db.fetch(
        f"SELECT table_name FROM {db.table('ducklake_inlined_data_tables')} WHERE table_id = ?",
        (table_id,),
    )
    names = [*(str(row[0]) for row in registered), f"ducklake_inlined_delete_{table_id}"]
    return {
        name: sorted(map(tuple, db.fetch(f"SELECT * FROM {db.table(name)}")), key=repr)
        for name in names
        if db.has_table(name)
    }

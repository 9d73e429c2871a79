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
    "ducklake_files_scheduled_for_deletion": {"schedule_start"},
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


def catalog_differences(ours: Database, theirs: Database) -> dict[str, tuple[list, list]]:
    """The rows that only one of the two has, by table."""
    differences = {}
    for table in TABLES:
        left, right = catalog_rows(ours, table), catalog_rows(theirs, table)
        if left != right:
            differences[table] = (
                [row for row in left if row not in right],
                [row for row in right if row not in left],
            )
    return differences

"""Names and ids of columns that only the scan itself sees."""

from __future__ import annotations

from typing import Final

# Columns that writers add to data and delete files, by their field ids.
ROW_ID_FIELD: Final = 2147483540
SNAPSHOT_FIELD: Final = 2147483539

# Constants of a file.
FILE_ID: Final = "__ducklake_file_id"
ROW_START: Final = "__ducklake_row_start"
BEGIN: Final = "__ducklake_begin"
HIDDEN_FROM: Final = "__ducklake_hidden_from"  # the first of its bits, if it has deleted rows

POSITION: Final = "__ducklake_position"
ROW_ID: Final = "__ducklake_row_id"
SNAPSHOT: Final = "__ducklake_snapshot"

# The id that a row keeps when it is changed; NULL for one of the open transaction.
KEPT_ROW_ID: Final = "__ducklake_kept_row_id"

# The snapshot that added a row.
ADDED_AT: Final = "__ducklake_added_at"

# What tells a row of a table apart from all others: see `operations.row_changes`.
IDENTITY_TYPES: Final = {FILE_ID: "int64", POSITION: "int64", KEPT_ROW_ID: "int64"}

# Whether a row of a change is to be written.
WRITTEN: Final = "__ducklake_written"

# Virtual columns that a scan can show, with their types.
VIRTUAL_TYPES: Final = {
    "rowid": "int64",
    "snapshot_id": "int64",
    "filename": "varchar",
    "file_row_number": "int64",
    "file_index": "int64",
}

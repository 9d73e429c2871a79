"""Where the files of every table are, also of those that are gone from the newest snapshot."""

from __future__ import annotations

from ducklake_spark.catalog_db.connection import Database
from ducklake_spark.catalog_db.dialect import quote
from ducklake_spark.model.paths import join


def load_directories(db: Database, schema: str | None = None) -> dict[int, tuple[str, bool]]:
    """Directory of each table, and whether it is relative to the data path. Driver.

    Args:
        db: the metadata database.
        schema: the schema of the metadata database that holds the lake, if not the attached one.
    """

    def name(table: str) -> str:
        return f"{quote(schema)}.{quote(table)}" if schema else db.table(table)

    rows = db.fetch(
        "SELECT t.table_id, t.path, t.path_is_relative, s.path, s.path_is_relative "
        f"FROM {name('ducklake_table')} t "
        f"JOIN {name('ducklake_schema')} s ON s.schema_id = t.schema_id"
    )
    directories = {}
    for table_id, path, relative, above, above_relative in rows:
        # A path that a migrated lake does not have is that of the parent.
        own, below = str(path or ""), path is None or db.decode("boolean", relative)
        parent_below = above is None or db.decode("boolean", above_relative)
        directory = join(str(above or ""), own, relative=below)
        directories[int(table_id)] = (directory, below and parent_below)
    return directories

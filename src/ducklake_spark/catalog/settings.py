"""Options stored in ducklake_metadata: for the whole lake, a schema or a table."""

from __future__ import annotations

from dataclasses import dataclass

from ducklake_spark.catalog_db.connection import Database

DEFAULT_INLINING_ROW_LIMIT = 10


@dataclass(frozen=True)
class Settings:
    """Every stored option by (scope, scope id, key); for the lake itself both are None."""

    values: dict[tuple[str | None, int | None, str], str]

    def get(
        self, key: str, *, schema_id: int | None = None, table_id: int | None = None
    ) -> str | None:
        """The value in force for a table: its own, else its schema's, else the lake's."""
        for scope in (("table", table_id), ("schema", schema_id), (None, None)):
            value = self.values.get((*scope, key))
            if value is not None:
                return value
        return None


def load_settings(db: Database) -> Settings:
    """Read all options: they are few, and not versioned."""
    rows = db.fetch(f"SELECT scope, scope_id, key, value FROM {db.table('ducklake_metadata')}")
    return Settings({(scope, scope_id, key): value for scope, scope_id, key, value in rows})

"""Where the lake of a test is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ducklake_spark.catalog_db.connection import Database
    from ducklake_spark.catalog_db.url import CatalogUrl
    from support.oracle import Oracle

CATALOG_KINDS = ("duckdb", "sqlite", "postgres")


@dataclass(frozen=True)
class LakeLocation:
    """A place for one lake: its address, which we and DuckDB understand, and its data path."""

    kind: str
    uri: str
    data_path: str

    @property
    def url(self) -> CatalogUrl:
        """The address, taken apart."""
        from ducklake_spark.catalog_db.url import parse_url

        return parse_url(self.uri)

    def open(self, **options) -> Database:
        """Our connection to the metadata database; the lake may not exist yet."""
        from ducklake_spark.catalog_db.connection import open_database

        return open_database(self.url, **options)

    @contextmanager
    def database(self, *, create: bool = True, **options) -> Iterator[Database]:
        """Our connection to the metadata database, closed at the end.

        `create` makes the lake if there is none.
        """
        from ducklake_spark.catalog_db.initialize import create_lake

        db = self.open(**options)
        try:
            if create and not db.has_table("ducklake_metadata"):
                create_lake(db, self.data_path)
            yield db
        finally:
            db.close()

    @contextmanager
    def oracle(self, **options) -> Iterator[Oracle]:
        """The real DuckDB attached to this lake as `lake`, detached at the end.

        One process cannot open a DuckDB file through two instances: close our connections first.
        """
        from support.oracle import Oracle

        oracle = Oracle(self, **options)
        try:
            yield oracle
        finally:
            oracle.close()


def make_location(
    kind: str, directory: Path, conninfo: str = "", name: str = "lake"
) -> LakeLocation:
    """A place for a new lake below `directory`; PostgreSQL needs the conninfo of a database."""
    data_path = f"{directory / name}_data/"
    match kind:
        case "duckdb":
            return LakeLocation(kind, f"ducklake:{directory / name}.ducklake", data_path)
        case "sqlite":
            return LakeLocation(kind, f"ducklake:sqlite:{directory / name}.sqlite", data_path)
        case _:
            return LakeLocation(kind, f"ducklake:postgres:{conninfo}", data_path)

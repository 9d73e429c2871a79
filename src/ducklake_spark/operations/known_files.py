"""Every file that some snapshot of some lake in this metadata database refers to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from ducklake_spark.caching import Cache, declare
from ducklake_spark.catalog_db.connection import Database
from ducklake_spark.catalog_db.dialect import quote
from ducklake_spark.lake import Lake
from ducklake_spark.limits import limits
from ducklake_spark.model.paths import join, resolve
from ducklake_spark.operations.directories import load_directories
from ducklake_spark.parquet.storage import canonical_path

_FOLDERS: Final = declare(
    "real folders",
    key="the path of a folder",
    depends_on="symbolic links, taken as they are while one statement looks for files",
    seen_by="statement",
    emptied="with the statement",
    entries=4096,
)
_SIBLINGS: Final = {
    "postgres": (
        "SELECT table_schema FROM information_schema.tables WHERE table_name = 'ducklake_metadata'"
    ),
    "duckdb": (
        "SELECT table_schema FROM information_schema.tables "
        "WHERE table_name = 'ducklake_metadata' AND table_catalog = current_database()"
    ),
}


@dataclass
class _Catalog:
    """One lake's tables in a metadata database, and how far its files have been read."""

    db: Database
    data_path: str  # absolute
    schema: str | None = None  # None: the one that is attached
    next_ids: dict[str, int] = field(default_factory=dict)

    def table(self, name: str) -> str:
        return f"{quote(self.schema)}.{quote(name)}" if self.schema else self.db.table(name)

    def new_paths(self) -> Iterator[str]:
        """Paths of the data and delete files that came since the last call, absolute.

        Ids only grow, so that what is new has higher ones; that keeps a second look cheap.
        """
        directories: dict[int, tuple[str, bool]] | None = None
        for kind in ("data_file", "delete_file"):
            for page in self._pages(kind):
                directories = directories or load_directories(self.db, self.schema)
                for table_id, path, relative in page:
                    place = directories.get(table_id, ("", True))
                    yield self._absolute(str(path), self.db.decode("boolean", relative), place)

    def _absolute(self, path: str, relative: bool, directory: tuple[str, bool]) -> str:
        if not relative:
            return resolve(path)
        below, is_below = directory
        return join(self.data_path, f"{below}{path}", relative=is_below)

    def _pages(self, kind: str) -> Iterator[list[tuple[int, str, bool]]]:
        while True:
            first = self.next_ids.get(kind, -1)
            rows = self.db.fetch(
                f"SELECT {kind}_id, table_id, path, path_is_relative "
                f"FROM {self.table(f'ducklake_{kind}')} WHERE {kind}_id >= ? "
                f"ORDER BY {kind}_id LIMIT {limits().known_files_page}",
                (first,),
            )
            if not rows:
                return
            self.next_ids[kind] = int(rows[-1][0]) + 1
            yield [(int(row[1]), row[2], row[3]) for row in rows]

    def scheduled_paths(self) -> Iterator[str]:
        """Paths that wait for their removal, absolute."""
        rows = self.db.fetch(
            "SELECT path, path_is_relative FROM "
            f"{self.table('ducklake_files_scheduled_for_deletion')}"
        )
        for path, relative in rows:
            yield self._absolute(str(path), self.db.decode("boolean", relative), ("", True))


class KnownFiles:
    """The files that must stay, whoever of several lakes refers to them.

    It keeps a number per file and not the path, so that a million files take some tens of
    megabytes. Two paths may share a number: then a file is kept that could go, never the reverse.

    Args:
        lake: whose metadata database is read: the lake itself and those in its other schemas.
        others: lakes that may share the storage, such as the others of the connection.
        scheduled: whether files that wait for their removal count as known.
    """

    def __init__(self, lake: Lake, others: Iterable[Lake] = (), *, scheduled: bool) -> None:
        self._catalogs = [part for each in (lake, *others) for part in _catalogs_of(each)]
        self._scheduled = scheduled
        self._known: set[int] = set()
        self._folders: Cache[str, str] = _FOLDERS.make()

    def refresh(self) -> None:
        """Read what came since the last time; inside a transaction, what it sees."""
        for part in self._catalogs:
            self._known.update(map(self._number, part.new_paths()))
            if self._scheduled:
                self._known.update(map(self._number, part.scheduled_paths()))

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self._number(path) in self._known

    def _number(self, path: str) -> int:
        return hash(canonical_path(path, self._real))

    def _real(self, path: str) -> str:
        return self._folders.find(path, lambda: os.path.realpath(path))


def _catalogs_of(lake: Lake) -> Iterator[_Catalog]:
    db = lake.db
    yield _Catalog(db, resolve(lake.data_path))
    query = _SIBLINGS.get(db.kind)
    for (schema,) in db.fetch(query) if query else ():
        if schema != db.schema:
            row = db.fetch_one(
                f"SELECT value FROM {quote(schema)}.{quote('ducklake_metadata')} "
                "WHERE key = 'data_path' AND scope IS NULL"
            )
            yield _Catalog(db, resolve(str(row[0]) if row else ""), schema)

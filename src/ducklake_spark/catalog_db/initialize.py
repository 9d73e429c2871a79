"""A new lake: the tables and first rows, and the check of an existing one's version."""

from __future__ import annotations

import datetime as dt
import uuid
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from ducklake_spark.catalog_db.connection import Database, MissingTable, SnapshotTaken
from ducklake_spark.catalog_db.dialect import quote
from ducklake_spark.catalog_db.statements import Statement, create_table_sql
from ducklake_spark.catalog_db.tables import METADATA, SCHEMA, SNAPSHOT, SNAPSHOT_CHANGES, TABLES
from ducklake_spark.errors import AlreadyExists, CatalogError, NotALake, UnsupportedVersion

FORMAT_VERSION: Final = "1.0"
_OLDER: Final = ("0.1", "0.2", "0.3", "0.3-dev1", "0.4", "0.4-dev1")


def is_lake(db: Database) -> bool:
    """Whether the metadata database holds a lake."""
    return db.has_table(METADATA.name)


def create_lake(db: Database, data_path: str, encrypted: bool = False) -> None:
    """Write the tables and first rows of a new lake, in one transaction.

    Args:
        db: a metadata database without a lake; its schema is created if need be.
        data_path: where the data files will be; see `normalize_data_path`.
        encrypted: whether data files will be encrypted.

    Raises:
        AlreadyExists: another connection created the lake in the meantime.
    """
    try:
        with db.transaction():
            if is_lake(db):
                raise _already_there(db)
            db.run_batch(_creation(db, normalize_data_path(data_path), encrypted=encrypted))
    except (SnapshotTaken, CatalogError) as error:
        # Two creations at once fail in several ways; what counts is that there is a lake now.
        if is_lake(db):
            raise _already_there(db) from error
        raise


def _already_there(db: Database) -> AlreadyExists:
    return AlreadyExists(
        f"A lake cannot be created in {db.url}: there is one already.", hint="attach it instead."
    )


def _creation(db: Database, data_path: str, *, encrypted: bool) -> list[Statement]:
    statements = []
    if db.schema and db.schema != db.dialect.default_schema:
        statements.append(Statement(f"CREATE SCHEMA IF NOT EXISTS {quote(db.schema)}"))
    statements += [
        Statement(create_table_sql(table, db.table(table.name), db.dialect))
        for table in TABLES.values()
    ]
    settings = {
        "version": FORMAT_VERSION,
        "created_by": f"ducklake-spark {_own_version()}",
        "data_path": data_path,
        "encrypted": "true" if encrypted else "false",
    }
    now = dt.datetime.now(dt.timezone.utc)
    first_rows = (
        (METADATA, [(key, value, None, None) for key, value in settings.items()]),
        (SNAPSHOT, [(0, now, 0, 1, 0)]),
        (SNAPSHOT_CHANGES, [(0, 'created_schema:"main"', None, None, None)]),
        (SCHEMA, [(0, str(uuid.uuid4()), 0, None, "main", "main/", True)]),
    )
    for table, rows in first_rows:
        statements += db.insert_statements(table, rows)
    return statements


def _own_version() -> str:
    try:
        return version("ducklake-spark")
    except PackageNotFoundError:
        return "unknown"


def check_version(db: Database) -> None:
    """Refuse a lake of a format version other than the one served: the only such check.

    Raises:
        NotALake: there is no lake.
        UnsupportedVersion: there is one of another version.
    """
    try:
        row = db.fetch_one(
            f"SELECT value FROM {db.table(METADATA.name)} WHERE {quote('key')} = 'version'"
        )
    except MissingTable as error:
        raise NotALake(
            f"The database {db.url} holds no lake.", hint="attach it to create one."
        ) from error
    found = row[0] if row else None
    if found == FORMAT_VERSION:
        return
    raise UnsupportedVersion(
        f"The lake in {db.url} has format version {found or 'unknown'}; "
        f"this release serves {FORMAT_VERSION}.",
        hint=(
            "bring it up to date by attaching it in DuckDB 1.5 with AUTOMATIC_MIGRATION true."
            if found in _OLDER
            else "it was made by a newer DuckLake: use a newer release of ducklake-spark."
        ),
    )


def normalize_data_path(path: str) -> str:
    r"""A data path as catalogs store it: one slash at its end, whatever was there.

    >>> normalize_data_path("data///")
    'data/'
    """
    return path.rstrip("/\\") + "/"

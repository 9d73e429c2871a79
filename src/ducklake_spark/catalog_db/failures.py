"""What goes wrong with a metadata database, told in the words of this package."""

from __future__ import annotations

from ducklake_spark.catalog_db.dialect import Dialect
from ducklake_spark.catalog_db.url import CatalogUrl
from ducklake_spark.errors import (
    CatalogError,
    CatalogFull,
    CatalogLocked,
    CatalogUnreachable,
    DuckLakeError,
    ReadOnlyLake,
)


class SnapshotTaken(CatalogError):
    """Another transaction was first: a key is taken, or a row was changed. Roll back, retry."""


class MissingTable(CatalogError):
    """The statement named a table that the metadata database does not have."""


class CommitUncertain(CatalogUnreachable):
    """The connection was lost while a commit was under way: it may have happened or not."""


def translate(error: Exception, url: CatalogUrl, dialect: Dialect) -> DuckLakeError:
    """The error to raise in place of a driver's; passwords are masked."""
    if isinstance(error, DuckLakeError):
        return error
    reason = url.mask(" ".join(str(error).split())).rstrip(".")
    if dialect.is_full(error):
        return CatalogFull(
            f"The catalog {url} has no space left: {reason}.",
            hint="make room for it; nothing was changed, so run the statement again then.",
        )
    if dialect.is_denied(error):
        return ReadOnlyLake(
            f"The catalog {url} cannot be written: {reason}.",
            hint="check the rights of the file, and of its folder; or attach it READ_ONLY.",
        )
    if dialect.is_conflict(error):
        return SnapshotTaken(f"Another transaction changed the catalog {url} first: {reason}.")
    if dialect.is_missing_table(error):
        return MissingTable(f"The catalog {url} lacks a table: {reason}.")
    if dialect.is_locked(error):
        return CatalogLocked(
            f"The catalog {url} is held by another connection: {reason}.",
            hint=_unlock_hint(dialect),
        )
    if dialect.is_lost(error):
        return CatalogUnreachable(
            f"The catalog {url} cannot be reached: {reason}.",
            hint="check that the server runs and that the address is right.",
        )
    return CatalogError(f"The catalog {url} refused a statement: {reason}.")


def _unlock_hint(dialect: Dialect) -> str:
    if dialect.name == "duckdb":
        return (
            "only one process can open a DuckDB file; close the other one, attach it READ_ONLY in "
            "both, or keep the catalog in PostgreSQL or SQLite."
        )
    return "end the other transaction or raise BUSY_TIMEOUT, then try again."

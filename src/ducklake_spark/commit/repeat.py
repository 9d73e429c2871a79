"""Catalog work that is no snapshot: one transaction, tried again when another was first."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ducklake_spark.catalog_db.connection import Database, SnapshotTaken
from ducklake_spark.commit.retry import RetryPolicy
from ducklake_spark.errors import CatalogError, CatalogLocked

T = TypeVar("T")


def in_one_transaction(db: Database, work: Callable[[], T], retry: RetryPolicy) -> T:
    """Run `work` in a transaction of the metadata database; it commits as a whole or not at all.

    `work` runs once per attempt, so it must be fit to be repeated. Driver.

    Raises:
        CatalogLocked, SnapshotTaken: others kept the catalog busy for too long.
    """
    failure: CatalogError | None = None
    for _ in retry.attempts():
        try:
            with db.transaction():
                outcome = work()
        except (SnapshotTaken, CatalogLocked) as error:  # noqa: PERF203 - attempts are few
            failure = error
        else:
            return outcome
    raise failure or CatalogLocked(f"The catalog {db.url} could not be changed.")

"""What the processes of the fault tests do."""

from __future__ import annotations

import datetime as dt
import multiprocessing
import os
import signal
import time
from typing import TYPE_CHECKING, Any

from ducklake_spark.errors import TransactionConflict
from ducklake_spark.lake import Lake
from ducklake_spark.operations.cleanup import cleanup_old_files
from ducklake_spark.operations.expire import expire_snapshots
from ducklake_spark.operations.orphans import delete_orphaned_files
from ducklake_spark.parquet import storage, write
from support.writing import Keeper, Writer, open_session, transaction

if TYPE_CHECKING:
    from ducklake_spark.catalog_db.connection import Database
    from support.lakes import LakeLocation


def processes() -> Any:
    """Starts processes that share nothing with this one, and quickly."""
    context = multiprocessing.get_context("forkserver")
    # What is slow to import, once for all of them.
    context.set_forkserver_preload(
        ["ducklake_spark.session", "ducklake_spark.parquet.write", "psycopg", "duckdb"]
    )
    return context


def wait_for_the_server(db: Database) -> None:
    """A server may go on for a moment with what a dead client has sent."""
    if db.kind == "postgres":
        query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        while db.fetch_one(query)[0] > 1:
            time.sleep(0.01)


class Death:
    """Kills this process when the n-th thing happens to it; counts what happens until then."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.happened = 0

    def append(self, _: str) -> None:
        """Something happens; it has the name that `Database.trace` calls."""
        self.happened += 1
        if self.happened == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def die_while_writing(location: LakeLocation, at: int) -> None:
    """Change a lake in one transaction, and be killed at a statement or a file.

    The transaction appends to the table `t` twice, and makes the table `u` with rows.
    """
    death = Death(at)
    session = open_session(location)
    session.current_lake().db.trace = death
    create, close = write.create_file, write.OpenFile.close

    def create_file(path: str) -> Any:
        death.append(path)
        return create(path)

    def close_file(file: Any) -> Any:
        written = close(file)
        death.append(written.path)
        return written

    write.create_file, write.OpenFile.close = create_file, close_file
    with transaction(session):
        Writer(session).insert(1, 2)
        Writer(session).insert(3)
        Writer(session).create_table("u")
        Writer(session).insert(4, table="u")
    death.append("after the commit")


def die_while_removing(location: LakeLocation, at: int) -> None:
    """Expire all that is old, clean up and remove orphans; be killed at a statement or a file."""
    death = Death(at)
    session = open_session(location)
    lake = session.current_lake()
    lake.db.trace = death
    remove = storage.remove_file

    def remove_file(path: str) -> None:
        death.append(path)
        remove(path)
        death.append(path)

    storage.remove_file = remove_file
    remove_all(lake)


def remove_all(lake: Lake) -> None:
    """Remove all that can be removed while nobody else uses the lake."""
    expire_snapshots(lake, older_than=dt.datetime.now(dt.timezone.utc))
    cleanup_old_files(lake, cleanup_all=True)
    delete_orphaned_files(lake, cleanup_all=True)


def die_while_compacting(location: LakeLocation, at: int) -> None:
    """Flush and merge a lake, and be killed at a statement or a file."""
    death = Death(at)
    session = open_session(location)
    session.current_lake().db.trace = death
    create, close = write.create_file, write.OpenFile.close

    def create_file(path: str) -> Any:
        death.append(path)
        return create(path)

    def close_file(file: Any) -> Any:
        written = close(file)
        death.append(written.path)
        return written

    write.create_file, write.OpenFile.close = create_file, close_file
    Keeper(session).flush()
    Keeper(session).merge()


def append_many(location: LakeLocation, number: int, commits: int, start: Any) -> None:
    """Append one file of two rows in each of so many commits, together with other processes."""
    session = open_session(location, busy_timeout=20_000)
    start.wait(60)
    for commit in range(commits):
        first = (number * commits + commit) * 2
        Writer(session).insert(first, first + 1)
    session.close_lakes()


def delete_many(
    location: LakeLocation, number: int, ids: list[int], start: Any, pause: float = 0
) -> None:
    """Delete rows one by one, each in a commit of its own, together with other processes.

    A delete that another stood in the way of is done again. Every second process keeps its deletes
    in the catalog. It may pause after each, so that others come to their turn.
    """
    session = open_session(location, busy_timeout=20_000)
    start.wait(60)
    for each in ids:
        while True:
            try:
                assert Writer(session).delete(each, inline_limit=number % 2) == 1
            except TransactionConflict:
                continue
            break
        time.sleep(pause)
    session.close_lakes()


def append_mixed(location: LakeLocation, number: int, commits: int, start: Any) -> None:
    """Append two rows in each of so many commits, to a file and to the catalog in turn.

    An insert that a delete stood in the way of is done again.
    """
    session = open_session(location, busy_timeout=20_000)
    start.wait(60)
    for commit in range(commits):
        first = (number * commits + commit) * 2
        insert = Writer(session).insert_inlined if commit % 2 else Writer(session).insert
        while True:
            try:
                insert(first, first + 1)
            except TransactionConflict:
                continue
            break
        time.sleep(0.05)
    session.close_lakes()

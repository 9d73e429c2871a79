"""Writers that change one lake at the same time, and tell which snapshots they made."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb

from ducklake_spark.errors import DuckLakeError
from support.oracle import Oracle
from support.walking.deeds import CHANGES, UPKEEP, Commit, Deed, Intent
from support.writing import Keeper, Writer, open_session, transaction

if TYPE_CHECKING:
    import ducklake_spark
    from ducklake_spark.session import Session
    from support.lakes import LakeLocation

BUSY = 20_000  # milliseconds that a writer waits for SQLite
TRIES = 60
EVERYTHING = (*CHANGES, "insert", "inline", "delete", "together", *UPKEEP)
# The extension overlooks that what it deletes was compacted or deleted by another ("known.py"): it
# changes a table of its own in all ways, and adds rows to the one that all change.
OF_DUCKDB = ("insert", "inline")


def kinds_of(kind: str, number: int) -> dict[str, tuple[str, ...]]:
    """What a writer of a kind does to which tables."""
    if kind == "duckdb":
        return {"t": OF_DUCKDB, f"d{number}": (*CHANGES, "inline", "delete")}
    return {"t": EVERYTHING}


class OurWriter:
    """A connection of ours, in a thread."""

    failures = (DuckLakeError,)

    def __init__(self, con: ducklake_spark.Connection) -> None:
        self.con = con

    def do(self, deeds: Sequence[Deed]) -> None:
        """Commit deeds as one snapshot."""
        if len(deeds) == 1:
            self.con.sql(deeds[0].statement.text)
            return
        with self.con.transaction():
            for deed in deeds:
                self.con.sql(deed.statement.text)

    def committed(self) -> int | None:
        """The last snapshot that this writer made."""
        return self.con.last_committed_snapshot()

    def close(self) -> None:
        """End the session."""
        self.con.close()


class TableKeeper(Keeper):
    """Maintenance of one table."""

    def __init__(self, session: Session, table: str) -> None:
        super().__init__(session, "main")
        self.table = table

    def _files(self, tx: Any) -> list[Any]:
        return [files for files in super()._files(tx) if files.table.name == self.table]


class BareWriter:
    """A session of ours without a JVM, in a process."""

    failures = (DuckLakeError,)

    def __init__(self, location: LakeLocation) -> None:
        options = {"busy_timeout": BUSY} if location.kind == "sqlite" else {}
        self.session = open_session(location, **options)

    def do(self, deeds: Sequence[Deed]) -> None:
        """Commit deeds as one snapshot."""
        if len(deeds) == 1 and deeds[0].kind != "update":  # which is a delete and an insert
            self._do(deeds[0])
            return
        with transaction(self.session):
            for deed in deeds:
                self._do(deed)

    def _do(self, deed: Deed) -> None:
        writer, keeper = Writer(self.session), TableKeeper(self.session, deed.table)
        match deed.kind:
            case "insert":
                writer.insert(*deed.ids, table=deed.table)
            case "inline":
                writer.insert_inlined(*deed.ids, table=deed.table)
            case "delete":
                writer.delete(*deed.ids, table=deed.table, inline_limit=10)
            case "update":
                writer.update(*deed.ids, table=deed.table, inline_limit=10)
            case "rewrite":
                keeper.rewrite(0.05)
            case _:
                getattr(keeper, deed.kind)()

    def committed(self) -> int | None:
        """The last snapshot that this writer made."""
        return self.session.last_committed_snapshot()

    def close(self) -> None:
        """End the session."""
        self.session.close_lakes()


class DuckWriter:
    """DuckDB, in a thread or a process."""

    failures = (duckdb.Error,)

    def __init__(self, location: LakeLocation) -> None:
        options = {"meta_busy_timeout": BUSY} if location.kind == "sqlite" else {}
        self.oracle = Oracle(location, **options)
        self.oracle.sql("SET ducklake_max_retry_count = 40")

    def do(self, deeds: Sequence[Deed]) -> None:
        """Commit deeds, each as a snapshot: it is given one at a time."""
        for deed in deeds:
            self.oracle.sql(deed.statement.text)

    def committed(self) -> int | None:
        """The last snapshot that this writer made."""
        found = self.oracle.sql("SELECT id FROM lake.last_committed_snapshot()")[0][0]
        return None if found is None else int(found)

    def close(self) -> None:
        """End the session."""
        self.oracle.close()


@dataclass
class Log:
    """What a writer did.

    Attributes:
        commits: in their order.
        refused: how often another stood in the way.
        given_up: what did not come through after many attempts.
        error: what ended it before its time.
    """

    commits: list[Commit] = field(default_factory=list)
    refused: int = 0
    given_up: int = 0
    error: str = ""


def write(writer: Any, name: str, intent: Intent, *, count: int, pause: float = 0.0) -> Log:
    """Do so many deeds, each again until nobody stands in the way."""
    log = Log()
    for _ in range(count):
        deeds = intent.next()
        for attempt in range(TRIES):
            before = writer.committed()
            try:
                writer.do(deeds)
            except writer.failures as error:
                if not _stood_in_the_way(error):
                    raise
                log.refused += 1
                time.sleep(0.01 * intent.random.random() * min(attempt + 1, 10))
                continue
            made = writer.committed()
            if made is not None and made != before:
                log.commits.append(Commit(made, name, deeds))
            intent.done(deeds)
            break
        else:
            log.given_up += 1
        time.sleep(pause)
    return log


def _stood_in_the_way(error: BaseException) -> bool:
    words = ("conflict", "locked", "another transaction", "retry", "retries", "could not serialize")
    return any(word in str(error).lower() for word in words)


def run_process(
    location: LakeLocation, kind: str, number: int, seed: int, count: int, start: Any, results: Any
) -> None:
    """The life of a writer in a process of its own."""
    log = Log()
    try:
        writer = DuckWriter(location) if kind == "duckdb" else BareWriter(location)
        start.wait(60)
        intent = Intent(seed, number, kinds_of(kind, number))
        log = write(writer, f"{kind} {number}", intent, count=count)
        writer.close()
    except Exception as error:
        log.error = f"{kind} {number}: {type(error).__name__}: {error}"
    results.put(log)

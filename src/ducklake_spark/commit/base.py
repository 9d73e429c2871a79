"""What a commit has to know of the lake as it is now, read in one round trip. Driver."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ducklake_spark.caching import Cache, declare
from ducklake_spark.catalog.newest import Newest, load_newest, newest_query, read_newest
from ducklake_spark.catalog.snapshots import (
    changes_since_query,
    is_another,
    read_snapshot,
    snapshot_query,
)
from ducklake_spark.catalog_db.connection import Database, Statement
from ducklake_spark.errors import TransactionConflict
from ducklake_spark.limits import limits
from ducklake_spark.model.entities import Snapshot
from ducklake_spark.model.stats import TableColumnStats


@dataclass(frozen=True, slots=True)
class TableTotals:
    """The row of ducklake_table_stats."""

    record_count: int
    next_row_id: int
    file_size_bytes: int


@dataclass(frozen=True)
class CommitBase:
    """The newest state of what a transaction touches, all of it of one snapshot.

    Attributes:
        latest: the newest snapshot; ids are counted on from it.
        others: the change logs of the snapshots that came since the transaction began.
        sent: the snapshot of the number that was asked for, if there is one.
        totals: by table id; none for a table that never had rows.
        column_stats: by table id and column id.
        inlined_tables: by table id, the newest table of inlined rows.
        inlined_since: by table id, a snapshot whose columns that table of inlined rows has.
        deleted_files: data files of the tables deleted from that others deleted from or ended.
        requires_message: whether the lake wants every commit to be explained.
        tables: the tables of which all this was asked.
    """

    latest: Snapshot
    others: tuple[str, ...] = ()
    sent: Snapshot | None = None
    totals: dict[int, TableTotals] = field(default_factory=dict)
    column_stats: dict[int, dict[int, TableColumnStats]] = field(default_factory=dict)
    inlined_tables: dict[int, str] = field(default_factory=dict)
    inlined_since: dict[int, int] = field(default_factory=dict)
    deleted_files: frozenset[int] = frozenset()
    requires_message: bool = False
    tables: frozenset[int] = frozenset()


_LEFT: Final = declare(
    "base of the next commit",
    key="the newest snapshot, which an entry holds and which the next commit compares",
    depends_on="totals, statistics and inlined-data tables of the tables last committed to, which "
    "only a new snapshot changes",
    seen_by="lake",
    emptied="by each commit; when the newest snapshot seen is gone or another, as after a restore",
    entries=1,
)


@dataclass
class BaseMemory:
    """What the last commit of a connection left behind, for its next one.

    It holds as long as the snapshot of that commit is the newest, which is asked inside the next
    commit: nothing of it changes without a snapshot.

    Attributes:
        overtaken: whether others had committed since, when that was last asked.
    """

    overtaken: bool = False
    _base: Cache[None, CommitBase] = field(default_factory=_LEFT.make)

    @property
    def base(self) -> CommitBase | None:
        """What the last commit left."""
        return self._base.get(None)

    def keep(self, base: CommitBase | None) -> None:
        """Take what a commit has left in place of what there was."""
        self._base.clear()
        if base is not None:
            self._base.put(None, base)

    def forget(self) -> None:
        """The lake has another history now."""
        self._base.clear()


def load_start(
    db: Database, known: Snapshot | None, memory: BaseMemory
) -> tuple[Newest, CommitBase | None]:
    """What a transaction that is begun inside its commit reads first.

    Where others are writing too, what is remembered is out of date: then all that a commit to the
    same tables needs is read at once, while others wait, and not after one more round trip.

    Args:
        db: with a transaction open.
        known: a snapshot that has been the newest.
        memory: of the connection.
    """
    before, base = memory.base, None
    few = before is not None and len(before.tables) <= limits().few_tables
    if before and memory.overtaken and db.dialect.batches and few:
        tables = sorted(before.tables)
        latest, *rows = db.fetch_batch([newest_query(db, known), *_table_queries(db, tables)])
        newest = read_newest(db, latest, known) if latest else load_newest(db)
        base = _base_of(db, newest, tables, rows)
    else:
        newest = load_newest(db, known)
    memory.overtaken = before is not None and before.latest != newest.snapshot
    return newest, base


def load_base(
    db: Database,
    since: Snapshot,
    table_ids: Iterable[int],
    *,
    deleted_from: Iterable[int] = (),
    sent: int | None = None,
    known: CommitBase | None = None,
    newest: Newest | None = None,
) -> CommitBase:
    """Read what a commit needs, inside its transaction and after its turn has come.

    If another transaction commits between two of these reads, it takes the number of the snapshot
    that this one is about to write, so that this one fails and reads again.

    Args:
        db: with a transaction open.
        since: the snapshot at which the transaction began.
        table_ids: the tables that gain rows.
        deleted_from: the tables of which files lose rows.
        sent: the number of a snapshot to look up, of an attempt whose outcome is unknown.
        known: the base as the last commit of this connection left it.
        newest: the newest snapshot, if it has been read inside the open transaction already.
    """
    tables, losing = sorted(table_ids), sorted(deleted_from)
    if newest is None and not db.dialect.batches:
        # Where all queries are one round trip, asking for this alone would make it two.
        newest = load_newest(db, since)
    if newest is not None and newest.snapshot == since and sent is None:
        return _load_unchanged(db, newest, tables, known)
    queries = [
        newest_query(db, since),
        changes_since_query(db, since.snapshot_id),
        snapshot_query(db, -1 if sent is None else sent),
        *((_deleted_files_query(db, losing, since),) if losing else ()),
        *_table_queries(db, tables),
    ]
    latest, changes, found, *rest = db.fetch_batch(queries)
    deleted, of_tables = (rest[0], rest[1:]) if losing else ([], rest)
    _check_history(db, since, latest)
    newest = read_newest(db, latest)
    number = newest.snapshot.snapshot_id
    _check_unbroken(since.snapshot_id, number, [int(row[0]) for row in changes])
    return replace(
        _base_of(db, newest, tables, of_tables),
        others=tuple(row[1] for row in changes if row[1]),
        sent=read_snapshot(db, found[0]) if found else None,
        deleted_files=frozenset(int(row[0]) for row in deleted),
    )


def _load_unchanged(
    db: Database, newest: Newest, tables: Sequence[int], known: CommitBase | None
) -> CommitBase:
    """The base of a transaction that began at the newest snapshot: there is nobody to check."""
    if known is not None and known.latest == newest.snapshot and known.tables.issuperset(tables):
        return replace(known, requires_message=_requires_message(newest))
    return _base_of(db, newest, tables, db.fetch_batch(_table_queries(db, tables)))


def _base_of(
    db: Database, newest: Newest, tables: Sequence[int], rows: Sequence[Sequence[tuple[Any, ...]]]
) -> CommitBase:
    totals, columns, inlined = rows or ([], [], [])
    return CommitBase(
        newest.snapshot,
        totals={row[0]: TableTotals(*map(int, row[1:])) for row in totals},
        column_stats=_column_stats(db, columns),
        inlined_tables={row[0]: str(row[1]) for row in inlined},
        inlined_since={row[0]: int(row[2]) for row in inlined if row[2] is not None},
        requires_message=_requires_message(newest),
        tables=frozenset(tables),
    )


def _requires_message(newest: Newest) -> bool:
    return str(newest.settings.get("require_commit_message")).lower() == "true"


def _check_history(db: Database, since: Snapshot, rows: Sequence[tuple[Any, ...]]) -> None:
    """Refuse a catalog that was restored meanwhile: ids of tables and files mean other things."""
    if not rows or is_another(db, since, rows):
        raise TransactionConflict(
            f"Transaction conflict - this transaction began at snapshot {since.snapshot_id}, which "
            "is not in the catalog as it was: the catalog has been restored or made anew.",
            hint="start a new transaction and do the work again on what is there now.",
        )


def _check_unbroken(since: int, latest: int, found: Sequence[int]) -> None:
    """What a snapshot did that has been expired meanwhile cannot be judged any more."""
    # One that is newer than the latest came between two of the reads: then the commit fails.
    if [number for number in found if number <= latest] != list(range(since + 1, latest + 1)):
        raise TransactionConflict(
            f"Transaction conflict - this transaction began at snapshot {since}, and some of the "
            f"snapshots from there to {latest} have been removed - what they did is not known.",
            hint="start a new transaction and do the work again on what is there now.",
        )


def _deleted_files_query(db: Database, tables: Sequence[int], since: Snapshot) -> Statement:
    """Data files that got a delete file, or ended, after `since`.

    A delete file may begin before the snapshot that wrote it; its id tells when it was written.
    """
    marks = ", ".join("?" for _ in tables)
    return Statement(
        f"SELECT data_file_id FROM {db.table('ducklake_delete_file')} "
        f"WHERE table_id IN ({marks}) AND delete_file_id >= ? "
        f"UNION SELECT data_file_id FROM {db.table('ducklake_data_file')} "
        f"WHERE table_id IN ({marks}) AND end_snapshot > ?",
        (*tables, since.next_file_id, *tables, since.snapshot_id),
    )


def _table_queries(db: Database, tables: Sequence[int]) -> tuple[Statement, ...]:
    if not tables:
        return ()
    where = f"WHERE table_id IN ({', '.join('?' for _ in tables)})"
    ids = tuple(tables)
    return (
        Statement(
            "SELECT table_id, record_count, next_row_id, file_size_bytes "
            f"FROM {db.table('ducklake_table_stats')} {where}",
            ids,
        ),
        Statement(
            "SELECT table_id, column_id, contains_null, contains_nan, min_value, max_value, "
            f"extra_stats FROM {db.table('ducklake_table_column_stats')} {where}",
            ids,
        ),
        Statement(
            "SELECT table_id, table_name, (SELECT max(v.begin_snapshot) FROM "
            f"{db.table('ducklake_schema_versions')} v WHERE v.table_id = i.table_id "
            "AND v.schema_version <= i.schema_version) FROM "
            f"{db.table('ducklake_inlined_data_tables')} i {where} ORDER BY schema_version",
            ids,
        ),
    )


def _column_stats(
    db: Database, rows: Iterable[tuple[Any, ...]]
) -> dict[int, dict[int, TableColumnStats]]:
    stats: dict[int, dict[int, TableColumnStats]] = defaultdict(dict)
    for table_id, column_id, null, nan, *rest in rows:
        stats[table_id][column_id] = TableColumnStats(
            column_id,
            None if null is None else db.decode("boolean", null),
            None if nan is None else db.decode("boolean", nan),
            *rest,
        )
    return dict(stats)

"""The two engines on one lake, and what must be true after each step of a walk."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import ducklake_spark
from support.oracle import Oracle
from support.rows import normal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from support.lakes import LakeLocation
    from support.walk import Step, Table, Walk

ENGINES = ("spark", "duckdb")
# The steps whose feed the extension tells right, as long as no file was merged.
CHANGES = ("small_insert", "large_insert", "delete", "update", "merge_into", "truncate")
TOGETHER = 12  # snapshots that one query reads
Rows = dict[int, tuple[int, list[Any]]]  # by key: the row id and the values


class Engines:
    """Both engines, each with one long session; a DuckDB file is open in one of them at a time."""

    def __init__(self, spark: SparkSession, location: LakeLocation) -> None:
        self.spark = spark
        self.location = location
        self.alone = location.kind == "duckdb"
        self._con: ducklake_spark.Connection | None = None
        self._oracle: Oracle | None = None

    @property
    def con(self) -> ducklake_spark.Connection:
        if self.alone:
            self._forget()
        if self._con is None:
            self._con = ducklake_spark.connect(
                self.location.uri,
                spark=self.spark,
                alias="lake",
                data_path=self.location.data_path,
            )
        return self._con

    @property
    def oracle(self) -> Oracle:
        if self.alone and self._con is not None:
            self._con.close()
            self._con = None
        if self._oracle is None:
            self._oracle = Oracle(self.location)
        return self._oracle

    def query(self, engine: str, text: str) -> list[tuple[Any, ...]]:
        """Rows of a query."""
        if engine == "duckdb":
            return self.oracle.sql(text)
        return [tuple(row) for row in self.con.sql(text).collect()]

    def latest(self, engine: str) -> int:
        """The number of the newest snapshot."""
        if engine == "duckdb":
            return self.oracle.sql("SELECT id FROM lake.current_snapshot()")[0][0]
        return self.con.current_lake().latest().snapshot_id

    def take(self, step: Step) -> None:
        """Run the statements of a step."""
        for text in step.statements:
            if step.engine == "duckdb":
                self.oracle.sql(text)
            else:
                self.con.sql(text)
        if any("SET DATA TYPE" in text for text in step.statements):
            self._forget()

    def _forget(self) -> None:
        """A session of the extension keeps bounds of the old type until rows are written."""
        if self._oracle is not None:
            self._oracle.close()
            self._oracle = None

    def close(self) -> None:
        """End both sessions; the next use opens new ones."""
        if self._con is not None:
            self._con.close()
        if self._oracle is not None:
            self._oracle.close()
        self._con = self._oracle = None


@dataclass
class Past:
    """A snapshot as it was when it was the newest: tables, and row ids by table and key."""

    tables: dict[str, Table]
    row_ids: dict[int, dict[int, int]]


@dataclass
class Walker:
    """Takes the steps of a walk and compares what both engines show with the model."""

    walk: Walk
    engines: Engines
    lookers: tuple[str, ...] = ENGINES  # who reads after each step
    log: list[str] = field(default_factory=list)
    past: dict[int, Past] = field(default_factory=dict)

    def start(self) -> None:
        self.take(self.walk.first())

    def take_steps(self, count: int) -> None:
        for _ in range(count):
            self.take(self.walk.next())

    def take(self, step: Step) -> None:
        """Run a step, and look at what it made."""
        self.log.append(f"-- {len(self.log)} {step.kind}\n{step}")
        known = max(self.past, default=0)
        self.engines.take(step)
        self.look()
        if max(self.past) == known:
            return
        if step.kind in CHANGES and not self.walk.merged:
            self._check_extension_feed()

    def look(self) -> None:
        """Compare the newest snapshot, and remember it."""
        known = max(self.past, default=0)
        row_ids = dict(self.past[known].row_ids) if self.past else {}
        latest = None
        for engine in self.lookers:
            newest = self.engines.latest(engine)
            assert latest in (None, newest), "both see the same snapshot as the newest"
            latest = newest
            for table in self.walk.tables.values():
                found = self._read(engine, table)
                row_ids[table.number] = self._agreed_ids(table, found, row_ids.get(table.number))
                self._check_condition(engine, table)
        if latest == known and self.past:
            return
        now = Past(copy.deepcopy(self.walk.tables), row_ids)
        for table in now.tables.values():
            row_ids[table.number] = {k: row_ids[table.number][k] for k in table.rows}
        for snapshot in range(known + 1, latest + 1):
            self.past[snapshot] = now
            now = copy.copy(now)
            now.tables = copy.deepcopy(now.tables)
            for table in now.tables.values():
                table.touched = set()

    def _read(self, engine: str, table: Table) -> Rows:
        names = ", ".join(c.name for c in table.columns)
        rows = self.engines.query(engine, f"SELECT rowid, {names} FROM {table.name}")
        ((count,),) = self.engines.query(engine, f"SELECT count(*) FROM {table.name}")
        assert count == len(rows), f"{engine} counts {table.name}"
        return compare(table, rows, f"{engine} reads {table.name}")

    def _agreed_ids(
        self, table: Table, found: Rows, known: dict[int, int] | None
    ) -> dict[int, int]:
        """A row has the same id in both engines and at all times."""
        now = {key: row_id for key, (row_id, _) in found.items()}
        known = known or {}
        moved = {k: (known[k], now[k]) for k in now.keys() & known.keys() if known[k] != now[k]}
        assert not moved, f"row ids of {table.name} changed: {moved}"
        return {**known, **now}

    def _check_condition(self, engine: str, table: Table) -> None:
        """A filter finds its rows: statistics exclude nothing that is there."""
        if engine == "spark" and self.walk.random.random() < 0.6:
            return  # a job of Spark's takes its time
        condition = self.walk.condition(table)
        rows = self.engines.query(engine, f"SELECT id FROM {table.name} WHERE {condition.text}")
        expected = sorted(key for key in table.rows if condition.holds(table, key))
        where = f"{engine} reads {table.name} where {condition.text}"
        assert sorted(row[0] for row in rows) == expected, where

    def look_back(self, engines: tuple[str, ...] = ENGINES) -> None:
        """Compare every snapshot that there is.

        In a new session: those of the extension remember at which places they saw inlined rows of
        old snapshots, and do not notice when another session flushes them.
        """
        self.engines.close()
        alike: dict[tuple[str, str, str], list[int]] = {}
        for snapshot, past in self.past.items():
            for table in past.tables.values():
                names = ", ".join(c.name for c in table.columns)
                kinds = ", ".join(c.type for c in table.columns)
                alike.setdefault((table.name, names, kinds), []).append(snapshot)
        for engine in engines:
            for (name, names, _), snapshots in alike.items():
                for first in range(0, len(snapshots), TOGETHER):
                    self._compare_past(engine, name, names, snapshots[first : first + TOGETHER])

    def _compare_past(self, engine: str, name: str, names: str, snapshots: list[int]) -> None:
        """Read a table at several snapshots with one query, which is much quicker."""
        query = " UNION ALL ".join(
            f"SELECT {each} AS read_at, rowid, {names} FROM {name} AT (VERSION => {each})"
            for each in snapshots
        )
        rows = self.engines.query(engine, query)
        for each in snapshots:
            table = self.past[each].tables[name]
            where = f"{engine} reads {name} at {each}"
            found = compare(table, [row[1:] for row in rows if row[0] == each], where)
            now = {key: row_id for key, (row_id, _) in found.items()}
            known = {key: self.past[each].row_ids[table.number][key] for key in now}
            assert now == known, f"{where}: row ids"

    def _check_extension_feed(self) -> None:
        """The extension's feed of the newest snapshot tells what the step did, whoever took it."""
        newest = max(self.past)
        for name, table in self.walk.tables.items():
            query = f"FROM ducklake_table_changes('lake', 'main', '{name}', {newest}, {newest})"
            where = f"the extension's feed of {name} at {newest}"
            check_same(
                counted(self.engines.query("duckdb", query)),
                self.expected_feed(table, newest, newest),
                where,
            )

    def check_feed(self, name: str, start: int, end: int) -> None:
        """The feed tells what the steps did, and leads from the older state to the newer."""
        table = self.past[end].tables[name]
        feed = counted(self.engines.con.changes(name, start, end).collect())
        expected = self.expected_feed(table, start, end)
        check_same(feed, expected, f"feed of {name} from {start} to {end}")

    def expected_feed(self, last: Table, start: int, end: int) -> Counter:
        feed: Counter = Counter()
        for snapshot in range(start, end + 1):
            after = self._version(snapshot, last.number)
            before = self._version(snapshot - 1, last.number)
            ids = self.past[snapshot].row_ids.get(last.number, {})
            ids = {
                **ids,
                **(self.past[snapshot - 1].row_ids if snapshot > 1 else {}).get(last.number, {}),
            }
            old = before.rows if before else {}
            new = after.rows if after else {}
            for key in old.keys() | new.keys():
                if key in old and key in new and key not in after.touched:
                    continue
                if key in old:
                    kind = "update_preimage" if key in new else "delete"
                    feed[snapshot, ids[key], kind, seen_from(last, old[key])] += 1
                if key in new:
                    kind = "update_postimage" if key in old else "insert"
                    feed[snapshot, ids[key], kind, seen_from(last, new[key])] += 1
        return feed

    def _version(self, snapshot: int, number: int) -> Table | None:
        if snapshot not in self.past:
            return None
        tables = self.past[snapshot].tables.values()
        return next((table for table in tables if table.number == number), None)

    def check_lake(self) -> None:
        """The lake is sound from its catalog to its bytes."""
        findings = self.engines.con.check().collect()
        assert findings == [], findings


def counted(rows: Iterable[Sequence[Any]]) -> Counter:
    """The rows of a feed."""
    return Counter((r[0], r[1], r[2], repr([normal(v) for v in r[3:]])) for r in rows)


def check_same(feed: Counter, expected: Counter, where: str) -> None:
    assert feed - expected == Counter(), f"{where}: too much"
    assert expected - feed == Counter(), f"{where}: missing"


def compare(table: Table, rows: list[tuple[Any, ...]], where: str) -> Rows:
    """Assert that rows, with their ids first, are those of the model; returns them by key."""
    found = {row[1]: (row[0], [normal(v) for v in row[1:]]) for row in rows}
    expected = {key: [normal(v) for v in table.values(key)] for key in table.rows}
    shown = {key: values for key, (_, values) in found.items()}
    assert len(found) == len(rows), f"{where}: rows that come twice"
    lost, extra = expected.keys() - shown.keys(), shown.keys() - expected.keys()
    assert not lost, f"{where}: lost {sorted(lost)}"
    assert not extra, f"{where}: too many {sorted(extra)}"
    wrong = {k: (shown[k], expected[k]) for k in shown if shown[k] != expected[k]}
    assert not wrong, f"{where}: {[c.name for c in table.columns]} shown, expected: {wrong}"
    assert len({row_id for row_id, _ in found.values()}) == len(found), f"{where}: row ids"
    return found


def seen_from(table: Table, row: dict[int, Any]) -> str:
    """A row with the columns that a table has later."""
    return repr([normal(row.get(c.identity, c.initial)) for c in table.columns])

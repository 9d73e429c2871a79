"""Plain DuckDB, without a lake, takes the same steps: what every snapshot and feed must show."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb

if TYPE_CHECKING:
    from support.walking.steps import Statement, Step

KEY = "id"  # no two rows of a table share it, and no statement changes it
FEED = ("_snapshot", "_kind")


class DoesNotApply(Exception):
    """A step makes no sense without those that were left out before it."""


@dataclass
class Touched:
    """The keys that a step has updated, and those that it has deleted, for a while at least."""

    updated: set[int] = field(default_factory=set)
    deleted: set[int] = field(default_factory=set)


@dataclass
class Shape:
    """What a table was like at a snapshot: its columns, and where the feed up to it is kept."""

    number: int
    columns: tuple[tuple[str, str], ...]
    log: str


@dataclass
class Version:
    """A snapshot: its tables, and the keys of each row since when they are there."""

    shapes: dict[str, Shape]
    births: dict[int, dict[int, int]]  # table number -> key -> snapshot


class Plain:
    """Tables of plain DuckDB, with a copy of each at every snapshot.

    Beside each table stand `prev_<n>`, its rows at the newest snapshot, and `log_<n>`, its feed;
    columns change in all three, so that old rows are shown as a lake shows them.
    """

    def __init__(self) -> None:
        self.con = duckdb.connect(config={"threads": 1})
        self.con.execute("SET TimeZone = 'UTC'")
        self.numbers: dict[str, int] = {}  # table -> number, which outlives its name
        self.versions: dict[int, Version] = {}
        self._next = 0
        self._logs: dict[int, str] = {}
        self._touched: dict[int, Touched] = defaultdict(Touched)
        self.keep(0)

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Run a statement; its rows."""
        return self.con.execute(text).fetchall()

    def columns(self, table: str) -> list[tuple[str, Any]]:
        """Names and types of the columns of a table."""
        found = self.con.table(f'"{table}"')
        return list(zip(found.columns, found.types, strict=True))

    def keys(self, table: str, where: str = "true") -> set[int]:
        """The keys of some rows of a table."""
        return {row[0] for row in self.sql(f"SELECT {KEY} FROM {table} WHERE {where}")}

    def apply(self, step: Step) -> None:
        """Take a step; raises `DoesNotApply` and leaves everything as it was if it cannot."""
        before = (dict(self.numbers), dict(self._logs), self._next)
        self._touched.clear()
        self.con.execute("BEGIN")
        try:
            for statement in step.statements:
                self._run(statement)
        except duckdb.Error as error:
            self.con.execute("ROLLBACK")
            self.numbers, self._logs, self._next = before
            raise DoesNotApply(str(error)) from error
        if step.ending == "ROLLBACK":
            self.con.execute("ROLLBACK")
            self.numbers, self._logs, self._next = before
            self._touched.clear()
        else:
            self.con.execute("COMMIT")

    def _run(self, statement: Statement) -> None:
        table, number = statement.table, self.numbers.get(statement.table)
        if number is None or statement.alters:
            self.con.execute(statement.in_plain)
        else:
            before = self.keys(table)
            if statement.updates:
                self._touched[number].updated |= self.keys(table, statement.updates)
            self.con.execute(statement.in_plain)
            if self._exists(table):
                self._touched[number].deleted |= before - self.keys(table)
        if statement.alters and number is not None:
            self._alter(number, statement.alters)
        self._find_tables(statement)

    def _alter(self, number: int, text: str) -> None:
        """Columns of the past change too; the feed as it was stays under a name of its own."""
        self._next += 1
        old, self._logs[number] = self._logs[number], f"log_{number}_{self._next}"
        self.con.execute(f"CREATE TABLE kept.{self._logs[number]} AS FROM kept.{old}")
        for name in (f"kept.{self._logs[number]}", f"kept.prev_{number}"):
            self.con.execute(f"ALTER TABLE {name} {text}")

    def _exists(self, table: str) -> bool:
        return bool(
            self.con.execute(
                "FROM duckdb_tables() WHERE table_name = ? AND schema_name = 'main'", [table]
            ).fetchall()
        )

    def _find_tables(self, statement: Statement) -> None:
        """Give new tables a number; a renamed one keeps its."""
        found = {
            row[0]
            for row in self.sql("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'")
        }
        replaced = statement.in_plain.startswith("CREATE OR REPLACE TABLE")
        gone = {n for n in self.numbers if n not in found or (replaced and n == statement.table)}
        new = found - (self.numbers.keys() - gone)
        renamed = " RENAME TO " in statement.in_plain
        for name in sorted(gone):
            number = self.numbers.pop(name)
            if renamed:
                self.numbers[new.pop()] = number
        for name in sorted(new):
            self._next += 1
            number = self.numbers[name] = self._next
            self._logs[number] = f"log_{number}"
            self.con.execute("CREATE SCHEMA IF NOT EXISTS kept")
            self.con.execute(f"CREATE TABLE kept.prev_{number} AS FROM {name} LIMIT 0")
            self.con.execute(
                f"CREATE TABLE kept.log_{number} AS SELECT 0::BIGINT AS _snapshot, '' AS _kind, * "
                f"FROM {name} LIMIT 0"
            )

    def keep(self, snapshot: int) -> None:
        """The step made this snapshot: remember all tables, and what the feed says of it."""
        shapes: dict[str, Shape] = {}
        births = {n: dict(b) for n, b in self._newest_births().items()}
        self.con.execute(f"CREATE SCHEMA at_{snapshot}")
        for name, number in self.numbers.items():
            births[number] = self._log_changes(name, number, snapshot, births.get(number, {}))
            self.con.execute(f"CREATE TABLE at_{snapshot}.{name} AS FROM {name}")
            self.con.execute(f"CREATE OR REPLACE TABLE kept.prev_{number} AS FROM {name}")
            columns = tuple((n, str(kind)) for n, kind in self.columns(name))
            shapes[name] = Shape(number, columns, self._logs[number])
        self._touched.clear()
        self.versions[snapshot] = Version(shapes, births)

    def _newest_births(self) -> dict[int, dict[int, int]]:
        return self.versions[max(self.versions)].births if self.versions else {}

    def _log_changes(
        self, name: str, number: int, snapshot: int, born: dict[int, int]
    ) -> dict[int, int]:
        """Write the feed of a table, from its rows before and after; since when each is there."""
        old, new = self.keys(f"kept.prev_{number}"), self.keys(name)
        touched = self._touched[number]
        again = old & new & touched.deleted
        updated = (old & new & touched.updated) - again
        for source, kind, keys in (
            (f"kept.prev_{number}", "delete", (old - new) | again),
            (name, "insert", (new - old) | again),
            (f"kept.prev_{number}", "update_preimage", updated),
            (name, "update_postimage", updated),
        ):
            if keys:
                listed = ", ".join(map(str, keys))
                self.con.execute(
                    f"INSERT INTO kept.{self._logs[number]} BY NAME SELECT {snapshot} AS _snapshot,"
                    f" '{kind}' AS _kind, * FROM {source} WHERE {KEY} IN ({listed})"
                )
        stays = {key: since for key, since in born.items() if key in new - again}
        return {**dict.fromkeys(new, snapshot), **stays}

    def forget(self, snapshot: int) -> None:
        """The snapshot is expired."""
        del self.versions[snapshot]

    @property
    def newest(self) -> int:
        """The newest snapshot."""
        return max(self.versions)

    def name_at(self, snapshot: int, table: str) -> str:
        """How a query names a table at a snapshot."""
        return f"at_{snapshot}.{table}"

    def feed(self, table: str, start: int, end: int) -> list[tuple[Any, ...]]:
        """The change feed of a table: snapshot, kind, and the columns that it had at the end."""
        shape = self.versions[end].shapes[table]
        names = ", ".join(name for name, _ in shape.columns)
        return self.sql(
            f"SELECT _snapshot, _kind, {names} FROM kept.{shape.log} "
            f"WHERE _snapshot BETWEEN {start} AND {end}"
        )

    def close(self) -> None:
        """End the session."""
        self.con.close()

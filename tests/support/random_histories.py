"""Random histories of one table, made by DuckDB, and the change feed that they should have."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from support.rows import normal

if TYPE_CHECKING:
    from support.oracle import Oracle

DEFAULT = 7  # of every column that is added


@dataclass
class State:
    """The table after a snapshot: its columns as (identity, name), its rows by row id."""

    columns: list[tuple[int, str]]
    rows: dict[int, tuple[Any, ...]]

    def as_of(self, row: tuple[Any, ...], end: State) -> tuple[Any, ...]:
        """A row of this state with the columns of a later one."""
        places = {identity: place for place, (identity, _) in enumerate(self.columns)}
        return tuple(
            normal(row[places[identity]]) if identity in places else normal(DEFAULT)
            for identity, _ in end.columns
        )

    def seen_from(self, end: State) -> dict[int, tuple[Any, ...]]:
        """All rows with the columns of a later state, by row id."""
        return {row_id: self.as_of(row, end) for row_id, row in self.rows.items()}


@dataclass
class History:
    """Makes a history step by step and remembers every state; each update changes its rows."""

    oracle: Oracle
    seed: int
    statements: list[str] = field(default_factory=list)
    states: dict[int, State] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.columns = [(1, "id"), (2, "v"), (3, "c3")]
        self.next_id, self.next_value = 0, 1000
        self.run("CREATE TABLE t (id INTEGER, v INTEGER, c3 INTEGER)")

    def run(self, *statements: str) -> None:
        """Run statements, several as one transaction, and look at what they made."""
        texts = ["BEGIN", *statements, "COMMIT"] if len(statements) > 1 else statements
        for text in texts:
            self.statements.append(text)
            self.oracle.sql(text)
        names = ", ".join(f'"{name}"' for _, name in self.columns)
        rows = self.oracle.sql(f"SELECT rowid, {names} FROM t")
        state = State(list(self.columns), {row[0]: row[1:] for row in rows})
        assert len(state.rows) == len(rows), "row ids are unique"
        for (snapshot,) in self.oracle.sql("SELECT snapshot_id FROM lake.snapshots()"):
            self.states.setdefault(snapshot, state)

    def steps(self, count: int) -> None:
        """Take random steps."""
        kinds = {self._change: 10, self._together: 3, self._compact: 5, self._alter: 3}
        for _ in range(count):
            (step,) = self.random.choices(list(kinds), list(kinds.values()))
            step()

    def expected(self, start: int, end: int) -> Counter:
        """The change feed from `start` to `end`, by comparing the states between."""
        feed: Counter = Counter()
        last = self.states[end]
        for snapshot in range(max(start, 1), end + 1):
            before, after = self.states[snapshot - 1], self.states[snapshot]
            for row_id in before.rows.keys() | after.rows.keys():
                old, new = before.rows.get(row_id), after.rows.get(row_id)
                if (
                    old is not None
                    and new is not None
                    and before.as_of(old, after) == normal_of(new)
                ):
                    continue
                if old is not None:
                    kind = "delete" if new is None else "update_preimage"
                    feed[snapshot, row_id, kind, before.as_of(old, last)] += 1
                if new is not None:
                    kind = "insert" if old is None else "update_postimage"
                    feed[snapshot, row_id, kind, after.as_of(new, last)] += 1
        return feed

    def _change(self) -> None:
        self.run(self.random.choice([self._insert, self._delete, self._update])())

    def _together(self) -> None:
        makers = [self._insert, self._delete, self._update]
        self.run(*(self.random.choice(makers)() for _ in range(self.random.randint(2, 3))))

    def _insert(self) -> str:
        count = self.random.choice([1, 3, 12, 25])
        first, self.next_id = self.next_id, self.next_id + count
        others = ", ".join("i * 2" for _ in self.columns[2:])
        columns = f"i, i + 100{', ' + others if others else ''}"
        return f"INSERT INTO t SELECT {columns} FROM range({first}, {first + count}) r(i)"

    def _some(self) -> str:
        low = self.random.randint(0, self.next_id)
        return f"id BETWEEN {low} AND {low + self.random.choice([0, 2, 11, 30])}"

    def _delete(self) -> str:
        return f"DELETE FROM t WHERE {self._some()}"

    def _update(self) -> str:
        self.next_value += 1
        return f"UPDATE t SET v = {self.next_value} WHERE {self._some()}"

    def _compact(self) -> None:
        self.run(
            self.random.choice(
                [
                    "CALL ducklake_flush_inlined_data('lake')",
                    "CALL ducklake_merge_adjacent_files('lake')",
                    "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.2)",
                ]
            )
        )

    def _alter(self) -> None:
        identity = max(identity for identity, _ in self.columns) + len(self.statements)
        name = f"c{identity}"
        kind = self.random.choice(["add", "rename", "drop", "widen"])
        extra = self.columns[2:]
        if kind == "widen":
            self.run("ALTER TABLE t ALTER COLUMN v SET DATA TYPE BIGINT")
        elif kind == "add" or not extra:
            self.columns.append((identity, name))
            self.run(f"ALTER TABLE t ADD COLUMN {name} INTEGER DEFAULT {DEFAULT}")
        elif kind == "rename":
            old_identity, old = self.random.choice(extra)
            self.columns[self.columns.index((old_identity, old))] = (old_identity, name)
            self.run(f"ALTER TABLE t RENAME COLUMN {old} TO {name}")
        else:
            dropped = self.random.choice(extra)
            self.columns.remove(dropped)
            self.run(f"ALTER TABLE t DROP COLUMN {dropped[1]}")


def normal_of(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values in the form that states are compared in."""
    return tuple(map(normal, row))


def counted(rows: Any) -> Counter:
    """A feed as `History.expected` gives it."""
    return Counter((row[0], row[1], row[2], normal_of(tuple(row[3:]))) for row in rows)


def replayed(before: dict[int, tuple[Any, ...]], feed: Counter) -> dict[int, tuple[Any, ...]]:
    """The rows after the changes of a feed: old rows of a snapshot go before its new ones come."""
    rows = dict(before)
    order = {"delete": 0, "update_preimage": 0, "insert": 1, "update_postimage": 1}
    for _, row_id, kind, values in sorted(feed, key=lambda change: (change[0], order[change[2]])):
        if order[kind] == 0:
            assert rows.pop(row_id) == values, "what is removed was there"
        else:
            assert row_id not in rows, "what is added was not there"
            rows[row_id] = values
    return rows

"""What writers do to one lake at the same time, each with keys of its own.

No deed looks at rows of others. What a writer committed is therefore the same wherever it stands in
the order of the commits, and a replay in that order gives every snapshot.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from support.walking.steps import Statement

KEYS = 100_000  # of one writer
FILE_ROWS, FEW_ROWS = 24, 3  # for a file, and for the catalog

UPKEEP = {
    "flush": "CALL ducklake_flush_inlined_data('lake', schema_name => 'main', table_name => '{}')",
    "merge": "CALL ducklake_merge_adjacent_files('lake', '{}', schema => 'main')",
    "rewrite": "CALL ducklake_rewrite_data_files('lake', '{}', schema => 'main', "
    "delete_threshold => 0.05)",
}
CHANGES = ("insert", "inline", "delete", "update")


@dataclass(frozen=True)
class Deed:
    """One change of one table: which rows, if it is none of the maintenance."""

    kind: str
    table: str
    ids: tuple[int, ...] = ()

    @property
    def told(self) -> str:
        """The deed in a few words."""
        return f"{self.kind} {self.table} {f'{self.ids[0]}-{self.ids[-1]}' if self.ids else ''}"

    @property
    def statement(self) -> Statement:
        """The deed as SQL, for a lake and for plain DuckDB."""
        if self.kind in UPKEEP:
            return Statement(UPKEEP[self.kind].format(self.table), "SELECT 1")
        where = f"id IN ({', '.join(map(str, self.ids))})"
        if self.kind == "delete":
            return Statement(f"DELETE FROM {self.table} WHERE {where}", table=self.table)
        if self.kind == "update":
            text = f"UPDATE {self.table} SET name = 'u' || id WHERE {where}"
            return Statement(text, table=self.table, updates=where)
        rows = ", ".join(f"({i}, 'n{i}')" for i in self.ids)
        return Statement(f"INSERT INTO {self.table} (id, name) VALUES {rows}", table=self.table)


@dataclass(frozen=True)
class Commit:
    """What became a snapshot."""

    snapshot: int
    writer: str
    deeds: tuple[Deed, ...]


class Intent:
    """Draws what a writer does next, and knows which rows it has.

    Args:
        seed: of the walk.
        number: of the writer.
        kinds: what it does, by table.
    """

    def __init__(self, seed: int, number: int, kinds: dict[str, tuple[str, ...]]) -> None:
        self.random = random.Random(seed * 1000 + number)
        self.kinds = kinds
        self.next_key = number * KEYS
        self.mine: dict[str, list[int]] = {table: [] for table in kinds}

    def next(self) -> tuple[Deed, ...]:
        """One deed, or a delete and an insert as one transaction."""
        table = self.random.choice(list(self.kinds))
        kind = self.random.choice(self.kinds[table])
        if kind == "together":
            return (self._deed("delete", table), self._deed("inline", table))
        return (self._deed(kind, table),)

    def _deed(self, kind: str, table: str) -> Deed:
        if kind in UPKEEP:
            return Deed(kind, table)
        if kind in ("insert", "inline"):
            count = FILE_ROWS if kind == "insert" else FEW_ROWS
            first, self.next_key = self.next_key, self.next_key + count
            return Deed(kind, table, tuple(range(first, first + count)))
        mine = self.mine[table]
        count = min(len(mine), self.random.choice([1, 2, 15, 30]))
        first = self.random.randint(0, len(mine) - count)
        return Deed(kind, table, tuple(mine[first : first + count]) or (-1,))

    def done(self, deeds: tuple[Deed, ...]) -> None:
        """The deeds are committed."""
        for deed in deeds:
            if deed.kind in ("insert", "inline"):
                self.mine[deed.table] += deed.ids
            elif deed.kind == "delete":
                gone = set(deed.ids)
                self.mine[deed.table] = [i for i in self.mine[deed.table] if i not in gone]

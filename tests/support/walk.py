"""Random histories of a lake, told as SQL, with what the tables must hold after each step.

The model of a table knows its rows by their key, the column `id`, which no statement changes and
no two rows share. Which kinds of steps a walk takes is drawn from its seed too: a lake that is
never merged grows into other shapes than one that is merged all the time.
"""

from __future__ import annotations

import copy
import datetime as dt
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

KEY = 1  # the identity of the column `id`

Row = dict[int, Any]


@dataclass
class Column:
    """A column; its identity outlives its name and its type."""

    identity: int
    name: str
    type: str
    default: Any = None
    initial: Any = None  # what rows show that are older than the column


@dataclass
class Table:
    """What a table holds: rows by key, each with values by the identity of the column."""

    name: str
    number: int  # tells apart tables that have the same name one after the other
    columns: list[Column]
    rows: dict[int, Row] = field(default_factory=dict)
    touched: set[int] = field(default_factory=set)  # keys that the step updated
    keys: tuple[int, ...] = ()  # columns in use by the layout, which are not dropped
    was_sorted_or_updated: bool = False

    def values(self, key: int) -> list[Any]:
        """A row in the order of the columns."""
        return [self.rows[key].get(c.identity, c.initial) for c in self.columns]


@dataclass(frozen=True)
class Step:
    """Statements for one of the two engines."""

    engine: str
    statements: tuple[str, ...]
    kind: str

    def __str__(self) -> str:
        return "\n".join(f"{self.engine:>6}: {text};" for text in self.statements)


WIDER = {
    "TINYINT": ("SMALLINT", "BIGINT"),
    "SMALLINT": ("INTEGER", "BIGINT"),
    "INTEGER": ("BIGINT",),
    "UTINYINT": ("USMALLINT", "UINTEGER"),
    "FLOAT": ("DOUBLE",),
}
NUMBERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
TYPES = (
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "FLOAT", "DOUBLE"),
    *("DECIMAL(8,2)", "VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP", "INTEGER[]"),
)
WORDS = ("", "a", "b c", "it's", "é", "NULL", "{x}", "10", "a/b")


def draw(rng: random.Random, kind: str) -> Any:
    """A value of a type; one in six is NULL."""
    if rng.random() < 1 / 6:
        return None
    if kind in NUMBERS:
        return rng.randint(0 if kind.startswith("U") else -50, 50)
    if kind in ("FLOAT", "DOUBLE"):
        return rng.randint(-400, 400) / 4
    if kind.startswith("DECIMAL"):
        return Decimal(rng.randint(-9999, 9999)).scaleb(-2)
    if kind == "BOOLEAN":
        return rng.random() < 0.5
    if kind == "DATE":
        return dt.date(2020, 1, 1) + dt.timedelta(days=rng.randint(0, 900))
    if kind == "TIMESTAMP":
        return dt.datetime(2020, 1, 1) + dt.timedelta(seconds=rng.randint(0, 10**8) / 2)
    if kind == "INTEGER[]":
        return [rng.choice([None, 1, 22]) for _ in range(rng.randint(0, 3))]
    return rng.choice(WORDS)


def literal(value: Any) -> str:
    """A value as both engines read it."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case dt.datetime():
            return f"TIMESTAMP '{value}'"
        case dt.date():
            return f"DATE '{value}'"
        case list():
            return f"[{', '.join(map(literal, value))}]"
    return str(value)


@dataclass(frozen=True)
class Condition:
    """A WHERE clause, and which rows it is true for."""

    text: str
    holds: Callable[[Table, int], bool]


class Walk:
    """Draws steps and keeps the model of the lake that they lead to."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.tables: dict[str, Table] = {}
        self.next_key = 0
        self.next_number = 0
        self.rewritten = self.merged = False
        kinds: dict[Callable[[], list[str]], tuple[int, float]] = {
            # how often, and in how many of the walks at all
            self._small_insert: (5, 1),
            self._large_insert: (4, 1),
            self._delete: (5, 0.9),
            self._update: (5, 0.8),
            self._merge_into: (3, 0.6),
            self._alter: (4, 0.7),
            self._partition: (2, 0.5),
            self._sort: (2, 0.5),
            self._flush: (3, 0.7),
            self._merge: (3, 0.7),
            self._rewrite: (2, 0.6),
            self._truncate: (1, 0.3),
            self._other_table: (2, 0.6),
            self._rename_table: (1, 0.3),
            self._together: (4, 0.7),
        }
        self.kinds = {
            kind: weight
            for kind, (weight, part) in kinds.items()
            if part == 1 or self.random.random() < part
        }

    def first(self) -> Step:
        """The step that all walks begin with."""
        return Step(self._engine(), (self._create("t"),), "create")

    def next(self) -> Step:
        """Draw a step and take it in the model."""
        for table in self.tables.values():
            table.touched = set()
        while True:
            (make,) = self.random.choices(list(self.kinds), list(self.kinds.values()))
            self.engine = self._engine()
            statements = make()
            if statements:
                return Step(self.engine, tuple(statements), make.__name__.strip("_"))

    def _engine(self) -> str:
        return self.random.choice(["spark", "duckdb"])

    def _table(self) -> Table:
        tables = list(self.tables.values())
        return self.random.choice([self.tables["t"], *tables])

    def condition(self, table: Table) -> Condition:
        """Some rows of a table: a range of keys mostly, or by the value of another column."""
        rng = self.random
        usable = [
            c for c in table.columns[1:] if c.type in NUMBERS and c.identity not in table.keys
        ]
        if rng.random() < 0.3 and usable:
            column, bound = rng.choice(usable), rng.randint(0, 40)
            at = table.columns.index(column)
            if rng.random() < 0.3:
                return Condition(f"{column.name} IS NULL", lambda t, k: t.values(k)[at] is None)
            return Condition(
                f"{column.name} > {bound}", lambda t, k: (t.values(k)[at] or 0) > bound
            )
        low = rng.randint(max(0, self.next_key - 150), self.next_key)
        high = low + rng.choice([0, 1, 4, 14, 40, 100])
        if rng.random() < 0.3:
            return Condition(f"id >= {low} AND id % 3 = 1", lambda t, k: k >= low and k % 3 == 1)
        return Condition(f"id BETWEEN {low} AND {high}", lambda t, k: low <= k <= high)

    # Rows

    def _small_insert(self) -> list[str]:
        return [self._insert_values(self._table(), self.random.choice([1, 2, 5]))]

    def _large_insert(self) -> list[str]:
        count = self.random.choice([11, 15, 40])
        make = self.random.choice([self._insert_values, self._insert_range])
        return [make(self._table(), count)]

    def _insert_values(self, table: Table, count: int) -> str:
        given = table.columns
        if self.random.random() < 0.3:
            given = [table.columns[0], *(c for c in given[1:] if self.random.random() < 0.6)]
        lines = []
        for _ in range(count):
            row = self._new_row(table)
            row.update({c.identity: draw(self.random, c.type) for c in given[1:]})
            lines.append("(" + ", ".join(literal(row[c.identity]) for c in given) + ")")
        names = f" ({', '.join(c.name for c in given)})" if given is not table.columns else ""
        return f"INSERT INTO {table.name}{names} VALUES {', '.join(lines)}"

    def _insert_range(self, table: Table, count: int) -> str:
        given = [c for c in table.columns[1:] if c.type in ("INTEGER", "BIGINT", "VARCHAR")]
        first = self.next_key
        for _ in range(count):
            row, key = self._new_row(table), self.next_key - 1
            row.update({c.identity: f"n{key}" if c.type == "VARCHAR" else key * 2 for c in given})
        names = ["id", *(c.name for c in given)]
        values = ["i", *("'n' || i" if c.type == "VARCHAR" else "i * 2" for c in given)]
        return (
            f"INSERT INTO {table.name} ({', '.join(names)}) "
            f"SELECT {', '.join(values)} FROM range({first}, {first + count}) r(i)"
        )

    def _new_row(self, table: Table) -> Row:
        key, self.next_key = self.next_key, self.next_key + 1
        row = {c.identity: c.default for c in table.columns}
        row[KEY] = key
        table.rows[key] = row
        return row

    def _delete(self) -> list[str]:
        table = self._table()
        condition = self.condition(table)
        for key in [k for k in table.rows if condition.holds(table, k)]:
            del table.rows[key]
        return [f"DELETE FROM {table.name} WHERE {condition.text}"]

    def _truncate(self) -> list[str]:
        table = self._table()
        table.rows.clear()
        return [
            f"TRUNCATE {table.name}" if self.random.random() < 0.5 else f"DELETE FROM {table.name}"
        ]

    def _update(self) -> list[str]:
        table = self._table()
        others = table.columns[1:]
        chosen = self.random.sample(others, min(len(others), self.random.choice([1, 1, 2])))
        if not chosen:
            return []
        condition = self.condition(table)
        keys = [k for k in table.rows if condition.holds(table, k)]
        texts = [self._set(table, column, keys) for column in chosen]
        table.touched.update(keys)
        table.was_sorted_or_updated = True
        return [f"UPDATE {table.name} SET {', '.join(texts)} WHERE {condition.text}"]

    def _set(self, table: Table, column: Column, keys: list[int]) -> str:
        at = table.columns.index(column)
        old = {key: table.values(key)[at] for key in keys}
        if column.type in ("INTEGER", "BIGINT", "DOUBLE") and self.random.random() < 0.5:
            new = {k: None if v is None else v + 1 for k, v in old.items()}
            text = f"{column.name} + 1"
        elif column.type == "VARCHAR" and self.random.random() < 0.5:
            new = {k: None if v is None else v + "x" for k, v in old.items()}
            text = f"{column.name} || 'x'"
        else:
            value = draw(self.random, column.type)
            new, text = dict.fromkeys(keys, value), literal(value)
        for key in keys:
            table.rows[key][column.identity] = new[key]
        return f"{column.name} = {text}"

    def _merge_into(self) -> list[str]:
        """Rows that are there are updated, or deleted where the source says so; others come."""
        table = self._table()
        usable = [c for c in table.columns[1:] if c.type in ("INTEGER", "BIGINT", "VARCHAR")]
        if not usable:
            return []
        column, count = self.random.choice(usable), self.random.choice([1, 3, 9, 30])
        old = self.random.sample(sorted(table.rows), min(count, len(table.rows)))
        goers = old[:2] if self.random.random() < 0.5 else []
        going = set(goers if self.engine == "spark" else [])  # the extension takes one action
        source = [(k, draw(self.random, column.type), k in going) for k in old]
        for _ in range(self.random.choice([0, 1, 12])):
            source.append((self.next_key, draw(self.random, column.type), False))
            self._new_row(table)
        if not source:
            return []
        for key, value, goes in source:
            table.rows[key][column.identity] = value
            if goes:
                del table.rows[key]
        table.touched.update(old)
        table.was_sorted_or_updated = True
        lines = ", ".join(
            f"({key}, CAST({literal(value)} AS {column.type}), {literal(goes)})"
            for key, value, goes in source
        )
        delete = "WHEN MATCHED AND s.goes THEN DELETE " if going else ""
        return [
            f"MERGE INTO {table.name} USING (VALUES {lines}) s(id, v, goes) "
            f"ON {table.name}.id = s.id {delete}"
            f"WHEN MATCHED THEN UPDATE SET {column.name} = s.v "
            f"WHEN NOT MATCHED THEN INSERT (id, {column.name}) VALUES (s.id, s.v)"
        ]

    # Several statements as one

    def _together(self) -> list[str]:
        before = copy.deepcopy(self.tables)
        choices = [k for k in self.kinds if k in (self._small_insert, self._large_insert)]
        choices += [k for k in self.kinds if k in (self._delete, self._update, self._merge_into)]
        makers = [self.random.choice(choices) for _ in range(self.random.randint(2, 4))]
        if self.engine == "duckdb":
            makers = self._updates_first(makers)
        if self._alter in self.kinds and self.random.random() < 0.3:
            makers.insert(0, self._alter)
        statements = [text for make in makers for text in make()]
        if self.random.random() < 0.25:
            self.tables = before
            return ["BEGIN", *statements, "ROLLBACK"]
        for table in self.tables.values():
            table.touched &= before[table.name].rows.keys() & table.rows.keys()
        return ["BEGIN", *statements, "COMMIT"]

    def _updates_first(
        self, makers: list[Callable[[], list[str]]]
    ) -> list[Callable[[], list[str]]]:
        """The extension gives rows that a transaction adds and updates the ids of another row."""
        merges = [make for make in makers if make == self._merge_into][:1]
        updates = [make for make in makers if make == self._update]
        others = [make for make in makers if make not in (self._merge_into, self._update)]
        return [*updates, *merges, *others]

    # Definitions

    def _create(self, name: str) -> str:
        kinds = ["VARCHAR", "INTEGER", *self.random.sample(TYPES, self.random.randint(1, 4))]
        columns = [Column(KEY, "id", "BIGINT")]
        columns += [Column(i, f"c{i}", kind) for i, kind in enumerate(kinds, KEY + 1)]
        self.next_number += 1
        self.tables[name] = Table(name, self.next_number, columns)
        described = ", ".join(f"{c.name} {c.type}" for c in columns)
        return f"CREATE TABLE {name} ({described})"

    def _other_table(self) -> list[str]:
        others = [name for name in self.tables if name != "t"]
        if others:
            del self.tables[others[0]]
            return [f"DROP TABLE {others[0]}"]
        return [self._create("u")]

    def _rename_table(self) -> list[str]:
        others = [name for name in self.tables if name != "t"]
        if not others:
            return []
        table = self.tables.pop(others[0])
        old, table.name = table.name, "w" if table.name == "u" else "u"
        self.tables[table.name] = table
        return [f"ALTER TABLE {old} RENAME TO {table.name}"]

    def _alter(self) -> list[str]:
        table = self._table()
        kinds = [self._add_column, self._drop_column, self._rename_column]
        kinds += [self._promote, self._set_default]
        text = self.random.choice(kinds)(table)
        return [f"ALTER TABLE {table.name} {text}"] if text else []

    def _fresh(self, table: Table) -> Column:
        self.next_number += 1
        kind = self.random.choice(TYPES)
        return Column(1000 + self.next_number, f"c{1000 + self.next_number}", kind)

    def _add_column(self, table: Table) -> str:
        column = self._fresh(table)
        text = f"ADD COLUMN {column.name} {column.type}"
        # The extension takes only numbers and text for a default here.
        if column.type in NUMBERS | {"VARCHAR"} and self.random.random() < 0.6:
            column.default = column.initial = self.random.choice(
                WORDS[1:5] if column.type == "VARCHAR" else (7, 0, 12)
            )
            text += f" DEFAULT {literal(column.default)}"
        table.columns.append(column)
        return text

    def _extra(self, table: Table) -> Column | None:
        free = [c for c in table.columns[1:] if c.identity not in table.keys]
        return self.random.choice(free) if free else None

    def _drop_column(self, table: Table) -> str:
        column = self._extra(table)
        if column is None or len(table.columns) < 3:
            return ""
        table.columns.remove(column)
        return f"DROP COLUMN {column.name}"

    def _rename_column(self, table: Table) -> str:
        column = self.random.choice(table.columns[1:])
        old, column.name = column.name, self._fresh(table).name
        return f"RENAME COLUMN {old} TO {column.name}"

    def _promote(self, table: Table) -> str:
        narrow = [c for c in table.columns if c.type in WIDER]
        if not narrow:
            return ""
        column = self.random.choice(narrow)
        column.type = self.random.choice(WIDER[column.type])
        return f"ALTER COLUMN {column.name} SET DATA TYPE {column.type}"

    def _set_default(self, table: Table) -> str:
        usable = [c for c in table.columns[1:] if c.type in NUMBERS | {"VARCHAR"}]
        if not usable:
            return ""
        column = self.random.choice(usable)
        if column.default is not None and self.random.random() < 0.4:
            column.default = None
            return f"ALTER COLUMN {column.name} DROP DEFAULT"
        column.default = "def" if column.type == "VARCHAR" else 42
        return f"ALTER COLUMN {column.name} SET DEFAULT {literal(column.default)}"

    # Layout

    def _partition(self) -> list[str]:
        table = self._table()
        others = [c for c in table.columns[1:] if c.type != "INTEGER[]" and c.type != "FLOAT"]
        if self.random.random() < 0.3 or not others:
            table.keys = ()
            return [f"ALTER TABLE {table.name} RESET PARTITIONED BY"]
        columns = self.random.sample(others, min(len(others), self.random.choice([1, 1, 2])))
        table.keys = tuple(c.identity for c in columns)
        keys = ", ".join(self._key(column) for column in columns)
        return [f"ALTER TABLE {table.name} SET PARTITIONED BY ({keys})"]

    def _key(self, column: Column) -> str:
        forms = [column.name]
        if column.type in ("DATE", "TIMESTAMP"):
            forms = [f"{part}({column.name})" for part in ("year", "month")]
        elif column.type in NUMBERS | {"VARCHAR"}:
            forms.append(f"bucket(3, {column.name})")
        return self.random.choice(forms)

    def _sort(self) -> list[str]:
        table = self._table()
        table.was_sorted_or_updated = True
        if self.random.random() < 0.3:
            return [f"ALTER TABLE {table.name} RESET SORTED BY"]
        column = self.random.choice([c for c in table.columns if c.type != "INTEGER[]"])
        table.keys = (*table.keys, column.identity)
        order = self.random.choice(["", " DESC", " DESC NULLS FIRST"])
        return [f"ALTER TABLE {table.name} SET SORTED BY ({column.name}{order})"]

    # Maintenance

    @property
    def renumbers(self) -> bool:
        """Whether a merge by the extension would give rows other ids: it counts them anew."""
        return any(table.was_sorted_or_updated for table in self.tables.values())

    def _flush(self) -> list[str]:
        if self.rewritten:
            # The extension gives files that a rewrite has ended a second delete file.
            self.engine = "spark"
        return ["CALL ducklake_flush_inlined_data('lake')"]

    def _merge(self) -> list[str]:
        self.merged = True
        if self.renumbers:
            self.engine = "spark"
        return ["CALL ducklake_merge_adjacent_files('lake')"]

    def _rewrite(self) -> list[str]:
        self.rewritten = True
        threshold = self.random.choice([0.01, 0.3, 0.9])
        return [f"CALL ducklake_rewrite_data_files('lake', delete_threshold => {threshold})"]

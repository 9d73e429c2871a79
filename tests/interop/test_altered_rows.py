"""One lake, altered by DuckDB and by us in turns: both read the same rows at every snapshot."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

import ducklake_spark
from support.invariants import check_catalog
from support.rows import same_rows

pytestmark = [pytest.mark.interop, pytest.mark.spark]

START = """
    CREATE TABLE t (id INTEGER, n INTEGER, v VARCHAR, s STRUCT(i INTEGER, j VARCHAR),
        l STRUCT(x INTEGER)[], m MAP(VARCHAR, STRUCT(y INTEGER)));
    INSERT INTO t SELECT i, i * 2, 'v' || i, {'i': i, 'j': 'j' || i}, [{'x': i}, NULL],
        MAP {'k': {'y': i}} FROM range(20) r(i);
    INSERT INTO t VALUES (100, NULL, 'small', {'i': NULL, 'j': 'x'}, [], NULL),
        (101, 5, NULL, NULL, [{'x': NULL}], MAP {'a': NULL, 'b': {'y': 3}});
    DELETE FROM t WHERE id IN (3, 5, 100);
    DELETE FROM t WHERE id BETWEEN 6 AND 17 AND id % 2 = 0
"""
# The engines take turns; rows written between are inlined, files and deletes are DuckDB's.
STEPS = [
    "ALTER TABLE t ADD COLUMN c BIGINT DEFAULT 7",
    "ALTER TABLE t RENAME n TO number",
    "ALTER TABLE t ALTER number TYPE BIGINT",
    "ALTER TABLE t ADD COLUMN s.k INTEGER",
    "INSERT INTO t (id, number, s) VALUES (200, 9000000000, {'i': 1, 'j': 'a', 'k': 2})",
    "ALTER TABLE t RENAME s.i TO ii",
    "ALTER TABLE t ADD COLUMN l.element.z VARCHAR",
    "ALTER TABLE t ADD COLUMN m.value.z INTEGER",
    "ALTER TABLE t DROP COLUMN v",
    "ALTER TABLE t ADD COLUMN v UUID DEFAULT '01a1e23e-662f-7581-a3ac-f28e4e91aa19'",
    "ALTER TABLE t RENAME TO u",
    "INSERT INTO u (id, l) VALUES (201, [{'x': 1, 'z': 'zz'}])",
    "ALTER TABLE u DROP COLUMN s.j",
    "ALTER TABLE u ALTER c SET DEFAULT 8",
    "ALTER TABLE u ADD COLUMN s.j INTEGER",
    "INSERT INTO u (id, s) VALUES (202, {'ii': 3, 'k': 4, 'j': 5})",
    "ALTER TABLE u RENAME TO t",
]


@dataclass
class TwoEngines:
    """Opens the lake with one engine at a time: a DuckDB file takes no more."""

    location: object
    spark: object
    table: str = "t"
    versions: list[tuple[int, str]] = field(default_factory=list)

    @contextmanager
    def ours(self) -> Iterator[Callable]:
        uri, path = self.location.uri, self.location.data_path
        with ducklake_spark.connect(uri, spark=self.spark, alias="lake", data_path=path) as con:
            yield con.sql

    def run(self, text: str, *, here: bool) -> None:
        if here:
            with self.ours() as sql:
                sql(text)
        else:
            with self.location.oracle() as oracle:
                oracle.sql(text)

    def note(self, table: str) -> None:
        with self.location.database() as db:
            (latest,) = db.fetch("SELECT max(snapshot_id) FROM ducklake_snapshot")[0]
            check_references(db)
        self.versions.append((latest, table))

    def check(self, versions: list[tuple[int, str]]) -> None:
        queries = [f"SELECT * FROM {name} AT (VERSION => {number})" for number, name in versions]
        with self.ours() as sql:
            mine = [sql(query).collect() for query in queries]
        with self.location.oracle() as oracle:
            theirs = [oracle.sql(query) for query in queries]
        for version, left, right in zip(versions, mine, theirs, strict=True):
            assert same_rows(left, right), version


def check_references(db) -> None:
    """No column has two live rows, and no two live columns of one parent have one name."""
    live = db.fetch(
        "SELECT table_id, column_id, parent_column, lower(column_name) FROM ducklake_column "
        "WHERE end_snapshot IS NULL"
    )
    assert len({row[:2] for row in live}) == len(live)
    assert len({(row[0], row[2], row[3]) for row in live}) == len(live)


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_both_read_the_same_rows_after_each_alter_of_either(location, spark, first):
    engines = TwoEngines(location, spark)
    engines.run(START, here=False)
    table = "t"
    engines.note(table)
    for index, step in enumerate(STEPS):
        engines.run(step, here=(index % 2 == 0) == (first == "ours"))
        table = step.rsplit(" ", 1)[1] if "RENAME TO" in step else table
        engines.note(table)
    engines.check(engines.versions)


@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
def test_files_of_the_same_transaction_are_read_with_the_new_columns(location, spark):
    rows = ", ".join(f"({i}, {i}.5, '{i}', {{'i': {i}}})" for i in range(12))
    more = ", ".join(f"({i}, {i}.25, {{'i': {i}, 'k': 1}}, {i}, 'b{i}')" for i in range(12))
    expected = [(i, i + 0.5, i, None, None, b"ab") for i in range(12)]
    expected += [(i, i + 0.25, i, 1, i, f"b{i}".encode()) for i in range(12)]
    flat = "SELECT a, f, s.i, s.k, c, b"
    engines = TwoEngines(location, spark)
    with engines.ours() as sql:
        sql("CREATE TABLE old (a INTEGER, f FLOAT, gone VARCHAR, s STRUCT(i INTEGER))")
        sql(f"INSERT INTO old VALUES {rows}")
        for table in ("old", "new"):
            sql("BEGIN")
            if table == "new":
                sql("CREATE TABLE new (a INTEGER, f FLOAT, gone VARCHAR, s STRUCT(i INTEGER))")
                sql(f"INSERT INTO new VALUES {rows}")
            sql(f"ALTER TABLE {table} ALTER f TYPE DOUBLE")
            sql(f"ALTER TABLE {table} ALTER a TYPE BIGINT")
            sql(f"ALTER TABLE {table} ADD COLUMN s.k INTEGER")
            sql(f"ALTER TABLE {table} DROP COLUMN gone")
            sql(f"ALTER TABLE {table} ADD COLUMN c UINTEGER")
            sql(f"ALTER TABLE {table} ADD COLUMN b BLOB DEFAULT 'ab'")
            sql(f"INSERT INTO {table} VALUES {more}")
            sql(f"ALTER TABLE {table} ALTER c TYPE UBIGINT")
            sql(f"ALTER TABLE {table} ADD COLUMN later INTEGER")
            sql(f"INSERT INTO {table} SELECT * FROM {table}")
            sql(f"ALTER TABLE {table} DROP COLUMN later")
            assert same_rows(sql(f"{flat} FROM {table}").collect(), expected * 2)
            sql("COMMIT")
            sql(f"ALTER TABLE {table} ADD COLUMN after INTEGER")
            seen = sql(f"{flat}, after FROM {table}").collect()
            assert same_rows(seen, [(*row, None) for row in expected * 2])
    with location.oracle() as oracle:
        for table in ("old", "new"):
            theirs = oracle.sql(f"{flat}, after FROM {table}")
            assert same_rows(theirs, [(*row, None) for row in expected * 2])
    with location.database() as db:
        check_catalog(db)


@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
def test_not_null_looks_into_files_that_may_hold_nulls(location, spark):
    engines = TwoEngines(location, spark)
    engines.run("CREATE TABLE t (a INTEGER, b INTEGER, s STRUCT(i INTEGER))", here=False)
    engines.run(
        "INSERT INTO t SELECT CASE WHEN i > 0 THEN i END, i, {'i': i} FROM range(20) r(i)",
        here=False,
    )
    with engines.ours() as sql:
        with pytest.raises(ducklake_spark.DuckLakeError, match="has NULL values"):
            sql("ALTER TABLE t ALTER a SET NOT NULL")
        sql("ALTER TABLE t ALTER b SET NOT NULL")
        sql("ALTER TABLE t ALTER s SET NOT NULL")
    engines.run("DELETE FROM t WHERE a IS NULL", here=False)
    with engines.ours() as sql:
        sql("ALTER TABLE t ALTER a SET NOT NULL")
    with location.oracle() as oracle, pytest.raises(Exception, match="NOT NULL constraint"):
        oracle.sql("INSERT INTO t VALUES (NULL, 1, {'i': 1})")


WIDER = {
    "TINYINT": ["SMALLINT", "INTEGER", "BIGINT"],
    "SMALLINT": ["INTEGER", "BIGINT"],
    "INTEGER": ["BIGINT"],
    "UTINYINT": ["USMALLINT", "UINTEGER", "UBIGINT"],
    "USMALLINT": ["UINTEGER", "UBIGINT"],
    "UINTEGER": ["UBIGINT"],
    "FLOAT": ["DOUBLE"],
}
TYPES = [*WIDER, "VARCHAR", "DECIMAL(9,2)"]


class Walk:
    """Makes ALTER statements at random that are all possible, one after the other."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.columns = {"id": "BIGINT"}
        self.fields = {"i": "INTEGER"}
        self.count = 0

    def next(self) -> str:
        """One of the things that can be done now."""
        self.count += 1
        actions = [self.add, self.add, self.add_field]
        promoted = [n for n, t in self.columns.items() if t in WIDER]
        actions += [self.promote] if promoted else []
        actions += [self.drop, self.rename] if len(self.columns) > 2 else []
        actions += [self.drop_field, self.rename_field] if len(self.fields) > 1 else []
        actions += [self.default] if len(self.columns) > 1 else []
        return "ALTER TABLE t " + self.random.choice(actions)()

    def some_column(self) -> str:
        return self.random.choice([name for name in self.columns if name != "id"])

    def add(self) -> str:
        kind = self.random.choice(TYPES)
        # Names come again: a column that is added is not the one that was dropped.
        name = next(n for n in ("a", "b", "c", f"n{self.count}") if n not in self.columns)
        self.columns[name] = kind
        default = self.random.choice(["", " DEFAULT 5", " DEFAULT 1"])
        return f"ADD COLUMN {name} {kind}{default}"

    def drop(self) -> str:
        name = self.some_column()
        del self.columns[name]
        return f"DROP COLUMN {name}"

    def rename(self) -> str:
        name, to = self.some_column(), f"r{self.count}"
        self.columns[to] = self.columns.pop(name)
        return f"RENAME {name} TO {to}"

    def promote(self) -> str:
        name = self.random.choice([n for n, t in self.columns.items() if t in WIDER])
        self.columns[name] = self.random.choice(WIDER[self.columns[name]])
        return f"ALTER {name} TYPE {self.columns[name]}"

    def default(self) -> str:
        change = self.random.choice(["SET DEFAULT 3", "DROP DEFAULT"])
        return f"ALTER {self.some_column()} {change}"

    def add_field(self) -> str:
        name = next(n for n in ("j", "k", f"f{self.count}") if n not in self.fields)
        self.fields[name] = self.random.choice(["INTEGER", "VARCHAR"])
        return f"ADD COLUMN s.{name} {self.fields[name]}"

    def drop_field(self) -> str:
        name = self.random.choice(list(self.fields))
        del self.fields[name]
        return f"DROP COLUMN s.{name}"

    def rename_field(self) -> str:
        name, to = self.random.choice(list(self.fields)), f"g{self.count}"
        self.fields[to] = self.fields.pop(name)
        return f"RENAME s.{name} TO {to}"

    def insert(self, number: int) -> str:
        """A row with values everywhere, and one with what the columns take by themselves."""
        names = [*self.columns, "s"]
        values = [str(number), *("1" for _ in range(len(self.columns) - 1))]
        struct = ", ".join(f"'{name}': 1" for name in self.fields)
        return (
            f"INSERT INTO t ({', '.join(names)}) VALUES ({', '.join(values)}, {{{struct}}}); "
            f"INSERT INTO t (id) VALUES ({-number})"
        )


@pytest.mark.parametrize(
    ("catalog_kind", "steps"),
    [("sqlite", 60), ("duckdb", 15), ("postgres", 15)],
    indirect=["catalog_kind"],
)
def test_both_read_the_same_rows_after_a_walk_of_alters(location, spark, steps):
    walk = Walk(seed=steps)
    engines = TwoEngines(location, spark)
    engines.run("CREATE TABLE t (id BIGINT, s STRUCT(i INTEGER))", here=False)
    engines.run("INSERT INTO t SELECT i, {'i': i} FROM range(30) r(i)", here=False)
    for step in range(steps):
        here = step % 2 == 0
        engines.run(walk.next(), here=here)
        if step % 4 == 1:
            engines.run(walk.insert(100 + step), here=step % 8 == 1)
        if step % 10 == 3:
            filled = f"INSERT INTO t (id) SELECT {1000 * step} + i FROM range(15) r(i)"
            engines.run(f"{filled}; DELETE FROM t WHERE id % 7 = {step % 7}", here=False)
        engines.note("t")
    chosen = [*engines.versions[:: max(steps // 8, 1)], engines.versions[-1]]
    engines.check(chosen)
    with location.database() as db:
        check_references(db)

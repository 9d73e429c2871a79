"""Every kind of operation, in our words and in DuckDB's, and lakes on which two of them meet."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ducklake_spark.errors import DuckLakeError, TransactionConflict
from ducklake_spark.model.types import ScalarType
from ducklake_spark.operations import alter
from ducklake_spark.operations.layouts import set_partitioned_by
from ducklake_spark.operations.objects import NewColumn
from ducklake_spark.session import Session
from support.lakes import LakeLocation
from support.writing import Keeper, Writer, open_session, table_files, transaction

INLINE_LIMIT = 10  # DuckDB notes up to so many rows in the catalog
_MORE = {"inline_limit": INLINE_LIMIT}


def prepare(writer: Writer) -> None:
    """A schema with a view `v`, a macro `m` and a table `t` of every kind of rows.

    Of `t`, file 0… has a delete file, 100… and 200… are whole, 300… are inlined.
    """
    with transaction(writer.session):
        writer.create_schema(writer.schema)
        writer.create_table("t")
        writer.create_view("v")
        writer.create_macro("m")
        writer.insert(*range(30))
    with transaction(writer.session):
        writer.delete(*range(12))
    with transaction(writer.session):
        writer.insert(*range(100, 130))
        writer.insert(*range(200, 230))
        writer.insert_inlined(300, 301, 302)


Ours = Callable[[Writer], Any]


def _keep(call: str, *args: Any) -> Ours:
    return lambda w: getattr(Keeper(w.session, w.schema), call)(*args)


_EXTRA = NewColumn("extra", ScalarType("int32"))

# What a transaction does in the schema {s} that `prepare` has made.
OPERATIONS: dict[str, tuple[Ours, str]] = {
    "mk_schema": (lambda w: w.create_schema(f"{w.schema}_new"), "CREATE SCHEMA {s}_new"),
    "rm_schema": (lambda w: w.drop_schema(w.schema), "DROP SCHEMA {s} CASCADE"),
    "mk_view": (lambda w: w.create_view("N"), 'CREATE VIEW {s}."N" AS SELECT 1 AS one'),
    "rm_view": (lambda w: w.drop_view("v"), "DROP VIEW {s}.v"),
    "ren_view": (lambda w: w.rename_view("v", "w"), "ALTER VIEW {s}.v RENAME TO w"),
    "on_view": (lambda w: w.comment("v", "c"), "COMMENT ON VIEW {s}.v IS 'c'"),
    "mk_macro": (lambda w: w.create_macro("k"), "CREATE MACRO {s}.k() AS 1"),
    "rm_macro": (lambda w: w.drop_macro("m"), "DROP MACRO {s}.m"),
    "mk_table": (lambda w: w.create_table("n"), "CREATE TABLE {s}.n (id BIGINT, name VARCHAR)"),
    "rm_table": (lambda w: w.drop_table("t"), "DROP TABLE {s}.t"),
    "replace": (
        lambda w: w.create_table("t", or_replace=True),
        "CREATE OR REPLACE TABLE {s}.t (id BIGINT, name VARCHAR)",
    ),
    "ren_table": (lambda w: w.rename_table("t", "r"), "ALTER TABLE {s}.t RENAME TO r"),
    "on_table": (lambda w: w.comment("t", "c"), "COMMENT ON TABLE {s}.t IS 'c'"),
    "on_col": (lambda w: w.comment("t", "c", column="id"), "COMMENT ON COLUMN {s}.t.id IS 'c'"),
    "add_col": (
        lambda w: w.alter(alter.add_column, (), _EXTRA),
        "ALTER TABLE {s}.t ADD COLUMN extra INTEGER",
    ),
    "ren_col": (
        lambda w: w.alter(alter.rename_column, ("name",), "label"),
        "ALTER TABLE {s}.t RENAME COLUMN name TO label",
    ),
    "not_null": (
        lambda w: w.alter(alter.set_not_null, ("id",), not_null=True, spark=_no_spark),
        "ALTER TABLE {s}.t ALTER COLUMN id SET NOT NULL",
    ),
    "partition": (
        lambda w: w.alter(set_partitioned_by, [("bucket", "id", 2)]),
        "ALTER TABLE {s}.t SET PARTITIONED BY (bucket(2, id))",
    ),
    "sort": (lambda w: w.sort_by("id"), "ALTER TABLE {s}.t SET SORTED BY (id ASC)"),
    "insert": (
        lambda w: w.insert(*range(400, 420)),
        "INSERT INTO {s}.t SELECT i, 'n' || i FROM range(400, 420) r(i)",
    ),
    "inline": (lambda w: w.insert_inlined(500), "INSERT INTO {s}.t VALUES (500, 'n500')"),
    "delete": (
        lambda w: w.delete(*range(100, 115), **_MORE),
        "DELETE FROM {s}.t WHERE id BETWEEN 100 AND 114",
    ),
    "delete_2": (  # from another file
        lambda w: w.delete(*range(200, 215), **_MORE),
        "DELETE FROM {s}.t WHERE id BETWEEN 200 AND 214",
    ),
    "note": (lambda w: w.delete(120, **_MORE), "DELETE FROM {s}.t WHERE id = 120"),
    "note_row": (lambda w: w.delete(300, **_MORE), "DELETE FROM {s}.t WHERE id = 300"),
    "update": (
        lambda w: w.update(*range(100, 115), **_MORE),
        "UPDATE {s}.t SET name = 'u' || id WHERE id BETWEEN 100 AND 114",
    ),
    "up_row": (
        lambda w: w.update(301, **_MORE),
        "UPDATE {s}.t SET name = 'u' || id WHERE id = 301",
    ),
    "truncate": (lambda w: w.truncate(), "DELETE FROM {s}.t"),
    "flush": (
        _keep("flush"),
        "CALL ducklake_flush_inlined_data('lake', schema_name => '{s}', table_name => 't')",
    ),
    "merge": (
        _keep("merge"),
        "CALL ducklake_merge_adjacent_files('lake', 't', schema => '{s}')",
    ),
    "rewrite": (
        _keep("rewrite", 0.0),
        "CALL ducklake_rewrite_data_files('lake', 't', schema => '{s}', delete_threshold => 0.0)",
    ),
}


# What I do (a row), when another has committed first what the column says; the columns are in the
# order of the rows. X: I am refused, by DuckDB too. *: DuckDB commits, see the page on conflicts.
_MATRIX = """
mk_schema  X . . . . . . . . . . . . . . . . . . . . . . . . . . . . . .
rm_schema  . X X X X . * X X X X X . . . . . . . . . . . . . . . . . . .
mk_view    . X X . . . . . X . . . . . . . . . . . . . . . . . . . . . .
rm_view    . X . X . . . . . . . . . . . . . . . . . . . . . . . . . . .
ren_view   . X . * X . . . . . . . . . . . . . . . . . . . . . . . . . .
on_view    . * . * . X . . . . . . . . . . . . . . . . . . . . . . . . .
mk_macro   . X . . . . X . . . . . . . . . . . . . . . . . . . . . . . .
rm_macro   . X . . . . . X . . . . . . . . . . . . . . . . . . . . . . .
mk_table   . X X . . . . . X . . . . . . . . . . . . . . . . . . . . . .
rm_table   . X . . . . . . . X X . . . . . . . . . . . . . . . . . . . .
replace    . X . . . . . . . X X . . . . . . . . . . . . . . . . . . . .
ren_table  . X . . . . . . . * * X * * * * * * * . . . . . . . . . . . .
on_table   . X . . . . . . . X X . X X X X X X X . . . . . . . . . . . .
on_col     . X . . . . . . . X X . X X X X X X X . . . . . . . . . . . .
add_col    . X . . . . . . . X X . X X X X X X X . . . . . . . . . . . .
ren_col    . X . . . . . . . X X . X X X X X X X . . . . . . . . . . . .
not_null   . X . . . . . . . X X . X X X X X X X * * . . . . * * . . . .
partition  . X . . . . . . . X X . X X X X X X X . . . . . . . . . . . .
sort       . X . . . . . . . X X . X X X X X X X . . . . . . . . . . . .
insert     . X . . . . . . . X X . X X X X X X X . . X X X X X X X . . .
inline     . X . . . . . . . X X . X X X X X X X . . X X X X X X X . . .
delete     . X . . . . . . . X X . X X X X X X X X X X . * * X X X . X X
delete_2   . X . . . . . . . X X . X X X X X X X X X . X * * X X X . X X
note       . X . . . . . . . X X . X X X X X X X X X * * X X X X X X * *
note_row   . X . . . . . . . X X . X X X X X X X X X * * X X X X X X * *
update     . X . . . . . . . X X . X X X X X X X X X X X X X X X X . X X
up_row     . X . . . . . . . X X . X X X X X X X X X X X X X X X X X * *
truncate   . X . . . . . . . X X . X X X X X X X X X X X X X X X X X X X
flush      . X . . . . . . . X X . . . . . . . . . . . . X X . X X X . .
merge      . X . . . . . . . X X . . . . . . . . . . X X * * X * X . X X
rewrite    . X . . . . . . . X X . . . . . . . . . . X X * * X * X . X X
"""


def _read_matrix() -> dict[tuple[str, str], str]:
    names = list(OPERATIONS)
    lines = [line.split() for line in _MATRIX.strip().splitlines()]
    assert [line[0] for line in lines] == names
    return {
        (mine, theirs): mark
        for mine, *marks in lines
        for theirs, mark in zip(names, marks, strict=True)
    }


MATRIX = _read_matrix()


def _no_spark() -> Any:
    raise AssertionError("no Spark is needed for this")


def do(session: Session, operation: str, schema: str = "s") -> None:
    """Do an operation in the open transaction."""
    OPERATIONS[operation][0](Writer(session, schema))


def is_refused(session: Session) -> bool:
    """Commit, and tell whether another stood in the way."""
    try:
        session.commit()
    except TransactionConflict:
        return True
    return False


@dataclass
class Copies:
    """A lake to begin with, and any number of copies of its catalog over the same files.

    Compaction and deletes leave old files alone, so that the copies do not see each other.
    """

    location: LakeLocation
    server: Any = None  # of PostgreSQL
    made: int = 0
    known: dict[tuple[str, ...], dict[str, Any] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        session = open_session(self.location, data_inlining_row_limit=INLINE_LIMIT)
        prepare(Writer(session, "s"))
        session.close_lakes()

    def copy(self) -> LakeLocation:
        """A new lake in the state to begin with."""
        self.made += 1
        url = self.location.uri
        if self.location.kind == "postgres":
            name = dict(p.split("=", 1) for p in url.split(":", 2)[2].split())["dbname"]
            uri = f"ducklake:postgres:{self.server.make_database(name)}"
            return replace(self.location, uri=uri)
        prefix, path = url.rsplit(":", 1)
        copied = f"{path}.{self.made}"
        shutil.copy(path, copied)
        return replace(self.location, uri=f"{prefix}:{copied}")

    @contextmanager
    def sessions(self, count: int) -> Iterator[list[Session]]:
        """Connections to one new copy, which goes at the end."""
        location = self.copy()
        opened = [
            open_session(location, data_inlining_row_limit=INLINE_LIMIT) for _ in range(count)
        ]
        try:
            yield opened
        finally:
            for session in opened:
                session.close_lakes()
            if location.kind != "postgres":
                Path(location.uri.rsplit(":", 1)[1]).unlink()

    def serial(self, *operations: str) -> dict[str, Any] | None:
        """The state after operations one after the other; None when one of them cannot be done."""
        if operations not in self.known:
            with self.sessions(1) as [session]:
                self.known[operations] = _do_all(session, operations)
        return self.known[operations]

    def files(self) -> set[str]:
        """The files that are in the storage."""
        return set(table_files(self.location))


def _do_all(session: Session, operations: tuple[str, ...]) -> dict[str, Any] | None:
    for operation in operations:
        session.begin()
        try:
            do(session, operation)
        except (DuckLakeError, LookupError):
            session.rollback()
            return None
        session.commit()
    return state_of(session)


def state_of(session: Session) -> dict[str, Any]:
    """All that a user can see of a lake: names, columns, comments, layouts and rows with ids."""
    lake = session.current_lake()
    with session.reading(lake) as tx:
        local = tx.local
        names = {schema.schema_id: schema.name for schema in local.schemas()}
        state: dict[str, Any] = {f"schema {name}": True for name in names.values()}
        for view in local.views():
            state[f"view {names[view.schema_id]}.{view.name}"] = (view.sql, view.comment)
        for macro in local.macros():
            state[f"macro {names[macro.schema_id]}.{macro.name}"] = True
        tables = list(local.tables())
    for table in tables:
        schema = names[table.schema_id]
        columns = [(c.name, c.type_name, c.nulls_allowed) for c in table.schema.columns]
        state[f"table {schema}.{table.name}"] = (
            columns,
            (table.comment, dict(table.column_comments)),
            [f.transform for f in table.partition.fields] if table.partition else [],
            table.sort.keys if table.sort else (),
            Writer(session, schema).rows(table.name),
        )
    return state

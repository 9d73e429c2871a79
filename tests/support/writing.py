"""Write to a lake through sessions alone: no JVM, any number of processes."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from ducklake_spark.commit.retry import RetryPolicy
from ducklake_spark.model.changes import AppendFiles, InlineRows
from ducklake_spark.model.entities import DataFile, MacroImplementation, SortKey
from ducklake_spark.model.names import make_uuid7
from ducklake_spark.model.types import ScalarType
from ducklake_spark.operations import alter, objects, views
from ducklake_spark.operations.append import ROW_ID_COLUMN
from ducklake_spark.operations.contents import Contents, load_contents
from ducklake_spark.operations.layouts import set_sorted_by
from ducklake_spark.operations.objects import NewColumn
from ducklake_spark.operations.row_changes import stage_outcomes
from ducklake_spark.operations.whole_files import stage_truncate
from ducklake_spark.operations.write_layout import plan_layout
from ducklake_spark.parquet.delete_files import (
    DeletedRows,
    DeleteLayout,
    FileFacts,
    write_deletes,
)
from ducklake_spark.parquet.write import write_batches
from ducklake_spark.session import Session

if TYPE_CHECKING:
    from support.lakes import LakeLocation

COLUMNS = (NewColumn("id", ScalarType("int64")), NewColumn("name", ScalarType("varchar")))


def open_session(location: LakeLocation, **options) -> Session:
    """A session on the lake, which is made if there is none. It retries quickly."""
    session = Session()
    session.retry = RetryPolicy(max_retry_count=40, wait_ms=5, backoff=1.1)
    session.attach(location.uri, "lake", data_path=location.data_path, **options)
    session.use("lake")
    return session


@contextmanager
def transaction(session: Session) -> Iterator[None]:
    """BEGIN and COMMIT around a block; an error rolls back."""
    session.begin()
    try:
        yield
    except BaseException:
        session.rollback()
        raise
    session.commit()


class Writer:
    """What a user does in one schema of a lake, as single calls.

    Args:
        session: whose transactions are used.
        schema: where the objects are.
    """

    def __init__(self, session: Session, schema: str = "main") -> None:
        self.session = session
        self.schema = schema
        self.lake = session.current_lake()

    def insert(self, *ids: int, table: str = "t") -> None:
        """Add rows as one data file."""
        with self.session.writing(self.lake, "insert") as tx:
            schema, entry = self.session.find_table(tx, self.lake, self.schema, table)
            directory = self.lake.table_directory(schema, entry)
            layout = plan_layout(self.lake, entry, directory)
            rows = pa.record_batch(
                {"id": pa.array(ids, pa.int64()), "name": pa.array([f"n{i}" for i in ids])}
            )
            files = tuple(write_batches(iter([rows]), layout, make_uuid7().replace("-", "")[-12:]))
            tx.stage(AppendFiles(entry, files))

    def insert_inlined(self, *ids: int, table: str = "t") -> None:
        """Add rows inside the metadata database."""
        with self.session.writing(self.lake, "insert") as tx:
            _, entry = self.session.find_table(tx, self.lake, self.schema, table)
            tx.stage(InlineRows(entry, tuple((i, f"n{i}") for i in ids)))

    def delete(self, *ids: int, table: str = "t", inline_limit: int = 0) -> int:
        """Delete rows by id; so many of one file are noted in the catalog. Returns how many."""
        with self.session.writing(self.lake, "delete") as tx:
            version = self.session.table_version(("lake", self.schema, table))
            contents = load_contents(version)
            batches = [_identities(file, set(ids), contents) for file in contents.files]
            layout = DeleteLayout(
                version.directory, table, tx.snapshot.snapshot_id + 1, inline_limit
            )
            job_id = make_uuid7().replace("-", "")[-12:]
            outcomes = list(write_deletes(iter(batches), layout, job_id))
            places = [i for i, row in enumerate(contents.inlined) if row.values[0] in ids]
            outcomes.append(DeletedRows(None, len(places), tuple(places)))
            stage_outcomes(tx, version, contents, outcomes)
        return sum(each.count for each in outcomes)

    def update(self, *ids: int, table: str = "t", inline_limit: int = 0) -> None:
        """Give rows another name, inside a transaction; few of them stay in the catalog."""
        with self.session.writing(self.lake, "update") as tx:
            old = {row[1]: row[0] for row in self.rows(table)}
            changed = [i for i in ids if i in old]
            self.delete(*changed, table=table, inline_limit=inline_limit)
            schema, entry = self.session.find_table(tx, self.lake, self.schema, table)
            row_ids = tuple(old[i] for i in changed)
            if len(changed) <= inline_limit:
                tx.stage(InlineRows(entry, tuple((i, f"u{i}") for i in changed), row_ids))
                return
            layout = plan_layout(self.lake, entry, self.lake.table_directory(schema, entry))
            layout = replace(layout, extra_columns=(ROW_ID_COLUMN,))
            names = pa.array([f"u{i}" for i in changed])
            batch = pa.record_batch([pa.array(changed), names, pa.array(row_ids)], ["a", "b", "c"])
            files = write_batches(iter([batch]), layout, make_uuid7().replace("-", "")[-12:])
            tx.stage(AppendFiles(entry, tuple(files)))

    def truncate(self, table: str = "t") -> None:
        """TRUNCATE."""
        with self.session.writing(self.lake, "truncate") as tx:
            stage_truncate(tx, self.session.table_version(("lake", self.schema, table)))

    def rows(self, table: str = "t") -> list[tuple[int, int, str]]:
        """The rows that the session sees: row id, and the first two columns."""
        version = self.session.table_version(("lake", self.schema, table))
        contents = load_contents(version)
        found = [(row.row_id, *row.values[:2]) for row in contents.inlined]
        for file in contents.files:
            stored = pq.read_table(file.path)
            gone = _deleted_positions(file, contents) | _later(stored, version.snapshot.snapshot_id)
            ids, names = (stored.column(place).to_pylist() for place in (0, 1))
            first = file.row_id_start or 0
            row_ids = [first + place for place in range(len(ids))]
            if ROW_ID_COLUMN.name in stored.column_names:
                row_ids = stored.column(ROW_ID_COLUMN.name).to_pylist()
            kept = [
                row for i, row in enumerate(zip(row_ids, ids, names, strict=True)) if i not in gone
            ]
            found += kept
        return sorted(found, key=repr)

    def ids(self, table: str = "t") -> list[int]:
        """The ids that the session sees."""
        return sorted(row[1] for row in self.rows(table))

    def alter(self, change: Callable[..., None], *args: Any, table: str = "t", **more: Any) -> None:
        """A call of `operations.alter` on a table."""
        with self.session.writing(self.lake, "alter") as tx:
            _, entry = self.session.find_table(tx, self.lake, self.schema, table)
            change(self.lake, tx, entry, *args, **more)

    def rename_table(self, name: str, to: str) -> None:
        """ALTER TABLE … RENAME TO."""
        with self.session.writing(self.lake, "alter") as tx:
            schema, entry = self.session.find_table(tx, self.lake, self.schema, name)
            alter.rename_table(self.lake, tx, schema, entry, to)

    def sort_by(self, column: str, table: str = "t") -> None:
        """ALTER TABLE … SET SORTED BY."""
        with self.session.writing(self.lake, "alter") as tx:
            _, entry = self.session.find_table(tx, self.lake, self.schema, table)
            set_sorted_by(tx, entry, [SortKey(column)])

    def create_table(self, name: str, *, or_replace: bool = False) -> None:
        """CREATE [OR REPLACE] TABLE."""
        with self.session.writing(self.lake, "create table") as tx:
            schema = self.session.schema_entry(self.lake, tx, self.schema)
            objects.create_table(self.lake, tx, schema, name, COLUMNS, or_replace=or_replace)

    def drop_table(self, name: str) -> None:
        """DROP TABLE."""
        with self.session.writing(self.lake, "drop table") as tx:
            schema = self.session.schema_entry(self.lake, tx, self.schema)
            missing = self.session.missing_table(tx, self.lake, schema, name)
            objects.drop_table(tx, schema, name, if_exists=False, missing=missing)

    def create_schema(self, name: str) -> None:
        """CREATE SCHEMA."""
        with self.session.writing(self.lake, "create schema") as tx:
            objects.create_schema(tx, name)

    def drop_schema(self, name: str) -> None:
        """DROP SCHEMA … CASCADE."""
        with self.session.writing(self.lake, "drop schema") as tx:
            objects.drop_schema(tx, name, where="lake", cascade=True)

    def create_view(self, name: str, sql: str = "SELECT 1 AS one") -> None:
        """CREATE VIEW."""
        with self.session.writing(self.lake, "create view") as tx:
            schema = self.session.schema_entry(self.lake, tx, self.schema)
            views.create_view(tx, schema, name, sql, ())

    def rename_view(self, name: str, to: str) -> None:
        """ALTER VIEW … RENAME TO."""
        with self.session.writing(self.lake, "rename view") as tx:
            schema = self.session.schema_entry(self.lake, tx, self.schema)
            view = tx.local.find_view(schema.schema_id, name)
            if view is None:
                raise LookupError(name)
            views.rename_view(tx, schema, view, to)

    def drop_view(self, name: str) -> None:
        """DROP VIEW."""
        with self.session.writing(self.lake, "drop view") as tx:
            schema = self.session.schema_entry(self.lake, tx, self.schema)
            missing = self.session.missing_table(tx, self.lake, schema, name)
            views.drop_view(tx, schema, name, if_exists=False, missing=missing)

    def create_macro(self, name: str) -> None:
        """CREATE MACRO."""
        with self.session.writing(self.lake, "create macro") as tx:
            schema = self.session.schema_entry(self.lake, tx, self.schema)
            body = MacroImplementation("duckdb", "1", "scalar")
            views.create_macro(tx, schema, name, [body])

    def drop_macro(self, name: str) -> None:
        """DROP MACRO."""
        with self.session.writing(self.lake, "drop macro") as tx:
            schema = self.session.schema_entry(self.lake, tx, self.schema)
            views.drop_macro(tx, schema, name, is_table=False, if_exists=False)

    def comment(self, name: str, text: str | None, *, column: str | None = None) -> None:
        """COMMENT ON TABLE, VIEW or COLUMN."""
        with self.session.writing(self.lake, "comment") as tx:
            schema = self.session.schema_entry(self.lake, tx, self.schema)
            target = tx.local.find_view(schema.schema_id, name) or tx.local.find_table(
                schema.schema_id, name
            )
            if target is None:
                raise LookupError(name)
            views.comment_on(tx, target, text, column=column)

    def count(self, table: str = "t") -> int | None:
        """How many rows the session sees; None when there is no such table."""
        from ducklake_spark.operations.count_rows import count_rows

        with self.session.reading(self.lake) as tx:
            schema = tx.local.find_schema(self.schema)
            if schema is None or tx.local.find_table(schema.schema_id, table) is None:
                return None
        return count_rows(self.session.table_version(("lake", self.schema, table)))


def _later(stored: pa.Table, snapshot_id: int) -> set[int]:
    """Places of rows that came after a snapshot, in a file that was merged from several."""
    if "_ducklake_internal_snapshot_id" not in stored.column_names:
        return set()
    born = stored.column("_ducklake_internal_snapshot_id").to_pylist()
    return {place for place, each in enumerate(born) if each > snapshot_id}


def _deleted_positions(file: DataFile, contents: Contents) -> set[int]:
    gone = {place for file_id, place in contents.inlined_deletes if file_id == file.data_file_id}
    if file.delete_file is not None:
        gone |= set(pq.read_table(file.delete_file.path).column("pos").to_pylist())
    return gone


def _identities(file: DataFile, ids: set[int], contents: Contents) -> pa.RecordBatch:
    """What a task gets to delete rows of a file."""
    gone = _deleted_positions(file, contents)
    stored = pq.read_table(file.path).column("id").to_pylist()
    places = [i for i, each in enumerate(stored) if each in ids and i not in gone]
    facts = FileFacts(file.data_file_id, file.path, file.record_count, file.delete_file)
    rows = len(places) + 1
    return pa.record_batch(
        {
            "file": pa.array([file.data_file_id] * rows, pa.int64()),
            "position": pa.array([-1, *places], pa.int64()),
            "facts": pa.array([pickle.dumps(facts), *[None] * len(places)], pa.binary()),
        }
    )


def table_files(location: LakeLocation) -> list[str]:
    """The files that are in the storage, below the data path."""
    from pathlib import Path

    root = Path(location.data_path)
    return sorted(str(path) for path in root.rglob("*.parquet")) if root.exists() else []


def numbered(names: Sequence[str]) -> list[tuple[int, str, str]]:
    """Every ordered pair, with its place."""
    return [(n, *pair) for n, pair in enumerate(itertools.product(names, repeat=2))]


def rewrite_here(groups, progress=None):
    """Rewrite groups of files in this process, as tasks of Spark do."""
    from ducklake_spark.parquet.rewrite import rewrite_group

    return [
        rewrite_group(group, make_uuid7().replace("-", "")[-12:], task_id=0) for group in groups
    ]


class Keeper:
    """Maintenance of one lake without a JVM: each call is a transaction, unless one is open."""

    def __init__(self, session: Session, schema: str | None = None) -> None:
        self.session = session
        self.lake = session.current_lake()
        self.schema = schema  # None: all of them

    def _files(self, tx):
        from ducklake_spark.operations.compact import TableFiles

        return [
            TableFiles(self.lake, tx, tx.local.schema(table.schema_id), table, self.lake.settings())
            for table in tx.local.tables()
            if self.schema in (None, tx.local.schema(table.schema_id).name)
        ]

    def flush(self) -> tuple:
        from ducklake_spark.operations.flush_inlined_data import flush_inlined_data

        with self.session.writing(self.lake, "flush") as tx:
            return flush_inlined_data(_no_spark, self._files(tx)).rows

    def merge(self, **limits) -> tuple:
        from ducklake_spark.operations.merge_adjacent_files import (
            MergeLimits,
            merge_adjacent_files,
        )

        with self.session.writing(self.lake, "merge") as tx:
            done = merge_adjacent_files(rewrite_here, self._files(tx), MergeLimits(**limits))
        return done.rows.rows

    def rewrite(self, threshold: float | None = None) -> tuple:
        from ducklake_spark.operations.rewrite_data_files import rewrite_data_files

        with self.session.writing(self.lake, "rewrite") as tx:
            return rewrite_data_files(rewrite_here, self._files(tx), threshold).rows.rows


def _no_spark():
    raise AssertionError("no Spark is needed for this")

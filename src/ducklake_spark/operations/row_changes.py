"""Change single rows of a table: what DELETE, UPDATE, MERGE and overwriting are made of.

A row is told apart from all others of its table by the identity columns `FILE_ID` and `POSITION`
(of `spark.internal`): the data file and the place in it, or NULL and the place among the inlined
rows. They mean something together with the `Target` that they come from only. `KEPT_ROW_ID` is the
row id that a new version of the row must have; it is NULL for a row that the open transaction has
added itself, whose id is not known before the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ducklake_spark.bridge.frames import rename
from ducklake_spark.commit.transaction import Transaction
from ducklake_spark.lake import Lake, remove_files
from ducklake_spark.model.changes import DeleteFromFiles, FileDeletes, InlineDeletes
from ducklake_spark.model.entities import DataFile, DeleteFile, TableEntry
from ducklake_spark.model.paths import resolve
from ducklake_spark.model.written import WrittenDeletes, WrittenFile
from ducklake_spark.operations.append import ROW_ID_COLUMN, stage_rows
from ducklake_spark.operations.contents import Contents, TableVersion, load_contents
from ducklake_spark.operations.read import read_contents
from ducklake_spark.operations.write_layout import plan_layout
from ducklake_spark.parquet.delete_files import DeletedRows, DeleteLayout, FileFacts
from ducklake_spark.plan.layout import WriteLayout
from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.spark.internal import (
    FILE_ID,
    IDENTITY_TYPES,
    KEPT_ROW_ID,
    POSITION,
    WRITTEN,
)
from ducklake_spark.spark.jobs import run_job, run_together
from ducklake_spark.spark.write import write_files
from ducklake_spark.spark.write_changes import write_changes
from ducklake_spark.spark.write_deletes import fits_driver, write_delete_files, write_deletes_of

IDENTITY: Final = tuple(IDENTITY_TYPES)


@dataclass(frozen=True)
class Target:
    """The rows of a table in one state, each with its identity.

    Attributes:
        version: the table; its `local` is that of the transaction that will change it.
        contents: what the state consists of.
    """

    spark: SparkSession
    version: TableVersion
    contents: Contents

    @property
    def table(self) -> TableEntry:
        """The table whose rows these are."""
        return self.version.table

    @property
    def has_own_rows(self) -> bool:
        """Whether some rows were added by the open transaction, so that they may have no ids."""
        own_files = any(file.data_file_id < 0 for file in self.contents.files)
        return own_files or any(row.table_name is None for row in self.contents.inlined)

    def frame(self, virtual_columns: Sequence[str] = ()) -> DataFrame:
        """The table's columns, then `IDENTITY`, then the virtual columns asked for.

        Filters on it leave out files as those of a SELECT do.
        """
        names = (*IDENTITY, *virtual_columns)
        return read_contents(self.spark, self.version, self.contents, virtual_columns=names)


def open_target(spark: SparkSession, version: TableVersion) -> Target:
    """The rows of a table that are about to be changed."""
    return Target(spark, version, load_contents(version))


def stage_deletes(tx: Transaction, target: Target, identities: DataFrame) -> int:
    """Delete rows; returns how many.

    Few rows of a file are noted in the catalog, more of them make a delete file, and a file
    without a row left is ended, as the reference does it.

    Args:
        tx: the transaction that has seen `target`.
        target: the rows as they are.
        identities: has the columns `FILE_ID` and `POSITION`. A row may be there more than once.
    """
    outcomes = write_delete_files(
        identities, file_facts(target.contents.files), delete_layout(tx, target.version)
    )
    try:
        stage_outcomes(tx, target.version, target.contents, outcomes)
    except BaseException:
        remove_files(each.written.path for each in outcomes if each.written is not None)
        raise
    return sum(each.count for each in outcomes)


@dataclass(frozen=True)
class Changed:
    """How many rows a change has done something to.

    Attributes:
        deleted: rows that are gone, or that others have replaced.
        inserted: rows that replace none.
        updated: rows that replace others.
    """

    deleted: int
    inserted: int = 0
    updated: int = 0


def stage_changes(
    tx: Transaction,
    target: Target,
    changes: DataFrame,
    *,
    inserts: bool = False,
    deletes: bool = False,
) -> Changed:
    """Delete rows, and write rows in their place or in addition.

    All of it is computed once, so that what is deleted and what is written fit together also when
    an expression gives something else each time.

    Args:
        tx: the transaction that has seen `target`.
        target: the rows as they are.
        changes: the table's columns, of their carrier types and in their order; then `IDENTITY`;
            then the boolean `WRITTEN`. `POSITION` is NULL in a row that replaces none. A row that
            is not `WRITTEN` is only deleted. `KEPT_ROW_ID` is the id that the written row shall
            have, NULL for a new one. No row may be there twice, unless all that happens to it is
            that it is deleted: that is an error.
        inserts: whether there may be rows that replace none.
        deletes: whether there may be rows that are only deleted.
    """
    names = [f"c{i}" for i in range(len(target.table.schema.columns))]
    named = rename(changes, [*names, *IDENTITY, WRITTEN])
    written = _Written()
    try:
        if fits_driver(file_facts(target.contents.files)):
            inserted = _write_at_once(tx, target, named, written)
        else:
            inserted = _write_in_steps(tx, target, named, written, inserts=inserts, deletes=deletes)
        stage_outcomes(tx, target.version, target.contents, written.deletes)
        _stage_written(tx, target, written, inserts=inserts)
    except BaseException:
        # Until they are staged, no rollback knows of them.
        remove_files(written.paths)
        raise
    rows = sum(file.record_count for file in (*written.new, *written.kept))
    return Changed(sum(each.count for each in written.deletes), inserted, rows - inserted)


def _write_at_once(tx: Transaction, target: Target, changes: DataFrame, written: _Written) -> int:
    """Let one job write the rows and find what they replace. Returns how many replace none."""
    new, kept = _row_layouts(target)
    done = write_changes(changes, new, kept)
    written.new, written.kept = done.new, done.kept
    layout = replace(delete_layout(tx, target.version), unique=True)
    written.deletes = write_deletes_of(done.gone, file_facts(target.contents.files), layout)
    return done.inserted


def _write_in_steps(
    tx: Transaction,
    target: Target,
    changes: DataFrame,
    written: _Written,
    *,
    inserts: bool,
    deletes: bool,
) -> int:
    """The same where the driver could not hold what goes: tasks write the delete files too.

    The changes are computed once, for several jobs.
    """
    with spark_failures(f'change rows of table "{target.table.name}"'):
        computed = run_job(target.spark, changes.localCheckpoint)
    gone = computed.where(F.col(POSITION).isNotNull()).select(FILE_ID, POSITION, WRITTEN)
    gone = _once(gone) if deletes else gone
    layout = replace(delete_layout(tx, target.version), unique=True)
    fresh = inserts or target.has_own_rows
    writes = _row_writes(target, computed.where(WRITTEN), written, fresh=fresh)
    delete: Callable[[], None] = partial(_write_deletes, target, gone, layout, written)
    run_together(target.spark, [delete, *writes])
    if inserts and target.has_own_rows:
        own = computed.where(F.col(WRITTEN) & F.col(POSITION).isNull())
        return run_job(target.spark, own.count)
    return sum(file.record_count for file in written.new) if inserts else 0


def _stage_written(tx: Transaction, target: Target, written: _Written, *, inserts: bool) -> None:
    """As in the extension, rows that a MERGE adds are in files, however few they are."""
    lake, table = target.version.lake, target.table
    if not inserts:
        stage_rows(lake, tx, table, written.new, written.kept)
        return
    stage_rows(lake, tx, table, (), written.kept)
    stage_rows(lake, tx, table, written.new, inline=False)


def _once(gone: DataFrame) -> DataFrame:
    """A row that is deleted more than once is there once."""
    deleted = gone.where(~F.col(WRITTEN)).dropDuplicates([FILE_ID, POSITION])
    return gone.where(WRITTEN).unionAll(deleted)


@dataclass
class _Written:
    """What the jobs of one statement have written so far."""

    deletes: list[DeletedRows] = field(default_factory=list)
    new: list[WrittenFile] = field(default_factory=list)
    kept: list[WrittenFile] = field(default_factory=list)

    @property
    def paths(self) -> list[str]:
        deletes = [each.written.path for each in self.deletes if each.written is not None]
        return [*deletes, *(file.path for file in (*self.new, *self.kept))]


def _write_deletes(
    target: Target, gone: DataFrame, layout: DeleteLayout, written: _Written
) -> None:
    written.deletes = write_delete_files(gone, file_facts(target.contents.files), layout)


def _row_writes(
    target: Target, rows: DataFrame, written: _Written, *, fresh: bool
) -> Iterator[Callable[[], None]]:
    """New rows and those with ids of their own go to different files: only the latter say ids."""
    layout, with_ids = _row_layouts(target)
    columns = [f"c{i}" for i in range(len(target.table.schema.columns))]
    row_id = F.col(KEPT_ROW_ID)
    kept = rows.where(row_id.isNotNull()).select(*columns, KEPT_ROW_ID)
    yield lambda: written.kept.extend(write_files(kept, with_ids, selected=True))
    if fresh:
        new = rows.where(row_id.isNull()).select(*columns)
        yield lambda: written.new.extend(write_files(new, layout, selected=True))


def _row_layouts(target: Target) -> tuple[WriteLayout, WriteLayout]:
    """How new rows are written, and those with ids of their own."""
    layout = plan_layout(target.version.lake, target.table, target.version.directory)
    return layout, replace(layout, extra_columns=(ROW_ID_COLUMN,))


def delete_layout(tx: Transaction, version: TableVersion) -> DeleteLayout:
    """How the deletes of a statement are stored."""
    table = version.table
    return DeleteLayout(
        directory=version.directory,
        table_name=table.name,
        snapshot_id=tx.snapshot.snapshot_id + 1,
        inline_limit=version.lake.effective_inlining_limit(table.schema_id, table.table_id),
    )


def file_facts(files: Sequence[DataFile]) -> list[FileFacts]:
    """What has to be known of files to delete rows of them."""
    return [
        FileFacts(file.data_file_id, file.path, file.record_count, file.delete_file)
        for file in files
    ]


def stage_outcomes(
    tx: Transaction, version: TableVersion, contents: Contents, outcomes: Sequence[DeletedRows]
) -> None:
    """Stage what `write_delete_files` did; no Spark is needed.

    Positions of outcomes without a data file are places among the inlined rows of `contents`.
    """
    table = version.table
    files = {file.data_file_id: file for file in contents.files}
    committed = [each for each in outcomes if (each.data_file_id or 0) >= 0]
    deletes = tuple(
        FileDeletes(each.data_file_id, each.written, _replaced(version.lake, files, each))
        for each in committed
        if each.data_file_id is not None and each.written is not None
    )
    ended = tuple(
        each.data_file_id for each in committed if each.data_file_id is not None and each.ended
    )
    if deletes or ended:
        tx.stage(DeleteFromFiles(table, deletes, ended))
    positions = tuple(
        (each.data_file_id, position)
        for each in committed
        if each.data_file_id is not None
        for position in each.positions
    )
    places = [p for each in outcomes if each.data_file_id is None for p in each.positions]
    rows = [contents.inlined[place] for place in places]
    stored = tuple(
        (row.table_name, row.row_id)
        for row in rows
        if row.table_name is not None and row.row_id is not None
    )
    if positions or stored:
        tx.stage(InlineDeletes(table, positions, stored))
    _delete_own(tx, table, contents, outcomes, places)


def _replaced(lake: Lake, files: Mapping[int, DataFile], outcome: DeletedRows) -> DeleteFile | None:
    """The committed delete file whose place the written one takes."""
    old = files[outcome.data_file_id or 0].delete_file
    if old is None or old.delete_file_id < 0:
        return None
    root = resolve(lake.data_path)
    below = old.path.removeprefix(root) if old.path.startswith(root) else None
    return replace(old, stored_path=below)


def _delete_own(
    tx: Transaction,
    table: TableEntry,
    contents: Contents,
    outcomes: Sequence[DeletedRows],
    places: Sequence[int],
) -> None:
    """Take back rows that the transaction itself has added."""
    files: dict[int, WrittenDeletes | None] = {
        -1 - each.data_file_id: each.written
        for each in outcomes
        if each.data_file_id is not None and each.data_file_id < 0
    }
    first = sum(row.table_name is not None for row in contents.inlined)
    rows = {place - first for place in places if place >= first}
    if files or rows:
        tx.delete_own(table.table_id, files, rows)

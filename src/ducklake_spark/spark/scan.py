"""From a planned scan to a DataFrame: a union of native relations, less the rows that are hidden.

Runs on the driver. No job is started; no file is touched before Spark plans the query.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from ducklake_spark.bridge.columns import known_not_null
from ducklake_spark.bridge.frames import keep_column, select
from ducklake_spark.bridge.relation import Estimate
from ducklake_spark.caching import Cache, declare
from ducklake_spark.errors import InvalidInput
from ducklake_spark.model.entities import DataFile
from ducklake_spark.model.literals import parse_text
from ducklake_spark.model.names import quote_for_spark
from ducklake_spark.model.predicate import Constant, Predicate
from ducklake_spark.model.schema import Column
from ducklake_spark.plan.listing import Listing
from ducklake_spark.plan.scan import Branch, ScanPlan
from ducklake_spark.plan.stored import ColumnRead
from ducklake_spark.spark.arrow_scan import read_with_arrow
from ducklake_spark.spark.deletes import DeletedBits, find_bits, hide_deleted
from ducklake_spark.spark.filters import FilterColumn
from ducklake_spark.spark.internal import (
    ADDED_AT,
    BEGIN,
    FILE_ID,
    HIDDEN_FROM,
    IDENTITY_TYPES,
    KEPT_ROW_ID,
    POSITION,
    ROW_ID,
    ROW_ID_FIELD,
    ROW_START,
    SNAPSHOT,
    SNAPSHOT_FIELD,
    VIRTUAL_TYPES,
)
from ducklake_spark.spark.local import local_frame
from ducklake_spark.spark.relation import (
    Choice,
    FileChooser,
    ListedFile,
    MappedFiles,
    RelationSource,
    build_relation,
)
from ducklake_spark.spark.storage import (
    FIELD_ID,
    adapt,
    default_value,
    is_raw,
    storage_field,
)

_TYPES: Final = VIRTUAL_TYPES | IDENTITY_TYPES | {ADDED_AT: "int64"}
_CONSTANTS: Final = StructType(
    [StructField(name, LongType()) for name in (FILE_ID, ROW_START, BEGIN)]
)
_ROW_INDEX: Final = "_tmp_metadata_row_index"  # the reader fills a column of this name
_WITH_BITS: Final = StructType([*_CONSTANTS.fields, StructField(HIDDEN_FROM, LongType())])


def scan(
    spark: SparkSession,
    plan: ScanPlan,
    choose: FileChooser,
    *,
    inlined: Sequence[DataFrame] = (),
    inlined_deletes: Sequence[tuple[int, int]] = (),
    virtual_columns: Sequence[str] = (),
    estimates: Mapping[int, Mapping[str, Any]] = MappingProxyType({}),
) -> DataFrame:
    """The rows of a table at a snapshot, with the table's columns and then the virtual ones.

    Args:
        spark: the session.
        plan: which files are read, and how.
        choose: which of them a filter can match; called when Spark plans a query's execution.
        inlined: rows that live in the catalog, as frames of the very same columns.
        inlined_deletes: (data file id, position) of rows that the catalog says are deleted.
        virtual_columns: of rowid, snapshot_id, filename, file_row_number, file_index, and of
            those that tell rows apart, `IDENTITY_TYPES` and `ADDED_AT`.
        estimates: what the optimizer is told of columns, by id.
    """
    _check_virtual(virtual_columns)
    chosen = _remembering(choose)
    context = _Context(
        spark, plan, chosen, tuple(inlined_deletes), tuple(virtual_columns), estimates
    )
    frames = [*(context.read(branch) for branch in plan.branches), *inlined]
    if not frames:
        extra = [Column(-1, name, _TYPES[name]) for name in virtual_columns]
        return local_frame(spark, [*plan.table.schema.columns, *extra], [])
    return functools.reduce(DataFrame.union, frames)


def _check_virtual(names: Sequence[str]) -> None:
    for name in names:
        if name not in _TYPES:
            known = ", ".join(VIRTUAL_TYPES)
            raise InvalidInput(f'There is no virtual column "{name}".', hint=f"there are {known}.")


_CHOSEN: Final = declare(
    "chosen files",
    key="the predicate that Spark pushes down",
    depends_on="the files of one frame at its snapshot, and their statistics",
    seen_by="statement",
    emptied="with the frame",
    entries=16,
)

_Chosen = tuple[Mapping[int, DataFile], Mapping[str, int]]


def _remembering(choose: FileChooser) -> Callable[[Predicate], _Chosen]:
    """Ask once for a predicate, of which each branch is asked: files by id, and exclusions."""
    kept: Cache[Predicate, _Chosen] = _CHOSEN.make()

    def chosen(predicate: Predicate) -> _Chosen:
        files = {file.data_file_id: file for file in choose(predicate)}
        excluded = getattr(getattr(choose, "last", None), "excluded", {})
        return files, dict(excluded)

    return lambda predicate: kept.find(predicate, lambda: chosen(predicate))


class _Context:
    """What all branches of one scan share."""

    def __init__(
        self,
        spark: SparkSession,
        plan: ScanPlan,
        chosen: Callable[[Predicate], _Chosen],
        inlined_deletes: Sequence[tuple[int, int]],
        virtual: Sequence[str],
        estimates: Mapping[int, Mapping[str, Any]],
    ) -> None:
        self.estimates = estimates
        self.spark = spark
        self.plan = plan
        self.chosen = chosen
        self.inlined_deletes = inlined_deletes
        self.virtual = virtual

    @property
    def label(self) -> str:
        at = f"at snapshot {self.plan.snapshot_id}"
        if self.plan.since is not None:
            at = f"from snapshot {self.plan.since} to {self.plan.snapshot_id}"
        return f'table "{self.plan.table.name}" {at}'

    def read(self, branch: Branch) -> DataFrame:
        """The rows of one branch, with the columns of the scan."""
        bits = self._bits(branch)
        frame = self._arrow(branch) if branch.reader == "arrow" else self._native(branch, bits)
        if branch.later:
            frame = frame.where(_visible(self.plan))
        if bits is not None:
            frame = frame.where(bits.visible)
        elif branch.deletes:
            frame = hide_deleted(self.spark, frame, self.plan, branch, self.inlined_deletes)
        if facts := self._file_facts(branch):
            frame = frame.join(F.broadcast(facts), FILE_ID, "inner")
        key = (branch.columns, branch.reader, self.virtual, self.plan.table.name)
        return select(frame, key, lambda: self._selection(branch))

    def _selection(self, branch: Branch) -> Iterator[SparkColumn]:
        for read in branch.columns:
            yield _shown(read, decoded=branch.reader == "arrow")
        for name in self.virtual:
            yield self._virtual(name).alias(name)

    def _bits(self, branch: Branch) -> DeletedBits | None:
        if not branch.deletes:
            return None
        return find_bits(self.spark, self.plan, branch, self.inlined_deletes)

    def _native(self, branch: Branch, bits: DeletedBits | None) -> DataFrame:
        fields = [_field(read, branch) for read in branch.columns if read.stored is not None]
        fields += self._embedded(branch)
        if branch.deletes or {"rowid", "file_row_number", *IDENTITY_TYPES} & set(self.virtual):
            fields.append(StructField(_ROW_INDEX, LongType()))
        frame = build_relation(
            self.spark,
            RelationSource(
                label=self.label,
                schema=StructType(fields),
                constants=_CONSTANTS if bits is None else _WITH_BITS,
                columns=filter_columns(branch),
                estimate=Estimate(
                    f"{self.plan.table.name} (snapshot {self.plan.snapshot_id})",
                    _rows(branch),
                    self._column_estimates(branch),
                ),
                **self._files(branch, bits),
            ),
        )
        if fields and fields[-1].name == _ROW_INDEX:
            # Were a position compared, and Spark put the constant for it wherever it stands, what
            # is left of other conditions might have to be decided file by file.
            frame = frame.withColumn(POSITION, keep_column(self.spark, _ROW_INDEX, _position))
        return frame

    def _column_estimates(self, branch: Branch) -> dict[str, Mapping[str, Any]]:
        """Those of the columns that the files have, by the names that are asked of the files."""
        found: dict[str, Mapping[str, Any]] = {}
        if len(self.plan.branches) > 1:
            return found  # they are of all rows of the table
        for read in branch.columns:
            told = self.estimates.get(read.column.column_id)
            if told is not None and read.stored is not None:
                found[_field(read, branch).name] = told
        return found

    def _arrow(self, branch: Branch) -> DataFrame:
        embedded = self._embedded(branch)
        files = tuple(_listed(file) for file in branch.files)
        return read_with_arrow(
            self.spark, branch, files, constants=_CONSTANTS, embedded=embedded, label=self.label
        )

    def _embedded(self, branch: Branch) -> list[StructField]:
        """Columns that writers add; NULL in files that have none, so in all with a name mapping."""
        wanted = []
        if {"rowid", KEPT_ROW_ID} & set(self.virtual):
            wanted.append((ROW_ID, ROW_ID_FIELD))
        if branch.later or {"snapshot_id", ADDED_AT} & set(self.virtual):
            wanted.append((SNAPSHOT, SNAPSHOT_FIELD))
        return [
            StructField(name, LongType(), True, {} if branch.by_name else {FIELD_ID: field_id})
            for name, field_id in wanted
        ]

    def _files(self, branch: Branch, bits: DeletedBits | None) -> dict[str, Any]:
        """What the relation of a branch knows of its files, and how it chooses among them."""
        if isinstance(branch.files, Listing):
            listing = branch.files
            return {
                "files": MappedFiles(listing, _listed),
                "size": listing.size,
                "choose": functools.partial(self._choose_of_listing, listing),
            }
        listed = {file.data_file_id: _listed(file, bits) for file in branch.files}
        choose = functools.partial(self._choose, listed)
        return {"files": tuple(listed.values()), "choose": choose}

    def _choose_of_listing(self, listing: Listing, predicate: Predicate) -> Choice:
        chosen, excluded = self.chosen(predicate)
        return Choice([_listed(file) for file in chosen.values() if listing.holds(file)], excluded)

    def _choose(self, listed: Mapping[int, ListedFile], predicate: Predicate) -> Choice:
        if predicate == Constant(True):
            return Choice(tuple(listed.values()))
        chosen, excluded = self.chosen(predicate)
        files = [file for file_id, file in listed.items() if file_id in chosen]
        return Choice(files, excluded)

    def _file_facts(self, branch: Branch) -> DataFrame | None:
        """Facts of a file that are no numbers, to be joined by its id."""
        names = [name for name in ("filename", "file_index") if name in self.virtual]
        if not names and not branch.hive:
            return None
        columns = [Column(-1, FILE_ID, "int64"), *(_hive_column(c) for c in branch.hive_columns)]
        columns += [Column(-1, _fact(name), VIRTUAL_TYPES[name]) for name in names]
        hive = dict(branch.hive)
        order = {file.data_file_id: index for index, file in enumerate(self.plan.files)}
        rows = []
        for file in branch.files:
            texts = hive.get(file.data_file_id, ())
            values = [
                None if text is None else parse_text(text, column.type)
                for text, column in zip(texts, branch.hive_columns, strict=True)
            ]
            facts = {"filename": file.path, "file_index": order[file.data_file_id]}
            rows.append((file.data_file_id, *values, *(facts[name] for name in names)))
        return local_frame(self.spark, columns, rows)

    def _virtual(self, name: str) -> SparkColumn:
        match name:
            case "rowid":
                name = self.plan.table.name
                reason = f'A file of table "{name}" says nothing about the row ids of its rows.'
                unknown = F.raise_error(F.lit(reason)).cast("bigint")
                return F.coalesce(F.col(ROW_ID), F.col(ROW_START) + F.col(POSITION), unknown)
            case "snapshot_id":
                return F.coalesce(F.col(SNAPSHOT), F.col(BEGIN))
            case "file_row_number":
                return F.col(POSITION)
            case _ if name == ADDED_AT:
                return self._virtual("snapshot_id")
            case _ if name in (FILE_ID, POSITION):
                return F.col(name)
            case _ if name == KEPT_ROW_ID:
                # One of the open transaction has its id, if any, in the file.
                return F.when(F.col(FILE_ID) < 0, F.col(ROW_ID)).otherwise(self._virtual("rowid"))
            case _:
                return F.col(_fact(name))


def _rows(branch: Branch) -> int | None:
    if isinstance(branch.files, Listing):
        return None
    deleted = sum(file.delete_file.delete_count for file in branch.files if file.delete_file)
    return max(sum(file.record_count for file in branch.files) - deleted, 0)


def _position() -> SparkColumn:
    return known_not_null(F.col(_ROW_INDEX))


def _listed(file: DataFile, bits: DeletedBits | None = None) -> ListedFile:
    # A file of the open transaction belongs to no snapshot yet.
    begin = file.begin_snapshot if file.data_file_id >= 0 else None
    constants: tuple[int | None, ...] = (file.data_file_id, file.row_id_start, begin)
    if bits is not None:
        constants = (*constants, bits.starts.get(file.data_file_id))
    return ListedFile(file.path, file.file_size_bytes, constants)


def _field(read: ColumnRead, branch: Branch) -> StructField:
    stored = read.stored
    assert stored is not None  # noqa: S101 - callers leave absent columns out
    return storage_field(stored, by_name=branch.by_name, top=True)


def _visible(plan: ScanPlan) -> SparkColumn:
    reason = (
        f'A file of table "{plan.table.name}" holds rows of several snapshots, '
        "but not which row is of which."
    )
    unknown = F.raise_error(F.lit(reason)).cast("boolean")
    snapshot = F.col(SNAPSHOT)
    wanted = snapshot <= plan.snapshot_id
    if plan.since is not None:
        wanted &= snapshot >= plan.since
    return F.when(snapshot.isNull(), unknown).otherwise(wanted)


def _hive_column(column: Column) -> Column:
    return Column(column.column_id, _fact(column.name), column.type_name, column.children)


def _fact(name: str) -> str:
    return f"__ducklake_fact_{name}"


def _shown(read: ColumnRead, *, decoded: bool) -> SparkColumn:
    column, stored = read.column, read.stored
    if read.hive is not None:
        value = F.col(quote_for_spark(_fact(column.name)))
    elif decoded:
        value = F.col(quote_for_spark(column.name))
    elif stored is None:
        value = default_value(column)
    else:
        value = adapt(F.col(quote_for_spark(stored.name)), stored, column)
    # Ids and defaults of the reader's columns are no business of whoever uses the frame.
    return value.alias(column.name, metadata={})


def filter_columns(branch: Branch) -> dict[str, FilterColumn]:
    """What filters on the columns of a branch's relation mean to the catalog's statistics."""
    return {
        read.stored.name: _filter_column(read.column, read.stored)
        for read in branch.columns
        if read.stored is not None
    }


def _filter_column(column: Column, stored: Column) -> FilterColumn:
    same = stored.type_name.lower() == column.type_name.lower()
    fields: dict[str, Any] = {}
    if column.type_name.lower() == "struct":
        wanted = {child.column_id: child for child in column.children}
        fields = {
            child.name: _filter_column(wanted[child.column_id], child)
            for child in stored.children
            if child.column_id in wanted
        }
    comparable = same and not column.children and not is_raw(stored)
    return FilterColumn(column.column_id, column.type_name.lower(), comparable, fields)

"""ALTER TABLE: columns, fields, rules and names. Nothing here starts Spark but SET NOT NULL."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import SparkSession

from ducklake_spark.commit.transaction import Transaction
from ducklake_spark.errors import AlreadyExists, InvalidInput, NotSupported
from ducklake_spark.lake import Lake
from ducklake_spark.model import evolution as ev
from ducklake_spark.model.changes import AlterTable, RenameTable, SetSort
from ducklake_spark.model.entities import SchemaEntry, SortSpec, TableEntry
from ducklake_spark.model.schema import Default, build_column
from ducklake_spark.model.types import DataType, ListType, MapType, StructType
from ducklake_spark.operations.contents import TableVersion
from ducklake_spark.operations.nulls import check_no_nulls
from ducklake_spark.operations.objects import NewColumn, check_column, check_reserved


def add_column(
    lake: Lake,
    tx: Transaction,
    table: TableEntry,
    path: ev.Path,
    column: NewColumn,
    *,
    if_not_exists: bool = False,
) -> None:
    """ADD COLUMN; with a path, a field of the struct there."""
    if ev.has_path(table.schema, (*path, column.name), table=table.name) and if_not_exists:
        return
    _check_new(table, column)
    if not path:
        _check_reserved(lake, table, column.name)
    ids = itertools.count(tx.local.next_column_id(table))
    node = build_column(
        column.name,
        column.type,
        ids,
        initial_default=column.initial_default,
        default=column.default,
    )
    if path:
        _stage(lake, tx, table, ev.add_field(table.schema, path, node, table=table.name))
    else:
        _stage(lake, tx, table, ev.add_column(table.schema, node, table=table.name))


def drop_column(
    lake: Lake, tx: Transaction, table: TableEntry, path: ev.Path, *, if_exists: bool = False
) -> None:
    """DROP COLUMN of a column or field."""
    if if_exists and not ev.has_path(table.schema, path, table=table.name):
        return
    if len(path) == 1 and table.partition is not None:
        column = table.schema.get(path[0], table=table.name)
        if any(field.column_id == column.column_id for field in table.partition.fields):
            raise InvalidInput(
                f'Cannot drop column "{column.name}" of table "{table.name}": the table is '
                "partitioned by this column.",
                hint="reset or change the partitioning first: ALTER TABLE … RESET PARTITIONED BY.",
            )
    _stage(lake, tx, table, ev.drop_node(table.schema, path, table=table.name))


def rename_column(
    lake: Lake,
    tx: Transaction,
    table: TableEntry,
    path: ev.Path,
    to: str,
    *,
    sort: SortSpec | None = None,
) -> None:
    """RENAME COLUMN of a column or field. `sort` are the sort keys with the new name."""
    if len(path) == 1:
        table.schema.get(path[0], table=table.name)
        _check_reserved(lake, table, to)
    changed = ev.rename_node(table.schema, path, to, table=table.name)
    if len(path) > 1 or table.sort is None:
        _stage(lake, tx, table, changed)
        return
    # The reference sets the sort keys anew whichever column it was; the same ones leave no rows.
    spec = SortSpec(tx.local.provisional_id(), (sort or table.sort).keys)
    if spec.keys != table.sort.keys or table.sort.sort_id < 0:
        _stage(lake, tx, replace(table, sort=spec), changed, new_sort=True)
        return
    _stage(lake, tx, table, changed)
    tx.stage(SetSort(tx.local.table(table.table_id), spec, spec.sort_id, exact=True))


def change_type(
    lake: Lake, tx: Transaction, table: TableEntry, path: ev.Path, kind: DataType
) -> None:
    """SET DATA TYPE: a promotion, or other fields of a struct."""
    ids = itertools.count(tx.local.next_column_id(table))
    changed = ev.change_type(table.schema, path, kind, ids, table=table.name)
    if changed.ended or changed.written:
        _stage(lake, tx, table, changed)


def set_default(
    lake: Lake, tx: Transaction, table: TableEntry, path: ev.Path, default: Default | None
) -> None:
    """SET DEFAULT, or DROP DEFAULT with None."""
    changed = ev.change_default(table.schema, path, default, table=table.name)
    column = table.schema.get(path[0], table=table.name)
    if default is not None and isinstance(column.type, ListType | MapType | StructType):
        raise NotSupported(
            f'Cannot set a default for column "{column.name}" of table "{table.name}": DuckLake '
            "stores no defaults for lists, structs and maps."
        )
    _stage(lake, tx, table, changed)


def set_not_null(
    lake: Lake,
    tx: Transaction,
    table: TableEntry,
    path: ev.Path,
    *,
    not_null: bool,
    spark: Callable[[], SparkSession],
) -> None:
    """SET or DROP NOT NULL. Setting it needs a column that holds no NULL."""
    changed = ev.change_nulls(table.schema, path, allowed=not not_null, table=table.name)
    if not_null:
        column = table.schema.get(path[0], table=table.name)
        version = TableVersion(lake, table, tx.snapshot, tx.local.base, tx.local)
        check_no_nulls(version, column, spark)
    _stage(lake, tx, table, changed, not_null=not_null)


def rename_table(
    lake: Lake, tx: Transaction, schema: SchemaEntry, table: TableEntry, to: str
) -> None:
    """RENAME TO. The files stay where they are."""
    taken = tx.local.find_table(schema.schema_id, to) or tx.local.find_view(schema.schema_id, to)
    if taken is not None and not (
        isinstance(taken, TableEntry) and taken.table_id == table.table_id
    ):
        raise AlreadyExists(
            f'Cannot rename table "{table.name}" to "{to}": "{to}" already exists in schema '
            f'"{schema.name}".'
        )
    renamed = replace(table, name=to)
    tx.stage(RenameTable(renamed, schema.name, _may_inline(lake, table)))


def _stage(
    lake: Lake,
    tx: Transaction,
    table: TableEntry,
    changed: ev.Evolution,
    *,
    new_sort: bool = False,
    not_null: bool = False,
) -> None:
    comments = {i: t for i, t in table.column_comments.items() if i in changed.schema.by_id}
    after = replace(table, schema=changed.schema, column_comments=comments)
    inline = changed.new_layout and _may_inline(lake, table)
    tx.stage(AlterTable(after, changed, inline, new_sort, not_null))


def _may_inline(lake: Lake, table: TableEntry) -> bool:
    return lake.effective_inlining_limit(table.schema_id, table.table_id) > 0


def _check_new(table: TableEntry, column: NewColumn) -> None:
    check_column(table.name, column)
    if column.not_null:
        raise NotSupported(
            f'Cannot add column "{column.name}" to table "{table.name}" with NOT NULL.',
            hint="add it without, fill it, and then ALTER COLUMN … SET NOT NULL.",
        )
    if column.default is not None and column.default.kind != "literal":
        raise NotSupported(
            f'Cannot add column "{column.name}" to table "{table.name}" with the default '
            f"{column.default.text}: rows that are there already need a number or a string.",
            hint="add the column without it, and then ALTER COLUMN … SET DEFAULT for new rows.",
        )


def _check_reserved(lake: Lake, table: TableEntry, name: str) -> None:
    if _may_inline(lake, table):
        check_reserved(name)

"""SET PARTITIONED BY and SET SORTED BY: how the files of a table are divided and ordered."""

from __future__ import annotations

from collections.abc import Sequence

from ducklake_spark.commit.transaction import Transaction
from ducklake_spark.errors import InvalidInput, NotSupported
from ducklake_spark.lake import Lake
from ducklake_spark.model.changes import SetPartition, SetSort
from ducklake_spark.model.entities import (
    PartitionField,
    PartitionSpec,
    SortKey,
    SortSpec,
    TableEntry,
)
from ducklake_spark.model.partition import CALENDAR, Transform, has_part
from ducklake_spark.model.schema import Schema
from ducklake_spark.model.types import DecimalType, ScalarType, format_sql_type

_MOST_BUCKETS = 2**31 - 1

Key = tuple[str, str, int | None]
"""A key of PARTITIONED BY: transform, column, number of buckets."""


def set_partitioned_by(lake: Lake, tx: Transaction, table: TableEntry, keys: Sequence[Key]) -> None:
    """Divide the files that are written from now on; no keys divide no more.

    Nothing happens when the table is divided like that already.
    """
    fields = partition_fields(table.name, table.schema, keys)
    if fields == (table.partition.fields if table.partition else ()):
        return
    _check_no_local_rows(tx, table, "PARTITIONED BY")
    inline = lake.effective_inlining_limit(table.schema_id, table.table_id) > 0
    spec = PartitionSpec(tx.local.provisional_id(), fields)
    tx.stage(SetPartition(table, spec, inline))


def set_sorted_by(
    tx: Transaction, table: TableEntry, keys: Sequence[SortKey], *, exact: bool = False
) -> None:
    """Order the rows that are written from now on; no keys leave them as they come.

    `exact` is whether each key says where NULLs go, as those that the catalog stores do.
    """
    _check_no_local_rows(tx, table, "SORTED BY")
    place = tx.local.provisional_id()
    spec = SortSpec(place, tuple(keys)) if keys else None
    tx.stage(SetSort(table, spec, place, exact))


def _check_no_local_rows(tx: Transaction, table: TableEntry, clause: str) -> None:
    if tx.local.local_rows(table.table_id):
        raise NotSupported(
            f'Cannot change {clause} of table "{table.name}": ALTER on a table with '
            "transaction-local inlined data is not supported.",
            hint="COMMIT first.",
        )


def partition_fields(table: str, schema: Schema, keys: Sequence[Key]) -> tuple[PartitionField, ...]:
    """The keys as the catalog stores them, each of them checked against its column."""
    fields: list[PartitionField] = []
    for transform, name, buckets in keys:
        how = _transform(transform, buckets)
        column = next((c for c in schema.columns if c.name.lower() == name.lower()), None)
        if column is None:
            raise InvalidInput(
                f'Unexpected partition key - column "{name}" does not exist in table "{table}".',
                hint=f"its columns are {', '.join(schema.names)}.",
            )
        kind = column.type
        if not isinstance(kind, ScalarType | DecimalType):
            raise NotSupported(
                f'Cannot partition by column "{name}": it is a {format_sql_type(kind)}.',
                hint="partition by columns that are not nested.",
            )
        if how.name in CALENDAR and not has_part(kind, how.name):
            raise InvalidInput(
                f"Cannot partition by {how.name}({name}): a {format_sql_type(kind)} has no "
                f"{how.name}."
            )
        field = PartitionField(column.column_id, str(how))
        if field in fields:
            raise InvalidInput(f'Cannot partition by "{name}" twice in the same way.')
        fields.append(field)
    return tuple(fields)


def _transform(name: str, buckets: int | None) -> Transform:
    if name == "bucket":
        if buckets is None or buckets <= 0:
            raise InvalidInput("Bucket count must be positive.")
        if buckets > _MOST_BUCKETS:
            raise InvalidInput(f"Bucket count cannot exceed {_MOST_BUCKETS}.")
        return Transform("bucket", buckets)
    if name != "identity" and name not in CALENDAR:
        raise NotSupported(
            f"Unsupported partition function {name} - only year, month, day, hour, and bucket "
            "are supported."
        )
    return Transform(name)

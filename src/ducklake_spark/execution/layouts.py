"""ALTER TABLE … SET PARTITIONED BY and SET SORTED BY."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ducklake_spark.errors import InvalidInput
from ducklake_spark.execution.sorting import sort_keys
from ducklake_spark.operations import layouts
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.sql import statements as st

if TYPE_CHECKING:
    from ducklake_spark.commit.transaction import Transaction
    from ducklake_spark.connection import Connection
    from ducklake_spark.lake import Lake
    from ducklake_spark.model.entities import TableEntry

_NOTHING = RowSet(())


def partition_keys(keys: Sequence[st.PartitionKey]) -> list[layouts.Key]:
    """The keys of a statement, apart from the statement."""
    return [(key.transform, key.column, key.argument) for key in keys]


def set_partitioned_by(con: Connection, s: st.SetPartitionedBy) -> RowSet:
    """ALTER TABLE … SET PARTITIONED BY, or RESET PARTITIONED BY."""
    lake, schema_name, name = con.place(s.table)
    with con.writing(lake, f'partition table "{name}"') as tx:
        table = _altered_table(con, tx, lake, schema_name, name, if_exists=s.if_exists)
        if table is not None:
            layouts.set_partitioned_by(lake, tx, table, partition_keys(s.keys))
    return _NOTHING


def set_sorted_by(con: Connection, s: st.SetSortedBy) -> RowSet:
    """ALTER TABLE … SET SORTED BY, or RESET SORTED BY."""
    lake, schema_name, name = con.place(s.table)
    with con.writing(lake, f'sort table "{name}"') as tx:
        table = _altered_table(con, tx, lake, schema_name, name, if_exists=s.if_exists)
        if table is not None:
            keys = sort_keys(con, lake, table.name, table.schema, schema_name, s.keys)
            exact = bool(s.keys) and all(key.places_nulls for key in s.keys)
            layouts.set_sorted_by(tx, table, keys, exact=exact)
    return _NOTHING


def _altered_table(
    con: Connection, tx: Transaction, lake: Lake, schema_name: str, name: str, *, if_exists: bool
) -> TableEntry | None:
    schema = con.schema_entry(lake, tx, schema_name)
    table = tx.local.find_table(schema.schema_id, name)
    if table is not None:
        return table
    if tx.local.find_view(schema.schema_id, name) is not None:
        raise InvalidInput(f'Cannot use ALTER TABLE on entry "{name}" - it is not a table.')
    if if_exists:
        return None
    raise con.missing_table(tx, lake, schema, name)

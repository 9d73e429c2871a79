"""The keys of SORTED BY: checked when they are set, told to Spark when rows are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from ducklake_spark.errors import ColumnNotFound, InvalidInput, NotSupported
from ducklake_spark.execution.bound_expressions import expression_text
from ducklake_spark.execution.bound_queries import mirror_of
from ducklake_spark.model.entities import SortKey, TableEntry
from ducklake_spark.model.schema import Schema
from ducklake_spark.operations.write_layout import CLUSTER_DIALECT, format_cluster
from ducklake_spark.sql import statements as st

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection
    from ducklake_spark.lake import Lake

_CHANGING: Final = frozenset(
    {"random", "rand", "uuid", "gen_random_uuid", "uuidv4", "uuidv7", "now", "nextval"}
)
_CHANGING_NODES: Final = (
    exp.Rand, exp.Uuid, exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentTime, exp.AggFunc,
    exp.Window, exp.Query, exp.Subquery, exp.Star,
)  # fmt: skip


def sort_keys(
    con: Connection,
    lake: Lake,
    table: str,
    schema: Schema,
    schema_name: str,
    keys: Sequence[st.SortKey],
) -> list[SortKey]:
    """The keys as the catalog stores them.

    Raises:
        InvalidInput: a key is not a value of each row by itself, or names no column.
    """
    _check_columns(table, schema, keys)
    clusters = [key for key in keys if _cluster_columns(key.expression)]
    if clusters:
        if len(keys) > 1:
            raise InvalidInput("zorder(…) must be the only key of SORTED BY.")
        names = tuple(_cluster_columns(keys[0].expression))
        return [SortKey(format_cluster(names), dialect=CLUSTER_DIALECT)]
    for key in keys:
        _check_key(con, lake, schema, schema_name, key)
    return [
        SortKey(
            key.text,
            "DESC" if key.descending else "ASC",
            "NULLS_FIRST" if key.nulls_first else "NULLS_LAST",
        )
        for key in keys
    ]


def sort_text(con: Connection, lake: Lake, table: TableEntry, key: SortKey) -> str | None:
    """The Spark SQL of a stored key. Macros are those of the table's own schema.

    None when the table lacks a column of it, as it may have done in the past.
    """
    with con.reading(lake) as tx:
        schema_name = tx.local.schema(table.schema_id).name
    columns = table.schema.columns
    try:
        return expression_text(con, mirror_of(con), key.expression, columns, (lake, schema_name))
    except ColumnNotFound:
        return None


def _check_columns(table: str, schema: Schema, keys: Sequence[st.SortKey]) -> None:
    known = {column.name.lower() for column in schema.columns}
    missing: list[str] = []
    for key in keys:
        for column in key.expression.find_all(exp.Column, bfs=False):
            if column.table:
                raise InvalidInput(
                    f"Unexpected qualified column reference {column.sql(dialect='duckdb')} - only "
                    "unqualified columns are supported."
                )
            if column.name.lower() not in known and column.name not in missing:
                missing.append(column.name)
    if missing:
        raise InvalidInput(
            "Columns in the SET SORTED BY statement were not found in the DuckLake table. "
            f"Unmatched columns were: {', '.join(missing)}",
            hint=f'the columns of "{table}" are {", ".join(schema.names)}.',
        )


def _check_key(
    con: Connection, lake: Lake, schema: Schema, schema_name: str, key: st.SortKey
) -> None:
    tree = key.expression
    if isinstance(tree.unnest(), exp.Column):
        return
    called = {node.name.lower() for node in tree.find_all(exp.Anonymous)}
    if tree.find(*_CHANGING_NODES) or called & _CHANGING:
        raise InvalidInput(
            f"Cannot sort by {key.text}: its value is not the same for a row at all times.",
            hint="sort by columns, and by functions of one row that give the same always.",
        )
    if tree.find(exp.Column) is None:
        raise InvalidInput(f"Cannot sort by {key.text}: it is the same for all rows.")
    expression_text(con, mirror_of(con), key.text, schema.columns, (lake, schema_name))


def _cluster_columns(tree: exp.Expr) -> list[str]:
    """The columns of ``zorder(a, b)``; none for any other key."""
    if not isinstance(tree, exp.Anonymous) or tree.name.lower() != "zorder":
        return []
    columns = [column for column in tree.expressions if isinstance(column, exp.Column)]
    if len(columns) < 2 or len(columns) != len(tree.expressions):
        raise NotSupported("zorder(…) takes two or more columns.")
    return [column.name for column in columns]

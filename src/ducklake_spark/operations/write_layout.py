"""How the files of a table shall be written: what its options, partitions and order ask for."""

from __future__ import annotations

import re
from typing import Any, Final

from ducklake_spark.errors import InvalidInput
from ducklake_spark.lake import Lake
from ducklake_spark.model.entities import SortKey, TableEntry
from ducklake_spark.model.names import quote_if_needed
from ducklake_spark.model.schema import Column
from ducklake_spark.plan.layout import SortOrder, WriteLayout

CLUSTER_DIALECT: Final = "spark"
"""The dialect of sort keys that only we know; DuckDB passes over them."""

_CLUSTER: Final = re.compile(r"zorder\((.*)\)", re.DOTALL)
_NAME: Final = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^",]+?))\s*(?:,|\Z)')


def plan_layout(
    lake: Lake,
    table: TableEntry,
    directory: str,
    *,
    sort: bool = True,
    extra_columns: tuple[Column, ...] = (),
) -> WriteLayout:
    """How the table wants its files.

    Args:
        lake: with the options.
        table: as the writing transaction sees it.
        directory: where its files are.
        sort: whether its sort order applies.
        extra_columns: columns that the format adds behind the table's.
    """
    settings = lake.settings()

    def option(key: str) -> str | None:
        return settings.get(key, schema_id=table.schema_id, table_id=table.table_id)

    given: dict[str, Any] = {
        "compression": option("parquet_compression"),
        "compression_level": _number(option("parquet_compression_level")),
        "row_group_rows": _number(option("parquet_row_group_size")),
        "row_group_bytes": _number(option("parquet_row_group_size_bytes")),
        "parquet_version": option("parquet_version"),
        "target_file_size": lake.target_file_size or _number(option("target_file_size")),
        "hive": None if option("hive_file_pattern") != "false" else False,
        "one_file_per_task": option("per_thread_output") == "true",
    }
    if sort and table.sort is not None:
        given |= _order(lake, table, table.sort.keys)
    stored = {key: value for key, value in given.items() if value is not None}
    return WriteLayout(
        table.schema,
        directory,
        table.name,
        partition=table.partition,
        extra_columns=extra_columns,
        **stored,
    )


def sorts_inserts(lake: Lake, table: TableEntry) -> bool:
    """Whether rows that an insert writes to files are sorted.

    As in the extension, switching it off leaves the rows of files sorted while small inserts may
    stay in the metadata database.
    """
    return sorts_small_inserts(lake, table) or (
        lake.effective_inlining_limit(table.schema_id, table.table_id) > 0
    )


def sorts_small_inserts(lake: Lake, table: TableEntry) -> bool:
    """Whether rows are sorted before they go to the metadata database."""
    ids = {"schema_id": table.schema_id, "table_id": table.table_id}
    return table.sort is not None and lake.settings().get("sort_on_insert", **ids) != "false"


def _order(lake: Lake, table: TableEntry, keys: tuple[SortKey, ...]) -> dict[str, Any]:
    """The sort keys that are known here; of other programs' dialects nothing is."""
    clusters = [key for key in keys if key.dialect == CLUSTER_DIALECT]
    if clusters:
        names = parse_cluster(clusters[0].expression)
        known = {column.name.lower() for column in table.schema.columns}
        # DuckDB does not look into the key when it drops a column.
        return {"cluster": names} if {n.lower() for n in names} <= known else {}
    orders = [_sort_order(lake, table, key) for key in keys if key.dialect == "duckdb"]
    told = [order for order in orders if order is not None]
    # Rows of an older table may lack a column: then they have no order.
    return {"sort": tuple(told)} if len(told) == len(orders) else {}


def _sort_order(lake: Lake, table: TableEntry, key: SortKey) -> SortOrder | None:
    if lake.sort_text is None:
        raise InvalidInput(f'Cannot sort the rows of table "{table.name}" outside a connection.')
    text = lake.sort_text(table, key)
    if text is None:
        return None
    return SortOrder(
        text,
        descending=key.direction.upper() == "DESC",
        nulls_first=key.null_order.upper() == "NULLS_FIRST",
    )


def format_cluster(names: tuple[str, ...]) -> str:
    """The text of a clustering key.

    >>> format_cluster(("a", "B b"))
    'zorder(a, "B b")'
    """
    return f"zorder({', '.join(map(quote_if_needed, names))})"


def parse_cluster(text: str) -> tuple[str, ...]:
    """The columns of a clustering key; none when it is something else.

    >>> parse_cluster('zorder(a, "B, b")')
    ('a', 'B, b')
    """
    match = _CLUSTER.fullmatch(text.strip())
    if match is None:
        return ()
    return tuple(
        plain if quoted is None else quoted.replace('""', '"')
        for quoted, plain in (
            (found[1], found[2]) for found in _NAME.finditer(match[1]) if found[0]
        )
    )


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)

"""Partitions and sort orders in Spark's words.

Spark's ``days(at)`` are days of the calendar; a lake's ``day`` is a day of a month. So a key of
Spark becomes as many keys of the lake as it takes to divide in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlglot import exp

from ducklake_spark.errors import InvalidInput, NotSupported
from ducklake_spark.execution.layouts import partition_keys as own_keys
from ducklake_spark.model.entities import SortKey, TableEntry
from ducklake_spark.model.names import quote_for_spark, quote_if_needed
from ducklake_spark.model.partition import CALENDAR, Transform, parse_transform
from ducklake_spark.operations.layouts import Key
from ducklake_spark.sql import statements as st
from ducklake_spark.sql.parse import parse

Told = Mapping[str, Any]

_SPANS: Final = {"years": 1, "months": 2, "days": 3, "hours": 4}
_CLUSTER: Final = "cluster_by"


def partition_keys(told: Sequence[Told]) -> list[Key]:
    """The keys of a lake for those of PARTITIONED BY."""
    keys = [key for each in told if each["name"] != _CLUSTER for key in _keys_of(each)]
    return list(dict.fromkeys(keys))


def _keys_of(told: Told) -> list[Key]:
    name, columns, number = told["name"].lower(), told["columns"], told["number"]
    if len(columns) != 1 or len(columns[0]) != 1:
        raise NotSupported(
            f"Cannot partition by {told['text']}: a key is made of one column that is no field of "
            "another.",
            hint="use keys such as region, bucket(16, id) or days(at).",
        )
    column = columns[0][0]
    if name in _SPANS:
        return [(part, column, None) for part in CALENDAR[: _SPANS[name]]]
    if name in ("identity", *CALENDAR):
        return [(name, column, None)]
    if name == "bucket":
        return [(name, column, int(number))]
    raise NotSupported(
        f"Cannot partition by {told['text']}: a lake has no such key.",
        hint="there are columns, bucket(n, column), years, months, days and hours, and year, "
        "month, day and hour, which are parts of a date.",
    )


def read_partition_keys(text: str) -> list[Key]:
    """Keys in DuckDB's words, as `all_partitions` gives them."""
    match parse(f"ALTER TABLE t SET PARTITIONED BY ({text})"):
        case [st.SetPartitionedBy(keys=keys)]:
            return own_keys(keys)
    raise InvalidInput(
        f'Cannot partition by "{text}".', hint="write keys such as region, year(at)."
    )


def shown_partitions(table: TableEntry) -> list[dict[str, Any]]:
    """The keys of a table that Spark has words for in all places: columns, and one bucket."""
    shown: list[dict[str, Any]] = []
    for how, column in _fields(table):
        is_bucket = how.name == "bucket"
        if how.name == "identity" or (is_bucket and not any(each["number"] for each in shown)):
            name = quote_for_spark(column)
            shown.append({"name": how.name, "column": name, "number": how.buckets})
    return shown


def all_partitions(table: TableEntry) -> str | None:
    """The keys of a table in DuckDB's words; None if `shown_partitions` shows them all."""
    fields = _fields(table)
    if len(fields) == len(shown_partitions(table)):
        return None
    return ", ".join(_shown_field(how, quote_if_needed(column)) for how, column in fields)


def _shown_field(how: Transform, column: str) -> str:
    if how.name == "identity":
        return column
    return f"bucket({how.buckets}, {column})" if how.buckets else f"{how.name}({column})"


def _fields(table: TableEntry) -> list[tuple[Transform, str]]:
    columns = table.schema.by_id
    return [
        (parse_transform(field.transform), columns[field.column_id].name)
        for field in (table.partition.fields if table.partition else ())
        if field.column_id in columns
    ]


def cluster_columns(told: Sequence[Told]) -> list[Sequence[str]]:
    """The columns of CLUSTER BY."""
    return [column for each in told if each["name"] == _CLUSTER for column in each["columns"]]


def cluster_keys(columns: Sequence[Sequence[str]]) -> list[st.SortKey]:
    """CLUSTER BY as the keys of a sort order."""
    for path in columns:
        if len(path) != 1:
            raise NotSupported(
                f"Cannot CLUSTER BY {'.'.join(path)}: a lake sorts by whole columns.",
            )
    return [
        st.SortKey(exp.column(exp.to_identifier(name, quoted=True)), quote_if_needed(name))
        for (name,) in columns
    ]


def read_sort_order(text: str) -> list[st.SortKey]:
    """The keys of a sort order in DuckDB's words, as `shown_sort_order` gives them."""
    match parse(f"ALTER TABLE t SET SORTED BY ({text})"):
        case [st.SetSortedBy(keys=keys)]:
            return list(keys)
    raise InvalidInput(f'Cannot sort by "{text}".', hint="write keys such as region, at DESC.")


def shown_sort_order(table: TableEntry) -> str | None:
    """The sort order of a table in DuckDB's words; None if it has none."""
    return ", ".join(map(_shown_key, table.sort.keys)) if table.sort else None


def _shown_key(key: SortKey) -> str:
    descending = " DESC" if key.direction.upper() == "DESC" else ""
    first = " NULLS FIRST" if key.null_order.upper() == "NULLS_FIRST" else ""
    return f"{key.expression}{descending}{first}"

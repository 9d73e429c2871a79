"""Counts, least and greatest values that Spark asks for: the catalog's, where they are exact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

from ducklake_spark.errors import DuckLakeError
from ducklake_spark.model.literals import format_text, parse_text
from ducklake_spark.model.schema import Column
from ducklake_spark.operations.column_totals import TableTotals, find_totals
from ducklake_spark.operations.contents import TableVersion
from ducklake_spark.operations.count_rows import count_rows
from ducklake_spark.spark.local import local_frame
from ducklake_spark.spark_face.registry import Named

Asked = tuple[str, str | None]
"""`count`, `min` or `max`, and the column; None for the rows themselves."""


def read_totals(
    lake: Named, _place: Sequence[str], version: TableVersion, asked: Sequence[Asked]
) -> DataFrame | None:
    """One row of answers; None when only the files can tell."""
    try:
        columns = [_column(version, name) for _, name in asked]
        totals = _totals(version, asked, columns)
        if totals is None:
            return None
        answers = [
            _answer(place, what, column, totals)
            for place, ((what, _), column) in enumerate(zip(asked, columns, strict=True))
        ]
    except DuckLakeError:
        return None  # a value that has no text; the query itself computes it
    kinds = [kind for kind, _ in answers]
    return local_frame(lake.spark, kinds, [[value for _, value in answers]])


def _column(version: TableVersion, name: str | None) -> Column | None:
    return None if name is None else version.table.schema.get(name, table=version.table.name)


def _totals(
    version: TableVersion, asked: Sequence[Asked], columns: Sequence[Column | None]
) -> TableTotals | None:
    wanted: dict[int, bool] = {}
    for (what, _), column in zip(asked, columns, strict=True):
        if column is not None:
            wanted[column.column_id] = wanted.get(column.column_id, False) or what != "count"
    if wanted:
        return find_totals(version, wanted)
    rows = count_rows(version)
    return None if rows is None else TableTotals(rows, {})


def _answer(
    place: int, what: str, column: Column | None, totals: TableTotals
) -> tuple[Column, Any]:
    number = Column(place + 1, f"_{place}", "int64")
    if column is None:
        return number, totals.rows
    found = totals.columns[column.column_id]
    if what == "count":
        return number, found.values
    value = found.low if what == "min" else found.high
    kind = Column(place + 1, f"_{place}", column.type_name)
    return kind, None if value is None else parse_text(format_text(value, column.type), column.type)

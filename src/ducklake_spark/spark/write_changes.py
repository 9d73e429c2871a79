"""Rows of a change -> data files and the places of the rows that go, by one job. Driver."""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ducklake_spark.bridge.frames import select
from ducklake_spark.model.schema import Column
from ducklake_spark.model.written import WrittenFile
from ducklake_spark.parquet.changed_rows import (
    ChangedRows,
    ChangeLayout,
    Places,
    write_changed_rows,
)
from ducklake_spark.plan.layout import WriteLayout
from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.spark.internal import FILE_ID, KEPT_ROW_ID, POSITION, WRITTEN
from ducklake_spark.spark.write import partition_place, remove_leftovers, write_selected

_FACTS: Final = (
    Column(-1, KEPT_ROW_ID, "int64"),
    Column(-2, FILE_ID, "int64"),
    Column(-3, POSITION, "int64"),
    Column(-4, WRITTEN, "boolean"),
)


@dataclass(frozen=True)
class WrittenChanges:
    """What a change has written, and what it takes away.

    Attributes:
        new: files of rows that get new ids.
        kept: files of rows that keep the ids of those that they replace.
        gone: the positions of rows that go, in order, by data file id; None for inlined rows. One
            that is replaced by more than one row, or deleted too, is there more than once.
        inserted: how many rows replace none.
    """

    new: list[WrittenFile]
    kept: list[WrittenFile]
    gone: dict[int | None, Any]
    inserted: int


def write_changes(changes: DataFrame, new: WriteLayout, kept: WriteLayout) -> WrittenChanges:
    """Write rows that replace others, and rows that replace none. When it fails, no file is left.

    Args:
        changes: the columns of the table, of their carrier types; then `FILE_ID`, `POSITION`,
            `KEPT_ROW_ID` and `WRITTEN`.
        new: for rows without an id to keep.
        kept: for the others: it has a column for their ids besides.
    """
    layout = ChangeLayout(new, kept, (secrets.token_hex(6), secrets.token_hex(6)))
    columns = [f"c{i}" for i in range(len(new.columns))]
    names = (*columns, *(fact.name for fact in _FACTS))
    rows = select(changes, names, lambda: map(F.col, names))
    arranged = replace(new, extra_columns=(*new.extra_columns, *_FACTS))
    try:
        with spark_failures(f'change rows of table "{new.table_name}"'):
            done: list[ChangedRows] = write_selected(rows, arranged, partial(_change, layout))
    except BaseException:
        for job_id in layout.jobs:
            remove_leftovers(new.directory, job_id)
        raise
    return WrittenChanges(
        _files((file for each in done for file in each.new), new),
        _files((file for each in done for file in each.kept), new),
        _gone(done),
        sum(each.inserted for each in done),
    )


def _change(
    layout: ChangeLayout, batches: Iterator[Any], keys: tuple[int, ...], task_id: int
) -> Iterator[ChangedRows]:
    """Task."""
    yield write_changed_rows(batches, layout, keys, task_id=task_id)


def _files(files: Iterable[WrittenFile], layout: WriteLayout) -> list[WrittenFile]:
    return sorted(files, key=partition_place) if layout.partition else list(files)


def _gone(done: Iterable[ChangedRows]) -> dict[int | None, Any]:
    """Rows that are only deleted count once, however often they were met."""
    replaced: dict[int | None, list[Places]] = defaultdict(list)
    deleted: dict[int | None, list[Places]] = defaultdict(list)
    for each in done:
        for found, places in ((replaced, each.replaced), (deleted, each.deleted)):
            for place in places:
                found[place.data_file_id].append(place)
    gone = {}
    for file_id in {**replaced, **deleted}:
        once = pc.unique(_positions(deleted[file_id]))
        places = pa.concat_arrays([_positions(replaced[file_id]), once])
        gone[file_id] = places.take(pc.sort_indices(places))
    return gone


def _positions(parts: Iterable[Places]) -> Any:
    return pa.concat_arrays([pa.array([], pa.int64()), *(part.unpack() for part in parts)])

"""Writing by the format ``ducklake``: what the modes of a DataFrameWriter mean. Driver."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ducklake_spark.bridge.sessions import frame_from
from ducklake_spark.errors import AlreadyExists, InvalidInput, NotSupported
from ducklake_spark.execution.overwrite import append_frame, overwrite_frame
from ducklake_spark.operations.append import append
from ducklake_spark.operations.objects import NewColumn, create_table
from ducklake_spark.spark.align import align_by_name
from ducklake_spark.spark.session import prepare_session
from ducklake_spark.spark.tags import type_of_field
from ducklake_spark.spark_face.asked import WRITE, Asked, parse_options
from ducklake_spark.spark_face.opened import open_to_write
from ducklake_spark.spark_face.registry import Named


def write_table(options: Mapping[str, str], mode: str, java_frame: Any) -> None:
    """`DataFrameWriter.save`: what the mode says, as one snapshot."""
    rows = frame_from(java_frame)
    asked = parse_options(options)
    asked.refuse_others("a write", WRITE)
    with open_to_write(rows.sparkSession, asked) as lake:
        _write(lake, asked, rows, mode)


def _write(lake: Named, asked: Asked, rows: DataFrame, mode: str) -> None:
    if not has_table(lake, asked):
        make_table(lake, asked, rows)
        return
    if mode == "Ignore":
        return
    if mode == "ErrorIfExists":
        raise AlreadyExists(
            f'Table "{asked.table[1]}" already exists in schema "{asked.table[0]}".',
            hint='.mode("append") or .mode("overwrite").',
        )
    if mode == "Overwrite":
        _overwrite(lake, asked, rows)
    else:
        check_partitions(lake, asked)
        merge = asked.says("mergeschema")
        append_frame(lake.con, (lake.name, *asked.table), rows, merge_schema=merge)


def _overwrite(lake: Named, asked: Asked, rows: DataFrame) -> None:
    if asked.says("overwriteschema"):
        make_table(lake, asked, rows, or_replace=True)
        return
    check_partitions(lake, asked)
    where = asked.said.get("replacewhere")
    if asked.says("mergeschema"):
        raise NotSupported(
            "Cannot overwrite and merge columns in one write.",
            hint="overwriteSchema replaces the columns; append with mergeSchema adds some.",
        )
    overwrite_frame(
        lake.con,
        (lake.name, *asked.table),
        rows,
        replace_where=None if where is None else F.expr(where),
        dynamic=where is None and _is_dynamic(lake, asked),
    )


def _is_dynamic(lake: Named, asked: Asked) -> bool:
    """As for Spark's own formats: the option goes before the setting of the session."""
    setting = lake.spark.conf.get("spark.sql.sources.partitionOverwriteMode", "static")
    mode = asked.said.get("partitionoverwritemode", setting) or "static"
    if mode.lower() not in ("static", "dynamic"):
        raise InvalidInput(
            f'The option "partitionOverwriteMode" is "{mode}".', hint="it is static or dynamic."
        )
    divided = lake.con.table_version((lake.name, *asked.table)).table.partition is not None
    return mode.lower() == "dynamic" and divided


def has_table(lake: Named, asked: Asked) -> bool:
    """Whether there is a table of that name."""
    found = lake.con.lake(lake.name)
    with lake.con.reading(found) as tx:
        schema = lake.con.schema_entry(found, tx, asked.table[0])
        return tx.local.find_table(schema.schema_id, asked.table[1]) is not None


def make_table(
    lake: Named, asked: Asked, rows: DataFrame, *, or_replace: bool = False, filled: bool = True
) -> None:
    """A new table with the columns of a frame, and with its rows if it is to be `filled`."""
    con, found = lake.con, lake.con.lake(lake.name)
    with con.writing(found, f'create table "{asked.table[1]}"') as tx:
        schema = con.schema_entry(found, tx, asked.table[0])
        prepare_session(rows.sparkSession)
        table = create_table(
            found,
            tx,
            schema,
            asked.table[1],
            [NewColumn(field.name, type_of_field(field)) for field in rows.schema.fields],
            or_replace=or_replace,
            partitioned_by=[("identity", name, None) for name in partitions_of(asked)],
        )
        if filled:
            aligned = align_by_name(rows, table.schema, lambda _: "NULL", table=table.name)
            append(found, tx, table, aligned)


def partitions_of(asked: Asked) -> list[str]:
    """The columns of partitionBy."""
    found: list[str] = json.loads(asked.said.get("partitionby", "[]"))
    return found


def check_partitions(lake: Named, asked: Asked) -> None:
    """Refuse a partitionBy that says something else than the table has."""
    partitions = partitions_of(asked)
    if not partitions:
        return
    table = lake.con.table_version((lake.name, *asked.table)).table
    fields = table.partition.fields if table.partition is not None else ()
    has = [(table.schema.by_id[field.column_id].name.lower(), field.transform) for field in fields]
    if has != [(name.lower(), "identity") for name in partitions]:
        raise InvalidInput(
            f'Table "{table.name}" is not partitioned by {", ".join(partitions)}.',
            hint="leave partitionBy out: the table knows its partitions.",
        )

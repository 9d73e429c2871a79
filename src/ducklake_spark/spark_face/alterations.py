"""ALTER TABLE as Spark tells it: all changes of one statement become one snapshot."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pyspark.sql.types import DataType as SparkType
from pyspark.sql.types import StructField, StructType

from ducklake_spark.commit.transaction import Transaction
from ducklake_spark.errors import NotSupported
from ducklake_spark.execution.alter import AlterStep, Found, altering, apply_step
from ducklake_spark.execution.sorting import sort_keys
from ducklake_spark.model import evolution
from ducklake_spark.model.entities import TableEntry
from ducklake_spark.operations import layouts, views
from ducklake_spark.operations.options import set_option
from ducklake_spark.options import find_option
from ducklake_spark.spark.carriers import carrier_type
from ducklake_spark.spark.tags import type_of_field
from ducklake_spark.spark_face.defaults import read_default
from ducklake_spark.spark_face.layouts import cluster_keys, read_partition_keys, read_sort_order
from ducklake_spark.spark_face.places import Place, place_of
from ducklake_spark.spark_face.properties import (
    COMMENT,
    PARTITIONED_BY,
    SORTED_BY,
    check_place,
    is_own,
)
from ducklake_spark.spark_face.registry import Named
from ducklake_spark.sql import statements as st

Told = Mapping[str, Any]


def alter_table(lake: Named, namespace: Sequence[str], name: str, changes: Sequence[Told]) -> None:
    """Make all changes of an ALTER TABLE."""
    place = place_of(lake, namespace, name)
    _refuse_replacing(place, changes)
    with altering(lake.con, place, if_exists=False) as found:
        if found is None:
            return
        if any(change["kind"] in _LONG for change in changes):
            found[1].let_go()  # Spark has to compute something
        for change in changes:
            _CHANGES.get(change["kind"], _refuse)(lake, found, place, change)


_LONG: Final = ("AddColumn", "UpdateColumnDefaultValue", "UpdateColumnNullability", "ClusterBy")


def _now(found: Found) -> tuple[Transaction, TableEntry]:
    """The table as earlier changes of the statement have left it."""
    return found[1], found[1].local.table(found[3].table_id)


def _refuse_replacing(place: Place, changes: Sequence[Told]) -> None:
    """REPLACE COLUMNS comes as DROP COLUMN of all and ADD COLUMN."""
    dropped = {tuple(c["column"]) for c in changes if c["kind"] == "DeleteColumn"}
    if dropped and any(c["kind"] == "AddColumn" for c in changes):
        raise NotSupported(
            f'Cannot replace the columns of table "{place[2]}": their values would be gone.',
            hint="use ADD, DROP and RENAME COLUMN, or CREATE OR REPLACE TABLE … AS SELECT.",
        )


def _refuse(_lake: Named, _found: Found, place: Place, change: Told) -> None:
    raise NotSupported(
        f'Cannot alter table "{place[2]}": a lake has nothing for Spark\'s {change["kind"]}.'
    )


# --- columns -------------------------------------------------------------------------------------


def _add_column(lake: Named, found: Found, place: Place, change: Told) -> None:
    *path, name = change["column"]
    _refuse_position(place, change)
    field = _field(name, change["type"])
    kind = type_of_field(field)
    default = read_default(lake.spark, name, kind, field.dataType, change["default"])
    column = st.ColumnDefinition(name, kind, not change["nullable"], default)
    apply_step(lake.con, found, st.AddColumn(place, tuple(path), column))
    if change["comment"] is not None:
        _comment_on_column(lake, found, place, change)


def _refuse_position(place: Place, change: Told) -> None:
    if change.get("position") is not None:
        raise NotSupported(
            f'Cannot put column "{".".join(change["column"])}" of table "{place[2]}" '
            f"{change['position']}: columns of a lake stand in the order in which they came.",
            hint="name the columns in the order that you want in SELECT, or in a view.",
        )


def _field(name: str, text: str) -> StructField:
    # A type alone has no JSON reader in PySpark that knows all of its forms.
    wrapped = {"name": name, "type": json.loads(text), "nullable": True, "metadata": {}}
    return StructType.fromJson({"type": "struct", "fields": [wrapped]}).fields[0]


def _drop_column(lake: Named, found: Found, place: Place, change: Told) -> None:
    if_exists = bool(change["if_exists"])
    step = st.DropColumn(place, tuple(change["column"]), column_if_exists=if_exists)
    apply_step(lake.con, found, step)


def _change_position(_lake: Named, _found: Found, place: Place, change: Told) -> None:
    _refuse_position(place, change)


def _rename_column(lake: Named, found: Found, place: Place, change: Told) -> None:
    apply_step(lake.con, found, st.RenameColumn(place, tuple(change["column"]), change["to"]))


def _change_type(lake: Named, found: Found, place: Place, change: Told) -> None:
    path = tuple(change["column"])
    kind = type_of_field(_field(path[-1], change["type"]))
    apply_step(lake.con, found, st.SetColumnType(place, path, kind))


def _change_nulls(lake: Named, found: Found, place: Place, change: Told) -> None:
    step = st.SetNotNull(place, tuple(change["column"]), not change["nullable"])
    apply_step(lake.con, found, step)


def _change_default(lake: Named, found: Found, place: Place, change: Told) -> None:
    path = tuple(change["column"])
    _, table = _now(found)
    column = evolution.find_path(table.schema, path, table=table.name)[-1]
    carrier: SparkType = carrier_type(column.type)
    default = read_default(lake.spark, path[-1], column.type, carrier, change["default"])
    step: AlterStep = st.SetDefault(place, path, default)
    apply_step(lake.con, found, step)


def _comment_on_column(_lake: Named, found: Found, place: Place, change: Told) -> None:
    path = change["column"]
    if len(path) > 1:
        raise NotSupported(
            f'Cannot comment on "{".".join(path)}" of table "{place[2]}": a lake keeps comments of '
            "whole columns."
        )
    tx, table = _now(found)
    views.comment_on(tx, table, change["comment"] or None, column=path[0])


# --- the table -----------------------------------------------------------------------------------


def _set_property(lake: Named, found: Found, place: Place, change: Told) -> None:
    key, value = change["property"], change["value"]
    check_place({key: value}, f'alter table "{place[2]}"')
    tx, table = _now(found)
    if key == COMMENT:
        views.comment_on(tx, table, value, column=None)
    elif key == SORTED_BY:
        _sort(lake, found, read_sort_order(value))
    elif key == PARTITIONED_BY:
        layouts.set_partitioned_by(found[0], tx, table, read_partition_keys(value))
    elif is_own(key):
        raise NotSupported(f'Cannot set the property "{key}" of table "{table.name}".')
    else:
        set_option(found[0], tx, key, value, table)


def _remove_property(lake: Named, found: Found, _place: Place, change: Told) -> None:
    key = change["property"]
    tx, table = _now(found)
    if key == COMMENT:
        views.comment_on(tx, table, None, column=None)
    elif key == SORTED_BY:
        _sort(lake, found, [])
    elif key == PARTITIONED_BY:
        layouts.set_partitioned_by(found[0], tx, table, [])
    else:
        find_option(key)
        raise NotSupported(
            f'Cannot unset the option "{key}" of table "{table.name}": an option can be set to '
            "another value, but not be taken away.",
            hint="set it to the value that it is to have.",
        )


def _cluster_by(lake: Named, found: Found, _place: Place, change: Told) -> None:
    _sort(lake, found, cluster_keys(change["columns"]))


def _sort(lake: Named, found: Found, keys: Sequence[st.SortKey]) -> None:
    tx, table = _now(found)
    tx.let_go()
    own = sort_keys(lake.con, found[0], table.name, table.schema, found[2].name, keys)
    layouts.set_sorted_by(tx, table, own)


_CHANGES: Final[Mapping[str, Callable[[Named, Found, Place, Told], None]]] = {
    "AddColumn": _add_column,
    "DeleteColumn": _drop_column,
    "RenameColumn": _rename_column,
    "UpdateColumnType": _change_type,
    "UpdateColumnNullability": _change_nulls,
    "UpdateColumnDefaultValue": _change_default,
    "UpdateColumnComment": _comment_on_column,
    "UpdateColumnPosition": _change_position,
    "SetProperty": _set_property,
    "RemoveProperty": _remove_property,
    "ClusterBy": _cluster_by,
}

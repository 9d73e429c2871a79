"""Rows that Spark changes by name: DELETE, UPDATE, MERGE, TRUNCATE."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ducklake_spark.bridge.row_commands import RowCommand
from ducklake_spark.commit.transaction import Transaction
from ducklake_spark.errors import InvalidInput
from ducklake_spark.execution.change_rows import stage_update
from ducklake_spark.execution.merge import stage_merge
from ducklake_spark.execution.merge_arms import Arm
from ducklake_spark.execution.merge_queries import ACTION, IN_SOURCE
from ducklake_spark.execution.merge_ranges import (
    Keys,
    has_range,
    is_worthwhile,
    matchable_rows,
)
from ducklake_spark.execution.overwrite import add_columns
from ducklake_spark.model.names import quote_for_spark
from ducklake_spark.operations.contents import TableVersion
from ducklake_spark.operations.row_changes import (
    IDENTITY,
    Target,
    open_target,
    stage_deletes,
)
from ducklake_spark.operations.whole_files import stage_truncate
from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.spark.internal import FILE_ID, POSITION
from ducklake_spark.spark_face.inserts import (
    Destination,
    Words,
    append_rows,
    check_types,
    overwrite_rows,
    overwrite_some_partitions,
    target_frame,
)
from ducklake_spark.sql import statements as st

_SET: Final = "__ducklake_set_"
_ACTIONS: Final[Mapping[str, Callable[[], st.MergeAction]]] = {
    "update": lambda: st.MergeUpdate(()),
    "insert": st.MergeInsert,
    "delete": st.MergeDelete,
}


def truncate(to: Destination, _words: Any, _java: Any) -> None:
    """TRUNCATE TABLE."""
    with to.changing("truncate") as (tx, version):
        stage_truncate(tx, version)


def delete_rows(to: Destination, words: Words, java: Any) -> str:
    """DELETE FROM: returns how many rows went."""
    with to.changing("delete from") as (tx, version):
        if words["all"]:
            return json.dumps([stage_truncate(tx, version)])
        target = open_target(to.spark, version)
        with spark_failures(f'delete from table "{version.table.name}"'):
            rows = RowCommand(to.spark, java).matching(target_frame(target, words["virtual"]))
            gone = rows.select(FILE_ID, POSITION)
        return json.dumps([stage_deletes(tx, target, gone)])


def update_rows(to: Destination, words: Words, java: Any) -> str:
    """UPDATE: returns how many rows were changed."""
    _check_places(words, to)
    with to.changing("update") as (tx, version):
        table, columns = version.table, version.table.schema.columns
        target = open_target(to.spark, version)
        with spark_failures(f'update table "{table.name}"'):
            frame = target_frame(target, words["virtual"])
            rows = RowCommand(to.spark, java).updated(frame, _SET)
            given = {table.schema.get(name, table=table.name): _SET + name for name in words["set"]}
            kinds = {field.name: field.dataType for field in rows.schema.fields}
            check_types(to.spark, [(column, kinds[name]) for column, name in given.items()])
            values = [
                F.col(quote_for_spark(given.get(column, column.name))).alias(f"_u{place}")
                for place, column in enumerate(columns)
            ]
            new = rows.select(*values, *IDENTITY)
        return json.dumps([stage_update(tx, target, columns, new, once=True)])


def merge_rows(to: Destination, words: Words, java: Any) -> str:
    """MERGE INTO: returns how many rows were changed, and how many in which way."""
    _check_places(words, to)
    command = RowCommand(to.spark, java)
    with to.changing("merge into") as (tx, found):
        version = _evolved(tx, found, command, words["evolving"])
        target = open_target(to.spark, version)
        arms = _arms(version, words["arms"])
        with spark_failures(f'merge into table "{version.table.name}"'):
            joined = _joined(target, command, words)
            _check_values(to, version, arms, joined)
        done = stage_merge(tx, target, arms, joined)
        changed = done.inserted + done.updated + done.deleted
        return json.dumps([changed, done.updated, done.deleted, done.inserted])


def _check_places(words: Words, to: Destination) -> None:
    for each in words["wrong"]:
        raise InvalidInput(
            f'Cannot set {each} of table "{to.name}": it is set twice, or is neither a column '
            "nor a field of a struct."
        )


def _evolved(
    tx: Transaction, version: TableVersion, command: RowCommand, names: Sequence[str]
) -> TableVersion:
    """The table with these columns of the source, and their types where they are wider."""
    if not names:
        return version
    add_columns(tx, version, command.query().select(*map(quote_for_spark, names)))
    table = tx.local.table(version.table.table_id)
    return TableVersion(version.lake, table, tx.snapshot, tx.local.base, tx.local)


def _arms(version: TableVersion, clauses: Sequence[Mapping[str, Any]]) -> list[Arm]:
    schema, name = version.table.schema, version.table.name
    return [
        Arm(
            number,
            clause["when"],
            _ACTIONS[clause["action"]](),
            None,  # the JVM knows it
            {schema.get(column, table=name).column_id: True for column in clause["set"]},
        )
        for number, clause in enumerate(clauses)
    ]


def _joined(target: Target, command: RowCommand, words: Words) -> DataFrame:
    ids = {column.name: column.column_id for column in target.table.schema.columns}
    told = {
        "action": ACTION,
        "in_source": IN_SOURCE,
        "position": POSITION,
        "kept": list(IDENTITY),
        "ids": ids,
    }
    rows = target_frame(target, words["virtual"])
    rest = any(clause["when"] == "not_matched_by_source" for clause in words["arms"])
    if rest or not words["keys"] or not is_worthwhile(target):
        return command.merged(rows, None, told)
    source = command.query()
    source = source.toDF(*(f"s{place}" for place in range(len(source.columns))))
    keys = _keys(target, source, words["keys"])
    if not keys:
        return command.merged(rows, None, told)
    computed = source.localCheckpoint()  # it is asked more than once, and must say the same
    found = matchable_rows(rows, computed, keys, table=target.table.name)
    return command.merged(found, computed, told)


def _keys(target: Target, source: DataFrame, pairs: Sequence[tuple[str, int]]) -> Keys:
    schema, fields = target.table.schema, source.schema.fields
    found = ((schema.find(name), fields[i]) for name, i in pairs)  # none for a virtual column
    return [
        (column, field.name)
        for column, field in found
        if column is not None and has_range(column, field)
    ]


def _check_values(
    to: Destination, version: TableVersion, arms: Sequence[Arm], joined: DataFrame
) -> None:
    kinds = {field.name: field.dataType for field in joined.schema.fields}
    columns = {column.column_id: column for column in version.table.schema.columns}
    check_types(
        to.spark,
        [(columns[i], kinds[f"_m{arm.number}_{i}"]) for arm in arms for i in arm.values],
    )


CHANGES: Final[Mapping[str, Callable[[Destination, Any, Any], Any]]] = {
    "append": append_rows,
    "overwrite": overwrite_rows,
    "overwrite_partitions": overwrite_some_partitions,
    "delete": delete_rows,
    "update": update_rows,
    "merge": merge_rows,
    "truncate": truncate,
}

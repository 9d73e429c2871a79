"""MERGE INTO: one join of source and table; every row takes the first clause that is true for it.

The join, the choice of the clause and all new values are one query of Spark, whose outcome is
computed once: a source or a condition that gives something else each time is asked once only.
"""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F
from sqlglot import exp

from ducklake_spark.errors import DuckLakeError, InvalidInput
from ducklake_spark.execution.change_rows import changing
from ducklake_spark.execution.defaults import default_text
from ducklake_spark.execution.merge_arms import Arm, Names, resolve_arms
from ducklake_spark.execution.merge_queries import (
    ACTION,
    IN_SOURCE,
    Joining,
    condition_tree,
    joined_rows,
    message_name,
    trees_of,
    value_name,
)
from ducklake_spark.execution.merge_ranges import (
    SourceKeys,
    find_keys,
    is_worthwhile,
    measure_keys,
)
from ducklake_spark.execution.queries import select_frame
from ducklake_spark.operations.append import append
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.operations.row_changes import (
    IDENTITY,
    Changed,
    open_target,
    stage_changes,
    stage_deletes,
)
from ducklake_spark.spark.align import convert
from ducklake_spark.spark.carriers import carrier_type
from ducklake_spark.spark.failures import refuse_value, spark_failures
from ducklake_spark.spark.internal import FILE_ID, POSITION, WRITTEN
from ducklake_spark.spark.jobs import run_job
from ducklake_spark.sql import statements as st
from ducklake_spark.sql.composed import set_ctes, verbatim
from ducklake_spark.sql.relations import VIRTUAL_COLUMNS
from ducklake_spark.sql.values import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame

    from ducklake_spark.commit.transaction import Transaction
    from ducklake_spark.connection import Connection
    from ducklake_spark.model.schema import Column
    from ducklake_spark.operations.row_changes import Target

_COUNT: Final = (("Count", "BIGINT"),)
_numbers = itertools.count(1)


@dataclass(frozen=True)
class MergeResult:
    """How many rows a MERGE has inserted, updated and deleted."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0


def merge(con: Connection, s: st.Merge) -> RowSet:
    """MERGE INTO: returns how many rows were inserted, updated or deleted."""
    done = run_merge(con, s)
    return RowSet(_COUNT, ((done.inserted + done.updated + done.deleted,),))


def run_merge(con: Connection, s: st.Merge, source: DataFrame | None = None) -> MergeResult:
    """Run a MERGE; `source`, if it is given, has the rows of a source that SQL has no name for."""
    with changing(con, s.table, "merge into") as (tx, version):
        target = open_target(con.spark, version)
        name = _source_name(s)
        rows = source if source is not None else _source_rows(con, s, name)
        names = Names(
            version.table,
            s.alias or version.table.name,
            name,
            tuple(c for c in rows.columns if source is not None or c not in _wanted(s, name)),
            frozenset(column.lower() for column in s.using),
            _source_parts(con, s.source),
        )
        _check_names(names, s)
        arms = resolve_arms(s.clauses, names)
        keys = None
        if not any(arm.when == "not_matched_by_source" for arm in arms) and is_worthwhile(target):
            rows, keys = _with_keys(rows, condition_tree(s, names), names)
        with _source_views(con, rows, keys) as views:
            joined = joined_rows(con, s, Joining(target, names, arms, rows, keys, *views))
        return stage_merge(tx, target, arms, joined)


# --- the source -----------------------------------------------------------------------------------


def _source_name(s: st.Merge) -> str:
    return s.source.alias_or_name or "source"


def _source_parts(con: Connection, source: exp.Expr) -> tuple[str, ...]:
    """The whole name of a source that is a table and has no other name."""
    if not isinstance(source, exp.Table) or source.alias:
        return ()
    parts = tuple(part.name for part in source.parts)
    try:
        lake, schema, name = con.place(parts)
    except DuckLakeError:  # it is not a table of a lake
        return parts
    return (lake.name, schema, name)


def _source_rows(con: Connection, s: st.Merge, name: str) -> DataFrame:
    source = verbatim(s.source)
    if not s.source.alias:
        alias = exp.to_identifier(name, quoted=True)
        if isinstance(source, exp.Var):
            source = exp.alias_(source, alias, copy=False)
        else:
            source.set("alias", exp.TableAlias(this=alias))
    virtual = [exp.column(each, table=name, quoted=True) for each in sorted(_wanted(s, name))]
    query = exp.Select(expressions=[exp.Star(), *virtual], from_=exp.From(this=source))
    set_ctes(query, s.ctes)
    return select_frame(con, query)


def _wanted(s: st.Merge, name: str) -> set[str]:
    """The virtual columns of the source that the statement mentions, such as ``s.rowid``."""
    if not isinstance(s.source, exp.Table) or isinstance(s.source.this, exp.Func):
        return set()
    return {
        column.name.lower()
        for tree in trees_of(s)
        for column in tree.find_all(exp.Column)
        if column.name.lower() in VIRTUAL_COLUMNS and column.table.lower() == name.lower()
    }


def _check_names(names: Names, s: st.Merge) -> None:
    if names.target.lower() == names.source.lower():
        raise InvalidInput(
            f'Cannot merge: table and source are both called "{names.source}".',
            hint="give one of them another name: MERGE INTO t USING t AS s.",
        )
    known = {column.lower() for column in names.columns}
    for column in s.using:
        names.table.schema.get(column, table=names.table.name)
        if column.lower() not in known:
            raise InvalidInput(
                f'Cannot merge USING ("{column}"): the source has no such column.',
                hint=f"it has {', '.join(names.columns)}.",
            )


@contextmanager
def _source_views(
    con: Connection, rows: DataFrame, keys: SourceKeys | None
) -> Iterator[tuple[str, str]]:
    number = next(_numbers)
    views = f"_ducklake_source_{number}", f"_ducklake_keys_{number}"
    rows.withColumn(IN_SOURCE, F.lit(True)).createOrReplaceTempView(views[0])
    if keys is not None and keys.rows is not None:
        keys.rows.createOrReplaceTempView(views[1])
    try:
        yield views
    finally:
        for view in views:
            con.spark.catalog.dropTempView(view)


def _with_keys(
    rows: DataFrame, condition: exp.Expr, names: Names
) -> tuple[DataFrame, SourceKeys | None]:
    """The source, computed, and what is known of its keys then."""
    keys = find_keys(condition, names, rows)
    if not keys:
        return rows, None
    with spark_failures(f'merge into table "{names.table.name}"'):
        # It is asked more than once, and must say the same.
        computed = run_job(rows.sparkSession, rows.localCheckpoint)
    return computed, measure_keys(computed, keys, names)


# --- the change -----------------------------------------------------------------------------------


def stage_merge(
    tx: Transaction, target: Target, arms: Sequence[Arm], joined: DataFrame
) -> MergeResult:
    """Write what the clauses say, by the cheapest way that they allow.

    `joined` has for each row the number of its clause, the values that clauses give (`_m1_7` is
    what clause 1 gives column 7), the row's old values (`_t7`) and `IDENTITY`.
    """
    table, lake = target.table, target.version.lake
    effective = [arm for arm in arms if not isinstance(arm.action, st.MergeNothing)]
    inserts, updates, deletes = (
        any(getattr(arm, kind) for arm in effective) for kind in ("inserts", "updates", "deletes")
    )
    if not effective:
        return MergeResult()
    with spark_failures(f'merge into table "{table.name}"'):
        taken = joined.where(F.col(ACTION).isin([arm.number for arm in effective]))
        if all(arm.deletes for arm in effective):
            return MergeResult(deleted=stage_deletes(tx, target, taken.select(FILE_ID, POSITION)))
        changes = _changes(target, effective, taken)
        if not updates and not deletes:
            rows = changes.where(WRITTEN).drop(*IDENTITY, WRITTEN)
            return MergeResult(inserted=append(lake, tx, table, rows, inline=False))
    done = stage_changes(tx, target, changes, inserts=inserts, deletes=deletes)
    return _counted(done)


def _counted(done: Changed) -> MergeResult:
    return MergeResult(done.inserted, done.updated, done.deleted - done.updated)


def _changes(target: Target, arms: Sequence[Arm], taken: DataFrame) -> DataFrame:
    """The rows as `stage_changes` wants them."""
    schema = target.table.schema
    values = []
    for column in schema.columns:
        value = F.lit(None).cast(carrier_type(column.type))
        for arm in arms:
            if arm.inserts or arm.updates:
                new = _new_value(arm, column, taken)
                value = F.when(F.col(ACTION) == arm.number, new).otherwise(value)
        values.append(value.alias(column.name))
    return taken.select(*values, *IDENTITY, _written(arms).alias(WRITTEN))


def _new_value(arm: Arm, column: Column, taken: DataFrame) -> SparkColumn:
    given = arm.values.get(column.column_id)
    if given is None and arm.updates:
        return F.col(f"_t{column.column_id}")
    if given is None or given is DEFAULT:
        return F.expr(default_text(taken.sparkSession, column))
    name = value_name(arm, column.column_id)
    return convert(F.col(name), taken.schema[name].dataType, column.type, where=column.name)


def _written(arms: Sequence[Arm]) -> SparkColumn:
    """Whether a row is written; a row of an ERROR clause ends the statement."""
    written = F.col(ACTION).isin([arm.number for arm in arms if arm.inserts or arm.updates])
    for arm in arms:
        if arm.fails:
            text = F.lit(f"Merge error condition {arm.words}")
            if arm.message is not None:
                told = F.col(message_name(arm)).cast("string")
                text = F.coalesce(F.concat(text, F.lit(": "), told), text)
            failure = refuse_value(text).cast("boolean")
            written = F.when(F.col(ACTION) == arm.number, failure).otherwise(written)
    return written

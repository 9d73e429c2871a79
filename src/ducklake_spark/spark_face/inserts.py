"""Rows that Spark writes to a table that it knows by name: appends and overwrites."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ducklake_spark.bridge.row_commands import RowCommand, refused_types
from ducklake_spark.commit.transaction import CommitMessage, Transaction
from ducklake_spark.errors import InvalidInput, InvalidValue, NotSupported
from ducklake_spark.execution.change_rows import changing
from ducklake_spark.execution.defaults import default_text
from ducklake_spark.execution.overwrite import FITS, add_columns, fitting_rows
from ducklake_spark.model.entities import Snapshot, TableEntry
from ducklake_spark.model.schema import Column
from ducklake_spark.model.types import format_sql_type
from ducklake_spark.operations.append import append
from ducklake_spark.operations.contents import TableVersion
from ducklake_spark.operations.overwrite import (
    overwrite_all,
    overwrite_partitions,
    overwrite_some,
)
from ducklake_spark.operations.row_changes import Target, open_target
from ducklake_spark.spark.align import align_by_name, align_by_position
from ducklake_spark.spark.carriers import carrier_type
from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.spark.internal import FILE_ID, POSITION
from ducklake_spark.spark.session import prepare_session
from ducklake_spark.spark_face.registry import Named

_SUBQUERY: Final = re.compile(r"\bselect\b", re.IGNORECASE)

_OF_OTHERS: Final = {
    "branch": "a lake has one line of snapshots",
    "txnappid": "streams to a lake and ducklake_spark.upsert_batch write a batch once",
    "txnversion": "streams to a lake and ducklake_spark.upsert_batch write a batch once",
}
"""What other formats hold to: who says it does not expect that it is passed over."""

VIRTUAL_ALIASES: Final = {"_rowid": "rowid", "_file": "filename", "_pos": "file_row_number"}
"""What users of other formats call the virtual columns."""

Words = Mapping[str, Any]
"""What the JVM says about a statement; see `RowCommand.words` there."""


@dataclass(frozen=True)
class WriteOptions:
    """What `df.write.option(…)` or `INSERT INTO t WITH (…)` says.

    Attributes:
        merge_schema: whether the table gets the columns that only the rows have.
        replace_where: in Spark's SQL, which rows an overwrite replaces.
        partitions: "dynamic" or "static".
        message: for the snapshot.
    """

    merge_schema: bool = False
    replace_where: str | None = None
    partitions: str | None = None
    message: CommitMessage | None = None


def parse_options(given: Mapping[str, str]) -> WriteOptions:
    """The options by their names, whatever their case; ``merge_schema`` is ``mergeSchema``."""
    plain = {key.lower().replace("_", ""): value for key, value in given.items()}
    for name, meaning in _OF_OTHERS.items():
        if name in plain:
            raise InvalidInput(f'The option "{name}" means nothing to a lake.', hint=f"{meaning}.")
    partitions = plain.get("partitionoverwritemode")
    if partitions is not None and partitions.lower() not in ("dynamic", "static"):
        raise InvalidInput(
            f'partitionOverwriteMode is "{partitions}".', hint='it is "dynamic" or "static".'
        )
    said = [plain.get(key) for key in ("author", "message", "extrainfo")]
    return WriteOptions(
        _flag("mergeSchema", plain.get("mergeschema", "false")),
        plain.get("replacewhere"),
        partitions.lower() if partitions is not None else None,
        CommitMessage(*said) if any(each is not None for each in said) else None,
    )


def _flag(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise InvalidInput(f'{name} is "{text}".', hint='it is "true" or "false".')
    return text.lower() == "true"


@dataclass(frozen=True)
class Destination:
    """The table that a statement changes.

    Attributes:
        lake: where; its connection makes the change.
        place: lake, schema and name.
        seen: the snapshot that the statement has read; None for a table that is being made.
    """

    lake: Named
    place: Sequence[str]
    seen: Snapshot | None

    @property
    def spark(self) -> SparkSession:
        """The session of the statement."""
        return self.lake.spark

    @property
    def name(self) -> str:
        """The table's."""
        return self.place[-1]

    @contextmanager
    def changing(
        self, action: str, message: CommitMessage | None = None
    ) -> Iterator[tuple[Transaction, TableVersion]]:
        """The transaction of the statement, and the table as it sees it.

        Outside of an open transaction it starts at the snapshot that Spark has read for the
        statement: what others have changed since then is a conflict or not, as always.
        """
        con = self.lake.con
        with changing(con, self.place, action, since=self.seen) as (tx, version):
            if message is not None and con.in_transaction:
                con.set_commit_message(message.author, message.message, message.extra_info)
            elif message is not None:
                tx.message = message
            yield tx, version


# --- verbs ----------------------------------------------------------------------------------------


def append_rows(to: Destination, words: Words, java: Any) -> str:
    """INSERT INTO, `writeTo(…).append()` and the like."""
    options = parse_options(words["options"])
    _check_whole(to, options)
    rows = RowCommand(to.spark, java).query()
    with to.changing("append to", options.message) as (tx, found):
        version, aligned = _fitted(tx, found, rows, words, options)
        append(version.lake, tx, version.table, aligned)
    return "[]"


def overwrite_rows(to: Destination, words: Words, java: Any) -> str:
    """INSERT OVERWRITE, INSERT INTO … REPLACE WHERE, `writeTo(…).overwrite(…)`."""
    options = parse_options(words["options"])
    command = RowCommand(to.spark, java)
    if to.seen is None:
        _check_whole(to, options)
    if options.replace_where is not None and (options.partitions == "dynamic" or not words["all"]):
        raise InvalidInput(
            f'Cannot overwrite table "{to.name}": replaceWhere is not the only one to say which '
            "rows are replaced.",
            hint="say it once.",
        )
    rows = command.query()
    with to.changing("overwrite", options.message) as (tx, found):
        version, aligned = _fitted(tx, found, rows, words, options)
        if options.replace_where is not None:
            _replace_where(tx, version, aligned, options.replace_where)
        elif not words["all"]:
            _replace_matching(tx, version, aligned, command)
        elif options.partitions == "dynamic":
            _replace_partitions(tx, version, aligned)
        else:
            overwrite_all(tx, version, aligned)
    return "[]"


def _check_whole(to: Destination, options: WriteOptions) -> None:
    """Refuse to replace some rows where rows are added, or a table is made."""
    if options.replace_where is not None or options.partitions == "dynamic":
        raise InvalidInput(
            f'Cannot write to table "{to.name}": replaceWhere and partitionOverwriteMode say what '
            "an overwrite replaces.",
            hint="overwrite rows of a table with writeTo(…).overwrite(…), overwritePartitions() or "
            "insertInto; saveAsTable makes a new table in the place of the old one.",
        )


def overwrite_some_partitions(to: Destination, words: Words, java: Any) -> str:
    """`writeTo(…).overwritePartitions()`, and INSERT OVERWRITE where Spark is set so."""
    options = parse_options(words["options"])
    if options.replace_where is not None or options.partitions == "static":
        raise InvalidInput(
            f'Cannot overwrite partitions of table "{to.name}": an option says that other rows '
            "are replaced.",
            hint="set spark.sql.sources.partitionOverwriteMode to static, or leave the option out.",
        )
    rows = RowCommand(to.spark, java).query()
    with to.changing("overwrite", options.message) as (tx, found):
        version, aligned = _fitted(tx, found, rows, words, options)
        _replace_partitions(tx, version, aligned)
    return "[]"


def _replace_partitions(tx: Transaction, version: TableVersion, rows: DataFrame) -> None:
    """As for all tables of Spark, one without partitions is one partition."""
    if version.table.partition is None:
        overwrite_all(tx, version, rows)
    else:
        overwrite_partitions(tx, open_target(rows.sparkSession, version), rows)


def _replace_matching(
    tx: Transaction, version: TableVersion, rows: DataFrame, command: RowCommand
) -> None:
    target = open_target(rows.sparkSession, version)
    with spark_failures(f'overwrite table "{version.table.name}"'):
        gone = command.matching(target.frame()).select(FILE_ID, POSITION)
        checked = fitting_rows(command.marked(rows, FITS), version.table)
    overwrite_some(tx, target, gone, checked)


def _replace_where(tx: Transaction, version: TableVersion, rows: DataFrame, condition: str) -> None:
    if _SUBQUERY.search(condition):
        # Spark would ask about the tables in it while this statement has its turn.
        raise NotSupported(
            f'Cannot overwrite table "{version.table.name}" where {condition}: replaceWhere takes '
            "no subquery.",
            hint="delete the rows and append others, in one transaction.",
        )
    target = open_target(rows.sparkSession, version)
    with spark_failures(f'overwrite table "{version.table.name}"'):
        gone = target.frame().where(condition).select(FILE_ID, POSITION)
        checked = fitting_rows(rows.withColumn(FITS, F.expr(condition)), version.table)
    overwrite_some(tx, target, gone, checked)


# --- rows as the table has them -------------------------------------------------------------------


def _fitted(
    tx: Transaction,
    version: TableVersion,
    rows: DataFrame,
    words: Words,
    options: WriteOptions,
) -> tuple[TableVersion, DataFrame]:
    """The table, with the columns and wider types of the rows if asked for, and the rows for it."""
    by_name = words["by_name"]
    evolves = options.merge_schema or words["evolves"]
    if not evolves or not (by_name or len(rows.columns) >= len(version.table.schema.columns)):
        return version, _aligned(rows, version.table, by_name=by_name)
    named = rows
    if not by_name:
        names = [column.name for column in version.table.schema.columns]
        named = rows.toDF(*names, *rows.columns[len(names) :])
    add_columns(tx, version, named)
    table = tx.local.table(version.table.table_id)
    evolved = TableVersion(version.lake, table, tx.snapshot, tx.local.base, tx.local)
    return evolved, _aligned(named, table, by_name=True)


def _aligned(rows: DataFrame, table: TableEntry, *, by_name: bool) -> DataFrame:
    prepare_session(rows.sparkSession)
    columns, default = table.schema.columns, partial(default_text, rows.sparkSession)
    with spark_failures(f'write to table "{table.name}"'):
        fields = rows.schema.fields
        targets = [table.schema.find(f.name) for f in fields] if by_name else columns
        pairs = zip(targets, fields, strict=False)
        check_types(
            rows.sparkSession,
            [(column, field.dataType) for column, field in pairs if column is not None],
        )
        if by_name:
            return align_by_name(rows, table.schema, default, table=table.name)
        return align_by_position(rows, table.schema, columns, default, table=table.name)


def check_types(spark: SparkSession, given: Sequence[tuple[Column, T.DataType]]) -> None:
    """Refuse values that Spark's store assignment policy does not let into a column."""
    pairs = [(kind, carrier_type(column.type)) for column, kind in given]
    asked = [place for place, (kind, carrier) in enumerate(pairs) if kind != carrier]
    for place in refused_types(spark, [pairs[i] for i in asked]) if asked else ():
        column, kind = given[asked[place]]
        raise InvalidValue(
            f'Column "{column.name}" is {format_sql_type(column.type)} and cannot take a value of '
            f"type {kind.simpleString().upper()}.",
            hint="cast it, or set spark.sql.storeAssignmentPolicy to LEGACY.",
        )


def target_frame(target: Target, virtual: Sequence[str]) -> DataFrame:
    """The rows that a statement is about, with the virtual columns that it names."""
    known = {name: VIRTUAL_ALIASES.get(name, name) for name in virtual}
    frame = target.frame(tuple(dict.fromkeys(known.values())))
    for name, column in known.items():
        if name != column:
            frame = frame.withColumn(name, frame[column])
    return frame

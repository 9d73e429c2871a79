"""The connection: what users hold in their hands."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql import Column, DataFrame, SparkSession

from ducklake_spark.bridge.half import at_start
from ducklake_spark.errors import InvalidInput
from ducklake_spark.maintenance import Maintenance
from ducklake_spark.model.moments import Zone, find_zone, moment_of_python
from ducklake_spark.model.names import split_name
from ducklake_spark.operations.add_files import AddOptions, add_files
from ducklake_spark.operations.append import append
from ducklake_spark.operations.describe import snapshots
from ducklake_spark.operations.objects import NewColumn, create_table
from ducklake_spark.operations.progress import Progress
from ducklake_spark.operations.read import read_table
from ducklake_spark.result import Result
from ducklake_spark.spark.align import align_by_name
from ducklake_spark.spark.session import (
    leave_session,
    prepare_session,
    running_session,
    time_zone_of,
    use_session,
)
from ducklake_spark.spark.tags import type_of_field
from ducklake_spark.turns import out_of_turn

if TYPE_CHECKING:
    from ducklake_spark.execution.merge_builder import MergeBuilder


def _teach(spark: SparkSession) -> None:
    """Let a session that uses lakes know them by name and by format too."""
    from ducklake_spark.spark_face.registry import prepare

    prepare(spark)


at_start(_teach)


def connect(
    uri: str | None = None, *, spark: SparkSession | None = None, **attach_options: Any
) -> Connection:
    """Open a connection, and with a URI attach that lake and use it.

    Args:
        uri: ``ducklake:path``, ``ducklake:sqlite:path``, ``ducklake:postgres:…``; None for none.
        spark: the session to run on; by default the active one, or a new local one.
        **attach_options: the options of ATTACH in lower case, and `alias` for the lake's name.

    >>> con = connect("ducklake:shop.ducklake", data_path="shop_data/")  # doctest: +SKIP
    """
    con = Connection(spark=spark)
    if uri is not None:
        alias = attach_options.pop("alias", None)
        con.use(con.attach(uri, alias, **attach_options))
    return con


class Connection(Maintenance):
    """One user's view of any number of lakes, with a transaction of its own.

    Outside `transaction` (or BEGIN) every statement commits by itself. Threads may share a
    connection: its statements run one at a time; see docs/reference/sessions.md.
    """

    def __init__(self, *, spark: SparkSession | None = None) -> None:
        super().__init__()
        self._spark = None if spark is None else use_session(self, spark)

    @property
    def spark(self) -> SparkSession:
        """The Spark session; a local one is started when the first job needs it."""
        self.check_open()
        return prepare_session(self._spark or self._find_spark())

    def _find_spark(self) -> SparkSession:
        with self.turn:
            if self._spark is None:
                self._spark = use_session(self)
            return self._spark

    def time_zone(self) -> Zone:
        """The zone of times in text and SQL that are given without one; None for the machine's.

        It is that of the Spark session. One that this package starts has the machine's.
        """
        name = self.time_zone_name()
        return None if name is None else find_zone(name)

    def time_zone_name(self) -> str | None:
        """What Spark calls that zone; None before there is a Spark session."""
        spark = self._spark or running_session()
        return None if spark is None else time_zone_of(spark)

    def attach(
        self, uri: str, alias: str | None = None, *, or_replace: bool = False, **options: Any
    ) -> str:
        """Attach a lake under a name; returns the name."""
        from ducklake_spark.execution.sorting import sort_text

        name = super().attach(uri, alias, or_replace=or_replace, **options)
        lake = self.lake(name)
        lake.sort_text = partial(sort_text, self, lake)
        return name

    @out_of_turn
    def cursor(self) -> Connection:
        """A further connection over the same lakes, with its own transaction.

        Give one to each thread that shall not wait for the others.
        """
        self.check_open()
        other = Connection(spark=self._spark)
        other.attach_all_of(self)
        return other

    @contextmanager
    def transaction(
        self,
        *,
        author: str | None = None,
        message: str | None = None,
        extra_info: str | None = None,
    ) -> Iterator[Connection]:
        """Everything inside becomes one snapshot, or nothing at all.

        Args:
            author: who makes the snapshot; stored with it, as are the other two.
            message: why.
            extra_info: anything else, such as JSON.
        """
        self.begin()
        if author or message or extra_info:
            self.set_commit_message(author, message, extra_info)
        try:
            yield self
        except BaseException:
            if self.in_transaction:
                self.rollback()
            raise
        self.commit()

    def table(
        self,
        name: str,
        *,
        version: int | None = None,
        timestamp: dt.datetime | str | None = None,
        virtual_columns: Sequence[str] = (),
    ) -> DataFrame:
        """A table as a DataFrame, which stays at the snapshot it was made at.

        Args:
            name: ``table``, ``schema.table`` or ``lake.schema.table``; quote parts with dots.
            version: a snapshot's number, for time travel.
            timestamp: a moment, for time travel: the newest snapshot not younger than it.
            virtual_columns: such as ``["rowid"]``: columns to add that no SELECT * shows.
        """
        moment = None if timestamp is None else moment_of_python(timestamp, self.time_zone)
        found = self.table_version(split_name(name), version=version, timestamp=moment)
        return read_table(self.spark, found, virtual_columns=tuple(virtual_columns))

    def changes(
        self,
        name: str,
        start: int | dt.datetime | str,
        end: int | dt.datetime | str | None = None,
        *,
        kind: Literal["changes", "insertions", "deletions"] = "changes",
    ) -> DataFrame:
        """What was inserted into a table, deleted from it and updated, as a lazy DataFrame.

        Its columns are ``snapshot_id``, ``rowid`` and ``change_type`` (insert, delete,
        update_preimage, update_postimage), then those that the table has at the end.

        Args:
            name: ``table``, ``schema.table`` or ``lake.schema.table``; quote parts with dots.
            start: the first snapshot, by its number or as the first not older than a moment.
            end: the last snapshot, by its number or as the last not younger than a moment; by
                default the newest.
            kind: all changes; or only rows added or removed, which have no ``change_type``.
        """
        from ducklake_spark.execution.changes import read_feed

        return read_feed(self, split_name(name), start, end, kind)

    def append(self, name: str, df: DataFrame, *, merge_schema: bool = False) -> int:
        """Add the rows of a DataFrame to a table, columns matched by name. Returns how many.

        Args:
            name: the table, as in `table`.
            df: the rows; a column of the table that it lacks takes its default.
            merge_schema: whether the table gets the columns that only the DataFrame has, and the
                DataFrame's type where a column can be promoted to it, in the same snapshot.
        """
        from ducklake_spark.execution.overwrite import append_frame

        return append_frame(self, split_name(name), df, merge_schema=merge_schema)

    def overwrite(
        self,
        name: str,
        df: DataFrame,
        *,
        replace_where: str | Column | None = None,
        partitions: Literal["dynamic"] | None = None,
    ) -> int:
        """Replace rows of a table by those of a DataFrame. Returns how many were written.

        The DataFrame may read the table itself. New rows get new row ids.

        Args:
            name: the table, as in `table`.
            df: the new rows, columns matched by name.
            replace_where: only the rows that this condition is true for go, in DuckDB's SQL or as a
                Column of Spark; a new row that it is not true for is an error.
            partitions: with "dynamic" only those partitions are replaced that the DataFrame has
                rows for.
        """
        from ducklake_spark.execution.overwrite import overwrite_frame

        if partitions not in (None, "dynamic"):
            raise InvalidInput(
                f"Cannot overwrite the partitions {partitions!r}.", hint='partitions="dynamic".'
            )
        dynamic = partitions is not None
        return overwrite_frame(
            self, split_name(name), df, replace_where=replace_where, dynamic=dynamic
        )

    def create_table(self, name: str, df: DataFrame, *, or_replace: bool = False) -> int:
        """Make a table with the columns and rows of a DataFrame. Returns how many rows."""
        lake, schema_name, table_name = self.place(split_name(name))
        with self.writing(lake, f'create table "{table_name}"') as tx:
            schema = self.schema_entry(lake, tx, schema_name)
            prepare_session(df.sparkSession)
            columns = [NewColumn(f.name, type_of_field(f)) for f in df.schema.fields]
            table = create_table(lake, tx, schema, table_name, columns, or_replace=or_replace)
            rows = align_by_name(df, table.schema, lambda _: "NULL", table=table.name)
            return append(lake, tx, table, rows)

    def add_files(
        self,
        name: str,
        paths: str | Sequence[str],
        *,
        allow_missing: bool = False,
        ignore_extra_columns: bool = False,
        hive_partitioning: bool | None = None,
    ) -> int:
        """Make Parquet files that exist already part of a table, without copying them.

        The files belong to the lake from then on: once no snapshot needs them any more,
        maintenance removes them.

        Args:
            name: of the table.
            paths: a path, a glob (``**`` for any number of folders), or a list of them.
            allow_missing: rows of files that lack a column show its default.
            ignore_extra_columns: columns that the table does not have are not read.
            hive_partitioning: whether ``name=value`` folders are columns; by default those are
                that the table has.

        Returns:
            How many files were added: those without rows are left out.
        """
        return self.add_to_table(
            split_name(name),
            paths,
            allow_missing=allow_missing,
            ignore_extra_columns=ignore_extra_columns,
            hive_partitioning=hive_partitioning,
        )

    def add_to_table(
        self, parts: Sequence[str], paths: str | Sequence[str], **options: bool | None
    ) -> int:
        """`add_files` for a name that is in parts already."""
        lake, schema, table_name = self.place(parts)
        patterns = [paths] if isinstance(paths, str) else list(paths)
        with self.writing(lake, f'add files to table "{table_name}"') as tx:
            _, table = self.find_table(tx, lake, schema, table_name)
            given = AddOptions(**options)  # type: ignore[arg-type]
            return add_files(lake, tx, table, patterns, given, spark=lambda: self.spark)

    def delete(self, name: str, condition: str | Column | None = None) -> int:
        """Delete the rows of a table that a condition is true for. Returns how many.

        Args:
            name: the table, as in `table`.
            condition: in DuckDB's SQL or as a Column of Spark; None for all rows.
        """
        from ducklake_spark.execution.change_rows import delete_where

        return delete_where(self, split_name(name), condition)

    def update(
        self,
        name: str,
        values: Mapping[str, str | Column],
        condition: str | Column | None = None,
    ) -> int:
        """Set columns of the rows of a table that a condition is true for. Returns how many.

        Args:
            name: the table, as in `table`.
            values: for each column to be set an expression in DuckDB's SQL, or a Column of Spark.
            condition: in DuckDB's SQL or as a Column of Spark; None for all rows.
        """
        from ducklake_spark.execution.change_rows import update_where

        return update_where(self, split_name(name), values, condition)

    def merge(
        self,
        target: str,
        source: DataFrame | str,
        on: str | Sequence[str],
        *,
        target_alias: str = "target",
        source_alias: str = "source",
    ) -> MergeBuilder:
        """Begin a MERGE; add clauses to what this returns, and then `execute()`.

        >>> con.merge("stock", news, on=["item"]).when_matched_update().execute()  # doctest: +SKIP
        MergeResult(inserted=0, updated=2, deleted=0)

        Args:
            target: the table to change, as in `table`.
            source: a DataFrame, the name of a table, or a query in DuckDB's SQL.
            on: a condition in DuckDB's SQL such as ``target.id = source.id``, or the names of
                columns that must be equal.
            target_alias: what conditions and values call the table.
            source_alias: what they call the source.
        """
        from ducklake_spark.execution.merge_builder import start_merge

        return start_merge(self, target, source, on, (target_alias, source_alias))

    def snapshots(self, lake: str | None = None) -> DataFrame:
        """Every snapshot of a lake, by default of the one in use."""
        found = self.lake(lake) if lake else self.current_lake()
        return self.result(snapshots(found)).frame

    def checkpoint(self, lake: str | None = None, *, progress: Progress | None = None) -> None:
        """Run all maintenance of a lake, as CHECKPOINT does."""
        from ducklake_spark.execution.checkpoint import maintain

        maintain(self, self._lake(lake), progress)

    def sql(
        self,
        text: str,
        *,
        params: Sequence[Any] | Mapping[str, Any] | None = None,
        dialect: Literal["duckdb", "spark"] = "duckdb",
    ) -> DataFrame | Result:
        """Run one or more statements; returns the last one's outcome.

        A query gives a lazy pyspark DataFrame. Other statements are done at once; their outcome
        is a `Result`, which behaves as a DataFrame too.
        """
        from ducklake_spark.execution.execute import execute

        return execute(self, text, params=params, dialect=dialect)

    def explain(self, text: str) -> str:
        """How a query would run: the files and bytes it reads of how many, and Spark's plan."""
        from ducklake_spark.execution.execute import explain

        return explain(self, text)

    @out_of_turn
    def close(self) -> None:
        """Roll back what is open and let go of all lakes.

        A Spark that a connection has started ends with the last that uses it, and no other does.

        A statement that another thread runs is waited for.
        """
        with self.turn:
            if self._closed:
                return
            self.close_lakes()
            self._closed = True
            leave_session(self)

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

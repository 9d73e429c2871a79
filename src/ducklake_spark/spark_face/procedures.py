"""CALL lake.system.<procedure>(…): the functions of a lake, with parameters that Spark checks."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pyspark.sql import DataFrame

from ducklake_spark.errors import FunctionNotFound, InvalidInput
from ducklake_spark.execution.functions import call_lake_function
from ducklake_spark.model.names import quote_identifier, split_name
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.spark_face.registry import Named

Arguments = Mapping[str, Any]
NAMESPACE: Final = "system"
_SCHEMAS: Final = ("schema", "schema_name")
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a procedure, in its place."""

    name: str
    type: str
    comment: str
    optional: bool = True


@dataclass(frozen=True)
class Procedure:
    """A procedure of a lake.

    Attributes:
        description: a sentence.
        parameters: in the order in which they can be given without their names.
        run: its rows for the arguments that were given.
        positional: names of arguments that the function of the lake takes by their place.
    """

    description: str
    parameters: tuple[Parameter, ...] = ()
    run: Callable[[Named, Arguments], DataFrame] | None = None
    positional: tuple[str, ...] = field(default=())


def list_procedures(_lake: Named) -> str:
    """The names of all procedures."""
    return json.dumps(sorted(PROCEDURES))


def describe_procedure(_lake: Named, namespace: Sequence[str], name: str, _more: None) -> str:
    """What Spark has to know of a procedure.

    Raises:
        FunctionNotFound: with names that there are.
    """
    found = PROCEDURES.get(name.lower())
    if found is None or [part.lower() for part in namespace] != [NAMESPACE]:
        shown = ".".join((*namespace, name))
        known = [f"{NAMESPACE}.{each}" for each in PROCEDURES]
        raise FunctionNotFound.named(shown, where="this release", candidates=known)
    parameters = [vars(each) for each in found.parameters]
    told = {"name": name.lower(), "description": found.description, "parameters": parameters}
    return json.dumps(told)


def call_procedure(lake: Named, name: str, values: Sequence[Any]) -> Any:
    """The JVM's frame of the rows of a procedure. NULL counts as not given."""
    found = PROCEDURES[name]
    told = {
        parameter.name: _value(parameter, value)
        for parameter, value in zip(found.parameters, values, strict=True)
        if value is not None
    }
    given = _with_schema(lake, found, told)
    run = found.run or (lambda lake, given: _call(lake, name, found.positional, given))
    return run(lake, given)


def _with_schema(lake: Named, procedure: Procedure, given: Arguments) -> Arguments:
    """The arguments with the schema by itself where the name of the table says it too."""
    parts = split_name(given.get("table_name") or "t")
    key = next((each.name for each in procedure.parameters if each.name in _SCHEMAS), None)
    if len(parts) == 3 and parts[0].lower() == lake.name.lower():
        parts = parts[1:]
    if len(parts) != 2 or key is None or key in given:
        return given
    return {**given, key: parts[0], "table_name": parts[1]}


def _value(parameter: Parameter, value: Any) -> Any:
    if parameter.type == "timestamp":
        return _EPOCH + dt.timedelta(microseconds=value)
    return value


def _call(lake: Named, name: str, positional: tuple[str, ...], given: Arguments) -> DataFrame:
    """The function of the lake that has the same name in SQL."""
    places = tuple(given[key] for key in positional if key in given)
    rest = {key: value for key, value in given.items() if key not in positional}
    rows = call_lake_function(lake.con, (f"ducklake_{name}",), (lake.name, *places), rest)
    return lake.con.result(rows).frame


def _checkpoint(lake: Named, _given: Arguments) -> DataFrame:
    lake.con.checkpoint(lake.name)
    return _success(lake)


def _success(lake: Named) -> DataFrame:
    return lake.con.result(RowSet((("Success", "BOOLEAN"),))).frame


def _changes(kind: Literal["changes", "insertions", "deletions"]) -> Any:
    def run(lake: Named, given: Arguments) -> DataFrame:
        schema, table = given.get("schema", "main"), given["table_name"]
        name = ".".join(map(quote_identifier, (lake.name, schema, table)))
        return lake.con.changes(name, *_range(given), kind=kind)

    return run


def _range(given: Arguments) -> tuple[Any, Any]:
    numbers = given.get("start_snapshot"), given.get("end_snapshot")
    moments = given.get("start_time"), given.get("end_time")
    if any(each is not None for each in numbers) and any(each is not None for each in moments):
        raise InvalidInput(
            "Cannot take snapshots and moments at once.",
            hint="give start_snapshot and end_snapshot, or start_time and end_time.",
        )
    start, end = numbers if moments == (None, None) else moments
    if start is None:
        raise InvalidInput("Give start_snapshot or start_time: where the changes begin.")
    return start, end


def _set_layout(clause: str) -> Any:
    def run(lake: Named, given: Arguments) -> DataFrame:
        place = (lake.name, given.get("schema", "main"), given["table_name"])
        table = ".".join(map(quote_identifier, place))
        keys = given.get("keys")
        what = f"RESET {clause}" if keys is None else f"SET {clause} ({keys})"
        lake.con.sql(f"ALTER TABLE {table} {what}")
        return _success(lake)

    return run


_TABLE: Final = Parameter("table_name", "string", "one table; all tables without it")
_ONE_TABLE: Final = Parameter("table_name", "string", "the table", optional=False)
_SCHEMA: Final = Parameter("schema", "string", "the schema of the table; main without it")
_OLDER: Final = Parameter("older_than", "timestamp", "what is older than this moment")
_ALL: Final = Parameter("cleanup_all", "boolean", "all of them, however young")
_DRY: Final = Parameter("dry_run", "boolean", "only tell what would go")
_RANGE: Final = (
    _ONE_TABLE,
    Parameter("start_snapshot", "bigint", "the first snapshot"),
    Parameter("end_snapshot", "bigint", "the last snapshot; the newest without it"),
    _SCHEMA,
    Parameter("start_time", "timestamp", "in place of start_snapshot"),
    Parameter("end_time", "timestamp", "in place of end_snapshot"),
)
_KEYS: Final = (
    _ONE_TABLE,
    Parameter("keys", "string", "the keys in DuckDB's words; none without it"),
    _SCHEMA,
)

PROCEDURES: Final[Mapping[str, Procedure]] = {
    "add_data_files": Procedure(
        "Makes Parquet files that exist already part of a table.",
        (
            _ONE_TABLE,
            Parameter("path", "string", "a path or a glob", optional=False),
            _SCHEMA,
            Parameter("allow_missing", "boolean", "files may lack columns"),
            Parameter("ignore_extra_columns", "boolean", "files may have more columns"),
            Parameter("hive_partitioning", "boolean", "name=value folders are columns"),
        ),
        positional=("table_name", "path"),
    ),
    "check": Procedure("Verifies the lake from its catalog to its bytes: one row a finding."),
    "checkpoint": Procedure(
        "Runs all maintenance, as the options of the lake say.", (), _checkpoint
    ),
    "cleanup_old_files": Procedure("Removes files that no snapshot needs.", (_OLDER, _ALL, _DRY)),
    "current_snapshot": Procedure("The snapshot that this session sees."),
    "delete_orphaned_files": Procedure(
        "Removes files below the data path that no lake knows.", (_OLDER, _ALL, _DRY)
    ),
    "expire_snapshots": Procedure(
        "Forgets old snapshots.",
        (Parameter("versions", "array<bigint>", "the numbers of snapshots"), _OLDER, _DRY),
    ),
    "flush_inlined_data": Procedure(
        "Moves rows from the metadata database to files.",
        (_TABLE, Parameter("schema_name", "string", "the schema of the tables")),
    ),
    "last_committed_snapshot": Procedure("The last snapshot that this session made."),
    "list_files": Procedure(
        "The files behind a table.",
        (
            _ONE_TABLE,
            _SCHEMA,
            Parameter("snapshot_version", "bigint", "a snapshot of the past"),
            Parameter("snapshot_time", "timestamp", "a moment of the past"),
        ),
        positional=("table_name",),
    ),
    "merge_adjacent_files": Procedure(
        "Merges small files into large ones.",
        (
            _TABLE,
            _SCHEMA,
            Parameter("min_file_size", "bigint", "smaller files are left alone"),
            Parameter("max_file_size", "bigint", "larger files are left alone"),
            Parameter("max_compacted_files", "bigint", "how many files are made at most"),
        ),
        positional=("table_name",),
    ),
    "options": Procedure("The options that are stored."),
    "rewrite_data_files": Procedure(
        "Writes files again of which a large part is deleted.",
        (_TABLE, _SCHEMA, Parameter("delete_threshold", "double", "the part, from 0 to 1")),
        positional=("table_name",),
    ),
    "set_commit_message": Procedure(
        "Says who makes the snapshot of the open transaction, and why.",
        (
            Parameter("author", "string", "who", optional=False),
            Parameter("message", "string", "why", optional=False),
            Parameter("extra_info", "string", "anything else, such as JSON"),
        ),
        positional=("author", "message"),
    ),
    "set_option": Procedure(
        "Sets an option of the lake, a schema or a table.",
        (
            Parameter("name", "string", "of the option", optional=False),
            Parameter("value", "string", "its value", optional=False),
            _TABLE,
            Parameter("schema", "string", "for a schema, or of the table"),
        ),
        positional=("name", "value"),
    ),
    "set_partitioned_by": Procedure(
        "Divides what is written to a table from now on.", _KEYS, _set_layout("PARTITIONED BY")
    ),
    "set_sorted_by": Procedure(
        "Orders what is written to a table from now on.", _KEYS, _set_layout("SORTED BY")
    ),
    "settings": Procedure("What kind of lake this is."),
    "snapshots": Procedure("Every snapshot with what it changed."),
    "table_changes": Procedure("Rows inserted, deleted and updated.", _RANGE, _changes("changes")),
    "table_deletions": Procedure("Rows deleted.", _RANGE, _changes("deletions")),
    "table_info": Procedure("Files and bytes of every table."),
    "table_insertions": Procedure("Rows inserted.", _RANGE, _changes("insertions")),
}

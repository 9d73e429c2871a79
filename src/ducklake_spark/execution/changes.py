"""The change feed in SQL: table_changes, table_insertions and table_deletions in FROM."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Final, Literal

from pyspark.sql import DataFrame

from ducklake_spark.errors import InvalidInput, TableNotFound
from ducklake_spark.execution.compute import compute_all
from ducklake_spark.lake import Lake
from ducklake_spark.model.moments import moment_of_python, moment_of_sql
from ducklake_spark.operations.changes import read_changes, read_half
from ducklake_spark.operations.contents import TableVersion
from ducklake_spark.sql.relations import TableFunctionCall

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

Kind = Literal["changes", "insertions", "deletions"]

_KINDS: Final[dict[str, Kind]] = {
    "table_changes": "changes",
    "table_insertions": "insertions",
    "table_deletions": "deletions",
}
_ARGUMENTS: Final = ("table_name", "start_snapshot", "end_snapshot")
_PLACE: Final = ("catalog", "schema_name")


def is_change_function(parts: tuple[str, ...]) -> bool:
    """Whether a name in FROM is one of the functions of the change feed."""
    name = parts[-1].lower()
    return name in _KINDS or (len(parts) == 1 and name.removeprefix("ducklake_") in _KINDS)


def call_change_function(
    con: Connection, call: TableFunctionCall, home: tuple[Lake, str] | None
) -> tuple[DataFrame, frozenset[str]]:
    """The rows of ``lake.table_changes('t', 2, 3)`` or of one of its kin, and what ``*`` hides.

    `home` is where a bare name is looked up inside a view.
    """
    arguments, named = compute_all(con, call.arguments, call.named)
    plain = call.parts[-1].lower()
    kind = _KINDS[plain.removeprefix("ducklake_")]
    is_global = plain.startswith("ducklake_")
    wanted = (*_PLACE, *_ARGUMENTS) if is_global else _ARGUMENTS
    *place, table, start, end = _bind(plain, wanted, arguments, named)
    _check_bounds(plain, start, end)
    if isinstance(start, dt.date):
        start, end = (moment_of_sql(bound, con.time_zone) for bound in (start, end))
    lake, schema = _named_place(con, *place) if is_global else _place(con, call.parts, home)
    if table is None:
        raise InvalidInput("Table cannot be NULL.")
    version, first = _open(con, (lake.name, schema, str(table)), start, end)
    if kind == "changes":
        return read_changes(con.spark, version, first), frozenset()
    # A real column of that name wins over the virtual one.
    own = {name.lower() for name in version.table.schema.names}
    hidden = frozenset(call.virtual_columns - own)
    frame = read_half(con.spark, version, first, kind, virtual_columns=sorted(hidden))
    return frame, hidden


def read_feed(
    con: Connection,
    parts: tuple[str, ...],
    start: int | dt.datetime | str,
    end: int | dt.datetime | str | None,
    kind: Kind,
) -> DataFrame:
    """The changes of a table for Python; the halves have ``snapshot_id`` and ``rowid`` too."""
    if kind not in _KINDS.values():
        kinds = ", ".join(_KINDS.values())
        raise InvalidInput(f'There is no kind of changes "{kind}".', hint=f"there are {kinds}.")
    first, last = (
        at if at is None or isinstance(at, int) else moment_of_python(at, con.time_zone)
        for at in (start, end)
    )
    if first is None:
        raise InvalidInput("Snapshot identifier cannot be NULL.")
    lake, schema, table = con.place(parts)
    if last is None:
        with con.reading(lake) as tx:
            last = tx.snapshot.snapshot_id
    version, number = _open(con, (lake.name, schema, table), first, last)
    if kind == "changes":
        return read_changes(con.spark, version, number)
    return read_half(con.spark, version, number, kind, leading=("snapshot_id", "rowid"))


def _bind(
    function: str, wanted: tuple[str, ...], arguments: tuple[Any, ...], named: dict[str, Any]
) -> tuple[Any, ...]:
    given = dict(zip(wanted, arguments, strict=False))
    given.update({key.lower(): value for key, value in named.items()})
    if len(arguments) + len(named) != len(wanted) or set(given) != set(wanted):
        raise InvalidInput(
            f"{function}() does not support the supplied arguments.",
            hint=f"it is {function}({', '.join(wanted)}).",
        )
    return tuple(given[name] for name in wanted)


def _check_bounds(function: str, start: Any, end: Any) -> None:
    """Both bounds are numbers of snapshots, or both are moments."""
    for bound in (start, end):
        if bound is None:
            raise InvalidInput("Snapshot identifier cannot be NULL.")
    numbers = [isinstance(bound, int) and not isinstance(bound, bool) for bound in (start, end)]
    moments = [isinstance(bound, dt.date) for bound in (start, end)]  # a datetime is a date too
    if not all(numbers) and not all(moments):
        raise InvalidInput(
            f"No function matches the given name and argument types: {function}() takes the "
            "numbers of two snapshots or two timestamps.",
            hint="write TIMESTAMPTZ '…' for a moment, and give both bounds in the same way.",
        )


def _named_place(con: Connection, lake: Any, schema: Any) -> tuple[Lake, str]:
    if lake is None:
        raise InvalidInput("Catalog cannot be NULL.")
    if schema is None:
        raise InvalidInput("Schema cannot be NULL.")
    return con.lake(str(lake)), str(schema)


def _place(
    con: Connection, parts: tuple[str, ...], home: tuple[Lake, str] | None
) -> tuple[Lake, str]:
    """Lake and schema of the function: the one in use, if it is asked for the lake in use."""
    if len(parts) == 1:
        return home or (con.current_lake(), con.current_schema())
    if len(parts) > 3:
        raise InvalidInput(f"{'.'.join(parts)} has too many parts for a name.")
    lake, schema = con.schema_place(parts[:-1], home)
    is_lake = len(parts) == 2 and parts[0].lower() == lake.name.lower() and schema == "main"
    if is_lake and con.current is not None and con.current[0] == lake.name:
        return lake, con.current_schema()
    return lake, schema


def _open(
    con: Connection, parts: tuple[str, str, str], start: int | dt.datetime, end: int | dt.datetime
) -> tuple[TableVersion, int]:
    """The table at the end, and the number of the first snapshot."""
    version = _table_at(con, parts, end)
    if isinstance(start, int):
        first = version.lake.snapshot_at(version=start)
    else:
        first = version.lake.snapshot_since(start)
    return version, first.snapshot_id


def _table_at(con: Connection, parts: tuple[str, str, str], end: int | dt.datetime) -> TableVersion:
    try:
        if isinstance(end, int):
            return con.table_version(parts, version=end)
        return con.table_version(parts, timestamp=end)
    except TableNotFound:
        _refuse_view(con, parts, end)
        raise


def _refuse_view(con: Connection, parts: tuple[str, str, str], end: int | dt.datetime) -> None:
    lake = con.lake(parts[0])
    if isinstance(end, int):
        state = lake.state_at(lake.snapshot_at(version=end))
    else:
        state = lake.state_at(lake.snapshot_at(timestamp=end))
    schema = state.find_schema(parts[1])
    if schema is not None and state.find_view(schema.schema_id, parts[2]) is not None:
        raise InvalidInput(
            f'"{parts[2]}" is a View, not a table. Data change feed functions only support tables.'
        )

"""Table functions: ducklake_snapshots('lake'), lake.snapshots(), read_parquet('…') and kin."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from importlib.metadata import version as package_version
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from ducklake_spark.errors import FunctionNotFound, InvalidInput
from ducklake_spark.lake import Lake
from ducklake_spark.operations import describe
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.sql.relations import TableFunctionCall

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

Arguments = tuple[Any, ...]
Named = Mapping[str, Any]


def call_function(con: Connection, call: TableFunctionCall) -> DataFrame:
    """The rows of a table function."""
    name = call.parts[-1].lower()
    if name in _READERS and len(call.parts) == 1:
        return _READERS[name](con, call.arguments, call.named)
    return con.result(call_lake_function(con, call.parts, call.arguments, call.named)).frame


def call_lake_function(
    con: Connection, parts: tuple[str, ...], arguments: Arguments, named: Named
) -> RowSet:
    """The rows of a function about a lake: ``ducklake_x('lake', …)``, ``lake.x(…)`` or ``x(…)``."""
    name = parts[-1].lower()
    plain = name.removeprefix("ducklake_")
    function = _LAKE_FUNCTIONS.get(plain)
    if function is None:
        known = [f"ducklake_{known}" for known in _LAKE_FUNCTIONS] + list(_READERS)
        raise FunctionNotFound.named(".".join(parts), where="this release", candidates=known)
    if name != plain and len(parts) == 1:
        if not arguments or not isinstance(arguments[0], str):
            raise InvalidInput(f"{name} needs the name of a lake as its first argument.")
        lake, arguments = con.lake(arguments[0]), arguments[1:]
    elif len(parts) > 1:
        lake = con.lake(parts[0])
    else:
        lake = con.current_lake()
    return function(con, lake, arguments, dict(named))


def _no_arguments(name: str, arguments: Arguments, named: Named) -> None:
    if arguments or named:
        raise InvalidInput(f"{name} takes no further arguments.")


def _snapshots(con: Connection, lake: Lake, arguments: Arguments, named: Named) -> RowSet:
    _no_arguments("snapshots", arguments, named)
    return describe.snapshots(lake)


def _current_snapshot(con: Connection, lake: Lake, arguments: Arguments, named: Named) -> RowSet:
    _no_arguments("current_snapshot", arguments, named)
    with con.reading(lake) as tx:
        return describe.current_snapshot(tx.snapshot.snapshot_id)


def _last_committed(con: Connection, lake: Lake, arguments: Arguments, named: Named) -> RowSet:
    _no_arguments("last_committed_snapshot", arguments, named)
    return RowSet((("id", "BIGINT"),), ((con.last_committed,),))


def _table_info(con: Connection, lake: Lake, arguments: Arguments, named: Named) -> RowSet:
    _no_arguments("table_info", arguments, named)
    with con.reading(lake) as tx:
        return describe.table_info(lake, tx.local, tx.snapshot.snapshot_id)


def _settings(con: Connection, lake: Lake, arguments: Arguments, named: Named) -> RowSet:
    _no_arguments("settings", arguments, named)
    return describe.settings(lake, package_version("ducklake-spark"))


def _list_files(con: Connection, lake: Lake, arguments: Arguments, named: Named) -> RowSet:
    if len(arguments) != 1:
        raise InvalidInput("ducklake_list_files needs a lake and a table: ('lake', 'table').")
    options = {key.lower(): value for key, value in named.items()}
    schema = options.pop("schema", None)
    version, moment = options.pop("snapshot_version", None), options.pop("snapshot_time", None)
    if options:
        raise InvalidInput(
            f"ducklake_list_files has no argument {next(iter(options))!r}.",
            hint="it takes schema, snapshot_version and snapshot_time.",
        )
    if isinstance(moment, str):
        moment = dt.datetime.fromisoformat(moment)
    if schema is None:
        in_use = con.current is not None and con.current[0] == lake.name
        schema = con.current_schema() if in_use else "main"
    parts = (lake.name, schema, arguments[0])
    return describe.list_files(con.table_version(parts, version=version, timestamp=moment))


_LAKE_FUNCTIONS: dict[str, Callable[[Connection, Lake, Arguments, Named], RowSet]] = {
    "snapshots": _snapshots,
    "current_snapshot": _current_snapshot,
    "last_committed_snapshot": _last_committed,
    "table_info": _table_info,
    "settings": _settings,
    "list_files": _list_files,
}


def _paths(arguments: Arguments) -> list[str]:
    if len(arguments) != 1:
        raise InvalidInput("A reading function takes a path, or a list of paths.")
    return [arguments[0]] if isinstance(arguments[0], str) else list(arguments[0])


def _read_parquet(con: Connection, arguments: Arguments, named: Named) -> DataFrame:
    return con.spark.read.parquet(*_paths(arguments))


def _read_csv(con: Connection, arguments: Arguments, named: Named) -> DataFrame:
    options = {str(key): value for key, value in named.items()}
    options.setdefault("header", True)
    return con.spark.read.options(inferSchema=True, **options).csv(_paths(arguments))


def _read_json(con: Connection, arguments: Arguments, named: Named) -> DataFrame:
    return con.spark.read.json(_paths(arguments))


_READERS: dict[str, Callable[[Connection, Arguments, Named], DataFrame]] = {
    "read_parquet": _read_parquet,
    "parquet_scan": _read_parquet,
    "read_csv": _read_csv,
    "read_csv_auto": _read_csv,
    "read_json": _read_json,
    "read_json_auto": _read_json,
}

"""The functions of one lake: snapshots, files, options, messages."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as package_version
from typing import TYPE_CHECKING, Any, Final

from ducklake_spark.errors import InvalidInput
from ducklake_spark.execution.cleaning_functions import CLEANING_FUNCTIONS
from ducklake_spark.lake import Lake
from ducklake_spark.model.moments import moment_of_sql
from ducklake_spark.operations import describe
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.operations.options import Scope, list_options, set_option
from ducklake_spark.options import parse_boolean

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

Arguments = tuple[Any, ...]
Named = dict[str, Any]
_SUCCESS: Final = RowSet((("Success", "BOOLEAN"),))


def _no_arguments(name: str, arguments: Arguments, named: Named) -> None:
    if arguments or named:
        raise InvalidInput(f"{name} takes no further arguments.")


def _only(name: str, named: Named, *known: str) -> None:
    for key in named:
        if key not in known:
            raise InvalidInput(
                f"ducklake_{name} has no argument {key!r}.", hint=f"it takes {', '.join(known)}."
            )


def _schema_in_use(con: Connection, lake: Lake) -> str:
    in_use = con.current is not None and con.current[0] == lake.name
    return con.current_schema() if in_use else "main"


def _snapshots(con: Connection, lake: Lake, arguments: Arguments, named: Named) -> RowSet:
    _no_arguments("snapshots", arguments, named)
    return describe.snapshots(lake)


def _current_snapshot(con: Connection, lake: Lake, arguments: Arguments, named: Named) -> RowSet:
    _no_arguments("current_snapshot", arguments, named)
    with con.reading(lake) as tx:
        return describe.current_snapshot(tx.snapshot.snapshot_id)


def _last_committed(con: Connection, lake: Lake, arguments: Arguments, named: Named) -> RowSet:
    _no_arguments("last_committed_snapshot", arguments, named)
    return RowSet((("id", "BIGINT"),), ((con.last_committed_snapshot(lake.name),),))


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
    _only("list_files", named, "schema", "snapshot_version", "snapshot_time")
    if {"snapshot_version", "snapshot_time"} <= set(named):
        raise InvalidInput(
            "ducklake_list_files takes either snapshot_version OR snapshot_time, not both."
        )
    moment = named.get("snapshot_time")
    if moment is not None:
        moment = moment_of_sql(moment, con.time_zone)
    schema = named.get("schema") or _schema_in_use(con, lake)
    version = named.get("snapshot_version")
    parts = (lake.name, schema, str(arguments[0]))
    return describe.list_files(con.table_version(parts, version=version, timestamp=moment))


def _options(con: Connection, lake: Lake, arguments: Arguments, named: Named) -> RowSet:
    _no_arguments("options", arguments, named)
    with con.reading(lake) as tx:
        return list_options(lake, tx.local)


def _set_option(con: Connection, lake: Lake, arguments: Arguments, named: Named) -> RowSet:
    if len(arguments) != 2:
        raise InvalidInput("set_option needs the name of an option and its value.")
    _only("set_option", named, "schema", "table_name")
    name, value = arguments
    with con.writing(lake, f"set the option {name}") as tx:
        schema, table = named.get("schema"), named.get("table_name")
        scope: Scope = None
        if table is not None:
            place = schema or _schema_in_use(con, lake)
            _, scope = con.find_table(tx, lake, str(place), str(table))
        elif schema is not None:
            scope = con.schema_entry(lake, tx, str(schema))
        set_option(lake, tx, str(name), value, scope)
    return _SUCCESS


def _set_commit_message(con: Connection, lake: Lake, arguments: Arguments, named: Named) -> RowSet:
    """Outside a transaction the call is one by itself, so that the message concerns nothing."""
    if len(arguments) != 2:
        raise InvalidInput("set_commit_message needs an author and a message.")
    _only("set_commit_message", named, "extra_info")
    if con.in_transaction:
        con.set_commit_message(*arguments, named.get("extra_info"))
    return _SUCCESS


def _add_data_files(con: Connection, lake: Lake, arguments: Arguments, named: Named) -> RowSet:
    """As in the extension, there is a column of names but never a row."""
    if len(arguments) != 2 or None in arguments:
        raise InvalidInput(
            "ducklake_add_data_files needs a lake, a table and a path or a list of paths."
        )
    _only("add_data_files", named, "schema", *_ADD_FLAGS)
    flags = {name: _flag(name, named[name]) for name in _ADD_FLAGS if named.get(name) is not None}
    schema = str(named.get("schema") or _schema_in_use(con, lake))
    table, paths = arguments
    con.add_to_table((lake.name, schema, str(table)), paths, **flags)
    return RowSet((("filename", "VARCHAR"),))


_ADD_FLAGS: Final = ("allow_missing", "ignore_extra_columns", "hive_partitioning")


def _flag(name: str, value: Any) -> bool:
    try:
        return parse_boolean(value)
    except ValueError:
        raise InvalidInput(f"{name} takes true or false, not {value!r}.") from None


LAKE_FUNCTIONS: Final[dict[str, Callable[[Connection, Lake, Arguments, Named], RowSet]]] = {
    "snapshots": _snapshots,
    "current_snapshot": _current_snapshot,
    "last_committed_snapshot": _last_committed,
    "table_info": _table_info,
    "settings": _settings,
    "list_files": _list_files,
    "options": _options,
    "set_option": _set_option,
    "set_commit_message": _set_commit_message,
    **CLEANING_FUNCTIONS,
    "add_data_files": _add_data_files,
}

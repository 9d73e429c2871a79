"""enable_logging(), disable_logging(), duckdb_logs and duckdb_logs_parsed()."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ducklake_spark.errors import InvalidInput, did_you_mean
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.operations.query_log import list_parsed_entries, start_logging

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

_SUCCESS: Final = RowSet((("Success", "BOOLEAN"),))
_ARGUMENTS: Final = ("level", "storage", "storage_path")


def _enable(con: Connection, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> RowSet:
    for name in named:
        if name not in _ARGUMENTS:
            hint = did_you_mean(name, _ARGUMENTS) or f"it takes {', '.join(_ARGUMENTS)}."
            raise InvalidInput(f"enable_logging has no argument {name!r}.", hint=hint)
    if len(arguments) > 1:
        raise InvalidInput("enable_logging takes one log type, or a list of log types.")
    types = arguments[0] if arguments else None
    given = [types] if isinstance(types, str) else types
    start_logging(con.log, given, storage=named.get("storage"), path=named.get("storage_path"))
    return _SUCCESS


def _disable(con: Connection, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> RowSet:
    con.log.disable()
    return _SUCCESS


def _truncate(con: Connection, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> RowSet:
    con.log.clear()
    return _SUCCESS


def _parsed(con: Connection, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> RowSet:
    if len(arguments) != 1 or not isinstance(arguments[0], str):
        raise InvalidInput("duckdb_logs_parsed takes a log type, such as 'DuckLakeMetadata'.")
    return list_parsed_entries(con.log, arguments[0])


LOG_FUNCTIONS: Final[
    Mapping[str, Callable[[Connection, tuple[Any, ...], Mapping[str, Any]], RowSet]]
] = {
    "enable_logging": _enable,
    "disable_logging": _disable,
    "truncate_duckdb_logs": _truncate,
    "duckdb_logs_parsed": _parsed,
}

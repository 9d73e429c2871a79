"""The log of statements as rows, in DuckDB's columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ducklake_spark.catalog_db.query_log import LOG_TYPES, METADATA, LogEntry, QueryLog
from ducklake_spark.errors import InvalidInput, did_you_mean
from ducklake_spark.operations.describe import RowSet

_STORAGES: Final = ("memory", "stdout", "file")
_COMMON: Final = (
    ("context_id", "UBIGINT"),
    ("scope", "VARCHAR"),
    ("connection_id", "UBIGINT"),
    ("transaction_id", "UBIGINT"),
    ("query_id", "UBIGINT"),
    ("thread_id", "UBIGINT"),
    ("timestamp", "TIMESTAMP WITH TIME ZONE"),
    ("type", "VARCHAR"),
    ("log_level", "VARCHAR"),
)
_PARSED: Final = (
    ("catalog", "VARCHAR"),
    ("query", "VARCHAR"),
    ("elapsed_ms", "BIGINT"),
    ("parameters", "VARCHAR"),
)


def start_logging(
    log: QueryLog, types: Sequence[Any] | None, *, storage: str | None, path: str | None
) -> None:
    """Keep statements from now on, of all types when none is given."""
    chosen = [_log_type(str(name)) for name in (LOG_TYPES if types is None else types)]
    place = (storage or ("file" if path else "memory")).lower()
    if place not in _STORAGES:
        raise InvalidInput(
            f"enable_logging cannot store the log in {storage!r}.",
            hint=f"it takes {', '.join(_STORAGES)}.",
        )
    if place == "file" and path is None:
        raise InvalidInput("enable_logging to a file needs storage_path, the folder for it.")
    log.enable(chosen, storage=place, path=path)


def list_entries(log: QueryLog) -> RowSet:
    """duckdb_logs: what the buffer holds, each with its message."""
    rows = tuple((*_common(entry), entry.message) for entry in log.entries)
    return RowSet((*_COMMON, ("message", "VARCHAR")), rows)


def list_parsed_entries(log: QueryLog, type_name: str) -> RowSet:
    """duckdb_logs_parsed(type): the statements of the metadata databases with their times."""
    if _log_type(type_name) != METADATA:
        raise InvalidInput(
            f"duckdb_logs_parsed has no columns for the log type {type_name!r}.",
            hint="read duckdb_logs.",
        )
    rows = tuple(
        (*_common(entry), entry.catalog, entry.query, entry.elapsed_ms, entry.parameters)
        for entry in log.entries
        if entry.type == METADATA
    )
    return RowSet((*_COMMON, *_PARSED), rows)


def _common(entry: LogEntry) -> tuple[Any, ...]:
    level = "DEBUG" if entry.type == METADATA else "INFO"
    return (0, "CONNECTION", None, None, None, None, entry.moment, entry.type, level)


def _log_type(name: str) -> str:
    for known in LOG_TYPES:
        if known.lower() == name.lower():
            return known
    hint = did_you_mean(name, LOG_TYPES) or f"there are {', '.join(LOG_TYPES)}."
    raise InvalidInput(f"Unknown log type: {name!r}.", hint=hint)

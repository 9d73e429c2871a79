"""SET, RESET, current_setting() and duckdb_settings()."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from ducklake_spark.binder.mirror import BindSettings, Mirror
from ducklake_spark.commit.retry import RetryPolicy
from ducklake_spark.errors import InvalidInput, NotSupported, UnknownOption, did_you_mean
from ducklake_spark.execution.engine_settings import (
    BINDING_SETTINGS,
    ENGINE_SETTINGS,
    ONLY_VALUES,
    REFUSED_SETTINGS,
)
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.options import parse_boolean, parse_count, parse_size
from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.sql import statements as st

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

_NOTHING = RowSet(())
_TIME_ZONE: Final = "spark.sql.session.timeZone"


@dataclass(frozen=True)
class LakeSetting:
    """A setting of ours: how its value is read, and its value when nobody set it."""

    parse: Callable[[Any], Any]
    default: Any


def _retry_backoff(value: Any) -> float:
    number = float(str(value))
    if number < 0:
        raise ValueError(value)
    return number


def _size_text(value: Any) -> str:
    text = str(value)
    if text:
        parse_size(text)
    return text


LAKE_SETTINGS: Final[dict[str, LakeSetting]] = {
    "ducklake_default_data_inlining_row_limit": LakeSetting(parse_count, 10),
    "ducklake_max_retry_count": LakeSetting(parse_count, RetryPolicy().max_retry_count),
    "ducklake_retry_backoff": LakeSetting(_retry_backoff, RetryPolicy().backoff),
    "ducklake_retry_wait_ms": LakeSetting(parse_count, RetryPolicy().wait_ms),
    "ducklake_target_file_size": LakeSetting(_size_text, None),
    "ducklake_write_deletion_vectors": LakeSetting(parse_boolean, False),
}
_RETRY: Final = {
    "ducklake_max_retry_count": "max_retry_count",
    "ducklake_retry_backoff": "backoff",
    "ducklake_retry_wait_ms": "wait_ms",
}


def set_setting(con: Connection, s: st.SetSetting) -> RowSet:
    """SET name = value."""
    if isinstance(s.value, exp.Expr):
        raise InvalidInput(f"SET {s.name} takes a constant.", hint="write the value itself.")
    _apply(con, _known(s.name), s.value)
    return _NOTHING


def reset_setting(con: Connection, s: st.ResetSetting) -> RowSet:
    """RESET name, RESET VARIABLE name. What was never set is no error."""
    if s.scope == "variable":
        con.variables.pop(s.name.lower(), None)
        return _NOTHING
    name = _known(s.name)
    con.settings.pop(name, None)
    if name in LAKE_SETTINGS:
        _apply(con, name, LAKE_SETTINGS[name].default)
        con.settings.pop(name, None)
    elif name == "timezone":
        con.spark.conf.unset(_TIME_ZONE)
    elif name in ("schema", "search_path") and con.current is not None:
        con.use(con.current[0])
    return _NOTHING


def _known(name: str) -> str:
    """The name in lower case, if there is such a setting."""
    lowered = name.lower()
    if lowered in REFUSED_SETTINGS:
        raise _refusal(name)
    lowered = BINDING_SETTINGS.get(lowered, lowered)
    known = {
        *LAKE_SETTINGS,
        *ENGINE_SETTINGS,
        *BINDING_SETTINGS,
        "timezone",
        "schema",
        "search_path",
    }
    if lowered not in known:
        hint = (
            did_you_mean(name, known) or f"those of lakes are {', '.join(sorted(LAKE_SETTINGS))}."
        )
        raise UnknownOption(f'There is no setting "{name}".', hint=hint)
    return lowered


def _refusal(name: str) -> NotSupported:
    return NotSupported(
        f'The setting "{name}" is not supported: it changes the results of queries, '
        "and Spark cannot be told to follow it."
    )


def _apply(con: Connection, name: str, value: Any) -> None:
    if name in LAKE_SETTINGS:
        value = _lake_value(name, value)
        if name in _RETRY:
            con.retry = replace(con.retry, **{_RETRY[name]: value})
    elif name in ONLY_VALUES and str(value).lower() != ONLY_VALUES[name]:
        raise _refusal(name)
    elif name == "timezone":
        with spark_failures(f"set the time zone to {value}"):
            con.spark.conf.set(_TIME_ZONE, str(value))
    elif name in ("schema", "search_path"):
        lake, schema = con.schema_place(str(value).split("."))
        con.use(lake.name, schema)
        return
    elif name in BINDING_SETTINGS:
        value = str(value)
        Mirror(BindSettings(others=((name, value),)))  # refuses what DuckDB refuses
    con.settings[name] = value
    apply_to_lakes(con)


def binding_settings(con: Connection) -> tuple[tuple[str, str], ...]:
    """The settings that were set and that change what a query means."""
    return tuple((name, value) for name, value in con.settings.items() if name in BINDING_SETTINGS)


def _lake_value(name: str, value: Any) -> Any:
    try:
        return None if value is None else LAKE_SETTINGS[name].parse(value)
    except (ValueError, ArithmeticError):
        raise UnknownOption(f"{name} cannot take the value {value!r}.") from None


def apply_to_lakes(con: Connection) -> None:
    """Let the attached lakes know the settings that concern them."""
    name = "ducklake_default_data_inlining_row_limit"
    size = con.settings.get("ducklake_target_file_size")
    for lake in con.lakes.values():
        lake.default_inlining_row_limit = con.settings.get(name, LAKE_SETTINGS[name].default)
        lake.target_file_size = parse_size(size) if size else None


def current_setting(con: Connection, name: str) -> Any:
    """The value of a setting."""
    known = _known(name)
    if known in con.settings:
        return con.settings[known]
    if known in LAKE_SETTINGS:
        return LAKE_SETTINGS[known].default
    match known:
        case "timezone":
            return con.spark.conf.get(_TIME_ZONE)
        case "threads" | "worker_threads":
            return con.spark.sparkContext.defaultParallelism
        case "schema" | "search_path":
            return con.current_schema()
    raise InvalidInput(
        f'The setting "{name}" has no value here: it is one of DuckDB and was not set.'
    )


def list_settings(con: Connection) -> RowSet:
    """duckdb_settings(): those of lakes, and what SET has set."""
    columns = (
        *((name, "VARCHAR") for name in ("name", "value", "description", "input_type", "scope")),
        ("aliases", "VARCHAR[]"),
    )
    values = {name: setting.default for name, setting in LAKE_SETTINGS.items()} | con.settings
    rows: tuple[tuple[Any, ...], ...] = tuple(
        (name, None if value is None else _setting_text(value), "", "VARCHAR", "GLOBAL", [])
        for name, value in sorted(values.items())
    )
    return RowSet(columns, rows)


def _setting_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

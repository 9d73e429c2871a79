"""PRAGMA, as a statement and as a table function: pragma_table_info('t')."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version as package_version
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from ducklake_spark.errors import InvalidInput, UnknownOption, did_you_mean
from ducklake_spark.execution.compute import compute_all
from ducklake_spark.execution.engine_settings import ENGINE_PRAGMAS, ENGINE_SETTINGS
from ducklake_spark.execution.settings import set_setting
from ducklake_spark.execution.system import seen_lakes
from ducklake_spark.model.names import split_name
from ducklake_spark.operations import describe
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.operations.system_tables import database_sizes, default_text
from ducklake_spark.sql import statements as st

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

_TABLE_INFO: Final = (
    ("cid", "INTEGER"),
    ("name", "VARCHAR"),
    ("type", "VARCHAR"),
    ("notnull", "BOOLEAN"),
    ("dflt_value", "VARCHAR"),
    ("pk", "BOOLEAN"),
)


def pragma(con: Connection, s: st.Pragma) -> RowSet:
    """PRAGMA name = value is SET; a few ask questions; those of DuckDB's engine do nothing."""
    if s.value is not None:
        return set_setting(con, st.SetSetting(s.name, s.value))
    if s.name in _QUESTIONS:
        names = tuple(_name_of(argument) for argument in s.arguments)
        arguments, _ = compute_all(con, names, {})
        return _QUESTIONS[s.name](con, arguments)
    if s.name in ENGINE_PRAGMAS or s.name in ENGINE_SETTINGS:
        return RowSet(())
    raise UnknownOption(
        f'There is no PRAGMA "{s.name}".',
        hint=did_you_mean(s.name, _QUESTIONS) or f"there are {', '.join(sorted(_QUESTIONS))}.",
    )


def pragma_function(name: str) -> Callable[[Connection, tuple[Any, ...]], RowSet] | None:
    """What answers ``pragma_table_info('t')`` and its kin; None for other functions."""
    return _QUESTIONS.get(name.removeprefix("pragma_")) if name.startswith("pragma_") else None


def _name_of(argument: Any) -> Any:
    """PRAGMA table_info(t): a bare name stands for its text."""
    return argument.sql(dialect="duckdb") if isinstance(argument, exp.Column) else argument


def _database_size(con: Connection, arguments: tuple[Any, ...]) -> RowSet:
    return database_sizes(seen_lakes(con))


def _version(con: Connection, arguments: tuple[Any, ...]) -> RowSet:
    shown = (("library_version", "VARCHAR"), ("source_id", "VARCHAR"))
    return RowSet(shown, ((package_version("ducklake-spark"), "ducklake-spark"),))


def _database_list(con: Connection, arguments: tuple[Any, ...]) -> RowSet:
    columns = (("seq", "BIGINT"), ("name", "VARCHAR"), ("file", "VARCHAR"))
    lakes = enumerate(con.lakes.values())
    return RowSet(columns, tuple((i, lake.name, str(lake.db.url)) for i, lake in lakes))


def _show_tables(con: Connection, arguments: tuple[Any, ...]) -> RowSet:
    lake = con.current_lake()
    with con.reading(lake) as tx:
        schema = con.schema_entry(lake, tx, con.current_schema())
        return describe.show_tables(tx.local, schema.schema_id)


def _table_info(con: Connection, arguments: tuple[Any, ...]) -> RowSet:
    if len(arguments) != 1 or not isinstance(arguments[0], str):
        raise InvalidInput("PRAGMA table_info takes the name of a table: ('schema.table').")
    table = con.table_version(split_name(arguments[0])).table
    rows = tuple(
        (index, row[0], row[1], not column.nulls_allowed, default_text(column), False)
        for index, (row, column) in enumerate(
            zip(describe.describe(table).rows, table.schema.columns, strict=True)
        )
    )
    return RowSet(_TABLE_INFO, rows)


_QUESTIONS: Final[Mapping[str, Callable[[Connection, tuple[Any, ...]], RowSet]]] = {
    "database_size": _database_size,
    "database_list": _database_list,
    "show_databases": _database_list,
    "show_tables": _show_tables,
    "table_info": _table_info,
    "version": _version,
}

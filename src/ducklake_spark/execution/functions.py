"""Table functions: ducklake_snapshots('lake'), lake.snapshots(), read_parquet('…') and kin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from ducklake_spark.errors import FunctionNotFound, InvalidInput
from ducklake_spark.execution.compaction import COMPACTION_FUNCTIONS
from ducklake_spark.execution.compute import compute_all
from ducklake_spark.execution.lake_functions import LAKE_FUNCTIONS
from ducklake_spark.execution.log_functions import LOG_FUNCTIONS
from ducklake_spark.execution.pragmas import pragma_function
from ducklake_spark.execution.readers import READERS, ask_parquet, glob_files
from ducklake_spark.execution.system import system_function
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.operations.parquet_info import PARQUET_QUESTIONS
from ducklake_spark.sql.relations import TableFunctionCall

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection


def call_function(con: Connection, call: TableFunctionCall) -> DataFrame:
    """The rows of a table function in FROM."""
    name = call.parts[-1].lower()
    if len(call.parts) == 1 and name in READERS:
        arguments, named = compute_all(con, call.arguments, call.named)
        return READERS[name](con, arguments, named)
    return con.result(call_lake_function(con, call.parts, call.arguments, call.named)).frame


def call_lake_function(
    con: Connection, parts: tuple[str, ...], arguments: tuple[Any, ...], named: Mapping[str, Any]
) -> RowSet:
    """The rows of a function about lakes: ``ducklake_x('lake', …)``, ``lake.x(…)`` or ``x(…)``."""
    name = parts[-1].lower()
    arguments, named = compute_all(con, arguments, named)
    if name in LOG_FUNCTIONS and len(parts) == 1:
        return LOG_FUNCTIONS[name](con, arguments, {k.lower(): v for k, v in named.items()})
    answer = system_function(con, name)
    if answer is not None:
        if arguments or named:
            raise InvalidInput(f"{name}() takes no arguments.")
        return answer()
    question = pragma_function(name) if len(parts) == 1 else None
    if question is not None:
        return question(con, arguments)
    if name in PARQUET_QUESTIONS and len(parts) == 1:
        return ask_parquet(name, arguments, named)
    if name == "glob" and len(parts) == 1:
        return glob_files(con, arguments, named)
    plain = name.removeprefix("ducklake_")
    function = LAKE_FUNCTIONS.get(plain) or COMPACTION_FUNCTIONS.get(plain)
    if function is None:
        raise _unknown(parts)
    if name != plain and len(parts) == 1:
        if not arguments or not isinstance(arguments[0], str):
            raise InvalidInput(f"{name} needs the name of a lake as its first argument.")
        lake, arguments = con.lake(arguments[0]), arguments[1:]
    else:
        lake = con.lake(parts[0]) if len(parts) > 1 else con.current_lake()
    return function(con, lake, arguments, {key.lower(): value for key, value in named.items()})


def is_table_function(con: Connection, parts: tuple[str, ...]) -> bool:
    """Whether a function in FROM is one of this package; it runs when the query is planned."""
    name = parts[-1].lower()
    plain = name.removeprefix("ducklake_")
    if system_function(con, name) is not None:
        return True
    if plain in LAKE_FUNCTIONS or plain in COMPACTION_FUNCTIONS:
        return True
    known = name in LOG_FUNCTIONS or name in PARQUET_QUESTIONS or name in READERS or name == "glob"
    return len(parts) == 1 and (known or pragma_function(name) is not None)


def _unknown(parts: tuple[str, ...]) -> FunctionNotFound:
    known = [f"ducklake_{known}" for known in (*LAKE_FUNCTIONS, *COMPACTION_FUNCTIONS)]
    known += [*READERS, *LOG_FUNCTIONS, *PARQUET_QUESTIONS, "glob"]
    return FunctionNotFound.named(".".join(parts), where="this release", candidates=known)

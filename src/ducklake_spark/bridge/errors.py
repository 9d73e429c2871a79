"""Errors of this package that come back from the JVM, as the objects that they were. Driver."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from pyspark.errors.exceptions import captured

from ducklake_spark.bridge.callbacks import in_flight
from ducklake_spark.bridge.half import known_bridge
from ducklake_spark.errors import DuckLakeError

_MARK: Final = "__ducklake__"


def original_error(exception: BaseException) -> DuckLakeError | None:
    """The error of ours that an exception of PySpark carries, or None."""
    if isinstance(exception, DuckLakeError):
        return exception
    java = getattr(exception, "java_exception", None) or getattr(exception, "_origin", None)
    return None if java is None else error_in(java)


def error_in(java: Any) -> DuckLakeError | None:
    """The error of ours among an exception of the JVM and its causes, or None."""
    bridge = known_bridge()
    return None if bridge is None else in_flight.find(int(bridge.java.errorNumber(java)))


def convert_errors(convert_more: Callable[[Any], DuckLakeError | None]) -> None:
    """Let whoever runs a DataFrame of a lake see the errors of this package.

    PySpark turns exceptions of the JVM into its own in one function and shows those that it does
    not know with the JVM's whole stack; it has no other place where a package can name its own.
    All other exceptions go on to PySpark's function.

    Args:
        convert_more: an error of ours for an exception of the JVM that no callback has raised.
    """
    convert = captured.convert_exception
    if hasattr(convert, _MARK):
        return

    @functools.wraps(convert)
    def convert_ours(java: Any) -> Any:
        return error_in(java) or convert_more(java) or convert(java)

    setattr(convert_ours, _MARK, True)
    captured.convert_exception = convert_ours  # type: ignore[assignment]

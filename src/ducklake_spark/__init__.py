"""The DuckLake lakehouse format on Apache Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection, connect
    from ducklake_spark.errors import DuckLakeError
    from ducklake_spark.result import Result

__all__ = ["Connection", "DuckLakeError", "Result", "connect"]

_HOMES = {
    "Connection": "ducklake_spark.connection",
    "DuckLakeError": "ducklake_spark.errors",
    "Result": "ducklake_spark.result",
    "connect": "ducklake_spark.connection",
}


def __getattr__(name: str) -> Any:
    """Import the public names when they are first used: Spark tasks need none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)

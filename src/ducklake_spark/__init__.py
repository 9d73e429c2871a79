"""The DuckLake lakehouse format on Apache Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection, connect
    from ducklake_spark.errors import DuckLakeError
    from ducklake_spark.result import Result
    from ducklake_spark.spark_face.registry import configure, install, register
    from ducklake_spark.spark_face.transactions import transaction
    from ducklake_spark.spark_face.upserts import upsert_batch

__all__ = [
    "Connection",
    "DuckLakeError",
    "Result",
    "configure",
    "connect",
    "install",
    "register",
    "transaction",
    "upsert_batch",
]

_HOMES = {
    "Connection": "ducklake_spark.connection",
    "DuckLakeError": "ducklake_spark.errors",
    "Result": "ducklake_spark.result",
    "configure": "ducklake_spark.spark_face.registry",
    "connect": "ducklake_spark.connection",
    "install": "ducklake_spark.spark_face.registry",
    "register": "ducklake_spark.spark_face.registry",
    "transaction": "ducklake_spark.spark_face.transactions",
    "upsert_batch": "ducklake_spark.spark_face.upserts",
}


def __getattr__(name: str) -> Any:
    """Import the public names when they are first used: Spark tasks need none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def _install_in_running_session() -> None:
    """Let a session that is there already know lakes that its settings name.

    Tasks have no session, and a process without PySpark has none either: there it costs nothing.
    """
    import sys

    known = getattr(sys.modules.get("pyspark.sql"), "SparkSession", None)
    session = known.getActiveSession() if known is not None else None
    if session is None:
        return
    from ducklake_spark.bridge.half import is_classic
    from ducklake_spark.errors import DuckLakeError
    from ducklake_spark.spark_face.registry import install

    try:
        if is_classic(session):
            install(session)
    except DuckLakeError as error:  # whoever uses a lake is told again
        import warnings

        warnings.warn(f"Lakes cannot be named in this Spark session: {error}", stacklevel=3)


_install_in_running_session()

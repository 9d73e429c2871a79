"""The DuckLake lakehouse format on Apache Spark."""

from ducklake_spark.connection import Connection, connect
from ducklake_spark.errors import DuckLakeError
from ducklake_spark.result import Result

__all__ = ["Connection", "DuckLakeError", "Result", "connect"]

"""Scalar functions of DuckDB that Spark computes with the very same answer, by name.

What is not here, or whose rule gives None, DuckDB computes inside Spark's tasks.
"""

from ducklake_spark.translate.functions.registry import ALIASES, SCALARS

__all__ = ["ALIASES", "SCALARS"]

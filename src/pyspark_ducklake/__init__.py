"""Lets every Spark find the format ``ducklake``: it looks into installed modules `pyspark_*`.

Where a session has used `ducklake_spark`, its JVM has a class for the format, which goes first and
is faster. This one serves all others, those of Spark Connect among them.
"""

from ducklake_spark.data_source.source import LakeDataSource as DefaultSource

__all__ = ["DefaultSource"]

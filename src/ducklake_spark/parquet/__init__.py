"""Bytes, inside Spark tasks: Parquet files by pyarrow."""

"""EXPLAIN: how many files and bytes of how many a query reads, and what excluded the others."""

from __future__ import annotations

from pyspark.sql import DataFrame

from ducklake_spark.bridge.frames import plan_text
from ducklake_spark.spark.failures import spark_failures
from ducklake_spark.spark.relation import explain_scans


def explain_frame(frame: DataFrame, *, analyze: bool = False) -> str:
    """The text of EXPLAIN; with `analyze` the query is run, and its files are counted."""
    with spark_failures("explain the query"):
        if analyze:
            frame.write.format("noop").mode("overwrite").save()
        reports = explain_scans(frame)
        plan = plan_text(frame)
    lines = [report.explain() for report in reports] or ["No data file is read."]
    if analyze:
        lines.append(f"Total Files Read: {sum(report.files_chosen for report in reports)}")
    return "\n".join([*lines, "", plan.strip()])

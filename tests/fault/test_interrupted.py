"""Ctrl-C ends the Spark job of a statement, and leaves neither files nor a lame connection."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import ducklake_spark
from ducklake_spark.spark.jobs import JobTag, run_job

pytestmark = pytest.mark.spark

WRITES = ["append", "append to partitions", "create table as", "delete", "update", "overwrite"]
WRITES += ["merge"]


def test_statement_that_is_interrupted_leaves_nothing_behind(tmp_path: Path):
    support = Path(__file__).parents[1]
    paths = [str(support), str(support.parent / "src"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", "support.interrupted", str(tmp_path), *WRITES],
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [each["name"] for each in found] == WRITES
    rows = found[0]["rows"]
    for each in found:
        assert each["told"] == "interrupted", each
        assert (each["left"], each["snapshots"], each["rows"]) == ([], 0, rows), each
        assert each["tasks"] == 0, each
        assert each["stopped_after"] < 15, each  # the job itself would take much longer


def test_only_the_jobs_of_a_tag_are_cancelled(spark):
    tag, outcomes = JobTag(spark), {}

    def ours() -> None:
        tag.mark_thread()
        try:
            outcomes["ours"] = spark.range(0, 10**12, 1, 1).selectExpr("sum(id % 7)").collect()
        except Exception as error:
            outcomes["ours"] = error

    def theirs() -> None:
        outcomes["theirs"] = spark.range(0, 10**9, 1, 1).selectExpr("max(id % 7)").collect()

    threads = [threading.Thread(target=each) for each in (ours, theirs)]
    for thread in threads:
        thread.start()
    while len(spark.sparkContext.statusTracker().getActiveJobsIds()) < 2:
        time.sleep(0.01)
    tag.cancel(lambda seconds: threads[0].join(seconds) or not threads[0].is_alive())
    threads[1].join()
    assert isinstance(outcomes["ours"], Exception)
    assert outcomes["theirs"][0][0] == 6


def test_job_of_another_thread_fails_as_it_would_alone(spark):
    with pytest.raises(ZeroDivisionError):
        run_job(spark, lambda: 1 // 0)


@pytest.mark.parametrize("step", ["merge", "rewrite"])
def test_compaction_that_is_interrupted_leaves_no_file(spark, tmp_path: Path, step: str):
    with ducklake_spark.connect(
        f"ducklake:sqlite:{tmp_path}/lake.sqlite",
        spark=spark,
        alias="lake",
        data_path=f"{tmp_path}/data/",
        data_inlining_row_limit=0,
    ) as con:
        con.sql("CREATE TABLE t (id BIGINT, part BIGINT)")
        con.sql("ALTER TABLE t SET PARTITIONED BY (part)")
        for number in range(2):
            con.sql(f"INSERT INTO t SELECT i, i % 12 FROM range({number}, 1200) r(i)")
        if step == "rewrite":
            con.sql("DELETE FROM t WHERE id % 24 < 12")
        rows = con.table("t").count()
        before = sorted(tmp_path.rglob("*.parquet"))

        def press(done: int, _: int) -> None:
            if done:
                raise KeyboardInterrupt

        compact = con.merge_adjacent_files if step == "merge" else con.rewrite_data_files
        options = {} if step == "merge" else {"delete_threshold": 0.1}
        with pytest.raises(KeyboardInterrupt):
            compact(progress=press, **options)
        assert sorted(tmp_path.rglob("*.parquet")) == before
        assert sum(row.files_created for row in compact(**options).collect()) > 1
        assert con.table("t").count() == rows

"""A standalone cluster of two workers on this machine: the executors have only the package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest

pytestmark = pytest.mark.spark

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"

CHILD = """
import sys
from pyspark.sql import SparkSession, functions as F
import ducklake_spark

master, folder = sys.argv[1:]
builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
builder = builder.config("spark.log.level", "ERROR").config("spark.executor.memory", "512m")
builder = builder.config("spark.cores.max", "2").config("spark.sql.shuffle.partitions", "2")
spark = builder.getOrCreate()
uri = f"ducklake:sqlite:{folder}/lake.sqlite"
ducklake_spark.register(spark, "lake", uri, data_path=f"{folder}/data/")
rows = spark.range(0, 4000, 1, 4).select("id", (F.col("id") % 7).alias("k"))
rows.writeTo("lake.main.t").partitionedBy("k").create()
spark.sql("DELETE FROM lake.main.t WHERE id % 10 = 3")
spark.sql("UPDATE lake.main.t SET k = 100 WHERE id < 10")
spark.sql("INSERT INTO lake.main.t VALUES (9000, 1)")
news = "SELECT 9000L AS id UNION ALL SELECT 9001L"
spark.sql(
    f"MERGE INTO lake.main.t USING ({news}) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET k = 2 "
    "WHEN NOT MATCHED THEN INSERT (id, k) VALUES (s.id, 3)"
)
both = "lake.main.t a JOIN lake.main.t b USING (id)"
joined = spark.sql(f"SELECT count(*), sum(a.id), sum(b.k) FROM {both}")
hosts = len(spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) - 1
print("answer", tuple(joined.first()), "executors", hosts)
"""


@contextmanager
def running(command: list[str], sign: str, log: Path):
    """A process, once it has said that it is there; what it said is given."""
    with log.open("w") as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
    try:
        for _ in range(600):
            found = re.search(sign, log.read_text())
            if found or process.poll() is not None:
                break
            time.sleep(0.1)
        assert found, log.read_text()
        yield found
    finally:
        process.terminate()
        process.wait(30)


def test_lakes_are_written_changed_and_read_by_the_workers_of_a_cluster(tmp_path):
    with ExitStack() as scope:
        command = [str(SPARK_CLASS), "org.apache.spark.deploy.master.Master"]
        options = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        said = scope.enter_context(
            running([*command, *options], r"spark://127\.0\.0\.1:\d+", tmp_path / "master.log")
        )
        master = said[0]
        for number in (1, 2):
            worker = [str(SPARK_CLASS), "org.apache.spark.deploy.worker.Worker", "--cores", "1"]
            worker += ["--memory", "600m", "--webui-port", "0"]
            worker += ["--work-dir", f"{tmp_path}/w{number}"]
            log = tmp_path / f"worker{number}.log"
            registered = "Successfully registered with master"
            scope.enter_context(running([*worker, master], registered, log))
        child = subprocess.run(
            [sys.executable, "-c", CHILD, master, str(tmp_path)],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            timeout=300,
        )
    kept = {i: i % 7 for i in range(4000) if i % 10 != 3}
    kept |= {i: 100 for i in kept if i < 10} | {9000: 2, 9001: 3}
    answer = (len(kept), sum(kept), sum(kept.values()))
    assert f"answer {answer} executors 2" in child.stdout, child.stdout + child.stderr

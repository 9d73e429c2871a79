"""A process that interrupts its own statements as Ctrl-C does, and tells what is left of them.

Run with a folder, and the names of the statements to interrupt. Prints one line of JSON for each.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ducklake_spark
from support.spark import start_spark

ROWS = 400_000
MANY = 60_000_000


def main(folder: Path, names: list[str]) -> None:
    """Make a lake, and interrupt each of the statements once it runs."""
    spark = start_spark(folder)
    con = ducklake_spark.connect(
        f"ducklake:sqlite:{folder}/lake.sqlite",
        spark=spark,
        alias="lake",
        data_path=f"{folder}/data/",
        data_inlining_row_limit=0,
    )
    con.sql("CALL lake.set_option('target_file_size', '1MB')")
    few = spark.range(ROWS).selectExpr("id", "'n' || id % 7 AS name")
    con.create_table("t", few)
    con.sql("CREATE TABLE p (id BIGINT, name VARCHAR)")
    con.sql("ALTER TABLE p SET PARTITIONED BY (name)")
    for number in range(3):
        con.append("t", few.where(f"id % 3 = {number}"))
    con.delete("t", f"id >= 0 AND id < {ROWS} AND id % 2 = 1")
    many = spark.range(MANY).selectExpr("id", "'n' || id % 7 AS name")
    many.createOrReplaceTempView("many")
    slow = "sha256(repeat(name, 20000))"
    actions: dict[str, Callable[[], Any]] = {
        "append": lambda: con.append("t", many),
        "append to partitions": lambda: con.append("p", many),
        "create table as": lambda: con.sql("CREATE TABLE u AS SELECT id, name FROM many"),
        "insert": lambda: con.sql("INSERT INTO t SELECT id, name FROM many"),
        "delete": lambda: con.sql(f"DELETE FROM t WHERE {slow} < 'f'"),
        "update": lambda: con.sql(f"UPDATE t SET name = {slow}"),
        "merge": lambda: con.sql(
            "MERGE INTO t USING many m ON t.id = m.id WHEN NOT MATCHED THEN INSERT"
        ),
        "overwrite": lambda: con.overwrite("t", many),
        "rewrite": lambda: con.sql(
            "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.1)"
        ),
    }
    for name in names:
        print(json.dumps({"name": name, **interrupt(con, folder, actions[name])}), flush=True)
    con.close()
    spark.stop()


def interrupt(con: Any, folder: Path, action: Callable[[], Any]) -> dict[str, Any]:
    """Start the action, interrupt it while it has tasks, and look at what is left."""
    before = files(folder)
    seen = con.lake("lake").latest().snapshot_id
    moments: list[float] = []
    watcher = threading.Thread(target=press, args=(con, moments))
    watcher.start()
    try:
        action()
        told = "came to its end"
    except KeyboardInterrupt:
        told = "interrupted"
    ended = time.monotonic()
    running = active_tasks(con)
    watcher.join()
    rows = con.sql("SELECT count(*) FROM t WHERE name IS NOT NULL").collect()[0][0]
    counted = time.monotonic()
    time.sleep(1)  # a task that outlived its statement would write on
    return {
        "told": told,
        "stopped_after": ended - moments[0],
        "counted_after": counted - ended,
        "tasks": running,
        "left": sorted(files(folder) ^ before),
        "rows": rows,
        "snapshots": con.lake("lake").latest().snapshot_id - seen,
    }


def press(con: Any, moments: list[float]) -> None:
    """Send this process the signal of Ctrl-C once tasks have run for a moment."""
    while not active_tasks(con):
        time.sleep(0.02)
    time.sleep(0.7)
    moments.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)


def active_tasks(con: Any) -> int:
    """How many tasks run now."""
    tracker = con.spark.sparkContext.statusTracker()
    stages = map(tracker.getStageInfo, tracker.getActiveStageIds())
    return sum(stage.numActiveTasks for stage in stages if stage is not None)


def files(folder: Path) -> set[str]:
    """All that was written: data and delete files, and what tasks hand to each other."""
    found = [*folder.glob("data/**/*.parquet"), *folder.glob("local/ducklake-exchange-*")]
    return {str(path) for path in found}


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])

"""Adding many small files to a table without copying them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from harness import OURS, Bench
from lakes import address

TABLE = "CREATE TABLE t(id BIGINT, name VARCHAR, amount DOUBLE, moment TIMESTAMP, flag BOOLEAN)"


def run(bench: Bench) -> None:
    """One call for all files."""
    folder = bench.place("add")
    make_files(folder / "files", bench.size.small_files)
    place = address("sqlite", folder, "ours")
    con, other = place.ours(bench.spark), address("sqlite", folder, "theirs").extension()
    con.sql(TABLE)
    other.execute(TABLE)
    pattern = f"{folder}/files/*.parquet"
    bench.each(
        f"add {bench.size.small_files:,} files",
        {
            OURS: lambda _: con.add_files("t", pattern),
            "extension": lambda _: other.execute(
                f"CALL ducklake_add_data_files('lake', 't', '{pattern}')"
            ),
        },
        1,
        warm=0,
        unit="s",
    )
    text = "SELECT count(*), sum(id), max(moment) FROM lake.t"
    answers = {
        OURS: [tuple(row) for row in con.sql(text).collect()],
        "extension": other.execute(text).fetchall(),
    }
    bench.check("rows of added files", answers)
    con.close()
    other.close()


def make_files(folder: Path, count: int) -> None:
    """Files of ten rows."""
    folder.mkdir()
    for number in range(count):
        ids = pa.array(range(number * 10, number * 10 + 10), pa.int64())
        rows = {
            "id": ids,
            "name": [f"name {i}" for i in ids.to_pylist()],
            "amount": pa.array([float(number)] * 10),
            "moment": ids.cast(pa.timestamp("us")),
            "flag": [True] * 10,
        }
        pq.write_table(pa.table(rows), folder / f"{number}.parquet")

"""Ours, Delta and Iceberg on one Spark: appends, DELETE, UPDATE, MERGE, scans, small commits.

The peers need jars and a PySpark that both support, so the sides run in a process of their own,
in the environment that ``scripts/setup_peers.sh`` makes.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from harness import Bench, Record
from lakes import tpch_file

ROOT = Path(__file__).parents[2]
VENV = ".venv-peers"
# After them nothing begins that is not a main case: other shares, the peers' default modes.
SECONDS = {"small": 60, "default": 120, "large": 3600}


def run(bench: Bench) -> None:
    """Start the child and take over what it measured."""
    if subprocess.run([ROOT / "scripts/setup_peers.sh"], check=False).returncode != 0:
        bench.skip(
            "Delta and Iceberg on Spark: not measured, scripts/setup_peers.sh could not make "
            f"{VENV}, which takes PySpark from PyPI and jars from Maven Central"
        )
        return
    folder = bench.place("peers")
    result = folder / "result.json"
    options = {
        "size": bench.size.name,
        "seconds": SECONDS[bench.size.name],
        "warm": tpch_file("lineitem", "0.01").resolve(),
        "rows": tpch_file("lineitem", bench.size.scale).resolve(),
        "jars": ROOT / VENV / "ivy/jars",
        "folder": folder,
        "result": result,
    }
    arguments = [f"--{name}={value}" for name, value in options.items()]
    command = [ROOT / "scripts/run.sh", "python", ROOT / "benchmarks/peer_cases.py", *arguments]
    ended = subprocess.run(command, env={**os.environ, "VENV": VENV}, check=False)
    if result.exists():
        take_over(bench, result)
    if ended.returncode != 0:
        bench.wrong.append(f"spark_peers: the child ended with {ended.returncode}")


def take_over(bench: Bench, result: Path) -> None:
    """What the child wrote, as if it had been measured here."""
    given = json.loads(result.read_text(encoding="utf-8"))
    bench.records += [Record(**each) for each in given["records"]]
    bench.notes += given["notes"]
    bench.wrong += given["wrong"]

"""Other table formats through their Python packages, where these are installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import Bench


def appenders(bench: Bench, folder: Path, rows: Any) -> dict[str, Callable[[int], Any]]:
    """Functions that append an Arrow table, by the name of the package."""
    found = {}
    for name, start in (("deltalake", start_deltalake), ("pyiceberg", start_pyiceberg)):
        if importlib.util.find_spec(name) is None:
            bench.skip(f"{name} is not installed: pip install -e '.[bench]'")
        else:
            found[name] = start(folder, rows)
    return found


def start_deltalake(folder: Path, rows: Any) -> Callable[[int], Any]:
    """Appends through delta-rs."""
    from deltalake import write_deltalake

    return lambda _: write_deltalake(f"{folder}/delta", rows, mode="append")


def start_pyiceberg(folder: Path, rows: Any) -> Callable[[int], Any]:
    """Appends through PyIceberg and its SQL catalog on SQLite."""
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("bench", uri=f"sqlite:///{folder}/ice.db", warehouse=f"file://{folder}")
    catalog.create_namespace("bench")
    table = catalog.create_table("bench.t", schema=rows.schema)
    return lambda _: table.append(rows)

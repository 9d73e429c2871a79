"""Ours, Delta and Iceberg as sides of one Spark session: the same statements, a way back for each.

The settings are alike where the formats let them be: shuffle partitions are the session's, files
are compressed with Snappy, and are as large as the tasks that write them make them. What a table
is created with is otherwise the format's default, or says so in the name of the side.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from harness import OURS
from lakes import address, start_spark
from pyspark.sql import DataFrame, SparkSession

SNAPPY = {"write.parquet.compression-codec": "snappy"}
MERGE_ON_READ = {f"write.{kind}.mode": "merge-on-read" for kind in ("delete", "update", "merge")}
BEST = {
    "Delta, deletion vectors": {"delta.enableDeletionVectors": "true"},
    "Iceberg v3, merge-on-read": {"format-version": "3", **SNAPPY, **MERGE_ON_READ},
}
DEFAULTS = {
    "Delta, copy-on-write (default)": {"delta.enableDeletionVectors": "false"},
    "Iceberg v2, copy-on-write (default)": {"format-version": "2", **SNAPPY},
}
PROPERTIES = BEST | DEFAULTS


def start_session(jars: Path, folder: Path) -> SparkSession:
    """One session for all sides."""
    return start_spark(
        "peers",
        {
            "spark.jars": ",".join(str(jar) for jar in sorted(jars.glob("*.jar"))),
            "spark.sql.extensions": (
                "io.delta.sql.DeltaSparkSessionExtension,"
                "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
            ),
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.sql.catalog.iceberg": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.iceberg.type": "hadoop",
            "spark.sql.catalog.iceberg.warehouse": f"{folder}/iceberg",
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
            # Delta spreads its own metadata over 50 tasks, which two cores only suffer from.
            "spark.databricks.delta.snapshotPartitions": "2",
        },
    )


class Side(Protocol):
    """Where statements run. They name the table as `{table}`."""

    name: str

    def create(self, table: str, frame: DataFrame) -> None:
        """Make an empty table with the columns of a frame."""

    def run(self, table: str, text: str) -> list[Any]:
        """Run one statement to its end."""

    def remember(self, table: str) -> None:
        """Keep the present state of the table."""

    def restore(self, table: str) -> None:
        """Bring the state that was kept back, as a change of metadata only."""

    def close(self) -> None:
        """Let go of everything."""


class Ours:
    """This package on a catalog in SQLite."""

    name = OURS

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self._folder = spark, folder
        self._address = address("sqlite", folder, "ours")
        self._con = self._address.ours(spark)

    def create(self, table: str, frame: DataFrame) -> None:
        """Make an empty table with the columns of a frame."""
        self._con.sql(f"DROP TABLE IF EXISTS {table}")
        self._con.create_table(table, frame.limit(0))

    def run(self, table: str, text: str) -> list[Any]:
        """Run one statement to its end."""
        return self._con.sql(text.format(table=table), dialect="spark").collect()

    def remember(self, table: str) -> None:
        """Copy the catalog. It shares the data files, which nobody changes."""
        self._con.close()
        shutil.copy(self._catalog, self._folder / f"{table}.kept")
        self._con = self._address.ours(self._spark)

    def restore(self, table: str) -> None:
        """Put the copy back."""
        self._con.close()
        shutil.copy(self._folder / f"{table}.kept", self._catalog)
        self._con = self._address.ours(self._spark)

    def close(self) -> None:
        """Let go of everything."""
        self._con.close()

    @property
    def _catalog(self) -> Path:
        return Path(self._address.uri.removeprefix("ducklake:sqlite:"))


class Delta:
    """Tables that are folders; a copy of a folder is a table too."""

    def __init__(self, spark: SparkSession, name: str, folder: Path) -> None:
        self.name = name
        self._spark, self._folder = spark, folder
        self._paths: dict[str, Path] = {}
        self._kept: dict[str, Path] = {}

    def create(self, table: str, frame: DataFrame) -> None:
        """Make an empty table with the columns of a frame."""
        self._paths[table] = self._new_path()
        self._spark.sql(creation(self.name, "delta", self._place(table), frame))

    def run(self, table: str, text: str) -> list[Any]:
        """Run one statement to its end."""
        return self._spark.sql(text.format(table=self._place(table))).collect()

    def remember(self, table: str) -> None:
        """Leave the folder as it is from here on."""
        self._kept[table] = self._paths[table]

    def restore(self, table: str) -> None:
        """Make a copy that shares the data files; RESTORE would run jobs of its own."""
        self._paths[table] = self._new_path()
        shutil.copytree(self._kept[table], self._paths[table], copy_function=os.link)

    def close(self) -> None:
        """There is nothing to let go of."""

    def _new_path(self) -> Path:
        return Path(tempfile.mkdtemp(prefix="delta-", dir=self._folder)) / "table"

    def _place(self, table: str) -> str:
        return f"delta.`{self._paths[table]}`"


class Iceberg:
    """Tables of a catalog in folders."""

    def __init__(self, spark: SparkSession, name: str, folder: Path) -> None:
        self.name = name
        self._spark = spark
        self._kept: dict[str, int] = {}
        self._prefix = "".join(c for c in f"{folder.name}{name}" if c.isalnum()).lower()

    def create(self, table: str, frame: DataFrame) -> None:
        """Make an empty table with the columns of a frame."""
        self._spark.sql(f"DROP TABLE IF EXISTS {self._place(table)}")
        self._spark.sql(creation(self.name, "iceberg", self._place(table), frame))

    def run(self, table: str, text: str) -> list[Any]:
        """Run one statement to its end."""
        return self._spark.sql(text.format(table=self._place(table))).collect()

    def remember(self, table: str) -> None:
        """Note the snapshot."""
        text = "SELECT snapshot_id FROM {table}.snapshots ORDER BY committed_at DESC LIMIT 1"
        self._kept[table] = self.run(table, text)[0][0]

    def restore(self, table: str) -> None:
        """Go back to the snapshot."""
        name = self._place(table).removeprefix("iceberg.")
        self._spark.sql(f"CALL iceberg.system.rollback_to_snapshot('{name}', {self._kept[table]})")

    def close(self) -> None:
        """There is nothing to let go of."""

    def _place(self, table: str) -> str:
        return f"iceberg.bench.{self._prefix}_{table}"


def creation(side: str, kind: str, place: str, frame: DataFrame) -> str:
    """CREATE TABLE with the properties of the side."""
    columns = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in frame.schema.fields)
    pairs = ", ".join(f"'{key}' = '{value}'" for key, value in PROPERTIES[side].items())
    return f"CREATE TABLE {place} ({columns}) USING {kind} TBLPROPERTIES ({pairs})"


def make_sides(spark: SparkSession, folder: Path, names: Iterable[str]) -> list[Side]:
    """Ours first, then peers by their names."""
    kinds = {name: Delta if name.startswith("Delta") else Iceberg for name in names}
    return [Ours(spark, folder), *(kind(spark, name, folder) for name, kind in kinds.items())]

"""What the catalog holds, loaded once, for checks that are pure functions of it."""

from __future__ import annotations

from collections import defaultdict, namedtuple
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from ducklake_spark.catalog_db.connection import Database
from ducklake_spark.catalog_db.tables import TABLES, Table
from ducklake_spark.lake import Lake
from ducklake_spark.model.findings import Finding, Severity

# A row for each column of each file: read for one table at a time, when its files are.
_LATER: Final = frozenset(
    {"ducklake_file_column_stats", "ducklake_file_variant_stats", "ducklake_file_partition_value"}
)


@dataclass(frozen=True)
class Facts:
    """The rows of the catalog as records, by table, all of one state.

    Attributes:
        rows: the records of each catalog table but those of the statistics of files.
        inlined: (row id, begin, end) of the rows of each inlined table; None if it is not there.
        inlined_deletes: (file id, position, begin) by table of the lake.
    """

    rows: Mapping[str, list[Any]]
    inlined: Mapping[str, list[tuple[Any, ...]] | None]
    inlined_deletes: Mapping[int, list[tuple[Any, ...]]]

    @cached_property
    def latest(self) -> Any:
        """The newest snapshot, None if there is none."""
        return max(self.rows["ducklake_snapshot"], key=lambda row: row.snapshot_id, default=None)

    @cached_property
    def table_names(self) -> dict[int, str]:
        """The tables as they are, or were last, called."""
        schemas = {row.schema_id: row.schema_name for row in self.rows["ducklake_schema"]}
        ordered = sorted(self.rows["ducklake_table"], key=lambda row: row.begin_snapshot)
        return {
            row.table_id: f"{schemas.get(row.schema_id, row.schema_id)}.{row.table_name}"
            for row in ordered
        }

    def name_of(self, table_id: int) -> str:
        """A table for messages."""
        return self.table_names.get(table_id, f"table {table_id}")

    def visible(self, row: Any) -> bool:
        """Whether the newest snapshot sees a row."""
        at = self.latest.snapshot_id if self.latest else -1
        return row.begin_snapshot <= at and (row.end_snapshot is None or row.end_snapshot > at)

    @cached_property
    def live_tables(self) -> dict[int, Any]:
        """The tables of the newest snapshot."""
        return {row.table_id: row for row in self.rows["ducklake_table"] if self.visible(row)}

    def of_table(self, name: str) -> dict[int, list[Any]]:
        """The records of a catalog table by the table that they belong to."""
        grouped: dict[int, list[Any]] = defaultdict(list)
        for row in self.rows[name]:
            grouped[row.table_id].append(row)
        return grouped


Check = Callable[[Facts], Iterator[Finding]]


def finding(
    check: str, about: str, detail: str, path: str | None = None, severity: Severity = "error"
) -> Finding:
    """A finding with its parts in the order in which one writes them."""
    return Finding(severity, check, about, path, detail)


def load_facts(lake: Lake) -> Facts:
    """Read the catalog in one transaction. Driver."""
    db = lake.db
    with db.reading():
        rows = {
            name: load_records(db, table) for name, table in TABLES.items() if name not in _LATER
        }
        inlined = {
            row.table_name: _load_inlined(db, row.table_name)
            for row in rows["ducklake_inlined_data_tables"]
        }
        tables = {row.table_id for row in rows["ducklake_table"]}
        deletes = {table_id: _load_inlined_deletes(db, table_id) for table_id in sorted(tables)}
    return Facts(rows, inlined, deletes)


def load_records(db: Database, table: Table, where: str = "", params: Any = ()) -> list[Any]:
    """Rows of a catalog table as named tuples."""
    record = namedtuple(table.name, table.column_names)  # type: ignore[misc]
    return [record(*row) for row in db.select(table, where, params)]


def _load_inlined(db: Database, name: str) -> list[tuple[Any, ...]] | None:
    if not db.has_table(name):
        return None
    return db.fetch(f"SELECT row_id, begin_snapshot, end_snapshot FROM {db.table(name)}")


def _load_inlined_deletes(db: Database, table_id: int) -> list[tuple[Any, ...]]:
    name = f"ducklake_inlined_delete_{table_id}"
    if not db.has_table(name):
        return []
    return db.fetch(f"SELECT file_id, row_id, begin_snapshot FROM {db.table(name)}")

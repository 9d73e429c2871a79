"""What the catalog claims about each file, for the tasks that hold files against it. Driver."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ducklake_spark.catalog.columns import ColumnHistory, ColumnRow
from ducklake_spark.catalog.files import load_name_mappings
from ducklake_spark.catalog_db.tables import FILE_COLUMN_STATS, FILE_PARTITION_VALUE
from ducklake_spark.errors import DuckLakeError
from ducklake_spark.lake import Lake
from ducklake_spark.limits import limits
from ducklake_spark.model.entities import NameMapping
from ducklake_spark.model.findings import DeleteClaim, FileClaim, Finding, LeafClaim, PartitionClaim
from ducklake_spark.model.paths import join, resolve
from ducklake_spark.model.schema import Column
from ducklake_spark.model.types import DecimalType, ScalarType, parse_type
from ducklake_spark.operations.check.facts import Facts, finding, load_records
from ducklake_spark.operations.directories import load_directories


class Claims:
    """The claims about the files of one table after the other; memory is that of one table."""

    def __init__(self, lake: Lake, facts: Facts) -> None:
        self._lake, self._facts = lake, facts
        self._directories = load_directories(lake.db)
        self._columns = facts.of_table("ducklake_column")
        self._totals = {row.table_id: row for row in facts.rows["ducklake_table_stats"]}
        self._table_stats = {
            (row.table_id, row.column_id): row for row in facts.rows["ducklake_table_column_stats"]
        }
        self._deletes: dict[int, list[Any]] = defaultdict(list)
        for row in facts.rows["ducklake_delete_file"]:
            self._deletes[row.data_file_id].append(row)
        self._keys: dict[int, list[Any]] = defaultdict(list)
        for row in facts.rows["ducklake_partition_column"]:
            self._keys[row.partition_id].append(row)
        self.findings: list[Finding] = []  # what came to light on the way

    def __iter__(self) -> Iterator[FileClaim]:
        for table_id, files in self._facts.of_table("ducklake_data_file").items():
            if table_id in self._facts.table_names:  # else a finding of the references
                yield from self._of_table(table_id, files)

    def _of_table(self, table_id: int, files: list[Any]) -> Iterator[FileClaim]:
        db, of_table = self._lake.db, ("WHERE table_id = ?", (table_id,))
        history = _history(self._columns.get(table_id, []))
        stats: dict[int, dict[int, Any]] = defaultdict(dict)
        for row in load_records(db, FILE_COLUMN_STATS, *of_table):
            stats[row.data_file_id][row.column_id] = row
        values: dict[int, dict[int, str | None]] = defaultdict(dict)
        for row in load_records(db, FILE_PARTITION_VALUE, *of_table):
            values[row.data_file_id][row.partition_key_index] = row.partition_value
        mappings = load_name_mappings(db, (f.mapping_id for f in files if f.mapping_id is not None))
        hidden: dict[int, list[int]] = defaultdict(list)
        for file_id, position, _ in self._facts.inlined_deletes.get(table_id, ()):
            hidden[file_id].append(position)
        self._check_owners(table_id, files, (*stats, *values))
        for file in files:
            yield FileClaim(
                **self._own_claims(file, history),
                leaves=tuple(self._leaves(file, history, stats[file.data_file_id], mappings)),
                partitions=tuple(self._partitions(file, history, values[file.data_file_id])),
                deletes=tuple(map(self._delete, self._deletes[file.data_file_id])),
                inlined_deletes=tuple(sorted(set(hidden[file.data_file_id]))),
            )

    def _check_owners(self, table_id: int, files: list[Any], found: Iterable[int]) -> None:
        strange = sorted(set(found) - {file.data_file_id for file in files})
        if strange:
            detail = f"there are statistics or partition values of file {strange[0]}: it is none."
            self.findings.append(finding("references", self._facts.name_of(table_id), detail))

    def _own_claims(self, file: Any, history: ColumnHistory) -> dict[str, Any]:
        total = self._totals.get(file.table_id)
        live = self._facts.visible(file) and file.table_id in self._facts.live_tables
        return {
            "table": self._facts.name_of(file.table_id),
            "table_id": file.table_id,
            "batch_rows": limits().check_batch_rows,
            "path": self._path(file),
            "record_count": file.record_count,
            "file_size_bytes": file.file_size_bytes,
            "footer_size": file.footer_size,
            "begin_snapshot": file.begin_snapshot,
            "partial_max": file.partial_max,
            "row_id_start": file.row_id_start,
            "next_row_id": total.next_row_id if total else None,
            "latest": self._facts.latest.snapshot_id,
            "live": live,
            "mapped": file.mapping_id is not None,
            "column_ids": frozenset(row.column_id for row in history.rows),
        }

    def _path(self, row: Any) -> str:
        path, relative = row.path, row.path_is_relative
        if relative:
            below, relative = self._directories.get(row.table_id, ("", True))
            path = f"{below}{path}"
        return resolve(join(resolve(self._lake.data_path), path, relative=relative))

    def _delete(self, row: Any) -> DeleteClaim:
        return DeleteClaim(
            self._path(row),
            row.format or "parquet",
            row.delete_count,
            row.file_size_bytes,
            row.footer_size,
            row.begin_snapshot,
            row.partial_max,
            self._facts.visible(row),
        )

    def _leaves(
        self,
        file: Any,
        history: ColumnHistory,
        stats: Mapping[int, Any],
        mappings: Mapping[int, tuple[NameMapping, ...]],
    ) -> Iterator[LeafClaim]:
        sources = dict(_sources(mappings.get(file.mapping_id, ()), ()))
        now = history.schema_at(self._facts.latest.snapshot_id).by_id
        for top in history.schema_at(file.begin_snapshot).columns:
            for leaf, repeated in _leaves(top):
                said = stats.get(leaf.column_id)
                table = self._table_stats.get((file.table_id, leaf.column_id))
                current = now[leaf.column_id].type_name if leaf.column_id in now else ""
                yield LeafClaim(
                    leaf.column_id,
                    leaf.name if leaf is top else f"{top.name}.{leaf.name}",
                    leaf.type_name,
                    nested=repeated,
                    value_count=said.value_count if said else None,
                    null_count=said.null_count if said else None,
                    low=said.min_value if said else None,
                    high=said.max_value if said else None,
                    contains_nan=said.contains_nan if said else None,
                    table_low=table.min_value if table else None,
                    table_high=table.max_value if table else None,
                    table_contains_null=table.contains_null if table else None,
                    table_contains_nan=table.contains_nan if table else None,
                    current_type=current if _is_scalar(current) else "",
                    source=sources.get(leaf.column_id, ()),
                )

    def _partitions(
        self, file: Any, history: ColumnHistory, values: Mapping[int, str | None]
    ) -> Iterator[PartitionClaim]:
        keys = self._keys.get(file.partition_id, []) if file.partition_id is not None else []
        if len(keys) != len(values):
            about = self._facts.name_of(file.table_id)
            detail = f"it has {len(values)} partition values, its partition has {len(keys)} keys."
            self.findings.append(finding("partition-values", about, detail, self._path(file)))
            return
        columns = history.schema_at(file.begin_snapshot).by_id
        for key in keys:
            column = columns.get(key.column_id)
            if column is not None and _is_scalar(column.type_name):
                value = values.get(key.partition_key_index)
                yield PartitionClaim(
                    key.column_id, column.name, column.type_name, key.transform, value
                )


def _history(rows: Iterable[Any]) -> ColumnHistory:
    return ColumnHistory(
        tuple(
            ColumnRow(
                row.column_id,
                row.begin_snapshot,
                row.end_snapshot,
                row.column_order,
                row.column_name,
                row.column_type,
                row.initial_default,
                row.default_value,
                row.nulls_allowed,
                row.parent_column,
                row.default_value_type,
                row.default_value_dialect,
            )
            for row in rows
        )
    )


def _leaves(top: Column) -> Iterator[tuple[Column, bool]]:
    """The leaves of a column, and whether they are parts of something."""
    for leaf in top.leaves():
        if _is_scalar(leaf.type_name):
            yield leaf, leaf is not top


def _is_scalar(type_name: str) -> bool:
    """Whether values have such a type; what has none is a finding of the columns."""
    try:
        return isinstance(parse_type(type_name), ScalarType | DecimalType)
    except DuckLakeError:
        return False


def _sources(
    entries: Iterable[NameMapping], above: tuple[str, ...]
) -> Iterator[tuple[int, tuple[str, ...]]]:
    for entry in entries:
        path = (*above, entry.source_name)
        if entry.children:
            yield from _sources(entry.children, path)
        elif not entry.is_partition and not above:
            # Inside of lists and maps Arrow has other names than the mapping.
            yield entry.target_field_id, path

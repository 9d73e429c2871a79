"""Rows for the name mappings of files that were written elsewhere."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ducklake_spark.commit.rows import CommitRows
from ducklake_spark.model.changes import AppendFiles, InlineRows
from ducklake_spark.model.entities import NameMapping, TableEntry
from ducklake_spark.model.name_mapping import mapping_key
from ducklake_spark.model.written import WrittenFile

_Mapping = tuple[NameMapping, ...]


@dataclass
class MappingIds:
    """The ids of a commit's mappings, by table and by what they say."""

    ids: dict[tuple[int, frozenset[Any]], int] = field(default_factory=dict)
    _keys: dict[_Mapping, frozenset[Any]] = field(default_factory=dict)

    def of(self, table: TableEntry, file: WrittenFile) -> int:
        """The mapping of a file: one that the catalog had, or one of this commit."""
        if file.mapping_id is not None:
            return file.mapping_id
        return self.ids[table.table_id, self.key(file.mapping or ())]

    def key(self, mapping: _Mapping) -> frozenset[Any]:
        """What the mapping says, computed once: thousands of files share one."""
        if mapping not in self._keys:
            self._keys[mapping] = mapping_key(mapping)
        return self._keys[mapping]


def take_mappings(commit: CommitRows, changes: Sequence[AppendFiles | InlineRows]) -> MappingIds:
    """Write the new mappings of a commit. They take their ids before all files."""
    mappings = MappingIds()
    for change in changes:
        if not isinstance(change, AppendFiles):
            continue
        for file in change.files:
            if file.mapping is None or file.mapping_id is not None:
                continue
            key = (change.table.table_id, mappings.key(file.mapping))
            if key not in mappings.ids:
                mappings.ids[key] = commit.take_file_id()
                table_id = commit.real_id(change.table.table_id)
                _insert_mapping(commit, table_id, mappings.ids[key], file.mapping)
    return mappings


def _insert_mapping(commit: CommitRows, table_id: int, mapping_id: int, entries: _Mapping) -> None:
    commit.insert("ducklake_column_mapping", mapping_id, table_id, "map_by_name")
    for number, entry, parent in _numbered(entries):
        commit.insert(
            "ducklake_name_mapping",
            mapping_id,
            number,
            entry.source_name,
            entry.target_field_id,
            parent,
            entry.is_partition,
        )


def _numbered(entries: _Mapping) -> Iterator[tuple[int, NameMapping, int | None]]:
    """Every node with its number and its parent's, parents first."""
    numbers = itertools.count()

    def walk(nodes: _Mapping, parent: int | None) -> Iterator[tuple[int, NameMapping, int | None]]:
        for node in nodes:
            number = next(numbers)
            yield number, node, parent
            yield from walk(node.children, number)

    return walk(entries, None)

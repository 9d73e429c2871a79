"""How the columns of a file that somebody else wrote become columns of a table. Pure.

Columns are found by name. The types of a file must be those of the table, or narrower ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ducklake_spark.errors import InvalidInput
from ducklake_spark.model.entities import NameMapping
from ducklake_spark.model.schema import Column
from ducklake_spark.model.types import (
    SIGNED_BITS,
    UNSIGNED_BITS,
    DecimalType,
    format_sql_type,
    parse_type,
)

NESTED: Final = frozenset({"struct", "list", "map"})
_TIMESTAMPS: Final = ("timestamp", "timestamp_ms", "timestamp_s")


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A node of a Parquet file's schema, in the words of DuckLake.

    Args:
        name: as the file has it.
        type_name: "list", "map", "struct", or the scalar type that the file means.
        children: one element, key and value, or the fields.
        leaf: the index of the Parquet column of a scalar.
        unit: of moments and times: "ms", "us" or "ns".
        layout: a word for an unusual way to store a timestamp: "int96", or "utc" for one that
            is marked as UTC but meant as local time.
        group: what Parquet puts between a list and its element.
    """

    name: str
    type_name: str
    children: tuple[FileColumn, ...] = ()
    leaf: int = -1
    unit: str = "us"
    layout: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class MappedLeaf:
    """A leaf of the table and the Parquet column that holds its values."""

    column: Column
    source: FileColumn


@dataclass(frozen=True, slots=True)
class FileMapping:
    """What a file's columns mean: the name mapping, the leaves, the columns of the path."""

    entries: tuple[NameMapping, ...]
    leaves: tuple[MappedLeaf, ...]
    hive: tuple[Column, ...] = ()


@dataclass(frozen=True, slots=True)
class MappingRules:
    """What the caller lets a file lack, or have too much of."""

    table: str
    allow_missing: bool = False
    ignore_extra_columns: bool = False


def map_file(
    file: str,
    found: Sequence[FileColumn],
    columns: Sequence[Column],
    rules: MappingRules,
    hive: Mapping[str, str | None],
) -> FileMapping:
    """Map a file's columns to those of a table.

    Args:
        file: the path, for messages.
        found: what the file has.
        columns: what the table has.
        rules: what may be missing or left over.
        hive: the values that stand in the path, by name; they win over columns of the file.
    """
    mapper = _Mapper(file, rules)
    entries, from_path = mapper.fields(found, columns, "", hive)
    return FileMapping(tuple(entries), tuple(mapper.leaves), tuple(from_path))


class _Mapper:
    """Collects the leaves while it walks down both trees."""

    def __init__(self, file: str, rules: MappingRules) -> None:
        self.file = file
        self.rules = rules
        self.leaves: list[MappedLeaf] = []

    def fields(
        self,
        found: Sequence[FileColumn],
        columns: Sequence[Column],
        prefix: str,
        hive: Mapping[str, str | None],
    ) -> tuple[list[NameMapping], list[Column]]:
        """The mapping of the fields of a struct, or of the whole row."""
        wanted = {column.name.lower(): column for column in columns}
        entries: list[NameMapping] = []
        from_path: list[Column] = []
        for source in found:
            column = wanted.pop(source.name.lower(), None)
            if column is None:
                if not self.rules.ignore_extra_columns:
                    raise self._extra(prefix + source.name)
            elif source.name in hive:
                from_path.append(column)
                entries.append(self._from_path(column))
            else:
                entries.append(self._entry(source, column, prefix))
        for column in wanted.values():
            if column.name in hive:
                from_path.append(column)
                entries.append(self._from_path(column))
            elif not self.rules.allow_missing:
                raise self._missing(prefix + column.name)
        return entries, from_path

    def _entry(
        self, source: FileColumn, column: Column, prefix: str, name: str | None = None
    ) -> NameMapping:
        problem = type_problem(source, column)
        if problem:
            raise InvalidInput(
                f'Failed to map column "{prefix}{name or source.name}" of file "{self.file}" to '
                f'its column in table "{self.rules.table}": {problem}.',
                hint="rewrite the file with the type of the table, or INSERT its rows instead.",
            )
        if column.type_name.lower() not in NESTED:
            self.leaves.append(MappedLeaf(column, source))
        inner = f"{prefix}{name or source.name}."
        children = self._children(source, column, inner)
        return NameMapping(name or source.name, column.column_id, False, tuple(children))

    def _children(self, source: FileColumn, column: Column, prefix: str) -> list[NameMapping]:
        match column.type_name.lower():
            case "struct":
                return self.fields(source.children, column.children, prefix, {})[0]
            case "list":
                # The extension calls every element "list", but for the oldest layout of lists.
                word = "array" if source.group == "array" else "list"
                return [self._entry(source.children[0], column.children[0], prefix, word)]
            case "map":
                pairs = zip(source.children, column.children, strict=True)
                return [self._entry(part, child, prefix) for part, child in pairs]
            case _:
                return []

    def _from_path(self, column: Column) -> NameMapping:
        if column.children:
            raise InvalidInput(
                f'Cannot take the column "{column.name}" of table "{self.rules.table}" from the '
                f'path of "{self.file}": it is a {column.type_name}.',
                hint="say hive_partitioning => false.",
            )
        return NameMapping(column.name, column.column_id, True)

    def _extra(self, name: str) -> InvalidInput:
        return InvalidInput(
            f'Column "{name}" exists in file "{self.file}", but table "{self.rules.table}" has '
            "no such column.",
            hint="say ignore_extra_columns => true to add the file without it.",
        )

    def _missing(self, name: str) -> InvalidInput:
        return InvalidInput(
            f'Column "{name}" exists in table "{self.rules.table}" but was not found in file '
            f'"{self.file}".',
            hint="say allow_missing => true to show its default for the rows of the file.",
        )


def type_problem(source: FileColumn, column: Column) -> str | None:
    """Why values of the file cannot be values of the column; None when they can.

    >>> type_problem(FileColumn("a", "int32"), Column(1, "a", "int64"))
    >>> type_problem(FileColumn("a", "int64"), Column(1, "a", "int8"))
    'Expected TINYINT, found BIGINT'
    """
    wanted, found = column.type_name.lower(), source.type_name
    if wanted.startswith("decimal") and found.startswith("decimal"):
        return _decimal_problem(found, wanted)
    accepted = _accepted(wanted)
    if found in accepted:
        return None
    return f"Expected {' or '.join(map(_shown, accepted))}, found {_shown(found)}"


def _decimal_problem(found: str, wanted: str) -> str | None:
    old, new = parse_type(found), parse_type(wanted)
    assert isinstance(old, DecimalType)  # noqa: S101 - both begin with "decimal"
    assert isinstance(new, DecimalType)  # noqa: S101
    if old.scale <= new.scale and old.precision <= new.precision:
        return None
    return (
        f"Incompatible decimal precision/scale: the file has precision {old.precision} and scale "
        f"{old.scale}, the table has precision {new.precision} and scale {new.scale}"
    )


def _accepted(wanted: str) -> tuple[str, ...]:
    """The types of a file that a column of this type takes."""
    if wanted in SIGNED_BITS and wanted != "int128":
        bits = SIGNED_BITS[wanted]
        signed = [n for n, size in SIGNED_BITS.items() if size <= bits]
        return (*signed, *(n for n, size in UNSIGNED_BITS.items() if size < bits))
    if wanted in UNSIGNED_BITS and wanted != "uint128":
        return tuple(n for n, size in UNSIGNED_BITS.items() if size <= UNSIGNED_BITS[wanted])
    match wanted:
        case "float64":
            return ("float64", "float32")
        case "timestamp" | "timestamp_ns":
            return ("timestamp_ns", *_TIMESTAMPS)
        case "timestamp_s" | "timestamp_ms":
            return _TIMESTAMPS
        case _:
            return (wanted,)


def _shown(name: str) -> str:
    return name.upper() if name in NESTED else format_sql_type(parse_type(name))

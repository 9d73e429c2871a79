"""How one column of a table is had from a file that may be older than the column's present form.

Pure. The tree of what is asked of a file (`ColumnRead.stored`) has the type that the file has
wherever the JVM's reader does not widen by itself, or widens wrongly; the rest is cast above it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final

from ducklake_spark.model.entities import DataFile, NameMapping
from ducklake_spark.model.schema import Column
from ducklake_spark.model.types import DecimalType, parse_type
from ducklake_spark.plan.foreign import FileColumn

StoredTypes = Callable[[DataFile], Mapping[int, str | None]]
FoundColumns = Callable[[Sequence[DataFile]], Mapping[int, tuple[FileColumn, ...]]]
"""The columns of files, by file id, from their footers."""


@dataclass(frozen=True, slots=True)
class ColumnRead:
    """A column of the table and what is read for it.

    Args:
        column: the column as the table shows it.
        stored: what is asked of the file, with the names and types that the file has; None when
            the file has nothing for it.
        hive: the name under which the value stands in the path, if it does.
        only_arrow: the file keeps the values in a way that the JVM's reader does not know.
    """

    column: Column
    stored: Column | None
    hive: str | None = None
    only_arrow: bool = False


# What Spark's vectorized reader widens by itself, at every level; found by experiment. What is
# missing is either refused or read wrongly (uint32 and short decimals as double, for two), or, for
# float32 to float64, widened but with bounds in the catalog whose text is not the double's.
_WIDENED: Final[Mapping[str, frozenset[str]]] = {
    "int8": frozenset({"int16", "int32", "int64", "float64"}),
    "int16": frozenset({"int32", "int64", "float64"}),
    "int32": frozenset({"int64", "float64"}),
    "uint8": frozenset({"int16", "int32", "int64", "uint16", "uint32", "float64"}),
    "uint16": frozenset({"int32", "int64", "uint32", "float64"}),
    "uint32": frozenset({"int64"}),
    "date": frozenset({"timestamp", "timestamp_s", "timestamp_ms"}),
    "timestamp_s": frozenset({"timestamp", "timestamp_ms"}),
    "timestamp_ms": frozenset({"timestamp"}),
    "varchar": frozenset({"json"}),
}


def is_widened(old: str, new: str) -> bool:
    """Whether the JVM's reader turns a stored `old` into `new` without our help.

    >>> is_widened("int32", "int64"), is_widened("uint32", "float64")
    (True, False)
    """
    old, new = old.lower(), new.lower()
    if old == new or new in _WIDENED.get(old, ()):
        return True
    if not (old.startswith("decimal") and new.startswith("decimal")):
        return False
    before, after = parse_type(old), parse_type(new)
    return (
        isinstance(before, DecimalType)
        and isinstance(after, DecimalType)
        and after.scale >= before.scale
        and after.precision - after.scale >= before.precision - before.scale
    )


def read_by_id(
    column: Column, types: Mapping[int, Column], aliased: AbstractSet[int] = frozenset()
) -> ColumnRead:
    """The read of a column that field ids find.

    Args:
        column: the column.
        types: the nodes that the file may have.
        aliased: ids of columns to ask for under a name that no file has. Spark finds columns by
            id, but holds its filters against the statistics of whatever column has the name.
    """
    if needs_absence(column) and column.column_id not in types:
        return ColumnRead(column, None)
    return ColumnRead(column, _aliased(_stored(column, types), aliased))


def needs_absence(column: Column) -> bool:
    """Whether we must know which files lack a column of the table.

    Spark's reader puts a default in the place of a missing column, but not for binary values and
    decimals of more digits than a BIGINT has.
    """
    if column.initial_default is None:
        return False
    kind = parse_type(column.type_name) if not column.children else None
    wide = isinstance(kind, DecimalType) and kind.precision > 18
    return wide or column.type_name.lower() in ("uint64", "uuid", "blob")


def _aliased(column: Column, ids: AbstractSet[int]) -> Column:
    if not ids:
        return column
    name = f"__ducklake_column_{column.column_id}" if column.column_id in ids else column.name
    children = tuple(_aliased(child, ids) for child in column.children)
    return replace(column, name=name, children=children)


def read_by_name(
    column: Column, mapping: Mapping[int, NameMapping], types: Mapping[int, Column]
) -> ColumnRead:
    """The read of a column that a name mapping finds."""
    entry = mapping.get(column.column_id)
    if entry is None:
        return ColumnRead(column, None)
    if entry.is_partition:
        return ColumnRead(column, None, hive=entry.source_name)
    stored = _renamed(_stored(column, types), entry, types)
    # A struct of which a file has no field: the JVM's reader could not tell it from a NULL.
    bare = any(node.type_name.lower() == "struct" and not node.children for node in stored.walk())
    return ColumnRead(column, stored, only_arrow=bare)


def read_by_footer(
    column: Column, mapping: Mapping[int, NameMapping], found: Sequence[FileColumn]
) -> ColumnRead:
    """The read of a column that a name mapping finds, with the types that the file really has."""
    read = read_by_name(column, mapping, {})
    if read.stored is None:
        return read
    source = _find(read.stored.name, found)
    if source is None:
        return ColumnRead(column, None)
    stored, only_arrow = _as_found(read.stored, source)
    return replace(read, stored=stored, only_arrow=only_arrow or read.only_arrow)


def _find(name: str, found: Sequence[FileColumn]) -> FileColumn | None:
    exact = (source for source in found if source.name == name)
    return next(exact, None) or next(
        (source for source in found if source.name.lower() == name.lower()), None
    )


def _as_found(stored: Column, source: FileColumn) -> tuple[Column, bool]:
    """The tree with the types of the file, and whether only Arrow can read it."""
    if not stored.children:
        kept = is_widened(source.type_name, stored.type_name)
        typed = stored if kept else replace(stored, type_name=source.type_name)
        return typed, _is_odd(source, stored.type_name.lower())
    named = stored.type_name.lower() == "struct"
    pairs = (
        [(child, _find(child.name, source.children)) for child in stored.children]
        if named
        else list(zip(stored.children, source.children, strict=True))
    )
    parts = [_as_found(child, part) for child, part in pairs if part is not None]
    children = tuple(part for part, _ in parts)
    return replace(stored, children=children), any(odd for _, odd in parts)


def _is_odd(source: FileColumn, wanted: str) -> bool:
    """Whether the JVM's reader takes the values for others, or refuses them."""
    found = source.type_name
    if source.layout or (found == "time" and source.unit != "us"):
        return True
    if found == "timestamptz":
        return source.unit == "ns"
    if wanted.startswith("decimal"):
        return not is_widened(found, wanted)
    # Fewer digits than the file has: rounded as DuckDB does.
    return wanted in ("timestamp", "timestamp_ms", "timestamp_s") and not is_widened(found, wanted)


RETYPED: Final = frozenset(
    {"uint64", "time", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamptz"}
)


def needs_footer(columns: Iterable[Column]) -> bool:
    """Whether files that others wrote may keep values of these columns in several ways.

    Narrower integers and floats are widened by the reader; of the rest it must be known what a
    file has: nanoseconds read as microseconds would be wrong, and no error.
    """
    return any(
        node.type_name.lower() in RETYPED or node.type_name.lower().startswith("decimal")
        for column in columns
        for node in column.walk()
    )


def _stored(column: Column, types: Mapping[int, Column]) -> Column:
    old = types.get(column.column_id)
    if not column.children:
        kept = old is None or old.children or is_widened(old.type_name, column.type_name)
        return column if kept or old is None else replace(column, type_name=old.type_name)
    children = column.children
    if old is not None and column.type_name.lower() == "struct":
        children = _present_fields(column, old, types)
    return replace(column, children=tuple(_stored(child, types) for child in children))


def _present_fields(column: Column, old: Column, types: Mapping[int, Column]) -> tuple[Column, ...]:
    """The fields of a struct that the file has.

    Others must not be asked for: Spark up to 4.0 takes a struct for NULL when a query wants only
    such fields of it. If there is none, one that was dropped tells a struct from a NULL.
    """
    present = tuple(child for child in column.children if child.column_id in types)
    dropped = [child for child in old.children if child.column_id in types]
    if present or not dropped:
        return present or column.children
    witness = dropped[0]
    return (replace(witness, name=f"__ducklake_witness_{witness.column_id}"),)


def _renamed(column: Column, entry: NameMapping, types: Mapping[int, Column]) -> Column:
    """The tree with the names of the file; what the mapping does not have is left out."""
    name = entry.source_name
    if not column.children:
        return replace(column, name=name)
    inner = {child.target_field_id: child for child in entry.children}
    children = tuple(
        _renamed(child, inner[child.column_id], types)
        for child in column.children
        if child.column_id in inner
    )
    return replace(column, name=name, children=children)

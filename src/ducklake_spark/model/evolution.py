"""How the columns of a table may change: the new schema, and the column rows that it takes. Pure.

Ids stay with a column for ever; only what a change touches gets a new row. What stands in the rows
is what the reference writes, oddities of nested fields included, as long as no value is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from ducklake_spark.errors import AlreadyExists, ColumnNotFound, InvalidInput, NotSupported
from ducklake_spark.model.promotion import check_promotion
from ducklake_spark.model.schema import Column, Default, Schema, build_column
from ducklake_spark.model.types import DataType, ListType, MapType, StructType, format_sql_type

Path = Sequence[str]


@dataclass(frozen=True, slots=True)
class ColumnVersion:
    """A row that ducklake_column gains: one node, without what is below it."""

    column: Column
    parent_id: int | None
    nulls_allowed: bool
    default_type: str

    @property
    def column_id(self) -> int:
        """The id of the node."""
        return self.column.column_id


@dataclass(frozen=True, slots=True)
class Evolution:
    """The columns of a table after one change or several.

    Attributes:
        schema: the columns.
        ended: ids of nodes whose row ends.
        written: the rows that begin.
        retired: nodes that came and went; their ids must not be given again.
        new_layout: whether rows of the table have other columns now, not only other rules.
    """

    schema: Schema
    ended: frozenset[int]
    written: tuple[ColumnVersion, ...]
    retired: tuple[ColumnVersion, ...] = ()
    new_layout: bool = True

    def followed_by(self, later: Evolution, existing: AbstractSet[int]) -> Evolution:
        """Both changes as one; `existing` are the ids that were there before the first."""
        rewritten = {version.column_id for version in later.written}
        gone = [v for v in self.written if v.column_id in later.ended]
        return Evolution(
            later.schema,
            frozenset((self.ended | later.ended) & existing),
            (*(v for v in self.written if v.column_id not in later.ended), *later.written),
            (*self.retired, *later.retired, *_never_seen(gone, rewritten, existing)),
            self.new_layout or later.new_layout,
        )


def _never_seen(
    gone: Sequence[ColumnVersion], rewritten: AbstractSet[int], existing: AbstractSet[int]
) -> Iterator[ColumnVersion]:
    return (v for v in gone if v.column_id not in rewritten and v.column_id not in existing)


def find_path(schema: Schema, path: Path, *, table: str) -> tuple[Column, ...]:
    """The nodes from a column down to the one that the path names."""
    chain = [schema.get(path[0], table=table)]
    for depth, name in enumerate(path[1:], 1):
        wanted, siblings = name.lower(), chain[-1].children
        found = next((child for child in siblings if child.name.lower() == wanted), None)
        if found is None:
            where = f'column "{".".join(path[:depth])}" of table "{table}"'
            known = [child.name for child in siblings]
            raise ColumnNotFound.named(name, where=where, candidates=known)
        chain.append(found)
    return tuple(chain)


def has_path(schema: Schema, path: Path, *, table: str) -> bool:
    """Whether the path names something."""
    try:
        find_path(schema, path, table=table)
    except ColumnNotFound:
        return False
    return True


def add_column(schema: Schema, column: Column, *, table: str) -> Evolution:
    """A new column behind the others."""
    _check_free(column.name, schema.columns, f'table "{table}"')
    return Evolution(
        Schema((*schema.columns, column)), frozenset(), tuple(new_versions(column, None))
    )


def add_field(schema: Schema, path: Path, field: Column, *, table: str) -> Evolution:
    """A new field of the struct at `path`."""
    chain = find_path(schema, path, table=table)
    parent = chain[-1]
    shown = ".".join(path)
    if parent.type_name.lower() != "struct":
        raise InvalidInput(
            f'Cannot add the field "{field.name}" to "{shown}" of table "{table}": fields can only '
            f"be added to structs, and it is {format_sql_type(parent.type)}.",
            hint='a struct in a list is reached by "element", one in a map by "key" or "value".',
        )
    _check_free(field.name, parent.children, f'"{shown}" of table "{table}"')
    grown = replace(parent, children=(*parent.children, field))
    return Evolution(
        Schema(_replaced(schema.columns, chain, (grown,))),
        frozenset(),
        tuple(_field_versions(field, parent.column_id)),
    )


def drop_node(schema: Schema, path: Path, *, table: str) -> Evolution:
    """Without the column or field at `path`, and all that is below it."""
    chain = find_path(schema, path, table=table)
    shown = ".".join(path)
    siblings = chain[-2].children if len(chain) > 1 else schema.columns
    if len(chain) > 1 and chain[-2].type_name.lower() != "struct":
        raise InvalidInput(
            f'Cannot drop "{shown}" of table "{table}": it is part of '
            f"{format_sql_type(chain[-2].type)}, which is not a struct."
        )
    if len(siblings) == 1:
        of = f'"{".".join(path[:-1])}" of table "{table}"' if len(chain) > 1 else f'table "{table}"'
        raise InvalidInput(
            f'Cannot drop "{shown}": {of} only has one {"field" if len(chain) > 1 else "column"} '
            "remaining.",
            hint="drop what holds it, or add another one first.",
        )
    ended = frozenset(node.column_id for node in chain[-1].walk())
    return Evolution(Schema(_replaced(schema.columns, chain, ())), ended, ())


def rename_node(schema: Schema, path: Path, to: str, *, table: str) -> Evolution:
    """The column or field at `path` under another name."""
    chain = find_path(schema, path, table=table)
    node = chain[-1]
    if len(chain) > 1 and chain[-2].type_name.lower() != "struct":
        raise InvalidInput(
            f'Cannot rename "{".".join(path)}" of table "{table}": it is part of '
            f"{format_sql_type(chain[-2].type)}, and only fields of structs have names of their "
            "own."
        )
    siblings = chain[-2].children if len(chain) > 1 else schema.columns
    others = [sibling for sibling in siblings if sibling.column_id != node.column_id]
    where = f'"{".".join(path[:-1])}" of table "{table}"' if len(chain) > 1 else f'table "{table}"'
    _check_free(to, others, where)
    return _changed(schema, chain, replace(node, name=to))


def change_type(
    schema: Schema, path: Path, kind: DataType, ids: Iterator[int], *, table: str
) -> Evolution:
    """The column or field at `path` with a wider type, or with other fields if it is a struct."""
    chain = find_path(schema, path, table=table)
    parent_id = chain[-2].column_id if len(chain) > 1 else None
    ended: list[int] = []
    written: list[ColumnVersion] = []
    label = f'"{".".join(path)}" of table "{table}"'
    node = _promote(chain[-1], parent_id, kind, ids, (ended, written), label)
    columns = _replaced(schema.columns, chain, (node,))
    return Evolution(Schema(columns), frozenset(ended), tuple(written))


def change_default(schema: Schema, path: Path, default: Default | None, *, table: str) -> Evolution:
    """The column with another default for rows to come; what older rows show stays."""
    chain = _column_only(schema, path, "DEFAULT", table)
    return replace(_changed(schema, chain, replace(chain[0], default=default)), new_layout=False)


def change_nulls(schema: Schema, path: Path, *, allowed: bool, table: str) -> Evolution:
    """The column with or without NOT NULL."""
    chain = _column_only(schema, path, "NOT NULL", table)
    if chain[0].nulls_allowed == allowed:
        word, state = ("DROP", "has no") if allowed else ("SET", "already has a")
        raise InvalidInput(
            f'Cannot {word} NOT NULL on column "{chain[0].name}" of table "{table}": it {state} '
            "NOT NULL constraint."
        )
    changed = _changed(schema, chain, replace(chain[0], nulls_allowed=allowed))
    return replace(changed, new_layout=False)


def _column_only(schema: Schema, path: Path, what: str, table: str) -> tuple[Column, ...]:
    chain = find_path(schema, path, table=table)
    if len(chain) > 1:
        raise NotSupported(
            f'Cannot change {what} of "{".".join(path)}" of table "{table}": it is a field, and '
            f"only whole columns have {what}."
        )
    return chain


def _changed(schema: Schema, chain: tuple[Column, ...], node: Column) -> Evolution:
    parent_id = chain[-2].column_id if len(chain) > 1 else None
    return Evolution(
        Schema(_replaced(schema.columns, chain, (node,))),
        frozenset({node.column_id}),
        (_changed_version(node, parent_id),),
    )


def _check_free(name: str, siblings: Sequence[Column], where: str) -> None:
    taken = next((c for c in siblings if c.name.lower() == name.lower()), None)
    if taken is not None:
        raise AlreadyExists(
            f'Column with name "{taken.name}" already exists in {where}.',
            hint="choose another name; names that differ only in case are the same.",
        )


def _replaced(
    columns: tuple[Column, ...], chain: Sequence[Column], new: tuple[Column, ...]
) -> tuple[Column, ...]:
    """The trees with the last node of `chain` replaced; columns stand in the order of their ids."""
    head, *rest = chain
    found: list[Column] = []
    for column in columns:
        if column.column_id != head.column_id:
            found.append(column)
        elif rest:
            found.append(replace(column, children=_replaced(column.children, rest, new)))
        else:
            found += new
    return tuple(found)


# --- types ---------------------------------------------------------------------------------------

_Rows = tuple[list[int], list[ColumnVersion]]  # ended, written


def _promote(
    node: Column, parent_id: int | None, kind: DataType, ids: Iterator[int], rows: _Rows, label: str
) -> Column:
    parts = _parts(node, kind)
    if parts is None:
        if node.type == kind:
            return node
        check_promotion(node.type, kind, label)
        wider = build_column(node.name, kind, iter((node.column_id,)))
        wider = replace(node, type_name=wider.type_name)
        rows[0].append(node.column_id)
        rows[1].append(_changed_version(wider, parent_id))
        return wider
    return _promote_parts(node, parts, ids, rows, label)


def _promote_parts(
    node: Column, parts: Sequence[tuple[str, DataType]], ids: Iterator[int], rows: _Rows, label: str
) -> Column:
    """A struct takes the fields that are named; lists and maps promote what is inside."""
    before = {child.name.lower(): child for child in node.children}
    children = []
    for name, kind in parts:
        old = before.pop(name.lower(), None)
        if old is None:
            new = build_column(name, kind, ids)
            rows[1].extend(new_versions(new, node.column_id))
            children.append(new)
        else:
            children.append(_promote(old, node.column_id, kind, ids, rows, label))
    rows[0].extend(below.column_id for gone in before.values() for below in gone.walk())
    # The catalog keeps no other order than that of the ids.
    return replace(node, children=tuple(sorted(children, key=lambda child: child.column_id)))


def _parts(node: Column, kind: DataType) -> Sequence[tuple[str, DataType]] | None:
    """The parts of a nested type that a nested node can take over, else None."""
    match node.type_name.lower(), kind:
        case "list", ListType(element):
            return (("element", element),)
        case "map", MapType(key, value):
            return (("key", key), ("value", value))
        case "struct", StructType(fields):
            return tuple((field.name, field.type) for field in fields)
        case _:
            return None


# --- rows ----------------------------------------------------------------------------------------


def new_versions(column: Column, parent_id: int | None) -> Iterator[ColumnVersion]:
    """Rows of a column as CREATE TABLE and ADD COLUMN write them."""
    kind = column.default.kind if column.default else "" if column.children else "literal"
    yield ColumnVersion(column, parent_id, column.nulls_allowed, kind)
    for child in column.children:
        yield from new_versions(child, column.column_id)


def _field_versions(field: Column, parent_id: int) -> Iterator[ColumnVersion]:
    """Rows of a field that is added. That it allows no NULLs is written, but meant by nobody."""
    kind = field.default.kind if field.default else "literal"
    yield ColumnVersion(field, parent_id, False, kind)
    for child in field.children:
        yield from _field_versions(child, field.column_id)


def _changed_version(column: Column, parent_id: int | None) -> ColumnVersion:
    kind = column.default.kind if column.default else "literal" if parent_id is None else ""
    return ColumnVersion(column, parent_id, column.nulls_allowed and parent_id is None, kind)

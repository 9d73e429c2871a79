"""ALTER TABLE and ALTER VIEW."""

from __future__ import annotations

from ducklake_spark.errors import NotSupported
from ducklake_spark.sql import statements as st
from ducklake_spark.sql.grammar.columns import (
    parse_column,
    parse_default,
    parse_partition_keys,
    parse_sort_keys,
)
from ducklake_spark.sql.reader import Reader

_CONSTRAINTS = ("CONSTRAINT", "PRIMARY", "PRIMARY KEY", "UNIQUE", "CHECK", "FOREIGN", "FOREIGN KEY")


def parse_alter(reader: Reader) -> st.Statement:
    """ALTER TABLE | VIEW [IF EXISTS] name action."""
    kind = reader.accept_any("TABLE", "VIEW")
    if kind is None:
        reader.fail("expected TABLE or VIEW")
    if_exists = reader.accept("IF EXISTS")
    table = reader.parts()
    word = reader.accept_any("ADD", "DROP", "RENAME", "ALTER", "SET", "RESET")
    match word:
        case "ADD":
            return _add(reader, table, if_exists)
        case "DROP":
            return _drop(reader, table, if_exists)
        case "RENAME":
            return _rename(reader, table, if_exists, is_view=kind == "VIEW")
        case "ALTER":
            return _alter_column(reader, table, if_exists)
        case "SET":
            return _set(reader, table, if_exists)
        case "RESET":
            return _reset(reader, table, if_exists)
    return reader.fail("expected ADD, DROP, RENAME, ALTER, SET or RESET")


def _is_constraint(reader: Reader) -> bool:
    """``CHECK (…)`` and ``CONSTRAINT name CHECK (…)``; ``check INTEGER`` is a column."""
    if reader.word in _CONSTRAINTS and reader.following_word in ("(", "KEY", ""):
        return True
    start = reader.mark()
    named = reader.accept("CONSTRAINT") and bool(reader.advance())
    found = named and reader.word.split(" ")[0] in ("CHECK", "PRIMARY", "UNIQUE", "FOREIGN")
    reader.back_to(start)
    return found


def _add(reader: Reader, table: st.Parts, if_exists: bool) -> st.AddColumn | st.AddColumns:
    if _is_constraint(reader):
        raise NotSupported(
            "ADD CONSTRAINT is not possible: PRIMARY KEY, UNIQUE, CHECK and FOREIGN KEY "
            "constraints are not supported in DuckLake.",
            hint="ALTER COLUMN … SET NOT NULL is supported.",
        )
    if reader.is_spark and reader.accept("COLUMNS"):
        return _add_several(reader, table, if_exists)
    reader.accept("COLUMN")
    if_not_exists = reader.accept("IF NOT EXISTS")
    *path, name = reader.parts()
    column = parse_column(reader, name)
    return st.AddColumn(table, tuple(path), column, if_not_exists, if_exists)


def _add_several(reader: Reader, table: st.Parts, if_exists: bool) -> st.AddColumns:
    reader.expect("(")
    found: list[st.AddColumn] = []
    while not found or reader.accept(","):
        *path, name = reader.parts()
        found.append(
            st.AddColumn(table, tuple(path), parse_column(reader, name), if_exists=if_exists)
        )
    reader.expect(")")
    return st.AddColumns(tuple(found))


def _drop(reader: Reader, table: st.Parts, if_exists: bool) -> st.DropColumn:
    reader.accept("COLUMN")
    column_if_exists = reader.accept("IF EXISTS")
    path = reader.parts()
    cascade = reader.accept_any("CASCADE", "RESTRICT") == "CASCADE"
    return st.DropColumn(table, path, column_if_exists, cascade, if_exists)


def _rename(
    reader: Reader, table: st.Parts, if_exists: bool, *, is_view: bool
) -> st.RenameTable | st.RenameView | st.RenameColumn:
    if reader.accept("TO"):
        to = reader.name()
        return (st.RenameView if is_view else st.RenameTable)(table, to, if_exists)
    reader.accept("COLUMN")
    path = reader.parts()
    reader.expect("TO")
    return st.RenameColumn(table, path, reader.name(), if_exists)


def _alter_column(reader: Reader, table: st.Parts, if_exists: bool) -> st.Statement:
    reader.accept("COLUMN")
    path = reader.parts()
    if reader.accept("SET DEFAULT"):
        return st.SetDefault(table, path, parse_default(reader, None), if_exists)
    if reader.accept("DROP DEFAULT"):
        return st.SetDefault(table, path, None, if_exists)
    if reader.accept("SET NOT NULL"):
        return st.SetNotNull(table, path, True, if_exists)
    if reader.accept("DROP NOT NULL"):
        return st.SetNotNull(table, path, False, if_exists)
    reader.accept("SET")
    reader.accept("DATA")
    reader.expect("TYPE")
    kind = reader.type()
    using = reader.expression() if reader.accept("USING") else None
    return st.SetColumnType(table, path, kind, using, if_exists)


def _set(reader: Reader, table: st.Parts, if_exists: bool) -> st.Statement:
    if reader.accept("PARTITIONED BY"):
        return st.SetPartitionedBy(table, parse_partition_keys(reader), if_exists)
    reader.expect("SORTED BY")
    return st.SetSortedBy(table, parse_sort_keys(reader), if_exists)


def _reset(reader: Reader, table: st.Parts, if_exists: bool) -> st.Statement:
    if reader.accept("PARTITIONED BY"):
        return st.SetPartitionedBy(table, (), if_exists)
    reader.expect("SORTED BY")
    return st.SetSortedBy(table, (), if_exists)

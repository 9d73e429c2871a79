"""CREATE TABLE, CREATE VIEW, CREATE MACRO and the rest of CREATE."""

from __future__ import annotations

from sqlglot import exp

from ducklake_spark.binder.formatting import format_expression
from ducklake_spark.errors import NotSupported
from ducklake_spark.model.types import DataType
from ducklake_spark.sql import statements as st
from ducklake_spark.sql.grammar.catalog import parse_create_schema, parse_create_secret
from ducklake_spark.sql.grammar.columns import (
    parse_column_list,
    parse_partition_keys,
    parse_sort_keys,
)
from ducklake_spark.sql.reader import Reader

_KINDS = ("TABLE", "VIEW", "SCHEMA", "DATABASE", "NAMESPACE", "MACRO", "FUNCTION", "SECRET")


def parse_create(reader: Reader) -> st.Statement:
    """CREATE [OR REPLACE] [TEMPORARY] TABLE | VIEW | SCHEMA | MACRO | SECRET …."""
    or_replace = reader.accept("OR REPLACE")
    word = reader.accept_any("TEMPORARY", "TEMP", "PERSISTENT")
    temporary = word in ("TEMPORARY", "TEMP")
    kind = reader.accept_any(
        "TABLE", "VIEW", "SCHEMA", "DATABASE", "NAMESPACE", "MACRO", "FUNCTION", "SECRET"
    )
    match kind:
        case "TABLE":
            return _create_table(reader, or_replace=or_replace, temporary=temporary)
        case "VIEW":
            return _create_view(reader, or_replace=or_replace, temporary=temporary)
        case "SCHEMA" | "DATABASE" | "NAMESPACE":
            return parse_create_schema(reader, or_replace=or_replace)
        case "MACRO" | "FUNCTION":
            return _create_macro(reader, or_replace=or_replace, temporary=temporary)
        case "SECRET":
            persistent = word == "PERSISTENT"
            return parse_create_secret(reader, or_replace=or_replace, persistent=persistent)
    if reader.word in ("INDEX", "UNIQUE", "SEQUENCE", "TYPE"):
        raise NotSupported(
            f"CREATE {reader.word} is not supported: DuckLake has neither indexes, sequences "
            "nor user-defined types."
        )
    return reader.fail("expected TABLE, VIEW, SCHEMA, MACRO or SECRET")


def _create_table(reader: Reader, *, or_replace: bool, temporary: bool) -> st.CreateTable:
    if_not_exists = reader.accept("IF NOT EXISTS")
    name = reader.parts()
    columns: tuple[st.ColumnDefinition, ...] = ()
    aliases: tuple[str, ...] = ()
    if reader.peek("("):
        if _is_name_list(reader):
            aliases = reader.names()
        else:
            columns = parse_column_list(reader)
    _spark_clauses(reader, name)
    partitioned_by, sorted_by = _layout(reader)
    _spark_clauses(reader, name)
    query: exp.Expr | None = None
    with_no_data = False
    if not columns:
        reader.expect("AS")
        query = reader.query()
        with_no_data = reader.accept("WITH NO DATA")
        reader.accept("WITH DATA")
    return st.CreateTable(
        name, columns, query, aliases, with_no_data, if_not_exists, or_replace, temporary,
        partitioned_by, sorted_by,
    )  # fmt: skip


def _spark_clauses(reader: Reader, name: st.Parts) -> None:
    """USING ducklake says nothing new; other clauses of Spark have no place in a lake."""
    if not reader.is_spark:
        return
    table = ".".join(name)
    if reader.accept("USING"):
        provider = reader.name()
        if provider.lower() != "ducklake":
            raise NotSupported(
                f"Cannot create {table} USING {provider}: tables of a lake are made of Parquet "
                "files that its catalog lists.",
                hint="leave USING out, or write USING ducklake.",
            )
    if reader.word in _SPARK_CLAUSES:
        raise NotSupported(
            f"CREATE TABLE {table} … {reader.word} is not supported.",
            hint=_SPARK_CLAUSES[reader.word],
        )


_OPTIONS_HINT = "options of a table are set with CALL ducklake_set_option."
_SPARK_CLAUSES = {
    "CLUSTER": "a lake has PARTITIONED BY and SORTED BY.",
    "CLUSTERED": "write PARTITIONED BY (bucket(n, column)).",
    "COMMENT": "use COMMENT ON TABLE.",
    "LOCATION": "the lake decides where files are; add files with ducklake_add_data_files.",
    "OPTIONS": _OPTIONS_HINT,
    "TBLPROPERTIES": _OPTIONS_HINT,
}


def _is_name_list(reader: Reader) -> bool:
    """``(a, b) AS query`` names the query's columns; ``(a INTEGER)`` defines them."""
    start = reader.mark()
    reader.expect("(")
    reader.name()
    found = reader.word in (",", ")")
    reader.back_to(start)
    return found


def _layout(reader: Reader) -> tuple[tuple[st.PartitionKey, ...], tuple[st.SortKey, ...]]:
    partitioned_by: tuple[st.PartitionKey, ...] = ()
    sorted_by: tuple[st.SortKey, ...] = ()
    while True:
        if reader.accept("PARTITIONED BY"):
            partitioned_by = parse_partition_keys(reader)
        elif reader.accept("SORTED BY"):
            sorted_by = parse_sort_keys(reader)
        else:
            return partitioned_by, sorted_by


def _create_view(reader: Reader, *, or_replace: bool, temporary: bool) -> st.CreateView:
    if_not_exists = reader.accept("IF NOT EXISTS")
    parts = reader.parts()
    aliases = reader.names() if reader.peek("(") else ()
    reader.expect("AS")
    start = reader.mark()
    query = reader.query()
    text = reader.text_since(start)
    return st.CreateView(parts, query, text, aliases, or_replace, if_not_exists, temporary)


def _create_macro(reader: Reader, *, or_replace: bool, temporary: bool) -> st.CreateMacro:
    if_not_exists = reader.accept("IF NOT EXISTS")
    parts = reader.parts()
    overloads = [_macro_body(reader)]
    while reader.accept(","):
        overloads.append(_macro_body(reader))
    return st.CreateMacro(parts, tuple(overloads), or_replace, if_not_exists, temporary)


def _macro_body(reader: Reader) -> st.MacroBody:
    parameters = _macro_parameters(reader)
    reader.expect("AS")
    if reader.accept("TABLE"):
        start = reader.mark()
        query = reader.query()
        return st.MacroBody(parameters, query, reader.text_since(start), is_table=True)
    start = reader.mark()
    body = reader.expression()
    text = format_expression(reader.duckdb_since(start, body))
    return st.MacroBody(parameters, body, text)


def _macro_parameters(reader: Reader) -> tuple[st.MacroParameter, ...]:
    reader.expect("(")
    parameters = []
    while not reader.accept(")"):
        name = reader.name()
        kind: DataType | None = None
        if reader.word not in (",", ")", ":=", "=>"):
            kind = reader.type()
        default: exp.Expr | None = None
        text: str | None = None
        if reader.accept_any(":=", "=>"):
            start = reader.mark()
            default = reader.expression()
            text = format_expression(reader.duckdb_since(start, default))
        parameters.append(st.MacroParameter(name, kind, default, text))
        if not reader.accept(","):
            reader.expect(")")
            break
    return tuple(parameters)

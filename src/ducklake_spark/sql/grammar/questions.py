"""DESCRIBE, SUMMARIZE, SHOW, EXPLAIN and COPY."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from sqlglot import exp

from ducklake_spark.errors import NotSupported
from ducklake_spark.sql import statements as st
from ducklake_spark.sql.grammar.options import parse_options
from ducklake_spark.sql.reader import Reader


def parse_describe(reader: Reader) -> st.Describe | st.ShowTables:
    """DESCRIBE [table | query]; alone it lists the tables."""
    if reader.at_end:
        return st.ShowTables()
    if reader.word != "TABLE" and reader.at_query:
        return st.Describe(query=reader.query())
    reader.accept("TABLE")
    if reader.is_spark:
        reader.accept_any("EXTENDED", "FORMATTED")
    return st.Describe(parts=reader.parts())


def parse_summarize(reader: Reader) -> st.Summarize:
    """SUMMARIZE table | query."""
    if reader.at_query:
        return st.Summarize(query=reader.query())
    return st.Summarize(parts=reader.parts())


def parse_show(reader: Reader) -> st.Statement:
    """SHOW TABLES | ALL TABLES | SCHEMAS | DATABASES | table."""
    if reader.accept("ALL TABLES"):
        return st.ShowTables(everywhere=True)
    if reader.accept("TABLES"):
        return st.ShowTables(source=_from(reader))
    if reader.accept("SCHEMAS"):
        return st.ShowSchemas(_from(reader))
    if reader.accept("DATABASES"):
        return st.ShowDatabases()
    if reader.word == "CREATE":
        raise NotSupported(
            "SHOW CREATE is not supported.", hint="read the column sql of duckdb_tables()."
        )
    return st.Describe(parts=reader.parts())


def _from(reader: Reader) -> st.Parts:
    return reader.parts() if reader.accept_any("FROM", "IN") else ()


def parse_explain(reader: Reader, statement: Callable[[Reader], st.Statement]) -> st.Explain:
    """EXPLAIN [ANALYZE] statement."""
    analyze = reader.accept("ANALYZE")
    if reader.peek("(") and reader.following_word in ("FORMAT", "ANALYZE"):
        analyze = "ANALYZE" in parse_options(reader) or analyze
    return st.Explain(statement(reader), analyze)


def parse_copy(reader: Reader) -> st.Statement:
    """COPY (query) | table TO 'file', COPY table FROM 'file', COPY FROM DATABASE a TO b."""
    if reader.accept("FROM DATABASE"):
        return _copy_database(reader)
    query: exp.Expr | None = None
    table: st.Parts | None = None
    columns: tuple[str, ...] = ()
    if reader.accept("("):
        query = reader.query()
        reader.expect(")")
    else:
        table = reader.parts()
        columns = reader.names() if reader.peek("(") else ()
    if table is not None and reader.accept("FROM"):
        return st.CopyFrom(table, reader.name_or_string(), columns, _copy_options(reader))
    reader.expect("TO")
    path = reader.name_or_string()
    return st.CopyTo(path, query, table, columns, _copy_options(reader))


def _copy_options(reader: Reader) -> dict[str, object]:
    reader.accept("WITH")
    return parse_options(reader)


def _copy_database(reader: Reader) -> st.CopyDatabase:
    source = reader.name_or_string()
    reader.expect("TO")
    target = reader.name_or_string()
    part: Literal["schema", "data"] | None = None
    if reader.accept("("):
        part = "schema" if reader.accept_any("SCHEMA", "DATA") == "SCHEMA" else "data"
        reader.expect(")")
    return st.CopyDatabase(source, target, part)

"""INSERT, UPDATE, DELETE, MERGE and TRUNCATE."""

from __future__ import annotations

from typing import Literal

from sqlglot import exp

from ducklake_spark.errors import NotSupported
from ducklake_spark.sql import statements as st
from ducklake_spark.sql.reader import CTES, SPARK_DIALECT, WRITTEN, Reader


def parse_insert(reader: Reader, ctes: exp.With | None = None) -> st.Insert:
    """INSERT INTO table [BY NAME] [(columns)] query | DEFAULT VALUES."""
    if reader.accept("OR"):
        _refuse_conflict_clause()
    overwrite = reader.accept("OVERWRITE")
    if overwrite and not reader.is_spark:
        raise NotSupported(
            "INSERT OVERWRITE is not supported in DuckDB's dialect.",
            hint="DELETE and INSERT in one transaction, con.overwrite() or dialect='spark'.",
        )
    reader.accept("INTO")
    reader.accept("TABLE")
    table = reader.parts()
    if reader.accept("AS"):
        reader.name()
    columns: tuple[str, ...] | None = None
    if reader.peek("(") and reader.following_word not in ("SELECT", "FROM", "WITH", "VALUES", "("):
        columns = reader.names()
    by_name = reader.accept("BY NAME")
    reader.accept("BY POSITION")
    source = _insert_source(reader, ctes)
    if reader.peek("ON CONFLICT"):
        _refuse_conflict_clause()
    refuse_returning(reader)
    return st.Insert(table, source, columns, by_name, overwrite)


def _insert_source(reader: Reader, ctes: exp.With | None) -> exp.Expr | st.DefaultValues:
    if reader.accept("DEFAULT VALUES"):
        return st.DefaultValues()
    rows = None if ctes else _plain_values(reader)
    if rows is not None:
        return rows
    query = reader.query()
    if reader.is_spark and isinstance(query, exp.Values):
        # Computed by Spark, with its meaning.
        query.set("alias", exp.TableAlias(this=exp.to_identifier("given")))
        query = exp.select("*").from_(query)
        query.meta[SPARK_DIALECT] = True
    return with_ctes(query, ctes)


def _plain_values(reader: Reader) -> exp.Values | None:
    """VALUES with nothing behind its rows; None, and nothing is read, where there is another query.

    In Spark's dialect only constants are read so: they mean the same in both.
    """
    start = reader.mark()
    if not reader.accept("VALUES"):
        return None
    rows = [exp.Tuple(expressions=_cells(reader))]
    while reader.accept(",") and not reader.at_end:  # the last one may have a comma too
        rows.append(exp.Tuple(expressions=_cells(reader)))
    found = exp.Values(expressions=rows)
    is_over = reader.at_end or reader.word in ("RETURNING", "ON")
    if is_over and (not reader.is_spark or _is_plain(found)):
        return found
    reader.back_to(start)
    return None


def _cells(reader: Reader) -> list[exp.Expr]:
    """``(value, DEFAULT, …)``."""
    reader.expect("(")
    cells = [_cell(reader)]
    while reader.accept(","):
        cells.append(_cell(reader))
    reader.expect(")")
    return cells


def _cell(reader: Reader) -> exp.Expr:
    if reader.word == "DEFAULT" and reader.following_word in (",", ")"):
        reader.advance()
        return exp.var("DEFAULT")
    return reader.expression()


def _is_plain(values: exp.Values) -> bool:
    """Whether all cells are constants as they stand, or DEFAULT."""
    kinds = (exp.Tuple, exp.Literal, exp.Null, exp.Boolean, exp.Neg, exp.Var)
    return all(isinstance(node, kinds) for row in values.expressions for node in row.walk())


def with_ctes(query: exp.Expr, ctes: exp.With | None) -> exp.Expr:
    """Put CTEs that stood before the statement in front of its query."""
    if ctes is None:
        return query
    if WRITTEN in query.meta:
        query.meta[CTES] = ctes.meta[WRITTEN]
        return query
    own = query.args.get("with_")
    inner = own.expressions if own else []
    query.set("with_", exp.With(expressions=[*ctes.expressions, *inner]))
    if ctes.args.get("recursive") or (own and own.args.get("recursive")):
        query.args["with_"].set("recursive", True)
    return query


def _refuse_conflict_clause() -> None:
    raise NotSupported(
        "ON CONFLICT, INSERT OR REPLACE and INSERT OR IGNORE need a primary key, and constraints "
        "are not supported in DuckLake.",
        hint="use MERGE INTO.",
    )


def refuse_returning(reader: Reader) -> None:
    """RETURNING is refused by the reference too."""
    if reader.peek("RETURNING"):
        raise NotSupported("RETURNING is not supported for tables of DuckLake.")


def parse_truncate(reader: Reader) -> st.Truncate:
    """TRUNCATE [TABLE] name."""
    reader.accept("TABLE")
    return st.Truncate(reader.parts())


def parse_delete(reader: Reader, ctes: exp.With | None = None) -> st.Delete:
    """DELETE FROM table [[AS] alias] [USING tables] [WHERE condition]."""
    reader.accept("FROM")
    table, alias = _target(reader, ("USING", "WHERE", "RETURNING"))
    using = _sources(reader, "USING") if reader.peek("USING") else None
    where = reader.expression() if reader.accept("WHERE") else None
    refuse_returning(reader)
    return st.Delete(table, alias, using, where, ctes)


def _target(reader: Reader, stops: tuple[str, ...]) -> tuple[st.Parts, str | None]:
    table = reader.parts()
    alias = None
    if reader.accept("AS") or not (reader.at_end or reader.word in stops):
        alias = reader.name()
    return table, alias


def _sources(reader: Reader, word: str) -> exp.Expr:
    """Tables and queries behind a word, which Spark has not in such statements."""
    if reader.is_spark:
        reader.fail(f"Spark's dialect has no {word} here")
    reader.expect(word)
    start = reader.mark()
    while True:
        if reader.parser._parse_table(joins=True) is None:
            reader.fail("expected a table or query")
        if not reader.accept(","):
            break
    return reader.noted(exp.Var(this=reader.text_since(start)), start)


def parse_update(reader: Reader, ctes: exp.With | None = None) -> st.Update:
    """UPDATE table [[AS] alias] SET column = value, … [FROM tables] [WHERE condition]."""
    table, alias = _target(reader, ("SET",))
    reader.expect("SET")
    assignments = _assignments(reader)
    source = _sources(reader, "FROM") if reader.peek("FROM") else None
    where = reader.expression() if reader.accept("WHERE") else None
    refuse_returning(reader)
    return st.Update(table, assignments, alias, source, where, ctes)


def _assignments(reader: Reader) -> tuple[st.Assignment, ...]:
    found = list(_assignment(reader))
    while reader.accept(","):
        found.extend(_assignment(reader))
    return tuple(found)


def _assignment(reader: Reader) -> list[st.Assignment]:
    """``a = 1``, ``s.a = 1`` or ``(a, b) = (1, 2)``."""
    if reader.peek("("):
        names = reader.names()
        reader.expect("=")
        values = _cells(reader) if reader.peek("(") else [reader.expression()]
        if len(values) != len(names):
            reader.fail(f"expected {len(names)} values")
        return [st.Assignment((n,), v) for n, v in zip(names, values, strict=True)]
    column = reader.parts()
    reader.expect("=")
    if reader.accept("DEFAULT"):
        return [st.Assignment(column, exp.var("DEFAULT"))]
    return [st.Assignment(column, reader.expression())]


def parse_merge(reader: Reader, ctes: exp.With | None = None) -> st.Merge:
    """MERGE INTO table [alias] USING source ON condition | USING (columns) WHEN …."""
    reader.accept("INTO")
    table, alias = _target(reader, ("USING",))
    reader.expect("USING")
    start = reader.mark()
    source = reader.parser._parse_table()
    if source is None:
        reader.fail("expected a table or query")
    reader.noted(source, start)
    on: exp.Expr | None = None
    using: tuple[str, ...] = ()
    if reader.accept("USING"):
        using = reader.names()
    else:
        reader.expect("ON")
        on = reader.expression()
    clauses = []
    while reader.accept("WHEN"):
        clauses.append(_merge_clause(reader))
    if not clauses:
        reader.fail("expected WHEN")
    refuse_returning(reader)
    return st.Merge(table, source, tuple(clauses), alias, on, using, ctes)


def _merge_clause(reader: Reader) -> st.MergeClause:
    when: Literal["matched", "not_matched", "not_matched_by_source"] = "matched"
    if reader.accept("NOT"):
        when = "not_matched"
    reader.expect("MATCHED")
    if reader.accept("BY") and reader.accept_any("SOURCE", "TARGET") == "SOURCE":
        when = "not_matched_by_source"
    condition = reader.expression() if reader.accept("AND") else None
    reader.expect("THEN")
    return st.MergeClause(when, _merge_action(reader), condition)


def _merge_action(reader: Reader) -> st.MergeAction:
    match reader.accept_any("UPDATE", "INSERT", "DELETE", "DO", "ERROR"):
        case "UPDATE":
            return _merge_update(reader)
        case "INSERT":
            return _merge_insert(reader)
        case "DELETE":
            return st.MergeDelete()
        case "DO":
            reader.expect("NOTHING")
            return st.MergeNothing()
        case "ERROR":
            over = reader.at_end or reader.word == "WHEN"
            return st.MergeError(None if over else reader.expression())
    return reader.fail("expected UPDATE, INSERT, DELETE, DO NOTHING or ERROR")


def _merge_update(reader: Reader) -> st.MergeUpdate:
    by_name = reader.accept("BY NAME")
    reader.accept("BY POSITION")
    if not reader.accept("SET"):
        return st.MergeUpdate(None, by_name)
    if reader.accept("*"):
        return st.MergeUpdate(None, by_name or reader.is_spark)  # Spark's star goes by name
    return st.MergeUpdate(_assignments(reader))


def _merge_insert(reader: Reader) -> st.MergeInsert:
    by_name = reader.accept("BY NAME")
    reader.accept("BY POSITION")
    if reader.accept("*"):
        return st.MergeInsert(by_name=by_name or reader.is_spark)
    if reader.accept("DEFAULT VALUES"):
        return st.MergeInsert(default_values=True)
    columns = reader.names() if reader.peek("(") else None
    if columns is None and not reader.peek("VALUES"):
        return st.MergeInsert(by_name=by_name)
    reader.expect("VALUES")
    return st.MergeInsert(columns, tuple(_cells(reader)))

"""Text to statements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, TypeVar

from sqlglot import exp, parser
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from ducklake_spark.caching import remembered
from ducklake_spark.errors import NotSupported, SqlSyntaxError, did_you_mean
from ducklake_spark.sql import statements as st
from ducklake_spark.sql.dialect import DuckLake, LakeSpark
from ducklake_spark.sql.grammar import alter, catalog, changes, questions, session, tables
from ducklake_spark.sql.plain_insert import parse_plain_insert
from ducklake_spark.sql.reader import Reader, syntax_error

T = TypeVar("T")

_DIALECTS: Final[dict[str, type[Dialect]]] = {"duckdb": DuckLake, "spark": LakeSpark}


def parse(
    text: str, dialect: Literal["duckdb", "spark"] = "duckdb", *, reads_queries: bool = True
) -> list[st.Statement]:
    """Read all statements of a text. Runs on the driver.

    Without `reads_queries` what looks like a query in DuckDB's dialect stays a text.

    Raises:
        SqlSyntaxError: with line, column and the line of the text.
        NotSupported: for forms that DuckLake refuses, with its reason.
    """
    _check_parser()
    plain = parse_plain_insert(text) if dialect == "duckdb" else None
    if plain is not None:
        return [plain]
    reading = _DIALECTS[dialect]()
    keeps_text = dialect == "duckdb" and not reads_queries
    read = _statement_or_text if keeps_text else _statement
    return [_reading_errors(tokens, text, reading, read) for tokens in _split(text, reading)]


@remembered("check of the parser", entries=1, depends_on="how sqlglot is installed")
def _check_parser() -> None:
    if not str(parser.__file__).endswith(".py"):
        raise NotSupported(
            "Cannot read SQL: sqlglot is installed with its compiled modules, which other "
            "packages cannot extend.",
            hint="remove them: pip uninstall sqlglotc sqlglotrs, then pip install --force-reinstall"
            " --no-deps sqlglot.",
        )


def parse_query(text: str, dialect: Literal["duckdb", "spark"] = "duckdb") -> exp.Expr:
    """Read exactly one query: the body of a view or table macro."""
    match parse(text, dialect):
        case [st.Query(tree)]:
            return tree
    raise SqlSyntaxError(f"Expected one query, but got {text.strip()[:80]!r}.")


def parse_expression(text: str) -> exp.Expr:
    """Read one scalar expression of DuckDB's dialect: a stored default, sort key or macro."""
    reading = DuckLake()
    for tokens in _split(text, reading):
        return _reading_errors(tokens, text, reading, Reader.expression)
    raise SqlSyntaxError("Expected an expression, but the text is empty.")


def _split(text: str, dialect: Dialect) -> list[list[Token]]:
    """The tokens of each statement, without the semicolons."""
    try:
        tokens = dialect.tokenize(text)
    except TokenError as error:
        raise SqlSyntaxError(
            f"Cannot read the SQL text {text.strip()[:80]!r}: a quote or comment is not closed.",
            hint="check the quotes: 'text' in single ones, \"names\" in double ones.",
        ) from error
    chunks: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            chunks.append([])
        else:
            chunks[-1].append(token)
    return [chunk for chunk in chunks if chunk]


def _plain_reason(described: str) -> str:
    """What sqlglot says, unless it speaks of its own classes."""
    if described.startswith("Required keyword"):
        return "something is missing here"
    before, _, _ = described.partition(" but got <Token")
    if not before or "<" in before:
        return "it is not expected here"
    return before.rstrip(".")


def _reading_errors(
    tokens: list[Token], text: str, dialect: Dialect, read: Callable[[Reader], T]
) -> T:
    """Run `read` to the end of the tokens; sqlglot's errors become ours."""
    reader = Reader(tokens, text, dialect)
    try:
        found = read(reader)
    except ParseError as error:
        token = reader.parser._curr or reader.parser._prev
        described = error.errors[0].get("description") if error.errors else None
        raise syntax_error(text, token, _plain_reason(described or "")) from None
    reader.expect_end()
    return found


def _statement(reader: Reader) -> st.Statement:
    parse_ours = _STATEMENTS.get(reader.word)
    if parse_ours:
        reader.advance()
        return parse_ours(reader)
    if reader.word == "WITH":
        return _with(reader)
    if reader.at_query:
        return st.Query(reader.query())
    if reader.word in _NO_STATEMENTS:
        raise NotSupported(
            f"The statement {reader.word} is not supported.", hint=_NO_STATEMENTS[reader.word]
        )
    near = did_you_mean(reader.word, [*_STATEMENTS, "SELECT", "WITH", "VALUES"])
    return reader.fail(f"no statement starts like this{f', {near}' if near else ''}".rstrip("?"))


def _statement_or_text(reader: Reader) -> st.Statement:
    """As `_statement`, but a query is not taken apart."""
    if reader.word == "EXPLAIN":
        reader.advance()
        return questions.parse_explain(reader, _statement_or_text)
    if reader.at_query:
        return st.QueryText(reader.rest())
    return _statement(reader)


def _with(reader: Reader) -> st.Statement:
    """CTEs before a query, or before INSERT, UPDATE, DELETE, MERGE."""
    start = reader.mark()
    ctes = reader.parser._parse_with()
    change = _CHANGES.get(reader.word)
    if isinstance(ctes, exp.With) and change:
        reader.noted(ctes, start)
        reader.advance()
        return change(reader, ctes)
    reader.back_to(start)
    return st.Query(reader.query())


def _explain(reader: Reader) -> st.Explain:
    return questions.parse_explain(reader, _statement)


def _prepare(reader: Reader) -> st.Prepare:
    return session.parse_prepare(reader, _statement)


_CHANGES: Final[dict[str, Callable[[Reader, exp.With], st.Statement]]] = {
    "INSERT": changes.parse_insert,
    "UPDATE": changes.parse_update,
    "DELETE": changes.parse_delete,
    "MERGE": changes.parse_merge,
}

_STATISTICS = "statistics are kept by every write; there is nothing to do."
_RIGHTS = "rights are those of the catalog's database and of the storage."
_NO_STATEMENTS: Final = {
    "ANALYZE": _STATISTICS,
    "CACHE": "use con.table(name).cache().",
    "CLUSTER": "a lake has PARTITIONED BY and SORTED BY.",
    "EXPORT": "use COPY table TO 'file', or COPY FROM DATABASE a TO b.",
    "GRANT": _RIGHTS,
    "IMPORT": "use COPY table FROM 'file', or COPY FROM DATABASE a TO b.",
    "LOCK": "a transaction sees one snapshot and needs no locks.",
    "MSCK": "use ducklake_add_data_files.",
    "OPTIMIZE": "use CALL ducklake_merge_adjacent_files('lake'), or CHECKPOINT.",
    "REFRESH": "every statement sees the newest snapshot; there is nothing to refresh.",
    "REINDEX": "a lake has no indexes.",
    "REPLACE": "use CREATE OR REPLACE TABLE, or MERGE INTO.",
    "REVOKE": _RIGHTS,
    "SAVEPOINT": "a transaction is taken back as a whole with ROLLBACK.",
    "UNCACHE": "use con.table(name).unpersist().",
    "UPSERT": "use MERGE INTO.",
    "VACUUM": "use CALL ducklake_cleanup_old_files('lake'), or CHECKPOINT.",
}

_STATEMENTS: Final[dict[str, Callable[[Reader], st.Statement]]] = {
    "ABORT": session.parse_rollback,
    "ALTER": alter.parse_alter,
    "ATTACH": catalog.parse_attach,
    "BEGIN": session.parse_begin,
    "CALL": session.parse_call,
    "CHECKPOINT": session.parse_checkpoint,
    "COMMENT": catalog.parse_comment,
    "COMMIT": session.parse_commit,
    "COPY": questions.parse_copy,
    "CREATE": tables.parse_create,
    "DEALLOCATE": session.parse_deallocate,
    "DELETE": changes.parse_delete,
    "DESC": questions.parse_describe,
    "DESCRIBE": questions.parse_describe,
    "DETACH": catalog.parse_detach,
    "DROP": catalog.parse_drop,
    "END": session.parse_commit,
    "EXECUTE": session.parse_execute,
    "EXPLAIN": _explain,
    "FORCE": session.parse_force,
    "INSERT": changes.parse_insert,
    "INSTALL": session.parse_install,
    "LOAD": session.parse_load,
    "MERGE": changes.parse_merge,
    "PRAGMA": session.parse_pragma,
    "PREPARE": _prepare,
    "RESET": session.parse_reset,
    "ROLLBACK": session.parse_rollback,
    "SET": session.parse_set,
    "SHOW": questions.parse_show,
    "START": session.parse_start,
    "SUMMARIZE": questions.parse_summarize,
    "TRUNCATE": changes.parse_truncate,
    "UPDATE": changes.parse_update,
    "USE": catalog.parse_use,
}

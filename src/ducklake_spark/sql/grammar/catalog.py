"""ATTACH, DETACH, USE, CREATE SCHEMA, secrets, DROP and COMMENT."""

from __future__ import annotations

from typing import Literal, cast

from ducklake_spark.sql import statements as st
from ducklake_spark.sql.grammar.options import parse_options
from ducklake_spark.sql.reader import Reader

CommentKind = Literal["table", "view", "column", "schema", "database", "macro"]


def parse_attach(reader: Reader) -> st.Attach:
    """ATTACH [OR REPLACE] [DATABASE] [IF NOT EXISTS] 'uri' [AS alias] [(options)]."""
    or_replace = reader.accept("OR REPLACE")
    reader.accept("DATABASE")
    if_not_exists = reader.accept("IF NOT EXISTS")
    uri = reader.name_or_string()
    alias = reader.name() if reader.accept("AS") else None
    return st.Attach(uri, alias, parse_options(reader), if_not_exists, or_replace)


def parse_detach(reader: Reader) -> st.Detach:
    """DETACH [DATABASE] [IF EXISTS] name."""
    reader.accept("DATABASE")
    if_exists = reader.accept("IF EXISTS")
    return st.Detach(reader.name_or_string(), if_exists)


def parse_use(reader: Reader) -> st.Use:
    """USE lake[.schema]."""
    return st.Use(reader.parts())


def parse_create_schema(reader: Reader, *, or_replace: bool) -> st.CreateSchema:
    """CREATE SCHEMA [IF NOT EXISTS] name."""
    if_not_exists = reader.accept("IF NOT EXISTS")
    return st.CreateSchema(reader.parts(), if_not_exists, or_replace)


def parse_create_secret(reader: Reader, *, or_replace: bool, persistent: bool) -> st.CreateSecret:
    """CREATE SECRET [IF NOT EXISTS] [name] [IN storage] (options)."""
    if_not_exists = reader.accept("IF NOT EXISTS")
    name = None if reader.peek("(") or reader.peek("IN") else reader.name()
    if reader.accept("IN"):
        reader.name()
    return st.CreateSecret(name, parse_options(reader), or_replace, if_not_exists, persistent)


def parse_drop(reader: Reader) -> st.Statement:
    """DROP TABLE | VIEW | SCHEMA | MACRO [TABLE] | FUNCTION | SECRET [IF EXISTS] name [CASCADE]."""
    reader.accept_any("TEMPORARY", "TEMP", "PERSISTENT")
    kind = reader.accept_any("TABLE", "VIEW", "SCHEMA", "DATABASE", "MACRO", "FUNCTION", "SECRET")
    is_table = kind in ("MACRO", "FUNCTION") and reader.accept("TABLE")
    if_exists = reader.accept("IF EXISTS")
    if kind is None:
        reader.fail("expected TABLE, VIEW, SCHEMA, MACRO or SECRET")
    parts = reader.parts()
    cascade = reader.accept_any("CASCADE", "RESTRICT") == "CASCADE"
    match kind:
        case "TABLE":
            return st.DropTable(parts, if_exists, cascade)
        case "VIEW":
            return st.DropView(parts, if_exists, cascade)
        case "SCHEMA":
            return st.DropSchema(parts, if_exists, cascade)
        case "DATABASE":
            return st.Detach(parts[-1], if_exists)
        case "SECRET":
            return st.DropSecret(parts[-1], if_exists)
        case _:
            return st.DropMacro(parts, if_exists, is_table)


def parse_comment(reader: Reader) -> st.Comment:
    """COMMENT ON kind name IS 'text' | NULL."""
    reader.expect("ON")
    reader.accept("MACRO TABLE")
    kind = reader.accept_any("TABLE", "VIEW", "COLUMN", "SCHEMA", "DATABASE", "MACRO", "FUNCTION")
    if kind is None:
        reader.fail("expected TABLE, VIEW, COLUMN or another kind of object")
    parts = reader.parts()
    reader.expect("IS")
    text = None if reader.accept("NULL") else reader.string()
    word = "macro" if kind == "FUNCTION" else kind.lower()
    return st.Comment(cast("CommentKind", word), parts, text)

"""CALL, transactions, settings, prepared statements, extensions."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from ducklake_spark.sql import statements as st
from ducklake_spark.sql.grammar.options import parse_arguments
from ducklake_spark.sql.literals import constant_or_tree
from ducklake_spark.sql.reader import Reader

_SCOPES = ("GLOBAL", "SESSION", "LOCAL")


def parse_call(reader: Reader) -> st.Call:
    """CALL [lake.]function(arguments)."""
    function = reader.parts()
    arguments, named = parse_arguments(reader)
    return st.Call(function, arguments, named)


def parse_begin(reader: Reader) -> st.Begin:
    """BEGIN [TRANSACTION | WORK], START TRANSACTION."""
    reader.accept_any("TRANSACTION", "WORK")
    reader.accept("READ ONLY")
    reader.accept("READ WRITE")
    return st.Begin()


def parse_start(reader: Reader) -> st.Begin:
    """START [TRANSACTION]."""
    reader.accept("TRANSACTION")
    reader.accept("READ ONLY")
    reader.accept("READ WRITE")
    return st.Begin()


def parse_commit(reader: Reader) -> st.Commit:
    """COMMIT | END [TRANSACTION | WORK]."""
    reader.accept_any("TRANSACTION", "WORK")
    return st.Commit()


def parse_rollback(reader: Reader) -> st.Rollback:
    """ROLLBACK | ABORT [TRANSACTION | WORK]."""
    reader.accept_any("TRANSACTION", "WORK")
    return st.Rollback()


def parse_checkpoint(reader: Reader) -> st.Checkpoint:
    """CHECKPOINT [lake]."""
    return st.Checkpoint(None if reader.at_end else reader.name_or_string())


def parse_force(reader: Reader) -> st.Checkpoint | st.Install:
    """FORCE CHECKPOINT [lake], FORCE INSTALL extension."""
    if reader.accept("INSTALL"):
        return parse_install(reader)
    reader.expect("CHECKPOINT")
    return parse_checkpoint(reader)


def parse_set(reader: Reader) -> st.SetVariable | st.SetSetting:
    """SET VARIABLE name = expression, SET [scope] name = | TO value."""
    if reader.accept("VARIABLE"):
        name = reader.name()
        _assign(reader)
        return st.SetVariable(name, reader.query() if _bare_query(reader) else reader.expression())
    scope = reader.accept_any(*_SCOPES)
    if reader.accept("TIME ZONE"):
        return st.SetSetting("timezone", _setting_value(reader), _lower(scope))
    name = ".".join(reader.parts()).lower()
    _assign(reader)
    return st.SetSetting(name, _setting_value(reader), _lower(scope))


def _bare_query(reader: Reader) -> bool:
    return reader.at_query and not reader.peek("(")


def _assign(reader: Reader) -> None:
    if not reader.accept_any("=", "TO"):
        reader.fail("expected = or TO")


def _lower(word: str | None) -> str | None:
    return word.lower() if word else None


def _setting_value(reader: Reader) -> object:
    tree = reader.expression()
    if isinstance(tree, exp.Column) and len(tree.parts) == 1:
        return tree.name
    return constant_or_tree(tree)


def parse_reset(reader: Reader) -> st.ResetSetting:
    """RESET [scope | VARIABLE] name."""
    scope = reader.accept_any(*_SCOPES, "VARIABLE")
    return st.ResetSetting(".".join(reader.parts()).lower(), _lower(scope))


def parse_pragma(reader: Reader) -> st.Pragma:
    """PRAGMA name [= value | (arguments)]."""
    name = reader.name().lower()
    if reader.peek("("):
        arguments, _ = parse_arguments(reader)
        return st.Pragma(name, arguments)
    return st.Pragma(name, (), _setting_value(reader) if reader.accept("=") else None)


def parse_load(reader: Reader) -> st.Load:
    """LOAD extension."""
    return st.Load(reader.name_or_string())


def parse_install(reader: Reader) -> st.Install:
    """INSTALL extension [FROM repository]."""
    name = reader.name_or_string()
    if reader.accept("FROM"):
        reader.name_or_string()
    return st.Install(name)


def parse_prepare(reader: Reader, statement: Callable[[Reader], st.Statement]) -> st.Prepare:
    """PREPARE name AS statement."""
    name = reader.name()
    reader.expect("AS")
    return st.Prepare(name, statement(reader))


def parse_execute(reader: Reader) -> st.Execute:
    """EXECUTE name [(arguments)]."""
    name = reader.name()
    if not reader.peek("("):
        return st.Execute(name)
    arguments, named = parse_arguments(reader)
    return st.Execute(name, arguments, named)


def parse_deallocate(reader: Reader) -> st.Deallocate:
    """DEALLOCATE [PREPARE] name."""
    reader.accept("PREPARE")
    return st.Deallocate(reader.name())

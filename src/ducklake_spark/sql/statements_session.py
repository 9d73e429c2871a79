"""Calls, transactions, settings, questions and copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlglot import exp

from ducklake_spark.sql.reader import Written
from ducklake_spark.sql.statements_definition import Parts

# A constant as a Python value, or the tree of an expression that is no constant.
Argument = object


@dataclass(frozen=True, slots=True)
class Call:
    """CALL [lake.]function(arguments, name => argument). Constants are Python values."""

    function: Parts
    arguments: tuple[Argument, ...] = ()
    named: Mapping[str, Argument] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Begin:
    """BEGIN / START TRANSACTION."""


@dataclass(frozen=True, slots=True)
class Commit:
    """COMMIT / END."""


@dataclass(frozen=True, slots=True)
class Rollback:
    """ROLLBACK / ABORT."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """CHECKPOINT [lake]."""

    lake: str | None = None


@dataclass(frozen=True, slots=True)
class SetVariable:
    """SET VARIABLE name = expression."""

    name: str
    expression: exp.Expr


@dataclass(frozen=True, slots=True)
class SetSetting:
    """SET [GLOBAL | SESSION | LOCAL] name = value."""

    name: str
    value: Argument
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class ResetSetting:
    """RESET [GLOBAL | SESSION | LOCAL] name, or RESET VARIABLE name."""

    name: str
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class Pragma:
    """PRAGMA name, PRAGMA name = value, PRAGMA name(arguments)."""

    name: str
    arguments: tuple[Argument, ...] = ()
    value: Argument | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """LOAD extension: accepted, does nothing."""

    name: str


@dataclass(frozen=True, slots=True)
class Install:
    """INSTALL extension: accepted, does nothing."""

    name: str


@dataclass(frozen=True, slots=True)
class Query:
    """SELECT, FROM, VALUES, WITH … SELECT, PIVOT: anything that gives rows."""

    tree: exp.Expr


@dataclass(frozen=True, slots=True)
class QueryText:
    """A query in DuckDB's dialect as it was written; DuckDB reads it."""

    written: Written
    params: Sequence[Any] | Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Describe:
    """DESCRIBE table, or DESCRIBE query."""

    parts: Parts | None = None
    query: exp.Expr | None = None


@dataclass(frozen=True, slots=True)
class Summarize:
    """SUMMARIZE table, or SUMMARIZE query."""

    parts: Parts | None = None
    query: exp.Expr | None = None


@dataclass(frozen=True, slots=True)
class ShowTables:
    """SHOW TABLES [FROM name], SHOW ALL TABLES."""

    everywhere: bool = False
    source: Parts = ()


@dataclass(frozen=True, slots=True)
class ShowSchemas:
    """SHOW SCHEMAS [FROM name]."""

    source: Parts = ()


@dataclass(frozen=True, slots=True)
class ShowDatabases:
    """SHOW DATABASES."""


@dataclass(frozen=True, slots=True)
class CopyTo:
    """COPY (query) TO 'path' (options), or COPY table [(columns)] TO 'path' (options)."""

    path: str
    query: exp.Expr | None = None
    table: Parts | None = None
    columns: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CopyFrom:
    """COPY table [(columns)] FROM 'path' (options)."""

    table: Parts
    path: str
    columns: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CopyDatabase:
    """COPY FROM DATABASE source TO target [(SCHEMA | DATA)]."""

    source: str
    target: str
    part: Literal["schema", "data"] | None = None


@dataclass(frozen=True, slots=True)
class Execute:
    """EXECUTE name(arguments, name := argument)."""

    name: str
    arguments: tuple[Argument, ...] = ()
    named: Mapping[str, Argument] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Deallocate:
    """DEALLOCATE [PREPARE] name."""

    name: str

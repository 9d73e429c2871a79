"""Statements that change rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from ducklake_spark.sql.statements_definition import Parts


@dataclass(frozen=True, slots=True)
class DefaultValues:
    """The source of INSERT … DEFAULT VALUES: one row of defaults."""


@dataclass(frozen=True, slots=True)
class Insert:
    """INSERT INTO table [BY NAME] [(columns)] source. Leading CTEs are part of the source.

    With `overwrite`, which only Spark's dialect has, all rows are replaced.
    """

    table: Parts
    source: exp.Expr | DefaultValues
    columns: tuple[str, ...] | None = None
    by_name: bool = False
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE FROM table [AS alias] [USING sources] [WHERE condition]."""

    table: Parts
    alias: str | None = None
    using: exp.Expr | None = None
    where: exp.Expr | None = None
    ctes: exp.With | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """column = value; `value` may be the word DEFAULT as an `exp.Var`."""

    column: Parts
    value: exp.Expr


@dataclass(frozen=True, slots=True)
class Update:
    """UPDATE table [AS alias] SET assignments [FROM source] [WHERE condition]."""

    table: Parts
    assignments: tuple[Assignment, ...]
    alias: str | None = None
    source: exp.Expr | None = None
    where: exp.Expr | None = None
    ctes: exp.With | None = None


@dataclass(frozen=True, slots=True)
class MergeUpdate:
    """THEN UPDATE: the assignments, or None for every column of the source, by name or place."""

    assignments: tuple[Assignment, ...] | None = None
    by_name: bool = False


@dataclass(frozen=True, slots=True)
class MergeInsert:
    """THEN INSERT: values for columns, or None for every column of the source."""

    columns: tuple[str, ...] | None = None
    values: tuple[exp.Expr, ...] | None = None
    by_name: bool = False
    default_values: bool = False


@dataclass(frozen=True, slots=True)
class MergeDelete:
    """THEN DELETE."""


@dataclass(frozen=True, slots=True)
class MergeNothing:
    """THEN DO NOTHING."""


@dataclass(frozen=True, slots=True)
class MergeError:
    """THEN ERROR [message]: the statement fails when a row reaches it."""

    message: exp.Expr | None = None


MergeAction = MergeUpdate | MergeInsert | MergeDelete | MergeNothing | MergeError


@dataclass(frozen=True, slots=True)
class MergeClause:
    """WHEN [NOT] MATCHED [BY SOURCE | TARGET] [AND condition] THEN action."""

    when: Literal["matched", "not_matched", "not_matched_by_source"]
    action: MergeAction
    condition: exp.Expr | None = None


@dataclass(frozen=True, slots=True)
class Merge:
    """MERGE INTO table USING source ON condition (or USING (columns)) clauses."""

    table: Parts
    source: exp.Expr
    clauses: tuple[MergeClause, ...]
    alias: str | None = None
    on: exp.Expr | None = None
    using: tuple[str, ...] = ()
    ctes: exp.With | None = None


@dataclass(frozen=True, slots=True)
class Truncate:
    """TRUNCATE [TABLE] name."""

    parts: Parts

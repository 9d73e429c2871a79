"""MERGE step by step from Python: what `Connection.merge` gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from ducklake_spark.errors import InvalidInput
from ducklake_spark.execution.merge import MergeResult, run_merge
from ducklake_spark.model.names import split_name
from ducklake_spark.spark.session import prepare_session
from ducklake_spark.sql import statements as st
from ducklake_spark.sql.composed import verbatim
from ducklake_spark.sql.parse import parse_expression, parse_query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ducklake_spark.connection import Connection

Values = Mapping[str, str]
"""For each column an expression in DuckDB's SQL; the word DEFAULT for its default."""


@dataclass(frozen=True)
class MergeBuilder:
    """A MERGE to which clauses can be added; every call gives a new one.

    Of the clauses about a row the first whose condition is true counts. Conditions and values are
    DuckDB's SQL, in which the table is called `target` and the source `source`, unless
    `Connection.merge` was given other names.
    """

    con: Connection
    statement: st.Merge
    source: DataFrame | None = None

    def when_matched_update(
        self, values: Values | None = None, *, condition: str | None = None
    ) -> MergeBuilder:
        """Set columns of a row that has a match; None sets all that the source has, by name."""
        return self._with("matched", _update(values), condition)

    def when_matched_delete(self, condition: str | None = None) -> MergeBuilder:
        """Delete a row that has a match."""
        return self._with("matched", st.MergeDelete(), condition)

    def when_not_matched_insert(
        self, values: Values | None = None, *, condition: str | None = None
    ) -> MergeBuilder:
        """Insert a row of the source without a match; None takes all its columns, by name."""
        if values is None:
            return self._with("not_matched", st.MergeInsert(by_name=True), condition)
        trees = tuple(_tree(text) for text in values.values())
        return self._with("not_matched", st.MergeInsert(tuple(values), trees), condition)

    def when_not_matched_by_source_update(
        self, values: Values, *, condition: str | None = None
    ) -> MergeBuilder:
        """Set columns of a row of the table that no row of the source matches."""
        return self._with("not_matched_by_source", _update(values), condition)

    def when_not_matched_by_source_delete(self, condition: str | None = None) -> MergeBuilder:
        """Delete a row of the table that no row of the source matches."""
        return self._with("not_matched_by_source", st.MergeDelete(), condition)

    def execute(self) -> MergeResult:
        """Run it, as one snapshot or as part of the open transaction."""
        if not self.statement.clauses:
            raise InvalidInput(
                "The MERGE has no clause.", hint="add one, such as when_matched_update()."
            )
        with self.con.turn:
            return run_merge(self.con, self.statement, self.source)

    def _with(self, when: str, action: st.MergeAction, condition: str | None) -> MergeBuilder:
        tree = None if condition is None else parse_expression(condition)
        clause = st.MergeClause(when, action, tree)  # type: ignore[arg-type]
        clauses = (*self.statement.clauses, clause)
        return replace(self, statement=replace(self.statement, clauses=clauses))


def start_merge(
    con: Connection,
    target: str,
    source: DataFrame | str,
    on: str | Sequence[str],
    aliases: tuple[str, str],
) -> MergeBuilder:
    """`Connection.merge`: a MERGE without clauses."""
    frame = None if isinstance(source, str) else source
    if frame is not None:
        prepare_session(frame.sparkSession)
    alias = exp.TableAlias(this=exp.to_identifier(aliases[1], quoted=True))
    statement = st.Merge(
        tuple(split_name(target)),
        _source_tree(source, alias) if isinstance(source, str) else exp.Table(alias=alias),
        (),
        aliases[0],
        parse_expression(on) if isinstance(on, str) else None,
        () if isinstance(on, str) else tuple(on),
    )
    if statement.on is None and not statement.using:
        raise InvalidInput("The MERGE has no condition.", hint="name the columns that must match.")
    return MergeBuilder(con, statement, frame)


def _source_tree(text: str, alias: exp.TableAlias) -> exp.Expr:
    """A query, or else the name of a table."""
    if any(mark in text.strip() for mark in (" ", "\n", "(")) and not text.strip().startswith('"'):
        return exp.Subquery(this=verbatim(parse_query(text)), alias=alias)
    names = [exp.to_identifier(part, quoted=True) for part in reversed(split_name(text))]
    keys = ("this", "db", "catalog")
    return exp.Table(**dict(zip(keys, names, strict=False)), alias=alias)


def _update(values: Values | None) -> st.MergeUpdate:
    if values is None:
        return st.MergeUpdate(None, by_name=True)
    return st.MergeUpdate(
        tuple(st.Assignment((name,), _tree(text)) for name, text in values.items())
    )


def _tree(text: str) -> exp.Expr:
    if text.strip().upper() == "DEFAULT":
        return exp.var("DEFAULT")
    return parse_expression(text)

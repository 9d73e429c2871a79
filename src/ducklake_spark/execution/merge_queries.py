"""The queries of a MERGE: which clause each row of the join takes, and the new values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame
from sqlglot import exp

from ducklake_spark.execution.change_rows import assigned_value, table_query
from ducklake_spark.execution.joined_rows import JOINED, Half, JoinedRows
from ducklake_spark.execution.merge_arms import Arm, Names, qualified, qualified_tree
from ducklake_spark.execution.merge_ranges import SourceKeys
from ducklake_spark.execution.queries import select_frame
from ducklake_spark.model.types import format_sql_type, parse_type
from ducklake_spark.operations.row_changes import IDENTITY, Target
from ducklake_spark.spark.internal import IDENTITY_TYPES, POSITION, VIRTUAL_TYPES
from ducklake_spark.spark.tags import type_of_field
from ducklake_spark.sql import statements as st
from ducklake_spark.sql.composed import set_ctes
from ducklake_spark.sql.reader import SPARK_DIALECT
from ducklake_spark.sql.relations import VIRTUAL_COLUMNS
from ducklake_spark.sql.sources import is_spark
from ducklake_spark.sql.values import DEFAULT

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

ACTION: Final = "__ducklake_action"
IN_SOURCE: Final = "__ducklake_in_source"


@dataclass(frozen=True)
class Joining:
    """What is joined: the table and the source, whose rows and keys are in views of Spark."""

    target: Target
    names: Names
    arms: Sequence[Arm]
    source: DataFrame
    keys: SourceKeys | None
    source_view: str
    keys_view: str


def joined_rows(con: Connection, s: st.Merge, how: Joining) -> DataFrame:
    """Each row of the join: its clause, the values that clauses ask for, and its identity.

    A value is computed for the rows of its clause alone: for others it might fail. Spark lets it
    name the clause where both stand in one list; for DuckDB it is a column of a query below.
    """
    if any(is_spark(tree) for tree in (s.source, *trees_of(s))):
        query = _join(s, how)
        chosen = exp.column(ACTION, quoted=True)
        items = [_choice(how), *_values(how, chosen, spark=True), *_identity(how.names)]
        query.set("expressions", items)
        query.meta[SPARK_DIALECT] = True
        return select_frame(con, query, how.target)
    rows = _chosen_rows(con, s, how)
    sides = (how.names.target, how.names.source)
    target, source = (
        exp.Table(
            this=exp.to_identifier(half, quoted=True),
            db=exp.to_identifier("main", quoted=True),
            catalog=exp.to_identifier(JOINED, quoted=True),
            alias=exp.TableAlias(this=exp.to_identifier(name, quoted=True)),
        )
        for half, name in zip(rows.halves, sides, strict=True)
    )
    chosen = _quoted(ACTION, how.names.target)
    items = [chosen.copy(), *_values(how, chosen, spark=False), *_identity(how.names)]
    query = exp.Select(
        expressions=items, from_=exp.From(this=target), joins=[exp.Join(this=source)]
    )
    set_ctes(query, s.ctes)
    return select_frame(con, query, joined=rows)


def _chosen_rows(con: Connection, s: st.Merge, how: Joining) -> JoinedRows:
    """The rows of the join with the number of their clause, under names that no two share."""
    names, table = how.names, how.target.table
    virtual = sorted(_virtual_columns(s, names))
    own = [
        *((c.name, format_sql_type(c.type)) for c in table.schema.columns),
        *((name, format_sql_type(parse_type(VIRTUAL_TYPES[name]))) for name in virtual),
    ]
    fields = how.source.schema.fields
    others = [(field.name, format_sql_type(type_of_field(field))) for field in fields]
    owns, theirs = [f"t{i}" for i in range(len(own))], [f"s{i}" for i in range(len(others))]
    columns = [
        *((_quoted(name, names.target), made) for (name, _), made in zip(own, owns, strict=True)),
        *(
            (_quoted(name, names.source), made)
            for (name, _), made in zip(others, theirs, strict=True)
        ),
    ]
    query = _join(s, how)
    renamed = [exp.alias_(column, made, quoted=True) for column, made in columns]
    query.set("expressions", [_choice(how), *renamed, *_identity(names)])
    frame = select_frame(con, query, how.target)
    kept = {**IDENTITY_TYPES, ACTION: "int32"}
    known = [(name, format_sql_type(parse_type(kind))) for name, kind in kept.items()]
    version = how.target.version
    place = (version.lake.name, version.schema.name, table.name)
    halves = {
        "target": Half(place, (*own, *known), (*owns, *kept)),
        "source": Half((names.source,), tuple(others), tuple(theirs)),
    }
    return JoinedRows(frame, halves)


def _virtual_columns(s: st.Merge, names: Names) -> set[str]:
    """The virtual columns of the table that the clauses mention."""
    own = {name.lower() for name in names.table.schema.names}
    return {
        column.name.lower()
        for tree in trees_of(s)
        for column in tree.find_all(exp.Column)
        if column.name.lower() in VIRTUAL_COLUMNS - own
        and column.table.lower() in ("", names.target.lower())
    }


def trees_of(s: st.Merge) -> Iterator[exp.Expr]:
    """The conditions and values of a statement."""
    if s.on is not None:
        yield s.on
    for clause in s.clauses:
        if clause.condition is not None:
            yield clause.condition
        match clause.action:
            case st.MergeUpdate(assignments):
                yield from (each.value for each in assignments or ())
            case st.MergeInsert(values=values):
                yield from values or ()
            case st.MergeError(message) if message is not None:
                yield message


# --- the join -------------------------------------------------------------------------------------


def _join(s: st.Merge, how: Joining) -> exp.Select:
    names, keys = how.names, how.keys
    query = table_query(how.target.version, names.target, s.ctes)
    alias = exp.TableAlias(this=exp.to_identifier(names.source, quoted=True))
    source = exp.Table(this=exp.to_identifier(how.source_view, quoted=True), alias=alias)
    kinds = {arm.when for arm in how.arms}
    kind = {
        (False, False): {"kind": "INNER"},
        (True, False): {"side": "RIGHT"},
        (False, True): {"side": "LEFT"},
        (True, True): {"side": "FULL"},
    }["not_matched" in kinds, "not_matched_by_source" in kinds]
    condition = _condition(s, names)
    if keys is not None and keys.within is not None:
        condition = exp.And(this=exp.paren(condition, copy=False), expression=keys.within)
    only = keys.joined(names, how.keys_view) if keys is not None else None
    join = exp.Join(this=source, on=condition, **kind)
    query.set("joins", [only, join] if only is not None else [join])
    return query


def _condition(s: st.Merge, names: Names) -> exp.Expr:
    found = qualified(s.on, "matched", names)
    return condition_tree(s, names) if found is None else exp.paren(found, copy=False)


def condition_tree(s: st.Merge, names: Names) -> exp.Expr:
    """The condition, whose columns can be seen."""
    found = qualified_tree(s.on, "matched", names)
    equal = [
        exp.EQ(this=_quoted(name, names.target), expression=_quoted(name, names.source))
        for name in s.using
    ]
    return exp.and_(*equal) if found is None else found


# --- what is selected -----------------------------------------------------------------------------


def _choice(how: Joining) -> exp.Expr:
    """The number of the clause that a row takes."""
    tests = [
        exp.If(this=_test(arm, how.names), true=exp.Literal.number(arm.number)) for arm in how.arms
    ]
    return exp.alias_(exp.Case(ifs=tests), ACTION, quoted=True)


def _values(how: Joining, chosen: exp.Expr, *, spark: bool) -> Iterator[exp.Expr]:
    """The values that clauses give, and those that rows keep."""
    columns = how.target.table.schema.by_id
    for arm in how.arms:
        trees = {
            value_name(arm, i): assigned_value(value, columns[i], spark=spark)
            for i, value in arm.values.items()
            if value is not DEFAULT
        }
        if arm.message is not None:
            trees[message_name(arm)] = arm.message
        for name, tree in trees.items():
            taken = exp.EQ(this=chosen.copy(), expression=exp.Literal.number(arm.number))
            guarded = exp.Case(ifs=[exp.If(this=taken, true=exp.paren(tree.copy(), copy=False))])
            yield exp.alias_(guarded, name, quoted=True)
    for column in how.target.table.schema.columns:
        if any(arm.updates and column.column_id not in arm.values for arm in how.arms):
            old = _quoted(column.name, how.names.target)
            yield exp.alias_(old, f"_t{column.column_id}", quoted=True)


def _identity(names: Names) -> Iterator[exp.Expr]:
    yield from (_quoted(name, names.target) for name in IDENTITY)


def _test(arm: Arm, names: Names) -> exp.Expr:
    """Whether a row of the join is one that the clause is about."""
    in_target = _quoted(POSITION, names.target).is_(exp.Null()).not_()
    in_source = _quoted(IN_SOURCE, names.source).is_(exp.Null()).not_()
    test = {
        "matched": exp.And(this=in_target, expression=in_source),
        "not_matched": in_target.not_(),
        "not_matched_by_source": in_source.not_(),
    }[arm.when]
    if arm.condition is None:
        return test
    return exp.And(this=exp.paren(test, copy=False), expression=exp.paren(arm.condition))


def _quoted(name: str, table: str) -> exp.Column:
    return exp.column(name, table=table, quoted=True)


def value_name(arm: Arm, column_id: int) -> str:
    """What the value of a clause for a column is called."""
    return f"_m{arm.number}_{column_id}"


def message_name(arm: Arm) -> str:
    """What the message of a clause is called."""
    return f"_e{arm.number}"

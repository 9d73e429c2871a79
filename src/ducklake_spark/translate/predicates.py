"""Predicates: of WHERE and of joins, with marks, and with columns of a query around."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ducklake_spark.binder.expressions import (
    Comparison,
    Conjunction,
    Expression,
    Operator,
    Ref,
    refs_of,
)
from ducklake_spark.translate.context import Context
from ducklake_spark.translate.fragments import Fragment, joined, sql
from ducklake_spark.translate.relations import Carried, Cell, Equality, Mark


def conjuncts(nodes: Iterable[Expression]) -> Iterator[Expression]:
    """The conditions that must all be true, with ANDs taken apart."""
    for node in nodes:
        if isinstance(node, Conjunction) and node.kind == "AND":
            yield from conjuncts(node.children)
        else:
            yield node


def predicate(
    node: Expression, columns: Sequence[Cell], context: Context, *, wanted: bool = True
) -> Fragment:
    """Spark SQL that is true exactly where a condition is `wanted`; else it is false or NULL.

    A mark is a predicate here: as a value it costs a join that keeps all rows.
    """
    match node:
        case Ref() if isinstance(mark := columns[node.index], Mark):
            return mark.positive if wanted else mark.negative
        case Operator(kind="NOT") if _reads_mark(node, columns):
            return predicate(node.children[0], columns, context, wanted=not wanted)
        case Conjunction() if _reads_mark(node, columns):
            word = " AND " if (node.kind == "AND") is wanted else " OR "
            parts = (predicate(each, columns, context, wanted=wanted) for each in node.children)
            return sql("({})", joined(word, parts))
        case _:
            text = context.scalar(node, columns)
            return text if wanted else sql("(NOT {})", text)


def _reads_mark(node: Expression, columns: Sequence[Cell]) -> bool:
    return any(isinstance(columns[index], Mark) for index in refs_of(node))


def carried_or_plain(
    nodes: Iterable[Expression], columns: Sequence[Cell], context: Context
) -> tuple[list[Fragment], list[Carried]]:
    """Conditions on the rows alone, and those that also read the query around."""
    plain: list[Fragment] = []
    carried: list[Carried] = []
    for node in conjuncts(nodes):
        text = predicate(node, columns, context)
        if text.outers:
            equality = _equality(node, columns, context)
            carried.append(Carried(text, equality, _reads_mark(node, columns)))
        else:
            plain.append(text)
    return plain, carried


def _equality(node: Expression, columns: Sequence[Cell], context: Context) -> Equality | None:
    """The sides of an equality of which one reads the rows, the other the query around only."""
    if not isinstance(node, Comparison) or node.kind not in ("=", "IS NOT DISTINCT FROM"):
        return None
    left, right = (context.scalar(side, columns) for side in (node.left, node.right))
    for inner, around in ((left, right), (right, left)):
        if inner.columns and not inner.outers and around.outers and not around.columns:
            return Equality(node.kind, inner, around, node.left.type)
    return None

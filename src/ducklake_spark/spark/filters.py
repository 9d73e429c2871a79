"""Catalyst filters, as JSON, to the small language that file pruning understands.

Runs on the driver; pure. Never too strong: a file with a row for which the filter is true passes
the predicate too. What is not understood becomes `Unknown`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ducklake_spark.limits import limits
from ducklake_spark.model.predicate import (
    And,
    Comparison,
    Constant,
    In,
    IsNull,
    Operator,
    Or,
    Predicate,
    StartsWith,
    Unknown,
)
from ducklake_spark.spark.literals import (
    NULL,
    NotUnderstood,
    compare,
    fits_column,
    is_lossless,
    parse_literal,
    parse_set,
)

_OPERATORS: Final[Mapping[str, Operator]] = {
    "EqualTo": "=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
}
_FLIPPED: Final[Mapping[Operator, Operator]] = {
    "=": "=",
    "<>": "<>",
    ">": "<",
    ">=": "<=",
    "<": ">",
    "<=": ">=",
}
_NEGATED: Final[Mapping[Operator, Operator]] = {
    "=": "<>",
    "<>": "=",
    ">": "<=",
    ">=": "<",
    "<": ">=",
    "<=": ">",
}


@dataclass(frozen=True)
class FilterColumn:
    """What a column of a relation means to the catalog.

    Args:
        column_id: its id.
        type_name: its DuckLake type.
        comparable: its values in the relation are of that type and not some raw form of it.
        fields: the columns inside, of a struct.
    """

    column_id: int
    type_name: str
    comparable: bool = True
    fields: Mapping[str, FilterColumn] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Node:
    """A node of a Catalyst expression."""

    name: str
    fields: Mapping[str, Any]
    children: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Operand:
    """A column under casts that lose nothing."""

    column: FilterColumn
    nested: bool


def parse_filters(
    text: str,
    columns: Mapping[str, FilterColumn],
    *,
    sets: Sequence[str] = (),
    time_zone: str = "UTC",
) -> tuple[Predicate, ...]:
    """Translate the children of one expression, each a filter.

    Args:
        text: the expression's toJSON().
        columns: the columns of the relation, by name.
        sets: the values of its InSet nodes, each as a JSON list, in the order of the nodes.
        time_zone: the session's, in which Catalyst renders TIMESTAMP literals.
    """
    translator = _Translator(columns, iter(sets), time_zone)
    return tuple(translator.translate(child, negated=False) for child in _read_tree(text).children)


def parse_null_checks(text: str) -> list[str | None]:
    """For each child: the column of a filter that is just ``column IS NOT NULL``, or None."""
    return [_null_check(child) for child in _read_tree(text).children]


def _null_check(node: _Node) -> str | None:
    if node.name != "IsNotNull" or node.children[0].name != "AttributeReference":
        return None
    return str(node.children[0].fields["name"])


def find_sets(text: str) -> list[tuple[int, ...]]:
    """Where InSet nodes stand: for each the child ordinals that lead to it from the root."""
    if "InSet" not in text:
        return []
    return [path for path, node in _walk(_read_tree(text), ()) if node.name == "InSet"]


def _walk(node: _Node, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], _Node]]:
    yield path, node
    for ordinal, child in enumerate(node.children):
        yield from _walk(child, (*path, ordinal))


def _read_tree(text: str) -> _Node:
    return _read_node(iter(json.loads(text)))


def _read_node(nodes: Iterator[dict[str, Any]]) -> _Node:
    fields = next(nodes)
    children = tuple(_read_node(nodes) for _ in range(fields["num-children"]))
    return _Node(fields["class"].rsplit(".", 1)[-1], fields, children)


class _Translator:
    """One walk over one expression."""

    def __init__(
        self, columns: Mapping[str, FilterColumn], sets: Iterator[str], time_zone: str
    ) -> None:
        self.columns = columns
        self.sets = sets
        self.time_zone = time_zone

    def translate(self, node: _Node, *, negated: bool) -> Predicate:
        """The predicate of `node`, or of its negation; neither is true where it is NULL."""
        match node.name:
            case "And" | "Or":
                parts = tuple(self.translate(child, negated=negated) for child in node.children)
                return And(parts) if (node.name == "And") != negated else Or(parts)
            case "Not":
                return self.translate(node.children[0], negated=not negated)
        try:
            return self._leaf(node, negated=negated)
        except NotUnderstood:
            return Unknown(node.name)

    def _leaf(self, node: _Node, *, negated: bool) -> Predicate:
        match node.name:
            case "EqualTo" | "GreaterThan" | "GreaterThanOrEqual" | "LessThan" | "LessThanOrEqual":
                return self._comparison(node, _OPERATORS[node.name], negated=negated)
            case "EqualNullSafe":
                return self._null_safe(node, negated=negated)
            case "IsNull" | "IsNotNull":
                column = self._plain_column(node.children[0])
                return IsNull(column.column_id, negated=(node.name == "IsNotNull") != negated)
            case "In":
                values = [self._literal(child) for child in node.children[1:]]
                return self._membership(node.children[0], values, negated=negated)
            case "InSet":
                return self._in_set(node, negated=negated)
            case "StartsWith" if not negated:
                return self._prefix(node)
            case "AttributeReference" | "GetStructField":
                operand = self._operand(node)
                return compare(operand.column, "=", not negated)
            case "Literal":
                value = self._literal(node)
                return Constant(value is not NULL and bool(value) != negated)
        raise NotUnderstood

    def _comparison(self, node: _Node, operator: Operator, *, negated: bool) -> Predicate:
        left, right = node.children
        if left.name == "Literal":
            left, right, operator = right, left, _FLIPPED[operator]
        operand, value = self._operand(left), self._literal(right)
        if value is NULL:
            return Constant(False)
        return compare(operand.column, _NEGATED[operator] if negated else operator, value)

    def _null_safe(self, node: _Node, *, negated: bool) -> Predicate:
        left, right = node.children
        if left.name == "Literal":
            left, right = right, left
        value = self._literal(right)
        if value is NULL:
            return IsNull(self._plain_column(left).column_id, negated=negated)
        column = self._operand(left).column
        if not negated:
            return compare(column, "=", value)
        missing = IsNull(self._plain_column(left).column_id)
        return Or((compare(column, "<>", value), missing))

    def _in_set(self, node: _Node, *, negated: bool) -> Predicate:
        text = next(self.sets, None)
        operand = self._operand(node.children[0])
        if text is None:
            raise NotUnderstood
        values = parse_set(text, _data_type(node.children[0]))
        return self._membership_of(operand, values, negated=negated)

    def _membership(self, node: _Node, values: list[Any], *, negated: bool) -> Predicate:
        return self._membership_of(self._operand(node), values, negated=negated)

    def _membership_of(self, operand: _Operand, values: list[Any], *, negated: bool) -> Predicate:
        known = [value for value in values if value is not NULL]
        if negated:
            if len(known) < len(values):
                return Constant(False)
            if len(known) > limits().negated_values:
                raise NotUnderstood
            return And(tuple(compare(operand.column, "<>", value) for value in known))
        if not known:
            return Constant(False)
        parts = tuple(compare(operand.column, "=", value) for value in known)
        if all(isinstance(part, Comparison) for part in parts):
            column_id = operand.column.column_id
            return In(column_id, tuple(p.value for p in parts if isinstance(p, Comparison)))
        return Or(parts)

    def _prefix(self, node: _Node) -> Predicate:
        operand, value = self._operand(node.children[0]), self._literal(node.children[1])
        if value is NULL:
            return Constant(False)
        if operand.column.type_name not in ("varchar", "json") or not isinstance(value, str):
            raise NotUnderstood
        return StartsWith(operand.column.column_id, value)

    def _literal(self, node: _Node) -> Any:
        if node.name != "Literal":
            raise NotUnderstood
        return parse_literal(node.fields.get("value"), node.fields["dataType"], self.time_zone)

    def _plain_column(self, node: _Node) -> FilterColumn:
        """A column of the table itself: counts of NULLs inside structs are not to be trusted."""
        operand = self._operand(node, compared=False)
        if operand.nested or operand.column.fields or operand.column.type_name in _PARENTS:
            raise NotUnderstood
        return operand.column

    def _operand(self, node: _Node, *, compared: bool = True) -> _Operand:
        match node.name:
            case "AttributeReference":
                column = self.columns.get(node.fields["name"])
                if column is None or (compared and not column.comparable):
                    raise NotUnderstood
                if compared and not fits_column(column.type_name, node.fields["dataType"]):
                    raise NotUnderstood
                return _Operand(column, nested=False)
            case "GetStructField":
                return self._field(node, compared=compared)
            case "Cast":
                source = _data_type(node.children[0])
                if not is_lossless(source, node.fields["dataType"]):
                    raise NotUnderstood
                return self._operand(node.children[0], compared=compared)
        raise NotUnderstood

    def _field(self, node: _Node, *, compared: bool) -> _Operand:
        parent = self._operand(node.children[0], compared=False)
        inner = _data_type(node.children[0])["fields"][node.fields["ordinal"]]
        column = parent.column.fields.get(inner["name"])
        if column is None or (compared and not column.comparable):
            raise NotUnderstood
        if compared and not fits_column(column.type_name, inner["type"]):
            raise NotUnderstood
        return _Operand(column, nested=True)


_PARENTS: Final = ("struct", "list", "map")


def _data_type(node: _Node) -> Any:
    """The Catalyst type of a column, a field of one, or a cast."""
    if node.name == "GetStructField":
        return _data_type(node.children[0])["fields"][node.fields["ordinal"]]["type"]
    if "dataType" not in node.fields:
        raise NotUnderstood
    return node.fields["dataType"]

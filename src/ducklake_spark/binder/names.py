"""What a parse tree names: tables with the moments of their AT, functions, parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from ducklake_spark.binder.trees import Tree, walk

VIRTUAL_COLUMNS: Final = frozenset(
    {"rowid", "snapshot_id", "filename", "file_row_number", "file_index"}
)
# A FROM item that is a query with names of its own, or the names of CTEs.
_APART: Final = ("SUBQUERY", "SHOW_REF")


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table, view or file that a FROM clause names and that is no CTE there.

    Attributes:
        node: its node in the tree, to be edited.
        select: the SELECT around it; the tree's root if there is none.
    """

    node: Tree
    select: Tree

    @property
    def parts(self) -> tuple[str, ...]:
        """The name as written, in one to three parts."""
        found = (self.node.get("catalog_name"), self.node.get("schema_name"))
        return (*(part for part in found if part), self.node["table_name"])

    @property
    def at(self) -> tuple[str, Tree] | None:
        """``version`` or ``timestamp``, and the expression that says which."""
        clause = self.node.get("at_clause")
        return None if not clause else (str(clause["unit"]).lower(), clause["expr"])

    @property
    def alias(self) -> str:
        """What columns are qualified with."""
        return str(self.node.get("alias") or self.node["table_name"])


@dataclass(frozen=True, slots=True)
class NamedFunction:
    """A function in FROM."""

    node: Tree
    select: Tree

    @property
    def parts(self) -> tuple[str, ...]:
        """The name as written."""
        return function_parts(self.node["function"])

    @property
    def arguments(self) -> tuple[list[Tree], dict[str, Tree]]:
        """The trees of its arguments: those by place, and those by name."""
        placed, named = [], {}
        for argument in self.node["function"].get("children", ()):
            if argument.get("alias"):
                named[str(argument["alias"]).lower()] = argument
            elif _is_assignment(argument):
                left, right = argument["left"], argument["right"]
                named[str(left["column_names"][0]).lower()] = right
            else:
                placed.append(argument)
        return placed, named


@dataclass(slots=True)
class Names:
    """All that a query names.

    Attributes:
        tables: in the order of the tree.
        functions: those in FROM.
        calls: nodes of calls of scalar functions and aggregates, which may be macros.
        parameters: nodes of ``$1``, ``?`` and ``$name``.
        questions: nodes of ``(DESCRIBE …)`` and ``(SUMMARIZE …)`` in FROM.
        has_virtual: whether any column has the name of a virtual one.
    """

    tables: list[NamedTable] = field(default_factory=list)
    functions: list[NamedFunction] = field(default_factory=list)
    calls: list[Tree] = field(default_factory=list)
    parameters: list[Tree] = field(default_factory=list)
    questions: list[Tree] = field(default_factory=list)
    has_virtual: bool = False


def find_names(node: Tree) -> Names:
    """What a query names, without the CTEs where they hold."""
    names = Names()
    _collect(node, frozenset(), node, names)
    return names


def function_parts(call: Tree) -> tuple[str, ...]:
    """The name of a call as written."""
    found = (call.get("catalog"), call.get("schema"))
    return (*(part for part in found if part), call["function_name"])


def _is_assignment(argument: Tree) -> bool:
    """``name = value`` as an argument, which DuckDB takes for ``name := value``."""
    left = argument.get("left") or {}
    return (
        argument.get("type") == "COMPARE_EQUAL"
        and left.get("class") == "COLUMN_REF"
        and len(left["column_names"]) == 1
    )


def _collect(value: Any, ctes: frozenset[str], select: Tree, names: Names) -> None:
    if isinstance(value, list):
        for child in value:
            _collect(child, ctes, select, names)
        return
    if not isinstance(value, dict):
        return
    if "cte_map" in value:
        ctes = _collect_ctes(value, ctes, names)
        select = value if value.get("type") == "SELECT_NODE" else select
    _note(value, ctes, select, names)
    if value.get("type") == "SHOW_REF":
        return  # a statement of its own
    for key, child in value.items():
        if key == "cte_map":
            continue
        if key == "function" and value.get("type") == "TABLE_FUNCTION":
            child = child.get("children", ())  # noqa: PLW2901 - the function is no scalar one
        _collect(child, ctes, select, names)


def _collect_ctes(node: Tree, ctes: frozenset[str], names: Names) -> frozenset[str]:
    """The names that hold inside a query node; each CTE sees those before it."""
    for entry in node["cte_map"].get("map", ()):
        _collect(entry["value"], ctes, node, names)
        ctes |= {str(entry["key"]).lower()}
    if node.get("type") == "RECURSIVE_CTE_NODE":
        ctes |= {str(node["cte_name"]).lower()}
    return ctes


def _note(node: Tree, ctes: frozenset[str], select: Tree, names: Names) -> None:
    match node.get("type"):
        case "BASE_TABLE" if not _is_cte(node, ctes):
            names.tables.append(NamedTable(node, select))
        case "TABLE_FUNCTION":
            names.functions.append(NamedFunction(node, select))
        case "SHOW_REF":
            names.questions.append(node)
        case "FUNCTION" if node.get("class") == "FUNCTION":
            names.calls.append(node)
        case "COLUMN_REF":
            is_virtual = node["column_names"][-1].lower() in VIRTUAL_COLUMNS
            names.has_virtual = names.has_virtual or is_virtual
        case "VALUE_PARAMETER":
            names.parameters.append(node)
        case _ if node.get("class") == "WINDOW" and node.get("function_name"):
            names.calls.append(node)


def _is_cte(node: Tree, ctes: frozenset[str]) -> bool:
    if node["table_name"].lower() not in ctes or node.get("catalog_name"):
        return False
    return node.get("schema_name", "").lower() in ("", "recurring")


def mentioned_virtual(table: NamedTable) -> frozenset[str]:
    """The virtual columns that the table's own SELECT mentions, by themselves or by its name."""
    found = set()
    owners = {table.alias.lower(), table.node["table_name"].lower()}
    for node in _own_nodes(table.select, enters_subqueries=True):
        if node.get("class") == "COLUMN_REF":
            *owner, name = (part.lower() for part in node["column_names"])
            if name in VIRTUAL_COLUMNS and (not owner or owner[-1] in owners):
                found.add(name)
    return frozenset(found)


def own_stars(select: Tree) -> Iterator[Tree]:
    """The stars and COLUMNS that show columns of a SELECT's own FROM items."""
    nodes = _own_nodes(select, enters_subqueries=False)
    return (node for node in nodes if node.get("class") == "STAR")


def own_columns(select: Tree) -> Iterator[Tree]:
    """The columns that stand in a SELECT and in the subqueries of its expressions."""
    nodes = _own_nodes(select, enters_subqueries=True)
    return (node for node in nodes if node.get("class") == "COLUMN_REF")


def joins_by_name(select: Tree) -> bool:
    """Whether a SELECT has what looks at all columns of its tables: NATURAL, PIVOT, UNPIVOT."""
    return any(
        node.get("ref_type") == "NATURAL" or node.get("type") == "PIVOT"
        for node in walk(select.get("from_table"))
    )


def _own_nodes(value: Any, *, enters_subqueries: bool, is_top: bool = True) -> Iterator[Tree]:
    if isinstance(value, list):
        for child in value:
            yield from _own_nodes(child, enters_subqueries=enters_subqueries, is_top=False)
        return
    if not isinstance(value, dict):
        return
    if value.get("type") in _APART and value.get("class") != "SUBQUERY":
        return
    if "cte_map" in value and not (is_top or enters_subqueries):
        return
    yield value
    for key, child in value.items():
        if key != "cte_map":
            yield from _own_nodes(child, enters_subqueries=enters_subqueries, is_top=False)

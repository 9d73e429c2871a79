"""Parse trees of DuckDB, as its JSON has them: text to tree, tree to text, and walking.

A tree is a plain dict that its reader owns and may change. Whoever has changed one asks for its
text, which DuckDB binds then; what was not changed is bound as it was written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from ducklake_spark.binder.errors import Texts, binding_error
from ducklake_spark.binder.mirror import Mirror
from ducklake_spark.errors import InvalidInput, SqlSyntaxError

Tree = dict[str, Any]
_NO_QUERY: Final = "Only SELECT statements can be serialized"


@dataclass(frozen=True, slots=True)
class Parsed:
    """A query: what was written, and its tree."""

    text: str
    tree: Tree

    @property
    def node(self) -> Tree:
        """The query itself."""
        node: Tree = self.tree["statements"][0]["node"]
        return node


def parse_query(mirror: Mirror, text: str) -> Parsed | None:
    """The tree of a query; None for a statement that is none.

    Raises:
        SqlSyntaxError: with DuckDB's words and the place in the text.
    """
    asked = "SELECT json_serialize_sql($1, skip_default := true)"
    document: Tree = json.loads(mirror.ask(asked, [text])[0][0])
    if document["error"]:
        if str(document.get("error_message")).startswith(_NO_QUERY):
            return None
        raise binding_error(document, Texts(text, text))
    if len(document["statements"]) != 1:
        raise InvalidInput("Expected one query, but the text holds several.")
    return Parsed(text, document)


def expect_query(mirror: Mirror, text: str) -> Parsed:
    """The tree of a text that must be a query."""
    parsed = parse_query(mirror, text)
    if parsed is None:
        raise SqlSyntaxError(f"Expected a query, but got {text.strip()[:80]!r}.")
    return parsed


def text_of(mirror: Mirror, tree: Tree) -> str:
    """DuckDB's text of a tree."""
    asked = "SELECT json_deserialize_sql($1::JSON)"
    return str(mirror.ask(asked, [json.dumps(tree)])[0][0])


def text_of_node(mirror: Mirror, node: Tree) -> str:
    """DuckDB's text of one query node."""
    return text_of(mirror, {"error": False, "statements": [{"node": node}]})


def text_of_expression(mirror: Mirror, node: Tree) -> str:
    """DuckDB's text of an expression without its alias."""
    bare = {key: value for key, value in node.items() if key != "alias"}
    select = {
        "type": "SELECT_NODE",
        "cte_map": {"map": []},
        "select_list": [bare],
        "from_table": {"type": "EMPTY"},
        "aggregate_handling": "STANDARD_HANDLING",
    }
    return text_of_node(mirror, select).removeprefix("SELECT ")


def walk(value: Any) -> Iterator[Tree]:
    """Every dict in a tree, from above."""
    if isinstance(value, dict):
        yield value
        for child in value.values():
            yield from walk(child)
    elif isinstance(value, list):
        for child in value:
            yield from walk(child)


# --- making nodes --------------------------------------------------------------------------------


def column_ref(*names: str) -> Tree:
    """A column."""
    return {"class": "COLUMN_REF", "type": "COLUMN_REF", "column_names": list(names)}


def constant(value: str) -> Tree:
    """A string, as a literal that takes any type."""
    typed = {"type": {"id": "VARCHAR"}, "is_null": False, "value": value}
    return {"class": "CONSTANT", "type": "VALUE_CONSTANT", "value": typed}


def call(name: str, *arguments: Tree) -> Tree:
    """A call of a function of DuckDB."""
    return {
        "class": "FUNCTION",
        "type": "FUNCTION",
        "function_name": name,
        "children": list(arguments),
        "order_bys": {"type": "ORDER_MODIFIER"},
    }

"""Parse trees of DuckDB, as its JSON has them: text to tree, tree to text, and walking.

A tree is a plain dict that its reader owns and may change. Whoever has changed one asks for its
text, which DuckDB binds then; what was not changed is bound as it was written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from ducklake_spark.binder.errors import Source, Texts, binding_error
from ducklake_spark.binder.mirror import Mirror
from ducklake_spark.binder.versions import is_newer, older_tree
from ducklake_spark.errors import InvalidInput, SqlSyntaxError

Tree = dict[str, Any]
_EDITED: Final = ("BASE_TABLE", "TABLE_FUNCTION", "VALUE_PARAMETER")
_NO_QUERY: Final = "Only SELECT statements can be serialized"


@dataclass(frozen=True, slots=True)
class Parsed:
    """A query: what was written, and its tree.

    Attributes:
        source: the user's text where the query was made of parts of it.
        select_lists: those of the tree, which are the same lists after it was edited.
    """

    text: str
    tree: Tree
    source: Source | None
    select_lists: tuple[list[Tree], ...]

    @property
    def node(self) -> Tree:
        """The query itself."""
        node: Tree = self.tree["statements"][0]["node"]
        return node


def parse_query(mirror: Mirror, text: str, source: Source | None = None) -> Parsed | None:
    """The tree of a query; None for a statement that is none.

    `source` is the user's text where the query was made of parts of it.

    Raises:
        SqlSyntaxError: with DuckDB's words and the place in the text.
    """
    asked = "SELECT json_serialize_sql($1, skip_default := true)"
    document: Tree = json.loads(mirror.ask(asked, [text])[0][0])
    if document["error"]:
        if str(document.get("error_message")).startswith(_NO_QUERY):
            return None
        raise binding_error(document, Texts(text, text, source))
    if len(document["statements"]) != 1:
        raise InvalidInput("Expected one query, but the text holds several.")
    if is_newer():
        document = older_tree(document)
    lists = tuple(_select_lists(document["statements"][0]["node"]))
    return Parsed(text, document, source, lists)


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


def edited_text(mirror: Mirror, parsed: Parsed) -> str:
    """The text of a query whose tree was edited; its columns are called as they were before."""
    untouched = expect_query(mirror, parsed.text)
    lists = zip(untouched.select_lists, parsed.select_lists, strict=True)
    items = [pair for before, after in lists for pair in zip(before, after, strict=True)]
    unnamed = [(before, after) for before, after in items if _loses_its_name(before)]
    if unnamed:
        names = _texts_of(mirror, [before for before, _ in unnamed])
        for (_, after), name in zip(unnamed, names, strict=True):
            after["alias"] = name
    return text_of(mirror, parsed.tree)


def _select_lists(node: Tree) -> Iterator[list[Tree]]:
    return (each["select_list"] for each in walk(node) if each.get("type") == "SELECT_NODE")


def _loses_its_name(item: Tree) -> bool:
    """Whether an item without a name would be called otherwise when its text is read again."""
    if item.get("alias"):
        return False
    nodes = list(walk(item))
    # A star is several columns, and so may be an unnest.
    if any(e.get("class") == "STAR" or e.get("function_name") == "unnest" for e in nodes):
        return False
    return any(e.get("type") in _EDITED or _is_setting(e) or _is_interval(e) for e in nodes)


def _is_setting(node: Tree) -> bool:
    return node.get("function_name") == "current_setting"


def _is_interval(node: Tree) -> bool:
    """``to_days(CAST(trunc(CAST(n AS DOUBLE)) AS INTEGER))`` as the parser has made it."""
    arguments: list[Tree] = node.get("children") or [{}]
    casts = "query_location" not in arguments[0] and arguments[0].get("class") == "CAST"
    return str(node.get("function_name")).startswith("to_") and casts


def _as_written(node: Tree) -> Tree:
    """A copy in which casts that the user wrote name their types as a text that is read does."""
    copy: Tree = json.loads(json.dumps(node))
    own = {id(cast) for each in walk(copy) if _is_interval(each) for cast in walk(each["children"])}
    for each in walk(copy):
        kind = each.get("cast_type")
        if kind and set(kind) == {"id"} and id(each) not in own:
            info = {"type": "UNBOUND_TYPE_INFO", "name": kind["id"]}
            each["cast_type"] = {"id": "UNBOUND", "type_info": info}
    return copy


def _texts_of(mirror: Mirror, items: list[Tree]) -> list[str]:
    """DuckDB's texts of expressions."""
    asked = ", ".join(f"json_deserialize_sql(${n}::JSON)" for n in range(1, len(items) + 1))
    given = [json.dumps(_selecting(_as_written(item))) for item in items]
    return [str(text).removeprefix("SELECT ") for text in mirror.ask(f"SELECT {asked}", given)[0]]


def text_of_expression(mirror: Mirror, node: Tree) -> str:
    """DuckDB's text of an expression without its alias."""
    return _texts_of(mirror, [node])[0]


def _selecting(item: Tree) -> Tree:
    """A query of one expression, without its alias."""
    select = {
        "type": "SELECT_NODE",
        "cte_map": {"map": []},
        "select_list": [{key: value for key, value in item.items() if key != "alias"}],
        "from_table": {"type": "EMPTY"},
        "aggregate_handling": "STANDARD_HANDLING",
    }
    return {"error": False, "statements": [{"node": select}]}


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


def table_ref(catalog: str, schema: str, name: str) -> Tree:
    """A table in FROM."""
    return {
        "type": "BASE_TABLE",
        "catalog_name": catalog,
        "schema_name": schema,
        "table_name": name,
    }


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

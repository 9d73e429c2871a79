"""Text as DuckDB writes it and as the catalog keeps it: defaults, sort keys, macros, views."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any, Final

from ducklake_spark.binder.errors import Texts, binding_error
from ducklake_spark.binder.mirror import BindSettings, Mirror
from ducklake_spark.binder.trees import Tree, walk
from ducklake_spark.binder.versions import is_newer, older_tree
from ducklake_spark.caching import remembered
from ducklake_spark.errors import SqlSyntaxError

Edit = Callable[[list[Tree]], None]
_LOCK: Final = threading.Lock()


def format_expression(text: str, edit: Edit | None = None) -> str:
    """An expression as DuckDB writes it; `edit` may change the columns that it reads.

    >>> format_expression("1+2"), format_expression("NOW()")
    ('(1 + 2)', 'now()')

    Raises:
        SqlSyntaxError: DuckDB cannot read it.
    """
    return _formatted(f"SELECT {text}", "COLUMN_REF", edit).removeprefix("SELECT ")


def format_query(text: str, edit: Edit | None = None) -> str:
    """A query as DuckDB writes it; `edit` may change the tables that it names."""
    return _formatted(text, "BASE_TABLE", edit)


def columns_of(text: str) -> list[list[str]]:
    """The columns that an expression names, in parts."""
    with _LOCK:
        nodes = list(walk(_parsed(f"SELECT {text}")))
    return [node["column_names"] for node in nodes if node.get("class") == "COLUMN_REF"]


def _formatted(text: str, kind: str, edit: Edit | None) -> str:
    with _LOCK:
        tree = _parsed(text)
        if edit is not None:
            edit([node for node in walk(tree) if node.get("type") == kind])
        return str(_ask("SELECT json_deserialize_sql($1::JSON)", json.dumps(tree)))


def _parsed(text: str) -> Tree:
    document: Tree = json.loads(_ask("SELECT json_serialize_sql($1)", text))
    if document["error"]:
        raise binding_error(document, Texts(text, text))
    if len(document["statements"]) != 1:
        raise SqlSyntaxError(f"Expected one query, but got {text.strip()[:80]!r}.")
    return older_tree(document) if is_newer() else document


def _ask(statement: str, value: str) -> Any:
    return _parser().ask(statement, [value])[0][0]


@remembered("DuckDB's parser", entries=1, depends_on="nothing")
def _parser() -> Mirror:
    return Mirror(BindSettings())

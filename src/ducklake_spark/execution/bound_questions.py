"""DESCRIBE, SUMMARIZE and SHOW in FROM: the statements that they are."""

from __future__ import annotations

from typing import Final

from ducklake_spark.binder.mirror import Mirror
from ducklake_spark.binder.trees import Tree, text_of
from ducklake_spark.errors import NotSupported

_QUESTIONS: Final = {
    '"databases"': "SHOW DATABASES",
    '"schemas"': "SHOW SCHEMAS",
    '"tables"': "SHOW TABLES",
    "__show_tables_expanded": "SHOW ALL TABLES",
}


def question_text(mirror: Mirror, node: Tree) -> str:
    """The statement that a DESCRIBE, SUMMARIZE or SHOW in FROM is."""
    query = node.get("query")
    if query is None:
        known = _QUESTIONS.get(node["table_name"])
        if known is None:
            raise NotSupported(f"SHOW {node['table_name']} in FROM is not supported.")
        return known
    word = "SUMMARIZE" if node["show_type"] == "SUMMARY" else "DESCRIBE"
    text = text_of(mirror, {"error": False, "statements": [{"node": query}]})
    return f"{word} {text.removeprefix('SELECT * FROM ') if _is_table(query) else text}"


def _is_table(query: Tree) -> bool:
    """Whether a query is all rows of one table."""
    plain = {"type", "cte_map", "select_list", "from_table", "aggregate_handling"}
    table = query.get("from_table") or {}
    is_bare = not {"alias", "at_clause", "sample"} & table.keys()
    return query.keys() <= plain and table.get("type") == "BASE_TABLE" and is_bare

"""Changes in a parse tree: names that get another meaning, values in place of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ducklake_spark.binder.mirror import Name
from ducklake_spark.binder.names import (
    NamedFunction,
    NamedTable,
    joins_by_name,
    own_columns,
    own_stars,
)
from ducklake_spark.binder.trees import Tree
from ducklake_spark.errors import NotSupported

_KEPT: Final[tuple[str, ...]] = ("column_name_alias", "query_location")


def qualify(node: Tree, name: Name) -> None:
    """Say in full what a name means, so that it means the same wherever the text stands."""
    node["catalog_name"], node["schema_name"] = name.catalog, name.schema
    node["table_name"] = name.name


def rename(
    table: NamedTable,
    name: Name,
    hidden: Sequence[str] = (),
    *,
    called: Sequence[str] | None = None,
) -> None:
    """Let a table be another one, and be called in the query as before.

    `hidden` are columns at its end that no star shows, `called` is the name that columns may be
    qualified with if it is not that of the table.
    """
    parts, alias = tuple(called or table.parts), table.alias
    node = table.node
    qualify(node, name)
    node["alias"] = alias
    node.pop("at_clause", None)
    if len(parts) > 1:
        _shorten(table.select, parts, alias)
    if hidden:
        _hide(table, alias, hidden)


def replace_function(function: NamedFunction, name: Name, hidden: Sequence[str] = ()) -> None:
    """Put a table where a function stands in FROM."""
    node = function.node
    alias = node.get("alias") or node["function"]["function_name"]
    kept: Tree = {key: node[key] for key in _KEPT if key in node}
    if node.get("with_ordinality", "WITHOUT_ORDINALITY") != "WITHOUT_ORDINALITY":
        raise NotSupported(f"WITH ORDINALITY is not supported for {alias}().")
    node.clear()
    node.update({"type": "BASE_TABLE", "alias": alias, **kept})
    qualify(node, name)
    if hidden:
        _hide(NamedTable(node, function.select), alias, hidden)


def replace_parameter(node: Tree, value: Tree) -> None:
    """Put an expression where a parameter stands, which keeps its name."""
    alias = node.get("alias")
    node.clear()
    node.update(value)
    if alias:
        node["alias"] = alias


def _shorten(select: Tree, parts: tuple[str, ...], alias: str) -> None:
    """``lake.schema.t.a`` and ``schema.t.a`` become ``alias.a``."""
    folded = tuple(part.lower() for part in parts)
    for node in own_columns(select):
        names = node["column_names"]
        for length in range(min(len(folded), len(names) - 1), 1, -1):
            if tuple(name.lower() for name in names[:length]) == folded[-length:]:
                node["column_names"] = [alias, *names[length:]]
                break


def _hide(table: NamedTable, alias: str, hidden: Sequence[str]) -> None:
    if joins_by_name(table.select):
        raise NotSupported("Virtual columns cannot be read beside NATURAL JOIN, PIVOT and UNPIVOT.")
    for node in own_columns(table.select):
        if len(node["column_names"]) == 1 and node["column_names"][0].lower() == alias.lower():
            raise NotSupported("A table cannot be a value beside its virtual columns.")
    for star in own_stars(table.select):
        owner = star.get("relation_name")
        if not owner or owner.lower() == alias.lower():
            excluded = star.setdefault("qualified_exclude_list", [])
            excluded += [{"table": alias, "column": name} for name in hidden]

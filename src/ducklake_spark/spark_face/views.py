"""Views of a lake that Spark makes.

DuckDB takes the text of a view for its own, whatever dialect the catalog says that it is. So a view
is kept in DuckDB's SQL: its query must be one that means the same in both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from ducklake_spark.errors import NotSupported
from ducklake_spark.execution import views
from ducklake_spark.spark_face.places import has_object, place_of, schema_of
from ducklake_spark.spark_face.registry import Named
from ducklake_spark.sql import statements as st
from ducklake_spark.sql.parse import parse_query

Told = Mapping[str, Any]


def list_views(lake: Named, namespace: Sequence[str]) -> str:
    """The names of the views of a schema."""
    found = lake.con.lake(lake.name)
    with lake.con.reading(found) as tx:
        schema = lake.con.schema_entry(found, tx, schema_of(namespace) or "")
        names = [v.name for v in tx.local.views() if v.schema_id == schema.schema_id]
    return json.dumps(sorted(names))


def view_exists(lake: Named, namespace: Sequence[str], name: str, _more: None) -> bool:
    """Whether there is such a view."""
    return has_object(lake, namespace, name)[1]


def create_view(lake: Named, namespace: Sequence[str], name: str, told: Told) -> None:
    """CREATE VIEW, with the names of tables as they were meant where it was typed."""
    place = place_of(lake, namespace, name)
    query = parse_query(told["query"], "spark")
    _name_in_full(lake, query, told)
    columns, queried = list(told["columns"]), list(told["query_columns"] or [])
    aliases = tuple(columns) if queried and columns != queried else ()
    replace = bool(told["replace"])
    made = st.CreateView(place, query, told["query"], aliases, or_replace=replace)
    views.create_view(lake.con, made)
    if told["comment"] is not None:
        views.comment(lake.con, st.Comment("view", place, told["comment"]))


def drop_view(lake: Named, namespace: Sequence[str], name: str, _more: None) -> bool:
    """DROP VIEW; false if there is none."""
    if not has_object(lake, namespace, name)[1]:
        return False
    views.drop_view(lake.con, st.DropView(place_of(lake, namespace, name)))
    return True


def rename_view(
    lake: Named, namespace: Sequence[str], name: str, to: tuple[Sequence[str], str]
) -> None:
    """ALTER VIEW … RENAME TO."""
    views.rename_view(lake.con, st.RenameView(place_of(lake, namespace, name), to[1]))


def _name_in_full(lake: Named, query: exp.Expr, told: Told) -> None:
    """Let each table of a query be named with its lake and schema."""
    inner = {cte.alias_or_name.lower() for cte in query.find_all(exp.CTE)}
    for table in query.find_all(exp.Table):
        parts = [part.name for part in table.parts]
        if len(parts) == 1 and parts[0].lower() in inner:
            continue
        schema, name = _meant(lake, parts, told)
        for key, part in (("this", name), ("db", schema), ("catalog", lake.name)):
            table.set(key, exp.to_identifier(part, quoted=True))


def _meant(lake: Named, parts: Sequence[str], told: Told) -> tuple[str, str]:
    """Schema and name of a table of this lake."""
    if len(parts) <= 3 and parts[0].lower() == lake.name.lower() and len(parts) > 1:
        return (parts[-2] if len(parts) == 3 else "main"), parts[-1]
    if str(told["catalog"]).lower() == lake.name.lower() and len(parts) <= 2:
        return (parts[0] if len(parts) == 2 else _home(told)), parts[-1]
    raise NotSupported(
        f'Cannot read {".".join(parts)} in a view of lake "{lake.name}": such a view reads tables '
        "of its own lake only.",
        hint="make a temporary view of Spark instead.",
    )


def _home(told: Told) -> str:
    return schema_of(told["namespace"] or []) or "main"

"""Text to bound plan: DuckDB binds a query on the mirror, and its plan becomes our values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ducklake_spark.binder.decode import decode_plan
from ducklake_spark.binder.errors import Texts, binding_error
from ducklake_spark.binder.mirror import Mirror
from ducklake_spark.binder.operators import Plan


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A query whose names and types are known.

    Attributes:
        names: of the columns of its result, as DuckDB has them.
        types: of these columns, as DuckDB writes them.
    """

    plan: Plan
    names: tuple[str, ...]
    types: tuple[str, ...]


def bind_query(mirror: Mirror, texts: Texts) -> BoundQuery:
    """The plan of one query, all of whose tables, views and macros the mirror holds.

    Raises:
        DuckLakeError: what DuckDB's binder says, at the place in the user's text.
        NotSupported: the plan has something that is not known here.
    """
    found: BoundQuery = mirror.plans.find(
        (texts.bound, *mirror.state(texts.bound)), lambda: _bind(mirror, texts)
    )
    return found


def _bind(mirror: Mirror, texts: Texts) -> BoundQuery:
    plan = decode_plan(_plan_of(mirror, texts))
    relation = mirror.relation(texts.bound)
    return BoundQuery(plan, tuple(relation.columns), tuple(map(str, relation.types)))


def _plan_of(mirror: Mirror, texts: Texts) -> dict[str, Any]:
    asked = "SELECT json_serialize_plan($1, skip_default := true)"
    document: dict[str, Any] = json.loads(mirror.ask(asked, [texts.bound])[0][0])
    if document.get("error"):
        raise binding_error(document, texts)
    return document

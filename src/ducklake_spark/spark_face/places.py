"""What Spark's identifiers mean in a lake."""

from __future__ import annotations

from collections.abc import Sequence

from ducklake_spark.errors import InvalidInput
from ducklake_spark.spark_face.registry import Named

Place = tuple[str, str, str]
"""Lake, schema and object."""


def schema_of(namespace: Sequence[str]) -> str | None:
    """The schema of a namespace: ``lake.t`` is in main; None for one that no lake can have."""
    if len(namespace) > 1:
        return None
    return namespace[0] if namespace else "main"


def place_of(lake: Named, namespace: Sequence[str], name: str) -> Place:
    """Lake, schema and object of an identifier.

    Raises:
        InvalidInput: for a namespace of more than one part.
    """
    schema = schema_of(namespace)
    if schema is None:
        raise InvalidInput(
            f'Cannot use the name {".".join((*namespace, name))} in lake "{lake.name}": a schema '
            "has no schemas inside.",
            hint=f"write {lake.name}.schema.{name}.",
        )
    return lake.name, schema, name


def has_object(lake: Named, namespace: Sequence[str], name: str) -> tuple[bool, bool]:
    """Whether there is a table of that name, and whether there is a view."""
    schema_name = schema_of(namespace)
    if schema_name is None:
        return False, False
    found = lake.con.lake(lake.name)
    with lake.con.reading(found) as tx:
        schema = tx.local.find_schema(schema_name)
        if schema is None:
            return False, False
        table = tx.local.find_table(schema.schema_id, name)
        view = None if table is not None else tx.local.find_view(schema.schema_id, name)
        return table is not None, view is not None

"""Schemas of a lake, which Spark calls namespaces."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ducklake_spark.errors import InvalidInput, NotSupported
from ducklake_spark.operations import objects
from ducklake_spark.spark_face.properties import check_place
from ducklake_spark.spark_face.registry import Named

_OF_SPARK: Final = ("owner", "location")


def list_schemas(lake: Named) -> str:
    """The names of all schemas."""
    with lake.con.reading(lake.con.lake(lake.name)) as tx:
        return json.dumps([schema.name for schema in tx.local.schemas()])


def has_schema(lake: Named, namespace: Sequence[str]) -> bool:
    """Whether there is such a schema."""
    if len(namespace) != 1:
        return False
    with lake.con.reading(lake.con.lake(lake.name)) as tx:
        return tx.local.find_schema(namespace[0]) is not None


def describe_schema(lake: Named, namespace: Sequence[str]) -> str:
    """What DESCRIBE NAMESPACE shows."""
    found = lake.con.lake(lake.name)
    with lake.con.reading(found) as tx:
        lake.con.schema_entry(found, tx, namespace[0])
    return json.dumps({"location": found.data_path})


def create_schema(lake: Named, namespace: Sequence[str], properties: Mapping[str, str]) -> None:
    """CREATE NAMESPACE."""
    name = _name(namespace)
    check_place(properties, f'create schema "{name}"')
    for key in properties:
        _refuse_property(name, key)
    found = lake.con.lake(lake.name)
    with lake.con.writing(found, f'create schema "{name}"') as tx:
        objects.create_schema(tx, name)


def alter_schema(
    lake: Named, namespace: Sequence[str], changes: Sequence[Mapping[str, Any]]
) -> None:
    """ALTER NAMESPACE and COMMENT ON NAMESPACE: a lake keeps nothing of the kind."""
    for change in changes:
        _refuse_property(_name(namespace), change["property"])


def drop_schema(lake: Named, namespace: Sequence[str], cascade: bool) -> None:
    """DROP NAMESPACE."""
    name = _name(namespace)
    found = lake.con.lake(lake.name)
    with lake.con.writing(found, f'drop schema "{name}"') as tx:
        where = f'lake "{found.name}"'
        objects.drop_schema(tx, name, where=where, cascade=cascade)


def _name(namespace: Sequence[str]) -> str:
    if len(namespace) != 1:
        raise InvalidInput(
            f"Cannot use the namespace {'.'.join(namespace)}: a schema of a lake has no schemas "
            "inside."
        )
    return namespace[0]


def _refuse_property(schema: str, key: str) -> None:
    if key not in _OF_SPARK:
        what = "a comment" if key == "comment" else f'the property "{key}"'
        raise NotSupported(
            f'Cannot give schema "{schema}" {what}: a lake keeps comments of tables, views and '
            "columns only, and options by CALL lake.system.set_option."
        )

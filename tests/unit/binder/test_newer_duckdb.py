"""What DuckDB 2 says is read as what DuckDB 1.5 says of the same query."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass

import duckdb
import pytest

from ducklake_spark.binder.decode import decode_newer, decode_plan
from ducklake_spark.binder.names import find_names
from ducklake_spark.binder.operators import types_of
from ducklake_spark.binder.versions import is_newer, older_tree
from support.newer_duckdb import (
    KEPT,
    OTHER_PLANS,
    SAME_PLANS,
    TABLES,
    TREES,
    plan_document,
    tree_document,
)

pytestmark = pytest.mark.skipif(is_newer(), reason="compares with DuckDB 1.5")


@pytest.fixture(scope="module")
def con():
    with duckdb.connect() as found:
        found.execute(TABLES)
        yield found


@pytest.fixture(scope="module")
def kept():
    return json.loads(KEPT.read_text(encoding="utf-8"))


def without_places(value):
    """A plan without what tells only where something stands, or what it is numbered."""
    if isinstance(value, tuple):
        return tuple(map(without_places, value))
    if not is_dataclass(value):
        return value
    told = {each.name: getattr(value, each.name) for each in fields(value)}
    left_out = {"location", "index", "table", "bind_data"}
    kept = {n: without_places(v) for n, v in told.items() if n not in left_out}
    number = told.get("index") if type(value).__name__ == "Ref" else None
    return type(value).__name__, number, tuple(kept.items()), sorted(told.get("bind_data") or ())


@pytest.mark.parametrize("text", SAME_PLANS)
def test_a_plan_is_the_same(con, kept, text):
    newer = decode_newer(kept["plans"][text]["plans"][0])
    assert without_places(newer) == without_places(decode_plan(plan_document(con, text)))


@pytest.mark.parametrize("text", OTHER_PLANS)
def test_a_plan_of_another_form_has_the_same_types(con, kept, text):
    newer = decode_newer(kept["plans"][text]["plans"][0])
    assert types_of(newer) == types_of(decode_plan(plan_document(con, text)))


@pytest.mark.parametrize("text", TREES)
def test_a_tree_names_the_same(con, kept, text):
    found = [
        find_names(tree["statements"][0]["node"])
        for tree in (older_tree(kept["trees"][text]), tree_document(con, text))
    ]
    newer, older = (
        [
            [(table.parts, table.at is not None, table.alias) for table in names.tables],
            [
                (each.parts, len(each.arguments[0]), set(each.arguments[1]))
                for each in names.functions
            ],
            [call["function_name"] for call in names.calls],
            (len(names.parameters), len(names.questions), names.has_virtual),
        ]
        for names in found
    )
    assert newer == older

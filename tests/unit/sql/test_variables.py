"""Values that a session or a caller supplies become constants in the trees of statements."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import InvalidInput
from ducklake_spark.sql.parse import parse_expression
from ducklake_spark.sql.variables import MapValue, bind_variables, value_tree


def test_variables_and_parameters_become_constants() -> None:
    tree = parse_expression("getvariable('X') + ? + ? + coalesce(getvariable('none'), 1)")

    bound = bind_variables(tree, {"x": 5}, [6, 7])
    assert bound.sql() == "5 + 6 + 7 + COALESCE(NULL, 1)"
    assert "getvariable" in tree.sql(dialect="duckdb").lower()


def test_named_parameters_are_bound_by_name() -> None:
    bound = bind_variables(parse_expression("$a || $b"), {}, {"a": "x", "b": "y"})

    assert bound.sql() == "'x' || 'y'"


def test_parameter_without_value_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="has no value"):
        bind_variables(parse_expression("? + ?"), {}, [1])


def test_a_map_is_no_struct() -> None:
    assert value_tree(MapValue({"a": 1})).sql(dialect="duckdb") == "MAP {'a': 1}"
    assert value_tree({"a": 1}).sql(dialect="duckdb") == "{'a': 1}"

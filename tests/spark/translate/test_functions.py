"""Functions that Spark computes itself, against DuckDB: every overload, over tables of values."""

from __future__ import annotations

import pytest

from support.function_cases import texts_of_all
from support.function_matrix import Case, Matrix

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def matrix(spark, tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    return Matrix(spark, tmp_path_factory.mktemp("matrix"))


def test_native_functions_give_the_values_types_and_errors_of_duckdb(matrix: Matrix) -> None:
    cases = matrix.cases(texts_of_all())
    assert len(cases) > 1500
    differences = list(matrix.differences(cases))
    assert not differences, "\n".join(map(str, differences))


def test_the_matrix_sees_another_value_another_type_and_a_missing_error(matrix: Matrix) -> None:
    """What the test above relies on."""
    (case,) = matrix.cases(["a_2 + b_2"])
    wrong = (
        "`a_2` - `b_2`",
        "CAST(`a_2` AS BIGINT) + `b_2`",
        "try_add(`a_2`, `b_2`)",
        "raise_error(`v_0`)",
    )
    found = list(matrix.differences([Case(case.text, case.type, spark) for spark in wrong]))
    assert {each.case.spark for each in found} == set(wrong)

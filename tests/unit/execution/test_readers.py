"""What the functions that read files take."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import NotSupported
from ducklake_spark.execution.readers import csv_schema


def test_columns_of_a_csv_file_are_told_in_types_of_spark():
    assert csv_schema({"a": "BIGINT", "b`c": "VARCHAR"}) == "`a` bigint, `b``c` string"


@pytest.mark.parametrize("kind", ["UUID[]", "STRUCT(a INTEGER)", "MAP(VARCHAR, INTEGER)"])
def test_nested_columns_of_a_csv_file_are_refused_by_name(kind):
    with pytest.raises(NotSupported, match="cannot read the column 'v'"):
        csv_schema({"id": "BIGINT", "v": kind})

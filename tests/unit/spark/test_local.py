"""Rows of the driver on their way to Spark."""

import pytest

from ducklake_spark.errors import NotSupported
from ducklake_spark.spark.local import carrier_batch
from support.carried import a_schema


def test_an_integer_that_no_number_of_spark_holds_is_refused_by_name():
    columns = a_schema({"h": "HUGEINT"}).columns
    assert carrier_batch(columns, [(10**38 - 1,), (None,)]).num_rows == 2
    with pytest.raises(NotSupported, match="column h has more than 38 digits"):
        carrier_batch(columns, [(10**38,)])

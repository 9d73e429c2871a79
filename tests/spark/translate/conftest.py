"""Views and functions of these tests are of a session of their own: others name tables alike."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(spark: SparkSession) -> SparkSession:
    return spark.newSession()

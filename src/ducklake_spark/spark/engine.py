"""Functions of Spark that DuckDB computes, registered with a session before a query names them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType

from ducklake_spark import caching
from ducklake_spark.bridge.sessions import session_id
from ducklake_spark.errors import NotSupported
from ducklake_spark.model.engine_call import EngineCall
from ducklake_spark.spark.engine_tasks import EngineFunction
from ducklake_spark.spark.local import IN_UTC

_REGISTERED: Final = caching.declare(
    "functions of DuckDB in Spark",
    key="the session and the name of a call",
    depends_on="the name, which has a digest of what the function computes",
    seen_by="process",
    emptied="never",
    entries=10_000,
).make()


def register_engine_calls(spark: SparkSession, calls: Iterable[EngineCall]) -> None:
    """Make the calls known to a session under their names, each once. Driver."""
    for call in calls:
        _REGISTERED.find((session_id(spark), call.name), partial(_register, spark, call))


def _register(spark: SparkSession, call: EngineCall) -> bool:
    spark.udf.register(call.name, _function(call))
    return True


def _function(call: EngineCall) -> Any:
    make = getattr(F, "arrow_udf", None)
    if make is None:
        raise NotSupported(
            f"Cannot compute {call.name} with DuckDB: this PySpark has no functions over Arrow.",
            hint="use PySpark 4.1 or newer, or an expression that Spark computes itself.",
        )
    result = DataType.fromDDL(call.result)
    compute = EngineFunction(call.query, call.settings, to_arrow_type(result, **IN_UTC))
    made = make(compute.of, result)
    return made.asNondeterministic() if call.is_volatile else made

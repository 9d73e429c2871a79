"""Remember the lake's own type on a column whose Spark type says less (uuid, unsigned, …).

The tag is column metadata, which Spark hands on through projections and views, so that a table
made from another has the same types.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ducklake_spark.caching import remembered
from ducklake_spark.errors import DuckLakeError
from ducklake_spark.model.names import quote_for_spark
from ducklake_spark.model.schema import Schema
from ducklake_spark.model.types import DataType, format_sql_type, parse_sql_type
from ducklake_spark.spark.carriers import carrier_type, from_spark_type

TYPE_TAG: Final = "ducklake.type"


def tag_types(df: DataFrame, schema: Schema) -> DataFrame:
    """Tag the columns that need it; a DataFrame without such columns is returned as it is."""
    tags = {
        column.name: format_sql_type(column.type)
        for column in schema.columns
        if from_spark_type(carrier_type(column.type)) != column.type
    }
    if not tags:
        return df
    quoted = {name: F.col(quote_for_spark(name)) for name in df.columns}
    return df.select(
        *(
            column.alias(name, metadata={TYPE_TAG: tags[name]}) if name in tags else column
            for name, column in quoted.items()
        )
    )


@remembered("types that Spark's types do not tell", entries=1_024)
def hidden_type(text: str) -> DataType | None:
    """The lake's type of a DuckDB type where its carrier means another; None otherwise."""
    try:
        kind = parse_sql_type(text)
        return None if from_spark_type(carrier_type(kind)) == kind else kind
    except DuckLakeError:  # a lake has no such type
        return None


def type_of_field(field: T.StructField) -> DataType:
    """The lake's type of a DataFrame's column: its tag if its Spark type still fits, else that.

    Raises:
        NotSupported: the Spark type has no counterpart in a lake.
    """
    plain = from_spark_type(field.dataType)
    tag = (field.metadata or {}).get(TYPE_TAG)
    if tag is None:
        return plain
    tagged = parse_sql_type(tag)
    # Whether elements may be NULL is no part of a lake's type, but of Spark's.
    return tagged if from_spark_type(carrier_type(tagged)) == plain else plain

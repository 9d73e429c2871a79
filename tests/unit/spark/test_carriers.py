import pytest
from pyspark.sql import types as t

from ducklake_spark.errors import NotSupported
from ducklake_spark.model.types import parse_sql_type
from ducklake_spark.spark.carriers import carrier_schema, carrier_type, from_spark_type
from ducklake_spark.spark.tags import TYPE_TAG, type_of_field
from support.carried import a_schema


@pytest.mark.parametrize(
    ("sql_type", "carrier"),
    [
        ("UTINYINT", "smallint"),
        ("UBIGINT", "decimal(20,0)"),
        ("UHUGEINT", "decimal(38,0)"),
        ("TIMESTAMP_MS", "timestamp_ntz"),
        ("TIMESTAMP_NS", "string"),
        ("TIMESTAMPTZ", "timestamp"),
        ("TIME", "string"),
        ("INTERVAL", "string"),
        ("UUID", "string"),
        ("BLOB", "binary"),
        ("STRUCT(a INTEGER, b UINTEGER[])", "struct<a:int,b:array<bigint>>"),
        ("MAP(VARCHAR, DECIMAL(4,1))", "map<string,decimal(4,1)>"),
    ],
)
def test_a_type_is_shown_by_its_carrier(sql_type, carrier):
    assert carrier_type(parse_sql_type(sql_type)).simpleString() == carrier


@pytest.mark.parametrize("sql_type", ["VARIANT", "GEOMETRY", "GEOMETRY[]"])
def test_a_type_without_a_carrier_is_refused(sql_type):
    with pytest.raises(NotSupported):
        carrier_type(parse_sql_type(sql_type))


@pytest.mark.parametrize(
    ("spark_type", "sql_type"),
    [
        (t.ByteType(), "TINYINT"),
        (t.LongType(), "BIGINT"),
        (t.FloatType(), "FLOAT"),
        (t.DecimalType(10, 2), "DECIMAL(10,2)"),
        (t.TimestampType(), "TIMESTAMPTZ"),
        (t.TimestampNTZType(), "TIMESTAMP"),
        (t.VarcharType(5), "VARCHAR"),
        (t.CharType(5), "VARCHAR"),
        (t.NullType(), "INTEGER"),
        (t.DayTimeIntervalType(), "INTERVAL"),
        (t.YearMonthIntervalType(), "INTERVAL"),
        (t.ArrayType(t.StructType([t.StructField("a", t.DateType())])), "STRUCT(a DATE)[]"),
        (t.MapType(t.StringType(), t.BinaryType()), "MAP(VARCHAR, BLOB)"),
    ],
)
def test_a_new_column_takes_the_type_of_the_dataframe(spark_type, sql_type):
    assert from_spark_type(spark_type) == parse_sql_type(sql_type)


@pytest.mark.skipif(not hasattr(t, "TimeType"), reason="this Spark has no TIME")
def test_a_time_of_spark_becomes_a_time():
    assert from_spark_type(t.TimeType()) == parse_sql_type("TIME")


def test_a_type_that_a_lake_has_not_is_refused_with_a_way_out():
    with pytest.raises(NotSupported, match="Hint"):
        from_spark_type(t.ArrayType(t.VariantType()))


def test_the_schema_of_a_table_keeps_names_and_order():
    schema = carrier_schema(a_schema({"b.c": "INTEGER", "A": "JSON"}))
    assert [(f.name, f.dataType.simpleString()) for f in schema] == [
        ("b.c", "int"),
        ("A", "string"),
    ]


def test_a_tag_counts_also_where_no_element_is_null():
    kind = t.ArrayType(t.DecimalType(38, 0), containsNull=False)
    field = t.StructField("l", kind, metadata={TYPE_TAG: "HUGEINT[]"})
    assert type_of_field(field) == parse_sql_type("HUGEINT[]")

import pytest

from ducklake_spark.errors import InvalidInput
from ducklake_spark.model.duckdb_types import carried_type, lake_type_text
from ducklake_spark.model.types import parse_sql_type


@pytest.mark.parametrize(
    ("duckdb", "lake"),
    [
        ("INTEGER", "INTEGER"),
        ("INTEGER[]", "INTEGER[]"),
        ("ENUM('a', 'b(')", "VARCHAR"),
        ("UNION(a INTEGER, b STRUCT(x ENUM('q')))", "VARCHAR"),
        ("BIT", "VARCHAR"),
        ("BIGNUM", "INTEGER"),
        ("FLOAT[3][]", "FLOAT[][]"),
        ("MAP(ENUM('a'), DECIMAL(18,3)[2])", "MAP(VARCHAR, DECIMAL(18,3)[])"),
        ('STRUCT("ENUM" INTEGER, "BIT" VARCHAR)', 'STRUCT("ENUM" INTEGER, "BIT" VARCHAR)'),
        ("TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH TIME ZONE"),
    ],
)
def test_types_that_a_lake_does_not_have_become_others(duckdb, lake):
    assert lake_type_text(duckdb) == lake


def test_what_parquet_would_cut_travels_as_text_or_decimal():
    kind = parse_sql_type("STRUCT(a HUGEINT[], b TIMETZ, c MAP(INTERVAL, INTEGER))")
    shown = "STRUCT(a DECIMAL(38,0)[], b VARCHAR, c MAP(VARCHAR, INTEGER))"
    assert carried_type(kind) == shown


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("TIMESTAMP(0)", "TIMESTAMP_S"),
        ("TIMESTAMP (1)", "TIMESTAMP_MS"),
        ("timestamp(3)[]", "TIMESTAMP_MS[]"),
        ("DATETIME(6)", "TIMESTAMP"),
        ("TIMESTAMP(9)", "TIMESTAMP_NS"),
    ],
)
def test_digits_of_a_timestamp_choose_its_type_as_in_duckdb(given, kind):
    assert parse_sql_type(given) == parse_sql_type(kind)


def test_a_timestamp_with_too_many_digits_is_refused():
    with pytest.raises(InvalidInput, match=r"TIMESTAMP\(10\)"):
        parse_sql_type("TIMESTAMP(10)")

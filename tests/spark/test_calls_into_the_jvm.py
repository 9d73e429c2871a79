"""How many calls into the JVM a statement makes: as many for a wide table as for a narrow one."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

import ducklake_spark

pytestmark = pytest.mark.spark

NARROW, WIDE = 2, 40
STATEMENTS = {
    "select": "SELECT sum(c0) FROM {table} WHERE c1 < 3",
    "delete": "DELETE FROM {table} WHERE c0 % 7 = {number}",
}


@pytest.fixture
def con(make_lake_location, spark):
    location = make_lake_location("sqlite")
    with ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path
    ) as connection:
        connection.sql("CALL lake.set_option('data_inlining_row_limit', 0)")
        for table, width in (("narrow", NARROW), ("wide", WIDE)):
            columns = ", ".join(f"i + {n} AS c{n}" for n in range(width))
            connection.sql(f"CREATE TABLE {table} AS SELECT {columns} FROM range(50) r(i)")
        yield connection


@contextmanager
def counted(spark):
    """The calls that are made inside, without those that let go of objects."""
    client = spark.sparkContext._gateway._gateway_client
    send, calls = client.send_command, []

    def note(command, *rest, **options):
        if not command.startswith("m\nd"):
            calls.append(command)
        return send(command, *rest, **options)

    client.send_command = note
    try:
        yield calls
    finally:
        del client.send_command


@pytest.mark.parametrize("kind", STATEMENTS)
def test_calls_do_not_grow_with_the_columns_of_a_table_that_was_read_before(con, spark, kind):
    found = {}
    for table in ("narrow", "wide"):
        for number in range(3):
            with counted(spark) as calls:
                con.sql(STATEMENTS[kind].format(table=table, number=number)).collect()
        found[table] = len(calls)
    assert 0 < found["wide"] <= found["narrow"] + 2
    assert found["wide"] < 120

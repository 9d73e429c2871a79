"""A query outside a transaction sees one snapshot of a lake, however many tables it names."""

from __future__ import annotations

import pytest

import ducklake_spark
from support.tracing import Before
from support.writing import Writer, open_session, transaction

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("catalog_kind", ["postgres"], indirect=True)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT (SELECT count(*) FROM one), (SELECT count(*) FROM two)",
        "SELECT count(one.id), count(two.id) FROM one FULL JOIN two ON one.id = two.id",
    ],
)
def test_a_commit_while_a_query_is_planned_is_seen_in_all_tables_or_in_none(spark, location, query):
    other = open_session(location)
    Writer(other).create_table("one")
    Writer(other).create_table("two")

    def commit() -> None:
        with transaction(other):
            for table in ("one", "two"):
                Writer(other).insert_inlined(number, table=table)

    with ducklake_spark.connect(location.uri, spark=spark, data_path=location.data_path) as con:
        db = con.current_lake().db
        number, statements = 1, 1
        while number <= statements:
            commit()  # so that nothing is remembered of the newest snapshot
            db.trace = Before(number, commit)
            first, second = con.sql(query).collect()[0]
            statements, db.trace = len(db.trace), None
            assert first == second, number
            number += 1
    assert statements > 2, "a query that asks more than once was looked at"
    other.close_lakes()

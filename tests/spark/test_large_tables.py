"""Tables of many files: listed by a filter, they show the same rows as listed at once."""

from __future__ import annotations

import pytest

import ducklake_spark
from ducklake_spark.errors import MissingDataFile

pytestmark = pytest.mark.spark

FILTERS = (
    "id = 205",
    "id BETWEEN 95 AND 305",
    "id > 100000",
    "name >= 'row 7' AND id < 400",
    "amount IS NULL OR id = 3",
    "true",
)


@pytest.fixture
def con(spark, make_lake_location, lower):
    """A lake in which three files are many."""
    lower(many_files=3)
    location = make_lake_location("sqlite", "lake")
    with ducklake_spark.connect(
        location.uri, spark=spark, alias="lake", data_path=location.data_path
    ) as connection:
        connection.sql("CALL lake.set_option('data_inlining_row_limit', 0)")
        connection.sql("CREATE TABLE t (id BIGINT, name VARCHAR)")
        yield connection


def add(con, number, *more):
    rows = con.spark.range(number * 100, number * 100 + 100, 1, 1)
    con.append("t", rows.selectExpr("id", "concat('row ', id) AS name", *more))


def answers(con, lower, many):
    lower(many_files=many)
    shown = []
    for text in FILTERS:
        frame = con.table("t").where(text)
        shown.append(sorted(tuple(row) for row in frame.collect()))
    return shown


def test_files_of_several_ages_show_what_they_show_when_listed_at_once(con, lower):
    for number in range(4):
        add(con, number)
    con.sql("ALTER TABLE t ADD COLUMN amount INTEGER DEFAULT 7")
    for number in range(4, 8):
        add(con, number, "CAST(id AS INT) AS amount")
    con.sql("ALTER TABLE t RENAME name TO title")
    con.sql("ALTER TABLE t RENAME title TO name")
    con.sql("ALTER TABLE t ALTER amount SET DATA TYPE BIGINT")
    add(con, 8, "id AS amount")
    con.sql("DELETE FROM t WHERE id IN (205, 206)")
    con.sql("DELETE FROM t WHERE id BETWEEN 610 AND 660")
    assert answers(con, lower, 3) == answers(con, lower, 1000)


def test_only_the_files_of_a_filter_are_listed(con):
    for number in range(6):
        add(con, number)
    frame = con.table("t").where("id = 205")
    assert "1 of 6 files" in con.explain("SELECT * FROM lake.t WHERE id = 205")
    assert [row.name for row in frame.collect()] == ["row 205"]
    assert con.table("t").count() == 600


def test_files_are_listed_when_most_of_the_others_have_deletes(con):
    """Those few are not read with the others, whose rows are looked up among the deleted ones."""
    for number in range(6):
        add(con, number)
    con.sql("DELETE FROM t WHERE id % 100 = 7 AND id < 500")
    assert con.table("t").where("id % 100 < 9 AND id >= 0").count() == 6 * 9 - 5
    assert [row.id for row in con.table("t").where("id BETWEEN 505 AND 507").collect()] == [
        *(505, 506, 507)
    ]


def test_a_frame_keeps_its_snapshot_when_rows_are_added_and_deleted(con):
    for number in range(5):
        add(con, number)
    frame = con.table("t")
    add(con, 5)
    con.sql("DELETE FROM t WHERE id < 150")
    assert frame.where("id >= 0").count() == 500


def test_a_frame_says_so_when_its_files_were_merged(con):
    for number in range(5):
        add(con, number)
    frame = con.table("t")
    add(con, 5)
    con.merge_adjacent_files()
    with pytest.raises(MissingDataFile, match="merged or expired"):
        frame.where("id >= 0").collect()
    assert con.table("t").count() == 600

"""Statements that are sent together happen in order, all of them or none, whatever they hold."""

from __future__ import annotations

import datetime as dt

import pytest

from ducklake_spark.catalog_db.connection import SnapshotTaken, Statement
from ducklake_spark.catalog_db.query_log import METADATA
from ducklake_spark.catalog_db.tables import SCHEMA, SNAPSHOT
from support.lakes import LakeLocation

NOW = dt.datetime(2026, 11, 15, 21, 10, 4, 835170, dt.timezone.utc)


def schema_row(schema_id: int, name: str) -> tuple[object, ...]:
    return (schema_id, None, 1, None, name, f"{schema_id}/", True)


def statements(db, *names: str) -> list[Statement]:
    rows = [schema_row(number, name) for number, name in enumerate(names, 1)]
    return [statement for row in rows for statement in db.insert_statements(SCHEMA, [row])]


def stored(db) -> list[str]:
    rows = db.select(SCHEMA, "WHERE schema_id > 0 ORDER BY schema_id", columns=("schema_name",))
    return [name for (name,) in rows]


def test_texts_with_signs_of_sql_stay_as_they_are(location: LakeLocation):
    names = ["a; DROP TABLE x", "it's", "-- no comment", "/* none */", "line\nbreak", "?", "%s", ""]
    with location.database() as db:
        db.run_batch(statements(db, *names))
        assert stored(db) == names


@pytest.mark.parametrize("catalog_kind", ["duckdb"])
def test_a_value_without_a_literal_goes_between_the_others(location: LakeLocation):
    names = ["first", "with a zero \0 character", "last"]
    with location.database() as db:
        db.run_batch(statements(db, *names))
        assert stored(db) == names


def test_long_texts_are_sent_in_parts(location: LakeLocation):
    names = [f"{number} " + "x" * 60_000 for number in range(5)]
    with location.database() as db:
        db.run_batch(statements(db, *names))
        assert stored(db) == names


def test_later_statements_see_what_earlier_ones_made(location: LakeLocation):
    with location.database() as db:
        name = db.table("made")
        db.run_batch(
            [
                Statement(f"CREATE TABLE {name}(id BIGINT)"),
                Statement(f"INSERT INTO {name} VALUES (?)", (1,)),
                Statement(f"UPDATE {name} SET id = id + ?", (41,)),
            ]
        )
        assert db.fetch(f"SELECT id FROM {name}") == [(42,)]


def test_one_that_fails_takes_all_of_them_back(location: LakeLocation):
    with location.database() as db:
        taken = db.insert_statements(SNAPSHOT, [(0, NOW, 0, 1, 0)])
        with pytest.raises(SnapshotTaken):
            db.run_batch([*statements(db, "before"), *taken, *statements(db, "after")])
        assert stored(db) == []
        db.run_batch(statements(db, "again"))
        assert stored(db) == ["again"]


def test_each_has_an_entry_of_its_own_in_the_log(location: LakeLocation):
    with location.database() as db:
        db._log.log.enable([METADATA], storage="memory", path=None)
        db.run_batch(statements(db, "one", "two"))
        inserts = [e for e in db._log.log.entries if e.query.startswith("INSERT")]
        assert len(inserts) == 2
        assert stored(db) == ["one", "two"]

"""META_… of ATTACH for a SQLite catalog."""

from __future__ import annotations

import pytest

import ducklake_spark
from ducklake_spark.errors import DuckLakeError, InvalidInput, UnknownOption


def journal_mode(con):
    return con.lakes["lake"].db.fetch("PRAGMA journal_mode")[0][0]


def attach(tmp_path, **options):
    uri = f"ducklake:sqlite:{tmp_path}/lake.sqlite"
    return ducklake_spark.connect(uri, alias="lake", data_path=f"{tmp_path}/data/", **options)


def test_the_journal_mode_is_set_when_it_is_given_and_else_left_alone(tmp_path):
    with attach(tmp_path) as con:
        assert journal_mode(con) == "delete"
    with attach(tmp_path, meta_journal_mode="WAL", meta_busy_timeout=200) as con:
        assert journal_mode(con) == "wal"
        con.sql("CREATE TABLE t (i INTEGER)")
        con.sql("INSERT INTO t VALUES (1)")
    with attach(tmp_path) as con:
        assert journal_mode(con) == "wal"


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"meta_journal_mode": "fast"}, InvalidInput, "delete, truncate, persist, wal"),
        ({"meta_busy_timeout": "soon"}, InvalidInput, "milliseconds"),
        ({"meta_colour": "red"}, UnknownOption, "busy_timeout and journal_mode"),
    ],
)
def test_a_parameter_that_is_not_one_is_refused(tmp_path, options, kind, words):
    with pytest.raises(DuckLakeError) as refused:
        attach(tmp_path, **options)
    assert type(refused.value) is kind
    assert words in str(refused.value)

"""The log of catalog statements: as a table, through Python logging, in a file."""

from __future__ import annotations

import csv
import logging

import pytest

from ducklake_spark.catalog_db.query_log import LOG_FILE, QueryLog
from ducklake_spark.errors import InvalidInput


def parsed(con) -> list[dict]:
    result = con.sql("CALL duckdb_logs_parsed('DuckLakeMetadata')")
    names = [name for name, _ in result._columns]
    return [dict(zip(names, row, strict=True)) for row in result._rows]


def test_every_catalog_statement_is_kept_with_its_time_while_the_log_is_on(con):
    con.sql("CREATE SCHEMA before")
    con.sql("CALL enable_logging('DuckLakeMetadata')")
    con.sql("CREATE SCHEMA within")
    con.sql("CALL disable_logging()")
    con.sql("CREATE SCHEMA after")
    entries = parsed(con)
    assert {entry["catalog"] for entry in entries} == {"lake"}
    assert all(entry["elapsed_ms"] >= 0 and entry["query"] for entry in entries)
    inserts = [
        e for e in entries if "INSERT INTO" in e["query"] and "ducklake_schema" in e["query"]
    ]
    assert any("within" in f"{e['query']} {e['parameters']}" for e in inserts)
    text = str(entries)
    assert "before" not in text and "'after'" not in text
    con.sql("CALL truncate_duckdb_logs()")
    assert parsed(con) == []


def test_the_log_hears_of_lakes_attached_later_and_of_cursors(con, tmp_path):
    con.sql("CALL enable_logging('DuckLakeMetadata')")
    con.sql(f"ATTACH 'ducklake:sqlite:{tmp_path}/two.sqlite' AS two (DATA_PATH '{tmp_path}/two/')")
    with con.cursor() as other:
        other.sql("CREATE SCHEMA two.of_cursor")
    assert "of_cursor" in str(parsed(con))
    assert {"two"} <= {entry["catalog"] for entry in parsed(con)}


def test_the_buffer_is_bounded():
    log = QueryLog(kept=3)
    log.enable(["DuckLakeMetadata"], storage="memory", path=None)
    for number in range(5):
        log.note_metadata("lake", f"SELECT {number}", "", 0.1)
    assert [entry.query for entry in log.entries] == ["SELECT 2", "SELECT 3", "SELECT 4"]


def test_statements_of_the_user_are_kept_without_secrets(con):
    con.sql("CALL enable_logging(['QueryLog', 'DuckLakeMetadata'])")
    con.sql("SET threads = 1")
    con.sql("CREATE SECRET (TYPE postgres, HOST 'db', USER 'ada', PASSWORD 'lovelace')")
    con.sql("SET s3_secret_access_key = 'lovelace'")
    shown = [row[-1] for row in con.sql("CALL duckdb_logs()")._rows]
    assert "SET threads = 1" in shown
    assert "lovelace" not in str(shown)


def test_python_logging_hears_of_statements_and_parameters(con, caplog):
    con.sql("CREATE SCHEMA quiet")
    with caplog.at_level(logging.DEBUG, logger="ducklake_spark.catalog"):
        con.sql("CREATE SCHEMA loud")
    assert "loud" in caplog.text and "ms: " in caplog.text
    assert "quiet'" not in caplog.text


def test_the_log_can_go_to_a_file_or_to_the_screen(con, tmp_path, capsys):
    con.sql(f"CALL enable_logging('DuckLakeMetadata', storage_path = '{tmp_path}/logs')")
    con.sql("CREATE SCHEMA one")
    with (tmp_path / "logs" / LOG_FILE).open(newline="") as file:
        assert all(row[1] == "DuckLakeMetadata" for row in csv.reader(file))
    con.sql("CALL enable_logging('DuckLakeMetadata', storage = 'stdout')")
    con.sql("CREATE SCHEMA two")
    assert "DuckLakeMetadata" in capsys.readouterr().out
    assert parsed(con) == []


@pytest.mark.parametrize(
    "call",
    [
        "enable_logging('DuckLakeMetadat')",
        "enable_logging('QueryLog', storage = 'moon')",
        "enable_logging('QueryLog', storage = 'file')",
        "enable_logging('QueryLog', where = 'x')",
        "duckdb_logs_parsed('x')",
        "duckdb_logs_parsed()",
    ],
)
def test_a_wrong_call_is_told(con, call):
    with pytest.raises(InvalidInput):
        con.sql(f"CALL {call}")

"""Names, comments, options, paths and values that look like SQL stay what they are: text."""

from __future__ import annotations

import pytest

from ducklake_spark.connection import Connection
from ducklake_spark.errors import DuckLakeError, InvalidInput

HOSTILE = (
    "'; DROP TABLE ducklake_snapshot; --",
    '"; DROP TABLE ducklake_snapshot; --',
    "x') OR 1=1; DELETE FROM ducklake_schema; --",
    "`); SELECT 1 --",
    "back\\slash \\' quote",
    "%s %(name)s {0} $1 ? :name",
    "line\nbreak\ttab",
    "Ünïcode 🦆 \u202e",
    "/* comment */",
)


def q(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def s(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def rows(result) -> list[tuple]:
    return [tuple(row) for row in result.collect()]


@pytest.fixture
def con(location):
    with Connection() as connection:
        connection.attach(location.uri, "lake", data_path=location.data_path)
        connection.use("lake")
        yield connection


def catalog_tables(con) -> dict[str, int]:
    db = con.current_lake().db
    names = ("ducklake_snapshot", "ducklake_schema", "ducklake_table", "ducklake_metadata")
    return {name: db.fetch(f"SELECT count(*) FROM {db.table(name)}")[0][0] for name in names}


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_is_a_name_a_comment_and_a_value_like_any_other(con, text):
    before = catalog_tables(con)
    con.sql(f"CREATE SCHEMA {q(text)}")
    con.sql(f"CREATE TABLE {q(text)}.{q(text)} ({q(text)} VARCHAR DEFAULT {s(text)}, n INTEGER)")
    con.sql(f"INSERT INTO {q(text)}.{q(text)} VALUES ({s(text)}, 1), ($1, 2)", params=[text])
    con.sql(f"COMMENT ON TABLE {q(text)}.{q(text)} IS {s(text)}")
    con.sql(f"COMMENT ON COLUMN {q(text)}.{q(text)}.{q(text)} IS {s(text)}")
    con.begin()
    con.sql(f"CALL lake.set_commit_message({s(text)}, {s(text)}, extra_info => {s(text)})")
    con.sql(f"INSERT INTO {q(text)}.{q(text)} (n) VALUES (3)")
    con.commit()
    (table,) = con.sql("CALL duckdb_tables()")._rows
    assert (table[2], table[4], table[6]) == (text, text, text)
    shown = con.sql(f"DESCRIBE {q(text)}.{q(text)}")._rows
    assert [row[0] for row in shown] == [text, "n"]
    stored = con.table_version((text, text))
    db = con.current_lake().db
    (name,) = (
        r[0] for r in db.fetch(f"SELECT table_name FROM {db.table('ducklake_inlined_data_tables')}")
    )
    column = db.inlined_text(text, stored.table.schema.columns[0].type)
    values = db.fetch(f"SELECT {column} FROM {db.table(name)}")
    decoded = [v[0].decode() if isinstance(v[0], (bytes, memoryview)) else v[0] for v in values]
    assert decoded == [text] * 3
    assert con.sql("CALL lake.snapshots()")._rows[-1][4:] == (text, text, text)
    con.sql(f"DROP SCHEMA {q(text)} CASCADE")
    after = catalog_tables(con)
    assert after["ducklake_snapshot"] == before["ducklake_snapshot"] + 7
    assert after["ducklake_schema"] == before["ducklake_schema"] + 1


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_option_lake_path_or_snapshot_is_refused_and_changes_nothing(con, text, tmp_path):
    before = catalog_tables(con)
    for statement in (
        f"CALL lake.set_option({s(text)}, 1)",
        f"CALL lake.set_option('parquet_compression', {s(text)})",
        f"CALL lake.set_option('parquet_version', 1, table_name => {s(text)})",
        f"SET {q(text)} = 1",
        f"SET ducklake_max_retry_count = {s(text)}",
        f"CALL ducklake_snapshots({s(text)})",
        f"CALL ducklake_list_files('lake', {s(text)})",
        f"USE {q(text)}",
        f"DETACH {q(text)}",
        f"DROP TABLE {q(text)}",
        f"ATTACH {s('ducklake:sqlite:' + str(tmp_path / 'no' / 'such') + text)} AS x (READ_ONLY)",
        f"ATTACH 'ducklake:sqlite:{tmp_path}/y.sqlite' AS y (DATA_PATH 'd/', {q(text)} 1)",
        f"ATTACH 'ducklake:sqlite:{tmp_path}/y.sqlite' AS y (SNAPSHOT_VERSION {s(text)})",
        f"ATTACH 'ducklake:sqlite:{tmp_path}/y.sqlite' AS y (DATA_PATH 'd/', META_X {s(text)})",
    ):
        with pytest.raises(DuckLakeError):
            con.sql(statement)
    assert catalog_tables(con) == before
    assert not (tmp_path / "y.sqlite").exists()


def test_a_lake_lives_in_files_and_under_a_name_that_look_like_sql(tmp_path):
    folder = tmp_path / "it's; DROP TABLE x; --"
    folder.mkdir()
    alias = 'la"ke; --'
    with Connection() as con:
        for kind in ("", "sqlite:"):
            uri = f"ducklake:{kind}{folder}/a'b{kind[:3]}.db"
            con.sql(f"ATTACH {s(uri)} AS {q(alias)} (DATA_PATH {s(str(folder) + '/d/')})")
            con.sql(f"USE {q(alias)}; CREATE TABLE t (i INTEGER); INSERT INTO t VALUES (1)")
            assert [row[0] for row in con.sql("SHOW TABLES")._rows] == ["t"]
            con.sql(f"USE memory; DETACH {q(alias)}")
    assert sorted(p.name for p in folder.iterdir() if p.is_file()) == ["a'b.db", "a'bsql.db"]


@pytest.mark.parametrize("catalog_kind", ["postgres"], indirect=True)
def test_a_hostile_schema_or_parameter_of_a_server_reaches_nothing_else(location, con):
    schema = 'evil"; DROP SCHEMA public CASCADE; --'
    con.attach(
        location.uri,
        "other",
        data_path=location.data_path,
        metadata_schema=schema,
        meta_application_name="x' host=elsewhere port=1",
    )
    con.sql("CREATE TABLE other.t (i INTEGER)")
    db = con.lake("other").db
    assert db.fetch("SHOW application_name") == [("x' host=elsewhere port=1",)]
    found = db.fetch(
        "SELECT count(*) FROM information_schema.schemata WHERE schema_name = ?", (schema,)
    )
    assert found == [(1,)]
    assert catalog_tables(con)["ducklake_snapshot"] == 1


def test_two_statements_are_never_hidden_in_one_parameter(con):
    with pytest.raises(InvalidInput):
        con.sql("CALL lake.set_option('target_file_size', $1)", params=["1MB'); DROP TABLE t; --"])

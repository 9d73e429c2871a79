from __future__ import annotations

import sqlite3

import pytest

from ducklake_spark.catalog_db.dialect import dialect_of, split_at_marks, to_format_marks
from ducklake_spark.catalog_db.duckdb import write_in
from ducklake_spark.catalog_db.mysql import parse_conninfo
from ducklake_spark.catalog_db.statements import create_table_sql, insert_sql, visible_at
from ducklake_spark.catalog_db.tables import METADATA, SCHEMA, TABLES
from ducklake_spark.errors import InvalidInput
from ducklake_spark.model.types import ListType, ScalarType, parse_sql_type

KINDS = ("duckdb", "sqlite", "postgres", "mysql")


@pytest.mark.parametrize(
    ("sql", "pieces"),
    [
        ("a = ?", ("a = ", "")),
        ("a = '?' AND b = ?", ("a = '?' AND b = ", "")),
        ("a = 'it''s ?' AND b = ?", ("a = 'it''s ?' AND b = ", "")),
        ('"odd ? ""name""" = ?', ('"odd ? ""name""" = ', "")),
        ("a -- why?\n= ?", ("a -- why?\n= ", "")),
        ("no marks", ("no marks",)),
        ("(?, ?)", ("(", ", ", ")")),
    ],
)
def test_marks_are_found_outside_quotes_only(sql, pieces):
    assert split_at_marks(sql) == pieces


def test_percent_signs_are_doubled_when_marks_are_converted():
    assert to_format_marks("a LIKE '%?' AND b % 2 = ?") == "a LIKE '%%?' AND b %% 2 = %s"


def test_values_are_written_into_duckdb_statements():
    text, rest = write_in("(?, ?, ?, '?', ?)", [1, "it's", None, True])
    assert text == "(1, 'it''s', NULL, '?', true)"
    assert rest == []


def test_values_without_a_literal_stay_parameters():
    assert write_in("(?, ?, ?)", [b"x", 1, "a\0b"]) == ("(?, 1, ?)", [b"x", "a\0b"])


def test_values_are_refused_when_their_number_is_wrong():
    with pytest.raises(ValueError, match="1 values for 2 marks"):
        write_in("(?, ?)", [1])


def test_visibility_names_the_alias():
    assert visible_at() == "(begin_snapshot <= ? AND (end_snapshot IS NULL OR end_snapshot > ?))"
    assert visible_at("f").count("f.") == 3


def test_statements_follow_the_declaration():
    sql = create_table_sql(METADATA, "m", dialect_of("sqlite"))
    assert sql == (
        'CREATE TABLE m("key" VARCHAR NOT NULL, "value" VARCHAR NOT NULL, '
        '"scope" VARCHAR, "scope_id" BIGINT)'
    )
    assert '"schema_id" BIGINT PRIMARY KEY' in create_table_sql(SCHEMA, "s", dialect_of("postgres"))
    assert insert_sql(METADATA, "m") == "INSERT INTO m VALUES (?, ?, ?, ?)"


@pytest.mark.parametrize("kind", KINDS)
def test_every_table_can_be_declared(kind):
    for table in TABLES.values():
        assert create_table_sql(table, table.name, dialect_of(kind)).count(",") == (
            len(table.columns) - 1
        )


@pytest.mark.parametrize(
    ("kind", "type_text", "can"),
    [
        ("sqlite", "VARCHAR", True),
        ("sqlite", "VARIANT", False),
        ("postgres", "VARIANT[]", False),
        ("duckdb", "VARIANT", True),
        ("duckdb", "STRUCT(a INTEGER, g GEOMETRY[])", False),
        ("postgres", "MAP(VARCHAR, GEOMETRY)", False),
        ("mysql", "INTEGER", False),
    ],
)
def test_inlining_depends_on_the_types_inside(kind, type_text, can):
    assert dialect_of(kind).can_inline(parse_sql_type(type_text)) is can


def test_conflict_is_recognised_by_code_not_by_words():
    dialect = dialect_of("sqlite")
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, note TEXT NOT NULL)")
    db.execute("INSERT INTO t VALUES (1, '')")
    with pytest.raises(sqlite3.IntegrityError) as taken:
        db.execute("INSERT INTO t VALUES (1, '')")
    assert dialect.is_conflict(taken.value)
    with pytest.raises(sqlite3.OperationalError) as unknown:
        db.execute("SELECT * FROM primary_key_conflict")
    assert not dialect.is_conflict(unknown.value)
    assert dialect.is_missing_table(unknown.value)
    with pytest.raises(sqlite3.OperationalError) as wrong:
        db.execute("SELECT nothing FROM t")
    assert not dialect.is_missing_table(wrong.value)


def test_mysql_address_is_taken_apart():
    assert parse_conninfo(r"db=lake  host=h password='a \' b'") == {
        "db": "lake",
        "host": "h",
        "password": "a ' b",
    }
    with pytest.raises(InvalidInput):
        parse_conninfo("lake")


def test_blob_is_stored_as_bytes_and_read_as_digits():
    for kind in ("sqlite", "postgres"):
        dialect = dialect_of(kind)
        assert dialect.encode_inlined(ScalarType("blob"), "00FF") == b"\x00\xff"
        assert "hex" in dialect.inlined_text('"b"', ScalarType("blob"))
    assert dialect_of("duckdb").inlined_type(ListType(ScalarType("blob"))) == "BLOB[]"

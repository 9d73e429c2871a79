"""What stands in the way of opening or changing a lake, told before Spark is needed."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

import ducklake_spark
from ducklake_spark import Connection
from ducklake_spark.catalog_db.dialect import load_driver
from ducklake_spark.catalog_db.mysql import DIALECT as MYSQL
from ducklake_spark.errors import (
    AlreadyExists,
    CatalogError,
    CatalogLocked,
    CatalogUnreachable,
    ColumnMismatch,
    ColumnNotFound,
    DriverMissing,
    DuckLakeError,
    InvalidInput,
    InvalidValue,
    LakeNotFound,
    NotALake,
    NotFound,
    NotNullViolation,
    SchemaNotFound,
    SnapshotNotFound,
    SqlSyntaxError,
    TableNotFound,
    UnsupportedVersion,
)
from support.lakes import LakeLocation

HOLD_THE_FILE = """
import sys, duckdb
con = duckdb.connect(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def lake(make_lake_location: Callable[[str, str], LakeLocation]) -> LakeLocation:
    """A lake on SQLite with the table `orders` and the schema `sales`."""
    location = make_lake_location("sqlite", "lake")
    with connect(location) as con:
        con.sql("CREATE SCHEMA sales")
        con.sql(
            "CREATE TABLE orders (id INTEGER NOT NULL, name VARCHAR, tiny TINYINT, big UBIGINT, "
            "half FLOAT, day DATE, amount DECIMAL(5,2))"
        )
    return location


@pytest.fixture
def con(lake: LakeLocation) -> Iterator[Connection]:
    with connect(lake) as connection:
        yield connection


def connect(location: LakeLocation, **options: object) -> Connection:
    return ducklake_spark.connect(
        location.uri, alias="lake", data_path=location.data_path, **options
    )


def refused(con: Connection, sql: str) -> DuckLakeError:
    """The error of a statement, which has changed nothing."""
    before = con.lake("lake").latest()
    with pytest.raises(DuckLakeError) as failure:
        con.sql(sql)
    assert con.lake("lake").latest() == before
    check_readable(failure.value)
    return failure.value


def check_readable(error: DuckLakeError) -> None:
    """One or two sentences and a hint; no stack, no class names."""
    text = str(error)
    assert len(text) < 700
    for noise in ("Traceback", "\tat ", "SQLSTATE", "<class", "<Token", "object at 0x"):
        assert noise not in text


# --- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "kind", "words", "hint"),
    [
        ("INSERT INTO ordres VALUES (1)", TableNotFound, "ordres", '"orders"'),
        ("INSERT INTO sales.orders VALUES (1)", TableNotFound, '"lake.sales"', None),
        ("DROP TABLE ordres", TableNotFound, '"lake.main"', '"orders"'),
        ("DESCRIBE ordres", TableNotFound, "ordres", '"orders"'),
        ("CREATE TABLE salse.x (i INTEGER)", SchemaNotFound, '"salse"', '"sales"'),
        ("DROP SCHEMA salse", SchemaNotFound, '"salse"', '"sales"'),
        ("CREATE TABLE lkae.main.x (i INTEGER)", LakeNotFound, '"lkae"', '"lake"'),
        ("CREATE TABLE orders (i INTEGER)", AlreadyExists, '"orders"', "IF NOT EXISTS"),
        ("CREATE SCHEMA sales", AlreadyExists, '"sales"', "IF NOT EXISTS"),
        ("INSERT INTO orders (id, nme) VALUES (1, 2)", ColumnNotFound, '"nme"', '"name"'),
        ("INSERT INTO orders (id, id) VALUES (1, 2)", InvalidInput, "twice", None),
        ("CREATE TABLE t (i INTEGER, I INTEGER)", InvalidInput, '"I"', None),
        ("CREATE TABLE t (i INTEGRE)", InvalidInput, "INTEGRE", None),
    ],
)
def test_name_is_told_with_a_near_one(
    con: Connection, sql: str, kind: type[DuckLakeError], words: str, hint: str | None
):
    error = refused(con, sql)
    assert type(error) is kind
    assert words in error.message
    assert hint is None or hint in (error.hint or "")


def test_view_is_told_from_a_table(con: Connection):
    con.sql("CREATE VIEW v AS SELECT 1 AS x")
    assert "is a view" in refused(con, "INSERT INTO v VALUES (1)").message
    assert "DROP VIEW" in (refused(con, "DROP TABLE v").hint or "")


def test_snapshot_that_is_not_there_is_told_with_those_that_are(con: Connection):
    with pytest.raises(SnapshotNotFound, match="version 77") as failure:
        con.table("orders", version=77)
    assert "snapshots 0 to 2" in (failure.value.hint or "")
    with pytest.raises(SnapshotNotFound, match="1999-01-01"):
        con.table("orders", timestamp="1999-01-01")
    with pytest.raises(InvalidValue, match="'soon'"):
        con.table("orders", timestamp="soon")


# --- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "value", "words"),
    [
        ("id, tiny", "1, 300", ('"tiny"', "300", "TINYINT")),
        ("id, tiny", "1, -129", ('"tiny"', "-129", "TINYINT")),
        ("id", "'abc'", ('"id"', "'abc'", "INTEGER")),
        ("id, big", "1, 18446744073709551616", ('"big"', "18446744073709551616", "UBIGINT")),
        ("id, big", "1, -1", ('"big"', "-1", "UBIGINT")),
        ("id, half", "1, 1e39", ('"half"', "1e+39", "FLOAT")),
        ("id, day", "1, '2024-02-30'", ('"day"', "2024-02-30", "DATE")),
        ("id, amount", "1, 12345.67", ('"amount"', "12345.67", "DECIMAL(5,2)")),
    ],
)
def test_value_that_does_not_fit_is_told_with_its_column(
    con: Connection, columns: str, value: str, words: tuple[str, ...]
):
    error = refused(con, f"INSERT INTO orders ({columns}) VALUES ({value})")
    assert type(error) is InvalidValue
    assert all(word in error.message for word in words)


def test_value_beyond_a_double_is_infinite_as_in_duckdb(con: Connection):
    con.sql("CREATE TABLE d (x DOUBLE)")
    con.sql("INSERT INTO d VALUES (1e400)")
    assert con.sql("CALL ducklake_table_info('lake')").count() == 2


def test_null_for_a_column_that_allows_none_is_refused(con: Connection):
    for values in ("(NULL, 'x')", "(1, 'x'), (NULL, 'y')"):
        error = refused(con, f"INSERT INTO orders (id, name) VALUES {values}")
        assert type(error) is NotNullViolation
        assert "orders.id" in error.message
    assert type(refused(con, "INSERT INTO orders (name) VALUES ('x')")) is NotNullViolation


def test_wrong_number_of_values_is_told(con: Connection):
    error = refused(con, "INSERT INTO orders VALUES (1, 'x')")
    assert type(error) is ColumnMismatch
    assert "2 values" in error.message
    assert "7 columns" in error.message
    assert "name the columns" in (error.hint or "")


# --- text ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("SELEC 1", "line 1, column 1, near 'SELEC'"),
        ("SELECT 1 +", "LINE 1: SELECT 1 +"),
        ("SELECT 1;\n  SELECT * FROM WHERE", 'near "WHERE"\n\nLINE 2:   SELECT * FROM WHERE'),
        ("CREATE TABLE t (i INTEGER,", "line 1, column 26"),
        ("SELECT 'open", "not closed"),
    ],
)
def test_text_that_cannot_be_read_is_told_with_its_place(con: Connection, sql: str, place: str):
    error = refused(con, sql)
    assert type(error) is SqlSyntaxError
    assert place in str(error)


def test_empty_text_is_told(con: Connection):
    assert type(refused(con, "  -- nothing\n")) is InvalidInput


# --- metadata databases --------------------------------------------------------------------------


def test_database_without_a_lake_is_refused_when_none_may_be_made(tmp_path: Path):
    sqlite3.connect(tmp_path / "other.sqlite").executescript("CREATE TABLE t (i); ").close()
    duckdb.connect(str(tmp_path / "other.duckdb")).execute("CREATE TABLE t (i INTEGER)").close()
    for uri in ("sqlite:{}/other.sqlite", "{}/other.duckdb"):
        address = "ducklake:" + uri.format(tmp_path)
        with pytest.raises(NotALake, match="other") as failure:
            ducklake_spark.connect(address, create_if_not_exists=False)
        check_readable(failure.value)
        assert failure.value.hint


@pytest.mark.parametrize("prefix", ["", "sqlite:"])
def test_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path, prefix: str):
    text = tmp_path / "notes.txt"
    text.write_text("just some notes\n" * 100)
    with pytest.raises(CatalogError, match=r"notes\.txt") as failure:
        ducklake_spark.connect(f"ducklake:{prefix}{text}", data_path=f"{tmp_path}/data/")
    check_readable(failure.value)
    assert text.read_text() == "just some notes\n" * 100


@pytest.mark.parametrize(("version", "hint"), [("0.3", "AUTOMATIC_MIGRATION"), ("2.0", "newer")])
def test_lake_of_another_version_is_refused(lake: LakeLocation, version: str, hint: str):
    with lake.database(create=False) as db:
        db.execute("UPDATE ducklake_metadata SET value = ? WHERE key = 'version'", (version,))
    with pytest.raises(UnsupportedVersion, match=version) as failure:
        connect(lake)
    assert hint in (failure.value.hint or "")
    check_readable(failure.value)


def test_server_that_cannot_be_reached_is_told_without_the_password():
    uri = "ducklake:postgres:host=127.0.0.1 port=1 dbname=shop user=ada password=s3cret!"
    with pytest.raises(CatalogUnreachable, match="dbname=shop") as failure:
        ducklake_spark.connect(uri, data_path="data/")
    assert "s3cret" not in str(failure.value) + repr(failure.value)
    assert "password=***" in str(failure.value)
    assert failure.value.hint
    check_readable(failure.value)


def test_driver_that_is_missing_is_told_with_its_extra():
    from dataclasses import replace

    with pytest.raises(DriverMissing) as failure:
        load_driver(replace(MYSQL, driver="no_such_driver"))
    assert "no_such_driver" in failure.value.message
    assert "ducklake-spark[mysql]" in (failure.value.hint or "")


def test_duckdb_file_that_another_process_holds_is_told(tmp_path: Path):
    location = LakeLocation("duckdb", f"ducklake:{tmp_path}/held.ducklake", f"{tmp_path}/data/")
    connect(location).close()
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_THE_FILE, location.url.target],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(CatalogLocked, match=r"held\.ducklake") as failure:
            connect(location)
        holder.communicate("")
    assert "only one process" in (failure.value.hint or "")
    check_readable(failure.value)
    connect(location).close()


# --- rights --------------------------------------------------------------------------------------

AS_NOBODY = """
import os, sys, tempfile
sys.path.insert(0, sys.argv[1])
import ducklake_spark
from ducklake_spark.errors import DuckLakeError
from support.lakes import LakeLocation
from support.writing import Writer, open_session
# All that is imported later is, before the rights to read it are gone.
with tempfile.TemporaryDirectory() as folder:
    for kind, word in (("duckdb", ""), ("sqlite", "sqlite:")):
        uri = f"ducklake:{word}{folder}/{kind}.db"
        with ducklake_spark.connect(uri, data_path=folder) as con:
            con.sql("CREATE TABLE u (i INTEGER)")
        session = open_session(LakeLocation(kind, uri, folder))
        Writer(session).create_table("t")
        Writer(session).insert(1)
        session.close_lakes()
os.setgid(65534)
os.setuid(65534)
try:
    exec(sys.argv[2])
except DuckLakeError as error:
    print(type(error).__name__, str(error), sep="\\n")
"""


def as_nobody(tmp_path: Path, code: str) -> list[str]:
    """The class and the lines of the error of some code, run without the rights of root."""
    if os.getuid():
        pytest.skip("NOT TESTED: only root can become somebody else")
    for folder in (tmp_path, *tmp_path.parents[:3]):
        if folder.stat().st_uid == os.getuid():
            folder.chmod(0o755)
    command = [sys.executable, "-c", AS_NOBODY, str(Path(__file__).parents[1]), code]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("prefix", ["", "sqlite:"])
def test_folder_of_a_catalog_that_cannot_be_written_is_told(tmp_path: Path, prefix: str):
    uri = f"ducklake:{prefix}{tmp_path}/lake.db"
    code = f"ducklake_spark.connect({uri!r}, data_path='{tmp_path}/data/')"
    kind, message, hint = as_nobody(tmp_path, code)
    assert kind == "ReadOnlyLake"
    assert message.startswith(f"The catalog {uri} cannot be written: ")
    assert "rights" in hint


@pytest.mark.parametrize("prefix", ["", "sqlite:"])
def test_change_of_a_catalog_in_a_folder_that_cannot_be_written_is_told(
    tmp_path: Path, prefix: str
):
    uri = f"ducklake:{prefix}{tmp_path}/lake.db"
    ducklake_spark.connect(uri, data_path=f"{tmp_path}/data/").close()
    (tmp_path / "lake.db").chmod(0o666)
    code = f"con = ducklake_spark.connect({uri!r}); con.sql('CREATE TABLE t (i INTEGER)')"
    kind, message, hint = as_nobody(tmp_path, code)
    assert kind == "ReadOnlyLake"
    assert f"{tmp_path}/lake.db" in message
    assert "its folder" in hint


def test_data_path_that_cannot_be_written_is_told(tmp_path: Path):
    place = tmp_path / "catalog"
    place.mkdir()
    place.chmod(0o777)
    uri = f"ducklake:sqlite:{place}/lake.sqlite"
    code = (
        f"session = open_session(LakeLocation('sqlite', {uri!r}, '{tmp_path}/data/'))\n"
        "Writer(session).create_table('t')\n"
        "Writer(session).insert(1)"
    )
    kind, message, hint = as_nobody(tmp_path, code)
    assert kind == "DataFileError"
    assert message.startswith(f'Cannot create "{tmp_path}/data/')
    assert message.endswith("permission denied.")
    assert "rights of the folder" in hint


# --- new lakes -----------------------------------------------------------------------------------


def test_lake_that_was_made_by_a_misspelt_path_is_told(tmp_path: Path):
    with ducklake_spark.connect(f"ducklake:{tmp_path}/shpo.ducklake") as con:
        for sql in ("DESCRIBE orders", "FROM orders", "INSERT INTO sales.orders VALUES (1)"):
            with pytest.raises(NotFound) as failure:
                con.sql(sql)
            assert "new, empty lake" in (failure.value.hint or "")
            assert f"{tmp_path}/shpo.ducklake" in (failure.value.hint or "")
        con.sql("CREATE TABLE other (i INTEGER)")
        with pytest.raises(TableNotFound) as failure:
            con.sql("DESCRIBE orders")
        assert "new, empty" not in (failure.value.hint or "")


def test_empty_lake_that_was_there_before_is_not_called_new(tmp_path: Path):
    uri = f"ducklake:{tmp_path}/shop.ducklake"
    ducklake_spark.connect(uri).close()
    with ducklake_spark.connect(uri) as con, pytest.raises(TableNotFound) as failure:
        con.sql("DESCRIBE orders")
    assert "new, empty" not in (failure.value.hint or "")


# --- Java ----------------------------------------------------------------------------------------

START_SPARK = """
import ducklake_spark
from ducklake_spark.errors import SparkFailure
try:
    ducklake_spark.connect().spark
except SparkFailure as error:
    print(error)
"""


def start_with(tmp_path: Path, **environment: str) -> list[str]:
    """The lines of the error that starting Spark in another environment gives."""
    names = {"JAVA_HOME", "SPARK_REMOTE", "PYSPARK_GATEWAY_PORT"}
    kept = {key: value for key, value in os.environ.items() if key not in names}
    done = subprocess.run(
        [sys.executable, "-c", START_SPARK],
        check=False,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_missing_java_is_told_with_the_version_that_is_needed(tmp_path: Path):
    message, hint = start_with(tmp_path, JAVA_HOME=f"{tmp_path}/none")
    assert "needs Java 17 or newer" in message
    assert f"{tmp_path}/none" in message
    assert "JAVA_HOME" in hint


def test_java_that_is_too_old_is_told_with_its_version(tmp_path: Path):
    java = tmp_path / "old" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_402\"' >&2\nexit 1\n")
    java.chmod(0o755)
    message, hint = start_with(tmp_path, JAVA_HOME=f"{tmp_path}/old")
    assert message.endswith(f'and "{java}" is Java 8.')
    assert "install Java 17" in hint

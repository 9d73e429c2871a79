"""SET, variables, prepared statements, secrets and messages, without Spark."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import (
    AlreadyExists,
    DuckLakeError,
    FunctionNotFound,
    InvalidInput,
    NotALake,
    NotFound,
    NotSupported,
    ReadOnlyLake,
    UnknownOption,
)
from ducklake_spark.execution.parameters import number_marks


def rows(result) -> list[tuple]:
    return [tuple(row) for row in result.collect()]


def test_set_changes_how_commits_are_tried_again_and_reset_takes_it_back(con):
    con.sql("SET ducklake_max_retry_count = 3; SET ducklake_retry_wait_ms = 7")
    con.sql("SET ducklake_retry_backoff = 2")
    assert (con.retry.max_retry_count, con.retry.wait_ms, con.retry.backoff) == (3, 7, 2.0)
    con.sql("RESET ducklake_max_retry_count")
    assert con.retry.max_retry_count == 10


def test_the_default_limit_of_inlined_rows_reaches_lakes_attached_before_and_after(con, tmp_path):
    con.sql("SET ducklake_default_data_inlining_row_limit = 50")
    con.sql(f"ATTACH 'ducklake:{tmp_path}/other.ducklake' AS other")
    assert [lake.effective_inlining_limit(0) for lake in con.lakes.values()] == [50, 50]
    assert con.cursor().lake("other").effective_inlining_limit(0) == 50


def test_settings_of_duckdb_are_accepted_and_remembered(con):
    con.sql("SET threads = 4; SET GLOBAL preserve_insertion_order = false")
    con.sql("PRAGMA memory_limit = '1GB'; PRAGMA enable_verification")
    assert con.settings == {"threads": 4, "preserve_insertion_order": False, "memory_limit": "1GB"}


@pytest.mark.parametrize("name", ["thread", "nothing_of_the_kind"])
def test_an_unknown_setting_is_refused(con, name):
    with pytest.raises(UnknownOption, match=name) as caught:
        con.sql(f"SET {name} = 1")
    assert caught.value.hint


def test_a_setting_that_changes_results_is_refused(con):
    with pytest.raises(NotSupported, match="ieee_floating_point_ops"):
        con.sql("SET ieee_floating_point_ops = false")


@pytest.mark.parametrize(
    ("setting", "harmless"),
    [("Calendar = 'hebrew'", "Calendar = 'Gregorian'"),
     ("binary_as_string = true", "binary_as_string = false")],
)  # fmt: skip
def test_a_value_of_a_setting_that_changes_results_is_refused(con, setting, harmless):
    con.sql(f"SET {harmless}")
    with pytest.raises(NotSupported, match="changes the results"):
        con.sql(f"SET {setting}")


def test_a_value_that_a_setting_does_not_take_is_refused(con):
    with pytest.raises(UnknownOption, match="ducklake_max_retry_count"):
        con.sql("SET ducklake_max_retry_count = 'often'")


def test_a_variable_is_used_in_a_call(con):
    con.sql("SET VARIABLE codec = 'zstd'")
    con.sql("CALL lake.set_option('parquet_compression', getvariable('codec'))")
    assert con.lake("lake").settings().get("parquet_compression") == "zstd"


@pytest.mark.parametrize("text", ["infinity", "-infinity", "12000-01-01 00:00:00+00"])
def test_a_variable_is_no_time_that_python_does_not_have(con, text):
    with pytest.raises(NotSupported, match="none that Python has"):
        con.sql(f"SET VARIABLE moment = '{text}'::TIMESTAMPTZ")


def test_a_value_that_no_variable_holds_leaves_the_connection_usable(con):
    with pytest.raises(NotSupported, match="cannot be kept in a variable"):
        con.sql("SET VARIABLE pair = row(1, 'a')")
    con.sql("SET VARIABLE other = 1 + 2")
    assert con.variables["other"].value == 3
    assert "pair" not in con.variables


def test_a_variable_is_forgotten_when_it_is_reset(con):
    con.sql("SET VARIABLE Floor = 3")
    assert con.variables == {"floor": 3}
    con.sql("RESET VARIABLE floor; RESET VARIABLE never_set")
    assert con.variables == {}


def test_marks_are_numbered_in_the_order_of_the_text():
    text = "UPDATE t SET a = ? WHERE b = ?; SELECT '?', ? -- ?"
    assert number_marks(text) == "UPDATE t SET a = $1 WHERE b = $2; SELECT '?', $1 -- ?"


def test_a_prepared_statement_takes_its_values_from_execute(con):
    con.sql("CREATE TABLE crates (id INTEGER, label VARCHAR)")
    con.sql("PREPARE add_crate AS INSERT INTO crates VALUES (?, ?)")
    assert rows(con.sql("EXECUTE add_crate(1, 'nails')")) == [(1,)]
    assert rows(con.sql("EXECUTE add_crate(2, 'bolts')")) == [(1,)]
    with pytest.raises(InvalidInput, match=r"\$2"):
        con.sql("EXECUTE add_crate(3)")
    con.sql("DEALLOCATE add_crate; DEALLOCATE add_crate")
    with pytest.raises(FunctionNotFound):
        con.sql("EXECUTE add_crate(3, 'nuts')")


def test_parameters_of_a_text_are_those_of_its_last_statement(con):
    con.sql("CREATE TABLE a (i INTEGER); INSERT INTO a VALUES ($n)", params={"n": 4})
    with pytest.raises(InvalidInput, match=r"\$2"):
        con.sql("INSERT INTO a VALUES (?)", params=[1, 2])
    with pytest.raises(InvalidInput, match=r"\$1"):
        con.sql("INSERT INTO a VALUES (?)")
    assert rows(con.sql("CALL lake.table_info()"))[0][0] == "a"


def test_a_commit_message_is_that_of_the_open_transaction_only(con):
    con.sql("CALL lake.set_commit_message('nobody', 'outside')")
    con.sql("CREATE TABLE a (i INTEGER)")
    con.sql("BEGIN; CREATE TABLE b (i INTEGER)")
    con.sql("CALL ducklake_set_commit_message('lake', 'ada', 'adds b', extra_info => '{}'); COMMIT")
    con.sql("CREATE TABLE c (i INTEGER)")
    said = [row[4:] for row in rows(con.sql("CALL lake.snapshots()"))]
    nothing = (None, None, None)
    assert said == [nothing, nothing, ("ada", "adds b", "{}"), nothing]


def test_a_lake_is_attached_by_the_name_of_a_secret(con, tmp_path):
    con.sql(f"""CREATE SECRET depot (TYPE ducklake, METADATA_PATH '{tmp_path}/depot.ducklake',
                DATA_PATH '{tmp_path}/depot/')""")
    con.sql("ATTACH 'ducklake:depot'")
    assert con.lake("depot").data_path == f"{tmp_path}/depot/"
    con.sql(f"CREATE SECRET (TYPE ducklake, METADATA_PATH '{tmp_path}/plain.ducklake')")
    con.sql("ATTACH 'ducklake:' AS plain")
    assert con.lake("plain").db.kind == "duckdb"


def test_the_default_secret_is_missed_when_there_is_none(con):
    with pytest.raises(InvalidInput, match="Default secret was not found"):
        con.sql("ATTACH 'ducklake:' AS other")


def test_a_secret_is_made_once_and_dropped_once(con):
    con.sql("CREATE SECRET s (TYPE postgres, HOST 'db')")
    con.sql("CREATE SECRET IF NOT EXISTS s (TYPE postgres, HOST 'elsewhere')")
    with pytest.raises(AlreadyExists):
        con.sql("CREATE SECRET s (TYPE postgres)")
    con.sql("CREATE OR REPLACE SECRET s (TYPE postgres, HOST 'db2'); DROP SECRET s")
    with pytest.raises(NotFound):
        con.sql("DROP SECRET s")
    con.sql("DROP SECRET IF EXISTS s")


def test_no_password_is_shown(con):
    con.sql("CREATE SECRET pg (TYPE postgres, HOST '127.0.0.1', PORT 1, USER 'u', "
            "DATABASE 'd', PASSWORD 'hunter2')")  # fmt: skip
    assert "hunter2" not in repr(con.sql("CALL duckdb_secrets()").collect())
    with pytest.raises(Exception, match=r"postgres") as caught:
        con.sql("ATTACH 'ducklake:postgres:' AS p (META_SECRET 'pg', DATA_PATH 'x/')")
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(caught.value)


def test_secrets_of_object_stores_and_lasting_ones_are_refused(con):
    with pytest.raises(NotSupported, match="s3"):
        con.sql("CREATE SECRET b (TYPE s3, KEY_ID 'k')")
    with pytest.raises(NotSupported, match="PERSISTENT"):
        con.sql("CREATE PERSISTENT SECRET b (TYPE ducklake)")


@pytest.mark.parametrize(
    "text", ["CALL lake.no_such_thing()", "CALL ducklake_no_such_thing('lake')"]
)
def test_an_unknown_function_is_not_found(con, text):
    with pytest.raises(FunctionNotFound):
        con.sql(text)


def test_use_memory_leaves_no_lake_in_use_so_that_it_can_be_detached(con):
    con.sql("USE memory; DETACH lake")
    assert con.current is None
    assert con.lakes == {}


def test_a_schema_of_the_name_memory_is_used_as_any_other(con):
    con.sql("CREATE SCHEMA memory; USE memory")
    assert con.current == ("lake", "memory")


@pytest.mark.parametrize(
    "statement",
    [
        "DETACH __ducklake_metadata_lake",
        "USE __ducklake_metadata_lake",
        "CREATE TABLE __ducklake_metadata_lake.x (i INTEGER)",
        "DROP TABLE __ducklake_metadata_lake.main.ducklake_snapshot",
        "CREATE SCHEMA __ducklake_metadata_lake.x",
        "COMMENT ON TABLE __ducklake_metadata_lake.ducklake_snapshot IS 'x'",
    ],
)
def test_the_catalog_of_a_lake_itself_can_only_be_read(con, statement):
    with pytest.raises(ReadOnlyLake, match="read-only"):
        con.sql(statement)


def test_the_catalog_cannot_have_the_name_of_a_lake(con, tmp_path):
    with pytest.raises(AlreadyExists, match="METADATA_CATALOG"):
        con.sql(f"ATTACH 'ducklake:{tmp_path}/x.db' AS x (METADATA_CATALOG 'x')")
    assert not (tmp_path / "x.db").exists()


def test_attach_or_replace_puts_another_lake_in_the_place_of_one(con, tmp_path):
    with pytest.raises(AlreadyExists, match="already exists"):
        con.sql(f"ATTACH 'ducklake:{tmp_path}/x.db' AS lake")
    con.sql("CREATE SCHEMA gone")
    con.sql(f"ATTACH OR REPLACE 'ducklake:{tmp_path}/x.db' AS lake")
    assert rows(con.sql("SHOW SCHEMAS FROM lake")) == [("main",)]


def test_settings_show_what_set_has_set(con):
    con.sql("SET ducklake_max_retry_count = 7")
    shown = {row[0]: row[1] for row in con.sql("CALL duckdb_settings()")._rows}
    assert shown["ducklake_max_retry_count"] == "7"
    assert shown["ducklake_retry_wait_ms"] == "100"


def test_pragmas_ask_as_statements_and_as_functions(con):
    con.sql("CREATE TABLE t (i INTEGER NOT NULL, s VARCHAR DEFAULT 'x')")
    expected = [(0, "i", "INTEGER", True, None, False), (1, "s", "VARCHAR", False, "'x'", False)]
    assert rows(con.sql("PRAGMA table_info('t')")) == expected
    assert rows(con.sql("PRAGMA table_info(lake.main.t)")) == expected
    assert rows(con.sql("CALL pragma_table_info('t')")) == expected
    assert rows(con.sql("PRAGMA database_size"))[0][:2] == ("lake", "0 bytes")
    assert rows(con.sql("PRAGMA show_tables")) == [("t",)]
    with pytest.raises(UnknownOption, match="storage_inf"):
        con.sql("PRAGMA storage_inf('t')")


def test_a_lake_in_use_stays_in_use_when_it_is_replaced(con, tmp_path):
    con.sql("CREATE SCHEMA s; USE s")
    con.sql(f"ATTACH OR REPLACE 'ducklake:{tmp_path}/x.db' AS lake")
    assert con.current == ("lake", "main")
    with pytest.raises(DuckLakeError, match="does not exist"):
        con.sql(f"ATTACH OR REPLACE 'ducklake:{tmp_path}/no/such/x.db' AS lake")
    assert con.current == ("lake", "main")


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        ("CALL enable_loging('x')", "enable_logging"),
        ("SHOW CREATE TABLE t", "duckdb_tables"),
        ("ALTER TABLE t ADD CONSTRAINT x CHECK (i > 1)", "NOT NULL"),
        ("PRAGMA table_inf('t')", "table_info"),
    ],
)
def test_what_does_not_exist_names_what_is_close(con, statement, hint):
    with pytest.raises(DuckLakeError) as caught:
        con.sql(statement)
    assert hint in (caught.value.hint or "")


def test_a_name_that_no_secret_and_no_file_has_makes_no_lake(con, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match='Secret "unknown_secret" was not found'):
        con.sql("ATTACH 'ducklake:unknown_secret' AS other")
    assert not (tmp_path / "unknown_secret").exists()


def test_readonly_is_another_spelling(con, tmp_path):
    with pytest.raises(NotALake, match="creating a new DuckLake is explicitly disabled"):
        con.sql(f"ATTACH 'ducklake:{tmp_path}/new.db' AS new (READONLY)")


def test_files_are_listed_of_one_snapshot_only(con):
    con.sql("CREATE TABLE t (i INTEGER)")
    with pytest.raises(InvalidInput, match="not both"):
        con.sql(
            "CALL ducklake_list_files('lake', 't', snapshot_version => 1, "
            "snapshot_time => '2999-01-01')"
        )


def test_an_option_of_attach_may_be_a_variable(con, tmp_path):
    attach = f"ATTACH 'ducklake:{tmp_path}/past.db' AS past"
    con.sql(f"{attach}; CREATE SCHEMA past.s; DETACH past")
    con.sql("SET VARIABLE number = 0; SET VARIABLE moment = TIMESTAMPTZ '1970-01-01 00:00:00+00'")
    con.sql(f"{attach} (SNAPSHOT_VERSION getvariable('number'))")
    assert con.lake("past").latest().snapshot_id == 0
    con.sql("DETACH past")
    with pytest.raises(NotFound, match="1970-01-01"):
        con.sql(f"{attach} (SNAPSHOT_TIME getvariable('moment'))")

"""ALTER TABLE without Spark: what is written, what is seen in a transaction, what is refused."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import (
    AlreadyExists,
    ColumnNotFound,
    DuckLakeError,
    InvalidInput,
    InvalidValue,
    NotNullViolation,
    NotSupported,
    TableNotFound,
    TransactionConflict,
)
from ducklake_spark.operations.views import create_view


def database(con):
    return con.lakes["lake"].db


def columns(con, table="t"):
    return [(c.name, c.type_name) for c in con.table_version((table,)).table.schema.columns]


def inlined(con, table_id=1):
    names = database(con).fetch(
        "SELECT table_name FROM ducklake_inlined_data_tables WHERE table_id = ? "
        "ORDER BY schema_version DESC",
        (table_id,),
    )
    return database(con).fetch(f'SELECT * FROM "{names[0][0]}" ORDER BY row_id')


@pytest.fixture
def t(con):
    con.sql("CREATE TABLE t (a INTEGER, b VARCHAR, s STRUCT(i INTEGER, j INTEGER), l INTEGER[])")
    return con


REFUSALS = {
    "ALTER TABLE u ADD COLUMN c INTEGER": (TableNotFound, "Table with name u does not exist"),
    "ALTER TABLE t DROP COLUMN bb": (ColumnNotFound, 'did you mean "b"'),
    "ALTER TABLE t DROP COLUMN s.jj": (ColumnNotFound, 'did you mean "j"'),
    "ALTER TABLE t RENAME x.y TO z": (ColumnNotFound, '"x" does not exist in table "t"'),
    "ALTER TABLE t ADD COLUMN A INTEGER": (AlreadyExists, '"a" already exists'),
    "ALTER TABLE t ADD COLUMN s.I INTEGER": (AlreadyExists, '"i" already exists'),
    "ALTER TABLE t RENAME a TO B": (AlreadyExists, '"b" already exists'),
    "ALTER TABLE t RENAME s.i TO j": (AlreadyExists, '"j" already exists'),
    "ALTER TABLE t ADD COLUMN a.x INTEGER": (InvalidInput, "only be added to structs"),
    "ALTER TABLE t DROP COLUMN l.element": (InvalidInput, "not a struct"),
    "ALTER TABLE t RENAME l.element TO x": (InvalidInput, "only fields of structs"),
    "ALTER TABLE t ALTER a TYPE SMALLINT": (InvalidInput, "INTEGER can become BIGINT"),
    "ALTER TABLE t ALTER a TYPE VARCHAR": (InvalidInput, "only widening"),
    "ALTER TABLE t ALTER b TYPE JSON": (InvalidInput, "VARCHAR cannot be promoted"),
    "ALTER TABLE t ALTER s TYPE INTEGER": (InvalidInput, "only widening"),
    "ALTER TABLE t ALTER a TYPE STRUCT(x INTEGER)": (InvalidInput, "only widening"),
    "ALTER TABLE t ALTER a TYPE BIGINT USING a + 1": (NotSupported, "USING"),
    "ALTER TABLE t ADD COLUMN c INTEGER NOT NULL": (NotSupported, "NOT NULL"),
    "ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 1 + 1": (NotSupported, "SET DEFAULT"),
    "ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 'x'": (InvalidValue, "does not fit"),
    "ALTER TABLE t ADD COLUMN row_id INTEGER": (InvalidInput, "reserved"),
    "ALTER TABLE t RENAME a TO end_snapshot": (InvalidInput, "reserved"),
    "ALTER TABLE t ALTER a SET DEFAULT 'x'": (InvalidValue, "does not fit"),
    "ALTER TABLE t ALTER l SET DEFAULT 1": (NotSupported, "lists, structs and maps"),
    "ALTER TABLE t ALTER s.i SET DEFAULT 1": (NotSupported, "only whole columns"),
    "ALTER TABLE t ALTER s.i SET NOT NULL": (NotSupported, "only whole columns"),
    "ALTER TABLE t ALTER a DROP NOT NULL": (InvalidInput, "it has no NOT NULL constraint"),
    "ALTER TABLE t RENAME TO v": (AlreadyExists, '"v" already exists'),
    "ALTER TABLE v ADD COLUMN c INTEGER": (InvalidInput, "it is a view"),
}


@pytest.mark.parametrize("statement", REFUSALS)
def test_a_change_that_is_not_possible_is_refused_with_its_reason(t, statement):
    kind, words = REFUSALS[statement]
    with t.writing(t.lakes["lake"], "create view") as tx:  # in SQL it would need Spark
        create_view(tx, tx.local.find_schema("main"), "v", "SELECT 1", ())
    before = t.lakes["lake"].latest()
    with pytest.raises(kind) as refused:
        t.sql(statement)
    assert words in str(refused.value)
    assert t.lakes["lake"].latest() == before


def test_the_last_column_and_the_last_field_cannot_be_dropped(con):
    con.sql("CREATE TABLE one (s STRUCT(i INTEGER))")
    with pytest.raises(InvalidInput, match="only has one column"):
        con.sql("ALTER TABLE one DROP COLUMN s")
    with pytest.raises(InvalidInput, match="only has one field"):
        con.sql("ALTER TABLE one DROP COLUMN s.i")


def test_what_may_be_missing_or_there_already_is_left_alone(t):
    before = t.lakes["lake"].latest()
    t.sql("ALTER TABLE IF EXISTS nothing DROP COLUMN a")
    t.sql("ALTER TABLE t DROP COLUMN IF EXISTS nothing")
    t.sql("ALTER TABLE t DROP COLUMN IF EXISTS s.nothing")
    t.sql("ALTER TABLE t ADD COLUMN IF NOT EXISTS A VARCHAR")
    t.sql("ALTER TABLE t ADD COLUMN IF NOT EXISTS s.i VARCHAR")
    assert t.lakes["lake"].latest() == before


def test_ids_of_dropped_columns_are_not_given_again(t):
    t.sql("ALTER TABLE t DROP COLUMN l")
    t.sql("ALTER TABLE t ADD COLUMN l INTEGER")
    t.sql("ALTER TABLE t DROP COLUMN s.j")
    t.sql("ALTER TABLE t ADD COLUMN s.j INTEGER")
    schema = t.table_version(("t",)).table.schema
    assert schema.get("l", table="t").column_id == 8
    assert [c.column_id for c in schema.get("s", table="t").children] == [4, 9]


def test_an_open_transaction_sees_its_own_columns_and_names(t):
    t.sql("BEGIN")
    t.sql("ALTER TABLE t RENAME a TO id")
    t.sql("ALTER TABLE t RENAME TO renamed")
    t.sql("ALTER TABLE renamed DROP COLUMN l")
    t.sql("ALTER TABLE renamed ADD COLUMN c UINTEGER DEFAULT 7")
    assert [name for name, _ in columns(t, "renamed")] == ["id", "b", "s", "c"]
    with pytest.raises(TableNotFound):
        t.sql("ALTER TABLE t ADD COLUMN x INTEGER")
    t.sql("CREATE TABLE t (z INTEGER)")
    t.sql("COMMIT")
    assert [name for name, _ in columns(t, "renamed")] == ["id", "b", "s", "c"]
    assert columns(t) == [("z", "int32")]


def test_a_transaction_that_is_rolled_back_leaves_the_table_as_it_was(t):
    before = columns(t)
    t.sql("BEGIN")
    t.sql("ALTER TABLE t ADD COLUMN c INTEGER")
    t.sql("ROLLBACK")
    assert columns(t) == before


def test_rows_of_the_same_transaction_get_the_new_columns(con):
    con.sql("CREATE TABLE t (a FLOAT, b INTEGER, s STRUCT(i INTEGER, j VARCHAR))")
    con.sql("BEGIN")
    con.sql("INSERT INTO t VALUES (0.1, 2, {'i': 1, 'j': 'x'}), (NULL, NULL, NULL)")
    con.sql("ALTER TABLE t ALTER a TYPE DOUBLE")
    con.sql("ALTER TABLE t ADD COLUMN s.k INTEGER DEFAULT 9")
    con.sql("ALTER TABLE t DROP COLUMN s.i")
    con.sql("ALTER TABLE t RENAME b TO c")
    con.sql("ALTER TABLE t ADD COLUMN d VARCHAR DEFAULT 'd'")
    con.sql("COMMIT")
    values = [row[3:] for row in inlined(con)]
    assert values == [
        ("0.10000000149011612", 2, '{"j": \'x\', "k": 9}', "d"),
        (None, None, None, "d"),
    ]


def test_small_inserts_find_a_place_when_the_table_was_altered_while_there_was_none(con):
    con.sql("CREATE TABLE t (a INTEGER, b INTEGER)")
    con.sql("INSERT INTO t VALUES (1, 2)")
    con.sql("CALL ducklake_set_option('lake', 'data_inlining_row_limit', 0)")
    con.sql("ALTER TABLE t DROP COLUMN b")
    con.sql("ALTER TABLE t ADD COLUMN c INTEGER")
    con.sql("CALL ducklake_set_option('lake', 'data_inlining_row_limit', 10)")
    con.sql("INSERT INTO t VALUES (3, 4)")
    assert [row[3:] for row in inlined(con)] == [(3, 4)]
    names = [c[1] for c in database(con).fetch("PRAGMA table_info(ducklake_inlined_data_1_4)")]
    assert names == ["row_id", "begin_snapshot", "end_snapshot", "a", "c"]


def test_not_null_is_refused_while_an_inlined_row_has_a_null(t):
    t.sql("ALTER TABLE t ALTER b SET NOT NULL")
    t.sql("INSERT INTO t VALUES (NULL, 'x', NULL, NULL)")
    with pytest.raises(InvalidInput, match="has NULL values"):
        t.sql("ALTER TABLE t ALTER a SET NOT NULL")
    t.sql("BEGIN")
    with pytest.raises(NotNullViolation):
        t.sql("INSERT INTO t VALUES (1, NULL, NULL, NULL)")
    t.sql("ROLLBACK")
    t.sql("ALTER TABLE t ALTER b DROP NOT NULL")
    t.sql("BEGIN")
    t.sql("INSERT INTO t VALUES (1, NULL, NULL, NULL)")
    with pytest.raises(InvalidInput, match="has NULL values"):
        t.sql("ALTER TABLE t ALTER b SET NOT NULL")
    t.sql("ROLLBACK")


def test_a_new_column_shows_in_older_rows_for_not_null(t):
    t.sql("INSERT INTO t VALUES (1, 'x', NULL, NULL)")
    t.sql("ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 5")
    t.sql("ALTER TABLE t ADD COLUMN d INTEGER")
    t.sql("ALTER TABLE t ALTER c SET NOT NULL")
    with pytest.raises(InvalidInput, match="has NULL values"):
        t.sql("ALTER TABLE t ALTER d SET NOT NULL")


def test_several_columns_are_added_at_once_in_sparks_dialect(t):
    t.sql("ALTER TABLE t ADD COLUMNS (c BIGINT, d STRING)", dialect="spark")
    t.sql("ALTER TABLE t RENAME COLUMN c TO e", dialect="spark")
    assert columns(t)[-2:] == [("e", "int64"), ("d", "varchar")]
    with pytest.raises(AlreadyExists):
        t.sql("ALTER TABLE t ADD COLUMNS (f BIGINT, a STRING)", dialect="spark")
    assert columns(t)[-1] == ("d", "varchar")


CONFLICTS = [
    # mine, theirs, refused
    ("ALTER TABLE t ADD COLUMN c INTEGER", "ALTER TABLE t ADD COLUMN d INTEGER", True),
    ("ALTER TABLE t ADD COLUMN c INTEGER", "DROP TABLE t", True),
    ("ALTER TABLE t ADD COLUMN c INTEGER", "COMMENT ON TABLE t IS 'x'", True),
    ("ALTER TABLE t ADD COLUMN c INTEGER", "INSERT INTO t (a) VALUES (1)", False),
    ("ALTER TABLE t ADD COLUMN c INTEGER", "ALTER TABLE t RENAME TO u", False),
    ("INSERT INTO t (a) VALUES (1)", "ALTER TABLE t ADD COLUMN c INTEGER", True),
    ("INSERT INTO t (a) VALUES (1)", "ALTER TABLE t RENAME TO u", False),
    ("ALTER TABLE t ALTER a SET NOT NULL", "INSERT INTO t (b) VALUES ('x')", True),
    ("ALTER TABLE t RENAME TO u", "DROP TABLE t", True),
    ("ALTER TABLE t RENAME TO u", "CREATE TABLE u (x INTEGER)", True),
    ("ALTER TABLE t RENAME TO u", "INSERT INTO t (a) VALUES (1)", False),
    ("ALTER TABLE t RENAME TO u", "ALTER TABLE t RENAME TO w", False),
    ("DROP TABLE t", "ALTER TABLE t ADD COLUMN c INTEGER", False),
]


@pytest.mark.parametrize(("mine", "theirs", "refused"), CONFLICTS)
def test_two_writers_of_one_table_end_as_the_documentation_says(t, mine, theirs, refused):
    with t.cursor() as other:
        t.sql("BEGIN")
        t.sql(mine)
        other.sql(theirs)
        if refused:
            with pytest.raises(TransactionConflict):
                t.sql("COMMIT")
        else:
            t.sql("COMMIT")
    live = database(t).fetch("SELECT table_id FROM ducklake_table WHERE end_snapshot IS NULL")
    assert len(live) == len(set(live))


def test_the_state_after_an_alter_is_the_one_that_the_catalog_has(t):
    lake = t.lakes["lake"]
    for statement in (
        "ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 5",
        "ALTER TABLE t ADD COLUMN s.k STRUCT(x INTEGER, y VARCHAR)",
        "ALTER TABLE t ALTER a TYPE BIGINT",
        "ALTER TABLE t RENAME s.i TO ii",
        "ALTER TABLE t ALTER s TYPE STRUCT(ii BIGINT, n INTEGER)",
        "ALTER TABLE t ALTER b SET DEFAULT 1 + 2",
        "ALTER TABLE t ALTER b SET NOT NULL",
        "ALTER TABLE t DROP COLUMN l",
        "ALTER TABLE t RENAME TO u",
        "ALTER TABLE u RENAME TO t",
    ):
        t.sql(statement)
        kept = lake.state_at(lake.latest())
        lake._states.clear()
        loaded = lake.state_at(lake.latest())
        assert kept is not loaded
        assert kept.tables == loaded.tables
        assert kept.table(1) == loaded.table(1)
        assert sorted(kept.history(1).rows, key=repr) == sorted(loaded.history(1).rows, key=repr)


def test_an_alter_needs_few_statements_of_the_catalog(t):
    t.sql("ALTER TABLE t ADD COLUMN c INTEGER")
    database(t).trace = trace = []
    t.sql("ALTER TABLE t ALTER c TYPE BIGINT")
    assert len(trace) <= 15
    assert trace.count("COMMIT") == 1


def test_every_refusal_is_one_of_ours(t):
    with pytest.raises(DuckLakeError, match="expected"):
        t.sql("ALTER TABLE t FROB COLUMN a")

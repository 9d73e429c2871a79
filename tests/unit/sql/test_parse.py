"""Every form of statement is read into its dataclass."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from sqlglot import exp

from ducklake_spark.errors import InvalidInput, NotSupported, SqlSyntaxError
from ducklake_spark.model.schema import Default
from ducklake_spark.model.types import parse_sql_type
from ducklake_spark.sql import statements as st
from ducklake_spark.sql.composed import written_query
from ducklake_spark.sql.parse import parse


def column(
    name: str, kind: str, *, not_null: bool = False, default: Default | None = None
) -> st.ColumnDefinition:
    return st.ColumnDefinition(name, parse_sql_type(kind), not_null, default)


def one(text: str) -> st.Statement:
    (statement,) = parse(text)
    return statement


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ATTACH 'ducklake:x.ducklake' AS lake", st.Attach("ducklake:x.ducklake", "lake")),
        ("ATTACH IF NOT EXISTS 'ducklake:x'", st.Attach("ducklake:x", if_not_exists=True)),
        (
            "attach or replace 'ducklake:x' as \"My Lake\""
            " (data_path 'd/', read_only, n 10, enc false)",
            st.Attach(
                "ducklake:x",
                "My Lake",
                {"DATA_PATH": "d/", "READ_ONLY": True, "N": 10, "ENC": False},
                or_replace=True,
            ),
        ),
        (
            "ATTACH 'x' (TYPE ducklake, META_PARAMETERS MAP {'a': 'b'}, SNAPSHOT_VERSION 3)",
            st.Attach(
                "x",
                options={"TYPE": "ducklake", "META_PARAMETERS": {"a": "b"}, "SNAPSHOT_VERSION": 3},
            ),
        ),
        (
            "ATTACH 'x' (SNAPSHOT_TIME TIMESTAMP '2025-01-02 03:04:05')",
            st.Attach("x", options={"SNAPSHOT_TIME": dt.datetime(2025, 1, 2, 3, 4, 5)}),
        ),
        ("DETACH lake", st.Detach("lake")),
        ("DETACH DATABASE IF EXISTS lake", st.Detach("lake", if_exists=True)),
        ("USE lake.sales", st.Use(("lake", "sales"))),
        ("CREATE SCHEMA IF NOT EXISTS lake.s", st.CreateSchema(("lake", "s"), if_not_exists=True)),
        ("DROP SCHEMA s CASCADE", st.DropSchema(("s",), cascade=True)),
        ("DROP TABLE IF EXISTS a.b.c", st.DropTable(("a", "b", "c"), if_exists=True)),
        ("DROP VIEW v", st.DropView(("v",))),
        ("DROP MACRO f", st.DropMacro(("f",))),
        ("DROP MACRO TABLE lake.f", st.DropMacro(("lake", "f"), is_table=True)),
        ("DROP SECRET IF EXISTS s", st.DropSecret("s", if_exists=True)),
        (
            "CREATE OR REPLACE SECRET s (TYPE s3, KEY_ID 'k')",
            st.CreateSecret("s", {"TYPE": "s3", "KEY_ID": "k"}, or_replace=True),
        ),
        ("CREATE SECRET (TYPE ducklake)", st.CreateSecret(None, {"TYPE": "ducklake"})),
        ("COMMENT ON TABLE t IS 'it''s'", st.Comment("table", ("t",), "it's")),
        ("COMMENT ON COLUMN s.t.c IS NULL", st.Comment("column", ("s", "t", "c"), None)),
        ("COMMENT ON VIEW v IS ''", st.Comment("view", ("v",), "")),
        ("TRUNCATE TABLE t", st.Truncate(("t",))),
        ("BEGIN", st.Begin()),
        ("BEGIN TRANSACTION", st.Begin()),
        ("START TRANSACTION", st.Begin()),
        ("COMMIT", st.Commit()),
        ("END", st.Commit()),
        ("ROLLBACK", st.Rollback()),
        ("ABORT", st.Rollback()),
        ("CHECKPOINT", st.Checkpoint()),
        ("FORCE CHECKPOINT lake", st.Checkpoint("lake")),
        ("SET threads = 4", st.SetSetting("threads", 4)),
        ("SET GLOBAL TimeZone TO 'UTC'", st.SetSetting("timezone", "UTC", "global")),
        ("SET search_path = main", st.SetSetting("search_path", "main")),
        ("RESET threads", st.ResetSetting("threads")),
        ("RESET VARIABLE x", st.ResetSetting("x", "variable")),
        ("PRAGMA version", st.Pragma("version")),
        ("PRAGMA threads = 4", st.Pragma("threads", (), 4)),
        ("PRAGMA table_info('t')", st.Pragma("table_info", ("t",))),
        ("LOAD ducklake", st.Load("ducklake")),
        ("INSTALL ducklake FROM core_nightly", st.Install("ducklake")),
        ("SHOW TABLES", st.ShowTables()),
        ("SHOW ALL TABLES", st.ShowTables(everywhere=True)),
        ("SHOW TABLES FROM lake.s", st.ShowTables(source=("lake", "s"))),
        ("SHOW SCHEMAS", st.ShowSchemas()),
        ("SHOW DATABASES", st.ShowDatabases()),
        ("DESCRIBE t", st.Describe(("t",))),
        ("DESCRIBE", st.ShowTables()),
        ("SHOW t", st.Describe(("t",))),
        ("SUMMARIZE t", st.Summarize(("t",))),
        ("DEALLOCATE PREPARE q", st.Deallocate("q")),
        ("EXECUTE q(1, x := 'a')", st.Execute("q", (1,), {"x": "a"})),
        ("COPY FROM DATABASE a TO b", st.CopyDatabase("a", "b")),
        ("COPY FROM DATABASE a TO b (SCHEMA)", st.CopyDatabase("a", "b", "schema")),
        (
            "COPY t (a, b) TO 'x.parquet' (FORMAT parquet, PARTITION_BY (a, b))",
            st.CopyTo(
                "x.parquet",
                table=("t",),
                columns=("a", "b"),
                options={"FORMAT": "parquet", "PARTITION_BY": ["a", "b"]},
            ),
        ),
        ("COPY t FROM 'x.csv' (HEADER)", st.CopyFrom(("t",), "x.csv", options={"HEADER": True})),
    ],
)
def test_statement_is_read(text: str, expected: st.Statement) -> None:
    assert one(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ADD COLUMN c INT", st.AddColumn(("t",), (), column("c", "INT"))),
        (
            "ADD IF NOT EXISTS c INT",
            st.AddColumn(("t",), (), column("c", "INT"), if_not_exists=True),
        ),
        ("ADD COLUMN s.x.c INT[]", st.AddColumn(("t",), ("s", "x"), column("c", "INT[]"))),
        ("DROP COLUMN IF EXISTS c", st.DropColumn(("t",), ("c",), column_if_exists=True)),
        ("DROP s.c", st.DropColumn(("t",), ("s", "c"))),
        ("RENAME a TO b", st.RenameColumn(("t",), ("a",), "b")),
        ("RENAME COLUMN s.a TO b", st.RenameColumn(("t",), ("s", "a"), "b")),
        ("RENAME TO u", st.RenameTable(("t",), "u")),
        ("ALTER c SET TYPE BIGINT", st.SetColumnType(("t",), ("c",), parse_sql_type("BIGINT"))),
        ("ALTER s.c TYPE BIGINT", st.SetColumnType(("t",), ("s", "c"), parse_sql_type("BIGINT"))),
        ("ALTER COLUMN c SET DEFAULT 'x'", st.SetDefault(("t",), ("c",), Default("x"))),
        ("ALTER c DROP DEFAULT", st.SetDefault(("t",), ("c",), None)),
        ("ALTER c SET NOT NULL", st.SetNotNull(("t",), ("c",), True)),
        ("ALTER c DROP NOT NULL", st.SetNotNull(("t",), ("c",), False)),
        (
            "SET PARTITIONED BY (a, YEAR(ts), bucket(8, id))",
            st.SetPartitionedBy(
                ("t",),
                (
                    st.PartitionKey("identity", "a"),
                    st.PartitionKey("year", "ts"),
                    st.PartitionKey("bucket", "id", 8),
                ),
            ),
        ),
        ("RESET PARTITIONED BY", st.SetPartitionedBy(("t",), ())),
        ("RESET SORTED BY", st.SetSortedBy(("t",), ())),
    ],
)
def test_alter_table_is_read(text: str, expected: st.Statement) -> None:
    assert one(f"ALTER TABLE t {text}") == expected


def test_sort_keys_keep_direction_and_duckdb_text_when_sorted_by_expressions() -> None:
    statement = one(
        "ALTER TABLE IF EXISTS s.t SET SORTED BY (a DESC NULLS FIRST, UPPER(b), c+1 ASC)"
    )

    assert isinstance(statement, st.SetSortedBy)
    assert statement.if_exists
    shown = [(key.text, key.descending, key.nulls_first) for key in statement.keys]
    assert shown == [("a", True, True), ("upper(b)", False, False), ("(c + 1)", False, False)]


def test_alter_view_renames_view() -> None:
    assert one("ALTER VIEW v RENAME TO w") == st.RenameView(("v",), "w")


def test_create_table_has_types_of_the_model() -> None:
    statement = one(
        """CREATE OR REPLACE TABLE lake.s.t (
            id UBIGINT NOT NULL, -- a comment
            price DECIMAL(12, 2) DEFAULT 0.5,
            "Odd Name" STRUCT(a INTEGER, "b c" TIMESTAMP WITH TIME ZONE[]),
            m MAP(VARCHAR, DOUBLE PRECISION),
            at TIMESTAMPTZ DEFAULT now()
        )"""
    )

    assert isinstance(statement, st.CreateTable)
    assert statement.or_replace
    assert statement.name == ("lake", "s", "t")
    assert statement.columns == (
        column("id", "UBIGINT", not_null=True),
        column("price", "DECIMAL(12,2)", default=Default("0.5")),
        column("Odd Name", 'STRUCT(a INTEGER, "b c" TIMESTAMP WITH TIME ZONE[])'),
        column("m", "MAP(VARCHAR, DOUBLE)"),
        column("at", "TIMESTAMPTZ", default=Default("now()", kind="expression")),
    )


def test_create_table_as_has_query_when_written_from_first() -> None:
    statement = one("CREATE TABLE IF NOT EXISTS t (a, b) AS FROM u WITH NO DATA")

    assert isinstance(statement, st.CreateTable)
    assert statement.query is not None
    assert (statement.column_aliases, statement.with_no_data, statement.if_not_exists) == (
        ("a", "b"), True, True,
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t (a INT PRIMARY KEY)",
        "CREATE TABLE t (a INT UNIQUE)",
        "CREATE TABLE t (a INT CHECK (a > 1))",
        "CREATE TABLE t (a INT REFERENCES u(a))",
        "CREATE TABLE t (a INT, PRIMARY KEY (a))",
        "CREATE TABLE t (a INT, CONSTRAINT c UNIQUE (a))",
        "CREATE TABLE t (a INT, FOREIGN KEY (a) REFERENCES u(a))",
        "CREATE TABLE t (a INT, b INT GENERATED ALWAYS AS (a + 1))",
        "CREATE TABLE t (a INT, b AS (a + 1))",
        "CREATE TABLE t (a VARCHAR COLLATE NOCASE)",
        "CREATE TABLE t (a VARCHAR USING COMPRESSION zstd)",
        "CREATE TABLE t (a INT[] DEFAULT [1])",
        "CREATE TABLE t (a INT[3])",
        "CREATE TABLE t (a ENUM('x'))",
        "CREATE INDEX i ON t (a)",
        "INSERT OR REPLACE INTO t VALUES (1)",
        "INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING",
        "INSERT INTO t VALUES (1) RETURNING a",
    ],
)
def test_form_is_refused_with_a_reason_when_ducklake_has_no_such_thing(text: str) -> None:
    with pytest.raises(NotSupported):
        parse(text)


def test_view_keeps_its_text_as_typed() -> None:
    statement = one("CREATE OR REPLACE VIEW lake.v (x) AS\n  SELECT a  -- why\n  FROM t;")

    assert isinstance(statement, st.CreateView)
    assert statement.text.startswith("SELECT a")
    assert statement.text.endswith("FROM t")
    assert (statement.parts, statement.column_aliases, statement.or_replace) == (
        ("lake", "v"), ("x",), True,
    )  # fmt: skip


def test_macro_has_overloads_defaults_and_types() -> None:
    statement = one(
        "CREATE MACRO f(a, b INTEGER := 5) AS a+b, (a) AS TABLE SELECT * FROM t WHERE x = a"
    )

    assert isinstance(statement, st.CreateMacro)
    scalar, table = statement.overloads
    assert (scalar.text, scalar.is_table, table.is_table) == ("(a + b)", False, True)
    assert scalar.parameters[1].type == parse_sql_type("INTEGER")
    assert scalar.parameters[1].default_text == "5"
    assert table.text == "SELECT * FROM t WHERE x = a"


def test_insert_has_columns_and_source() -> None:
    statement = one("INSERT INTO lake.t (a, b) VALUES (1, DEFAULT)")

    assert isinstance(statement, st.Insert)
    assert statement.columns == ("a", "b")
    assert isinstance(statement.source, exp.Values)


def test_insert_takes_ctes_into_its_source_when_they_stand_in_front() -> None:
    statement = one("WITH c AS (SELECT 1 AS x) INSERT INTO t BY NAME FROM c")

    assert isinstance(statement, st.Insert)
    assert statement.by_name
    assert isinstance(statement.source, exp.Expr)
    assert written_query(statement.source).text == "WITH c AS (SELECT 1 AS x) (FROM c)"


def test_insert_default_values_is_read() -> None:
    assert one("INSERT INTO t DEFAULT VALUES") == st.Insert(("t",), st.DefaultValues())


def test_update_has_assignments_source_and_condition() -> None:
    statement = one("UPDATE t AS x SET a = a + 1, b = DEFAULT, s.f = 2 FROM u WHERE x.id = u.id")

    assert isinstance(statement, st.Update)
    assert [a.column for a in statement.assignments] == [("a",), ("b",), ("s", "f")]
    assert statement.alias == "x"
    assert statement.source is not None
    assert statement.where is not None


def test_delete_has_using_and_condition() -> None:
    statement = one("DELETE FROM t USING u, v AS w WHERE t.id = u.id")

    assert isinstance(statement, st.Delete)
    assert statement.using is not None
    assert statement.using.name == "u, v AS w"


def test_merge_has_clauses_in_order() -> None:
    statement = one(
        """MERGE INTO t USING (SELECT 1 AS id) AS s USING (id)
        WHEN MATCHED AND s.id > 5 THEN DELETE
        WHEN MATCHED THEN UPDATE SET a = s.a
        WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)
        WHEN NOT MATCHED BY SOURCE THEN DO NOTHING
        WHEN NOT MATCHED BY TARGET THEN ERROR"""
    )

    assert isinstance(statement, st.Merge)
    assert statement.using == ("id",)
    assert [clause.when for clause in statement.clauses] == [
        "matched", "matched", "not_matched", "not_matched_by_source", "not_matched",
    ]  # fmt: skip
    assert [type(clause.action) for clause in statement.clauses] == [
        st.MergeDelete, st.MergeUpdate, st.MergeInsert, st.MergeNothing, st.MergeError,
    ]  # fmt: skip


@pytest.mark.parametrize("action", ["UPDATE", "UPDATE SET *", "UPDATE BY NAME"])
def test_merge_update_takes_all_columns_when_it_lists_none(action: str) -> None:
    statement = one(f"MERGE INTO t USING u ON t.id = u.id WHEN MATCHED THEN {action}")

    assert isinstance(statement, st.Merge)
    assert statement.clauses[0].action == st.MergeUpdate(None, by_name="NAME" in action)


def test_call_has_constants_as_values_and_other_arguments_as_trees() -> None:
    statement = one("CALL lake.f('a', -1, 1.5, true, NULL, [1, 2], at => now(), n := {'k': 'v'})")

    assert isinstance(statement, st.Call)
    assert statement.function == ("lake", "f")
    assert statement.arguments == ("a", -1, Decimal("1.5"), True, None, [1, 2])
    assert isinstance(statement.named["at"], exp.Expr)
    assert statement.named["n"] == {"k": "v"}


def test_variable_keeps_its_expression() -> None:
    statement = one("SET VARIABLE v = (SELECT max(a) FROM t)")

    assert isinstance(statement, st.SetVariable)
    assert statement.name == "v"


@pytest.mark.parametrize("text", ["EXPLAIN SELECT 1", "EXPLAIN ANALYZE INSERT INTO t VALUES (1)"])
def test_explain_holds_the_statement(text: str) -> None:
    statement = one(text)

    assert isinstance(statement, st.Explain)
    assert statement.analyze == ("ANALYZE" in text)


def test_prepare_holds_the_statement() -> None:
    statement = one("PREPARE q AS SELECT ?")

    assert isinstance(statement, st.Prepare)
    assert isinstance(statement.statement, st.Query)


def test_texts_of_several_statements_are_read_in_order_when_comments_stand_between() -> None:
    found = parse("/* a; */ BEGIN; -- first;\n;SELECT ';' ;\nCOMMIT;")

    assert [type(statement) for statement in found] == [st.Begin, st.Query, st.Commit]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?::INTEGER, ? :: VARCHAR",
        "FROM t AT (VERSION => 3)",
        "SELECT * EXCLUDE (a) FROM t",
        "WITH c AS (SELECT 1) FROM c",
        "VALUES (1), (2)",
        "(SELECT 1) UNION ALL (SELECT 2) ORDER BY 1",
        "FROM settings()",
        "SELECT range FROM range(9) WHERE range < 3",
        "FROM (DESCRIBE t)",
        "FROM (SHOW ALL TABLES) WHERE name = 'x'",
    ],
)
def test_query_is_read(text: str) -> None:
    assert isinstance(one(text), st.Query)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("SELEC 1", "line 1, column 1"),
        ("SELECT 1;\nSELECT FROM WHERE", "line 2"),
        ("CREATE TABLE t\n  (a INT,\n   b WHAT)", "WHAT"),
        ("ALTER TABLE t FROB c", "line 1, column 15"),
        ("SELECT 1 1 1", "line 1"),
        ("DROP TABLE", "line 1"),
        ("VACUUMS t", "line 1, column 1"),
    ],
)
def test_error_names_the_place_when_text_is_no_statement(text: str, place: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(text)

    assert place in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_error_says_so_when_quote_is_open() -> None:
    with pytest.raises(SqlSyntaxError, match="not closed"):
        parse("SELECT 'a")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("SELECT * FROM t LATERAL VIEW explode(a) AS x", st.Query),
        ("CREATE TABLE t (a ARRAY<INT>, b STRING, c TIMESTAMP)", st.CreateTable),
        ("INSERT INTO t VALUES (1)", st.Insert),
        ("DELETE FROM `my t` WHERE a = 1", st.Delete),
        ("CALL lake.snapshots()", st.Call),
    ],
)
def test_statement_is_read_when_dialect_is_spark(text: str, kind: type) -> None:
    (statement,) = parse(text, dialect="spark")

    assert isinstance(statement, kind)
    if isinstance(statement, st.CreateTable):
        assert [c.type for c in statement.columns] == [
            parse_sql_type(name) for name in ("INTEGER[]", "VARCHAR", "TIMESTAMPTZ")
        ]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("VACUUM t", "cleanup_old_files"),
        ("OPTIMIZE t", "merge_adjacent_files"),
        ("GRANT SELECT ON t TO ada", "rights"),
        ("CREATE TABLE t (a INT) USING delta", "USING ducklake"),
        ("CREATE TABLE t (a INT) TBLPROPERTIES ('x' = 'y')", "set_option"),
        ("CREATE TABLE t (a INT COMMENT 'x')", "COMMENT ON COLUMN"),
    ],
)
def test_an_unsupported_statement_names_what_is_close(text: str, hint: str) -> None:
    with pytest.raises(NotSupported) as caught:
        parse(text, dialect="spark")
    assert hint in (caught.value.hint or "")


def test_a_misspelt_statement_names_what_is_close() -> None:
    with pytest.raises(SqlSyntaxError, match=r'line 1, column 1.*did you mean "SELECT"'):
        parse("SELEC 1")


@pytest.mark.parametrize(
    ("spark", "duckdb"),
    [
        ("CREATE TABLE `a b` (i INT) USING ducklake", 'CREATE TABLE "a b" (i INTEGER)'),
        ("CREATE NAMESPACE s", "CREATE SCHEMA s"),
        ("ALTER TABLE `t` RENAME COLUMN `a` TO `b c`", 'ALTER TABLE t RENAME COLUMN a TO "b c"'),
        ("ALTER TABLE t ALTER COLUMN c TYPE BIGINT", "ALTER TABLE t ALTER c SET DATA TYPE BIGINT"),
        ("DROP TABLE IF EXISTS `t`", "DROP TABLE IF EXISTS t"),
        ("DESCRIBE TABLE EXTENDED t", "DESCRIBE t"),
        ("USE `lake`.main", "USE lake.main"),
        ("TRUNCATE TABLE t", "TRUNCATE t"),
    ],
)
def test_sparks_words_are_the_same_statement(spark: str, duckdb: str) -> None:
    assert parse(spark, dialect="spark") == parse(duckdb)

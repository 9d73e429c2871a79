"""Tables become relations, scope by scope; each rewrite shows in the text."""

from __future__ import annotations

import pytest
from sqlglot import exp

from ducklake_spark.errors import InvalidInput, NotSupported
from ducklake_spark.sql.parse import parse, parse_expression
from ducklake_spark.sql.relations import Relation, TableFunctionCall, TableReference
from ducklake_spark.sql.render import bind_variables, literal_value, render_expression, to_spark
from ducklake_spark.sql.statements import Query


class Recorder:
    """Answers every question with a name and remembers it."""

    def __init__(self, columns: tuple[str, ...] | None = None) -> None:
        self.references: list[TableReference] = []
        self.calls: list[TableFunctionCall] = []
        self.columns = columns

    def table(self, reference: TableReference) -> Relation:
        self.references.append(reference)
        name = f"v_{reference.parts[-1]}"
        return Relation(name, hidden=reference.virtual_columns, columns=self.columns)

    def table_function(self, call: TableFunctionCall) -> str:
        self.calls.append(call)
        return f"f_{call.parts[-1]}"


def render(text: str, recorder: Recorder | None = None) -> str:
    (statement,) = parse(text)
    assert isinstance(statement, Query)
    return to_spark(statement.tree, recorder or Recorder()).replace("`", "")


def test_table_keeps_its_own_name_as_alias_when_it_has_none() -> None:
    assert render("SELECT t.a, s.t.b, l.s.t.c FROM l.s.t") == "SELECT t.a, t.b, t.c FROM v_t AS t"


def test_tables_of_one_name_are_told_apart_when_schemas_differ() -> None:
    text = render("SELECT a.t.x, b.t.x FROM a.t JOIN b.t ON a.t.x = b.t.x")

    assert text == "SELECT a.t.x, b.t.x FROM v_t AS a.t JOIN v_t AS b.t ON a.t.x = b.t.x"


def test_struct_field_is_left_alone_when_no_table_has_that_name() -> None:
    assert render("SELECT s.f.g FROM t") == "SELECT s.f.g FROM v_t AS t"


def test_cte_is_no_table_in_its_scope_only() -> None:
    recorder = Recorder()

    render("WITH c AS (FROM t) SELECT * FROM c WHERE a IN (WITH d AS (FROM c) FROM d)", recorder)
    assert [reference.parts for reference in recorder.references] == [("t",)]


def test_cte_reads_the_table_of_its_own_name_when_not_recursive() -> None:
    assert render("WITH t AS (FROM t) FROM t") == (
        "WITH t AS (SELECT * FROM v_t AS t) SELECT * FROM t"
    )


def test_recursive_cte_reads_itself() -> None:
    recorder = Recorder()

    render("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) FROM r", recorder)
    assert recorder.references == []


def test_inner_cte_shadows_table_only_inside() -> None:
    recorder = Recorder()

    render("SELECT * FROM (WITH t AS (SELECT 1) FROM t) x JOIN t ON true", recorder)
    assert [reference.parts for reference in recorder.references] == [("t",)]


def test_time_travel_is_handed_on() -> None:
    recorder = Recorder()

    render("FROM t AT (VERSION => 3), u AT (TIMESTAMP => now())", recorder)
    first, second = (reference.at for reference in recorder.references)
    assert first is not None and first.kind == "version"
    assert literal_value(first.value) == 3
    assert second is not None and second.kind == "timestamp"


def test_table_function_gets_its_arguments() -> None:
    recorder = Recorder()

    text = render("FROM lake.changes('t', 1, a => 2, b := 'x', c = true) AS f", recorder)
    (call,) = recorder.calls
    assert call.parts == ("lake", "changes")
    assert call.arguments == ("t", 1)
    assert call.named == {"a": 2, "b": "x", "c": True}
    assert text == "SELECT * FROM f_changes AS f"


def test_statement_in_from_is_a_table_function() -> None:
    recorder = Recorder()

    render("FROM (DESCRIBE s.t) WHERE x", recorder)
    assert recorder.calls[0].parts == ("describe",)
    assert recorder.calls[0].arguments == ("DESCRIBE s.t",)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT rowid, * FROM t", "SELECT rowid, * EXCEPT (rowid) FROM v_t AS t"),
        (
            "SELECT t.* FROM t WHERE t.rowid = 1",
            "SELECT t.* EXCEPT (rowid) FROM v_t AS t WHERE t.rowid = 1",
        ),
        (
            "SELECT * FROM t JOIN u ON t.rowid = u.id",
            "SELECT t.* EXCEPT (rowid), u.* FROM v_t AS t JOIN v_u AS u ON t.rowid = u.id",
        ),
        (
            "SELECT count(*) FROM t WHERE rowid = 1",
            "SELECT COUNT(*) AS count_star() FROM v_t AS t WHERE rowid = 1",
        ),
        ("SELECT * FROM t", "SELECT * FROM v_t AS t"),
    ],
)  # fmt: skip
def test_star_hides_virtual_columns_when_query_mentions_them(query: str, expected: str) -> None:
    assert render(query) == expected


def test_column_is_named_as_in_duckdb_when_it_has_no_alias() -> None:
    assert render("SELECT A+1, count(*), UPPER(b), c FROM t") == (
        "SELECT A + 1 AS (A + 1), COUNT(*) AS count_star(), UPPER(b) AS upper(b), c FROM v_t AS t"
    )


def test_virtual_column_belongs_to_the_named_table_only() -> None:
    recorder = Recorder()

    render("SELECT x.filename FROM t AS x, u WHERE EXISTS (SELECT rowid FROM w)", recorder)
    found = {r.parts[-1]: r.virtual_columns for r in recorder.references}
    assert found["t"] == {"filename", "rowid"}
    assert found["w"] == {"rowid"}
    assert "filename" not in found["u"]


def test_real_column_is_shown_when_relation_hides_nothing() -> None:
    class Real(Recorder):
        def table(self, reference: TableReference) -> Relation:
            return Relation("v")

    assert render("SELECT filename, * FROM t", Real()) == "SELECT filename, * FROM v AS t"


def test_columns_are_listed_when_star_replaces() -> None:
    text = render("SELECT * REPLACE (a + 1 AS a) FROM t", Recorder(("a", "b")))

    assert text == "SELECT a + 1 AS a, b AS b FROM v_t AS t"


def test_star_is_refused_when_columns_are_unknown() -> None:
    with pytest.raises(NotSupported, match="columns"):
        render("SELECT * REPLACE (1 AS a) FROM t")


@pytest.mark.parametrize(
    "query",
    [
        "FROM t ASOF JOIN u ON t.a >= u.a",
        "FROM t POSITIONAL JOIN u",
        "FROM t LIMIT 10%",
        "PIVOT t ON a USING sum(b)",
        "SELECT hash(a) FROM t",
        "SELECT typeof(a + b) FROM t",
    ],
)
def test_query_is_refused_when_spark_has_no_such_thing(query: str) -> None:
    with pytest.raises(NotSupported):
        render(query)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("7 // a", "(7 DIV NULLIF(`a`, 0))"),
        ("7 % 2", "7 % 2"),
        ("CAST(1.5 AS INT)", "CAST(ROUND(1.5, 0) AS INT)"),
        ("a::UINTEGER::TIMESTAMP_S", None),
        ("{'a': 1}", "NAMED_STRUCT('a', 1)"),
        ("MAP {'a': 1}['a']", "MAP('a', 1)['a']"),
        ("l[1]", "TRY_ELEMENT_AT(`l`, 1)"),
        ("l[-1]", "TRY_ELEMENT_AT(`l`, -1)"),
        ("TIMESTAMP '2020-01-01'", "CAST('2020-01-01' AS TIMESTAMP_NTZ)"),
        ("'2020-01-01'::TIMESTAMPTZ", "CAST('2020-01-01' AS TIMESTAMP)"),
        ("x::HUGEINT[]", "CAST(`x` AS ARRAY<DECIMAL(38, 0)>)"),
        ("'\\x00a'::BLOB", "UNHEX('0061')"),
        ("a LIKE 'x\\%'", "`a` LIKE 'x\\\\\\\\%'"),
        ("count()", "COUNT(*)"),
        ("list_transform(l, lambda x: x + 1)", "TRANSFORM(`l`, `x` -> `x` + 1)"),
        ("'a' IN s", "CONTAINS(`s`, 'a')"),
    ],
)
def test_expression_is_rewritten(expression: str, expected: str | None) -> None:
    text = render_expression(parse_expression(expression))

    if expected is not None:
        assert text == expected


def test_variables_and_parameters_become_constants() -> None:
    tree = parse_expression("getvariable('X') + ? + ? + coalesce(getvariable('none'), 1)")

    bound = bind_variables(tree, {"x": 5}, [6, 7])
    assert bound.sql() == "5 + 6 + 7 + COALESCE(NULL, 1)"
    assert "getvariable" in tree.sql(dialect="duckdb").lower()


def test_named_parameters_are_bound_by_name() -> None:
    bound = bind_variables(parse_expression("$a || $b"), {}, {"a": "x", "b": "y"})

    assert bound.sql() == "'x' || 'y'"


def test_parameter_without_value_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="has no value"):
        bind_variables(parse_expression("? + ?"), {}, [1])


def test_tree_is_not_changed_by_rendering() -> None:
    (statement,) = parse("SELECT a / b FROM s.t")
    assert isinstance(statement, Query)
    before = statement.tree.sql()

    to_spark(statement.tree, Recorder())
    assert statement.tree.sql() == before
    assert isinstance(statement.tree, exp.Select)


def test_query_keeps_its_meaning_when_given_in_the_dialect_of_spark() -> None:
    (statement,) = parse("SELECT a / 2, l[0], log(a) FROM s.t", dialect="spark")
    assert isinstance(statement, Query)

    text = to_spark(statement.tree, Recorder()).replace("`", "")
    assert text == "SELECT a / 2, l[0], LN(a) FROM v_t AS t"


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("SELECT * FROM `t` VERSION AS OF 3", "version", 3),
        ("SELECT * FROM t FOR VERSION AS OF 3", "version", 3),
        ("SELECT * FROM t TIMESTAMP AS OF '2024-01-01'", "timestamp", "2024-01-01"),
        ("SELECT * FROM t FOR SYSTEM_TIME AS OF '2024-01-01'", "timestamp", "2024-01-01"),
    ],
)
def test_time_travel_in_sparks_words_names_the_snapshot(text, kind, value) -> None:
    recorder = Recorder()
    (statement,) = parse(text, dialect="spark")
    assert to_spark(statement.tree, recorder) == "SELECT * FROM `v_t` AS `t`"
    (reference,) = recorder.references
    assert (reference.at.kind, literal_value(reference.at.value)) == (kind, value)


def test_a_moment_computed_in_sparks_dialect_keeps_sparks_meaning() -> None:
    recorder = Recorder()
    (statement,) = parse("SELECT * FROM t TIMESTAMP AS OF array('2024-01-01')[0]", dialect="spark")
    to_spark(statement.tree, recorder)
    assert render_expression(recorder.references[0].at.value) == "ARRAY('2024-01-01')[0]"


def test_table_functions_of_spark_stay_when_the_dialect_is_spark() -> None:
    recorder = Recorder()
    (statement,) = parse("SELECT * FROM range(3) JOIN snapshots()", dialect="spark")
    assert "RANGE(3)" in to_spark(statement.tree, recorder)
    assert [call.parts for call in recorder.calls] == [("snapshots",)]


def test_values_that_are_computed_keep_sparks_meaning_when_the_dialect_is_spark() -> None:
    (plain,) = parse("INSERT INTO t VALUES (1, -2, 'a', NULL, true, DEFAULT)", dialect="spark")
    assert isinstance(plain.source, exp.Values)
    (computed,) = parse("INSERT INTO t VALUES (array(1)[0], CAST(1.5 AS INT))", dialect="spark")
    assert "ARRAY(1)[0], CAST(1.5 AS INT)" in to_spark(computed.source, Recorder())


def test_where_may_use_names_of_the_select_list_that_no_column_has() -> None:
    recorder = Recorder(columns=("a", "c"))
    assert render("SELECT a + 1 AS b FROM t WHERE b > 2", recorder).endswith("WHERE (a + 1) > 2")
    kept = render("SELECT a + 1 AS c FROM t WHERE c > 2", recorder)
    assert kept.endswith("WHERE c > 2")
    unknown = render("SELECT a + 1 AS b FROM t WHERE b > 2", Recorder())
    assert unknown.endswith("WHERE b > 2")


def test_a_list_that_is_null_has_a_type() -> None:
    assert render("SELECT list_contains(NULL, 1) AS x") == "SELECT CAST(NULL AS BOOLEAN) AS x"
    assert "FILTER(IF(FALSE, ARRAY(), NULL)" in render("SELECT list_sum(NULL) AS x")

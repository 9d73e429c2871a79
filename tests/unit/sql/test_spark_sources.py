"""In Spark's dialect tables become relations, scope by scope; nothing else changes its meaning."""

from __future__ import annotations

import pytest
from sqlglot import exp

from ducklake_spark.errors import NotSupported
from ducklake_spark.sql.literals import literal_value
from ducklake_spark.sql.parse import parse
from ducklake_spark.sql.relations import Relation, TableFunctionCall, TableReference
from ducklake_spark.sql.sources import plain_text, spark_text
from ducklake_spark.sql.statements import Query


class Recorder:
    """Answers every question with a name and remembers it."""

    def __init__(self) -> None:
        self.references: list[TableReference] = []
        self.calls: list[TableFunctionCall] = []

    def table(self, reference: TableReference) -> Relation:
        self.references.append(reference)
        return Relation(f"v_{reference.parts[-1]}", hidden=reference.virtual_columns)

    def table_function(self, call: TableFunctionCall) -> Relation:
        self.calls.append(call)
        return Relation(f"f_{call.parts[-1]}")


def render(text: str, recorder: Recorder | None = None) -> str:
    (statement,) = parse(text, dialect="spark")
    assert isinstance(statement, Query)
    return spark_text(statement.tree, recorder or Recorder()).replace("`", "")


def test_table_keeps_its_own_name_as_alias_when_it_has_none() -> None:
    assert render("SELECT t.a, s.t.b, l.s.t.c FROM l.s.t") == "SELECT t.a, t.b, t.c FROM v_t AS t"


def test_tables_of_one_name_are_told_apart_when_schemas_differ() -> None:
    text = render("SELECT a.t.x, b.t.x FROM a.t JOIN b.t ON a.t.x = b.t.x")

    assert text == "SELECT a.t.x, b.t.x FROM v_t AS a.t JOIN v_t AS b.t ON a.t.x = b.t.x"


def test_struct_field_is_left_alone_when_no_table_has_that_name() -> None:
    assert render("SELECT s.f.g FROM t") == "SELECT s.f.g FROM v_t AS t"


def test_cte_is_no_table_in_its_scope_only() -> None:
    recorder = Recorder()

    render(
        "WITH c AS (SELECT * FROM t) SELECT * FROM c "
        "WHERE a IN (WITH d AS (SELECT * FROM c) SELECT * FROM d)",
        recorder,
    )
    assert [reference.parts for reference in recorder.references] == [("t",)]


def test_inner_cte_shadows_table_only_inside() -> None:
    recorder = Recorder()

    render("SELECT * FROM (WITH t AS (SELECT 1) SELECT * FROM t) x, t", recorder)
    assert [reference.parts for reference in recorder.references] == [("t",)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT *, rowid FROM t", "SELECT * EXCEPT (rowid), rowid FROM v_t AS t"),
        (
            "SELECT * EXCEPT (a) FROM t WHERE rowid = 1",
            "SELECT * EXCEPT (a, rowid) FROM v_t AS t WHERE rowid = 1",
        ),
        (
            "SELECT * FROM t JOIN u ON t.rowid = u.id",
            "SELECT t.* EXCEPT (rowid), u.* FROM v_t AS t JOIN v_u AS u ON t.rowid = u.id",
        ),
        ("SELECT * FROM t", "SELECT * FROM v_t AS t"),
    ],
)
def test_star_hides_virtual_columns_when_query_mentions_them(query: str, expected: str) -> None:
    assert render(query) == expected


def test_a_star_over_a_join_by_name_is_refused_beside_virtual_columns() -> None:
    with pytest.raises(NotSupported, match="list the columns"):
        render("SELECT *, t.rowid FROM t JOIN u USING (id)")


def test_virtual_column_belongs_to_the_named_table_only() -> None:
    recorder = Recorder()

    render("SELECT x.filename FROM t AS x, u WHERE EXISTS (SELECT rowid FROM w)", recorder)
    found = {r.parts[-1]: r.virtual_columns for r in recorder.references}
    assert found["t"] == {"filename", "rowid"}
    assert found["w"] == {"rowid"}
    assert "filename" not in found["u"]


def test_tree_is_not_changed_by_rendering() -> None:
    (statement,) = parse("SELECT a / b FROM s.t", dialect="spark")
    assert isinstance(statement, Query)
    before = statement.tree.sql()

    spark_text(statement.tree, Recorder())
    assert statement.tree.sql() == before
    assert isinstance(statement.tree, exp.Select)


def test_a_query_keeps_its_meaning() -> None:
    assert render("SELECT a / 2, l[0], log(a) FROM s.t") == (
        "SELECT a / 2, l[0], LN(a) FROM v_t AS t"
    )


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
    assert render(text, recorder) == "SELECT * FROM v_t AS t"
    (reference,) = recorder.references
    assert (reference.at.kind, literal_value(reference.at.value)) == (kind, value)


def test_a_moment_that_is_computed_keeps_sparks_meaning() -> None:
    recorder = Recorder()
    render("SELECT * FROM t TIMESTAMP AS OF array('2024-01-01')[0]", recorder)
    assert plain_text(recorder.references[0].at.value) == "ARRAY('2024-01-01')[0]"


def test_table_functions_of_spark_stay() -> None:
    recorder = Recorder()
    assert "RANGE(3)" in render("SELECT * FROM range(3) JOIN snapshots()", recorder)
    assert [call.parts for call in recorder.calls] == [("snapshots",)]


def test_values_that_are_computed_keep_sparks_meaning() -> None:
    (plain,) = parse("INSERT INTO t VALUES (1, -2, 'a', NULL, true, DEFAULT)", dialect="spark")
    assert isinstance(plain.source, exp.Values)
    (computed,) = parse("INSERT INTO t VALUES (array(1)[0], CAST(1.5 AS INT))", dialect="spark")
    assert "ARRAY(1)[0], CAST(1.5 AS INT)" in spark_text(computed.source, Recorder())

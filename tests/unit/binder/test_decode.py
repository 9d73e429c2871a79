"""Plans that DuckDB's binder serialises, decoded: shapes, types, and refusal of what is unknown."""

from __future__ import annotations

import json

import duckdb
import pytest

from ducklake_spark.binder import operators as op
from ducklake_spark.binder.decode import decode_operator, decode_plan
from ducklake_spark.binder.expressions import Constant, FrameBound, Function, Ref, walk
from ducklake_spark.binder.operators import types_of
from ducklake_spark.binder.types import BIGINT, INTEGER, VARCHAR, decimal
from ducklake_spark.errors import NotSupported

TABLES = """
CREATE TABLE t (id INTEGER, name VARCHAR, d DECIMAL(10, 2), l INTEGER[], ts TIMESTAMP,
    s STRUCT(a INTEGER, "b c" VARCHAR), m MAP(VARCHAR, INTEGER), e ENUM ('x', 'y'),
    u UNION (n INTEGER, v VARCHAR), three INTEGER[3], j JSON);
CREATE TABLE r (id INTEGER, v INTEGER);
CREATE MACRO twice(x) AS x * 2;
CREATE VIEW seen AS SELECT id AS x FROM r;
"""

# Each of these decodes to a plan whose types are those that DuckDB tells.
QUERIES = [
    "FROM t",
    "SELECT rowid, id FROM r",
    "SELECT count(*) FROM r",
    "SELECT twice(x) FROM seen",
    "VALUES (1, 'a'), (0, NULL), (2, '')",
    "SELECT 1 WHERE 1 = 0",
    "FROM t SEMI JOIN r USING (id)",
    "FROM t ANTI JOIN r USING (id)",
    "FROM t ASOF LEFT JOIN r ON t.id >= r.id",
    "FROM t POSITIONAL JOIN r",
    "FROM t FULL JOIN r ON t.id = r.id AND t.d > 3",
    "FROM t JOIN r ON t.id = r.id OR t.id = r.v",
    "FROM r LIMIT 10%",
    "FROM r LIMIT (SELECT 3) OFFSET 1 + 1",
    "FROM r USING SAMPLE reservoir(5 ROWS) REPEATABLE (42)",
    "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5) FROM c",
    "WITH RECURSIVE c (a, b) USING KEY (a) AS (SELECT 1, 3 UNION SELECT c.a + 1, k.b FROM c "
    "JOIN recurring.c k ON true WHERE c.a < 3) FROM c",
    "WITH c AS MATERIALIZED (FROM r) SELECT * FROM c a JOIN c b USING (id)",
    "SELECT id, unnest(l), unnest([1, 2]) FROM t",
    "FROM t, unnest(t.l) WITH ORDINALITY AS x (y)",
    "FROM r, range(r.v) AS g (i)",
    "SELECT list_transform(l, lambda x, i: x + i + id) FROM t",
    "SELECT list_reduce(l, lambda a, b: a + b, 3) FROM t",
    "SELECT id IN (SELECT id FROM r), id > ALL (SELECT v FROM r), (SELECT max(v) FROM r) FROM t",
    "SELECT *, (SELECT v FROM r WHERE r.id = t.id LIMIT 1) FROM t",
    "FROM t LEFT JOIN LATERAL (FROM r WHERE r.id = t.id) x ON true",
    "UNPIVOT r ON id, v INTO NAME n VALUE x",
    "PIVOT r ON id IN (1, 2) USING sum(v)",
    "SELECT id, grouping(id), count(*) FROM r GROUP BY CUBE (id, v)",
    "SELECT DISTINCT ON (id) id, v FROM r ORDER BY v",
    "FROM r EXCEPT ALL SELECT 1, 2",
    "FROM r INTERSECT SELECT 1, 2",
    "SELECT list(v ORDER BY id DESC), quantile(v, [0.2, 0.5]), count(DISTINCT v), "
    "sum(v) FILTER (v > 1), string_agg(v::VARCHAR, '-') FROM r",
    "SELECT {'a': 1}, [1, 2], map {'a': 1}, row(1, 2), INTERVAL 3 DAY, 'x'::BLOB, "
    "170141183460469231731687303715884105727::HUGEINT, [1, 2]::INTEGER[2], NULL",
    "SELECT sum(DISTINCT v) FILTER (v > 1) OVER (ORDER BY v GROUPS BETWEEN 1 PRECEDING AND 2 "
    "FOLLOWING EXCLUDE TIES), lag(v, id, 3) OVER (ORDER BY id), rank(ORDER BY v) OVER () FROM r",
    "DESCRIBE r",
]


@pytest.fixture(scope="module")
def mirror():
    con = duckdb.connect()
    con.execute(TABLES)
    yield con
    con.close()


def serialised(con, text):
    query = "SELECT json_serialize_plan(?, skip_default := true)"
    (answer,) = con.execute(query, [text]).fetchone()
    return json.loads(answer)


def plan_of(con, text):
    return decode_plan(serialised(con, text))


@pytest.mark.parametrize("text", QUERIES)
def test_a_plan_has_the_types_that_duckdb_tells(mirror, text):
    plan = plan_of(mirror, text)
    told = [str(each) for each in mirror.sql(text).types]
    found = [str(each).replace("ROW(", "STRUCT(").replace('"', "") for each in types_of(plan)]
    assert found[: len(told)] == [each.replace('"', "") for each in told]


def test_names_are_places_and_casts_are_written_out(mirror):
    plan = plan_of(mirror, "SELECT id + 1.5, name FROM t WHERE id > 2")
    assert isinstance(plan, op.Projection)
    assert isinstance(plan.child, op.Filter)
    table = plan.child.child
    assert isinstance(table, op.Get)
    assert (table.table, table.columns) == ("t", ("id", "name"))
    addition, name = plan.expressions
    assert isinstance(addition, Function)
    assert [str(child.type) for child in addition.children] == ["DECIMAL(12,1)", "DECIMAL(12,1)"]
    assert Ref(0, INTEGER) in list(walk(addition))
    assert name == Ref(1, VARCHAR)


def test_a_table_of_which_nothing_is_read_gives_its_row_id(mirror):
    plan = plan_of(mirror, "SELECT count(*) FROM r")
    while not isinstance(plan, op.Get):
        plan = plan.child
    assert (plan.columns, plan.types) == ((None,), (BIGINT,))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("''", ""),
        ("1.5", 15),
        ("170141183460469231731687303715884105727", 2**127 - 1),
        ("-170141183460469231731687303715884105727", -(2**127) + 1),
        ("NULL", None),
    ],
)
def test_a_constant_keeps_its_value(mirror, text, value):
    plan = plan_of(mirror, f"SELECT {text}")
    found = [each for each in walk(plan.expressions[0]) if isinstance(each, Constant)]
    assert [each.value for each in found] == [value]


def test_a_decimal_constant_keeps_its_scale(mirror):
    (constant,) = plan_of(mirror, "SELECT 1.50").expressions
    assert constant == Constant(150, decimal(3, 2))


def test_a_frame_is_told_apart_from_its_unit(mirror):
    text = "SELECT sum(v) OVER (ORDER BY v ROWS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING) FROM r"
    (window,) = plan_of(mirror, text).child.windows
    assert (window.unit, window.start.kind) == ("ROWS", "PRECEDING")
    assert window.end == FrameBound("UNBOUNDED FOLLOWING")


def test_a_lambda_has_parameters_and_captures(mirror):
    (call,) = plan_of(mirror, "SELECT list_filter(l, lambda x, i: x > id) FROM t").expressions
    assert call.body is not None
    assert call.body.parameters == 2
    assert [type(child) for child in call.children] == [Ref, Ref]
    assert call.bind_data == {}


def test_an_operator_that_is_not_known_is_refused():
    with pytest.raises(NotSupported, match="TIME_MACHINE"):
        decode_operator({"type": "LOGICAL_TIME_MACHINE", "children": []})


def test_a_field_that_nobody_reads_is_refused(mirror):
    document = serialised(mirror, "SELECT id FROM r")
    document["plans"][0]["backwards"] = True
    with pytest.raises(NotSupported, match="backwards"):
        decode_plan(document)


def test_a_collation_is_refused(mirror):
    with pytest.raises(NotSupported, match="collation"):
        plan_of(mirror, "SELECT name COLLATE NOCASE FROM t ORDER BY name COLLATE NOCASE")

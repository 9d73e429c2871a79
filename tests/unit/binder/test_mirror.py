"""The mirror holds empty tables as a query names them, and nothing else can be reached from it."""

from __future__ import annotations

import pytest

from ducklake_spark.binder.bind import bind_query
from ducklake_spark.binder.errors import Texts
from ducklake_spark.binder.mirror import (
    BindSettings,
    Mirror,
    MirrorMacro,
    MirrorTable,
    MirrorView,
    Name,
)
from ducklake_spark.binder.operators import Get, Projection
from ducklake_spark.errors import DuckLakeError, FunctionNotFound, InvalidInput

ORDERS = Name("shop", "main", "orders")


def table(*columns, name=ORDERS):
    return MirrorTable(name, columns)


def bound(mirror, text):
    return bind_query(mirror, Texts(text, text))


@pytest.fixture
def mirror():
    found = Mirror(BindSettings())
    found.hold([table(("id", "BIGINT"), ("total", "DECIMAL(12,2)"))])
    found.stand_at(("shop", "main"))
    return found


def test_a_view_of_columns_that_are_gone_is_refused_by_name(mirror):
    view = MirrorView(Name("shop", "main", "v"), "SELECT lost FROM shop.main.orders")
    with pytest.raises(InvalidInput, match=r'VIEW "shop"."main"."v" cannot be used: .*"lost"'):
        mirror.hold([table(("id", "BIGINT")), view])


def test_a_bare_name_is_looked_up_where_the_mirror_stands(mirror):
    other = Name("shop", "Other Schema", "orders")
    mirror.hold([table(("x", "INTEGER"), name=other)])
    assert bound(mirror, "FROM orders").names == ("id", "total")
    mirror.stand_at(("shop", "Other Schema"))
    assert bound(mirror, "FROM orders").names == ("x",)
    assert bound(mirror, "FROM shop.main.orders").names == ("id", "total")


def test_a_plan_names_the_table_with_its_columns(mirror):
    plan = bound(mirror, "SELECT total FROM orders").plan
    assert isinstance(plan, Projection)
    assert isinstance(plan.child, Get)
    assert (plan.child.catalog, plan.child.table, plan.child.columns) == (
        *("shop", "orders"),
        ("total",),
    )


def test_a_changed_table_is_replaced_and_the_views_over_it_show_its_columns(mirror):
    view = MirrorView(Name("shop", "main", "v"), "SELECT * FROM shop.main.orders", ("number",))
    mirror.hold([table(("id", "BIGINT")), view])
    assert bound(mirror, "FROM v").names == ("number",)
    mirror.hold([table(("id", "VARCHAR"), ("more", "DATE")), view])
    assert bound(mirror, "FROM v").names == ("number", "more")
    assert bound(mirror, "FROM v").types == ("VARCHAR", "DATE")


def test_a_macro_that_is_gone_is_not_called_any_more(mirror):
    mirror.hold([MirrorMacro(Name("shop", "main", "twice"), ("(x, k := 2) AS x * k",))])
    assert bound(mirror, "SELECT twice(id, k := 3) AS n FROM orders").types == ("BIGINT",)
    mirror.hold([], macros=["twice"])
    with pytest.raises(FunctionNotFound, match="twice"):
        bound(mirror, "SELECT twice(id) FROM orders")


def test_variables_have_their_types_and_go_away(mirror):
    mirror.know({"n": [1, 2]})
    assert bound(mirror, "SELECT getvariable('n') AS n").types == ("INTEGER[]",)
    mirror.know({"n": "x"})
    assert bound(mirror, "SELECT getvariable('n') AS n").types == ("VARCHAR",)
    mirror.know({})
    assert bound(mirror, "SELECT getvariable('n') AS n").types == ("INTEGER",)


@pytest.mark.parametrize(
    "text",
    [
        "FROM 'secret.csv'",
        "FROM read_csv('/etc/passwd')",
        "FROM read_text('/etc/passwd')",
        "FROM glob('/etc/*')",
    ],
)
def test_no_text_makes_the_mirror_open_a_file(mirror, text):
    with pytest.raises(DuckLakeError):
        bound(mirror, text)


def test_no_text_can_unlock_the_mirror(mirror):
    with pytest.raises(Exception, match="locked"):
        mirror.ask("SET enable_external_access = true")
    with pytest.raises(Exception, match="disabled"):
        mirror.ask("COPY (SELECT 1) TO 'out.csv'")


def test_the_time_zone_is_the_one_that_was_given():
    assert Mirror(BindSettings("Asia/Tokyo")).ask(
        "SELECT TIMESTAMPTZ '2024-01-01 00:00:00+00' = TIMESTAMP '2024-01-01 09:00:00'"
    ) == [(True,)]

"""DuckDB's text of a bound expression, bound again, is the same expression."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from ducklake_spark.binder.expressions import Function, Ref
from ducklake_spark.errors import NotSupported
from ducklake_spark.translate.engine_text import EngineText, nature_of
from support.bound_expressions import Binder

COLUMNS = {
    "i": "INTEGER",
    "b": "BIGINT",
    "d": "DOUBLE",
    "s": "VARCHAR",
    "l": "INTEGER[]",
    "ll": "INTEGER[][]",
    "dt": "DATE",
    "ts": "TIMESTAMP",
    "tz": "TIMESTAMPTZ",
    "dec": "DECIMAL(10, 2)",
    "wide": "DECIMAL(18, 4)",
    "u": "UTINYINT",
    "h": "HUGEINT",
    "iv": "INTERVAL",
    "st": 'STRUCT(a INTEGER, "b c" VARCHAR)',
    "m": "MAP(VARCHAR, INTEGER)",
    "e": "ENUM('x', 'y''z')",
    "bl": "BLOB",
    "j": "JSON",
    "tm": "TIME",
    "arr": "INTEGER[3]",
}
SAME = """
i + 1 | i - b | i * 2 | i / 3 | i // 3 | i % 3 | -i | i & 3 | i | i << 2 | ~i | i ^ 2 | @i | i !
dec + 1 | dec + dec | dec - wide | dec * dec | dec * 2 | -dec | dec % 3 | dec / 3 | wide * wide
1.50 + dec | 0.05 * dec | round(dec, 1) | i + 1.5 | i::DECIMAL(10, 2) * dec | d + 1 | d * 1e30
i > 3 | i = u | d <> 1.5 | dec <= 2.50 | s < 'x' | i IS DISTINCT FROM b | i IS NOT DISTINCT FROM 3
i > 3 AND s = 'x' OR NOT d < 1 | i IS NULL | s IS NOT NULL | i BETWEEN 1 AND 2 | i IN (1, 2, 3)
s NOT IN ('a', 'b') | CASE WHEN i > 1 THEN 'a' WHEN i < 0 THEN s END
CASE i WHEN 1 THEN 2 END
coalesce(i, b, 3) | ifnull(s, 'x') | nullif(i, 3) | TRY(s::INTEGER) | CAST(s AS INTEGER)
TRY_CAST(s AS DATE) | i::UTINYINT | dec::DECIMAL(4, 1) | s::TIMESTAMPTZ | s::JSON | e::VARCHAR
s::ENUM('x', 'y') | e = 'x' | s LIKE 'a%' | s NOT ILIKE 'a_' | s SIMILAR TO 'a.*' | s GLOB 'a*'
s LIKE 'a' ESCAPE 'x' | s || 'y' | concat(s, i, NULL) | substring(s, 2, 3) | s[2]
s[1:2] | lower(s)
l[1] | l[1:2] | l[:2] | l[2:] | l[1:3:2] | l[:-:2] | [i, 2, NULL] | list_value() | [l, []]
l || [i] | arr[1]
list_transform(l, lambda x: x + i) | list_transform(l, lambda x, n: x - n * i) | arr[2]
list_filter(l, lambda x: x > b) | [x + 1 FOR x IN l IF x > i] | list_reduce(l, lambda a, b: a - b)
list_reduce(l, lambda a, c: a - c + i, 5) | list_reduce(l, lambda a, c, n: a - c - n - i)
list_transform(ll, lambda x: list_transform(x, lambda y: y + len(x) + i)) | list_sum(l)
list_aggregate(l, 'quantile_cont', 0.25) | list_aggregate(l, 'quantile_cont', [0.25, 0.5])
list_aggregate([s], 'string_agg', '-') | list_median(l) | list_sort(l, 'DESC') | list_distinct(l)
{'a': i, 'b c': s} | row(i, s) | st.a | st['b c'] | struct_insert(st, z := i) | struct_pack(q := i)
struct_update(st, "b c" := s, z := i + 1) | struct_update(st, A := s)
MAP {s: i} | m['k'] | map_keys(m) | map_extract(m, 'a') | map_from_entries([(s, i)])
date_part('year', dt) | date_part(['year', 'month'], ts) | extract(dow FROM dt) | dt + i
date_trunc('month', ts) | dt + INTERVAL 1 DAY | dt - DATE '2020-01-01' | ts - ts | iv * 2 | iv + iv
strftime(dt, '%Y') | strptime(s, '%Y') | strptime(s, ['%Y', '%m'])
ts AT TIME ZONE 'Europe/Berlin'
time_bucket(INTERVAL 1 DAY, ts) | date_diff('day', dt, ts::DATE) | make_date(2020, 1, i) | tm
j->'a' | j->>'$.a' | json_extract(j, ['$.a', '$.b']) | to_json(st) | json_object('a', i)
regexp_replace(s, 'a', 'b', 'g') | regexp_extract(s, '(a)(b)', ['x', 'y']) | printf('%d', i)
greatest(i, b) | least(d, 1.5) | hash(s) | bl::VARCHAR | encode(s) | h + 1 | h::DOUBLE | typeof(i)
'a''b\\c' || s
enum_code(e) | if(i > 1, 'a', s) | error(s) | random() + d | dec * 0.05 | dec + 0.05
i IN (1, NULL) | s::BLOB | INTERVAL 3 MONTH + iv | TIME '12:00:00' | hash(m)
list_contains(l, i) | i IN l | list_zip(l, l) | array_distance(arr::FLOAT[3], arr::FLOAT[3])
"""


def expressions() -> list[str]:
    return [each.strip() for line in SAME.strip().splitlines() for each in line.split(" | ")]


@pytest.fixture(scope="module")
def binder():
    return Binder(COLUMNS)


def without_places(value: Any) -> Any:
    """An expression without where it stood in its text, which the new text cannot keep."""
    if isinstance(value, tuple):
        return tuple(map(without_places, value))
    if not is_dataclass(value):
        return value
    if isinstance(value, Function):
        value = replace(value, location=-1, bind_data=_plain(value.bind_data))
    changed = {f.name: without_places(getattr(value, f.name)) for f in fields(value)}
    return type(value)(**changed)


def _plain(data: Any) -> Any:
    if isinstance(data, dict):
        return {k: _plain(v) for k, v in data.items() if k not in ("query_location", "alias")}
    return [_plain(each) for each in data] if isinstance(data, list) else data


def text_of(node: Any) -> str:
    names = [f'"{name}"' for name in COLUMNS]
    return EngineText(lambda n: names[n.index] if isinstance(n, Ref) else None).of(node)


@pytest.mark.parametrize("text", expressions())
def test_an_expression_survives_its_own_text(binder, text):
    (first,) = binder.bind(text)
    (again,) = binder.bind(text_of(first))
    assert without_places(again) == without_places(first), text_of(first)


@pytest.mark.parametrize(
    "text",
    ["current_query()", "setseed(0.5)", "txid_current()", "alias(i)"],
)
def test_what_is_not_understood_is_refused(binder, text):
    (node,) = binder.bind(text)
    with pytest.raises(NotSupported):
        text_of(node)


def test_a_call_is_volatile_also_inside_a_lambda(binder):
    plain, volatile = binder.bind("list_transform(l, lambda x: x)", "[x + random() FOR x IN l]")
    assert not nature_of(plain).is_volatile
    assert nature_of(volatile).is_volatile

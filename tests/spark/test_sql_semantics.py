"""The same query gives the same rows in DuckDB and, rewritten, in Spark."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from ducklake_spark.model.types import parse_sql_type
from ducklake_spark.sql.parse import parse
from ducklake_spark.sql.relations import Relation, TableFunctionCall, TableReference
from ducklake_spark.sql.render import to_spark
from ducklake_spark.sql.statements import Query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TABLES = {
    "t": """SELECT * FROM (VALUES
        (1, 'one', 1.5, 2.5::DOUBLE, DATE '2020-01-31', TIMESTAMP '2020-01-31 10:20:30.5', true),
        (2, 'two', 2.5, 3.5::DOUBLE, DATE '2021-02-28', TIMESTAMP '2021-02-28 23:59:59', false),
        (3, NULL, -2.5, -0.5::DOUBLE, DATE '2020-12-31', TIMESTAMP '1969-12-31 00:00:00', NULL),
        (4, 'Ünder_score', NULL, NULL, NULL, NULL, true))
        AS v(i, s, d, f, day, ts, b)""",
    "n": """SELECT i, [i, NULL, i + 1] AS l, {'a': i, 'b': 'x' || i} AS st,
        MAP {'k': i, 'j': i + 1} AS m, ['a', 'b'] AS tags
        FROM (VALUES (1), (2), (3)) AS v(i)""",
    "g": """SELECT * FROM
        (VALUES ('a', 1, 10), ('a', 2, 20), ('b', 3, 30), ('b', NULL, 40), ('c', 5, NULL))
        AS v(k, x, y)""",
}

# Expressions without a table.
SCALARS = """
1/2 | 7/0 | -7/0 | 0/0 | 1.0/3 | 7//2 | -7//2 | 7//0 | 7.5//2 | 7%3 | -7%3 | 7%0 | mod(7, 3)
CAST(2.5 AS INT) | CAST(-2.5 AS INT) | CAST(2.5::DOUBLE AS INT) | CAST(3.5::DOUBLE AS BIGINT)
true::INT | '12'::INT | 1.25::DECIMAL(4,1) | 1::BOOLEAN | 't'::BOOLEAN | 1.5::VARCHAR | true::VARCHAR
TRY_CAST('x' AS INT) | CAST('2020-01-01' AS DATE) | '2020-01-01 10:00:00'::TIMESTAMP
TIMESTAMPTZ '2020-01-01 10:00:00+02' | DATE '2020-02-29' | TIME '10:20:30' = TIME '10:20:30'
1 || 'a' | 'a' || NULL | concat('a', NULL, 'b') | concat_ws(',', 'a', NULL, 'b') | [1, 2] || [3]
2^3 | 2**3 | 5 & 3 | 5 | 3 | xor(5, 3) | ~5 | 1 << 3 | 16 >> 2
abs(-5) | sign(-2) | round(2.5) | round(-2.5) | round(2.567, 2) | ceil(1.2) | floor(-1.2) | trunc(1.7)
sqrt(4) | ln(1) | log(100) | log10(1000) | log2(8) | pow(2, 3) | exp(0) | pi() | factorial(5)
greatest(1, NULL, 3) | least(NULL, 2) | coalesce(NULL, 1) | ifnull(NULL, 1) | nullif(1, 1) | if(true, 1, 2)
isnan('nan'::DOUBLE) | 1 IS DISTINCT FROM NULL | 1 BETWEEN 0 AND 2 | CASE 1 WHEN 1 THEN 'a' END
substring('hello', 2) | substring('hello', -3, 2) | 'hello'[2:3] | 'hello'[2] | left('abc', 2) | right('abc', 2)
left('abc', -1) | right('abc', -1) | split_part('a,b,c', ',', 2) | split_part('a,b,c', ',', 5)
string_split('a,b', ',') | trim('  a ') | ltrim('xxa', 'x') | lpad('a', 3, 'x') | rpad('abcd', 2, 'x')
strpos('abc', 'c') | instr('abc', 'c') | position('c' IN 'abc') | contains('abc', 'b') | starts_with('abc', 'a')
'abc' ^@ 'a' | suffix('abc', 'c') | length('äb') | strlen('äb') | reverse('abc') | repeat('ab', 2) | chr(65) | ascii('A')
md5('a') | sha256('a') | upper('ab') | lower('AB') | replace('aba', 'a', 'x') | translate('abc', 'ab', 'xy')
levenshtein('kitten', 'sitting') | bin(5) | to_hex(255) | hex('a') | to_base64('a'::BLOB) | '\\x41b'::BLOB
encode('a') | decode('a'::BLOB) | unhex('61') | printf('%d-%s', 3, 'x') | concat('a', 1, true)
'abc' LIKE 'a%' | 'abc' ILIKE 'A%' | 'a_c' LIKE 'a\\_c' ESCAPE '\\' | 'abc' NOT LIKE 'b%' | 'abc' ~ 'a.*' | 'abc' ~ 'b'
'abc' SIMILAR TO 'a.*' | 'abc' GLOB 'a*' | regexp_matches('abc', 'b') | regexp_extract('abc', '(b)(c)', 2)
regexp_extract('abc', 'z') | regexp_replace('aaa', 'a', 'b') | regexp_replace('aaa', 'a', 'b', 'g') | regexp_full_match('abc', 'b')
regexp_replace('a1b2', '([a-z])', '<\\1>', 'g') | regexp_split_to_array('a1b2', '[0-9]') | regexp_extract_all('a1b2', '[0-9]')
[1, 2, 3][1] | [1, 2, 3][-1] | [1, 2, 3][0] | [1, 2, 3][5] | [1, 2, 3][2:3] | [1, 2, 3][-2:] | [1, 2, 3][:2]
len([1, 2]) | array_length([1, 2]) | list_contains([1, 2], 2) | list_position([1, 2], 2) | list_position([1, 2], 9)
list_sum([1, 2]) | list_avg([1, 2]) | list_min([2, 1]) | list_max([2, 1]) | list_count([1, NULL]) | list_sort([3, NULL, 2])
list_reverse_sort([3, 1, 2]) | list_sort([3, 1, 2], 'DESC') | list_reverse([1, 2]) | list_unique([1, 1, 2]) | list_concat([1], [2])
list_append([1], 2) | list_prepend(0, [1]) | list_filter([1, 2, 3], x -> x > 1) | list_transform([1, 2], lambda x: x * 2)
list_reduce([1, 2, 3], (a, b) -> a + b) | flatten([[1], [2]]) | list_aggregate([1, 2], 'sum') | array_slice([1, 2, 3], 1, 2)
list_slice([1, 2, 3], 2, 3) | list_extract([1, 2], 1) | array_to_string([1, 2], ',') | list_has_any([1, 2], [2, 3])
list_has_all([1, 2], [2]) | list_value(1, 2) | range(3) | range(5, 0, -2) | generate_series(1, 3) | range(0) | range(3, 1)
[x * 2 FOR x IN [1, 2, 3] IF x > 1] | 1 IN [1, 2] | 1 IN (1, 2) | 3 NOT IN (1, 2) | list_distinct([1, 1])
MAP {'a': 1}['a'] | MAP {'a': 1}['b'] | map_keys(MAP {'a': 1}) | map_values(MAP {'a': 1}) | cardinality(MAP {'a': 1})
MAP(['x', 'y'], [1, 2])['y'] | map_contains(MAP {'a': 1}, 'a')
{'a': 1}.a | {'a': 1}['a'] | struct_extract({'a': 1}, 'a') | struct_pack(a := 1, b := 'x') | {'a': {'b': 2}}.a.b
DATE '2020-01-31' + INTERVAL 1 MONTH | DATE '2020-01-01' + 1 | DATE '2020-01-03' - DATE '2020-01-01' | DATE '2020-01-03' - 1
TIMESTAMP '2020-01-01 00:00:00' + INTERVAL '1 day' | TIMESTAMP '2020-01-01' - INTERVAL 3 HOURS | DATE '2020-01-31' - INTERVAL '1 week'
year(DATE '2020-05-06') | month(DATE '2020-05-06') | day(DATE '2020-05-06') | hour(TIMESTAMP '2020-01-01 10:20:30') | minute(TIMESTAMP '2020-01-01 10:20:30')
second(TIMESTAMP '2020-01-01 10:20:30.7') | dayofweek(DATE '2020-01-05') | isodow(DATE '2020-01-05') | weekday(DATE '2020-01-05') | week(DATE '2020-01-05') | quarter(DATE '2020-05-06') | dayofyear(DATE '2020-02-05')
date_part('dow', DATE '2020-01-06') | date_part('year', DATE '2020-01-06') | extract(hour FROM TIMESTAMP '2020-02-05 10:20:00') | date_part('epoch', TIMESTAMP '2020-01-01')
date_part('milliseconds', TIMESTAMP '2020-01-01 00:00:01.5') | extract(second FROM TIMESTAMP '2020-01-01 10:20:30.7')
date_trunc('month', DATE '2020-02-05') | date_trunc('hour', TIMESTAMP '2020-02-05 10:20:00') | date_trunc('week', TIMESTAMP '2020-02-05 10:20:00') | date_trunc('year', TIMESTAMP '2020-02-05 10:20:00')
epoch(TIMESTAMP '2020-01-01') | epoch_ms(TIMESTAMP '2020-01-01') | epoch_us(TIMESTAMP '2020-01-01') | to_timestamp(0) | epoch_ms(1000)
date_diff('month', DATE '2020-01-31', DATE '2020-02-01') | datediff('day', DATE '2020-01-31', DATE '2020-02-02') | date_diff('year', DATE '2019-12-31', DATE '2020-01-01')
date_diff('hour', TIMESTAMP '2020-01-01 00:59:00', TIMESTAMP '2020-01-01 01:01:00') | date_sub('month', DATE '2020-01-31', DATE '2020-03-01')
strftime(DATE '2020-01-05', '%Y-%m-%d') | strftime(TIMESTAMP '2020-01-05 13:04:05', '%d/%m/%y %H:%M:%S') | strptime('2020-01-05', '%Y-%m-%d')
last_day(DATE '2020-02-05') | monthname(DATE '2020-02-05') | dayname(DATE '2020-02-05') | make_date(2020, 1, 2) | make_timestamp(2020, 1, 2, 3, 4, 5.5)
0.1 + 0.2 | 1.5 * 2.5 | 1.5 + 2 | 0.1::DOUBLE + 0.2 | 10 - 3 * 2 | -5 // 2 | (1 + 2) * 3 | 1e3 | 1_000 | 'it''s' | E'a\\tb'
typeof(1) | typeof('a') | typeof(1.5) | typeof([1]) | typeof(DATE '2020-01-01') | typeof(1::HUGEINT) | typeof(TIMESTAMP '2020-01-01')
"""

QUERIES = """
SELECT * FROM t
SELECT i, d::INT, f::INT, b::INT FROM t
SELECT i, f::BIGINT, d::SMALLINT FROM t
SELECT i / 2, i // 2, i % 2, i / (i - 1), d / 2, f / 0 FROM t
SELECT avg(i), avg(d), avg(f), sum(i), sum(d), sum(f), min(s), max(day) FROM t
SELECT count(), count(*), count(s), count(DISTINCT b) FROM t
SELECT k, sum(x), avg(y), count(*) FROM g GROUP BY ALL
SELECT k, sum(x) AS total FROM g GROUP BY k HAVING total > 2
SELECT k, sum(x) FILTER (WHERE x > 1), count(*) FILTER (x > 1) FROM g GROUP BY k
SELECT list(y ORDER BY y DESC) FROM g
SELECT k, list(x ORDER BY y), string_agg(y::VARCHAR, ',' ORDER BY y DESC) FROM g GROUP BY k
SELECT array_agg(x ORDER BY y NULLS FIRST) FROM g WHERE k = 'b'
SELECT list(DISTINCT k ORDER BY k) FROM g
SELECT arg_max(x, y), arg_min(x, y), max_by(x, y) FROM g
SELECT median(x), quantile_cont(x, 0.25), stddev(x), variance(x), stddev_pop(x) FROM g WHERE k < 'c'
SELECT bool_and(x > 0), bool_or(x > 4), bit_or(x), product(x) FROM g
SELECT any_value(x), first(k ORDER BY y), last(k ORDER BY y) FROM g WHERE x IS NOT NULL
SELECT sum(x) OVER (PARTITION BY k ORDER BY y) FROM g
SELECT k, x, row_number() OVER (PARTITION BY k ORDER BY y) AS r FROM g QUALIFY r = 1
SELECT k, x, lag(x) OVER (ORDER BY y), lead(x, 1, 0) OVER (ORDER BY y) FROM g
SELECT avg(x) OVER (PARTITION BY k) FROM g
SELECT rank() OVER w, dense_rank() OVER w, ntile(2) OVER w FROM g WINDOW w AS (ORDER BY k)
SELECT DISTINCT ON (k) k, y FROM g ORDER BY k, y DESC
SELECT DISTINCT k FROM g ORDER BY k
SELECT k, y FROM g ORDER BY ALL
SELECT y FROM g ORDER BY y DESC
SELECT x FROM g ORDER BY x
SELECT x FROM g ORDER BY x DESC NULLS FIRST LIMIT 2
SELECT y FROM g ORDER BY y LIMIT 2 OFFSET 1
FROM g
FROM g SELECT k WHERE x > 1
FROM range(3)
FROM range(3) t(i)
SELECT range FROM range(2, 5)
SELECT generate_series FROM generate_series(1, 3)
FROM generate_series(3, 1, -1)
FROM generate_series(0, 10, 4)
FROM range(0)
FROM range(5, 0, -2)
SELECT i, i * 2 AS j FROM range(1000) t(i) WHERE i % 250 = 0
SELECT a.i, b.i FROM range(2) a(i), range(2) b(i)
SELECT sum(i) FROM range(100000) t(i)
FROM range(DATE '2020-01-01', DATE '2020-01-04', INTERVAL 1 DAY)
FROM unnest([1, 2, 3])
FROM unnest([1, 2, 3]) u(x)
SELECT i, x FROM n, unnest(n.l) u(x)
SELECT i, unnest(l) FROM n
SELECT unnest([1, 2]) AS x
SELECT n.i, r.j FROM n, range(n.i) r(j)
VALUES (1, 'a'), (2, 'b')
SELECT col0, col1 FROM (VALUES (1, 'a'), (2, 'b'))
SELECT a + 1 FROM (VALUES (1), (2)) v(a)
SELECT * FROM (VALUES (1, 2.5), (2, 3)) v(a, b)
SELECT * FROM (VALUES (1, NULL), (NULL, 'x')) v(a, b)
SELECT l[1], l[2], l[-1], l[9], st.a, st['b'], m['k'], m['zzz'] FROM n
SELECT len(l), l[2:3], 'a' IN tags, 5 IN l FROM n
SELECT list_transform(l, x -> coalesce(x, 0) + i), list_filter(l, x -> x IS NOT NULL) FROM n
SELECT list_sum(l), list_sort(l), array_to_string(tags, '-') FROM n
SELECT st, m, l FROM n
SELECT {'x': i, 'y': [i]} AS s FROM n
SELECT 'on' IN s FROM t
SELECT * EXCLUDE (l, m, tags) FROM n
SELECT * REPLACE (i + 1 AS i) FROM g2
SELECT * REPLACE (x * 2 AS x) FROM g
SELECT * RENAME (x AS z) FROM g
SELECT COLUMNS(*) FROM g
SELECT max(COLUMNS(*)) FROM g
SELECT COLUMNS('^[xy]$') + 1 FROM g
SELECT COLUMNS(c -> c LIKE 'x%') FROM g
SELECT g.* FROM g JOIN t ON g.x = t.i
SELECT * FROM g JOIN (SELECT i AS x, s FROM t) u USING (x)
SELECT * FROM g NATURAL JOIN (SELECT 'a' AS k)
SELECT g.k, t.s FROM g LEFT JOIN t ON g.x = t.i
SELECT k FROM g SEMI JOIN t ON g.x = t.i
SELECT k FROM g ANTI JOIN t ON g.x = t.i
SELECT k, i FROM g CROSS JOIN (SELECT 1 AS i)
SELECT k FROM g WHERE x IN (SELECT i FROM t)
SELECT k FROM g WHERE EXISTS (SELECT 1 FROM t WHERE t.i = g.x)
SELECT k, (SELECT max(i) FROM t WHERE t.i <= g.x) FROM g
WITH c AS (SELECT k, sum(x) AS s FROM g GROUP BY k) SELECT * FROM c WHERE s > 3
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 4) SELECT * FROM r
WITH t AS (SELECT 5 AS i), u AS (SELECT * FROM t) SELECT * FROM u
SELECT k FROM g UNION SELECT s FROM t WHERE i = 1
SELECT x FROM g UNION ALL SELECT i FROM t
SELECT mode(k) FROM (SELECT k FROM g UNION ALL SELECT 'a')
SELECT * FROM g FULL JOIN (SELECT 9 AS x) USING (x)
SELECT * FROM g JOIN range(3) r(x) USING (x)
WITH c AS (SELECT x, k FROM g) SELECT * FROM c JOIN t ON c.x = t.i
WITH c AS (SELECT x, k FROM g) SELECT * FROM g JOIN c USING (k, x)
SELECT x FROM g EXCEPT SELECT i FROM t
SELECT x FROM g INTERSECT SELECT i FROM t
SELECT k, x FROM g UNION ALL BY NAME SELECT 7 AS x, 'z' AS k
SELECT k, sum(y) FROM g GROUP BY GROUPING SETS ((k), ())
SELECT k, x, sum(y) FROM g GROUP BY ROLLUP (k, x)
SELECT CASE WHEN x > 2 THEN 'big' ELSE 'small' END AS size, count(*) FROM g GROUP BY 1
SELECT upper(s), length(s), s LIKE '%\\_%' ESCAPE '\\', s || '!' FROM t
SELECT s FROM t WHERE s ILIKE 'ü%'
SELECT year(day), month(day), dayofweek(day), date_trunc('month', ts), strftime(ts, '%Y/%m/%d') FROM t
SELECT day + 1, day - DATE '2020-01-01', ts + INTERVAL 1 DAY, ts + INTERVAL (i) DAY FROM t
SELECT i, day FROM t WHERE day > '2020-06-01'
SELECT i, ts FROM t WHERE ts >= '2020-01-01' AND ts < TIMESTAMP '2021-01-01'
SELECT epoch(ts), epoch_ms(ts), date_part('minute', ts) FROM t
SELECT ts::DATE, day::TIMESTAMP, ts::VARCHAR, day::VARCHAR FROM t
SELECT i::VARCHAR, d::VARCHAR, f::VARCHAR, b::VARCHAR FROM t
SELECT coalesce(d, 0), nullif(i, 2), ifnull(s, 'none'), greatest(i, 2), least(i, f) FROM t
SELECT i FROM t WHERE b
SELECT i FROM t WHERE NOT b OR b IS NULL
SELECT i FROM t WHERE s IS NOT DISTINCT FROM NULL
SELECT i FROM t WHERE (i, s) = (1, 'one')
SELECT i FROM t WHERE i BETWEEN 2 AND 3 AND s NOT IN ('x')
SELECT round(d), round(f), floor(d), ceil(f), trunc(d), abs(d), sign(f) FROM t
SELECT x AS a, a + 1 AS b FROM g
SELECT t.i FROM main.t WHERE main.t.i = 1
SELECT memory.main.t.s FROM memory.main.t
SELECT T.I, "s" FROM t
SELECT i AS "my col" FROM t
SELECT sum(y) / count(*) FROM g
SELECT count(DISTINCT (k, x)) FROM g
SELECT approx_count_distinct(k) FROM g
SELECT typeof(s), typeof(b), typeof(d), typeof(l) FROM t JOIN n USING (i)
SELECT * FROM g TABLESAMPLE 100 PERCENT
SELECT if(x > 2, 'y', 'n'), x IS NULL FROM g
SELECT k FROM g GROUP BY k ORDER BY count(*) DESC, k
SELECT {'k': k, 'n': count(*)} AS r FROM g GROUP BY k
"""


class InMemory:
    """Resolves the tables of this file to temporary views."""

    def __init__(self, spark: SparkSession, con: duckdb.DuckDBPyConnection) -> None:
        self.spark = spark
        self.con = con

    def table(self, reference: TableReference) -> Relation:
        name = reference.parts[-1].lower()
        columns = self.con.execute(f"DESCRIBE {name}").fetchall()
        return Relation(
            f"view_{name}",
            columns=tuple(row[0] for row in columns),
            types=tuple(parse_sql_type(row[1]) for row in columns),
        )

    def table_function(self, call: TableFunctionCall) -> Relation:
        raise AssertionError(f"not expected: {call}")


@pytest.fixture(scope="module")
def both(spark: SparkSession) -> Iterator[tuple[InMemory, duckdb.DuckDBPyConnection]]:
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    resolver = InMemory(spark, con)
    for name, query in {**TABLES, "g2": "SELECT i, s FROM t"}.items():
        con.execute(f"CREATE TABLE {name} AS SELECT * FROM ({query})")
        tree = parse(f"SELECT * FROM ({query})")[0]
        assert isinstance(tree, Query)
        spark.sql(to_spark(tree.tree, resolver)).createOrReplaceTempView(f"view_{name}")
    yield resolver, con
    con.close()


def expressions() -> list[str]:
    """The scalar expressions; ` | ` divides them, save inside ``5 | 3``."""
    found = []
    for line in SCALARS.strip().splitlines():
        found += line.replace("5 | 3", "5 @OR 3").split(" | ")
    return [text.replace("@OR", "|").strip() for text in found]


def queries() -> list[str]:
    return [line.strip() for line in QUERIES.strip().splitlines()]


def rows_of_both(text: str, both: Any) -> tuple[list[Any], list[Any]]:
    resolver, con = both
    statement = parse(text)[0]
    assert isinstance(statement, Query)
    ordered = "ORDER BY" in text and "(" not in text.split("ORDER BY")[0]
    theirs = [tuple(plain(v) for v in row) for row in con.execute(text).fetchall()]
    frame = resolver.spark.sql(to_spark(statement.tree, resolver))
    ours = [tuple(plain(v) for v in row) for row in frame.collect()]
    if ordered:
        return ours, theirs
    return sorted(ours, key=repr), sorted(theirs, key=repr)


def plain(value: Any) -> Any:
    """A form in which values of both engines compare: numbers by value, structs as tuples."""
    if isinstance(value, bool) or value is None or isinstance(value, (str, dt.date, dt.time)):
        if isinstance(value, dt.datetime) and value.tzinfo is not None:
            return value.astimezone(dt.timezone.utc).replace(tzinfo=None)
        return value
    if isinstance(value, (int, float, Decimal)):
        number = float(value)
        return "nan" if math.isnan(number) else float(f"{number:.12g}")
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if isinstance(value, (dict, tuple)):  # a map's entries have no order
        inner = value.values() if isinstance(value, dict) else value
        return tuple(sorted((plain(v) for v in inner), key=repr))
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value


@pytest.mark.parametrize("text", queries())
def test_rows_are_those_of_duckdb_when_query_is_rewritten(text: str, both: Any) -> None:
    ours, theirs = rows_of_both(text, both)

    assert ours == theirs


@pytest.mark.parametrize("text", expressions())
def test_value_is_that_of_duckdb_when_expression_is_rewritten(text: str, both: Any) -> None:
    ours, theirs = rows_of_both(f"SELECT {text} AS x", both)

    assert ours == theirs

"""Small queries of every operator, over small tables with NULLs and duplicates."""

from __future__ import annotations

TABLES = (
    "CREATE TABLE t (a INTEGER, b INTEGER, s VARCHAR, l INTEGER[], m VARCHAR[], d DOUBLE)",
    """INSERT INTO t VALUES
        (1, 10, 'x', [1, 2], ['p'], 1.5), (1, 20, 'y', [], ['q', NULL], NULL),
        (2, 10, NULL, NULL, ['r'], -0.5), (3, NULL, 'x', [3, NULL, 5], NULL, 2.5),
        (NULL, 30, 'z', [7], [], 0.0), (2, 10, NULL, NULL, ['r'], -0.5),
        (5, 50, 'it''s', [9, 9], ['a', 'b', 'c'], 10.25)""",
    "CREATE TABLE u (a INTEGER, c INTEGER, w VARCHAR)",
    """INSERT INTO u VALUES
        (1, 100, 'x'), (1, 5, 'y'), (2, 200, NULL), (NULL, 300, 'z'), (7, 10, 'x'), (2, NULL, 'q'),
        (3, 10, 'x')""",
    "CREATE TABLE v (k INTEGER, a INTEGER, e INTEGER)",
    "INSERT INTO v VALUES (1, 1, 1), (2, 1, 2), (3, 2, 3), (4, NULL, 4), (5, 9, NULL)",
    "CREATE TABLE none (a INTEGER, b INTEGER, s VARCHAR)",
    "CREATE TABLE one (k INTEGER, z VARCHAR)",
    "INSERT INTO one VALUES (1, 'one'), (2, 'two'), (3, 'three')",
)

PROJECTIONS = (
    "SELECT 1",
    "SELECT 1 AS x, 'a' AS x, NULL AS y",
    "SELECT a, b, a + b FROM t",
    "SELECT a AS b, b AS a, a AS b FROM t",
    "SELECT x + 1, x * 2 FROM (SELECT a + b AS x FROM t) q",
    "SELECT * FROM t WHERE a = 1",
    "SELECT * FROM t WHERE a = 1 AND (b > 10 OR s = 'x')",
    "SELECT y FROM (SELECT a + 1 AS y, b FROM t) q WHERE y > 1 AND b IS NOT NULL",
    "SELECT count(*) FROM t",
    "SELECT count(*) FROM (SELECT 1 FROM t WHERE a > 1) q",
    "SELECT 7 FROM t",
    "SELECT 7 FROM t, u",
    "SELECT count(*) FROM t, u, v",
    "SELECT CASE WHEN a = 1 THEN 'one' WHEN a IS NULL THEN 'none' ELSE s END FROM t",
    'SELECT a AS "we`ird", b AS "q1.`c0`", s AS "a b" FROM t',
    'SELECT * FROM (SELECT a AS "x`y", b AS "x`y " FROM t) q WHERE "x`y" = 1',
    "SELECT * FROM none",
    "SELECT * FROM t WHERE false",
    "SELECT * FROM t WHERE NULL",
    "SELECT 1 WHERE 1 = 0",
)

JOINS = (
    "SELECT t.a, t.b, u.c FROM t JOIN u ON t.a = u.a",
    "SELECT t.a, t.b, u.c FROM t LEFT JOIN u ON t.a = u.a",
    "SELECT t.a, t.b, u.c FROM t LEFT JOIN u ON t.a = u.a AND u.c > 50",
    "SELECT t.a, t.b, u.c FROM t LEFT JOIN u ON t.a = u.a AND t.b > 10",
    "SELECT t.a, t.b, u.c FROM t RIGHT JOIN u ON t.a = u.a",
    "SELECT t.a, t.b, u.a, u.c FROM t FULL JOIN u ON t.a = u.a",
    "SELECT t.a, t.b, u.a, u.c FROM t FULL JOIN u ON t.a = u.a AND t.b > u.c",
    "SELECT * FROM t SEMI JOIN u ON t.a = u.a",
    "SELECT * FROM t ANTI JOIN u ON t.a = u.a",
    "SELECT * FROM t SEMI JOIN u ON t.a = u.a AND t.b < u.c",
    "SELECT t.a, u.a FROM t, u WHERE t.b = u.c",
    "SELECT t.a, u.a FROM t CROSS JOIN u",
    "SELECT t.a, u.a FROM t JOIN u ON t.a < u.a",
    "SELECT t.a, u.a FROM t LEFT JOIN u ON t.a < u.a",
    "SELECT t.a, u.c FROM t JOIN u USING (a)",
    "SELECT * FROM t JOIN u USING (a)",
    "SELECT * FROM t NATURAL JOIN u",
    "SELECT t.a, x.one, x.c FROM t LEFT JOIN (SELECT 1 AS one, a, c FROM u) x ON t.a = x.a",
    "SELECT t.a, x.one, x.c FROM (SELECT 1 AS one, a, c FROM u) x RIGHT JOIN t ON t.a = x.a",
    "SELECT t.a, x.n FROM t LEFT JOIN (SELECT a, count(*) AS n FROM u GROUP BY a) x ON t.a = x.a",
    (
        "SELECT x.one, y.two FROM (SELECT 1 AS one, a FROM t) x FULL JOIN (SELECT 2 AS two, a "
        "FROM u) y ON x.a = y.a"
    ),
    "SELECT t.a, u.c, v.e FROM t JOIN u ON t.a = u.a JOIN v ON v.a = u.a",
    "SELECT t.a, u.c, v.e FROM t LEFT JOIN u ON t.a = u.a LEFT JOIN v ON v.a = u.a",
    "SELECT t.a, u.c, v.e FROM t LEFT JOIN (u JOIN v ON u.a = v.a) ON t.a = u.a",
    "SELECT t.a, u.c, v.e FROM t LEFT JOIN (u LEFT JOIN v ON u.a = v.a) ON t.a = u.a AND t.b > 10",
    "SELECT t.a, u.c, v.e FROM (t LEFT JOIN u ON t.a = u.a) RIGHT JOIN v ON v.a = u.a",
    "SELECT t.a, u.c, v.e FROM t JOIN (u RIGHT JOIN v ON u.a = v.a) ON t.a = v.a WHERE t.b > 5",
    "SELECT x.a, u.c FROM (SELECT a FROM t WHERE b > 10) x RIGHT JOIN u ON x.a = u.a",
    "SELECT x.a, u.c FROM (SELECT a FROM t WHERE b > 10) x LEFT JOIN u ON x.a = u.a",
    "SELECT u.c, x.a FROM u LEFT JOIN (SELECT a FROM t WHERE b > 10) x ON x.a = u.a",
    (
        "SELECT x.a, y.c FROM (SELECT a FROM t WHERE b > 10) x FULL JOIN (SELECT * FROM u WHERE "
        "c > 10) y ON x.a = y.a"
    ),
    "SELECT t1.a, t2.b FROM t t1, t t2 WHERE t1.a = t2.a AND t1.b < t2.b",
    "SELECT count(*) FROM t LEFT JOIN none ON t.a = none.a",
    "SELECT count(*) FROM none LEFT JOIN t ON t.a = none.a",
    "SELECT * FROM none FULL JOIN one ON none.a = one.k",
    "SELECT t.a, u.a FROM t JOIN u ON t.a IS NOT DISTINCT FROM u.a",
    "SELECT t.a, u.a FROM t LEFT JOIN u ON t.a IS NOT DISTINCT FROM u.a",
    "SELECT * FROM (SELECT 1 AS x) p LEFT JOIN (SELECT 2 AS y) q ON x = y",
    "SELECT * FROM (SELECT 1 AS x) p FULL JOIN (SELECT 2 AS y) q ON x = y",
    "SELECT a, (SELECT max(c) FROM u) AS m FROM t LEFT JOIN one ON a = k",
)

SCALAR_SUBQUERIES = (
    "SELECT (SELECT max(c) FROM u)",
    "SELECT a, (SELECT max(c) FROM u) FROM t",
    "SELECT a FROM t WHERE b > (SELECT min(c) FROM u)",
    "SELECT a FROM t WHERE b = (SELECT c FROM u WHERE a = 7)",
    "SELECT a, (SELECT c FROM u WHERE false) FROM t",
    "SELECT (SELECT count(*) FROM t) + (SELECT count(*) FROM u)",
    "SELECT sum(b) FROM t HAVING sum(b) > (SELECT min(c) FROM u)",
    "SELECT a, count(*) FROM t GROUP BY a HAVING count(*) > (SELECT count(*) FROM none)",
    "SELECT a FROM t ORDER BY (SELECT 1), a, b",
    "SELECT exists(SELECT 1 FROM u), exists(SELECT 1 FROM none), not exists(SELECT * FROM u)",
    "SELECT a FROM t WHERE exists(SELECT 1 FROM u)",
    "SELECT a FROM t WHERE NOT exists(SELECT 1 FROM none) AND a > 1",
    "SELECT a FROM t WHERE exists(SELECT 1 FROM none)",
    "SELECT (SELECT (SELECT max(c) FROM u) + 1)",
)

MARKS = (
    "SELECT * FROM t WHERE a IN (SELECT a FROM u)",
    "SELECT * FROM t WHERE a NOT IN (SELECT a FROM u)",
    "SELECT * FROM t WHERE a NOT IN (SELECT a FROM u WHERE a IS NOT NULL)",
    "SELECT * FROM t WHERE a NOT IN (SELECT a FROM none)",
    "SELECT a, a IN (SELECT a FROM u) FROM t",
    "SELECT a, a IN (SELECT a FROM u WHERE a IS NOT NULL) FROM t",
    "SELECT a, a NOT IN (SELECT a FROM u) FROM t",
    "SELECT a, a IN (SELECT a FROM none), a NOT IN (SELECT a FROM none) FROM t",
    "SELECT a FROM t WHERE (a IN (SELECT a FROM u)) IS NULL",
    "SELECT a FROM t WHERE a IN (SELECT a FROM u) OR b = 50",
    "SELECT a FROM t WHERE a NOT IN (SELECT a FROM u WHERE a < 3) OR b IS NULL",
    "SELECT a FROM t WHERE NOT (a IN (SELECT a FROM u) AND b = 10)",
    "SELECT a FROM t WHERE NOT (a IN (SELECT a FROM u) OR b = 10)",
    (
        "SELECT a FROM t WHERE a IN (SELECT a FROM u) AND b NOT IN (SELECT c FROM u WHERE c IS "
        "NOT NULL)"
    ),
    "SELECT a FROM t WHERE a IN (SELECT a FROM u) = (b = 10)",
    "SELECT (a, b) IN (SELECT a, c FROM u), a FROM t",
    "SELECT a, b FROM t WHERE (a, b) NOT IN (SELECT a, c FROM u)",
    "SELECT a, b > ALL (SELECT c FROM u) FROM t",
    "SELECT a, b > ANY (SELECT c FROM u), b <= ALL (SELECT c FROM u WHERE c IS NOT NULL) FROM t",
    "SELECT a FROM t WHERE b = ANY (SELECT c FROM u)",
    (
        "SELECT a, b >= ALL (SELECT c FROM u WHERE false), b >= ANY (SELECT c FROM u WHERE "
        "false) FROM t"
    ),
    "SELECT CASE WHEN a IN (SELECT a FROM u) THEN 'in' ELSE 'out' END FROM t",
    "SELECT count(*) FROM t GROUP BY a IN (SELECT a FROM u)",
    "SELECT sum(CASE WHEN a IN (SELECT a FROM u) THEN b END) FROM t",
    "SELECT 4 IN (SELECT a FROM u), 1 IN (SELECT a FROM u), NULL IN (SELECT a FROM u)",
    "SELECT t.a, u.a FROM t LEFT JOIN u ON t.a = u.a AND u.a IN (SELECT a FROM v)",
    (
        "SELECT t.a, x.f FROM t LEFT JOIN (SELECT a, a IN (SELECT a FROM v) AS f FROM u) x ON "
        "t.a = x.a"
    ),
    "SELECT a FROM t WHERE a + 1 IN (SELECT a * 2 FROM u)",
    "SELECT a FROM t WHERE a IN (SELECT a FROM u ORDER BY c, a LIMIT 2)",
    "SELECT a FROM t WHERE s IN (SELECT w FROM u UNION SELECT 'z')",
    "SELECT a FROM t ORDER BY a IN (SELECT a FROM u), a, b",
)

CORRELATED = (
    "SELECT a, (SELECT sum(c) FROM u WHERE u.a = t.a) FROM t",
    "SELECT a, (SELECT count(*) FROM u WHERE u.a = t.a) FROM t",
    "SELECT a, (SELECT count(c) + 1 FROM u WHERE u.a = t.a) FROM t",
    "SELECT a, (SELECT coalesce(sum(c), 0) FROM u WHERE u.a = t.a) FROM t",
    "SELECT a, (SELECT max(c) FROM u WHERE u.a = t.a AND u.c > 50) FROM t",
    "SELECT a, (SELECT max(c) FROM u WHERE u.a < t.a) FROM t",
    "SELECT a, (SELECT count(*) FROM u WHERE u.a < t.a OR u.c = t.b) FROM t",
    "SELECT a, (SELECT max(c + t.b) FROM u WHERE u.a = t.a) FROM t",
    "SELECT a, (SELECT max(c) + t.b FROM u WHERE u.a = t.a) FROM t",
    "SELECT a, (SELECT max(c) FROM u WHERE t.a > 1) FROM t",
    "SELECT a, (SELECT t.a) FROM t",
    "SELECT a, a IN (SELECT t.a FROM u), a NOT IN (SELECT t.a FROM u WHERE u.a = t.b) FROM t",
    "SELECT a FROM t WHERE (SELECT count(*) FROM u WHERE u.a = t.a) = 2",
    "SELECT a, (SELECT sum(c) FROM u WHERE u.a = t.a AND u.w IN (SELECT s FROM t x)) FROM t",
    "SELECT a, (SELECT max(x.m) FROM (SELECT max(c) AS m FROM u WHERE u.a = t.a) x) FROM t",
    "SELECT a, (SELECT min(c) FROM u WHERE u.a = t.a HAVING count(*) > 1) FROM t",
    "SELECT a, (SELECT string_agg(w, '-' ORDER BY w) FROM u WHERE u.a = t.a) FROM t",
    "SELECT a, ARRAY(SELECT c FROM u WHERE u.a = t.a ORDER BY c) FROM t",
    "SELECT a, (SELECT c FROM u WHERE u.a = t.a UNION SELECT NULL LIMIT 1) IS NULL FROM t",
    "SELECT a, (SELECT max(x.e) FROM (SELECT e FROM v WHERE v.a = t.a EXCEPT SELECT 1) x) FROM t",
    "SELECT x.a, (SELECT max(c) FROM u WHERE u.a = x.a) FROM (SELECT a FROM t ORDER BY b, a, s "
    "LIMIT 3) x",
    "SELECT a, (SELECT max(c) FROM u WHERE u.a < x.a) FROM (SELECT a FROM t ORDER BY b, a, s "
    "LIMIT 3) x",
    "SELECT a, (SELECT t.a + t.b WHERE t.a > 1) FROM t",
    "SELECT k, (SELECT z FROM one WHERE one.k = v.k) FROM v",
    "SELECT k, (SELECT z || 'x' FROM one WHERE one.k = v.k) FROM v",
    "SELECT a, (SELECT z FROM one WHERE one.k = t.a) FROM t",
    "SELECT a FROM t WHERE b > (SELECT avg(c) FROM u WHERE u.a = t.a)",
    "SELECT a FROM t WHERE b < (SELECT max(c) FROM u WHERE u.a = t.a) AND s = 'x'",
    "SELECT a FROM t WHERE exists (SELECT 1 FROM u WHERE u.a = t.a)",
    "SELECT a FROM t WHERE NOT exists (SELECT 1 FROM u WHERE u.a = t.a)",
    "SELECT a FROM t WHERE exists (SELECT 1 FROM u WHERE u.a = t.a AND u.c > t.b)",
    "SELECT a FROM t WHERE exists (SELECT 1 FROM u WHERE u.a <> t.a)",
    "SELECT a, exists (SELECT 1 FROM u WHERE u.a = t.a) FROM t",
    "SELECT a FROM t WHERE exists (SELECT 1 FROM u WHERE u.a = t.a) OR b = 30",
    "SELECT a, b IN (SELECT c FROM u WHERE u.a = t.a) FROM t",
    "SELECT a FROM t WHERE b NOT IN (SELECT c FROM u WHERE u.a = t.a)",
    "SELECT a, b, b > ALL (SELECT c FROM u WHERE u.a = t.a) FROM t",
    "SELECT a FROM t WHERE exists (SELECT 1 FROM u WHERE u.a = t.a GROUP BY w HAVING count(*) > 0)",
    "SELECT a FROM t WHERE exists (SELECT count(*) FROM u WHERE u.a = t.a)",
    "SELECT a, (SELECT count(DISTINCT c) FROM u WHERE u.a = t.a) FROM t",
    "SELECT a, (SELECT sum(c) FROM (SELECT DISTINCT c FROM u WHERE u.a = t.a) x) FROM t",
    (
        "SELECT a, (SELECT sum(n) FROM (SELECT count(*) AS n FROM u WHERE u.a = t.a GROUP BY w) "
        "x) FROM t"
    ),
    "SELECT a, (SELECT c FROM u WHERE u.a = t.a ORDER BY c LIMIT 1) FROM t",
    "SELECT a, (SELECT c FROM u WHERE u.a = t.a ORDER BY c DESC LIMIT 1 OFFSET 1) FROM t",
    (
        "SELECT a, (SELECT sum(c) FROM u WHERE u.a = t.a AND exists (SELECT 1 FROM v WHERE v.a = "
        "u.a)) FROM t"
    ),
    (
        "SELECT a, (SELECT sum(c) FROM u WHERE u.a = t.a AND exists (SELECT 1 FROM v WHERE v.k = "
        "t.a)) FROM t"
    ),
    (
        "SELECT a FROM t WHERE exists (SELECT 1 FROM u WHERE u.a = t.a AND exists (SELECT 1 FROM "
        "v WHERE v.a = u.a AND v.k < t.b))"
    ),
    (
        "SELECT a FROM t WHERE exists (SELECT 1 FROM u WHERE u.a = t.a AND u.c > (SELECT min(e) "
        "FROM v WHERE v.a = t.a))"
    ),
    "SELECT a, (SELECT max(c) FROM u JOIN v ON u.a = v.a WHERE u.a = t.a) FROM t",
    "SELECT a, (SELECT max(e) FROM u LEFT JOIN v ON u.a = v.a WHERE u.a = t.a) FROM t",
    (
        "SELECT a, (SELECT sum(x) FROM (SELECT c AS x FROM u WHERE u.a = t.a UNION ALL SELECT e "
        "FROM v WHERE v.a = t.a) q) FROM t"
    ),
    (
        "SELECT a, (SELECT max(rn) FROM (SELECT row_number() OVER (ORDER BY c) AS rn FROM u "
        "WHERE u.a = t.a) q) FROM t"
    ),
    "SELECT t.a, x.c FROM t, LATERAL (SELECT c FROM u WHERE u.a = t.a) x",
    "SELECT t.a, x.c FROM t LEFT JOIN LATERAL (SELECT c FROM u WHERE u.a = t.a) x ON true",
    "SELECT t.a, x.y FROM t, LATERAL (SELECT t.a + t.b AS y) x",
    "SELECT t.a, x.n FROM t, LATERAL (SELECT count(*) AS n FROM u WHERE u.a = t.a) x",
    "SELECT t.a, x.c FROM t, LATERAL (SELECT c FROM u WHERE u.a = t.a ORDER BY c DESC LIMIT 1) x",
    (
        "SELECT t.a, x.c, y.e FROM t, LATERAL (SELECT c, a FROM u WHERE u.a = t.a) x, LATERAL "
        "(SELECT e FROM v WHERE v.a = x.a AND v.k > t.b - 20) y"
    ),
    "SELECT a, sum((SELECT max(c) FROM u WHERE u.a = t.a)) FROM t GROUP BY a",
    (
        "SELECT a, (SELECT max(c) FROM u WHERE u.a = t.a), (SELECT min(e) FROM v WHERE v.a = "
        "t.a) FROM t"
    ),
    "SELECT a FROM t WHERE b = (SELECT max(b) FROM t x WHERE x.a = t.a)",
    "SELECT a FROM t GROUP BY a HAVING exists (SELECT 1 FROM u WHERE u.a = t.a)",
    "SELECT a, (SELECT max(c) FROM u WHERE u.a IS NOT DISTINCT FROM t.a) FROM t",
    "SELECT a, (SELECT max(c) FROM u WHERE u.a + 1 = t.a + 1) FROM t",
    "SELECT a, (SELECT count(*) FROM u WHERE u.a = t.a AND u.w = t.s) FROM t",
    (
        "SELECT q.a, (SELECT max(c) FROM u WHERE u.a = q.a) FROM (SELECT a, sum(b) AS n FROM t "
        "GROUP BY a) q"
    ),
    "SELECT a, (SELECT max(c) FROM u WHERE u.a = t.a) FROM t ORDER BY 2 NULLS FIRST, a, b LIMIT 4",
    "WITH q AS (SELECT a, b FROM t) SELECT a, (SELECT max(c) FROM u WHERE u.a = q.a) FROM q",
    "SELECT a, (WITH q AS (SELECT * FROM u WHERE u.a = t.a) SELECT max(c) FROM q) FROM t",
)

GROUPS = (
    "SELECT DISTINCT a FROM t ORDER BY a, b",
    "SELECT DISTINCT a, a FROM t ORDER BY a DESC",
    "SELECT count(*) FROM (SELECT DISTINCT s FROM t ORDER BY b LIMIT 3) q",
    "SELECT a, count(*), sum(b), min(s), max(d) FROM t GROUP BY a",
    "SELECT count(*), sum(b) FROM t WHERE false",
    "SELECT a, sum(b) FROM t WHERE false GROUP BY a",
    "SELECT sum(a + b) FROM t GROUP BY a + b",
    "SELECT a + b, count(*) FROM t GROUP BY a + b",
    "SELECT 'k', 5, count(*) FROM t GROUP BY 1, 2",
    "SELECT a, a, count(*) FROM t GROUP BY a",
    "SELECT count(*) FROM t GROUP BY a, b",
    "SELECT a, count(*) FROM t GROUP BY a HAVING count(*) > 1",
    "SELECT count(DISTINCT a), count(a), sum(DISTINCT b) FROM t",
    "SELECT count(*) FILTER (WHERE b > 10), sum(b) FILTER (WHERE a = 1) FROM t",
    "SELECT a, s, count(*) FROM t GROUP BY ROLLUP (a, s)",
    "SELECT a, s, count(*), sum(b) FROM t GROUP BY CUBE (a, s)",
    "SELECT a, s, count(*) FROM t GROUP BY GROUPING SETS ((a), (s))",
    "SELECT a, s, count(*) FROM t GROUP BY GROUPING SETS ((a), (s), (), (a))",
    "SELECT a, grouping(a), grouping(a, s), count(*) FROM t GROUP BY CUBE (a, s)",
    "SELECT grouping(s, a), count(*) FROM t GROUP BY GROUPING SETS ((a, s), (a), (s), ())",
    "SELECT a, grouping(a) FROM t GROUP BY a",
    "SELECT a, count(*), sum(b) FROM none GROUP BY ROLLUP (a)",
    "SELECT a, s, count(*) FROM none GROUP BY GROUPING SETS ((a), (s))",
    "SELECT count(*), sum(b) FROM none GROUP BY GROUPING SETS ((a), ())",
    "SELECT a, sum(a) FROM t GROUP BY GROUPING SETS ((a), ())",
    "SELECT a, count(*) FILTER (WHERE b > 10) FROM t GROUP BY ROLLUP (a)",
    "SELECT a, count(DISTINCT b) FROM t GROUP BY ROLLUP (a)",
    "SELECT coalesce(a, -1), count(*) FROM t GROUP BY ROLLUP (a) HAVING count(*) > 1",
    "SELECT sum(n) FROM (SELECT a, count(*) AS n FROM t GROUP BY a) q",
    "SELECT t.a, sum(u.c) FROM t JOIN u ON t.a = u.a GROUP BY t.a",
    "SELECT d, count(*) FROM t GROUP BY d",
    "SELECT DISTINCT a FROM t",
    "SELECT DISTINCT a, b, s FROM t",
    "SELECT DISTINCT a + b FROM t",
    "SELECT count(*) FROM (SELECT DISTINCT a, b FROM t) q",
    "SELECT DISTINCT ON (a) a, b FROM t ORDER BY a, b DESC NULLS LAST, s",
    "SELECT DISTINCT ON (a, s) a, s, b FROM t ORDER BY a, s, b NULLS FIRST",
    "SELECT DISTINCT a FROM t ORDER BY a DESC NULLS LAST",
    "SELECT DISTINCT a FROM t ORDER BY a NULLS FIRST LIMIT 2",
    "SELECT DISTINCT l FROM t",
    "SELECT DISTINCT ON (l) l FROM t",
    "SELECT count(*) FROM t GROUP BY to_days(a)",
    "SELECT a, l FROM t ORDER BY l DESC NULLS LAST, a, b, s",
)

ORDERS = (
    "SELECT a, b FROM t ORDER BY a, b",
    "SELECT a, b FROM t ORDER BY a DESC, b NULLS FIRST",
    "SELECT s FROM t ORDER BY a NULLS FIRST, b, s",
    "SELECT s FROM t ORDER BY a + b NULLS FIRST, s NULLS LAST",
    "SELECT a + b AS x FROM t ORDER BY x DESC NULLS LAST, s",
    "SELECT a FROM t ORDER BY b, a, s LIMIT 3",
    "SELECT a FROM t ORDER BY b, a, s LIMIT 3 OFFSET 2",
    "SELECT a FROM t ORDER BY b, a, s OFFSET 5",
    "SELECT a FROM t ORDER BY a LIMIT 0",
    "SELECT * FROM (SELECT a, b FROM t ORDER BY b NULLS LAST, a LIMIT 3) q",
    "SELECT sum(b) FROM (SELECT a, b FROM t ORDER BY b NULLS LAST, a LIMIT 3) q",
    "SELECT a FROM (SELECT a, b FROM t ORDER BY b NULLS LAST, a LIMIT 4) q WHERE a > 1",
    "SELECT a * 2 FROM (SELECT a, b FROM t ORDER BY b NULLS LAST, a LIMIT 4) q ORDER BY 1",
    "SELECT q.a, u.c FROM (SELECT a FROM t ORDER BY b, a LIMIT 2) q JOIN u ON q.a = u.a",
    "SELECT a FROM (SELECT a FROM t ORDER BY a NULLS LAST LIMIT 5) q ORDER BY a DESC LIMIT 2",
    "SELECT a FROM t ORDER BY a, b, s LIMIT 50%",
    "SELECT a FROM t ORDER BY a, b, s LIMIT 33.4%",
    "SELECT a FROM t ORDER BY a, b, s LIMIT 0%",
    "SELECT a FROM t ORDER BY a, b, s LIMIT 100% OFFSET 2",
    "SELECT a FROM t ORDER BY a, b, s LIMIT (SELECT 2)",
    "SELECT a FROM t ORDER BY a, b, s LIMIT (SELECT min(c) FROM u) OFFSET (SELECT 1)",
    "SELECT a FROM t ORDER BY a, b, s LIMIT (SELECT NULL::INTEGER)",
    "SELECT a FROM t ORDER BY a, b, s LIMIT 1 + 1",
    "SELECT a, b FROM t ORDER BY 1, 2 LIMIT 2",
    "SELECT a FROM t GROUP BY a ORDER BY count(*) DESC, a NULLS LAST",
    "SELECT count(*) FROM (SELECT a FROM t LIMIT 3) q",
    "SELECT count(*) FROM (SELECT a FROM t USING SAMPLE 3 ROWS) q",
    "SELECT count(*) FROM (SELECT a FROM t USING SAMPLE 100 PERCENT (bernoulli)) q",
    "SELECT count(*) FROM (SELECT a FROM t USING SAMPLE reservoir(50%) REPEATABLE (3)) q",
    "SELECT count(*) FROM (SELECT a FROM t USING SAMPLE 0%) q",
    "FROM t SELECT s ORDER BY b NULLS FIRST, s NULLS FIRST LIMIT 3",
)

SETS = (
    "SELECT a FROM t UNION ALL SELECT a FROM u",
    "SELECT a FROM t UNION SELECT a FROM u",
    "SELECT a FROM t INTERSECT SELECT a FROM u",
    "SELECT a FROM t INTERSECT ALL SELECT a FROM u",
    "SELECT a FROM t EXCEPT SELECT a FROM u",
    "SELECT a FROM t EXCEPT ALL SELECT a FROM u",
    "SELECT a, s FROM t EXCEPT ALL SELECT a, w FROM u",
    "SELECT a, b FROM t UNION ALL SELECT 1, NULL UNION ALL SELECT NULL, NULL",
    "SELECT a FROM t UNION ALL SELECT a FROM u ORDER BY a NULLS LAST LIMIT 4",
    (
        "(SELECT a FROM t ORDER BY a, b LIMIT 2) UNION ALL (SELECT a FROM u ORDER BY a DESC, c "
        "LIMIT 1)"
    ),
    "SELECT a, 'x' AS y FROM t UNION ALL BY NAME SELECT w AS y, c FROM u",
    "SELECT a FROM t UNION SELECT a FROM u EXCEPT SELECT k FROM one",
    "SELECT sum(a) FROM (SELECT a FROM t UNION SELECT a FROM u) q",
    (
        "SELECT d FROM t UNION SELECT 0.0::DOUBLE UNION SELECT 'nan'::DOUBLE UNION SELECT "
        "'nan'::DOUBLE"
    ),
    "VALUES (1, 'a'), (2, NULL), (NULL, 'c')",
    "SELECT x, y FROM (VALUES (1, 'a'), (2, NULL), (NULL, 'it''s')) q(x, y) WHERE x IS NOT NULL",
    "SELECT * FROM (VALUES (1)) q(x)",
    "SELECT q.x, t.b FROM (VALUES (1), (2)) q(x) JOIN t ON t.a = q.x",
)

CTES = (
    "WITH q AS (SELECT a, b FROM t) SELECT * FROM q",
    "WITH q AS (SELECT a, b FROM t) SELECT x.a, y.b FROM q x JOIN q y ON x.a = y.a",
    (
        "WITH q AS (SELECT a FROM t), r AS (SELECT a FROM q WHERE a > 1) SELECT * FROM r UNION "
        "ALL SELECT * FROM q"
    ),
    "WITH q AS (SELECT * FROM none) SELECT count(*) FROM q",
    "WITH q AS (SELECT 1 AS x) SELECT 2",
    "WITH q AS (SELECT a FROM t ORDER BY a, b LIMIT 3) SELECT count(*) FROM q x, q y",
    (
        "WITH q AS (SELECT a, row_number() OVER (ORDER BY a, b, s) AS n FROM t) SELECT x.a FROM "
        "q x JOIN q y ON x.n = y.n"
    ),
    "WITH q AS MATERIALIZED (SELECT a FROM t) SELECT * FROM q WHERE a IN (SELECT a FROM q)",
    "SELECT * FROM (WITH q AS (SELECT a FROM u) SELECT * FROM q) x",
    "WITH q AS (WITH r AS (SELECT a FROM t) SELECT a + 1 AS a FROM r) SELECT * FROM q",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r",
    (
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 200) SELECT "
        "count(*), sum(n) FROM r"
    ),
    (
        "WITH RECURSIVE r(n, k) AS (SELECT k, a FROM v WHERE a = 1 UNION ALL SELECT r.n + 1, v.a "
        "FROM r JOIN v ON v.k = r.n + 1) SELECT * FROM r"
    ),
    "WITH RECURSIVE r(n) AS (SELECT a FROM none UNION ALL SELECT n + 1 FROM r) SELECT * FROM r",
    (
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT x.n, "
        "y.n FROM r x JOIN r y ON x.n = y.n + 1"
    ),
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT (n * 3 + 1) % 7 FROM r) SELECT * FROM r",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT a FROM r JOIN v ON v.k = r.n) SELECT * FROM r",
    "WITH RECURSIVE r(n, s) AS (SELECT a, s FROM t UNION SELECT a, w FROM r JOIN u ON u.w = r.s) "
    "SELECT * FROM r",
    "WITH RECURSIVE r(n) AS (SELECT a FROM none UNION SELECT n + 1 FROM r) SELECT * FROM r",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT sum(n)::INTEGER + 1 FROM r "
    "HAVING sum(n) < 9) SELECT * FROM r",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT x.n + y.n FROM r x JOIN r y ON x.n = y.n "
    "WHERE x.n < 9) SELECT * FROM r",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT DISTINCT v.k + 1 FROM v JOIN r ON v.a = r.n "
    "WHERE r.n < 4) SELECT * FROM r",
    "WITH RECURSIVE r(n, s) AS (SELECT 1, 'a' UNION ALL SELECT n + 1, s || 'b' FROM r WHERE n < 4) "
    "SELECT s FROM r WHERE n > 2",
)

TABLE_FUNCTIONS = (
    "SELECT * FROM range(5)",
    "SELECT * FROM range(2, 5)",
    "SELECT * FROM range(5, 2)",
    "SELECT * FROM range(5, 1, -2)",
    "SELECT * FROM range(10, 0, -3)",
    "SELECT * FROM generate_series(5)",
    "SELECT * FROM generate_series(1, 10, 3)",
    "SELECT * FROM generate_series(5, 1, -2)",
    "SELECT * FROM generate_series(1, 0)",
    "SELECT * FROM range(0)",
    "SELECT * FROM range(NULL)",
    "SELECT * FROM range(-3, 3, 2)",
    "SELECT * FROM range(9223372036854775805, 9223372036854775807)",
    "SELECT * FROM generate_series(9223372036854775805, 9223372036854775807)",
    "SELECT * FROM generate_series(-9223372036854775807, -9223372036854775805)",
    "SELECT * FROM generate_series(9223372036854775801, 9223372036854775807, 4)",
    "SELECT count(*) FROM range(100000)",
    "SELECT sum(i) FROM range(10) r(i)",
    "SELECT r.i, t.a FROM range(3) r(i), t WHERE t.a = r.i",
    "SELECT t.a, r.i FROM t, range(t.a) r(i)",
    "SELECT t.a, r.i FROM t, range(1, t.a) r(i)",
    "SELECT t.a, r.i FROM t, generate_series(t.a, 1, -1) r(i)",
    "SELECT t.a, r.i FROM t LEFT JOIN LATERAL (SELECT * FROM range(t.a - 1)) r(i) ON true",
    "SELECT t.s, x.name, x.value FROM t, (VALUES ('a', a), ('b', b)) x(name, value)",
    "SELECT t.a, x.v FROM t, (VALUES (a, 1), (a, 2)) x(w, v) WHERE t.b > 10",
    "SELECT t.s, x.v FROM t LEFT JOIN LATERAL (VALUES (a), (b)) x(v) ON x.v > 20",
    "SELECT t.s, (SELECT max(v) FROM (VALUES (a), (b)) x(v)) FROM t",
    "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM (VALUES (a), (b)) x(v) WHERE v = 20)",
    "FROM (VALUES ((SELECT max(a) FROM t), 'x'), (2, (SELECT min(s) FROM t)))",
    "SELECT t.a, r.i, r.n FROM t, range(t.a) WITH ORDINALITY r(i, n)",
    "SELECT * FROM unnest([1, 2, NULL])",
    "SELECT * FROM unnest(['a', 'b']) q(x) WHERE x = 'a'",
    "SELECT unnest([1, 2]), unnest([3, 4, 5])",
    "SELECT unnest(l) FROM t",
    "SELECT a, unnest(l) FROM t",
    "SELECT a, unnest(l), unnest(m) FROM t",
    "SELECT a, unnest(l) + 1 AS x, b FROM t WHERE b > 5",
    "SELECT sum(x) FROM (SELECT unnest(l) AS x FROM t) q",
    "SELECT t.a, x.y FROM t, unnest(l) x(y)",
    "SELECT t.a, x.y, z.w FROM t, unnest(l) x(y), unnest(m) z(w)",
    "SELECT t.a, x.y FROM t, unnest(l) x(y) WHERE x.y > 1",
    "SELECT t.a, x.y FROM t LEFT JOIN unnest(l) x(y) ON true",
    "SELECT t.a, (SELECT sum(y) FROM unnest(t.l) x(y)) FROM t",
    "SELECT t.a, x.y FROM t, unnest(list_transform(l, x -> x + t.a)) x(y)",
    "SELECT * FROM range(TIMESTAMP '2024-01-01', TIMESTAMP '2024-01-03', INTERVAL 12 HOUR)",
    "SELECT * FROM generate_series(DATE '2024-01-31', DATE '2024-04-30', INTERVAL 1 MONTH)",
    "SELECT a, x FROM t, range(DATE '2024-01-01', DATE '2024-01-01' + a, INTERVAL 1 DAY) r(x)",
    "SELECT t.a, (SELECT count(*) FROM unnest(t.l) x(y) WHERE y > t.a) FROM t",
    "SELECT a FROM t WHERE exists (SELECT 1 FROM unnest(l) x(y) WHERE y = t.a)",
    "SELECT a FROM t WHERE 9 IN (SELECT unnest(l))",
    "SELECT a, b, unnest(l) AS x FROM t ORDER BY x NULLS LAST, a LIMIT 3",
    "SELECT DISTINCT unnest(l) FROM t",
)

WINDOWS = (
    "SELECT a, row_number() OVER (ORDER BY a, b, s) FROM t",
    "SELECT a, b, sum(b) OVER (PARTITION BY a) FROM t",
    "SELECT a, b, sum(b) OVER (PARTITION BY a) + 1 FROM t WHERE b > 10",
    "SELECT a, b FROM t QUALIFY row_number() OVER (PARTITION BY a ORDER BY b, s) = 1",
    "SELECT a, rank() OVER (ORDER BY b), count(*) OVER () FROM t",
    (
        "SELECT a, n FROM (SELECT a, row_number() OVER (ORDER BY a, b, s) AS n FROM t) q WHERE n "
        "<= 3 ORDER BY n"
    ),
    "SELECT a, sum(count(*)) OVER () FROM t GROUP BY a",
    "SELECT a, b, sum(DISTINCT b) OVER (PARTITION BY a), rank() OVER (ORDER BY b, s) FROM t",
    "SELECT a, list(b ORDER BY b DESC) OVER w, median(b) OVER w, sum(b) OVER (PARTITION BY a + 1) "
    "FROM t WINDOW w AS (PARTITION BY a ORDER BY b, s ROWS 1 PRECEDING EXCLUDE CURRENT ROW)",
    "SELECT list(a), string_agg(s, ',') FROM (SELECT a, s FROM t ORDER BY b DESC, s) q",
    "SELECT row_number() OVER (), s FROM (SELECT s FROM t ORDER BY b, a, s) q ORDER BY 1",
    "SELECT a, b FROM t WHERE b > 5 QUALIFY b = max(b) OVER (PARTITION BY a) ORDER BY a, b",
)

ORDERED_JOINS = (
    "SELECT t.a, t.b, u.c FROM t ASOF JOIN u ON t.a = u.a AND t.b >= u.c",
    "SELECT t.a, t.b, u.c FROM t ASOF LEFT JOIN u ON t.a = u.a AND t.b >= u.c",
    "SELECT t.a, t.b, u.c FROM t ASOF LEFT JOIN u ON t.a = u.a AND t.b <= u.c",
    "SELECT t.a, t.b, u.c FROM t ASOF LEFT JOIN u ON t.b > u.c",
    "SELECT t.a, t.b, u.c FROM t ASOF LEFT JOIN u ON t.b < u.c",
    "SELECT v.k, v.e, one.k FROM v ASOF JOIN one ON v.e >= one.k",
    "SELECT v.k, v.e, one.k FROM v ASOF JOIN one ON v.e > one.k",
    "SELECT v.k, v.e, one.k FROM v ASOF RIGHT JOIN one ON v.e > one.k",
    "SELECT v.k, v.e, one.k FROM v ASOF FULL JOIN one ON v.e < one.k",
    (
        "SELECT x, y FROM (SELECT k AS x FROM one ORDER BY k) p POSITIONAL JOIN (SELECT a AS y "
        "FROM u ORDER BY a, c) q"
    ),
    "SELECT * FROM (VALUES (1), (2), (3)) p(x) POSITIONAL JOIN (VALUES ('a'), ('b')) q(y)",
    "SELECT * FROM range(3) p(x) POSITIONAL JOIN range(5, 10) q(y)",
)

PIVOTS = (
    "PIVOT t ON a IN (1, 2) USING sum(b) GROUP BY s",
    "PIVOT t ON a IN (1, 2) USING sum(b) AS x, count(*) AS y GROUP BY s",
    "UNPIVOT one ON k INTO NAME n VALUE w",
    "FROM t PIVOT (sum(b) FOR a IN (1, 2, 3) GROUP BY s)",
    "PIVOT t ON b IN ("
    + ", ".join(map(str, range(10, 60)))
    + ") USING max(s) AS x, count(*) AS y GROUP BY a",
)

QUERIES = (
    *PROJECTIONS,
    *JOINS,
    *SCALAR_SUBQUERIES,
    *MARKS,
    *CORRELATED,
    *GROUPS,
    *ORDERS,
    *SETS,
    *CTES,
    *TABLE_FUNCTIONS,
    *WINDOWS,
    *ORDERED_JOINS,
    *PIVOTS,
)

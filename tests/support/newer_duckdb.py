"""What DuckDB 2 says of some queries, kept for tests that run with DuckDB 1.5.

Made anew with ``python tests/support/newer_duckdb.py`` in an environment that has DuckDB 2.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb

KEPT = Path(__file__).parents[1] / "unit" / "binder" / "duckdb_2_0.json"

TABLES = """
CREATE TABLE t (id INTEGER, name VARCHAR, d DECIMAL(10, 2), l INTEGER[], ts TIMESTAMP);
CREATE TABLE r (id INTEGER, v INTEGER);
"""

# Their plans are the same from both versions, but for places in the text and numbers of tables.
SAME_PLANS = (
    "SELECT id + 1 AS x, name FROM t WHERE d > 3 AND name LIKE 'a%'",
    "SELECT CAST(name AS INTEGER), TRY_CAST(name AS DATE) FROM t WHERE id <> 2",
    "SELECT list_transform(l, lambda x, i: x + i + id), list_reduce(l, lambda a, b: a + b) FROM t",
    "SELECT string_agg(name, '-'), quantile_cont(id, 0.5), count(DISTINCT id) FROM t",
    "SELECT list_sort(l, 'DESC'), list_aggregate(l, 'string_agg', '-'), [id, 2] FROM t",
    "SELECT {'a': id, 'b': name}, row(id, name), struct_pack(k := id) FROM t",
    "SELECT date_part(['year', 'month'], ts), [1, 2, NULL], {'a': 1} FROM t",
    "FROM t JOIN r USING (id) ORDER BY v DESC NULLS LAST LIMIT 3",
)
# Version 2 plans these otherwise; they have the same types.
OTHER_PLANS = (
    "SELECT lag(v, 1, 3) OVER (ORDER BY id), rank() OVER (ORDER BY v) FROM r",
    "FROM r, range(r.v) AS g (i)",
    "FROM t, unnest(t.l) WITH ORDINALITY AS x (y, n)",
    "SELECT *, (SELECT v FROM r WHERE r.id = t.id LIMIT 1) FROM t",
    "SELECT *, (SELECT count(*) FROM r WHERE r.id = t.id) FROM t",
    "FROM t LEFT JOIN LATERAL (FROM r WHERE r.id = t.id) x ON true",
    "FROM t FULL JOIN r ON t.id = r.id AND t.d > 3 AND r.v < t.d",
    "SELECT id IN (SELECT id FROM r), id > ALL (SELECT v FROM r), (SELECT max(v) FROM r) FROM t",
    "WITH c AS MATERIALIZED (FROM r) SELECT * FROM c a JOIN c b USING (id)",
)
TREES = (
    "WITH x AS (SELECT 1 AS k) SELECT lake.main.t.id, $1 FROM lake.main.t AT (VERSION => 3), x",
    "SELECT twice(name), rowid FROM t, glob('*'), table_changes('t', 1, e := 2), (DESCRIBE r)",
)


def plan_document(con: Any, text: str) -> dict[str, Any]:
    """The serialised plan of a query."""
    asked = "SELECT json_serialize_plan(?, skip_default := true)"
    found: dict[str, Any] = json.loads(con.execute(asked, [text]).fetchone()[0])
    return found


def tree_document(con: Any, text: str) -> dict[str, Any]:
    """The serialised parse tree of a query."""
    asked = "SELECT json_serialize_sql(?, skip_default := true)"
    found: dict[str, Any] = json.loads(con.execute(asked, [text]).fetchone()[0])
    return found


def main() -> None:
    """Ask the DuckDB of this environment, and keep what it says."""
    with duckdb.connect() as con:
        con.execute(TABLES)
        told = {
            "version": duckdb.__version__,
            "plans": {text: plan_document(con, text) for text in (*SAME_PLANS, *OTHER_PLANS)},
            "trees": {text: tree_document(con, text) for text in TREES},
        }
    KEPT.write_text(json.dumps(told, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

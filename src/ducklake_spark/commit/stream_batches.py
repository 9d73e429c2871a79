"""Which batch of a streaming query a table has: kept with its rows, by the same commit.

It stands among the options of the table, because those outlive the snapshots: a query that was
down for longer than snapshots are kept still finds it. DuckDB leaves keys alone that it does not
know.
"""

from __future__ import annotations

import json

from ducklake_spark.catalog_db.connection import Database
from ducklake_spark.commit.options import OptionPlace


def batch_place(table_id: int, query: str) -> OptionPlace:
    """Where the number of the last batch of a query stands."""
    return ("table", table_id, f"spark_stream:{query}")


def load_last_batch(db: Database, table_id: int, query: str) -> int | None:
    """The last batch of a query that was committed to a table, or None."""
    scope, scope_id, key = batch_place(table_id, query)
    rows = db.fetch(
        f"SELECT value FROM {db.table('ducklake_metadata')} "
        'WHERE "key" = ? AND scope = ? AND scope_id = ?',
        (key, scope, scope_id),
    )
    return int(rows[0][0]) if rows else None


def batch_note(query: str, batch: int) -> str:
    """What the snapshot of a batch says about itself."""
    return json.dumps({"stream": {"query": query, "batch": batch}})

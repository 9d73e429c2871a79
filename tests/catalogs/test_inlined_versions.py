"""Tables of inlined rows that a later ALTER made, seen from snapshots before it."""

from __future__ import annotations

import ducklake_spark
from ducklake_spark.operations.contents import load_contents


def inlined_values(version):
    return [row.values for row in load_contents(version).inlined]


def test_inlined_rows_of_an_older_snapshot_are_read_after_a_later_alter(location):
    with ducklake_spark.connect(location.uri, alias="lake", data_path=location.data_path) as con:
        con.sql("CREATE TABLE t (a INTEGER, b VARCHAR)")
        con.sql("INSERT INTO t VALUES (1, 'x')")
        before = con.table_version(("t",))
        assert inlined_values(before) == [(1, "x")]
        con.sql("ALTER TABLE t DROP COLUMN b")
        con.sql("INSERT INTO t VALUES (2)")
        # With the state that was known before the change, and as time travel asks for it.
        travelled = con.table_version(("t",), version=before.snapshot.snapshot_id)
        assert inlined_values(before) == inlined_values(travelled) == [(1, "x")]
        assert inlined_values(con.table_version(("t",))) == [(1,), (2,)]

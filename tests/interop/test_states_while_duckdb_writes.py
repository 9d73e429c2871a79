"""What a connection keeps of the catalog's objects, while DuckDB changes them one by one."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import DuckLakeError
from ducklake_spark.operations.contents import load_contents
from support.oracle import Oracle
from support.writing import open_session

pytestmark = pytest.mark.interop

CHANGES = (
    "CREATE TABLE t (id BIGINT, name VARCHAR, s STRUCT(a INTEGER))",
    "INSERT INTO t SELECT i, 'n', {'a': i} FROM range(30) r(i)",
    "COMMENT ON TABLE t IS 'first'",
    "COMMENT ON TABLE t IS 'second'",
    "COMMENT ON COLUMN t.name IS 'a name'",
    "ALTER TABLE t SET PARTITIONED BY (name)",
    "ALTER TABLE t SET PARTITIONED BY (bucket(4, id))",
    "ALTER TABLE t RESET PARTITIONED BY",
    "ALTER TABLE t SET SORTED BY (id DESC)",
    "ALTER TABLE t RESET SORTED BY",
    "ALTER TABLE t ADD COLUMN extra INTEGER DEFAULT 3",
    "ALTER TABLE t ALTER extra SET DEFAULT 4",
    "ALTER TABLE t ALTER id SET NOT NULL",
    "ALTER TABLE t ALTER id DROP NOT NULL",
    "ALTER TABLE t ALTER extra SET DATA TYPE BIGINT",
    "ALTER TABLE t RENAME extra TO more",
    "ALTER TABLE t ADD COLUMN s.b INTEGER",
    "ALTER TABLE t DROP COLUMN more",
    "INSERT INTO t (id, name) SELECT i, 'n' FROM range(3) r(i)",
    "INSERT INTO t (id, name) SELECT i, 'n' FROM range(300) r(i)",
    "DELETE FROM t WHERE id = 1",
    "CREATE VIEW v AS SELECT id FROM t",
    "COMMENT ON VIEW v IS 'seen'",
    "CREATE OR REPLACE VIEW v AS SELECT name FROM t",
    "CREATE MACRO m(x) AS x + 1",
    "CREATE OR REPLACE MACRO m(x) AS x + 2",
    "CREATE SCHEMA other",
    "ALTER TABLE t RENAME TO u",
    "ALTER TABLE u RENAME TO t",
    "INSERT INTO t (id, name) VALUES (7, 'seven')",
    "CALL lake.set_option('data_inlining_row_limit', 0)",
    "INSERT INTO t (id, name) SELECT i, 'm' FROM range(5) r(i)",
    "CALL ducklake_flush_inlined_data('lake')",
    "CALL ducklake_merge_adjacent_files('lake')",
    "CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0)",
    "CALL ducklake_expire_snapshots('lake', versions => [3, 4, 5])",
    "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
    "DROP TABLE t",
    "CREATE TABLE t (name VARCHAR, id INTEGER)",
    "DROP VIEW v",
    "DROP SCHEMA other",
)


def seen(session):
    """Everything that the session says of the newest state, and of one table's contents."""
    lake = session.current_lake()
    snapshot = lake.latest()
    state = lake.state_at(snapshot)
    shown = [
        (entry.table_id, state.table(entry.table_id), state.comments.get(entry.table_id))
        for entry in state.tables.values()
    ]
    try:
        found = load_contents(session.table_version(("lake", "main", "t")), lazily=True)
        contents = (sorted(map(repr, found.files)), found.inlined_deletes, list(found.inlined))
    except DuckLakeError as error:
        contents = repr(error)
    objects = (state.schemas, state.views, state.macros, state.comments)
    return snapshot, shown, objects, contents


@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
def test_what_is_kept_is_what_a_new_look_shows(location):
    session = open_session(location)
    oracle = Oracle(location)
    try:
        for text in CHANGES:
            oracle.sql(text)
            first, again = seen(session), seen(session)
            new = open_session(location)
            assert first == again == seen(new), text
            new.close_lakes()
    finally:
        oracle.close()
        session.close_lakes()

"""ALTER TABLE: the same catalog as DuckDB's, and the same rows whoever altered."""

from __future__ import annotations

import pytest

import ducklake_spark
from support.catalogs import catalog_differences
from support.invariants import check_catalog

pytestmark = pytest.mark.interop

SEQUENCES = {
    "columns": """
        CREATE TABLE t (a INTEGER, b VARCHAR DEFAULT 'x', c DECIMAL(8,2));
        INSERT INTO t VALUES (1, 'one', 1.5);
        ALTER TABLE t ADD COLUMN d INTEGER;
        ALTER TABLE t ADD COLUMN e VARCHAR DEFAULT 'my_default';
        ALTER TABLE t ADD COLUMN f DOUBLE DEFAULT 1.5;
        ALTER TABLE t ADD COLUMN g DATE DEFAULT '2020-01-01';
        ALTER TABLE t ADD COLUMN h DECIMAL(10,2) DEFAULT -1.5;
        ALTER TABLE t ADD COLUMN i TIMESTAMP DEFAULT '2020-01-01';
        ALTER TABLE t ADD COLUMN IF NOT EXISTS i INTEGER;
        INSERT INTO t (a) VALUES (2);
        ALTER TABLE t RENAME a TO "A b";
        ALTER TABLE t RENAME COLUMN e TO E;
        ALTER TABLE t DROP COLUMN d;
        ALTER TABLE t DROP COLUMN IF EXISTS nothing;
        ALTER TABLE t ADD COLUMN d BIGINT DEFAULT 7;
        INSERT INTO t ("A b", d) VALUES (3, NULL);
        ALTER TABLE IF EXISTS missing ADD COLUMN x INTEGER""",
    "types": """
        CREATE TABLE t (a TINYINT, b SMALLINT, c INTEGER, d UTINYINT, e USMALLINT, f UINTEGER,
            g FLOAT, s STRUCT(i INTEGER, f FLOAT), l INTEGER[]);
        INSERT INTO t VALUES (1, 2, 3, 4, 5, 6, 0.5, {'i': 7, 'f': 0.5}, [1, NULL]);
        ALTER TABLE t ALTER a TYPE SMALLINT;
        ALTER TABLE t ALTER COLUMN a SET DATA TYPE BIGINT;
        ALTER TABLE t ALTER b TYPE INTEGER;
        ALTER TABLE t ALTER c SET DATA TYPE BIGINT;
        ALTER TABLE t ALTER d TYPE USMALLINT;
        ALTER TABLE t ALTER d TYPE UBIGINT;
        ALTER TABLE t ALTER e TYPE UINTEGER;
        ALTER TABLE t ALTER f TYPE UBIGINT;
        ALTER TABLE t ALTER g TYPE DOUBLE;
        ALTER TABLE t ALTER l TYPE BIGINT[];
        ALTER TABLE t ALTER s TYPE STRUCT(i BIGINT, f DOUBLE, n STRUCT(x INTEGER, y VARCHAR[]));
        ALTER TABLE t ALTER s TYPE STRUCT(i BIGINT, n STRUCT(x BIGINT));
        INSERT INTO t VALUES (1, 2, 3, 4, 5, 6, 0.5, {'i': 7, 'n': {'x': 8}}, [1, NULL])""",
    "fields": """
        CREATE TABLE t (k INTEGER, s STRUCT(i INTEGER, j STRUCT(k INTEGER, l INTEGER)),
            l STRUCT(x INTEGER)[], m MAP(VARCHAR, STRUCT(y INTEGER)));
        INSERT INTO t VALUES (1, {'i': 1, 'j': {'k': 2, 'l': 3}}, [{'x': 4}], MAP {'a': {'y': 5}});
        ALTER TABLE t ADD COLUMN s.n INTEGER DEFAULT 5;
        ALTER TABLE t ADD COLUMN s.st STRUCT(p INTEGER, q INTEGER[]);
        ALTER TABLE t ADD COLUMN s.j.z VARCHAR;
        ALTER TABLE t ADD COLUMN l.element.z VARCHAR;
        ALTER TABLE t ADD COLUMN m.value.z BIGINT;
        ALTER TABLE t RENAME s.i TO ii;
        ALTER TABLE t RENAME s.j TO jj;
        ALTER TABLE t RENAME COLUMN l.element.x TO xx;
        ALTER TABLE t DROP COLUMN s.st;
        ALTER TABLE t DROP COLUMN s.jj.k;
        ALTER TABLE t DROP COLUMN IF EXISTS s.nothing;
        ALTER TABLE t RENAME l TO ll;
        ALTER TABLE t DROP COLUMN m""",
    "rules": """
        CREATE SCHEMA s;
        CREATE TABLE s.t (a INTEGER, b VARCHAR NOT NULL DEFAULT 'x');
        INSERT INTO s.t VALUES (1, 'b');
        ALTER TABLE s.t ALTER a SET NOT NULL;
        ALTER TABLE s.t ALTER b DROP NOT NULL;
        ALTER TABLE s.t ALTER COLUMN a SET DEFAULT 42;
        ALTER TABLE s.t ALTER b DROP DEFAULT;
        ALTER TABLE s.t ALTER b SET DEFAULT 'y';
        ALTER TABLE s.t ALTER a DROP NOT NULL;
        INSERT INTO s.t VALUES (NULL, 'c');
        INSERT INTO s.t (b) VALUES ('d')""",
    "expressions": """
        CREATE TABLE t (a INTEGER, b INTEGER);
        ALTER TABLE t ALTER a SET DEFAULT 1+2""",
    "names": """
        CREATE TABLE t (a INTEGER);
        INSERT INTO t VALUES (1);
        COMMENT ON COLUMN t.a IS 'hello';
        COMMENT ON TABLE t IS 'table';
        ALTER TABLE t RENAME TO T;
        ALTER TABLE T RENAME TO u;
        INSERT INTO u VALUES (2);
        ALTER TABLE u RENAME a TO b;
        ALTER TABLE u ADD COLUMN c INTEGER;
        ALTER TABLE u DROP COLUMN b;
        CREATE TABLE t (z INTEGER)""",
    "one transaction": """
        CREATE TABLE t (a INTEGER, b INTEGER DEFAULT 3, s STRUCT(i INTEGER, k INTEGER));
        INSERT INTO t VALUES (1, 2, {'i': 1, 'k': 2});
        BEGIN;
        ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 9;
        ALTER TABLE t RENAME c TO cc;
        ALTER TABLE t ALTER cc SET DEFAULT 10;
        ALTER TABLE t RENAME a TO aa;
        ALTER TABLE t ALTER aa TYPE BIGINT;
        ALTER TABLE t RENAME s.i TO i2;
        ALTER TABLE t ADD COLUMN s.q INTEGER;
        ALTER TABLE t DROP COLUMN s.k;
        ALTER TABLE t ADD COLUMN gone INTEGER;
        ALTER TABLE t DROP COLUMN gone;
        COMMIT;
        BEGIN;
        ALTER TABLE t DROP COLUMN cc;
        ALTER TABLE t ADD COLUMN cc INTEGER;
        COMMIT;
        BEGIN;
        ALTER TABLE t RENAME aa TO x1;
        ALTER TABLE t RENAME x1 TO aa;
        COMMIT;
        BEGIN;
        ALTER TABLE t ADD COLUMN e INTEGER;
        ALTER TABLE t DROP COLUMN e;
        COMMIT""",
    "own rows": """
        CREATE TABLE t (a INTEGER, b INTEGER);
        INSERT INTO t VALUES (1, 2);
        BEGIN;
        INSERT INTO t VALUES (10, 11);
        ALTER TABLE t RENAME b TO bb;
        INSERT INTO t VALUES (12, 13);
        COMMIT;
        BEGIN;
        ALTER TABLE t ADD COLUMN z INTEGER;
        INSERT INTO t VALUES (20, 21, 22);
        COMMIT""",
    "own table": """
        BEGIN;
        CREATE TABLE n (a INTEGER, b INTEGER);
        INSERT INTO n VALUES (1, 2);
        ALTER TABLE n ADD COLUMN c INTEGER DEFAULT 4;
        ALTER TABLE n RENAME a TO aa;
        ALTER TABLE n DROP COLUMN b;
        ALTER TABLE n RENAME TO n2;
        COMMIT;
        BEGIN;
        CREATE TABLE p (a INTEGER);
        ALTER TABLE p RENAME TO p2;
        COMMIT;
        BEGIN;
        ALTER TABLE p2 RENAME TO p3;
        ALTER TABLE p3 RENAME TO p4;
        COMMIT""",
}


def statements(text: str) -> list[str]:
    return [part.strip() for part in text.split(";")]


@pytest.mark.parametrize("name", SEQUENCES)
def test_the_catalog_is_the_extensions_when_the_same_tables_are_altered(
    catalog_kind, make_lake_location, name
):
    theirs = make_lake_location(catalog_kind, "theirs")
    with theirs.oracle() as oracle:
        for statement in statements(SEQUENCES[name]):
            oracle.sql(statement)
    ours = make_lake_location(catalog_kind, "ours")
    with ducklake_spark.connect(ours.uri, alias="lake", data_path=ours.data_path) as con:
        for statement in statements(SEQUENCES[name]):
            con.sql(statement)
    with ours.database() as mine, theirs.database() as other:
        check_catalog(mine)
        assert catalog_differences(mine, other) == {}

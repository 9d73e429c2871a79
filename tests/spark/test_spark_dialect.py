"""con.sql(text, dialect="spark"): Spark's words and Spark's meaning over the same tables."""

from __future__ import annotations

import pytest

import ducklake_spark
from ducklake_spark.errors import NotSupported

pytestmark = pytest.mark.spark


@pytest.fixture
def con(tmp_path, spark):
    uri = f"ducklake:sqlite:{tmp_path / 'lake.sqlite'}"
    with ducklake_spark.connect(uri, spark=spark, data_path=f"{tmp_path}/data/") as connection:
        yield connection


def test_spark_sql_creates_fills_and_reads_tables_at_any_snapshot(con):
    def run(text):
        return con.sql(text, dialect="spark")

    run("CREATE TABLE `my t` (id INT, `a b` ARRAY<INT>) USING ducklake")
    run("INSERT INTO `my t` VALUES (1, array(10, 20)), (CAST(2.9 AS INT), NULL)")
    run("INSERT INTO `my t` SELECT 3, array(30)")
    first = con.sql("SELECT max(snapshot_id) - 1 FROM snapshots()").collect()[0][0]
    assert run(f"SELECT id, `a b`[0] FROM `my t` VERSION AS OF {first} ORDER BY id").collect() == [
        (1, 10),
        (2, None),
    ]
    assert run("SELECT count(*) FROM `my t` TIMESTAMP AS OF now()").collect() == [(3,)]
    run("CREATE VIEW v AS SELECT id FROM `my t` WHERE id > 1")
    assert sorted(run("SELECT * FROM v").collect()) == [(2,), (3,)]
    with pytest.raises(NotSupported, match="DuckDB's dialect"):
        run("CREATE VIEW w AS SELECT weekday(current_date()) AS d")

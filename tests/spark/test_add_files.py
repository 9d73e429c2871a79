"""Adding files through a connection: transactions, tasks, refusals; and Spark's own tables."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ducklake_spark
from ducklake_spark.errors import AlreadyExists, InvalidInput, MissingDataFile
from support.lakes import make_location

pytestmark = pytest.mark.spark


@pytest.fixture
def con(tmp_path, spark):
    location = make_location("sqlite", tmp_path)
    options = {"alias": "lake", "data_path": location.data_path}
    with ducklake_spark.connect(location.uri, spark=spark, **options) as connection:
        connection.sql("CREATE TABLE t(id BIGINT, name VARCHAR)")
        yield connection


def make_files(folder, count: int, rows: int = 2) -> str:
    folder.mkdir()
    for number in range(count):
        ids = pa.array(range(number * rows, (number + 1) * rows), pa.int32())
        names = [f"n{i}" for i in ids.to_pylist()]
        pq.write_table(pa.table({"name": names, "id": ids}), folder / f"f{number:04}.parquet")
    return f"{folder}/*.parquet"


def test_many_files_are_looked_at_by_tasks_and_keep_their_order(con, tmp_path):
    files = make_files(tmp_path / "many", 20)
    assert con.add_files("t", files) == 20
    rows = con.sql("SELECT rowid, id, name FROM t").collect()
    assert sorted(tuple(row) for row in rows) == [(i, i, f"n{i}") for i in range(40)]
    (kept,) = con.sql("SELECT id FROM t WHERE id = 7").collect()
    assert kept.id == 7
    assert "1 of 20 files" in con.explain("SELECT id FROM t WHERE id = 7")


def test_a_task_that_refuses_a_file_adds_none(con, tmp_path):
    files = make_files(tmp_path / "many", 20)
    pq.write_table(pa.table({"id": ["text"], "name": ["x"]}), tmp_path / "many" / "bad.parquet")
    with pytest.raises(InvalidInput, match="Failed to map column"):
        con.add_files("t", files)
    assert con.table("t").count() == 0


def test_a_transaction_sees_its_files_and_a_rollback_keeps_them_on_the_disk(con, tmp_path):
    files = make_files(tmp_path / "few", 2)
    con.begin()
    con.add_files("t", files)
    con.sql("INSERT INTO t VALUES (100, 'own')")
    assert con.table("t").count() == 5
    assert con.sql("SELECT name FROM t WHERE id = 3").collect()[0].name == "n3"
    con.rollback()
    assert con.table("t").count() == 0
    assert len(list((tmp_path / "few").iterdir())) == 2
    con.add_files("t", files)
    assert con.table("t").count() == 4


def test_a_file_is_added_to_a_table_once(con, tmp_path):
    files = make_files(tmp_path / "few", 2)
    con.add_files("t", [files, f"{tmp_path}/few/f0000.parquet"])
    assert con.table("t").count() == 4
    with pytest.raises(AlreadyExists, match="f0000"):
        con.add_files("t", f"{tmp_path}/few/f0000.parquet")
    with pytest.raises(MissingDataFile, match="no files found"):
        con.add_files("t", f"{tmp_path}/nothing/*.parquet")


def test_a_struct_of_which_a_file_has_no_field_is_no_null(con, tmp_path):
    data = pa.table({"s": pa.array([{"other": 1}, None])})
    pq.write_table(data, tmp_path / "f.parquet")
    con.sql("CREATE TABLE s(s STRUCT(p INTEGER))")
    options = {"allow_missing": True, "ignore_extra_columns": True}
    con.add_files("s", f"{tmp_path}/f.parquet", **options)
    assert [row.s for row in con.table("s").collect()] == [(None,), None]


def test_names_that_no_lake_has_are_sparks_own(con, spark):
    spark.range(3).createOrReplaceTempView("only_in_spark")
    spark.range(5).createOrReplaceTempView("t")
    try:
        con.sql("CREATE TABLE copied AS SELECT * FROM only_in_spark")
        assert con.table("copied").count() == 3
        assert con.sql("SELECT * FROM t").count() == 0  # the lake's table goes first
    finally:
        spark.catalog.dropTempView("only_in_spark")
        spark.catalog.dropTempView("t")


def test_a_table_is_made_of_a_frame(con, spark):
    frame = spark.sql("SELECT 1 AS id, array('x') AS names")
    assert con.create_table("made", frame) == 1
    assert con.append("made", frame) == 1
    assert [tuple(row) for row in con.table("made").collect()] == [(1, ["x"])] * 2
    with pytest.raises(AlreadyExists):
        con.create_table("made", frame)
    con.create_table("made", frame, or_replace=True)
    assert con.table("made").count() == 1

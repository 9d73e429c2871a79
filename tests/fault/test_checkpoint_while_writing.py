"""CHECKPOINT while others append, delete and read: no row is lost or comes twice."""

from __future__ import annotations

import threading

import pytest

import ducklake_spark
from ducklake_spark.errors import TransactionConflict
from support.faults import append_mixed, delete_many, processes
from support.writing import Writer, open_session

pytestmark = pytest.mark.spark

APPENDERS, COMMITS, DELETED = 2, 15, 12
FIRST = 10_000  # of the rows that are there from the beginning


class Reader(threading.Thread):
    """Reads with a connection of its own until it is told to stop; keeps what went wrong."""

    def __init__(self, con, wanted: set[int]) -> None:
        super().__init__()
        self.con, self.wanted = con, wanted
        self.done = threading.Event()
        self.reads, self.error = 0, None

    def run(self) -> None:
        seen: set[int] = set()
        try:
            while not self.done.is_set():
                rows = [row[0] for row in self.con.sql("SELECT id FROM t").collect()]
                assert len(rows) == len(set(rows)), "rows that come twice"
                assert self.wanted <= set(rows), "rows that nobody deleted"
                appended = {each for each in rows if each < FIRST}
                assert seen <= appended, "rows that were there before"
                seen = appended
                self.reads += 1
        except BaseException as error:
            self.error = error


def checkpoint(con) -> bool:
    """Whether it went through: a delete of others may stand in its way."""
    try:
        con.sql("CHECKPOINT lake")
    except TransactionConflict as conflict:
        print(conflict)
        return False
    return True


@pytest.mark.parametrize("catalog_kind", ["sqlite", "postgres"], indirect=True)
def test_checkpoints_among_writers_and_readers_lose_nothing(spark, location):
    session = open_session(location)
    Writer(session).create_table("t")
    Writer(session).insert(*range(FIRST, FIRST + 40))
    Writer(session).insert_inlined(FIRST + 40, FIRST + 41)
    session.close_lakes()
    gone = [FIRST + each for each in range(0, 3 * DELETED, 3)]
    kept = {*range(FIRST, FIRST + 42)} - {*gone}
    context = processes()
    start = context.Barrier(APPENDERS + 1)
    writers = [
        context.Process(target=append_mixed, args=(location, number, COMMITS, start))
        for number in range(APPENDERS)
    ]
    writers.append(context.Process(target=delete_many, args=(location, 1, gone, start, 0.5)))
    options = {"alias": "lake", "data_path": location.data_path, "busy_timeout": 20_000}
    with ducklake_spark.connect(location.uri, spark=spark, **options) as con:
        con.sql("CALL lake.set_option('expire_older_than', '1 second')")
        con.sql("CALL lake.set_option('rewrite_delete_threshold', 0.1)")
        reader = Reader(con.cursor(), kept)
        for process in writers:
            process.start()
        reader.start()
        while any(process.is_alive() for process in writers):
            checkpoint(con)
        reader.done.set()
        reader.join()
        assert reader.error is None
        assert [process.exitcode for process in writers] == [0] * len(writers)
        assert reader.reads > 0
        check_rows(con, {*range(APPENDERS * COMMITS * 2), *kept})
        con.sql("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
        con.sql("CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)")
        assert checkpoint(con)
        check_rows(con, {*range(APPENDERS * COMMITS * 2), *kept})
        reader.con.close()


def check_rows(con, wanted: set[int]) -> None:
    rows = con.table("t", virtual_columns=["rowid"]).collect()
    assert sorted(row["id"] for row in rows) == sorted(wanted)
    assert len({row["rowid"] for row in rows}) == len(rows)
    assert con.sql("SELECT count(*) FROM t").collect()[0][0] == len(wanted)
    assert con.check().collect() == []

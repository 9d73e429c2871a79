"""Statistics of files: loaded once for a column, and each time where caches are off."""

from __future__ import annotations

import random
from functools import partial

import pytest

from ducklake_spark import caching
from ducklake_spark.catalog.file_facts import FileFacts, KnownFacts
from ducklake_spark.model.predicate import Comparison
from ducklake_spark.operations.choose_files import FileChoice
from ducklake_spark.operations.contents import load_contents
from ducklake_spark.plan.bounds import FileStats
from support.threads import in_threads
from support.writing import Writer, open_session

FILES = range(1, 50)


@pytest.mark.parametrize("catalog_kind", ["sqlite"], indirect=True)
def test_a_kept_table_asks_once_for_a_column_and_always_without_caches(location):
    session = open_session(location)
    Writer(session).create_table("t")
    Writer(session).insert(1, 2)
    Writer(session).insert(30, 40)
    version = session.table_version(("lake", "main", "t"))
    contents = load_contents(version)
    choice = FileChoice(version.lake, version.table, contents.files, known=contents.known)

    def statements():
        version.lake.db.trace = []
        assert len(choice(Comparison(1, "=", 30))) == 1
        trace, version.lake.db.trace = version.lake.db.trace, None
        return len(trace)

    assert [statements() for _ in range(3)] == [1, 0, 0]
    with caching.off():
        assert [statements() for _ in range(2)] == [1, 1]
    assert [statements() for _ in range(3)] == [1, 0, 0]
    session.close_lakes()


def loaded(columns):
    """Facts that tell by their bounds which file and column they are of."""
    stats = {i: {c: FileStats(1, 0, f"{i}", f"{c}", None) for c in columns} for i in FILES}
    return FileFacts(stats, columns=frozenset(columns))


def test_threads_that_ask_for_other_columns_all_find_theirs():
    known = KnownFacts()

    def ask(seed):
        rng = random.Random(seed)
        for _ in range(200):
            wanted = set(rng.sample(range(30), 3))
            facts = known.find(wanted, loaded)
            assert wanted <= facts.columns
            for number, by_column in facts.stats.items():
                assert wanted <= set(by_column)
                assert all(
                    s == FileStats(1, 0, f"{number}", f"{c}", None) for c, s in by_column.items()
                )

    in_threads([partial(ask, seed) for seed in range(4)])


def test_what_is_given_counts_and_more_than_fits_is_not_kept(lower):
    asked = []

    def load(missing):
        asked.append(missing)
        return loaded(missing)

    known = KnownFacts(loaded([1, 2]))
    assert known.find([1], load).columns == {1, 2}
    assert known.find([2, 3], load).columns == {1, 2, 3}
    assert known.find([3], load).columns == {1, 2, 3}
    assert asked == [{3}]
    lower(remembered_bounds=1)
    known.find([4], load)
    assert known.find([4], load).columns == {1, 2, 4}
    assert asked == [{3}, {4}, {4}]

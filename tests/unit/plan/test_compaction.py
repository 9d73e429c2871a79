"""Which files are merged and rewritten."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ducklake_spark.model.entities import DataFile, DeleteFile
from ducklake_spark.plan.compaction import (
    Candidate,
    SizeLimits,
    follow_each_other,
    is_worth_rewriting,
    last_snapshot,
    plan_merge,
    plan_rewrite,
)


def a_file(number: int, size: int = 10, rows: int = 100, **facts) -> DataFile:
    given_facts = {"row_id_start": number * 100, "begin_snapshot": number, **facts}
    return DataFile(number, f"/t/{number}.parquet", rows, size, None, **given_facts)


def a_delete(count: int) -> DeleteFile:
    return DeleteFile(1, "/t/d.parquet", "parquet", count, 10, None, 1)


def numbers(groups) -> list[list[int]]:
    return [[candidate.file.data_file_id for candidate in group] for group in groups]


def merged(*candidates: Candidate, target: int = 1000, **limits) -> list[list[int]]:
    most = limits.pop("max_groups", None)
    return numbers(plan_merge(candidates, SizeLimits(target, **limits), max_groups=most))


def test_small_files_become_one_group_in_the_order_of_their_rows():
    assert merged(*(Candidate(a_file(n), 1) for n in (3, 1, 2))) == [[1, 2, 3]]


def test_a_file_alone_is_left_alone():
    assert merged(Candidate(a_file(1), 1)) == []


def test_a_group_ends_when_it_has_reached_the_target():
    files = [Candidate(a_file(n, size=40), 1) for n in range(7)]
    assert merged(*files, target=100) == [[0, 1, 2], [3, 4, 5]]


def test_files_of_the_target_size_are_left_alone():
    files = [Candidate(a_file(n, size=size), 1) for n, size in enumerate((100, 99, 50, 100))]
    assert merged(*files, target=100) == [[1, 2]]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [({"least": 20}, [[1, 2]]), ({"most": 30}, [[0, 1]]), ({"least": 20, "most": 30}, [])],
)
def test_sizes_decide_which_files_are_merged(limits, expected):
    files = [Candidate(a_file(n, size=size), 1) for n, size in enumerate((10, 20, 30))]
    assert merged(*files, **limits) == expected


def test_schema_versions_and_partitions_are_not_mixed():
    files = [
        Candidate(a_file(1), 1),
        Candidate(a_file(2), 2),
        Candidate(a_file(3), 1),
        Candidate(a_file(4), 2),
        Candidate(a_file(5, partition_id=7), 2, ("a",)),
        Candidate(a_file(6, partition_id=7), 2, (None,)),
        Candidate(a_file(7, partition_id=7), 2, ("a",)),
        Candidate(a_file(8, partition_id=8), 2, ("a",)),
        Candidate(a_file(9, partition_id=7), 2, (None,)),
    ]
    assert merged(*files) == [[1, 3], [2, 4], [5, 7], [6, 9]]


def test_files_with_deletes_are_left_alone():
    files = [
        Candidate(a_file(1), 1),
        Candidate(a_file(2, delete_file=a_delete(1)), 1),
        Candidate(a_file(3, inlined_deletes=1), 1),
        Candidate(a_file(4), 1, had_deletes=True),
        Candidate(a_file(5), 1),
    ]
    assert merged(*files) == [[1, 5]]


def test_no_more_groups_are_made_than_asked_for():
    files = [Candidate(a_file(n, size=50), 1) for n in range(6)]
    assert merged(*files, target=100, max_groups=2) == [[0, 1], [2, 3]]


def test_a_file_without_a_row_id_comes_after_those_of_its_snapshot():
    files = [
        Candidate(a_file(1, begin_snapshot=5, row_id_start=None), 1),
        Candidate(a_file(2, begin_snapshot=5), 1),
        Candidate(a_file(3, begin_snapshot=4), 1),
    ]
    assert merged(*files) == [[3, 2, 1]]


@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(1, 200), max_size=30),
    versions=st.lists(st.integers(1, 3), min_size=30, max_size=30),
    target=st.integers(1, 300),
)
def test_every_file_is_in_one_group_at_most_and_groups_are_worth_it(sizes, versions, target):
    files = [Candidate(a_file(n, size=s), v) for (n, s), v in zip(enumerate(sizes), versions)]  # noqa: B905
    groups = plan_merge(files, SizeLimits(target))
    chosen = [candidate for group in groups for candidate in group]
    assert len({c.file.data_file_id for c in chosen}) == len(chosen)
    for group in groups:
        assert len(group) > 1
        assert len({candidate.schema_version for candidate in group}) == 1
        assert sum(c.file.file_size_bytes for c in group[:-1]) < target


def test_nothing_is_left_to_merge_after_a_merge_to_the_target():
    """A merged file that reached the target is not taken again."""
    assert (
        merged(Candidate(a_file(1, size=120), 1), Candidate(a_file(2, size=50), 1), target=100)
        == []
    )


@pytest.mark.parametrize(
    ("file", "threshold", "expected"),
    [
        (a_file(1), 0, False),
        (a_file(1, delete_file=a_delete(94)), 0.95, False),
        (a_file(1, delete_file=a_delete(95)), 0.95, True),
        (a_file(1, delete_file=a_delete(90), inlined_deletes=5), 0.95, True),
        (a_file(1, inlined_deletes=1), 0, True),
        (a_file(1, rows=0, inlined_deletes=1), 0, False),
    ],
)
def test_a_file_is_rewritten_when_enough_of_it_is_deleted(file, threshold, expected):
    assert is_worth_rewriting(file, threshold) is expected


def test_rewritten_files_of_one_partition_become_one():
    files = [
        Candidate(a_file(1, inlined_deletes=99, size=10**9), 1),
        Candidate(a_file(2), 1),
        Candidate(a_file(3, delete_file=a_delete(99)), 1),
        Candidate(a_file(4, delete_file=a_delete(99)), 2),
    ]
    assert numbers(plan_rewrite(files, 0.5)) == [[1, 3], [4]]


def test_row_ids_follow_each_other_only_without_a_gap():
    assert follow_each_other([a_file(1), a_file(2), a_file(3)])
    assert not follow_each_other([a_file(1), a_file(3)])
    assert not follow_each_other([a_file(1), a_file(2, row_id_start=None)])


def test_the_last_snapshot_is_that_of_the_youngest_row():
    assert last_snapshot([a_file(3), a_file(1, partial_max=7), a_file(5)]) == 7

"""Which files are read for the changes of a range of snapshots, and how."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import NotSupported
from ducklake_spark.model.entities import DataFile, DeleteFile
from ducklake_spark.plan.changes import ChangedFile, Spans, check_deletes, plan_changes


def a_file(file_id=0, begin=2, end=None, *, deletes=(), positions=(), **more):
    values = {"row_id_start": 0, **more}
    path = f"/d/{file_id}.parquet"
    file = DataFile(file_id, path, 10, 100, 40, begin_snapshot=begin, **values)
    return ChangedFile(file, end, tuple(deletes), tuple(positions))


def a_delete(begin, partial_max=None, *, file_id=50, kind="parquet", **more):
    path = f"/d/{file_id}-delete.parquet"
    return DeleteFile(file_id, path, kind, 1, 50, 20, begin, partial_max, **more)


def plan(*files, start, end, rewrites=(), expired=(), **more):
    logged = {s: s in rewrites for s in range(start - 1, end + 1) if s not in expired}
    return plan_changes(files, start=start, end=end, logged=logged, **more)


def ids(groups):
    return sorted(changed.file.data_file_id for group in groups for changed in group.files)


def test_spans_touch_where_they_overlap_and_nowhere_else():
    spans = Spans([(7, 9), (2, 3), (3, 4)])
    touched = [s for s in range(12) if spans.touches(s, s)]
    assert touched == [2, 3, 4, 7, 8, 9]
    assert not spans.touches(5, 6)
    assert spans.touches(0, 100)
    assert not Spans([]).touches(0, 100)


def test_files_are_insertions_when_they_begin_in_the_range():
    found = plan(a_file(1, 2), a_file(2, 3), a_file(3, 4), a_file(4, 5), start=3, end=4)
    assert ids(found.insertions) == [2, 3]
    assert ids(found.deletions) == []


def test_merged_files_are_insertions_when_their_snapshots_overlap_the_range():
    files = [a_file(1, 2, partial_max=3), a_file(2, 2, partial_max=9), a_file(3, 6, partial_max=9)]
    assert ids(plan(*files, start=4, end=5).insertions) == [2]


def test_insertions_stand_alone_when_no_snapshot_of_theirs_deletes_anything():
    deleted = a_file(1, 2, deletes=[a_delete(5)])
    found = plan(deleted, a_file(2, 4), a_file(3, 5), start=3, end=6)
    paired = {ids([group])[0]: group.paired for group in found.insertions}
    assert paired == {2: False, 3: True}
    assert [group.paired for group in found.deletions] == [True]


def test_inlined_rows_pair_with_files():
    found = plan(a_file(1, 4), a_file(2, 5), start=3, end=6, deleted_rows=[5])
    paired = {ids([group])[0]: group.paired for group in found.insertions}
    assert paired == {1: False, 2: True}
    other = plan(a_file(1, 2, end=5), start=3, end=6, inserted_rows=[5])
    assert [(group.paired, group.ended) for group in other.deletions] == [(True, True)]


@pytest.mark.parametrize(
    ("delete", "file", "found"),
    [
        (a_delete(2), {}, False),  # all of it before the range
        (a_delete(4), {}, True),
        (a_delete(2, 4), {}, True),  # consolidated
        (a_delete(2, 3), {}, False),
        (a_delete(2), {"partial_max": 2}, True),  # a flush may have written deletes up to now
        (a_delete(2, file_id=7), {"partial_max": 2}, False),  # written before the range
    ],
)
def test_delete_files_are_read_when_they_may_hold_deletes_of_the_range(delete, file, found):
    changed = a_file(1, 1, deletes=[delete], **file)
    result = plan(changed, start=4, end=5, first_file_id=8)
    assert ids(result.deletions) == ([1] if found else [])


def test_inlined_deletes_count_when_they_are_of_the_range():
    files = [a_file(1, 1, positions=[(0, 3)]), a_file(2, 1, positions=[(0, 4), (1, 9)])]
    assert ids(plan(*files, start=4, end=5).deletions) == [2]


def test_a_file_is_deleted_as_a_whole_when_it_ends_in_the_range():
    found = plan(a_file(1, 1, end=4), a_file(2, 1, end=6), start=3, end=5)
    assert [(ids([group]), group.ended) for group in found.deletions] == [([1], True)]


def test_a_file_shows_nothing_when_it_came_and_went_in_one_commit():
    found = plan(a_file(1, 4, end=4), start=3, end=5)
    assert (ids(found.insertions), ids(found.deletions)) == ([], [])


def test_rows_may_be_undone_when_the_deletes_are_as_old_as_the_file():
    undone = a_file(1, 4, deletes=[a_delete(4, 5)])
    inlined = a_file(2, 4, positions=[(0, 4)])
    later = a_file(3, 4, deletes=[a_delete(5)])
    found = plan(undone, inlined, later, start=4, end=5)
    assert {ids([g])[0] if not g.undone else 0: ids([g]) for g in found.insertions} == {
        0: [1, 2],
        3: [3],
    }


def test_a_rewrite_shows_nothing_but_the_deletes_before_it():
    old = a_file(1, 1, end=5, deletes=[a_delete(4)])
    new = a_file(2, 5, row_id_start=None)
    found = plan(old, new, start=4, end=6, rewrites=[5])
    assert ids(found.insertions) == []
    assert [(ids([group]), group.ended) for group in found.deletions] == [([1], False)]


def test_a_rewrite_is_known_by_the_shape_of_its_files_when_its_log_has_expired():
    old, new = a_file(1, 1, end=5, deletes=[a_delete(2)]), a_file(2, 5, row_id_start=None)
    found = plan(old, new, start=4, end=6, expired=[5])
    assert (ids(found.insertions), ids(found.deletions)) == ([], [])


def test_a_rewrite_is_shown_when_what_it_replaced_may_have_expired():
    new = a_file(2, 5, row_id_start=None)
    found = plan(new, start=3, end=6, rewrites=[5], expired=[4])
    assert ids(found.insertions) == [2]


def test_a_rewrite_shows_nothing_when_the_range_begins_with_it():
    old, new = a_file(1, 1, end=5, deletes=[a_delete(2)]), a_file(2, 5, row_id_start=None)
    found = plan(old, new, start=5, end=6, rewrites=[5], expired=[4])
    assert (ids(found.insertions), ids(found.deletions)) == ([], [])


@pytest.mark.parametrize("delete", [a_delete(3, kind="puffin"), a_delete(3, encryption_key="k")])
def test_delete_files_that_cannot_be_read_are_refused(delete):
    with pytest.raises(NotSupported, match="50-delete"):
        check_deletes("t", [a_file(1, 1, deletes=[delete])])


def test_merged_files_are_read_when_not_all_of_their_rows_are_of_a_rewrite():
    merged = a_file(1, 5, row_id_start=None, partial_max=5)
    later = a_file(2, 5, row_id_start=None, partial_max=6)
    found = plan(merged, later, start=5, end=6, rewrites=[5])
    assert [(ids([group]), group.is_mixed) for group in found.insertions] == [([2], True)]

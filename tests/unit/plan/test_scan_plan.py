"""How files are grouped into branches, and what is asked of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ducklake_spark.errors import NotSupported
from ducklake_spark.model.entities import DataFile, DeleteFile, NameMapping, TableEntry
from ducklake_spark.model.schema import Column, Schema
from ducklake_spark.plan.hive import hive_values
from ducklake_spark.plan.scan import plan_scan
from ducklake_spark.plan.stored import is_widened


def a_table(*columns, begin=1):
    return TableEntry(1, "u", 0, "t", "t/", True, Schema(tuple(columns)), begin)


def a_file(file_id=0, begin=2, *, size=100, **more):
    values = {"row_id_start": 0, **more}
    return DataFile(file_id, f"/d/{file_id}.parquet", 10, size, 40, begin_snapshot=begin, **values)


def a_delete(**more):
    return DeleteFile(9, "/d/9-delete.parquet", "parquet", 1, 50, 20, 3, **more)


def plan(table, *files, snapshot=9, history=None, **more):
    """`history` gives the schema that begins with a snapshot, the table's own being the last."""
    versions = sorted((history or {}).items())

    def schema_at(snapshot_id):
        seen = [schema for begin, schema in versions if begin <= snapshot_id]
        return seen[-1] if seen else table.schema

    return plan_scan(table, snapshot, files, schema_at=schema_at, **more)


I32 = Column(1, "a", "int32")


def test_files_share_a_branch_when_nothing_tells_them_apart():
    [branch] = plan(a_table(I32), *(a_file(n, begin=n + 2) for n in range(5))).branches
    assert len(branch.files) == 5
    assert (branch.reader, branch.by_name, branch.deletes, branch.later) == (
        "native",
        False,
        False,
        False,
    )
    assert branch.columns[0].stored == I32


def test_there_is_no_branch_when_there_is_no_file():
    assert plan(a_table(I32)).branches == ()


def test_only_files_with_hidden_rows_are_set_apart():
    scan = plan(
        a_table(I32),
        a_file(0, size=10_000),
        a_file(1, delete_file=a_delete()),
        a_file(2, inlined_deletes=1),
        a_file(3, partial_max=12, size=10_000),
        a_file(4, partial_max=9),
        a_file(5, partial_max=12, inlined_deletes=1),
    )
    found = {
        (branch.deletes, branch.later): [file.data_file_id for file in branch.files]
        for branch in scan.branches
    }
    assert found == {
        (False, False): [0, 4],
        (True, False): [1, 2],
        (False, True): [3],
        (True, True): [5],
    }
    assert len(scan.files) == 6


def test_few_files_without_deletes_are_read_with_those_that_have_them():
    files = [
        a_file(0),
        a_file(1, delete_file=a_delete()),
        a_file(2, inlined_deletes=1),
        a_file(-1),
        a_file(-2),
    ]
    (branch,) = plan(a_table(I32), *files[:4]).branches
    assert branch.deletes
    assert [file.data_file_id for file in branch.files] == [0, 1, 2, -1]
    assert [len(branch.files) for branch in plan(a_table(I32), *files).branches] == [3, 2]


@pytest.mark.parametrize(
    ("old", "new", "asked"),
    [
        ("int32", "int64", "int64"),
        ("int64", "float64", "int64"),
        ("uint32", "float64", "uint32"),
        ("decimal(9,2)", "float64", "decimal(9,2)"),
        ("decimal(9,2)", "decimal(18,4)", "decimal(18,4)"),
        ("decimal(18,4)", "decimal(38,2)", "decimal(18,4)"),
        ("date", "timestamp", "timestamp"),
        ("timestamp", "timestamptz", "timestamp"),
        ("float32", "float64", "float32"),
        ("uint8", "uint64", "uint8"),
    ],
)
def test_the_files_own_type_is_asked_for_when_the_reader_does_not_widen_it(old, new, asked):
    table = a_table(Column(1, "a", new))
    history = {1: Schema((Column(1, "a", old),)), 5: table.schema}
    old_file, new_file = a_file(0, begin=2), a_file(1, begin=6)
    scan = plan(table, old_file, new_file, history=history)
    types = {b.files[0].data_file_id: b.columns[0].stored.type_name for b in scan.branches}
    assert types[0] == asked
    assert len(scan.branches) == (1 if asked == new else 2)


def test_the_same_holds_inside_nested_types():
    def tree(kind):
        item = Column(3, "element", "struct", (Column(4, "x", kind),))
        return Column(2, "l", "list", (item,))

    table = a_table(tree("float64"))
    history = {1: Schema((tree("int64"),)), 5: table.schema}
    [branch] = plan(table, a_file(0, begin=2), history=history).branches
    assert branch.columns[0].stored == tree("int64")


def test_footers_decide_when_the_catalog_cannot_tell_the_type():
    table = a_table(Column(1, "a", "float64"))
    history = {1: Schema((Column(1, "a", "uint32"),)), 5: table.schema}
    rewritten, same_commit, sure = (
        a_file(0, begin=7, row_id_start=None),
        a_file(1, begin=5),
        a_file(2, begin=6),
    )
    asked = []

    def footer(file):
        asked.append(file.data_file_id)
        return {1: "uint32"}

    scan = plan(table, rewritten, same_commit, sure, history=history, stored_types=footer)
    assert asked == [0, 1]
    types = [branch.columns[0].stored.type_name for branch in scan.branches]
    assert types == ["uint32", "float64"]
    with pytest.raises(NotSupported, match=r"/d/0\.parquet"):
        plan(table, rewritten, history=history)


def test_no_footer_is_read_when_no_type_has_changed():
    table = a_table(Column(1, "b", "float64"))
    history = {1: Schema((Column(1, "a", "float64"),)), 5: table.schema}
    [branch] = plan(table, a_file(begin=5, row_id_start=None), history=history).branches
    assert branch.columns[0].stored.type_name == "float64"


def test_a_field_that_a_file_lacks_is_not_asked_for():
    old = Column(1, "s", "struct", (Column(2, "a", "int32"),))
    new = replace(old, children=(*old.children, Column(3, "b", "int32")))
    table = a_table(new)
    history = {1: Schema((old,)), 5: table.schema}
    scan = plan(table, a_file(0, begin=2), a_file(1, begin=6), history=history)
    assert [branch.columns[0].stored for branch in scan.branches] == [old, new]


def test_a_missing_wide_decimal_with_a_default_is_not_asked_for():
    added = Column(2, "u", "uint64", initial_default="5")
    table = a_table(I32, added)
    history = {1: Schema((I32,)), 5: table.schema}
    scan = plan(table, a_file(0, begin=2), a_file(1, begin=6), history=history)
    assert [branch.columns[1].stored for branch in scan.branches] == [None, added]


def test_a_field_of_the_file_is_asked_for_when_a_struct_has_none_of_them_left():
    old = Column(1, "s", "struct", (Column(2, "a", "int32"),))
    table = a_table(Column(1, "s", "struct", (Column(3, "b", "int32"),)))
    [branch] = plan(table, a_file(begin=2), history={1: Schema((old,)), 5: table.schema}).branches
    ids = [child.column_id for child in branch.columns[0].stored.children]
    assert ids == [2]


def test_a_name_that_was_another_columns_is_not_asked_for():
    table = a_table(Column(1, "x", "int32"), Column(2, "a", "int32"))
    history = {1: Schema((I32,)), 5: table.schema}
    [branch] = plan(table, a_file(begin=2), history=history).branches
    assert [read.stored.name for read in branch.columns] == ["x", "__ducklake_column_2"]


def test_schemas_are_asked_for_once_a_change_when_the_changes_are_known():
    table = a_table(I32)
    asked = []

    def schema_at(snapshot_id):
        asked.append(snapshot_id)
        return table.schema

    files = [a_file(n, begin=n + 2) for n in range(1000)]
    plan_scan(table, 2000, files, schema_at=schema_at, changed_at=[1, 7])
    assert asked == [1, 7]


def test_a_name_mapping_renames_at_every_level():
    table = a_table(
        I32,
        Column(2, "s", "struct", (Column(3, "x", "int32"), Column(4, "y", "int32"))),
        Column(5, "year", "int32"),
        Column(6, "new", "int32", initial_default="7"),
    )
    mapping = (
        NameMapping("A", 1, False),
        NameMapping("S", 2, False, (NameMapping("Y", 4, False),)),
        NameMapping("Year", 5, True),
    )
    file = replace(a_file(mapping_id=3), path="/d/YEAR=2024/f.parquet")
    [branch] = plan(table, file, mappings={3: mapping}).branches
    a, s, year, new = branch.columns
    assert branch.by_name
    assert a.stored.name == "A"
    assert [child.name for child in s.stored.children] == ["Y"]
    assert (year.stored, year.hive, new.stored) == (None, "Year", None)
    assert branch.hive == ((0, ("2024",)),)
    assert [column.name for column in branch.hive_columns] == ["year"]


def test_hive_values_are_decoded():
    path = "s3://b/r=a%2Fb%20%C3%A9/n=__HIVE_DEFAULT_PARTITION__/e=/f=1=2.parquet"
    assert hive_values(path, ["R", "n", "e", "f"]) == ("a/b é", None, "", None)


@pytest.mark.parametrize("kind", ["int128", "uint128", "timetz", "interval"])
def test_arrow_reads_what_the_jvm_cannot(kind):
    nested = Column(1, "l", "list", (Column(2, "element", kind),))
    [branch] = plan(a_table(nested), a_file()).branches
    assert branch.reader == "arrow"


@pytest.mark.parametrize(
    ("file", "named"),
    [
        (a_file(encryption_key="k"), "encrypted"),
        (a_file(delete_file=a_delete(encryption_key="k")), "encrypted"),
        (a_file(delete_file=replace(a_delete(), format="puffin")), "puffin"),
    ],
)
def test_files_that_cannot_be_read_are_refused_by_name(file, named):
    with pytest.raises(NotSupported, match=named) as caught:
        plan(a_table(I32), file)
    assert '"t"' in str(caught.value)
    assert ".parquet" in str(caught.value)


@pytest.mark.parametrize("kind", ["variant", "geometry"])
def test_types_that_cannot_be_read_are_refused_by_name(kind):
    with pytest.raises(NotSupported, match=kind):
        plan(a_table(Column(1, "a", kind)), a_file())


def test_an_unknown_mapping_is_refused():
    with pytest.raises(NotSupported, match="name mapping 4"):
        plan(a_table(I32), a_file(mapping_id=4))


def test_every_type_is_read_as_itself():
    assert is_widened("uuid", "UUID")
    assert not is_widened("decimal(9,2)", "varchar")

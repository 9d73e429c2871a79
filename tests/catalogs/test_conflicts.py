"""Two connections, interleaved: every pair of operations ends as the matrix says."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import TransactionConflict
from support.invariants import check_catalog, committed_files
from support.writing import Writer, numbered, open_session, table_files, transaction

# What a transaction does in a schema `p` with a table `t`, a view `v` and a macro `m`.
OPERATIONS = {
    "insert": lambda w: w.insert(7, 8),
    "inline": lambda w: w.insert_inlined(9),
    "mk_table": lambda w: w.create_table("n"),
    "mk_view": lambda w: w.create_view("N"),
    "replace": lambda w: w.create_table("t", or_replace=True),
    "rm_table": lambda w: w.drop_table("t"),
    "mk_schema": lambda w: w.create_schema(f"{w.schema}_new"),
    "rm_schema": lambda w: w.drop_schema(w.schema),
    "rm_view": lambda w: w.drop_view("v"),
    "ren_view": lambda w: w.rename_view("v", "w"),
    "mk_macro": lambda w: w.create_macro("k"),
    "rm_macro": lambda w: w.drop_macro("m"),
    "on_table": lambda w: w.comment("t", "of a table"),
    "on_col": lambda w: w.comment("t", "of a column", column="id"),
    "on_view": lambda w: w.comment("v", "of a view"),
}

# What I do (a row), when another has committed first what the column says. X: I am refused.
MATRIX = """
           insert inline mk_table mk_view replace rm_table mk_schema rm_schema rm_view ren_view mk_macro rm_macro on_table on_col on_view
insert       .      .       .        .       X       X         .         X        .       .        .        .        X       X       .
inline       .      .       .        .       X       X         .         X        .       .        .        .        X       X       .
mk_table     .      .       X        X       .       .         .         X        .       .        .        .        .       .       .
mk_view      .      .       X        X       .       .         .         X        .       .        .        .        .       .       .
replace      .      .       .        .       X       X         .         X        .       .        .        .        .       .       .
rm_table     .      .       .        .       X       X         .         X        .       .        .        .        .       .       .
mk_schema    .      .       .        .       .       .         X         .        .       .        .        .        .       .       .
rm_schema    .      .       X        X       X       X         .         X        X       X        X        X        .       .       .
rm_view      .      .       .        .       .       .         .         X        X       .        .        .        .       .       .
ren_view     .      .       .        .       .       .         .         X        X       X        .        .        .       .       .
mk_macro     .      .       .        .       .       .         .         X        .       .        X        .        .       .       .
rm_macro     .      .       .        .       .       .         .         X        .       .        .        X        .       .       .
on_table     .      .       .        .       X       X         .         X        .       .        .        .        X       X       .
on_col       .      .       .        .       X       X         .         X        .       .        .        .        X       X       .
on_view      .      .       .        .       .       .         .         X        X       .        .        .        .       .       X
"""  # noqa: E501


def expected() -> dict[tuple[str, str], bool]:
    header, *lines = [line.split() for line in MATRIX.strip().splitlines()]
    assert header == list(OPERATIONS) == [line[0] for line in lines]
    return {
        (mine, theirs): mark == "X"
        for mine, *row in lines
        for theirs, mark in zip(header, row, strict=True)
    }


def prepare(writer: Writer) -> None:
    """The objects that the operations are about, in a schema of their own."""
    writer.create_schema(writer.schema)
    writer.create_table("t")
    writer.create_view("v")
    writer.create_macro("m")


def test_every_pair_of_operations_conflicts_as_the_matrix_says(location):
    """Mine begins and does its work, the other commits, then mine commits."""
    outcome = {}
    mine, other = open_session(location), open_session(location)
    # A commit to a DuckDB file is slow; every seventh pair still has each operation in both roles.
    pairs = numbered(list(OPERATIONS))[:: 7 if location.kind == "duckdb" else 1]
    with transaction(other):
        for number, *_ in pairs:
            prepare(Writer(other, f"p{number}"))
    for number, *pair in pairs:
        schema = f"p{number}"
        before = mine.current_lake().latest().snapshot_id
        mine.begin()
        OPERATIONS[pair[0]](Writer(mine, schema))
        OPERATIONS[pair[1]](Writer(other, schema))
        try:
            mine.commit()
            outcome[tuple(pair)] = False
        except TransactionConflict:
            outcome[tuple(pair)] = True
        made = mine.current_lake().latest().snapshot_id - before
        assert made == (1 if outcome[tuple(pair)] else 2), pair
        assert not mine.in_transaction
    mine.close_lakes()
    other.close_lakes()
    assert outcome == {pair: clash for pair, clash in expected().items() if pair in outcome}
    with location.database(create=False) as db:
        check_catalog(db)
        on_disk = {path.split("/")[-1] for path in table_files(location)}
        assert on_disk == committed_files(db), "a refused transaction leaves no file"


def test_the_message_names_what_is_in_the_way(location):
    mine, other = open_session(location), open_session(location)
    Writer(other).create_table("t")
    mine.begin()
    Writer(mine).insert(1)
    Writer(other).drop_table("t")
    with pytest.raises(TransactionConflict, match=r'insert into table with index "1" \(t\).*dropp'):
        mine.commit()


def test_work_is_refused_when_snapshots_in_between_were_expired(location):
    """What they did is not known any more, so nothing can be said about conflicts."""
    mine, other = open_session(location), open_session(location)
    Writer(other).create_table("t")
    mine.begin()
    Writer(mine).insert(1)
    Writer(other).create_table("u")
    Writer(other).create_table("v")
    db = other.current_lake().db
    for table in ("ducklake_snapshot", "ducklake_snapshot_changes"):
        db.execute(f"DELETE FROM {db.table(table)} WHERE snapshot_id = 2")
    with pytest.raises(TransactionConflict, match="have been removed"):
        mine.commit()
    assert table_files(location) == []

"""What is true of every lake at any time, whoever wrote to it and whatever went wrong."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from ducklake_spark.catalog_db.connection import Database
from ducklake_spark.catalog_db.tables import TABLES


def check_catalog(db: Database) -> None:
    """Assert that the catalog makes sense: counters, names, references, row ids, statistics."""
    rows = {name: _records(db, name) for name in TABLES}
    _check_snapshots(rows)
    _check_names(rows)
    _check_references(rows)
    _check_rows(db, rows)
    _check_deletes(db, rows)


def committed_files(db: Database) -> set[str]:
    """The names of all files that the catalog knows, without their directories."""
    names = (
        "ducklake_data_file",
        "ducklake_delete_file",
        "ducklake_files_scheduled_for_deletion",
    )
    return {row["path"].split("/")[-1] for name in names for row in _records(db, name)}


def _records(db: Database, name: str) -> list[dict[str, Any]]:
    table = TABLES[name]
    return [dict(zip(table.column_names, row, strict=True)) for row in db.select(table)]


def _live(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["end_snapshot"] is None]


def _check_snapshots(rows: dict[str, list[dict[str, Any]]]) -> None:
    snapshots = sorted(rows["ducklake_snapshot"], key=lambda row: row["snapshot_id"])
    numbers = [row["snapshot_id"] for row in snapshots]
    assert numbers == list(range(len(numbers)))
    assert sorted(row["snapshot_id"] for row in rows["ducklake_snapshot_changes"]) == numbers
    for counter in ("schema_version", "next_catalog_id", "next_file_id"):
        values = [row[counter] for row in snapshots]
        assert values == sorted(values), counter
    latest = snapshots[-1]
    objects = [
        row[key]
        for name, key in (
            ("ducklake_schema", "schema_id"),
            ("ducklake_macro", "macro_id"),
        )
        for row in rows[name]
    ]
    # Renamed tables and views have more rows than one.
    objects += {row["table_id"] for row in rows["ducklake_table"]}
    objects += {row["view_id"] for row in rows["ducklake_view"]}
    assert _twice(objects) == []
    assert max(objects) < latest["next_catalog_id"]
    files = [row["data_file_id"] for row in rows["ducklake_data_file"]]
    files += [row["delete_file_id"] for row in rows["ducklake_delete_file"]]
    assert _twice(files) == []
    assert max(files, default=-1) < latest["next_file_id"]


def _check_names(rows: dict[str, list[dict[str, Any]]]) -> None:
    assert _twice(row["schema_name"].lower() for row in _live(rows["ducklake_schema"])) == []
    relations = [(r["schema_id"], r["table_name"].lower()) for r in _live(rows["ducklake_table"])]
    relations += [(r["schema_id"], r["view_name"].lower()) for r in _live(rows["ducklake_view"])]
    assert _twice(relations) == []
    macros = [(r["schema_id"], r["macro_name"].lower()) for r in _live(rows["ducklake_macro"])]
    assert _twice(macros) == []
    tags = [(row["object_id"], row["key"]) for row in _live(rows["ducklake_tag"])]
    assert _twice(tags) == []
    column_tags = [
        (row["table_id"], row["column_id"], row["key"])
        for row in _live(rows["ducklake_column_tag"])
    ]
    assert _twice(column_tags) == []


def _check_references(rows: dict[str, list[dict[str, Any]]]) -> None:
    schemas = {row["schema_id"] for row in _live(rows["ducklake_schema"])}
    for name in ("ducklake_table", "ducklake_view", "ducklake_macro"):
        assert {row["schema_id"] for row in _live(rows[name])} <= schemas, name
    tables = {row["table_id"] for row in _live(rows["ducklake_table"])}
    views = {row["view_id"] for row in _live(rows["ducklake_view"])}
    for name in ("ducklake_column", "ducklake_data_file", "ducklake_column_tag"):
        assert {row["table_id"] for row in _live(rows[name])} <= tables, name
    assert {row["object_id"] for row in _live(rows["ducklake_tag"])} <= tables | views
    assert tables <= {row["table_id"] for row in _live(rows["ducklake_column"])}
    known = {row["data_file_id"] for row in rows["ducklake_data_file"]}
    assert {row["data_file_id"] for row in rows["ducklake_file_column_stats"]} <= known


def _check_rows(db: Database, rows: dict[str, list[dict[str, Any]]]) -> None:
    """Row ids are given once, and the totals are those of the files and the inlined rows."""
    ids: dict[int, list[int]] = defaultdict(list)
    sizes: dict[int, int] = defaultdict(int)
    for file in rows["ducklake_data_file"]:
        start = file["row_id_start"]
        ids[file["table_id"]] += range(start, start + file["record_count"])
        sizes[file["table_id"]] += file["file_size_bytes"]
    for inlined in rows["ducklake_inlined_data_tables"]:
        found = db.fetch(f"SELECT row_id FROM {db.table(inlined['table_name'])}")
        ids[inlined["table_id"]] += [row[0] for row in found]
    totals = {row["table_id"]: row for row in rows["ducklake_table_stats"]}
    assert len(totals) == len(rows["ducklake_table_stats"])
    assert {table for table, given in ids.items() if given} == set(totals)
    for table_id, total in totals.items():
        assert sorted(ids[table_id]) == list(range(total["next_row_id"])), table_id
        assert total["record_count"] == total["next_row_id"], table_id
        assert total["file_size_bytes"] == sizes[table_id], table_id
    columns = [(r["table_id"], r["column_id"]) for r in rows["ducklake_table_column_stats"]]
    assert _twice(columns) == []


def _check_deletes(db: Database, rows: dict[str, list[dict[str, Any]]]) -> None:
    """A row is deleted once: a file has one delete file, and no position is in two places."""
    files = {row["data_file_id"]: row for row in rows["ducklake_data_file"]}
    deletes = _live(rows["ducklake_delete_file"])
    assert _twice(row["data_file_id"] for row in deletes) == []
    hidden = Counter({row["data_file_id"]: row["delete_count"] for row in deletes})
    for table_id in {row["table_id"] for row in files.values()}:
        name = f"ducklake_inlined_delete_{table_id}"
        if db.has_table(name):
            noted = db.fetch(f"SELECT file_id, row_id FROM {db.table(name)}")
            assert _twice(map(tuple, noted)) == []
            hidden.update(row[0] for row in noted)
    for file_id, count in hidden.items():
        assert count <= files[file_id]["record_count"], file_id


def _twice(values: Iterable[Any]) -> list[Any]:
    return [value for value, count in Counter(values).items() if count > 1]

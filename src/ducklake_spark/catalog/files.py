"""The data files of a table that a snapshot sees, what hides rows of them, and their statistics."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from ducklake_spark.catalog_db.connection import Database, Statement
from ducklake_spark.catalog_db.statements import visible_at
from ducklake_spark.limits import limits
from ducklake_spark.model.entities import (
    DataFile,
    DeleteFile,
    NameMapping,
)
from ducklake_spark.model.paths import join
from ducklake_spark.plan.prune import FileStats

DATA_COLUMNS = (
    "d.data_file_id, d.path, d.path_is_relative, d.record_count, d.file_size_bytes, "
    "d.footer_size, d.row_id_start, d.begin_snapshot, d.partition_id, d.mapping_id, "
    "d.partial_max, d.encryption_key"
)
DELETE_COLUMNS = (
    "x.delete_file_id, x.path AS delete_path, x.path_is_relative AS delete_is_relative, "
    "x.format AS delete_format, x.delete_count, x.file_size_bytes AS delete_size, "
    "x.footer_size AS delete_footer, x.begin_snapshot AS delete_begin, "
    "x.partial_max AS delete_partial_max, x.encryption_key AS delete_key"
)
# The names under which a query around one of the columns above has them.
FILE_COLUMNS = tuple(
    column.split(" AS ")[-1].split(".")[-1]
    for column in (*DATA_COLUMNS.split(", "), *DELETE_COLUMNS.split(", "))
)


def load_files(
    db: Database, table_id: int, snapshot_id: int, *, directory: str
) -> tuple[list[DataFile], list[tuple[int, int]]]:
    """Files that the snapshot sees, in the order they were added, and their inlined deletes.

    Args:
        db: the metadata database.
        table_id: whose files.
        snapshot_id: which state.
        directory: the table's directory, for the relative paths.

    Returns:
        The files, and (data file id, position) of rows deleted inside the metadata database; both
        of one state, because a flush moves such deletes into the files of older snapshots.
    """
    with db.reading():
        query = files_query(db, table_id, snapshot_id)
        rows = db.fetch(f"{query.sql} ORDER BY d.data_file_id", query.params)
        positions = load_inlined_deletes(db, table_id, snapshot_id)
    return read_files(db, rows, directory, positions)


def files_query(db: Database, table_id: int, snapshot_id: int) -> Statement:
    """Asks for the files that the snapshot sees, as DATA_COLUMNS and DELETE_COLUMNS."""
    return Statement(
        f"SELECT {DATA_COLUMNS}, {DELETE_COLUMNS} FROM {db.table('ducklake_data_file')} d "
        f"LEFT JOIN (SELECT * FROM {db.table('ducklake_delete_file')} "
        f"WHERE table_id = ? AND {visible_at()}) x ON x.data_file_id = d.data_file_id "
        f"WHERE d.table_id = ? AND {visible_at('d')}",
        (table_id, snapshot_id, snapshot_id, table_id, snapshot_id, snapshot_id),
    )


def read_files(
    db: Database,
    rows: Iterable[tuple[Any, ...]],
    directory: str,
    positions: Sequence[tuple[int, int]],
) -> tuple[list[DataFile], list[tuple[int, int]]]:
    """The files of fetched rows, and those of the deleted positions that are in them."""
    hidden = Counter(file_id for file_id, _ in positions)
    files = [read_data_file(db, row, directory, hidden.get(row[0], 0)) for row in rows]
    present = {file.data_file_id for file in files}
    # Deletes of files that later commits ended stay behind in the metadata database.
    return files, [position for position in positions if position[0] in present]


def load_inlined_deletes(db: Database, table_id: int, snapshot_id: int) -> list[tuple[int, int]]:
    """Positions deleted by small deletes. No catalog table lists where they are: probe for it."""
    if not db.has_table(f"ducklake_inlined_delete_{table_id}"):
        return []
    return load_positions(db, table_id, snapshot_id)


def load_positions(db: Database, table_id: int, snapshot_id: int) -> list[tuple[int, int]]:
    """`load_inlined_deletes` of a table that is known to have had some."""
    name = db.table(f"ducklake_inlined_delete_{table_id}")
    rows = db.fetch(
        f"SELECT DISTINCT file_id, row_id FROM {name} WHERE begin_snapshot <= ?", (snapshot_id,)
    )
    return [(int(file_id), int(position)) for file_id, position in rows]


def load_dated_deletes(db: Database, table_id: int, snapshot_id: int) -> dict[int, dict[int, int]]:
    """Since which snapshot each position is deleted inside the metadata database, by file id."""
    name = f"ducklake_inlined_delete_{table_id}"
    if not db.has_table(name):
        return {}
    rows = db.fetch(
        f"SELECT file_id, row_id, min(begin_snapshot) FROM {db.table(name)} "
        "WHERE begin_snapshot <= ? GROUP BY file_id, row_id",
        (snapshot_id,),
    )
    dated: dict[int, dict[int, int]] = defaultdict(dict)
    for file_id, position, since in rows:
        dated[int(file_id)][int(position)] = int(since)
    return dict(dated)


def load_file_stats(
    db: Database, table_id: int, column_ids: Iterable[int]
) -> dict[int, dict[int, FileStats]]:
    """Statistics of the given columns only, by file and column."""
    wanted = sorted(column_ids)
    if not wanted:
        return {}
    marks = ", ".join("?" for _ in wanted)
    rows = db.fetch(
        "SELECT data_file_id, column_id, value_count, null_count, min_value, max_value, "
        f"contains_nan FROM {db.table('ducklake_file_column_stats')} "
        f"WHERE table_id = ? AND column_id IN ({marks})",
        (table_id, *wanted),
    )
    stats: dict[int, dict[int, FileStats]] = defaultdict(dict)
    for file_id, column_id, value_count, null_count, low, high, nan in rows:
        has_nan = None if nan is None else db.decode("boolean", nan)
        stats[file_id][column_id] = FileStats(value_count, null_count, low, high, has_nan)
    return dict(stats)


def _among(file_ids: Iterable[int] | None) -> tuple[str, tuple[int, ...]]:
    """A further condition that keeps the given files; databases limit the number of parameters."""
    ids = None if file_ids is None else tuple(file_ids)
    if ids is None or not 0 < len(ids) <= limits().ids_per_query:
        return "", ()
    return f" AND data_file_id IN ({', '.join('?' for _ in ids)})", ids


def load_partition_values(
    db: Database, table_id: int, file_ids: Iterable[int] | None = None
) -> dict[int, tuple[str | None, ...]]:
    """The partition values of every file that has some, in key order; of all files or of some."""
    only, ids = _among(file_ids)
    rows = db.fetch(
        "SELECT data_file_id, partition_value FROM "
        f"{db.table('ducklake_file_partition_value')} WHERE table_id = ?{only} "
        "ORDER BY data_file_id, partition_key_index",
        (table_id, *ids),
    )
    values: dict[int, list[str | None]] = defaultdict(list)
    for file_id, value in rows:
        values[file_id].append(value)
    return {file_id: tuple(parts) for file_id, parts in values.items()}


def load_name_mappings(
    db: Database, mapping_ids: Iterable[int]
) -> dict[int, tuple[NameMapping, ...]]:
    """The name mappings of the given ids, as trees."""
    wanted = sorted(set(mapping_ids))
    if not wanted:
        return {}
    marks = ", ".join("?" for _ in wanted)
    rows = db.fetch(
        "SELECT mapping_id, column_id, source_name, target_field_id, parent_column, is_partition "
        f"FROM {db.table('ducklake_name_mapping')} WHERE mapping_id IN ({marks}) "
        "ORDER BY mapping_id, column_id",
        wanted,
    )
    children: dict[tuple[int, int | None], list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        children[row[0], row[4]].append(row)

    def node(row: tuple[Any, ...]) -> NameMapping:
        mapping_id, column_id, source, target, _, is_partition = row
        below = children.get((mapping_id, column_id), ())
        return NameMapping(
            str(source),
            int(target),
            is_partition is not None and db.decode("boolean", is_partition),
            tuple(node(child) for child in below),
        )

    return {i: tuple(node(row) for row in children.get((i, None), ())) for i in wanted}


def load_table_mappings(db: Database, table_id: int) -> dict[int, tuple[NameMapping, ...]]:
    """All name mappings of a table, by id."""
    rows = db.fetch(
        f"SELECT mapping_id FROM {db.table('ducklake_column_mapping')} WHERE table_id = ?",
        (table_id,),
    )
    return load_name_mappings(db, [int(row[0]) for row in rows])


def load_file_paths(db: Database, table_id: int, snapshot_id: int, *, directory: str) -> set[str]:
    """The paths of the files that a snapshot sees, ready to open."""
    rows = db.fetch(
        f"SELECT path, path_is_relative FROM {db.table('ducklake_data_file')} "
        f"WHERE table_id = ? AND {visible_at()}",
        (table_id, snapshot_id, snapshot_id),
    )
    return {
        join(directory, str(path), relative=db.decode("boolean", relative))
        for path, relative in rows
    }


def read_data_file(
    db: Database, row: tuple[Any, ...], directory: str, inlined_deletes: int
) -> DataFile:
    """The data file of a fetched row: DATA_COLUMNS, then DELETE_COLUMNS or nothing but NULL."""
    file_id, path, relative, count, size, footer, row_start, begin, *rest = row[:12]
    partition_id, mapping_id, partial_max, key = rest
    return DataFile(
        file_id,
        join(directory, str(path), relative=db.decode("boolean", relative)),
        count,
        size,
        footer,
        row_start,
        begin,
        partition_id,
        mapping_id,
        partial_max,
        key,
        read_delete_file(db, row[12:], directory),
        inlined_deletes,
    )


def read_delete_file(db: Database, row: tuple[Any, ...], directory: str) -> DeleteFile | None:
    """The delete file of a fetched row of DELETE_COLUMNS; None when they are NULL."""
    if row[0] is None:
        return None
    delete_id, path, relative, kind, count, size, footer, begin, partial_max, key = row
    return DeleteFile(
        delete_id,
        join(directory, str(path), relative=db.decode("boolean", relative)),
        str(kind or "parquet"),
        count,
        size,
        footer,
        begin,
        partial_max,
        key,
    )

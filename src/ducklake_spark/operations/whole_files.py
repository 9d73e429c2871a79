"""Delete all rows that data files have left: TRUNCATE, DELETE of everything, overwriting. Driver.

A file ends if the catalog itself hides none of its rows. Else its rows go one by one: the reference
takes the end of a file for the end of all rows that no delete file names, and its change feed would
show those that were deleted inside the catalog again. Few rows are noted in the catalog, as those
of any other DELETE are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ducklake_spark.commit.transaction import Transaction
from ducklake_spark.lake import remove_files
from ducklake_spark.model.entities import DataFile
from ducklake_spark.operations.contents import Contents, TableVersion, load_contents
from ducklake_spark.operations.row_changes import delete_layout, file_facts, stage_outcomes
from ducklake_spark.parquet.delete_files import DeletedRows, DeleteLayout
from ducklake_spark.parquet.hidden_rows import load_visible_positions
from ducklake_spark.spark.write_deletes import write_deletes_of

_ROWS_AT_ONCE: Final = 1 << 24  # 128 MB of positions


def stage_truncate(tx: Transaction, version: TableVersion) -> int:
    """Delete all rows without a Spark job; returns how many there were."""
    contents = load_contents(version)
    rows = len(contents.inlined)
    inlined = [DeletedRows(None, rows, tuple(range(rows)))]
    return rows + stage_whole_files(tx, version, contents, contents.files, inlined)


def stage_whole_files(
    tx: Transaction,
    version: TableVersion,
    contents: Contents,
    files: Sequence[DataFile],
    others: Sequence[DeletedRows] = (),
) -> int:
    """Delete all rows of some files of `contents`; returns how many there were.

    `others` are staged with them.
    """
    layout = delete_layout(tx, version)
    outcomes: list[DeletedRows] = []
    try:
        left = [file for file in files if not _ends(file, layout)]
        for some in _batches(left):
            outcomes += _delete_rows(version, contents, some, layout)
        outcomes += [
            DeletedRows(file.data_file_id, _rows_left(file), ended=True)
            for file in files
            if _ends(file, layout)
        ]
        stage_outcomes(tx, version, contents, [*outcomes, *others])
    except BaseException:
        # Until they are staged, no rollback knows of them.
        remove_files(each.written.path for each in outcomes if each.written is not None)
        raise
    return sum(each.count for each in outcomes)


def _rows_left(file: DataFile) -> int:
    in_file = file.delete_file.delete_count if file.delete_file else 0
    return file.record_count - in_file - file.inlined_deletes


def _ends(file: DataFile, layout: DeleteLayout) -> bool:
    if file.data_file_id < 0:
        return True
    return not file.inlined_deletes and _rows_left(file) > layout.inline_limit


def _batches(files: Iterable[DataFile]) -> Iterator[list[DataFile]]:
    """Files with so many rows together that the driver can hold their positions."""
    batch: list[DataFile] = []
    rows = 0
    for file in files:
        if batch and rows + file.record_count > _ROWS_AT_ONCE:
            yield batch
            batch, rows = [], 0
        batch.append(file)
        rows += file.record_count
    if batch:
        yield batch


def _delete_rows(
    version: TableVersion, contents: Contents, files: Sequence[DataFile], layout: DeleteLayout
) -> list[DeletedRows]:
    wanted = {file.data_file_id for file in files}
    positions = load_visible_positions(
        files,
        [pair for pair in contents.inlined_deletes if pair[0] in wanted],
        snapshot_id=version.snapshot.snapshot_id,
        label=f'table "{version.table.name}"',
    )
    return write_deletes_of(positions, file_facts(files), layout)

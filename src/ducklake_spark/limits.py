"""Every number that decides which way the code takes, or how much it takes at a time. Driver.

The defaults are what measurements showed. Tests lower them, so that tables of a few rows take the
ways of large ones; whoever tunes may raise them. They hold for the process of the driver: what a
task needs of them travels with the arguments of the task.

    >>> with lowered(many_files=2):
    ...     limits().many_files
    2
    >>> limits().many_files
    1000
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace

_MIB = 1024 * 1024


def _limit(usual: int, *, tiny: int, least: int = 1) -> int:
    """A number with its default, the one that tests lower it to, and the least that works."""
    made: int = field(default=usual, metadata={"tiny": tiny, "least": least})
    return made


@dataclass(frozen=True)
class Limits:
    """The thresholds in force.

    Attributes:
        many_files: up to so many data files of a table are fetched with no question how many there
            are; of more only those that a filter leaves.
        places_per_query: up to so many files that bounds leave are asked for by their ids.
        ids_per_query: up to so many file ids stand in the text of a query; for more all are read.
        values_per_filter: up to so many values of an IN are compared with the bounds of files.
        negated_values: up to so many values of a NOT IN are looked at when files are left out.
        bounds_files: of a table with more files the bounds of a column are not fetched as a list.
        bits_deletes: up to so many deleted rows are sent to tasks as bits; more are joined.
        bits_files: up to so many delete files are read by the driver to make bits.
        bits_remote_files: the same for files behind a network.
        bits_rows: up to so many rows of files with deletes have bits.
        broadcast_deletes: up to so many deleted rows are joined by a broadcast; more by sorting.
        numbered_rows: of tables of up to so many rows a DELETE collects numbers; of larger ones
            pages of bits.
        driver_files: up to so many files have their delete files written by the driver.
        driver_rows: the same by the rows of those files.
        merge_files: MERGE looks at the keys of its source first from more files than this.
        merge_bytes: the same by bytes, of several files.
        merge_key_bytes: up to so many bytes of keys of a source are sent to all tasks.
        small_write_bytes: what is smaller is written as one file, by one task.
        tasks_per_core: how many tasks a write is divided among, at the most, for each core.
        exchange_chunk_bytes: how many bytes of rows a task divides among partitions at a time.
        exchange_task_rows: how many rows are worth a task that writes partitions.
        text_batch_rows: how many rows with texts are a batch that goes to Python.
        read_batch_rows: how many rows of a file tasks read at a time.
        check_batch_rows: the same for a check of files.
        check_files_per_job: how many files a check looks at by one job.
        check_tasks_per_core: how many tasks such a job has for each core.
        groups_per_job: how many groups of files compaction rewrites by one job.
        few_added_files: up to so many files that are added are looked at by the driver.
        added_files_per_task: how many a task looks at.
        held_rows: up to so many rows of an INSERT with VALUES are computed without Spark.
        duckdb_batch_rows: how many rows of a DuckDB file are read at a time.
        flush_rows: how many inlined rows are read from the catalog at a time to be flushed.
        values_per_statement: how many ids or positions of deletes go in one statement.
        compacted_ids_per_statement: how many ids of rewritten files go in one.
        expired_ids_per_statement: how many ids of what expires go in one.
        removed_files: how many files are removed between two statements.
        known_files_page: how many known paths are read from the catalog at a time.
        inlined_rows_per_statement: how many inlined rows are inserted by one statement.
        rows_per_values: how many rows of the catalog are inserted by one VALUES.
        rows_per_insert: the same where rows travel as arrays or as JSON.
        json_rows: from so many rows a catalog in DuckDB gets JSON.
        statements_text: about so many characters of statements go to DuckDB at a time.
        few_tables: up to so many tables are asked about anew together with what others committed.
        remembered_contents: tables of up to so many files and inlined rows are remembered.
        remembered_tables: of how many tables, each for itself.
        remembered_states: how many states of a catalog are remembered.
        remembered_bounds: how many files with bounds, over all columns of a lake, are remembered.
        logged_snapshots: of how many snapshots it is remembered what they changed.
        kept_broadcasts: how many sets of deleted rows stay with the executors.
        kept_broadcast_bytes: the same by their bytes.
        kept_jvm_objects: how many objects of the JVM are kept to be used again.
    """

    many_files: int = _limit(1000, tiny=1)
    places_per_query: int = _limit(1000, tiny=1, least=0)
    ids_per_query: int = _limit(5000, tiny=1, least=0)
    values_per_filter: int = _limit(50, tiny=2, least=0)
    negated_values: int = _limit(100, tiny=2, least=0)
    bounds_files: int = _limit(400_000, tiny=3, least=0)
    bits_deletes: int = _limit(2_000_000, tiny=1, least=0)
    bits_files: int = _limit(256, tiny=1, least=0)
    bits_remote_files: int = _limit(32, tiny=1, least=0)
    bits_rows: int = _limit(1 << 28, tiny=8, least=0)
    broadcast_deletes: int = _limit(2_000_000, tiny=2, least=0)
    numbered_rows: int = _limit(1 << 24, tiny=4, least=0)
    driver_files: int = _limit(1000, tiny=1, least=0)
    driver_rows: int = _limit(1 << 28, tiny=8, least=0)
    merge_files: int = _limit(8, tiny=0, least=0)
    merge_bytes: int = _limit(64 * _MIB, tiny=1, least=0)
    merge_key_bytes: int = _limit(32 * _MIB, tiny=64, least=0)
    small_write_bytes: int = _limit(32 * _MIB, tiny=0, least=0)
    tasks_per_core: int = _limit(8, tiny=1)
    exchange_chunk_bytes: int = _limit(32 * _MIB, tiny=1)
    exchange_task_rows: int = _limit(50_000, tiny=1)
    text_batch_rows: int = _limit(2_000, tiny=1)
    read_batch_rows: int = _limit(32_768, tiny=2)
    check_batch_rows: int = _limit(65_536, tiny=2)
    check_files_per_job: int = _limit(20_000, tiny=2)
    check_tasks_per_core: int = _limit(4, tiny=1)
    groups_per_job: int = _limit(16, tiny=1)
    few_added_files: int = _limit(8, tiny=0, least=0)
    added_files_per_task: int = _limit(500, tiny=1)
    held_rows: int = _limit(1000, tiny=2, least=0)
    duckdb_batch_rows: int = _limit(100_000, tiny=2)
    flush_rows: int = _limit(20_000, tiny=2)
    values_per_statement: int = _limit(900, tiny=3, least=3)
    compacted_ids_per_statement: int = _limit(500, tiny=1)
    expired_ids_per_statement: int = _limit(2000, tiny=1)
    removed_files: int = _limit(500, tiny=1)
    known_files_page: int = _limit(20_000, tiny=1)
    inlined_rows_per_statement: int = _limit(200, tiny=1)
    rows_per_values: int = _limit(500, tiny=1)
    rows_per_insert: int = _limit(20_000, tiny=2)
    json_rows: int = _limit(20, tiny=2, least=0)
    statements_text: int = _limit(100_000, tiny=1, least=0)
    few_tables: int = _limit(8, tiny=1, least=0)
    remembered_contents: int = _limit(2000, tiny=1, least=0)
    remembered_tables: int = _limit(64, tiny=1)
    remembered_states: int = _limit(16, tiny=1)
    remembered_bounds: int = _limit(1_000_000, tiny=1)
    logged_snapshots: int = _limit(200, tiny=1)
    kept_broadcasts: int = _limit(16, tiny=1)
    kept_broadcast_bytes: int = _limit(64 * _MIB, tiny=8)
    kept_jvm_objects: int = _limit(512, tiny=1)

    def __post_init__(self) -> None:
        for each in fields(self):
            value, least = getattr(self, each.name), each.metadata["least"]
            if value < least:
                raise ValueError(f"The limit {each.name} is {value}, but must be {least} or more.")

    @classmethod
    def tiny(cls) -> Limits:
        """All of them so low that tables of a few rows and files are large ones."""
        return cls(**{each.name: each.metadata["tiny"] for each in fields(cls)})


_in_force = Limits()


def limits() -> Limits:
    """Those in force in this process."""
    return _in_force


def set_limits(chosen: Limits) -> Limits:
    """Put others in force for the whole process; returns those that were."""
    global _in_force
    before, _in_force = _in_force, chosen
    return before


@contextmanager
def lowered(chosen: Limits | None = None, /, **changed: int) -> Iterator[Limits]:
    """Others for a while: those given, or those in force, with some fields changed.

    >>> with lowered(Limits.tiny(), driver_files=0) as now:
    ...     now.driver_files, now.many_files
    (0, 1)
    """
    before = set_limits(replace(chosen or _in_force, **changed))
    try:
        yield _in_force
    finally:
        set_limits(before)

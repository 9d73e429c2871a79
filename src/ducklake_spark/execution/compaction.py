"""The maintenance functions that write data: flush, merge, rewrite."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ducklake_spark.commit.transaction import Transaction
from ducklake_spark.errors import InvalidInput
from ducklake_spark.lake import Lake
from ducklake_spark.operations.compact import Compacted, TableFiles
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.operations.flush_inlined_data import flush_inlined_data
from ducklake_spark.operations.merge_adjacent_files import MergeLimits, merge_adjacent_files
from ducklake_spark.operations.progress import Progress, progress_for
from ducklake_spark.operations.rewrite_data_files import rewrite_data_files
from ducklake_spark.options import parse_count, parse_size
from ducklake_spark.spark.rewrite import rewrite_groups

if TYPE_CHECKING:
    from ducklake_spark.maintenance import Maintenance

Arguments = tuple[Any, ...]
Named = dict[str, Any]
Place = tuple[str | None, str | None]
"""Schema and table; None for all."""


def flush(con: Maintenance, lake: Lake, place: Place, progress: Progress | None = None) -> RowSet:
    """Move inlined rows and deletes of one table, a schema or the whole lake to files."""
    told = progress_for(progress, "Flushing")
    with con.writing(lake, "flush inlined data") as tx:
        tables = _tables(con, lake, tx, place)
        return flush_inlined_data(lambda: con.spark, tables, progress=told)


def merge(
    con: Maintenance,
    lake: Lake,
    place: Place,
    limits: MergeLimits,
    progress: Progress | None = None,
) -> RowSet:
    """Merge small files of one table, a schema or the whole lake."""
    told = progress_for(progress, "Merging files")
    size = con.settings.get("ducklake_target_file_size")
    with con.writing(lake, "merge files") as tx:
        done = merge_adjacent_files(
            lambda groups, told: rewrite_groups(con.spark, groups, told),
            _tables(con, lake, tx, place),
            limits,
            target_file_size=parse_size(str(size)) if size else None,
            progress=told,
        )
    return _rows(done)


def rewrite(
    con: Maintenance,
    lake: Lake,
    place: Place,
    delete_threshold: float | None,
    progress: Progress | None = None,
) -> RowSet:
    """Rewrite files with many deleted rows, of one table, a schema or the whole lake."""
    told = progress_for(progress, "Rewriting files")
    with con.writing(lake, "rewrite files") as tx:
        tables = _tables(con, lake, tx, place)
        done = rewrite_data_files(
            lambda groups, told: rewrite_groups(con.spark, groups, told),
            tables,
            delete_threshold,
            progress=told,
        )
    return _rows(done)


def _rows(done: Compacted) -> RowSet:
    """What was done is committed by now; what could not be done is told."""
    if done.failure is not None:
        raise done.failure
    return done.rows


def _tables(con: Maintenance, lake: Lake, tx: Transaction, place: Place) -> list[TableFiles]:
    """The tables that are meant, but for those that say auto_compact = false."""
    schema_name, name = place
    if name is not None:
        in_use = con.current is not None and con.current[0] == lake.name
        default = con.current_schema() if in_use else "main"
        found = [con.find_table(tx, lake, schema_name or default, name)]
    else:
        wanted = con.schema_entry(lake, tx, schema_name) if schema_name else None
        found = [
            (tx.local.schema(table.schema_id), table)
            for table in tx.local.tables()
            if wanted is None or table.schema_id == wanted.schema_id
        ]
    settings = lake.settings()
    files = [
        TableFiles(lake, tx, schema, table, settings)
        for schema, table in found
        if table.table_id >= 0  # one of this transaction has nothing to be compacted
    ]
    return [each for each in files if each.option("auto_compact") != "false"]


# --- as functions of SQL -------------------------------------------------------------------------


def _call_flush(con: Maintenance, lake: Lake, arguments: Arguments, named: Named) -> RowSet:
    if arguments:
        raise InvalidInput("ducklake_flush_inlined_data takes the name of a lake only.")
    _only("flush_inlined_data", named, "schema_name", "table_name")
    return flush(con, lake, (_text(named, "schema_name"), _text(named, "table_name")))


def _call_merge(con: Maintenance, lake: Lake, arguments: Arguments, named: Named) -> RowSet:
    keys = ("min_file_size", "max_file_size", "max_compacted_files")
    place = _place("merge_adjacent_files", arguments, named, *keys)
    return merge(con, lake, place, MergeLimits(**{key: _count(named, key) for key in keys}))


def _call_rewrite(con: Maintenance, lake: Lake, arguments: Arguments, named: Named) -> RowSet:
    place = _place("rewrite_data_files", arguments, named, "delete_threshold")
    return rewrite(con, lake, place, _fraction(named, "delete_threshold"))


def _place(function: str, arguments: Arguments, named: Named, *keys: str) -> Place:
    if len(arguments) > 1:
        raise InvalidInput(f"ducklake_{function} takes a lake and at most one table.")
    _only(function, named, "schema", *keys)
    return _text(named, "schema"), str(arguments[0]) if arguments else None


def _only(function: str, named: Named, *known: str) -> None:
    for key in named:
        if key not in known:
            raise InvalidInput(
                f"ducklake_{function} has no argument {key!r}.",
                hint=f"it takes {', '.join(known)}.",
            )


def _text(named: Named, key: str) -> str | None:
    value = named.get(key)
    return None if value is None else str(value)


def _count(named: Named, key: str) -> int | None:
    if key not in named:
        return None
    try:
        return parse_count(named[key])
    except (ValueError, ArithmeticError):
        raise InvalidInput(f"The {key} option must be a non-null integer.") from None


def _fraction(named: Named, key: str) -> float | None:
    if key not in named:
        return None
    try:
        return float(named[key])
    except (ValueError, TypeError):
        raise InvalidInput(f"The {key} option must be a number between 0 and 1.") from None


COMPACTION_FUNCTIONS: Final[dict[str, Callable[[Maintenance, Lake, Arguments, Named], RowSet]]] = {
    "flush_inlined_data": _call_flush,
    "merge_adjacent_files": _call_merge,
    "rewrite_data_files": _call_rewrite,
}

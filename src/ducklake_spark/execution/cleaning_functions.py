"""The functions that remove (old snapshots, old files, orphans), and the one that checks."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ducklake_spark.errors import InvalidInput, TransactionError
from ducklake_spark.lake import Lake
from ducklake_spark.model.moments import moment_of_python, moment_of_sql
from ducklake_spark.operations.check.run import check_lake
from ducklake_spark.operations.cleanup import Progress as FileProgress
from ducklake_spark.operations.cleanup import cleanup_old_files
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.operations.expire import expire_snapshots
from ducklake_spark.operations.orphans import delete_orphaned_files
from ducklake_spark.operations.progress import Progress
from ducklake_spark.options import parse_boolean
from ducklake_spark.spark.verify import verify_files

if TYPE_CHECKING:
    from ducklake_spark.maintenance import Maintenance

Removal = Callable[..., RowSet]


def expire(
    con: Maintenance, lake: Lake, versions: Any, older_than: Any, *, dry_run: bool
) -> RowSet:
    """Expire snapshots of a lake."""
    _check_no_transaction(con, "expire snapshots", dry_run=dry_run)
    return expire_snapshots(
        lake,
        versions=None if versions is None else _versions(versions),
        older_than=_moment(con, older_than),
        dry_run=dry_run,
        retry=con.retry,
    )


def clean(
    con: Maintenance,
    lake: Lake,
    remove: Removal,
    limit: Mapping[str, Any],
    progress: FileProgress | None = None,
) -> RowSet:
    """Remove files of a lake, but none that another lake of the connection refers to."""
    dry_run = bool(limit.get("dry_run"))
    _check_no_transaction(con, "remove files", dry_run=dry_run)
    return remove(
        lake,
        older_than=_moment(con, limit.get("older_than")),
        cleanup_all=bool(limit.get("cleanup_all")),
        dry_run=dry_run,
        others=[other for other in con.lakes.values() if other is not lake],
        progress=progress,
        retry=con.retry,
    )


def _check_no_transaction(con: Maintenance, action: str, *, dry_run: bool) -> None:
    if con.in_transaction and not dry_run:
        # A ROLLBACK could not take it back.
        raise TransactionError(
            f"Cannot {action} inside a transaction.", hint="COMMIT first, then call it."
        )


def _moment(con: Maintenance, value: Any) -> dt.datetime | None:
    return None if value is None else moment_of_python(value, con.time_zone)


def _versions(value: Any) -> list[int]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise InvalidInput(f"versions takes a list of snapshot numbers, not {value!r}.")
    try:
        return [int(version) for version in value]
    except (TypeError, ValueError):
        raise InvalidInput(f"versions takes a list of snapshot numbers, not {value!r}.") from None


def _named(
    con: Maintenance,
    function: str,
    arguments: tuple[Any, ...],
    named: Mapping[str, Any],
    *known: str,
) -> dict[str, Any]:
    """The named arguments, checked; booleans and moments read as SQL writes them."""
    if arguments:
        raise InvalidInput(f"{function} takes a lake, and named arguments: {', '.join(known)}.")
    values = dict(named)
    for key, value in values.items():
        if key not in known:
            raise InvalidInput(
                f"{function} has no argument {key!r}.", hint=f"it takes {', '.join(known)}."
            )
        if value is None:
            raise InvalidInput(f"{function}: {key} cannot be NULL.")
        if key in ("dry_run", "cleanup_all"):
            try:
                values[key] = parse_boolean(value)
            except ValueError:
                raise InvalidInput(f"{function}: {key} is true or false, not {value!r}.") from None
        if key == "older_than":
            values[key] = moment_of_sql(value, con.time_zone)
    return values


def _expire(
    con: Maintenance, lake: Lake, arguments: tuple[Any, ...], named: dict[str, Any]
) -> RowSet:
    function = "ducklake_expire_snapshots"
    values = _named(con, function, arguments, named, "versions", "older_than", "dry_run")
    return expire(
        con,
        lake,
        values.get("versions"),
        values.get("older_than"),
        dry_run=values.get("dry_run", False),
    )


def _cleaning(function: str, remove: Removal) -> Callable[..., RowSet]:
    def call(
        con: Maintenance, lake: Lake, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> RowSet:
        known = ("cleanup_all", "older_than", "dry_run")
        return clean(con, lake, remove, _named(con, function, arguments, named, *known))

    return call


def check(con: Maintenance, lake: Lake, progress: Progress | None = None) -> RowSet:
    """Verify a lake; files are read by Spark's tasks."""
    others = [other for other in con.lakes.values() if other is not lake]
    return check_lake(lake, partial(verify_files, con.spark), others=others, progress=progress)


def _check(
    con: Maintenance, lake: Lake, arguments: tuple[Any, ...], named: dict[str, Any]
) -> RowSet:
    if arguments or named:
        raise InvalidInput("ducklake_check takes a lake, and nothing else.")
    return check(con, lake)


CLEANING_FUNCTIONS: Final[dict[str, Callable[..., RowSet]]] = {
    "check": _check,
    "expire_snapshots": _expire,
    "cleanup_old_files": _cleaning("ducklake_cleanup_old_files", cleanup_old_files),
    "delete_orphaned_files": _cleaning("ducklake_delete_orphaned_files", delete_orphaned_files),
}

"""Every error that ducklake-spark raises on purpose.

    DuckLakeError
    ├── CatalogError                     the metadata database
    │   ├── NotALake            (ValueError)
    │   ├── UnsupportedVersion  (ValueError)
    │   ├── CatalogUnreachable  (ConnectionError)
    │   ├── CatalogLocked       (ConnectionError)   may pass: try again
    │   ├── CatalogFull         (OSError)
    │   └── DriverMissing       (ImportError)
    ├── NotFound                (LookupError)
    │   ├── LakeNotFound · SchemaNotFound · TableNotFound · ColumnNotFound
    │   ├── FunctionNotFound
    │   └── SnapshotNotFound
    ├── AlreadyExists           (ValueError)
    ├── InvalidInput            (ValueError)
    │   ├── SqlSyntaxError
    │   ├── UnknownOption
    │   ├── ColumnMismatch      wrong number or names of columns
    │   ├── InvalidValue        a value that does not fit its column
    │   └── NotNullViolation
    ├── ReadOnlyLake            (PermissionError)
    ├── NotSupported            (NotImplementedError)
    ├── DataFileError           (OSError)
    │   ├── MissingDataFile
    │   └── CorruptDataFile
    ├── SparkFailure            (RuntimeError)     a Spark job failed for a reason of its own
    └── TransactionError        (RuntimeError)
        ├── TransactionConflict
        └── CommitRetriesExceeded                  may pass: try again

A message says what was attempted, on what, and what stands in the way; a second line, ``Hint:``,
says what to do about it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

MARK: Final = "ducklake-spark-error:"
"""Before the parts of an error as JSON, in the text of an exception that leaves a Spark task."""

TOO_MANY_ROWS: Final = (
    "Invalid Input Error: More than one row returned by a subquery used as an expression - "
    "scalar subqueries can only return a single row."
)
"""What DuckDB says of a scalar subquery, and so do all that find more rows than one."""

_SPOKEN_BY_DUCKDB: Final = re.compile(r"[A-Z][\w ]* Error: ")

Missing = TypeVar("Missing", bound="NotFound")


class DuckLakeError(Exception):
    """Base of all errors of this package.

    Args:
        message: what was attempted, on what, and what stands in the way.
        hint: what the reader can do about it.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        self.message = message
        self.hint = hint
        super().__init__(f"{message}\nHint: {hint}" if hint else message)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.hint))


def _rebuild(cls: type[DuckLakeError], message: str, hint: str | None) -> DuckLakeError:
    """Unpickle an error: they travel from Spark tasks to the driver."""
    return cls(message, hint=hint)


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """The hint for a misspelt name, or None when nothing is near.

    >>> did_you_mean("amout", ["amount", "id"])
    'did you mean "amount"?'
    """
    known = list(candidates)
    near = difflib.get_close_matches(name.lower(), [c.lower() for c in known], n=1, cutoff=0.6)
    if not near:
        return None
    return next(f'did you mean "{c}"?' for c in known if c.lower() == near[0])


class CatalogError(DuckLakeError):
    """The metadata database refused or cannot serve the request."""


class NotALake(CatalogError, ValueError):
    """The database exists but holds no DuckLake, or none may be created there."""


class UnsupportedVersion(CatalogError, ValueError):
    """The lake has a format version that this release does not serve."""


class CatalogUnreachable(CatalogError, ConnectionError):
    """The metadata database cannot be opened or was lost."""


class CatalogLocked(CatalogError, ConnectionError):
    """Another process holds the metadata database. Trying again later may succeed."""


class CatalogFull(CatalogError, OSError):
    """The metadata database has no space left. Nothing of what was attempted has happened."""


class DriverMissing(CatalogError, ImportError):
    """The Python driver of a metadata database is not installed."""


class NotFound(DuckLakeError, LookupError):
    """A name that does not exist."""

    kind = "Object"

    @classmethod
    def named(
        cls: type[Missing], name: str, *, where: str, candidates: Iterable[str] = ()
    ) -> Missing:
        """Build the error for `name` missing in `where`, with a "did you mean" when one is near."""
        known = list(candidates)
        hint = did_you_mean(name, known)
        if hint is None and known:
            shown = ", ".join(f'"{c}"' for c in sorted(known)[:8])
            hint = f"there are {shown}{', …' if len(known) > 8 else ''}."
        place = where if where.startswith("at ") else f"in {where}"
        return cls(f"{cls._named(name)} does not exist {place}.", hint=hint)

    @classmethod
    def _named(cls, name: str) -> str:
        return f'{cls.kind} "{name}"'


class LakeNotFound(NotFound):
    """No attached lake has that name."""

    kind = "Lake"


class SchemaNotFound(NotFound):
    """No such schema in the lake."""

    kind = "Schema"


class TableNotFound(NotFound):
    """No such table or view."""

    kind = "Table"

    @classmethod
    def _named(cls, name: str) -> str:
        # DuckDB's words, for which people search.
        return f"{cls.kind} with name {name}"


class ColumnNotFound(NotFound):
    """No such column in the table."""

    kind = "Column"


class FunctionNotFound(NotFound):
    """No such function or procedure."""

    kind = "Function"


class SnapshotNotFound(NotFound):
    """No snapshot with that number or that old."""

    kind = "Snapshot"


class AlreadyExists(DuckLakeError, ValueError):
    """A name that is taken."""


class InvalidInput(DuckLakeError, ValueError):
    """The request itself is wrong."""


class SqlSyntaxError(InvalidInput):
    """The text is not SQL that this front end understands."""


class UnknownOption(InvalidInput):
    """An option that does not exist, or a value that it does not take."""


class ColumnMismatch(InvalidInput):
    """The columns given are not the columns of the table."""


class InvalidValue(InvalidInput):
    """A value that its column cannot hold without changing it."""


@contextmanager
def attempting(action: str) -> Iterator[None]:
    """Say what was attempted when DuckDB refuses a value in its own words."""
    try:
        yield
    except InvalidValue as error:
        if _SPOKEN_BY_DUCKDB.match(error.message) is None:
            raise
        raise InvalidValue(f"Cannot {action}: {error.message}", hint=error.hint) from error


class NotNullViolation(InvalidInput):
    """A NULL for a column that allows none."""


class ReadOnlyLake(DuckLakeError, PermissionError):
    """A change of a lake attached read-only or at a past snapshot, or without the right to."""


class NotSupported(DuckLakeError, NotImplementedError):
    """A feature that is known and deliberately not served (see docs/compatibility.md)."""


class DataFileError(DuckLakeError, OSError):
    """A data or delete file cannot be used."""


class MissingDataFile(DataFileError):
    """A file that the catalog lists is not in the storage."""


class CorruptDataFile(DataFileError):
    """A file is there but is not what the catalog says."""


class SparkFailure(DuckLakeError, RuntimeError):
    """A Spark job failed; the message is Spark's own, without its stack."""


class TransactionError(DuckLakeError, RuntimeError):
    """A transaction could not do what was asked."""


class TransactionConflict(TransactionError):
    """Another transaction committed something that this one cannot live with."""


class CommitRetriesExceeded(TransactionError):
    """Others kept committing first. Trying again later may succeed."""

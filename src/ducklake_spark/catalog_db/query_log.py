"""The log of statements: what the metadata databases were asked, and how long each took.

Every statement goes to the Python logger ``ducklake_spark.catalog`` at level DEBUG, and into a
buffer of this process while `QueryLog` is told to keep it. While nobody listens, a statement costs
one comparison more.
"""

from __future__ import annotations

import csv
import datetime as dt
import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ducklake_spark.catalog_db.dialect import Row, Session
from ducklake_spark.catalog_db.url import mask_password

METADATA: Final = "DuckLakeMetadata"
QUERIES: Final = "QueryLog"
LOG_TYPES: Final = (METADATA, QUERIES)
LOG_FILE: Final = "duckdb_log_entries.csv"

_LOGGER: Final = logging.getLogger("ducklake_spark.catalog")
_LONGEST_PARAMETER: Final = 100
_KEPT: Final = 10_000


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One statement. `catalog` is the lake's name, None for a statement of the user."""

    moment: dt.datetime
    type: str
    query: str
    catalog: str | None = None
    parameters: str | None = None
    elapsed_ms: int | None = None

    @property
    def message(self) -> str:
        """The entry as one text."""
        if self.type != METADATA:
            return self.query
        return str({"catalog": self.catalog, "query": self.query, "elapsed_ms": self.elapsed_ms})


class QueryLog:
    """What a connection and its cursors remember of their statements; the oldest go first."""

    def __init__(self, *, kept: int = _KEPT) -> None:
        self._entries: deque[LogEntry] = deque(maxlen=kept)
        self._write: Callable[[LogEntry], None] = self._entries.append
        self.types: frozenset[str] = frozenset()

    @property
    def entries(self) -> list[LogEntry]:
        """What is in the buffer, oldest first."""
        return list(self._entries)

    def enable(self, types: Iterable[str], *, storage: str, path: str | None) -> None:
        """Keep statements of these types: in ``memory``, on ``stdout`` or in a ``file``."""
        writers = {"memory": self._entries.append, "stdout": _print, "file": _file_writer(path)}
        self._write = writers[storage]
        self.types = frozenset(types)

    def disable(self) -> None:
        """Keep no more; what is kept stays."""
        self.types = frozenset()

    def clear(self) -> None:
        """Forget what is kept."""
        self._entries.clear()

    def note_query(self, text: str) -> None:
        """A statement of the user is about to run."""
        if QUERIES in self.types:
            self._write(LogEntry(_now(), QUERIES, mask_password(text)))

    def note_metadata(self, catalog: str, sql: str, parameters: str, elapsed_ms: float) -> None:
        """A metadata database has answered."""
        now, took = _now(), int(elapsed_ms)
        if METADATA in self.types:
            self._write(LogEntry(now, METADATA, sql, catalog, parameters, took))
        if QUERIES in self.types:
            self._write(LogEntry(now, QUERIES, sql, catalog, parameters, took))

    def of_catalog(self, name: str) -> CatalogLog:
        """The part of the log that the metadata database of a lake writes."""
        return CatalogLog(self, name)


@dataclass(frozen=True, slots=True)
class CatalogLog:
    """Where the statements of one metadata database go."""

    log: QueryLog
    catalog: str

    @property
    def is_heard(self) -> bool:
        """Whether anybody wants to know."""
        return bool(self.log.types) or _LOGGER.isEnabledFor(logging.DEBUG)

    def note(self, sql: str, params: Sequence[Any], elapsed_ms: float) -> None:
        """Tell the buffer and the Python logger."""
        shown = ", ".join(_shown(value) for value in params)
        self.log.note_metadata(self.catalog, sql, shown, elapsed_ms)
        _LOGGER.debug("%s: %.1f ms: %s [%s]", self.catalog, elapsed_ms, sql, shown)


class LoggedSession:
    """A driver's session that notes what it is asked.

    Where statements are sent together (PostgreSQL), the time is spent in the one that waits for
    the answers. `mask` takes passwords out of a text.
    """

    def __init__(self, inner: Session, log: CatalogLog, mask: Callable[[str], str]) -> None:
        self._inner = inner
        self._log = log
        self._mask = mask

    def run(self, sql: str, params: Sequence[Any]) -> None:
        """See `Session`."""
        if not self._log.is_heard:
            self._inner.run(sql, params)
            return
        with self._timed(((sql, params),)):
            self._inner.run(sql, params)

    def run_all(self, statements: Iterable[tuple[str, Sequence[Any]]]) -> None:
        """See `Session`. While somebody listens each is sent by itself, and has its own time."""
        if not self._log.is_heard:
            self._inner.run_all(statements)
            return
        for sql, params in statements:
            self.run(sql, params)

    def rows(self, sql: str, params: Sequence[Any]) -> list[Row]:
        """See `Session`."""
        if not self._log.is_heard:
            return self._inner.rows(sql, params)
        with self._timed(((sql, params),)):
            return self._inner.rows(sql, params)

    def rows_of_all(self, queries: Sequence[tuple[str, Sequence[Any]]]) -> list[list[Row]]:
        """See `Session`. The time of all is noted with the last."""
        if not self._log.is_heard:
            return self._inner.rows_of_all(queries)
        with self._timed(queries):
            return self._inner.rows_of_all(queries)

    def batch(self) -> AbstractContextManager[object]:
        """See `Session`."""
        return self._inner.batch()

    def close(self) -> None:
        """See `Session`."""
        self._inner.close()

    @contextmanager
    def _timed(self, queries: Sequence[tuple[str, Sequence[Any]]]) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            elapsed_ms = (time.perf_counter() - start) * 1000
            for index, (sql, params) in enumerate(queries, 1):
                self._log.note(
                    self._mask(sql), params, elapsed_ms if index == len(queries) else 0.0
                )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_PARAMETER else text[:_LONGEST_PARAMETER] + "…"


def _now() -> dt.datetime:
    return dt.datetime.now(dt.timezone.utc)


def _print(entry: LogEntry) -> None:
    sys.stdout.write(f"{entry.moment.isoformat(sep=' ')}\t{entry.type}\t{entry.message}\n")


def _file_writer(path: str | None) -> Callable[[LogEntry], None]:
    lock = threading.Lock()

    def write(entry: LogEntry) -> None:
        folder = Path(path or ".")
        with lock:
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / LOG_FILE).open("a", encoding="utf-8", newline="") as file:
                csv.writer(file).writerow([entry.moment.isoformat(), entry.type, entry.message])

    return write

"""DuckDB inside a task: one locked-down engine for each process and its settings. Task."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from ducklake_spark import caching
from ducklake_spark.errors import DriverMissing, DuckLakeError, InvalidValue, NotSupported
from ducklake_spark.spark.failures import marked_errors

Settings = tuple[tuple[str, str], ...]
_SOURCE: Final = re.compile(r" when casting from source column \w+$")
_LOCKS: Final = (
    "SET autoload_known_extensions = false",
    "SET autoinstall_known_extensions = false",
    "SET allow_community_extensions = false",
    "SET temp_directory = ''",
)
_INFINITIES: Final = {pa.int32(): 2**31 - 1, pa.int64(): 2**63 - 1}
_ENGINES: Final = caching.declare(
    "DuckDB of a task",
    key="its settings",
    depends_on="its key alone: it holds no data between two batches",
    seen_by="process",
    emptied="never",
    entries=4,
).make()


@dataclass(frozen=True)
class EngineFunction:
    """What computes the rows of a batch.

    Attributes:
        query: over the table ``rows``, see `EngineCall`.
        settings: of DuckDB, with their values.
        result: the Arrow type that Spark expects.
    """

    query: str
    settings: Settings
    result: pa.DataType

    def of(self, *columns: pa.Array) -> pa.Array:
        """The answers for the rows of a batch."""
        with marked_errors():
            return self._compute(columns)

    def _compute(self, columns: tuple[pa.Array, ...]) -> pa.Array:
        numbers = pa.array(range(len(columns[0])), pa.int64())
        names = [*(f"a{at}" for at in range(len(columns))), "row"]
        found = _run(_engine(self.settings), self.query, pa.table([*columns, numbers], names))
        answer = found.column(0).combine_chunks()
        if isinstance(answer, pa.ChunkedArray):
            answer = pa.concat_arrays(answer.chunks) if answer.chunks else pa.nulls(0, answer.type)
        _refuse_infinity(answer)
        return _as_spark_reads_it(answer, self.result)


def _run(engine: Any, query: str, rows: pa.Table) -> pa.Table:
    import duckdb

    engine.register("rows", rows)
    try:
        return engine.execute(query).to_arrow_table()
    except UnicodeDecodeError as error:  # DuckDB quotes bytes of a value that are no text
        raise _told(error.object.decode("utf-8", "replace")) from error
    except duckdb.Error as error:
        raise _told(str(error)) from error
    finally:
        engine.unregister("rows")


def _told(message: str) -> DuckLakeError:
    """An error of DuckDB in its own words, without places and names that nobody has written."""
    text = _SOURCE.sub("", message.split("\n\nLINE ", maxsplit=1)[0].strip())
    kind = NotSupported if text.startswith("Not implemented Error") else InvalidValue
    return kind(text)


def _engine(settings: Settings) -> Any:
    """The DuckDB of this process: it opens no file and no socket, and nobody changes that."""
    return _ENGINES.find(settings, lambda: _start(settings))


def _start(settings: Settings) -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise DriverMissing(
            "Cannot compute with DuckDB in a task of Spark: duckdb is not installed there.",
            hint="install duckdb on every machine of the cluster.",
        ) from error
    engine = duckdb.connect(config={"threads": 1})
    for lock in _LOCKS:
        engine.execute(lock)
    with suppress(duckdb.CatalogException):  # DuckDB 1.5 knows no other way
        engine.execute("SET error_on_division_by_zero = false")
    for name, value in settings:
        engine.execute(f"SET {name} = $1", [value])
    engine.execute("SET enable_external_access = false")
    engine.execute("SET lock_configuration = true")
    return engine


def _as_spark_reads_it(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The values in the Arrow type that Spark expects; what is only NULL are integers of DuckDB."""
    if values.type == kind:
        return values
    return pa.array(values.to_pylist(), kind) if _has_only_nulls(kind) else values.cast(kind)


def _has_only_nulls(kind: pa.DataType) -> bool:
    """Whether something in a type has no other value than NULL."""
    inner = [kind.field(at).type for at in range(kind.num_fields)]
    return pa.types.is_null(kind) or any(map(_has_only_nulls, inner))


def _refuse_infinity(values: pa.Array) -> None:
    """DuckDB's infinite dates and timestamps would be ordinary ones, far away, for Spark."""
    kind = values.type
    if pa.types.is_nested(kind):
        for child in _children(values):
            _refuse_infinity(child)
        return
    if not (pa.types.is_date32(kind) or pa.types.is_timestamp(kind)):
        return
    numbers = values.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64())
    infinity = _INFINITIES[numbers.type]
    ends = pc.min_max(numbers).as_py()
    if ends["max"] == infinity or ends["min"] == -infinity:
        raise InvalidValue("An infinite date or timestamp cannot be carried by Spark.")


def _children(values: pa.Array) -> list[pa.Array]:
    if pa.types.is_struct(values.type):
        return list(values.flatten())
    if pa.types.is_map(values.type):
        return [values.keys, values.items]
    return [values.flatten()]

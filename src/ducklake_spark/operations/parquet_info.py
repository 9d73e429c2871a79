"""parquet_metadata(), parquet_schema(), parquet_file_metadata(), parquet_kv_metadata()."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from ducklake_spark.catalog_db.values import format_timestamp
from ducklake_spark.errors import CorruptDataFile
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.parquet.footer import Fields, Footer, read_footer
from ducklake_spark.parquet.storage import open_file


def _words(text: str) -> list[str]:
    """Names by their code in the Parquet format."""
    return text.split()


_TYPES: Final = _words("BOOLEAN INT32 INT64 INT96 FLOAT DOUBLE BYTE_ARRAY FIXED_LEN_BYTE_ARRAY")
_REPETITIONS: Final = ("REQUIRED", "OPTIONAL", "REPEATED")
_CODECS: Final = _words("UNCOMPRESSED SNAPPY GZIP LZO BROTLI LZ4 ZSTD LZ4_RAW")
_CONVERTED: Final = _words(
    "UTF8 MAP MAP_KEY_VALUE LIST ENUM DECIMAL DATE TIME_MILLIS TIME_MICROS TIMESTAMP_MILLIS "
    "TIMESTAMP_MICROS UINT_8 UINT_16 UINT_32 UINT_64 INT_8 INT_16 INT_32 INT_64 JSON BSON INTERVAL"
)
_ENCODINGS: Final = {
    0: "PLAIN",
    2: "PLAIN_DICTIONARY",
    3: "RLE",
    4: "BIT_PACKED",
    5: "DELTA_BINARY_PACKED",
    6: "DELTA_LENGTH_BYTE_ARRAY",
    7: "DELTA_BYTE_ARRAY",
    8: "RLE_DICTIONARY",
    9: "BYTE_STREAM_SPLIT",
}
_LOGICAL: Final = {
    1: "String",
    2: "Map",
    3: "List",
    4: "Enum",
    5: "Decimal",
    6: "Date",
    7: "Time",
    8: "Timestamp",
    10: "Int",
    11: "Null",
    12: "Json",
    13: "Bson",
    14: "UUID",
    15: "Float16",
    16: "Variant",
    17: "Geometry",
    18: "Geography",
}
_UNITS: Final = {
    1: ("MILLIS", "MilliSeconds"),
    2: ("MICROS", "MicroSeconds"),
    3: ("NANOS", "NanoSeconds"),
}


def _columns(text: str) -> tuple[tuple[str, str], ...]:
    """Columns from ``name`` (BIGINT) or ``name:TYPE`` words."""
    pairs = (word.partition(":") for word in text.split())
    return tuple((name, kind or "BIGINT") for name, _, kind in pairs)


_METADATA: Final = (
    *_columns("file_name:VARCHAR row_group_id row_group_num_rows row_group_num_columns"),
    *_columns("row_group_bytes column_id file_offset num_values path_in_schema:VARCHAR"),
    *_columns("type:VARCHAR stats_min:VARCHAR stats_max:VARCHAR stats_null_count"),
    *_columns("stats_distinct_count stats_min_value:VARCHAR stats_max_value:VARCHAR"),
    *_columns("compression:VARCHAR encodings:VARCHAR index_page_offset dictionary_page_offset"),
    *_columns("data_page_offset total_compressed_size total_uncompressed_size"),
    ("key_value_metadata", "MAP(BLOB, BLOB)"),
    *_columns("bloom_filter_offset bloom_filter_length min_is_exact:BOOLEAN max_is_exact:BOOLEAN"),
    *_columns("row_group_compressed_bytes"),
)
_SCHEMA: Final = _columns(
    "file_name:VARCHAR name:VARCHAR type:VARCHAR type_length:VARCHAR repetition_type:VARCHAR "
    "num_children converted_type:VARCHAR scale precision field_id logical_type:VARCHAR column_id"
)
_FILES: Final = (
    *_columns("file_name:VARCHAR created_by:VARCHAR num_rows num_row_groups format_version"),
    *_columns("encryption_algorithm:VARCHAR footer_signing_key_metadata:VARCHAR"),
    *_columns("file_size_bytes:UBIGINT footer_size:UBIGINT"),
)
_PAIR: Final = (("file_name", "VARCHAR"), ("key", "BLOB"), ("value", "BLOB"))


_Reader = Callable[[Footer], Iterator[tuple[Any, ...]]]


def ask_footers(function: str, paths: Sequence[str]) -> RowSet:
    """The rows of one of `PARQUET_QUESTIONS` for files, in their order. Driver."""
    columns, read = PARQUET_QUESTIONS[function]
    return RowSet(columns, tuple(row for path in paths for row in _rows(read, path)))


def _rows(read: _Reader, path: str) -> list[tuple[Any, ...]]:
    footer = read_footer(path)
    try:
        return list(read(footer))
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise CorruptDataFile(f'The footer of "{path}" cannot be read.') from error


def _chunks(footer: Footer) -> Iterator[tuple[Any, ...]]:
    """Every column of every row group."""
    typed = _typed_metadata(footer.path)
    for group_id, group in enumerate(footer.fields.get(4, [])):
        chunks = group[1]
        for column_id, chunk in enumerate(chunks):
            is_uuid = typed.schema.column(column_id).logical_type.type == "UUID"
            low, high = _bounds(typed.row_group(group_id).column(column_id), is_uuid=is_uuid)
            yield (
                *(footer.path, group_id, group[3], len(chunks), group[2], column_id),
                *_chunk(chunk, low, high),
                group.get(6),
            )


def _chunk(chunk: Fields, low: str | None, high: str | None) -> tuple[Any, ...]:
    """The columns of `_METADATA` from file_offset on that are the chunk's own."""
    about = chunk.get(3, {})
    statistics = about.get(12, {})
    pairs = {pair[1]: pair.get(2) for pair in about.get(8, [])}
    return (
        *(chunk.get(2), about[5], ", ".join(name.decode("utf-8", "replace") for name in about[3])),
        *(_TYPES[about[1]], low, high, statistics.get(3), statistics.get(4), low, high),
        _named(_CODECS, about[4]),
        ", ".join(_ENCODINGS.get(code, str(code)) for code in about[2]),
        *(about.get(10), about.get(11), about[9], about[7], about[6], pairs),
        *(about.get(14), about.get(15), statistics.get(8), statistics.get(7)),
    )


def _typed_metadata(path: str) -> Any:
    try:
        with open_file(path) as file:
            return pq.read_metadata(file)
    except pa.ArrowException as error:
        raise CorruptDataFile(f'The footer of "{path}" cannot be read: {error}.') from error


def _bounds(column: Any, *, is_uuid: bool) -> tuple[str | None, str | None]:
    """Least and greatest value as text; pyarrow knows their types."""
    statistics = column.statistics
    if statistics is None or not statistics.has_min_max:
        return None, None
    try:
        low, high = statistics.min, statistics.max
        if is_uuid:
            return str(uuid.UUID(bytes=low)), str(uuid.UUID(bytes=high))
        return _value_text(low), _value_text(high)
    except (pa.ArrowException, NotImplementedError, ValueError, OverflowError):
        return None, None


def _value_text(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case bytes():
            return "".join(chr(b) if 32 <= b < 127 and b != 92 else f"\\x{b:02X}" for b in value)
        case dt.datetime():
            return format_timestamp(value).removesuffix("" if value.tzinfo else "+00")
        case Decimal():
            return f"{value:f}"
        case _:
            return str(value)


def _nodes(footer: Footer) -> Iterator[tuple[Any, ...]]:
    """Every node of the schema's tree, from the root on."""
    for number, node in enumerate(footer.fields[2]):
        yield (footer.path, *_node(node), number)


def _node(node: Fields) -> tuple[Any, ...]:
    length = node.get(2)
    return (
        _text(node[4]),
        _named(_TYPES, node.get(1)),
        None if length is None else str(length),
        _named(_REPETITIONS, node.get(3)),
        *(node.get(5), _named(_CONVERTED, node.get(6)), node.get(7), node.get(8), node.get(9)),
        _logical_type(node.get(10)),
    )


def _logical_type(union: Fields | None) -> str | None:
    if not union:
        return None
    ((number, parts),) = union.items()
    name = f"{_LOGICAL.get(number, f'Unknown{number}')}Type"
    match number:
        case 5:
            return f"{name}(scale={parts.get(1, 0)}, precision={parts[2]})"
        case 7 | 8:
            units = ", ".join(
                f"{unit}={f'{words}()' if key in parts.get(2, {}) else '<null>'}"
                for key, (unit, words) in _UNITS.items()
            )
            return f"{name}(isAdjustedToUTC={int(parts.get(1, False))}, unit=TimeUnit({units}))"
        case 10:
            return f"{name}(bitWidth={parts.get(1)}, isSigned={int(parts.get(2, False))})"
        case _:
            return f"{name}()"


def _file(footer: Footer) -> Iterator[tuple[Any, ...]]:
    """The file as a whole."""
    fields = footer.fields
    yield (
        *(footer.path, _text(fields.get(6)), fields[3], len(fields.get(4, [])), fields[1]),
        *("AES" if fields.get(8) else None, _text(fields.get(9)), footer.file_size, footer.size),
    )


def _pairs(footer: Footer) -> Iterator[tuple[Any, ...]]:
    """Every key and value that a writer left in the footer."""
    for pair in footer.fields.get(5, []):
        yield footer.path, pair[1], pair.get(2)


def _named(names: Sequence[str], code: int | None) -> str | None:
    if code is None:
        return None
    return names[code] if code < len(names) else str(code)


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode("utf-8", "replace")


PARQUET_QUESTIONS: Final[Mapping[str, tuple[tuple[tuple[str, str], ...], _Reader]]] = {
    "parquet_metadata": (_METADATA, _chunks),
    "parquet_schema": (_SCHEMA, _nodes),
    "parquet_file_metadata": (_FILES, _file),
    "parquet_kv_metadata": (_PAIR, _pairs),
}

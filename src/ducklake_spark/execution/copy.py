"""COPY: a query into a file, a file into a table."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from sqlglot import exp

from ducklake_spark.errors import DataFileError, InvalidInput, NotSupported, UnknownOption
from ducklake_spark.execution.insert import insert
from ducklake_spark.execution.queries import query_frame
from ducklake_spark.execution.readers import reader_of_path
from ducklake_spark.model.schema import Column
from ducklake_spark.model.types import format_sql_type
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.operations.export import ExportFormat, export
from ducklake_spark.operations.export_partitions import ExportFolders, export_partitions
from ducklake_spark.options import CODECS, parse_boolean, parse_count
from ducklake_spark.sql import statements as st
from ducklake_spark.sql.trees import text as literal
from ducklake_spark.sql.variables import value_tree

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

_FORMATS = {"read_parquet": "parquet", "read_csv": "csv", "read_json": "json"}


def copy_to(con: Connection, s: st.CopyTo) -> RowSet:
    """COPY … TO 'file': one file of that name, or a folder of files. Returns how many rows."""
    options = dict(s.options)
    folders = _export_folders(options)
    form, return_files = _export_format(s.path, options)
    query = s.query
    if query is None:
        if s.table is None:
            raise InvalidInput("COPY needs a table or a query.")
        names: list[exp.Expr] = [exp.column(name, quoted=True) for name in s.columns]
        query = exp.Select(expressions=names or [exp.Star()]).from_(_table(s.table))
    files = [s.path]
    frame = query_frame(con, query)
    if folders is None:
        count = export(frame, s.path, form)
    else:
        count, files = export_partitions(frame, s.path, form, folders)
    if return_files:
        return RowSet((("Count", "BIGINT"), ("Files", "VARCHAR[]")), ((count, files),))
    return RowSet((("Count", "BIGINT"),), ((count,),))


def _export_folders(options: dict[str, Any]) -> ExportFolders | None:
    """The folders that PARTITION_BY asks for; its options are taken out."""
    by = options.pop("PARTITION_BY", None)
    if by is None:
        return None
    values: dict[str, Any] = {}
    for name, (field, parse) in _FOLDER_OPTIONS.items():
        if name in options:
            values[field] = _parsed(name, parse, options.pop(name))
    keys = by if isinstance(by, list) else [by]
    return ExportFolders(tuple(str(key) for key in keys), **values)


def _file_name(value: Any) -> str:
    text = str(value)
    if "/" in text:
        raise ValueError(value)
    return text if "{i}" in text else f"{text}{{i}}"


_FOLDER_OPTIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "WRITE_PARTITION_COLUMNS": ("write_keys", parse_boolean),
    "OVERWRITE": ("overwrite", parse_boolean),
    "OVERWRITE_OR_IGNORE": ("ignore", parse_boolean),
    "FILENAME_PATTERN": ("name", _file_name),
}


def _table(parts: tuple[str, ...]) -> exp.Table:
    return exp.table_(
        parts[-1],
        db=parts[-2] if len(parts) > 1 else None,
        catalog=parts[-3] if len(parts) > 2 else None,
        quoted=True,
    )


def _kind(path: str, options: dict[str, Any]) -> Literal["parquet", "csv", "json"]:
    reader = reader_of_path(path)
    kind = str(options.pop("FORMAT", _FORMATS.get(reader or "", "csv"))).lower()
    if kind not in ("parquet", "csv", "json"):
        raise NotSupported(f"COPY has no format {kind!r}.", hint="it has parquet, csv and json.")
    return cast("Literal['parquet', 'csv', 'json']", kind)


def _export_format(path: str, given: Mapping[str, Any]) -> tuple[ExportFormat, bool]:
    """The format that the options of COPY describe, and whether the file's name is wanted."""
    options = dict(given)
    values: dict[str, Any] = {"kind": _kind(path, options)}
    if path.lower().endswith(".tsv"):
        values["delimiter"] = "\t"
    for name in _WITHOUT_EFFECT:
        options.pop(name, None)
    return_files = _parsed("RETURN_FILES", parse_boolean, options.pop("RETURN_FILES", False))
    for name, value in options.items():
        known = _EXPORT_OPTIONS.get(name)
        if known is None:
            raise NotSupported(f"COPY … TO does not know the option {name}.")
        field, parse = known
        values[field] = _parsed(name, parse, value)
    return ExportFormat(**values), return_files


def _parsed(name: str, parse: Callable[[Any], Any], value: Any) -> Any:
    try:
        return parse(value)
    except ValueError:
        raise UnknownOption(f"{name} of COPY cannot take the value {value!r}.") from None


def _codec(value: Any) -> str:
    return CODECS[CODECS.index(str(value).lower())]


def _automatic(value: Any) -> bool:
    if str(value).lower() != "auto":
        raise ValueError(value)
    return True


_WITHOUT_EFFECT = ("OVERWRITE", "OVERWRITE_OR_IGNORE", "USE_TMP_FILE")
_EXPORT_OPTIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "HEADER": ("header", parse_boolean),
    "DELIM": ("delimiter", str),
    "DELIMITER": ("delimiter", str),
    "SEP": ("delimiter", str),
    "QUOTE": ("quote", str),
    "NULL": ("null_text", str),
    "NULLSTR": ("null_text", str),
    "COMPRESSION": ("codec", _codec),
    "CODEC": ("codec", _codec),
    "ROW_GROUP_SIZE": ("row_group_rows", parse_count),
    "FIELD_IDS": ("field_ids", _automatic),
    "ARRAY": ("as_array", parse_boolean),
}


def copy_from(con: Connection, s: st.CopyFrom) -> RowSet:
    """COPY table FROM 'file': an INSERT of the file's rows.

    Columns are found by position, those of JSON by name. The cells of a CSV file are text, cast
    to the types of the table's columns.
    """
    options = dict(s.options)
    kind = _kind(s.path, options)
    arguments = {_READER_WORDS.get(key, key).lower(): value for key, value in options.items()}
    targets = _targets(con, s)
    items: list[exp.Expr] = [exp.column(column.name, quoted=True) for column in targets]
    if kind == "csv":
        arguments.setdefault("header", _has_header(s.path, arguments, targets))
        arguments["columns"] = {column.name: "VARCHAR" for column in targets}
        items = [
            exp.cast(item, format_sql_type(column.type), dialect="duckdb")
            for item, column in zip(items, targets, strict=True)
        ]
    elif kind == "parquet":
        items = [exp.Star()]
    named = (exp.Kwarg(this=exp.var(k), expression=value_tree(v)) for k, v in arguments.items())
    call = exp.Anonymous(this=f"read_{kind}", expressions=[literal(s.path), *named])
    query = exp.Select(expressions=items).from_(exp.Table(this=call))
    return insert(con, st.Insert(s.table, query, s.columns or None))


_READER_WORDS = {"DELIMITER": "DELIM", "NULL": "NULLSTR"}


def _targets(con: Connection, s: st.CopyFrom) -> list[Column]:
    lake, schema, name = con.place(s.table)
    with con.reading(lake) as tx:
        _, table = con.find_table(tx, lake, schema, name)
    if not s.columns:
        return list(table.schema.columns)
    return [table.schema.get(column, table=table.name) for column in s.columns]


def _has_header(path: str, arguments: Mapping[str, Any], targets: list[Column]) -> bool:
    """Whether the first line of a CSV file names the columns."""
    default = "\t" if path.lower().endswith(".tsv") else ","
    separator = str(arguments.get("delim", arguments.get("sep", default)))
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            first = next(csv.reader(file, delimiter=separator), [])
    except (OSError, UnicodeDecodeError) as error:
        raise DataFileError(
            f"Cannot look into {path!r}: {error}.", hint="say HEADER true or HEADER false."
        ) from error
    names = [column.name.lower() for column in targets]
    return [cell.strip().lower() for cell in first] == names

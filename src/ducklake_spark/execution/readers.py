"""Files in FROM: read_parquet('…'), read_csv, read_json, glob, and a path in quotes."""

from __future__ import annotations

import glob
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from ducklake_spark.errors import DataFileError, InvalidInput, MissingDataFile, NotSupported
from ducklake_spark.model.paths import is_url
from ducklake_spark.model.types import parse_sql_type
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.operations.parquet_info import ask_footers
from ducklake_spark.operations.read_files import read_typed_parquet
from ducklake_spark.options import parse_boolean
from ducklake_spark.spark.carriers import carrier_type
from ducklake_spark.spark.failures import spark_failures

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

Arguments = tuple[Any, ...]
Named = Mapping[str, Any]
_FORMATS: Final = {
    ".parquet": "read_parquet",
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".json": "read_json",
    ".jsonl": "read_json",
    ".ndjson": "read_json",
}


def find_files(patterns: list[str]) -> list[str]:
    """The files that the patterns match, sorted; ``**`` matches any number of folders."""
    found = []
    for pattern in patterns:
        if is_url(pattern) and not pattern.startswith("file:"):
            raise NotSupported(f"Cannot list {pattern}: only local paths can be listed so far.")
        path = pattern.removeprefix("file://")
        matches = glob.glob(path, recursive=True)  # noqa: PTH207 - relative paths stay relative
        found += sorted(match for match in matches if Path(match).is_file())
    return found


def glob_files(con: Connection, arguments: Arguments, named: Named) -> RowSet:
    """glob('pattern'): the names of files, without an error when there are none."""
    _refuse("glob", named)
    return RowSet((("file", "VARCHAR"),), tuple((f,) for f in find_files(_patterns(arguments))))


def ask_parquet(function: str, arguments: Arguments, named: Named) -> RowSet:
    """parquet_metadata('pattern') and its kin: what the footers of files say."""
    _refuse(function, named)
    return ask_footers(function, _paths(arguments))


def reader_of_path(path: str) -> str | None:
    """The function that reads a file of that name; None when the name is that of no file."""
    name = path.lower().removesuffix(".gz").removesuffix(".zst")
    return next((reader for ending, reader in _FORMATS.items() if name.endswith(ending)), None)


def _patterns(arguments: Arguments) -> list[str]:
    if len(arguments) != 1:
        raise InvalidInput("A function that reads files takes a path, or a list of paths.")
    return [arguments[0]] if isinstance(arguments[0], str) else list(arguments[0])


def _paths(arguments: Arguments) -> list[str]:
    """What to read: local patterns as the files they match, other addresses as they are."""
    paths: list[str] = []
    for pattern in _patterns(arguments):
        if is_url(pattern) and not pattern.startswith("file:"):
            paths.append(pattern)
            continue
        found = find_files([pattern])
        if not found:
            raise MissingDataFile(f"No files found that match the pattern {pattern!r}.")
        paths += [str(Path(path).absolute()) for path in found]
    return paths


def _refuse(function: str, named: Named, *known: str) -> None:
    for name in named:
        if name.lower() not in known:
            takes = f"it takes {', '.join(known)}." if known else "it takes none."
            raise NotSupported(f"{function} does not know the argument {name!r}.", hint=takes)


def _read_parquet(con: Connection, arguments: Arguments, named: Named) -> DataFrame:
    _refuse("read_parquet", named, "hive_partitioning", "union_by_name", "filename")
    paths = _paths(arguments)
    options: dict[str, Any] = {"mergeSchema": _flag(named, "union_by_name")}
    base = _hive_base(paths) if _flag(named, "hive_partitioning", default=True) else None
    if base is not None:
        options["basePath"] = base
    try:
        with spark_failures("read Parquet files"):
            frame = con.spark.read.options(**options).parquet(*paths)
            return _with_file_name(frame) if _flag(named, "filename") else frame
    except InvalidInput:
        if base is not None or named or any(map(is_url, paths)):
            raise
    with spark_failures("read Parquet files"):
        return read_typed_parquet(con.spark, paths)


def _with_file_name(frame: DataFrame) -> DataFrame:
    path = "regexp_replace(_metadata.file_path, '^file:/*', '/')"
    return frame.selectExpr("*", f"{path} AS filename")


def _flag(named: Named, name: str, *, default: bool = False) -> bool:
    value = {key.lower(): value for key, value in named.items()}.get(name, default)
    try:
        return parse_boolean(value)
    except ValueError:
        raise InvalidInput(f"{name} takes true or false, not {value!r}.") from None


def _hive_base(paths: list[str]) -> str | None:
    """The folder above the first ``key=value`` folder, when all files stand in such folders."""
    bases = set()
    for path in paths:
        folders = path.split("/")[:-1]
        first = next((i for i, folder in enumerate(folders) if "=" in folder), None)
        if first is None:
            return None
        bases.add("/".join(folders[:first]))
    return bases.pop() if len(bases) == 1 else None


def _read_csv(con: Connection, arguments: Arguments, named: Named) -> DataFrame:
    known = ("header", "delim", "sep", "quote", "escape", "nullstr", "all_varchar", "columns")
    _refuse("read_csv", named, *known, "auto_detect", "compression")
    given = {key.lower(): value for key, value in named.items()}
    paths = _paths(arguments)
    default = "\t" if paths[0].lower().endswith(".tsv") else ","
    options: dict[str, Any] = {
        "header": _flag(named, "header", default=True),
        "sep": given.get("delim", given.get("sep", default)),
        "quote": given.get("quote", '"'),
        "escape": given.get("escape", '"'),
        "nullValue": given.get("nullstr", ""),
        "multiLine": True,
        "inferSchema": not _flag(named, "all_varchar") and "columns" not in given,
    }
    reader = con.spark.read.options(**options)
    if "columns" in given:
        reader = reader.schema(csv_schema(given["columns"]))
    with spark_failures("read CSV files"):
        return reader.csv(paths)


def csv_schema(columns: Any) -> str:
    """The columns of CSV files, given with their types of DuckDB, in Spark's words."""
    if not isinstance(columns, Mapping):
        raise InvalidInput("columns takes names and types: {'id': 'INTEGER', 'name': 'VARCHAR'}.")
    parts = []
    for name, kind in columns.items():
        carrier = carrier_type(parse_sql_type(str(kind)))
        if isinstance(carrier, T.ArrayType | T.StructType | T.MapType):
            raise NotSupported(
                f"read_csv cannot read the column {str(name)!r} as {kind}.",
                hint="read it as VARCHAR and cast it.",
            )
        shown = carrier.simpleString()
        parts.append(f"`{str(name).replace('`', '``')}` {shown}")
    return ", ".join(parts)


def _read_json(con: Connection, arguments: Arguments, named: Named) -> DataFrame:
    _refuse("read_json", named, "format", "auto_detect", "compression")
    paths = _paths(arguments)
    form = str(named.get("format", "auto")).lower()
    whole = form == "array" or (form == "auto" and _is_json_array(paths[0]))
    with spark_failures("read JSON files"):
        return con.spark.read.option("multiLine", whole).json(paths)


def _is_json_array(path: str) -> bool:
    """Whether a local file begins with a bracket; others are taken for one object per line."""
    if is_url(path) or path.endswith((".gz", ".zst")):
        return False
    try:
        with Path(path).open(encoding="utf-8") as file:
            return file.read(64).lstrip().startswith("[")
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataFileError(f"Cannot read {path}: {error}.") from error


READERS: Final[dict[str, Callable[[Connection, Arguments, Named], DataFrame]]] = {
    "read_parquet": _read_parquet,
    "parquet_scan": _read_parquet,
    "read_csv": _read_csv,
    "read_csv_auto": _read_csv,
    "read_json": _read_json,
    "read_json_auto": _read_json,
    "read_ndjson": _read_json,
    "read_ndjson_auto": _read_json,
}

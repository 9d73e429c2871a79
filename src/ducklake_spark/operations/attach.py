"""ATTACH: open a lake, or make a new one."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ducklake_spark.catalog_db.connection import Database, SnapshotTaken, open_database
from ducklake_spark.catalog_db.initialize import (
    check_version,
    create_lake,
    is_lake,
    normalize_data_path,
)
from ducklake_spark.catalog_db.query_log import QueryLog
from ducklake_spark.catalog_db.url import CatalogUrl, parse_url
from ducklake_spark.commit.retry import RetryPolicy
from ducklake_spark.errors import (
    AlreadyExists,
    InvalidInput,
    NotALake,
    NotSupported,
    UnknownOption,
    did_you_mean,
)
from ducklake_spark.lake import Lake
from ducklake_spark.model.moments import Zone, moment_of_python


@dataclass(frozen=True)
class AttachOptions:
    """The options of ATTACH, named as in SQL."""

    data_path: str | None = None
    override_data_path: bool = False
    create_if_not_exists: bool | None = None  # by default: unless read-only
    read_only: bool = False
    metadata_schema: str | None = None
    metadata_catalog: str | None = None
    metadata_path: str | None = None
    metadata_parameters: Mapping[str, str] = field(default_factory=dict)
    snapshot_version: int | None = None
    snapshot_time: dt.datetime | None = None
    data_inlining_row_limit: int | None = None
    encrypted: bool = False
    automatic_migration: bool = False
    busy_timeout: int = 5000


_SPELLINGS = {"readonly": "read_only", "readwrite": "read_write"}


def parse_attach_options(
    options: Mapping[str, Any], zone: Callable[[], Zone] = lambda: None
) -> AttachOptions:
    """Check names and values, whatever their case. `META_x` adds to the metadata parameters.

    `zone` is the session's, for a SNAPSHOT_TIME without one.
    """
    known = set(AttachOptions.__dataclass_fields__)
    values: dict[str, Any] = {}
    parameters: dict[str, str] = {}
    for option, value in options.items():
        name = _SPELLINGS.get(option.lower(), option.lower())
        if name.startswith("meta_"):
            parameters[name.removeprefix("meta_")] = str(value)
        elif name == "metadata_parameters":
            parameters.update({str(k): str(v) for k, v in _as_mapping(option, value).items()})
        elif name in known:
            values[name] = _convert(name, value, zone)
        elif name not in ("type", "read_write"):
            hint = did_you_mean(name, known) or f"known are {', '.join(sorted(known)).upper()}."
            raise UnknownOption(f'ATTACH has no option "{option}".', hint=hint)
    _check_time_travel(values, {option.lower() for option in options})
    return AttachOptions(**values, metadata_parameters=parameters)


def _check_time_travel(values: Mapping[str, Any], given: set[str]) -> None:
    if {"snapshot_version", "snapshot_time"} <= set(values):
        raise InvalidInput(
            "Cannot specify both VERSION and TIMESTAMP: ATTACH takes SNAPSHOT_VERSION or "
            "SNAPSHOT_TIME, not both."
        )
    past = {"snapshot_version", "snapshot_time"} & set(values)
    if past and ("read_write" in given or values.get("read_only") is False):
        raise InvalidInput(f"{past.pop().upper()} can only be used in read-only mode.")


def _as_mapping(option: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UnknownOption(f"{option} takes a map such as MAP {{'key': 'value'}}, not {value!r}.")
    return value


_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def _convert(name: str, value: Any, zone: Callable[[], Zone]) -> Any:
    """A value of the kind that the option takes."""
    kind = str(AttachOptions.__dataclass_fields__[name].type)
    try:
        if "bool" in kind:
            return _BOOLEANS[str(value).lower()]
        if "int" in kind:
            return _natural(value)
        if "datetime" in kind:
            return moment_of_python(value, zone)
    except (KeyError, ValueError, TypeError):
        raise UnknownOption(f"{name.upper()} cannot take the value {value!r}.") from None
    return str(value)


def _natural(value: Any) -> int:
    number = int(value)
    if number < 0:
        raise ValueError(value)
    return number


def default_name(uri: str) -> str:
    """The name of a lake attached without AS: its file's, without the ending.

    >>> default_name("ducklake:sqlite:data/shop.sqlite")
    'shop'
    """
    url = parse_url(uri)
    if url.kind in ("duckdb", "sqlite"):
        return Path(url.target).name.split(".")[0] or "ducklake"
    return "ducklake"


def open_lake(uri: str, name: str, options: AttachOptions, *, log: QueryLog | None = None) -> Lake:
    """Open the lake behind the URI, making it if that is allowed and there is none.

    Nothing stays open and nothing is made when any check fails. `log` hears of every statement.
    """
    if options.encrypted:
        raise NotSupported(
            f'Cannot attach "{name}" with ENCRYPTED: encrypted lakes are not supported yet.'
        )
    url = parse_url(uri)
    if options.metadata_path is not None:
        url = CatalogUrl(url.kind, options.metadata_path)
    may_create = options.create_if_not_exists
    if may_create is None:
        may_create = not (options.read_only or _is_time_travel(options))
    if may_create and not _exists(url):
        _data_path_for_new_lake(url, options)  # complains before a file is made
    db = open_database(
        url,
        read_only=options.read_only,
        create=may_create,
        metadata_schema=options.metadata_schema,
        parameters=options.metadata_parameters,
        busy_timeout_ms=options.busy_timeout,
        log=(log or QueryLog()).of_catalog(name),
    )
    try:
        return _open(db, url, name, options, may_create=may_create)
    except BaseException:
        db.close()
        raise


def _exists(url: CatalogUrl) -> bool:
    """Whether there is a database already; a server is taken to have it."""
    return url.kind not in ("duckdb", "sqlite") or Path(url.target).expanduser().exists()


def _is_time_travel(options: AttachOptions) -> bool:
    return options.snapshot_version is not None or options.snapshot_time is not None


def _open(
    db: Database, url: CatalogUrl, name: str, options: AttachOptions, *, may_create: bool
) -> Lake:
    is_new = not is_lake(db)
    if is_new:
        if not may_create:
            raise NotALake(
                f"There is no lake in {url}, and creating a new DuckLake is explicitly disabled.",
                hint="check the path, or attach without READ_ONLY and with "
                "CREATE_IF_NOT_EXISTS true to make one.",
            )
        _create(db, _data_path_for_new_lake(url, options))
    check_version(db)
    lake = Lake(
        name,
        db,
        "",
        read_only=options.read_only,
        inlining_row_limit=options.data_inlining_row_limit,
        metadata_catalog=options.metadata_catalog,
        is_new=is_new,
    )
    lake.data_path = _data_path(lake, options)
    if lake.settings().get("encrypted") == "true":
        raise NotSupported(
            f'Cannot attach "{name}": the lake is encrypted, which is not supported yet.',
            hint="read it with DuckDB.",
        )
    if _is_time_travel(options):
        lake.pinned = lake.snapshot_at(
            version=options.snapshot_version, timestamp=options.snapshot_time
        )
    return lake


def _create(db: Database, data_path: str) -> None:
    """Make a lake, or take the one that another connection makes at the same time."""
    if not any(_is_made(db, data_path) for _ in RetryPolicy().attempts()):
        create_lake(db, data_path)


def _is_made(db: Database, data_path: str) -> bool:
    try:
        with suppress(AlreadyExists):
            create_lake(db, data_path)
    except SnapshotTaken:  # the other has not committed yet
        return False
    return True


def _data_path_for_new_lake(url: CatalogUrl, options: AttachOptions) -> str:
    if options.data_path is not None:
        return normalize_data_path(options.data_path)
    if url.kind == "duckdb":
        # Absolute, as the extension stores it: the lake is found from every working directory.
        return normalize_data_path(f"{Path(url.target).expanduser().resolve()}.files")
    raise InvalidInput(
        f"Cannot create a lake in {url}: it needs a DATA_PATH for its files.",
        hint="ATTACH '…' AS lake (DATA_PATH 'folder/').",
    )


def _data_path(lake: Lake, options: AttachOptions) -> str:
    """The stored path, unless an override was asked for; the override is not stored."""
    stored = lake.settings().get("data_path") or ""
    if options.data_path is None:
        return stored
    given = normalize_data_path(options.data_path)
    if given == stored or options.override_data_path:
        return given
    raise InvalidInput(
        f'DATA_PATH "{given}" does not match existing data path in the catalog: the lake '
        f'"{lake.name}" has "{stored}".',
        hint="leave DATA_PATH out, or set OVERRIDE_DATA_PATH true to use it in this session.",
    )

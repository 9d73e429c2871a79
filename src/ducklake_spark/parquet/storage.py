"""Files by path or URL: create, list, remove, look. Driver and task."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyarrow import fs

from ducklake_spark.errors import DataFileError, MissingDataFile, NotSupported


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that is there."""

    path: str
    size: int
    modified: datetime | None


def create_file(path: str) -> Any:
    """Open a new file to write to, making the directories above it on a local disk."""
    store, inner = _locate(path)
    with _storage_errors("create", path):
        if isinstance(store, fs.LocalFileSystem):
            Path(inner).parent.mkdir(parents=True, exist_ok=True)
        return store.open_output_stream(inner)


@contextmanager
def open_file(path: str) -> Iterator[Any]:
    """Open a file to read any part of it."""
    store, inner = _locate(path)
    with _storage_errors("read", path), store.open_input_file(inner) as source:
        yield source


def remove_file(path: str) -> None:
    """Remove a file; it may be gone already."""
    store, inner = _locate(path)
    with _storage_errors("remove", path):
        try:
            store.delete_file(inner)
        except FileNotFoundError:
            return


def file_size(path: str) -> int | None:
    """How many bytes a file has, None when it is not there."""
    store, inner = _locate(path)
    with _storage_errors("look at", path):
        info = store.get_file_info(inner)
    return info.size if info.type == fs.FileType.File else None


def list_files(directory: str) -> list[StoredFile]:
    """All files below a directory, at any depth, by path; none when there is no directory."""
    store, inner = _locate(directory)
    prefix = directory[: directory.index(inner)] if "://" in directory else ""
    if prefix == "file://":
        prefix = ""
    with _storage_errors("list", directory):
        found = store.get_file_info(
            fs.FileSelector(inner.rstrip("/") or "/", recursive=True, allow_not_found=True)
        )
    files = (info for info in found if info.type == fs.FileType.File)
    return sorted(
        (StoredFile(prefix + info.path, info.size, info.mtime) for info in files),
        key=lambda file: file.path,
    )


def walk_files(directory: str) -> Iterator[StoredFile]:
    """The files below a directory, one directory after the other: memory stays bounded.

    On a local disk links to directories are not followed: they lead out of the directory.
    """
    store, inner = _locate(directory)
    prefix = directory[: directory.index(inner)] if "://" in directory else ""
    waiting = [inner.rstrip("/") or "/"]
    while waiting:
        here = waiting.pop()
        with _storage_errors("list", prefix + here):
            found = store.get_file_info(fs.FileSelector(here, allow_not_found=True))
        for info in sorted(found, key=lambda info: str(info.path)):
            if info.type == fs.FileType.File:
                yield StoredFile(prefix + info.path, info.size, info.mtime)
            elif info.type == fs.FileType.Directory and not _is_link(store, info.path):
                waiting.append(info.path)


def _is_link(store: Any, path: str) -> bool:
    return isinstance(store, fs.LocalFileSystem) and Path(path).is_symlink()


def remove_many(paths: Sequence[str], threads: int = 16) -> dict[str, DataFileError]:
    """Remove files, several at a time; they may be gone already. Returns what went wrong, by path.

    Once it is interrupted it starts no further removal.
    """

    def remove(path: str) -> DataFileError | None:
        try:
            remove_file(path)
        except DataFileError as error:
            return error
        return None

    if not paths:
        return {}
    with ThreadPoolExecutor(min(threads, len(paths))) as pool:
        outcomes = list(pool.map(remove, paths))
    return {path: error for path, error in zip(paths, outcomes, strict=True) if error}


def canonical_path(path: str, real: Callable[[str], str] = os.path.realpath) -> str:
    """One spelling for each file: links in local directories resolved, one scheme for S3.

    `real` resolves a local directory; give one with a memory where there are many files.

    >>> canonical_path("s3a://bucket/x")
    's3://bucket/x'
    """
    if path.startswith("file://"):
        path = path.removeprefix("file://")
    if "://" in path:
        scheme, _, rest = path.partition("://")
        return f"{'s3' if scheme in ('s3a', 's3n') else scheme}://{rest}"
    directory, _, name = path.rpartition("/")
    return f"{real(directory or '/').rstrip('/')}/{name}"


def _locate(path: str) -> tuple[Any, str]:
    """The filesystem of a path, and the path as that filesystem wants it."""
    if "://" not in path:
        return fs.LocalFileSystem(), path
    url = f"s3://{path.split('://', 1)[1]}" if path.startswith(("s3a://", "s3n://")) else path
    try:
        store, inner = fs.FileSystem.from_uri(url)
    except pa.ArrowInvalid as error:
        scheme = path.split("://", 1)[0]
        raise NotSupported(
            f'Cannot reach "{path}": there is no file system for {scheme}:// here.',
            hint="use a local path, s3://, gs://, abfss:// or hdfs://.",
        ) from error
    except OSError as error:
        raise DataFileError(f'Cannot reach "{path}": {_first_line(error)}') from error
    return store, inner


@contextmanager
def _storage_errors(action: str, path: str) -> Iterator[None]:
    try:
        yield
    except DataFileError:
        raise
    except FileNotFoundError as error:
        raise MissingDataFile(f'Cannot {action} "{path}": it does not exist.') from error
    except (OSError, pa.ArrowException) as error:
        raise storage_error(action, path, error) from error


def storage_error(action: str, path: str, error: Exception) -> DataFileError:
    """What a file system says of a file, in one sentence, and what can be done about it."""
    number = getattr(error, "errno", None)
    reason, hint = _REASONS.get(number or 0, (_first_line(error).rstrip("."), None))
    return DataFileError(f'Cannot {action} "{path}": {reason}.', hint=hint)


_ROOM: Final = "make room there; nothing was changed, so run the statement again then."
_RIGHTS: Final = "check the rights of the folder, or use another data path."
_REASONS: Final = {
    errno.ENOSPC: ("no space is left on its device", _ROOM),
    errno.EDQUOT: ("the disk quota is used up", _ROOM),
    errno.EFBIG: ("no file may be that large there", _ROOM),
    errno.EACCES: ("permission denied", _RIGHTS),
    errno.EPERM: ("permission denied", _RIGHTS),
    errno.EROFS: ("the file system is read-only", _RIGHTS),
}


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]

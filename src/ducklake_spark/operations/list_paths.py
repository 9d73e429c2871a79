"""Patterns of paths to the files that they match."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path

from ducklake_spark.errors import MissingDataFile
from ducklake_spark.model.paths import is_url, resolve
from ducklake_spark.parquet.storage import list_files

_MAGIC = re.compile(r"[*?\[]")


def find_paths(patterns: Sequence[str]) -> list[str]:
    """The files that patterns match, absolute, each once, sorted within a pattern. Driver.

    ``*`` and ``?`` stay within a folder, ``**`` matches any number of folders.

    Raises:
        MissingDataFile: a pattern matches nothing.
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        matches = _matches(pattern)
        if not matches:
            raise MissingDataFile(
                f'Failed to add data files: no files found that match the pattern "{pattern}".'
            )
        found.update(dict.fromkeys(matches))
    return list(found)


def _matches(pattern: str) -> list[str]:
    path = resolve(pattern)
    if is_url(path):
        return _remote_matches(path)
    if not _MAGIC.search(path):
        return [path] if Path(path).is_file() else []
    # A path that exists is meant as it is, brackets and all.
    if os.path.isfile(path):  # noqa: PTH113 - the text must stay as it is
        return [path]
    matches = glob.glob(path, recursive=True)  # noqa: PTH207 - thousands of Paths take seconds
    return sorted(match for match in matches if os.path.isfile(match))  # noqa: PTH113


def _remote_matches(pattern: str) -> list[str]:
    if not _MAGIC.search(pattern):
        return [pattern]
    fixed = _MAGIC.split(pattern, maxsplit=1)[0].rpartition("/")[0]
    wanted = re.compile(_to_regex(pattern))
    return [file.path for file in list_files(fixed) if wanted.fullmatch(file.path)]


def _to_regex(pattern: str) -> str:
    """A glob as a regular expression over the whole path.

    >>> bool(re.fullmatch(_to_regex("s3://b/**/*.parquet"), "s3://b/x/y/f.parquet"))
    True
    """
    parts = []
    for token in re.findall(r"\*\*/|\*\*|\*|\?|\[[^\]]*\]|[^*?\[]+|\[", pattern):
        match token:
            case "**/":
                parts.append("(?:.*/)?")
            case "**":
                parts.append(".*")
            case "*":
                parts.append("[^/]*")
            case "?":
                parts.append("[^/]")
            case _ if len(token) > 1 and token[0] == "[":
                parts.append(token.replace("[!", "[^", 1))
            case _:
                parts.append(re.escape(token))
    return "".join(parts)

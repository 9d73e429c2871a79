"""Values that stand in a file's path: ``.../year=2024/region=a%2Fb/file.parquet``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote

NULL_FOLDER: Final = "__HIVE_DEFAULT_PARTITION__"


def hive_folders(path: str) -> dict[str, str | None]:
    """The names and values of a path's folders, as they are written; None for NULL.

    >>> hive_folders("/d/Year=2024/r=a%2Fb/f.parquet")
    {'Year': '2024', 'r': 'a/b'}
    """
    found: dict[str, str | None] = {}
    for folder in path.split("/")[:-1]:
        name, equals, value = folder.partition("=")
        if equals and name:
            found[unquote(name)] = None if value == NULL_FOLDER else unquote(value)
    return found


def hive_values(path: str, names: Sequence[str]) -> tuple[str | None, ...]:
    """The text that each name has in the path; None for NULL or a name that is not there.

    >>> hive_values("/d/Year=2024/r=a%2Fb/f.parquet", ["year", "r"])
    ('2024', 'a/b')
    """
    if not names:
        return ()
    found = {name.lower(): value for name, value in hive_folders(path).items()}
    return tuple(found.get(name.lower()) for name in names)

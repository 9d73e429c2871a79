"""Where files are: paths relative to the data path, and how names become directories."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")


def path_for_name(name: str, uuid: str) -> str:
    """The directory of a schema or table: its name where that is plain, else its uuid.

    >>> path_for_name("orders", "u-1"), path_for_name("my orders", "u-1")
    ('orders/', 'u-1/')
    """
    return f"{name if _PLAIN.fullmatch(name) else uuid}/"


def is_url(path: str) -> bool:
    """Whether the path names a store (``s3://…``) and not a place on this machine.

    >>> is_url("s3://bucket/x"), is_url("/tmp/x")
    (True, False)
    """
    return "://" in path


def join(base: str, path: str, *, relative: bool) -> str:
    """`path` below `base` when it is relative, else itself.

    >>> join("data/", "main/", relative=True), join("data/", "/x/", relative=False)
    ('data/main/', '/x/')
    """
    return f"{base}{path}" if relative else path


def relative_to(base: str, path: str) -> tuple[str, bool]:
    """`path` below `base`, and whether it is there; else as it is.

    >>> relative_to("/data/", "/data/main/x"), relative_to("/data/", "/other/x")
    (('main/x', True), ('/other/x', False))
    """
    return (path[len(base) :], True) if path.startswith(base) else (path, False)


def resolve(path: str) -> str:
    """A path that every process understands: absolute, or a URL. A file URL becomes a path."""
    if path.startswith("file://"):
        return urlsplit(path).path
    if is_url(path):
        return path
    trailing = "/" if path.endswith(("/", os.sep)) else ""
    return os.path.abspath(path) + trailing  # noqa: PTH100 - a trailing separator must survive

"""Where a lake's metadata lives: the address that follows ATTACH, taken apart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import unquote

from ducklake_spark.errors import InvalidInput, NotSupported

DatabaseKind = Literal["duckdb", "sqlite", "postgres", "mysql"]

_PREFIXES: Final[dict[str, DatabaseKind]] = {
    "duckdb": "duckdb",
    "sqlite": "sqlite",
    "postgres": "postgres",
    "postgresql": "postgres",
    "mysql": "mysql",
}
_UNSERVED: Final = ("md", "motherduck", "quack")

_SECRET_KEY = re.compile(
    r"(?P<key>\b(?:ssl)?(?:password|passwd)\s*=\s*)"
    r"(?P<value>'(?:\\.|[^'\\])*'|(?:\\.|[^\s&'\\])+)",
    re.IGNORECASE,
)
_SECRET_IN_URI = re.compile(r"(?P<key>://[^:/?#@\s]*:)(?P<value>[^\s/]*)(?=@)")
_MASK: Final = "***"


@dataclass(frozen=True, slots=True, repr=False)
class CatalogUrl:
    """A metadata database: its kind, and a path or a connection string.

    The representation never shows a password. `str()` and `repr()` are safe to log.
    """

    kind: DatabaseKind
    target: str

    def __repr__(self) -> str:
        return f"CatalogUrl({self.kind!r}, {mask_password(self.target)!r})"

    def __str__(self) -> str:
        """The address as a user would write it, with passwords masked."""
        prefix = "" if self.kind == "duckdb" else f"{self.kind}:"
        return f"ducklake:{prefix}{mask_password(self.target)}"

    def mask(self, text: str) -> str:
        """Hide the passwords of this address wherever they stand in `text`."""
        for secret in _secrets_in(self.target):
            text = text.replace(secret, _MASK)
        return mask_password(text)


def parse_url(text: str) -> CatalogUrl:
    """Read the address of a lake.

    A bare name (``ducklake:shop``) is taken for the path of a DuckDB file; whether it names a
    secret is for the caller to find out first.

    Args:
        text: ``ducklake:path``, ``ducklake:sqlite:path``, ``ducklake:postgres:conninfo``
            (``postgresql:`` is the same) or ``ducklake:mysql:conninfo``.

    >>> parse_url("ducklake:sqlite:shop.db")
    CatalogUrl('sqlite', 'shop.db')
    """
    scheme, colon, rest = text.partition(":")
    if scheme.strip().lower() != "ducklake" or not colon:
        raise InvalidInput(
            f'"{mask_password(text)}" is not the address of a lake: it lacks "ducklake:" in front.',
            hint="write ducklake:path, ducklake:sqlite:path or ducklake:postgres:dbname=...",
        )
    prefix, colon, target = rest.partition(":")
    kind = _PREFIXES.get(prefix.strip().lower()) if colon else None
    if colon and prefix.strip().lower() in _UNSERVED:
        raise NotSupported(
            f'A lake in "{mask_password(rest)}" cannot be attached: '
            f"metadata databases of that kind are not served.",
            hint="DuckDB files, SQLite, PostgreSQL and MySQL are.",
        )
    if kind is None:
        kind, target = "duckdb", rest
    elif kind == "postgres" and target.startswith("//"):
        target = f"postgresql:{target}"
    if not target.strip():
        raise InvalidInput(
            f'"{text}" names no metadata database.',
            hint="add a path or a connection string after the colon.",
        )
    return CatalogUrl(kind, target)


def mask_password(text: str) -> str:
    """Replace the passwords of ``key=value`` strings and of URIs.

    >>> mask_password("dbname=shop password='it is' host=db")
    'dbname=shop password=*** host=db'
    >>> mask_password("postgresql://ada:lovelace@db/shop")
    'postgresql://ada:***@db/shop'
    """
    text = _SECRET_KEY.sub(rf"\g<key>{_MASK}", text)
    return _SECRET_IN_URI.sub(rf"\g<key>{_MASK}", text)


def _secrets_in(target: str) -> list[str]:
    """The passwords of a connection string as they may show up in a driver's message."""
    raw = [m["value"] for m in (*_SECRET_KEY.finditer(target), *_SECRET_IN_URI.finditer(target))]
    plain = [re.sub(r"\\(.)", r"\1", value.strip("'")) for value in raw]
    found = {*raw, *plain, *(unquote(value) for value in raw)}
    return sorted((secret for secret in found if secret), key=len, reverse=True)

"""The real DuckDB with the real `ducklake` extension: what tests compare with."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from support.lakes import LakeLocation

_EXTENSIONS = ("ducklake", "sqlite_scanner", "postgres_scanner")


@cache
def _install_extensions() -> None:
    from duckdb_extensions import import_extension

    for name in _EXTENSIONS:
        import_extension(name)


class Oracle:
    """A DuckDB session with a lake attached as `lake` and in use.

    Args:
        location: the lake; created if there is none.
        options: further options of ATTACH, such as ``ENCRYPTED=True``.
    """

    def __init__(self, location: LakeLocation, **options: Any) -> None:
        import duckdb

        _install_extensions()
        self.location = location
        self.connection = duckdb.connect(config={"threads": 2})
        for name in _EXTENSIONS:
            self.connection.execute(f"LOAD {name}")
        self.connection.execute("SET TimeZone = 'UTC'")
        # Without a network extension DuckDB has no other way to write encrypted files.
        self.connection.execute("SET force_mbedtls_unsafe = 'true'")
        self.attach(**options)

    def attach(self, **options: Any) -> None:
        """Attach the lake and use it."""
        given = {"data_path": self.location.data_path, **options}
        words = ", ".join(f"{key} {_literal(value)}" for key, value in given.items())
        self.connection.execute(f"ATTACH {_literal(self.location.uri)} AS lake ({words})")
        self.connection.execute("USE lake")

    def detach(self) -> None:
        """Let go of the lake, so that a DuckDB file can be opened elsewhere."""
        self.connection.execute("USE memory")
        self.connection.execute("DETACH lake")

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Run statements; the rows of the last one."""
        return self.connection.execute(text).fetchall()

    def close(self) -> None:
        """Detach and end the session."""
        try:
            self.detach()
        finally:
            self.connection.close()


def _literal(value: Any) -> str:
    if isinstance(value, bool | int):
        return str(value).lower()
    return "'" + str(value).replace("'", "''") + "'"

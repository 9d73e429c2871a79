"""CREATE SECRET, DROP SECRET, and ATTACH 'ducklake:name' with what a secret holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ducklake_spark.errors import (
    AlreadyExists,
    InvalidInput,
    NotFound,
    NotSupported,
    UnknownOption,
    did_you_mean,
)
from ducklake_spark.model.names import is_plain_name
from ducklake_spark.operations.describe import RowSet
from ducklake_spark.sql import statements as st

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

_NOTHING = RowSet(())
_DEFAULT: Final = "__default_"
_DATABASES: Final = ("postgres", "mysql")
_KEYS: Final = {
    "postgres": {"HOST": "host", "PORT": "port", "DATABASE": "dbname", "DBNAME": "dbname",
                 "USER": "user", "PASSWORD": "password", "PASSFILE": "passfile"},
    "mysql": {"HOST": "host", "PORT": "port", "DATABASE": "database", "USER": "user",
              "PASSWORD": "password"},
}  # fmt: skip


@dataclass(frozen=True, repr=False)
class Secret:
    """What CREATE SECRET was told. Its representation shows names of options, never values."""

    name: str
    type: str
    options: Mapping[str, Any]
    persistent: bool = False

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}=***" for key in sorted(self.options))
        return f"Secret({self.name!r}, {self.type!r}, {shown})"


def create_secret(con: Connection, s: st.CreateSecret) -> RowSet:
    """CREATE [OR REPLACE] SECRET: kept by the connection, and written nowhere."""
    options = dict(s.options)
    kind = str(options.pop("TYPE", "")).lower()
    if s.persistent:
        raise NotSupported(
            "CREATE PERSISTENT SECRET is not supported: secrets are never written to disk here.",
            hint="create the secret in each session.",
        )
    if kind not in ("ducklake", *_DATABASES):
        raise NotSupported(
            f'Secrets of type "{kind}" are not supported; ducklake, postgres and mysql are.',
            hint="give Spark the keys of an object store in its own settings (spark.hadoop.fs.…).",
        )
    if kind in _DATABASES and (wrong := set(options) - set(_KEYS[kind])):
        known = ", ".join(_KEYS[kind])
        raise UnknownOption(
            f'A secret of type {kind} has no option "{sorted(wrong)[0]}".', hint=f"it has {known}."
        )
    name = s.name or _DEFAULT + kind
    if name.lower() in con.secrets and not s.or_replace:
        if s.if_not_exists:
            return _NOTHING
        raise AlreadyExists(
            f'A secret with the name "{name}" exists already.', hint="write CREATE OR REPLACE."
        )
    con.secrets[name.lower()] = Secret(name, kind, options)
    return _NOTHING


def drop_secret(con: Connection, s: st.DropSecret) -> RowSet:
    """DROP SECRET [IF EXISTS] name."""
    if con.secrets.pop(s.name.lower(), None) is None and not s.if_exists:
        raise _missing(con, s.name)
    return _NOTHING


def list_secrets(con: Connection) -> RowSet:
    """duckdb_secrets(): names and kinds, with every value masked."""
    columns = (
        *(("name", "VARCHAR"), ("type", "VARCHAR"), ("provider", "VARCHAR")),
        *(("persistent", "BOOLEAN"), ("storage", "VARCHAR"), ("scope", "VARCHAR[]")),
        ("secret_string", "VARCHAR"),
    )
    rows: tuple[tuple[Any, ...], ...] = tuple(
        (s.name, s.type, "config", s.persistent, "memory", [], repr(s))
        for s in list(con.secrets.values())  # cursors share them
    )
    return RowSet(columns, rows)


def _missing(con: Connection, name: str) -> NotFound:
    hint = did_you_mean(name, [secret.name for secret in list(con.secrets.values())])
    return NotFound(f'Secret "{name}" was not found in this connection.', hint=hint)


def resolve_secret(
    con: Connection, uri: str, options: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Address and options of ATTACH, with those of the secret that it names put in.

    Options of ATTACH win over those of the secret. Passwords travel as parameters, not in the
    address.
    """
    target = uri.partition(":")[2]
    given = {key.upper(): value for key, value in options.items()}
    if not target:
        secret = con.secrets.get(_DEFAULT + "ducklake")
        if secret is None:
            raise InvalidInput(
                f"Cannot attach {uri!r}: Default secret was not found.",
                hint="CREATE SECRET (TYPE ducklake, METADATA_PATH '…', DATA_PATH '…').",
            )
    else:
        secret = con.secrets.get(target.lower()) if is_plain_name(target) else None
        if secret is None and is_plain_name(target) and not Path(target).exists():
            raise InvalidInput(
                f'Cannot attach {uri!r}: Secret "{target}" was not found.',
                hint="CREATE SECRET first; a file is told from a secret by a dot or a slash.",
            )
    if secret is not None and secret.type == "ducklake":
        given = {**secret.options, **given}
        target = str(given.pop("METADATA_PATH", ""))
    return _with_parameters(con, target, given)


def _with_parameters(
    con: Connection, target: str, options: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Take TYPE and SECRET out of the metadata parameters: they say which database, and how."""
    parameters = options.pop("METADATA_PARAMETERS", {})
    if not isinstance(parameters, Mapping):
        raise UnknownOption(
            f"METADATA_PARAMETERS takes a map such as MAP {{'KEY': 'value'}}, not {parameters!r}."
        )
    words = {str(key).upper(): value for key, value in parameters.items()}
    words.update(
        {key.removeprefix("META_"): options.pop(key) for key in list(options)
         if key.startswith("META_")}
    )  # fmt: skip
    kind = str(words.pop("TYPE", "")).lower()
    if kind and not target.lower().startswith(f"{kind}:"):
        target = target if kind == "duckdb" else f"{kind}:{target}"
    name = words.pop("SECRET", None)
    if name is not None:
        target, own = _database_secret(con, str(name), target)
        words = {**own, **words}
    if words:
        options["METADATA_PARAMETERS"] = {key.lower(): value for key, value in words.items()}
    return f"ducklake:{target}", options


def _database_secret(con: Connection, name: str, target: str) -> tuple[str, dict[str, Any]]:
    secret = con.secrets.get(name.lower())
    if secret is None:
        raise _missing(con, name)
    if secret.type not in _DATABASES:
        raise InvalidInput(
            f'The secret "{secret.name}" is of type {secret.type}, not of a database server.'
        )
    keys = _KEYS[secret.type]
    own = {keys[key]: str(value) for key, value in secret.options.items()}
    prefix, _, rest = target.partition(":")
    if not rest.strip():
        # The address must name something; what is no secret may stand in it.
        database = own.pop("dbname", None) or own.pop("database", None) or secret.type
        word = "dbname" if secret.type == "postgres" else "database"
        rest = f"{word}='{_escaped(database)}'"
    return f"{prefix or secret.type}:{rest}", own


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")

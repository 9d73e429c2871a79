"""A DuckDB in memory that holds empty tables with the schemas of what queries name.

DuckDB binds queries on it. It runs no query over rows, and can open neither file nor socket.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ducklake_spark.binder.versions import newer_settings
from ducklake_spark.caching import declare
from ducklake_spark.errors import InvalidInput, NotSupported, UnknownOption
from ducklake_spark.model.names import quote_identifier

RELATIONS: Final = "__ducklake_relations"
"""The catalog of what has no name in a lake: files, rows of functions, tables as they were."""

_MOST_OBJECTS: Final = 4_000
_CONFIG: Final = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
    "memory_limit": "512MB",
    "threads": "1",
}
MIRRORS: Final = declare(
    "mirrors of lakes",
    key="the settings that change what a query means: time zone, orders, division",
    depends_on="the objects in it, each of which is compared with the lake's whenever it is named",
    seen_by="connection",
    emptied="when it holds 4,000 objects",
    entries=4,
)
PLANS: Final = declare(
    "bound plans",
    key="the text that DuckDB binds, and the state of the mirror: its objects, the search path, "
    "variables if the text asks for some",
    depends_on="what is in the key",
    seen_by="connection",
    emptied="with the mirror",
    entries=256,
)
TEXTS: Final = declare(
    "texts for Spark",
    key="that of bound plans",
    depends_on="what is in the key; a text with the time or a random number in it is not kept, nor "
    "one with values from the catalog",
    seen_by="connection",
    emptied="with the mirror",
    entries=256,
)


@dataclass(frozen=True, slots=True)
class BindSettings:
    """Settings of DuckDB that change what a query means.

    Attributes:
        time_zone: None for that of the machine.
        others: those that were set.
    """

    time_zone: str | None = "UTC"
    others: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Typed:
    """A value that is cast to a type, as DuckDB writes it."""

    value: Any
    type: str


@dataclass(frozen=True, slots=True)
class Name:
    """Where an object of the mirror stands."""

    catalog: str
    schema: str
    name: str

    @property
    def folded(self) -> tuple[str, str, str]:
        """To compare with: DuckDB's names have no case."""
        return self.catalog.lower(), self.schema.lower(), self.name.lower()

    def __str__(self) -> str:
        return ".".join(map(quote_identifier, (self.catalog, self.schema, self.name)))


@dataclass(frozen=True, slots=True)
class MirrorTable:
    """An empty table: its columns with DuckDB's types."""

    name: Name
    columns: tuple[tuple[str, str], ...]

    @property
    def statement(self) -> str:
        """What creates it."""
        columns = ", ".join(f"{quote_identifier(name)} {kind}" for name, kind in self.columns)
        return f"CREATE TABLE {self.name} ({columns})"

    @property
    def kind(self) -> str:
        """The word of DROP."""
        return "TABLE"


@dataclass(frozen=True, slots=True)
class MirrorView:
    """A view: its query names other objects of the mirror in full."""

    name: Name
    query: str
    aliases: tuple[str, ...] = ()

    @property
    def statement(self) -> str:
        """What creates it."""
        aliases = ", ".join(map(quote_identifier, self.aliases))
        return f"CREATE VIEW {self.name}{f' ({aliases})' if aliases else ''} AS {self.query}"

    @property
    def kind(self) -> str:
        """The word of DROP."""
        return "VIEW"


@dataclass(frozen=True, slots=True)
class MirrorMacro:
    """A macro: its overloads as ``(parameters) AS [TABLE] body``."""

    name: Name
    overloads: tuple[str, ...]
    is_table: bool = False

    @property
    def statement(self) -> str:
        """What creates it."""
        return f"CREATE MACRO {self.name}{', '.join(self.overloads)}"

    @property
    def kind(self) -> str:
        """The word of DROP."""
        return "MACRO TABLE" if self.is_table else "MACRO"


Mirrored = MirrorTable | MirrorView | MirrorMacro
_Key = tuple[str, str, str, str]


class Mirror:
    """One DuckDB. Its owner lets one thread use it at a time."""

    def __init__(self, settings: BindSettings) -> None:
        self._db = _open(settings)
        zone = settings.time_zone or self.ask("SELECT current_setting('TimeZone')")[0][0]
        self.time_zone: str = zone
        self.settings = settings
        self._objects: dict[_Key, Mirrored] = {}
        self._places: set[tuple[str, ...]] = set()
        self._place: tuple[str, str] | None = None
        self._changes = 0
        self.plans = PLANS.make()
        self.texts = TEXTS.make()
        self._variables: dict[str, str] = {}
        self._make_place(RELATIONS, "main")

    def state(self, text: str) -> tuple[Hashable, ...]:
        """All that the meaning of a text depends on here."""
        variables = tuple(sorted(self._variables.items())) if "getvariable" in text.lower() else ()
        return self._changes, self._place, variables

    def ask(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a statement that this package has made."""
        rows: list[tuple[Any, ...]] = self._db.execute(statement, parameters or None).fetchall()
        return rows

    def relation(self, query: str) -> Any:
        """DuckDB's relation of a query, which is bound and not run: it has names and types."""
        return self._db.sql(query)

    def stand_at(self, place: tuple[str, str] | None) -> None:
        """Look bare names up in a schema of a lake, or in none."""
        if place == self._place:
            return
        if place is None:
            self._db.execute("USE memory.main")
        else:
            self._make_place(*place)
            self._db.execute("USE " + ".".join(map(quote_identifier, place)))
        self._place = place

    def know(self, variables: dict[str, Any]) -> None:
        """Have these variables, and no others."""
        for name in self._variables.keys() - variables.keys():
            self._db.execute(f"RESET VARIABLE {quote_identifier(name)}")
        for name, value in variables.items():
            if self._variables.get(name) != repr(value):
                self._set(name, value)
        self._variables = {name: repr(value) for name, value in variables.items()}

    def _set(self, name: str, value: Any) -> None:
        import duckdb

        typed = value if isinstance(value, Typed) else None
        given = "$1" if typed is None else f"CAST($1 AS {typed.type})"
        shown = value if typed is None else typed.value
        try:
            self._db.execute(f"SET VARIABLE {quote_identifier(name)} = {given}", [shown])
        except duckdb.Error as error:  # rows without names have no type that can be written
            kind = f" of type {typed.type}" if typed else ""
            raise NotSupported(f"A value{kind} cannot be kept in a variable.") from error

    def hold(self, objects: Iterable[Mirrored], macros: Iterable[str] = ()) -> None:
        """Have these objects, each of which comes after those it names, as they are now.

        `macros` are names that calls have, in lower case: what else has such a name goes.
        """
        wanted = {_key(each): each for each in objects}
        if len(self._objects) + len(wanted) > _MOST_OBJECTS:
            self._drop(list(self._objects))
        called = frozenset(macros)
        stale = [k for k in self._objects if "MACRO" in k[3] and k[2] in called and k not in wanted]
        self._drop(stale)
        for key, each in wanted.items():
            if self._objects.get(key) != each:
                self._make(key, each)

    def _make(self, key: _Key, each: Mirrored) -> None:
        same_place = [k for k in self._objects if k[:3] == key[:3] and _clash(k[3], key[3])]
        if same_place:
            # A view remembers the columns that what it names had when it was made.
            self._drop([*same_place, *(k for k in self._objects if k[3] == "VIEW")])
        self._make_place(each.name.catalog, each.name.schema)
        self._changes += 1
        self._create(each)
        self._objects[key] = each

    def _create(self, each: Mirrored) -> None:
        """Make an object; one that is not sound any more, such as a view of lost columns, fails."""
        import duckdb

        try:
            self._db.execute(each.statement)
        except duckdb.Error as error:
            words = str(error).split("\n\nLINE ", maxsplit=1)[0].strip()
            raise InvalidInput(f"The {each.kind} {each.name} cannot be used: {words}") from error

    def _drop(self, keys: Sequence[_Key]) -> None:
        for key in dict.fromkeys(keys):
            gone = self._objects.pop(key)
            self._changes += 1
            self._db.execute(f"DROP {gone.kind} {gone.name}")

    def _make_place(self, catalog: str, schema: str) -> None:
        self._make_catalog(catalog)
        place = (catalog.lower(), schema.lower())
        if place not in self._places and place[1] != "main":
            self._db.execute(
                f"CREATE SCHEMA {quote_identifier(catalog)}.{quote_identifier(schema)}"
            )
        self._places.add(place)

    def _make_catalog(self, catalog: str) -> None:
        folded = (catalog.lower(),)
        if folded not in self._places and folded[0] != "memory":
            self._db.execute(f"ATTACH ':memory:' AS {quote_identifier(catalog)}")
        self._places.add(folded)


def _key(each: Mirrored) -> _Key:
    return (*each.name.folded, each.kind)


def _clash(one: str, other: str) -> bool:
    """Whether objects of two kinds cannot have the same name."""
    return ("MACRO" in one) == ("MACRO" in other) and ("MACRO" not in one or one == other)


def _open(settings: BindSettings) -> Any:
    """A locked DuckDB, which opens nothing whatever a text tells it."""
    import duckdb

    db = duckdb.connect(":memory:", config={**_CONFIG, **newer_settings()})
    if settings.time_zone is not None:
        db.execute("SET TimeZone = $1", [settings.time_zone])
    try:
        for name, value in settings.others:
            db.execute(f"SET {name} = $1", [value])
    except duckdb.Error as error:
        raise UnknownOption(f"{name} cannot take the value {value!r}: {error}") from None
    db.execute("SET lock_configuration = true")
    return db

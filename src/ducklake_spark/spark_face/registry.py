"""Lakes that Spark sessions know by name: who they are, and which connection answers for them.

Each session of Spark has a catalog object of its own for each lake, made when the session first
names the lake; to each belongs a connection of ours. So the sessions of one application have
transactions of their own, as connections have, and the threads of one session share one.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pyspark.sql import SparkSession

from ducklake_spark.bridge.half import Bridge, bridge_of, java_session, session_of
from ducklake_spark.bridge.sessions import (
    builder_that,
    catalog_number,
    install_rules,
    set_everywhere,
)
from ducklake_spark.connection import Connection
from ducklake_spark.errors import InvalidInput, LakeNotFound
from ducklake_spark.spark.session import prepare_session

CATALOG_CLASS: Final = "ducklake.LakeCatalog"
_OWN_CLASSES: Final = "ducklake."
_REGISTERED: Final = "registered"


@dataclass(frozen=True)
class Named:
    """A lake under a name of a Spark session.

    Attributes:
        name: what the session calls it.
        con: the connection that answers for it, in which it has the same name.
        spark: the session.
    """

    name: str
    con: Connection
    spark: SparkSession


Wanted = tuple[str, str, Mapping[str, Any]]
"""The name of a lake, its URI and the options of ATTACH."""


@dataclass
class Registry:
    """All lakes that sessions of this process know by name."""

    _wanted: dict[int, Wanted] = field(default_factory=dict)  # by the number of a catalog
    _named: dict[int, Named] = field(default_factory=dict)  # those that are open
    _given: dict[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))
    _lock: Any = field(default_factory=threading.RLock)

    def remember(self, uri: str, options: Mapping[str, Any]) -> str:
        """Keep what was given to `register`: a password does not belong into Spark's settings."""
        with self._lock:
            key = str(next(self._numbers))
            self._given[key] = (uri, dict(options))
            return key

    def attach(self, name: str, options: Mapping[str, str], _session: Any) -> int:
        """Note a lake for a session's catalog, from the settings below spark.sql.catalog.<name>.

        It is opened by the first question: who asks that is the session that the catalog is of.
        """
        wanted = (name, *self._told(name, options))
        with self._lock:
            number: int = next(self._numbers)
            self._wanted[number] = wanted
            return number

    def _told(self, name: str, options: Mapping[str, str]) -> tuple[str, Mapping[str, Any]]:
        if (key := options.get(_REGISTERED)) is not None:
            return self._given[key]
        rest = {key: value for key, value in options.items() if key.lower() != "path"}
        uri = next((value for key, value in options.items() if key.lower() == "path"), None)
        if uri is None:
            raise InvalidInput(
                f'Cannot open the lake "{name}": spark.sql.catalog.{name}.path is not set.',
                hint="set it to where its catalog is, such as ducklake:shop.ducklake.",
            )
        return uri, rest

    def find(self, number: int, session: Any) -> Named:
        """The lake of a catalog object, which is of that session of the JVM."""
        found = self._named.get(number)
        if found is None:
            with self._lock:
                found = self._named.get(number) or self._open(number, session_of(session))
                self._named[number] = found
        return found

    def _open(self, number: int, spark: SparkSession) -> Named:
        name, uri, options = self._wanted[number]
        con = Connection(spark=spark)
        con.is_shared = True
        con.use(con.attach(uri, name, **options))
        return Named(name, con, con.spark)  # with the settings that it needs

    def replace(self, number: int, key: str, spark: SparkSession) -> None:
        """Let a catalog object that is in use be another lake from now on.

        Raises:
            InvalidInput: while a transaction is open on the lake that it was.
        """
        with self._lock:
            old, before = self._named.get(number), self._wanted[number]
            if old is not None and old.con.in_transaction:
                raise InvalidInput(
                    f'Cannot register another lake as "{old.name}": a transaction is open on it.',
                    hint="COMMIT or ROLLBACK first.",
                )
            self._wanted[number] = (before[0], *self._given[key])
            try:
                self._named[number] = self._open(number, spark)
            except BaseException:
                self._wanted[number] = before
                raise
        if old is not None:
            old.con.close()


registry: Final = Registry()


def register(spark: SparkSession, name: str, uri: str, **options: Any) -> None:
    """Let Spark know a lake by name: ``spark.sql("SELECT … FROM name.schema.table")``.

    Sessions made beside this one know it too. A name that is a lake's already becomes this lake
    for this session and for those that have not used the name yet.

    Args:
        spark: the session.
        name: what Spark is to call the lake.
        uri: ``ducklake:path``, ``ducklake:sqlite:path``, ``ducklake:postgres:…``.
        **options: the options of ATTACH in lower case, such as ``data_path``.

    >>> register(spark, "lake", "ducklake:shop.ducklake")  # doctest: +SKIP
    """
    install(spark)
    key = f"spark.sql.catalog.{name}"
    is_lake = str(spark.conf.get(key, "")).startswith(_OWN_CLASSES)
    known = catalog_number(spark, name) if is_lake else None
    told = registry.remember(uri, options)
    if known is not None:
        registry.replace(known, told, spark)
    set_everywhere(spark, {key: CATALOG_CLASS, f"{key}.{_REGISTERED}": told})
    install_rules(spark)  # which knows the best class for this Spark
    named(spark, name)  # a wrong path is told here, not in the first query


def named(spark: SparkSession, name: str) -> Named:
    """The lake that a session calls by that name."""
    number = catalog_number(spark, name)
    if number is None:
        raise LakeNotFound(
            f'"{name}" is not a lake that this Spark session knows by name.',
            hint=f'ducklake_spark.register(spark, "{name}", "ducklake:…")',
        )
    return registry.find(number, java_session(spark))


def install(spark: SparkSession) -> SparkSession:
    """Let a session, and those made beside it, know lakes by name.

    `register` and `configure` do it too. Lakes can then be named by configuration alone:
    ``spark.sql.catalog.lake=ducklake.LakeCatalog``, ``spark.sql.catalog.lake.path=ducklake:…``;
    and ``format("ducklake")`` is native, where Spark else finds a slower source.
    """
    prepare_session(spark)
    prepare(spark)
    return spark


def prepare(spark: SparkSession) -> Bridge:
    """Let a session ask about lakes by name and by format."""
    from ducklake_spark.spark_face import formats, names, streams

    bridge = bridge_of(spark)
    for known in (names.answers(registry), formats.answers(), streams.answers()):
        for name, answer in known.items():
            bridge.answers.add(name, answer)
    install_rules(spark)
    return bridge


def configure(builder: SparkSession.Builder) -> SparkSession.Builder:
    """A builder with the same settings, whose sessions know lakes by name.

    >>> spark = configure(SparkSession.builder).getOrCreate()  # doctest: +SKIP
    """
    return builder_that(builder, install)

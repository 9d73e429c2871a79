"""Connections for lakes that are named by where they are, or by what Spark calls them. Driver."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

from ducklake_spark.bridge.sessions import session_id
from ducklake_spark.connection import Connection
from ducklake_spark.errors import InvalidInput
from ducklake_spark.spark_face.asked import Asked
from ducklake_spark.spark_face.registry import Named, named

_KEPT: Final = 16
"""Connections that are kept for the next read or write of the same lake in the same session."""

_Key = tuple[str, str, tuple[tuple[str, str], ...]]
_opened: OrderedDict[_Key, Named] = OrderedDict()
_opening = threading.Lock()


def open_shared(spark: SparkSession, asked: Asked) -> Named:
    """The lake through a connection that reads of one session share.

    DataFrames ask it for their files when they run. So one that is let go of because many others
    have come is not closed here: it goes when the last frame of it has gone.
    """
    if asked.catalog is not None:
        return named(spark, asked.catalog)
    key = (session_id(spark), str(asked.lake), tuple(sorted(asked.attach.items())))
    with _opening:
        found = _opened.get(key)
        if found is None:
            found = _opened[key] = open_own(spark, asked)
        _opened.move_to_end(key)
        while len(_opened) > _KEPT:
            _opened.popitem(last=False)
        return found


def open_own(spark: SparkSession, asked: Asked) -> Named:
    """The lake through a new connection, with a transaction of its own; the caller closes it."""
    if asked.catalog is not None:
        known = named(spark, asked.catalog)
        con = Connection(spark=spark)
        con.attach_all_of(known.con)
        return Named(known.name, con, con.spark)
    con = Connection(spark=spark)
    con.is_shared = True
    name = con.attach(str(asked.lake), **asked.attach)
    con.use(name)
    return Named(name, con, con.spark)


@contextmanager
def open_to_write(spark: SparkSession, asked: Asked) -> Iterator[Named]:
    """The lake for one write, of which threads of a session may do several at a time.

    A lake that Spark knows by name is written by the connection that it has in the session, whose
    transaction may be open.
    """
    if asked.catalog is not None:
        yield named(spark, asked.catalog)
        return
    lake = open_own(spark, asked)
    try:
        yield lake
    finally:
        lake.con.close()


def moment_micros(spark: SparkSession, text: str) -> int:
    """Microseconds since 1970 of a text, as Spark reads it: in the time zone of the session."""
    query = "SELECT unix_micros(try_cast(:moment AS TIMESTAMP))"
    micros = spark.sql(query, args={"moment": text}).head()
    if micros is None or micros[0] is None:
        raise InvalidInput(f'"{text}" is not a timestamp.', hint="such as 2025-03-01 09:30:00.")
    return int(micros[0])

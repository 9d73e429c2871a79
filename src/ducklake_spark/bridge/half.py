"""The Python half of the bridge: one for each driver JVM. Driver."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from ducklake_spark.bridge.callbacks import Answers, Callback, Guard, start_callbacks
from ducklake_spark.bridge.compiler import load_bridge, unknown_spark
from ducklake_spark.caching import Cache, declare
from ducklake_spark.errors import NotSupported
from ducklake_spark.limits import limits

_KEPT: Final = declare(
    "objects of the JVM",
    key="what is made, and all that it is made from: columns with their types and defaults, names, "
    "texts of expressions",
    depends_on="its key: the objects are expressions over names, which Spark resolves anew in each "
    "frame, with the settings of the frame's session",
    seen_by="process",
    emptied="with the gateway to the JVM",
    entries=lambda: limits().kept_jvm_objects,
)


class Bridge:
    """The JVM's half, and what Python keeps of the JVM.

    Attributes:
        java: the JVM's `ducklake.Bridge`.
        answers: who answers the questions that the JVM asks by name.
    """

    def __init__(self, spark: SparkSession, gateway: Any) -> None:
        start_callbacks(gateway)
        self.java = load_bridge(spark, gateway)
        self.answers = Answers()
        self._gateway = gateway
        self._guard = Guard(self.java)
        self._kept: Cache[Hashable, Any] = _KEPT.make()
        self.java.connect(self.callback(self.answers.give))
        self._test(spark)

    def _test(self, spark: SparkSession) -> None:
        """Try the whole way once: an unknown Spark is told at the first use, not in a query."""
        self.answers.add("test", lambda word, _: f"{word}!")
        try:
            answer = str(self.java.test(java_session(spark)))
        except Py4JError as error:
            java = getattr(error, "java_exception", None)
            reason = str(java.toString() if java is not None else error).splitlines()[0]
            raise unknown_spark(spark, reason) from error
        if answer != "ok":
            raise unknown_spark(spark, answer)

    def callback(self, function: Callable[[str, Any], Any]) -> Callback:
        """A function of Python that the JVM can call; errors come back as they were."""
        return Callback(self._guard, function)

    @functools.cached_property
    def _converters(self) -> Any:
        return self._gateway.jvm.scala.jdk.javaapi.CollectionConverters

    def seq(self, values: Iterable[Any]) -> Any:
        """A Scala Seq of these objects of the JVM."""
        java = self._gateway.jvm.java.util.ArrayList()
        for value in values:
            java.add(value)
        return self._converters.asScala(java).toSeq()

    def kept(self, key: Hashable, build: Callable[[], Any]) -> Any:
        """An object that `build` makes, or has made lately for the same key."""
        return self._kept.find(key, build)


def bridge_of(spark: SparkSession) -> Bridge:
    """The bridge to a session's driver; a session without a JVM (Spark Connect) is refused."""
    gateway = spark.sparkContext._gateway if is_classic(spark) else None
    if gateway is None:
        raise NotSupported(
            "Cannot scan a lake through this Spark session: it has no JVM in this process.",
            hint="use a session that is not Spark Connect.",
        )
    return _bridge(gateway, spark)


def active_bridge() -> Bridge:
    """The bridge of the running SparkContext, where no session is at hand."""
    return known_bridge() or bridge_of(SparkSession.builder.getOrCreate())


def known_bridge() -> Bridge | None:
    """The bridge of the running SparkContext if somebody has asked for it."""
    context: Any = SparkContext._active_spark_context
    return _bridges.get(id(context._gateway)) if context is not None else None


def is_spark_running() -> bool:
    """Whether this process has a SparkContext."""
    return SparkContext._active_spark_context is not None


def is_classic(spark: SparkSession) -> bool:
    """Whether the session has its driver in this process, other than one of Spark Connect."""
    return hasattr(spark, "_jsparkSession")


def java_session(spark: SparkSession) -> Any:
    """The JVM's session."""
    return spark._jsparkSession


def session_key(spark: SparkSession) -> str:
    """What tells a session from others, and from itself with other settings."""
    return str(bridge_of(spark).java.sessionKey(java_session(spark)))


def session_of(java: Any) -> SparkSession:
    """The Python session for one of the JVM."""
    context: Any = SparkContext._active_spark_context
    return SparkSession(context, java)


def at_start(do: Callable[[SparkSession], object]) -> None:
    """From now on, call this when a bridge has been built, with the session that asked for it."""
    _starters.append(do)


_starters: list[Callable[[SparkSession], object]] = []
# Not a cache but what a gateway is for us: its callbacks are set up, and frames hold on to it.
_bridges: dict[int, Bridge] = {}
_building = threading.Lock()


def _bridge(gateway: Any, spark: SparkSession) -> Bridge:
    found, built = _bridges.get(id(gateway)), False
    if found is None or found._gateway is not gateway:
        with _building:
            found = _bridges.get(id(gateway))
            if found is None or found._gateway is not gateway:
                found = Bridge(spark, gateway)
                _bridges.clear()  # a process has one gateway at a time
                _bridges[id(gateway)] = found
                built = True
    if built:  # who starts asks for the bridge, so it has to be there
        for do in _starters:
            do(spark)
    return found

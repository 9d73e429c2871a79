"""The Py4J corners: Scala values, Spark's Jackson, and errors that cross from Python to the JVM.

Everything here runs on the driver.
"""

from __future__ import annotations

import functools
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Final, Literal, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import StructType

from ducklake_spark.errors import DuckLakeError, InvalidInput, NotSupported, SparkFailure

_Result = TypeVar("_Result")
_REMEMBERED_ERRORS: Final = 64
_KEPT_OBJECTS: Final = 512


class Jvm:
    """One gateway to a Spark driver: the few things that the scan asks of it.

    Args:
        gateway: the Py4J gateway of the running SparkContext.
    """

    def __init__(self, gateway: Any) -> None:
        self.gateway = gateway
        self.root = gateway.jvm
        self._maps: dict[tuple[tuple[str, str], ...], Any] = {}
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._keeping = threading.Lock()
        ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
        # Without this a Python error reaches the JVM as the text of a Python traceback.
        gateway.callback_server_parameters.propagate_java_exceptions = True
        _silence_py4j()

    @functools.cached_property
    def none(self) -> Any:
        """Scala's None."""
        return scala_object(self.root.scala, "None")

    # Every dot of a path into the JVM is a call of its own: what a scan needs each time is kept.

    @functools.cached_property
    def nil(self) -> Any:
        """Scala's empty list."""
        return scala_object(self.root.scala.collection.immutable, "Nil")

    @functools.cached_property
    def _array_seq(self) -> Any:
        return scala_object(self.root.scala.collection.immutable, "ArraySeq")

    @functools.cached_property
    def _converters(self) -> Any:
        return self.root.scala.jdk.javaapi.CollectionConverters

    @functools.cached_property
    def _sql_conf(self) -> Any:
        return self.root.org.apache.spark.sql.internal.SQLConf

    @functools.cached_property
    def _directories_class(self) -> Any:
        name = "org.apache.spark.sql.execution.datasources.PartitionDirectory"
        return self.class_named(f"[L{name};")

    def directories(self, text: str) -> Any:
        """The files of a relation, from JSON, as the Seq of directories that Spark wants."""
        return self._array_seq.unsafeWrapArray(self.mapper.readValue(text, self._directories_class))

    @functools.cached_property
    def mapper(self) -> Any:
        """Spark's own Jackson, taught to build the rows and files of a relation in one call."""
        jackson = self.root.com.fasterxml.jackson
        mapper = jackson.databind.ObjectMapper()
        mapper.registerModule(scala_object(jackson.module.scala, "DefaultScalaModule"))
        access = jackson.annotation.PropertyAccessor
        visibility = jackson.annotation.JsonAutoDetect.Visibility
        mapper.setVisibility(access.FIELD, visibility.ANY)
        mapper.setVisibility(access.SETTER, visibility.NONE)
        # The constants of a file are BIGINT, and Spark unboxes them as such.
        mapper.configure(jackson.databind.DeserializationFeature.USE_LONG_FOR_INTS, True)
        rows = jackson.databind.module.SimpleModule("rows")
        catalyst = "org.apache.spark.sql.catalyst"
        rows.addAbstractTypeMapping(
            self.class_named(f"{catalyst}.InternalRow"),
            self.class_named(f"{catalyst}.expressions.GenericInternalRow"),
        )
        mapper.registerModule(rows)
        return mapper

    @functools.cached_property
    def _value_mapper(self) -> Any:
        """Jackson for values in Catalyst's internal form."""
        jackson = self.root.com.fasterxml.jackson
        values = jackson.databind.module.SimpleModule("values")
        for name in (
            "org.apache.spark.unsafe.types.UTF8String",
            "org.apache.spark.sql.types.Decimal",
        ):
            kind = self.class_named(name)
            values.addSerializer(kind, jackson.databind.ser.std.ToStringSerializer(kind))
        mapper = jackson.databind.ObjectMapper()
        mapper.registerModule(values)
        return mapper

    @functools.cached_property
    def _coalesce(self) -> Any:
        return self.root.org.apache.spark.sql.catalyst.expressions.Coalesce

    def as_one(self, expressions: Any) -> tuple[Any, str]:
        """A Seq of expressions as the children of a single one, and that one's JSON.

        Two calls, however many there are: asked one by one, they took most of a scan's planning.
        """
        parent = self._coalesce(expressions)
        return parent, str(parent.toJSON())

    def set_values(self, expression: Any, path: tuple[int, ...]) -> str:
        """The values of the InSet found along `path`, as a JSON list: toJSON() leaves them out."""
        for ordinal in path:
            expression = expression.children().apply(ordinal)
        values = self._converters.asJava(expression.hset())
        return str(self._value_mapper.writeValueAsString(values))

    def session_time_zone(self) -> str:
        """The zone in which this thread's session renders TIMESTAMP literals."""
        return str(self._sql_conf.get().sessionLocalTimeZone())

    def class_named(self, name: str) -> Any:
        """The java.lang.Class of that name, by the loader that Spark itself uses."""
        return self.root.java.lang.Class.forName(name)

    @functools.cached_property
    def datasources(self) -> Any:
        """The package of Spark's file sources."""
        return self.root.org.apache.spark.sql.execution.datasources

    @functools.cached_property
    def _datasets(self) -> Any:
        return scala_object(self.root.org.apache.spark.sql.classic, "Dataset")

    @functools.cached_property
    def expressions(self) -> Any:
        """The package of Catalyst's expressions."""
        return self.root.org.apache.spark.sql.catalyst.expressions

    @functools.cached_property
    def expression_utils(self) -> Any:
        """Columns to expressions and back."""
        return self.root.org.apache.spark.sql.classic.ExpressionUtils

    def object_type(self, name: str) -> Any:
        """The type of expressions whose values are objects of that class."""

        def build() -> Any:
            return self.root.org.apache.spark.sql.types.ObjectType(self.class_named(name))

        return self.kept(("object", name), build)

    @functools.cached_property
    def boolean_type(self) -> Any:
        """BOOLEAN."""
        return self.root.org.apache.spark.sql.types.DataType.fromDDL("boolean")

    @functools.cached_property
    def bit_sets(self) -> Any:
        """The class java.util.BitSet."""
        return self.root.java.util.BitSet

    @functools.cached_property
    def literal(self) -> Any:
        """The class of constants in expressions."""
        return self.expressions.Literal

    @functools.cached_property
    def invoke(self) -> Any:
        """The class of expressions that call a method of an object."""
        return self.expressions.objects.Invoke

    def frame(self, java_session: Any, logical_plan: Any) -> Any:
        """The JVM's DataFrame of a logical plan."""
        return self._datasets.ofRows(java_session, logical_plan)

    def scala_map(self, entries: Mapping[str, str]) -> Any:
        """An immutable Scala map; one of the same entries is made once."""
        key = tuple(entries.items())
        if key not in self._maps:
            java = self.root.java.util.HashMap()
            for name, value in key:
                java.put(name, value)
            self._maps[key] = self.root.org.apache.spark.api.python.PythonUtils.toScalaMap(java)
        return self._maps[key]

    def kept(self, key: Hashable, build: Callable[[], Any]) -> Any:
        """An object that `build` makes, or has made lately for the same key."""
        with self._keeping:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = build()
        with self._keeping:
            self._kept[key] = made
            while len(self._kept) > _KEPT_OBJECTS:
                self._kept.popitem(last=False)
        return made

    def items(self, seq: Any) -> Iterable[Any]:
        """The elements of a Scala Seq."""
        # Not by an iterator: PySpark spends 30 ms on the JVM's exception at its end.
        java = self._converters.asJava(seq)
        return [java.get(index) for index in range(java.size())]

    def seq(self, values: Iterable[Any]) -> Any:
        """A Scala Seq of these objects of the JVM."""
        java = self.root.java.util.ArrayList()
        for value in values:
            java.add(value)
        return self._converters.asScala(java).toSeq()

    def throw(self, error: Exception) -> Py4JJavaError:
        """The exception to raise from a callback so that PySpark shows just `error`'s own text."""
        known = error if isinstance(error, DuckLakeError) else _unexpected(error)
        remember_error(known)
        lang = self.root.java.lang
        java = (
            lang.UnsupportedOperationException(str(known))
            if isinstance(known, NotSupported)
            else lang.IllegalArgumentException(str(known))
        )
        return Py4JJavaError(str(known), java)


def scala_object(package: Any, name: str) -> Any:
    """The singleton of a Scala `object`."""
    return getattr(getattr(package, f"{name}$"), "MODULE$")


def jvm_of(spark: SparkSession) -> Jvm:
    """The gateway of a session; a session without one (Spark Connect) is refused."""
    gateway = getattr(spark.sparkContext, "_gateway", None) if _is_classic(spark) else None
    if gateway is None:
        raise NotSupported(
            "Cannot scan a lake through this Spark session: it has no JVM in this process.",
            hint="use a session that is not Spark Connect.",
        )
    return _jvm_of_gateway(gateway)


def _is_classic(spark: SparkSession) -> bool:
    return hasattr(spark, "_jsparkSession")


@functools.lru_cache(maxsize=2)
def _jvm_of_gateway(gateway: Any) -> Jvm:
    return Jvm(gateway)


def java_type(spark: SparkSession, schema: StructType) -> Any:
    """A Spark schema as the JVM's object, metadata of its fields included."""
    return _java_session(spark).parseDataType(schema.json())


def frame_of(spark: SparkSession, logical_plan: Any) -> DataFrame:
    """The DataFrame of a logical plan."""
    return _frame_in(_java_session(spark), spark, logical_plan)


def with_settings(frame: DataFrame, settings: Mapping[str, str]) -> DataFrame:
    """The same frame, which runs with settings of its own; the session's stay as they are."""
    spark: SparkSession = frame.sparkSession
    session = _java_session(spark).cloneSession()
    for name, value in settings.items():
        session.conf().set(name, value)
    return _frame_in(session, spark, frame._jdf.queryExecution().analyzed())


def _frame_in(java_session: Any, spark: SparkSession, logical_plan: Any) -> DataFrame:
    return DataFrame(jvm_of(spark).frame(java_session, logical_plan), spark)


def unscaled_value(column: Column) -> Column:
    """The 64-bit integer behind a decimal of at most 18 digits: what Spark itself keeps of it."""
    return _applied(column, lambda jvm, value: jvm.expressions.UnscaledValue(value))


def murmur3_with_seed_0(column: Column) -> Column:
    """Spark's own murmur3 as a signed 32-bit integer; its function `hash` has another seed."""
    return _applied(column, lambda jvm, value: jvm.expressions.Murmur3Hash(jvm.seq([value]), 0))


def micros_of(column: Column, kind: Literal["timestamp", "timestamp_ntz"]) -> Column:
    """The microseconds since 1970 that Spark keeps of a timestamp: no time zone comes in."""

    def convert(jvm: Jvm, value: Any) -> Any:
        parse = jvm.root.org.apache.spark.sql.types.DataType.fromDDL
        return jvm.expressions.PreciseTimestampConversion(value, parse(kind), parse("bigint"))

    return _applied(column, convert)


def known_not_null(column: Column) -> Column:
    """The same values; that they are never NULL is taken for granted.

    Spark does not see through it: a comparison with a constant puts the constant nowhere else.
    """
    return _applied(column, lambda jvm, value: jvm.expressions.KnownNotNull(value))


def has_bit(spark: SparkSession, bits: bytes, index: Column) -> Column:
    """Whether the bit of a number is set, the lowest of a byte being its first.

    The bits are broadcast as a java.util.BitSet: a look into memory, where a join would need a
    job. Plans show the broadcast by its number.
    """
    jvm = jvm_of(spark)
    context: Any = spark.sparkContext._jsc
    sent = context.broadcast(jvm.bit_sets.valueOf(bits))
    literal = jvm.literal(sent, jvm.object_type("org.apache.spark.broadcast.Broadcast"))
    # No types to cast arguments to; NULL gives NULL; the method gives none; it is deterministic.
    rest = (jvm.nil, True, False, True)
    bit_set = jvm.invoke(literal, "value", jvm.object_type("java.util.BitSet"), jvm.nil, *rest)
    boolean = jvm.boolean_type
    return _applied(index, lambda _, at: jvm.invoke(bit_set, "get", boolean, jvm.seq([at]), *rest))


def _applied(column: Column, build: Callable[[Jvm, Any], Any]) -> Column:
    """A column made of an expression of Catalyst that has no function of its own."""
    context: Any = SparkContext._active_spark_context
    jvm = _jvm_of_gateway(context._gateway)
    utils = jvm.expression_utils
    java: Any = column
    make: Any = Column
    made: Column = make(utils.column(build(jvm, utils.expression(java._jc))))
    return made


def _java_session(spark: SparkSession) -> Any:
    return spark._jsparkSession


_raised: OrderedDict[str, DuckLakeError] = OrderedDict()


def remember_error(error: DuckLakeError) -> None:
    """Keep an error that goes through the JVM, for `original_error`."""
    _raised[str(error)] = error
    while len(_raised) > _REMEMBERED_ERRORS:
        _raised.popitem(last=False)


def original_error(exception: BaseException) -> DuckLakeError | None:
    """The error of ours that an exception of PySpark carries, or None.

    Errors raised while Spark asks for files come back as PySpark exceptions whose text is ours;
    this gives the very object, so that callers may raise it again.
    """
    if isinstance(exception, DuckLakeError):
        return exception
    text = getattr(exception, "desc", None) or getattr(exception, "_desc", None) or str(exception)
    return remembered_error(text)


def remembered_error(text: str) -> DuckLakeError | None:
    """The error of ours with that text that went through the JVM lately, or None."""
    return _raised.get(text)


def _unexpected(error: Exception) -> DuckLakeError:
    failure = SparkFailure(f"Cannot choose the files of a scan: {type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure


def guarded(
    method: Callable[..., _Result],
) -> Callable[..., _Result]:
    """Make a callback's errors readable on the other side; the object must have a `jvm`."""

    @functools.wraps(method)
    def call(self: Any, *args: Any) -> _Result:
        try:
            return method(self, *args)
        except Exception as error:
            raise self.jvm.throw(error) from error

    return call


class _OurErrorsOnly(logging.Filter):
    """Drops py4j's log of an error that we hand to the user anyway."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return not (isinstance(error, Py4JJavaError) and isinstance(error.__cause__, Exception))


def _silence_py4j() -> None:
    for name in ("py4j.clientserver", "py4j.java_gateway"):
        logger = logging.getLogger(name)
        if not any(isinstance(known, _OurErrorsOnly) for known in logger.filters):
            logger.addFilter(_OurErrorsOnly())


def check_conf(spark: SparkSession, required: dict[str, str]) -> None:
    """Raise when a session setting that the scan depends on is off."""
    for key, reason in required.items():
        if str(spark.conf.get(key)).lower() != "true":
            raise InvalidInput(
                f"Cannot read the lake: {key} is off in this Spark session, and {reason}.",
                hint=f'spark.conf.set("{key}", "true")',
            )

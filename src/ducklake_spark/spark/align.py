"""Give a DataFrame the columns of a table: order, types, defaults. Values never change silently."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ducklake_spark.bridge.frames import rename, select
from ducklake_spark.errors import ColumnMismatch, InvalidValue
from ducklake_spark.model.names import quote_for_spark
from ducklake_spark.model.schema import Column as TableColumn
from ducklake_spark.model.schema import Schema
from ducklake_spark.model.types import DataType, DecimalType, ScalarType, format_sql_type
from ducklake_spark.spark.carriers import carrier_type
from ducklake_spark.spark.failures import refuse_value

_INTEGRAL = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
_FRACTIONAL = (T.FloatType, T.DoubleType, T.DecimalType)


def align_by_position(
    df: DataFrame,
    schema: Schema,
    targets: Sequence[TableColumn],
    default: Callable[[TableColumn], str],
    *,
    table: str,
    kept: Sequence[str] = (),
) -> DataFrame:
    """The n-th column of `df` becomes the n-th of `targets`; others take their default.

    `default` gives the Spark SQL of a default. `kept` names columns behind those of `targets` that
    stay behind the table's as they are.
    """
    given = len(df.columns) - len(kept)
    if given != len(targets):
        raise ColumnMismatch(
            f'Table "{table}" has {len(targets)} columns to fill, but {given} values were given.',
            hint="name the columns: INSERT INTO t (a, b) …",
        )
    # Positions get names of their own: a query may give two columns the same name.
    renamed = rename(df, [*(f"_c{i}" for i in range(len(targets))), *kept])
    kinds = [field.dataType for field in renamed.schema.fields]
    sources = {t.column_id: (f"_c{i}", kinds[i]) for i, t in enumerate(targets)}
    return _select(renamed, schema, sources, default, kept)


def align_by_name(
    df: DataFrame, schema: Schema, default: Callable[[TableColumn], str], *, table: str
) -> DataFrame:
    """Columns are matched by name, whatever their case; those not given take their default."""
    sources: dict[int, tuple[str, T.DataType]] = {}
    for field in df.schema.fields:
        target = schema.get(field.name, table=table)
        if target.column_id in sources:
            raise ColumnMismatch(f'Column "{field.name}" is given twice for table "{table}".')
        sources[target.column_id] = (quote_for_spark(field.name), field.dataType)
    return _select(df, schema, sources, default)


def _select(
    df: DataFrame,
    schema: Schema,
    sources: Mapping[int, tuple[str, T.DataType]],
    default: Callable[[TableColumn], str],
    kept: Sequence[str] = (),
) -> DataFrame:
    texts = {c.column_id: default(c) for c in schema.columns if c.column_id not in sources}

    def build() -> Iterator[Column]:
        for column in schema.columns:
            if column.column_id in sources:
                source, kind = sources[column.column_id]
                value = convert(F.col(source), kind, column.type, where=column.name)
            else:
                value = F.expr(texts[column.column_id])
            yield value.alias(column.name)
        yield from map(F.col, kept)

    key = ("align", schema, *sources.items(), *texts.items(), *kept)
    return select(df, key, build)


def drop_equal_rows(df: DataFrame, keys: Sequence[str]) -> DataFrame:
    """One of the rows that are equal in everything; rows with equal keys only are all kept."""
    mark = "__ducklake_mark"
    values = [
        F.to_json(F.struct(column)) if "map<" in field.dataType.simpleString() else column
        for field, column in ((f, F.col(quote_for_spark(f.name))) for f in df.schema.fields)
    ]
    # Rows are told apart by a hash: Spark would make 0.0 of -0.0 in columns that it groups by.
    return df.withColumn(mark, F.xxhash64(*values)).dropDuplicates([*keys, mark]).drop(mark)


def convert(value: Column, source: T.DataType, target: DataType, *, where: str) -> Column:
    """`value` as the carrier of `target`, by the rules that DuckDB has for an assignment."""
    carrier = carrier_type(target)
    if source == carrier:
        return value
    if isinstance(source, T.StructType) and isinstance(carrier, T.StructType):
        return _convert_struct(value, source, target, where=where)
    if isinstance(source, T.ArrayType) and isinstance(carrier, T.ArrayType):
        element = target.element  # type: ignore[union-attr]
        return F.transform(value, lambda x: convert(x, source.elementType, element, where=where))
    if isinstance(source, T.MapType) and isinstance(carrier, T.MapType):
        return _convert_map(value, source, target, where=where)
    nested = (T.StructType, T.ArrayType, T.MapType)
    if isinstance(source, nested) or isinstance(carrier, nested):
        if isinstance(source, T.NullType):
            return value.cast(carrier)
        raise InvalidValue(
            f'Column "{where}" is {carrier.simpleString()} and cannot take a value of type '
            f"{source.simpleString()}."
        )
    return _convert_scalar(value, source, target, carrier, where=where)


def _convert_scalar(
    value: Column, source: T.DataType, target: DataType, carrier: T.DataType, *, where: str
) -> Column:
    _check_assignable(source, target, where)
    if isinstance(source, T.TimestampType) and isinstance(carrier, T.StringType):
        return _moment_text(value)
    if isinstance(carrier, T.FloatType) and not isinstance(source, T.FloatType):
        return _to_float32(value, where)
    if isinstance(source, _FRACTIONAL) and _is_integral(carrier) and not _is_decimal(target):
        # DuckDB rounds where Spark would cut; half goes to the even neighbour for doubles only.
        rounded = F.round(value, 0) if isinstance(source, T.DecimalType) else F.rint(value)
        return rounded.cast(carrier)
    if isinstance(source, (T.FloatType, T.DoubleType)) and isinstance(carrier, T.DecimalType):
        return _double_to_decimal(value, carrier, where)
    if isinstance(source, (T.FloatType, T.DoubleType)) and isinstance(carrier, T.StringType):
        return _float_text(value, where)
    if isinstance(source, T.StringType) and target == ScalarType("blob"):
        return _text_to_blob(value, where)
    if target == ScalarType("interval"):
        return _interval_text(value, source)
    if isinstance(source, T.BinaryType) and isinstance(carrier, T.StringType):
        raise InvalidValue(
            f'Column "{where}" cannot take a BLOB without a conversion.',
            hint="decode it first, e.g. decode(value, 'UTF-8').",
        )
    return value.cast(carrier)


_NUMBERS: Final = frozenset({"number", "boolean", "text"})
# What DuckDB assigns to what. Spark would also take a number for a moment, and the other way round.
_ASSIGNABLE: Final[dict[type[T.DataType], frozenset[str]]] = {
    **dict.fromkeys((*_INTEGRAL, *_FRACTIONAL, T.BooleanType), _NUMBERS),
    T.DateType: frozenset({"date", "moment", "text"}),
    T.TimestampType: frozenset({"date", "moment", "time", "text"}),
    T.TimestampNTZType: frozenset({"date", "moment", "time", "text"}),
}
_FAMILIES: Final = {"date": "date", "time": "time", "boolean": "boolean", "uuid": "uuid"}


def _check_assignable(source: T.DataType, target: DataType, where: str) -> None:
    allowed = _ASSIGNABLE.get(type(source))
    if allowed is not None and _family(target) not in allowed:
        raise InvalidValue(
            f'Column "{where}" is {format_sql_type(target)} and cannot take a value of type '
            f"{source.simpleString().upper()}.",
            hint="convert it first.",
        )


def _family(kind: DataType) -> str:
    match kind:
        case ScalarType(name) if name.startswith("timestamp"):
            return "moment"
        case ScalarType("varchar" | "json"):
            return "text"
        case ScalarType("blob" | "interval" | "timetz" | "variant" | "geometry" as name):
            return name
        case ScalarType(name):
            return _FAMILIES.get(name, "number")
        case _:
            return "number"


def _moment_text(value: Column) -> Column:
    """A moment as DuckDB writes it: local time of the session, then its offset from UTC."""
    offset = F.regexp_replace(F.date_format(value, "xxx"), ":00$", "")
    return F.concat(value.cast("string"), offset)


def _to_float32(value: Column, where: str) -> Column:
    """Spark makes infinity of what is too large."""
    wide, narrow = value.cast("double"), value.cast("float")
    infinity = F.lit(float("inf"))
    lost = (F.abs(narrow) == infinity) & (F.abs(wide) != infinity)
    message = F.concat(
        F.lit(f'Column "{where}" is FLOAT and cannot hold the value '),
        value.cast("string"),
        F.lit("."),
    )
    return F.when(lost, refuse_value(message).cast("float")).otherwise(narrow)


def _is_decimal(target: DataType) -> bool:
    return isinstance(target, DecimalType)


def _double_to_decimal(value: Column, carrier: T.DecimalType, where: str) -> Column:
    """DuckDB's way: the double times the power of ten, rounded; Spark goes by the text.

    The rounded double is a whole number of up to 38 digits, which Spark would again write with
    fewer digits than it has, so its upper and lower bits are taken apart.
    """
    scaled = F.round(value.cast("double") * F.lit(float(10**carrier.scale)), 0)
    small = F.abs(scaled) < F.lit(2.0**53)
    upper = F.floor(F.abs(scaled) / F.lit(2.0**64))
    rest = F.abs(scaled) - upper * F.lit(2.0**64)
    middle = F.floor(rest / F.lit(2.0**32))
    parts = (
        (upper, "18446744073709551616"),
        (middle, "4294967296"),
        (rest - middle * F.lit(2.0**32), "1"),
    )
    whole = F.lit(0).cast("decimal(38,0)")
    for part, weight in parts:
        term = part.cast("bigint").cast("decimal(19,0)") * F.lit(weight).cast("decimal(20,0)")
        whole = (whole + term.cast("decimal(38,0)")).cast("decimal(38,0)")
    sign = F.when(scaled < 0, F.lit("-")).otherwise(F.lit(""))
    digits = F.when(small, scaled.cast("bigint").cast("string")).otherwise(
        F.concat(sign, whole.cast("string"))
    )
    kind = f"DECIMAL({carrier.precision},{carrier.scale})"
    message = F.concat(
        F.lit(f'Column "{where}" is {kind} and cannot hold the value '),
        value.cast("string"),
        F.lit("."),
    )
    fits = F.abs(scaled) < F.lit(float(10**carrier.precision))  # NaN is above all numbers
    exact = F.concat(digits, F.lit(f"E-{carrier.scale}")).cast(carrier)
    return F.when(value.isNull() | fits, exact).otherwise(refuse_value(message).cast(carrier))


def _is_integral(carrier: T.DataType) -> bool:
    return isinstance(carrier, _INTEGRAL) or (
        isinstance(carrier, T.DecimalType) and carrier.scale == 0
    )


def _float_text(value: Column, where: str) -> Column:
    """DuckDB's text of a number; one that Spark writes with an exponent is refused: they differ."""
    text = value.cast("string")
    message = F.lit(f'Column "{where}": cast the number to text yourself, Spark would write it as ')
    return (
        F.when(F.isnan(value), F.lit("nan"))
        .when(value == F.lit(float("inf")), F.lit("inf"))
        .when(value == F.lit(float("-inf")), F.lit("-inf"))
        .when(F.contains(text, F.lit("E")), F.raise_error(F.concat(message, text)))
        .otherwise(text)
    )


def _text_to_blob(value: Column, where: str) -> Column:
    """Plain text becomes its UTF-8 bytes; DuckDB's escapes need its own reading of the text."""
    message = F.lit(
        f'Column "{where}" is a BLOB and the text has a backslash, an escape in DuckDB.'
    )
    plain = F.encode(value, "UTF-8")
    escaped = F.contains(value, F.lit("\\"))
    return F.when(escaped, refuse_value(message).cast("binary")).otherwise(plain)


def _interval_text(value: Column, source: T.DataType) -> Column:
    if isinstance(source, T.YearMonthIntervalType):
        months = F.extract(F.lit("YEAR"), value) * 12 + F.extract(F.lit("MONTH"), value)
        return F.concat(months.cast("string"), F.lit(" months"))
    if isinstance(source, T.DayTimeIntervalType):
        zero = F.timestamp_micros(F.lit(0))
        micros = F.unix_micros(zero + value)
        days = F.floor(F.abs(micros) / F.lit(86_400_000_000)).cast("bigint") * F.signum(
            micros
        ).cast("bigint")
        rest = micros - days * 86_400_000_000
        return F.concat(
            days.cast("string"), F.lit(" days "), rest.cast("string"), F.lit(" microseconds")
        )
    return value.cast("string")


def _convert_struct(value: Column, source: T.StructType, target: DataType, *, where: str) -> Column:
    fields = target.fields  # type: ignore[union-attr]
    by_name = {field.name.lower(): field for field in source.fields}
    if {f.name.lower() for f in fields} == set(by_name):
        pairs = [(f, by_name[f.name.lower()]) for f in fields]
    elif len(fields) == len(source.fields):
        pairs = list(zip(fields, source.fields, strict=True))
    else:
        raise InvalidValue(
            f'Column "{where}" is a struct with the fields '
            f"{', '.join(f.name for f in fields)}, but the value has "
            f"{', '.join(source.names)}."
        )
    parts = [
        convert(
            value.getField(given.name), given.dataType, f.type, where=f"{where}.{f.name}"
        ).alias(f.name)
        for f, given in pairs
    ]
    return F.when(value.isNotNull(), F.struct(*parts))


def _convert_map(value: Column, source: T.MapType, target: DataType, *, where: str) -> Column:
    key, item = target.key, target.value  # type: ignore[union-attr]
    keyed = F.transform_keys(value, lambda k, _: convert(k, source.keyType, key, where=where))
    return F.transform_values(keyed, lambda _, v: convert(v, source.valueType, item, where=where))

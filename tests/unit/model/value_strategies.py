"""Random values of every type, for tests that compare with DuckDB."""

from __future__ import annotations

import datetime as dt
import json
import string
import uuid
from decimal import Decimal

from hypothesis import strategies as st

from ducklake_spark.model.literals import format_text
from ducklake_spark.model.types import (
    SIGNED_BITS,
    UNSIGNED_BITS,
    DecimalType,
    ListType,
    MapType,
    ScalarType,
    StructField,
    StructType,
)

AWKWARD = "'\"\\,:=[]{}() \t\n;NULnul𝄞é-+x1"
TEXT = st.one_of(
    st.text(AWKWARD, max_size=8),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
    st.sampled_from(
        ["", "NULL", "null", " a", "a ", "CAST('x' AS DATE)", "''", "\\'", "\\", "a\\b"]
    ),
)
DATES = st.dates()
MICROS = st.datetimes()
TIMES = st.times()


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    top = 10**precision - 1
    return st.integers(-top, top).map(
        lambda n: Decimal((n < 0, tuple(map(int, str(abs(n)))), -scale))
    )


def integers(name: str) -> st.SearchStrategy[int]:
    if name in UNSIGNED_BITS:
        return st.integers(0, 2 ** UNSIGNED_BITS[name] - 1)
    bits = SIGNED_BITS[name]
    # DuckDB's own client cannot take the least hugeint.
    return st.integers(-(2 ** (bits - 1)) + 1, 2 ** (bits - 1) - 1)


def json_texts() -> st.SearchStrategy[str]:
    leaves = st.none() | st.booleans() | st.integers(-9, 9) | st.text(AWKWARD, max_size=4)
    trees = st.recursive(leaves, lambda inner: st.lists(inner, max_size=2), max_leaves=3)
    return trees.map(lambda tree: json.dumps(tree, separators=(",", ":"), ensure_ascii=False))


SCALARS: dict[str, st.SearchStrategy] = {
    "boolean": st.booleans(),
    **{name: integers(name) for name in ("int8", "int16", "int32", "int64")},
    **{name: integers(name) for name in ("uint8", "uint16", "uint32")},
    **{name: integers(name).map(Decimal) for name in ("uint64", "int128", "uint128")},
    "float32": st.floats(width=32, allow_nan=False),
    "float64": st.floats(allow_nan=False),
    "date": DATES,
    "time": TIMES.map(lambda time: format_text(time, ScalarType("time"))),
    "timestamp": MICROS,
    "timestamptz": MICROS.map(lambda moment: moment.replace(tzinfo=dt.timezone.utc)),
    "varchar": TEXT,
    "blob": st.binary(max_size=8),
    "uuid": st.uuids().map(str),
    "json": json_texts(),
}


@st.composite
def typed_values(draw, depth: int = 2):
    """A type and a value of it, nested up to `depth` times."""
    kind = draw(kinds(depth))
    return kind, draw(values_of(kind))


@st.composite
def kinds(draw, depth: int):
    choice = draw(st.sampled_from(["scalar", "list", "map", "struct"] if depth else ["scalar"]))
    if choice == "list":
        return ListType(draw(kinds(depth - 1)))
    if choice == "map":
        return MapType(draw(scalar_kinds()), draw(kinds(depth - 1)))
    if choice == "struct":
        letters = st.text(string.ascii_lowercase + "' \"\\:,{", min_size=1, max_size=4)
        names = draw(st.lists(letters, min_size=1, max_size=3, unique_by=str.lower))
        # "f" in front: a field may not be called by a reserved word without quotes.
        return StructType(tuple(StructField(f"f{n}", draw(kinds(depth - 1))) for n in names))
    return draw(scalar_kinds())


@st.composite
def scalar_kinds(draw):
    name = draw(st.sampled_from([*SCALARS, "decimal"]))
    return DecimalType(9, 3) if name == "decimal" else ScalarType(name)


def values_of(kind, *, nulls: bool = True) -> st.SearchStrategy:
    match kind:
        case DecimalType(precision, scale):
            found = decimals(precision, scale)
        case ScalarType(name):
            found = SCALARS[name]
        case ListType(element):
            # The text of a JSON[] cannot say NULL.
            found = st.lists(values_of(element, nulls=element != ScalarType("json")), max_size=3)
        case MapType(key, value):
            found = st.dictionaries(values_of(key, nulls=False), values_of(value), max_size=2)
        case StructType(fields):
            found = st.tuples(*(values_of(field.type) for field in fields))
    return st.none() | found if nulls else found


def plain(value, kind):
    """What DuckDB's client gives, as the value we would have given: dicts of structs as tuples."""
    if value is None:
        return None
    match kind:
        case ListType(element):
            return [plain(item, element) for item in value]
        case MapType(key, of):
            return {plain(k, key): plain(v, of) for k, v in value.items()}
        case StructType(fields):
            return tuple(plain(value[field.name], field.type) for field in fields)
        case ScalarType("uint64" | "int128" | "uint128"):
            return Decimal(value)
        case ScalarType("uuid"):
            return str(value) if isinstance(value, uuid.UUID) else value
        case ScalarType("time"):
            return format_text(value, kind)
        case _:
            return value

"""Types that DuckDB has and a lake has not, and what they become. Pure."""

from __future__ import annotations

import re
from typing import Final

from ducklake_spark.model.types import (
    DataType,
    DecimalType,
    ListType,
    MapType,
    ScalarType,
    StructType,
    format_sql_type,
    quote_field,
)

_TOKEN: Final = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\w+|\[\d+\]|.""", re.DOTALL)
_REPLACED: Final = {
    "BIT": "VARCHAR",
    "BITSTRING": "VARCHAR",
    "BIGNUM": "INTEGER",
    "VARINT": "INTEGER",
}
# What Arrow and Parquet cannot carry whole from DuckDB to us.
_CARRIED: Final = {
    "int128": "DECIMAL(38,0)",
    "uint128": "DECIMAL(38,0)",
    "timetz": "VARCHAR",
    "interval": "VARCHAR",
    "json": "VARCHAR",
    "uuid": "VARCHAR",
}


def lake_type_text(text: str) -> str:
    """The text of a DuckDB type, with what a lake does not have cast as the documentation says.

    >>> lake_type_text("STRUCT(a ENUM('x', 'y)'), b INTEGER[3])")
    'STRUCT(a VARCHAR, b INTEGER[])'
    """
    tokens = _TOKEN.findall(text)
    parts: list[str] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token in ("ENUM", "UNION") and tokens[at + 1 : at + 2] == ["("]:
            parts.append("VARCHAR")
            at = _closing(tokens, at + 1)
        elif token[0] == "[":
            parts.append("[]" if len(token) > 1 else token)
        else:
            parts.append(_REPLACED.get(token, token))
        at += 1
    return "".join(parts)


def _closing(tokens: list[str], at: int) -> int:
    """The index of the parenthesis that closes the one at `at`."""
    depth = 0
    for index in range(at, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[index], 0)
        if depth == 0:
            return index
    return len(tokens)


def carried_type(kind: DataType) -> str:
    """The DuckDB type in which values of a lake's type travel without a loss.

    >>> carried_type(ListType(ScalarType("int128")))
    'DECIMAL(38,0)[]'
    """
    match kind:
        case ScalarType(name):
            return _CARRIED.get(name) or format_sql_type(kind)
        case ListType(element):
            return f"{carried_type(element)}[]"
        case MapType(key, value):
            return f"MAP({carried_type(key)}, {carried_type(value)})"
        case StructType(fields):
            inner = ", ".join(f"{quote_field(f.name)} {carried_type(f.type)}" for f in fields)
            return f"STRUCT({inner})"
        case DecimalType():
            return format_sql_type(kind)

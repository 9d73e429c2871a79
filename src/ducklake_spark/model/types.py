"""The types of DuckLake columns, and their two spellings.

`parse_type`/`format_type` speak the catalog's words (``int32``, ``decimal(10,2)``);
`parse_sql_type`/`format_sql_type` speak DuckDB's (``INTEGER``, ``STRUCT(a INTEGER)[]``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ducklake_spark.caching import remembered
from ducklake_spark.errors import InvalidInput, NotSupported
from ducklake_spark.model.keywords import KEYWORDS


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A type without parameters, by its catalog name."""

    name: str


@dataclass(frozen=True, slots=True)
class DecimalType:
    """An exact number of `precision` digits, `scale` of them behind the point."""

    precision: int
    scale: int


@dataclass(frozen=True, slots=True)
class ListType:
    """Any number of values of one type."""

    element: DataType


@dataclass(frozen=True, slots=True)
class StructField:
    """A named part of a struct."""

    name: str
    type: DataType


@dataclass(frozen=True, slots=True)
class StructType:
    """Named parts, in order."""

    fields: tuple[StructField, ...]


@dataclass(frozen=True, slots=True)
class MapType:
    """Keys and their values."""

    key: DataType
    value: DataType


NestedType = ListType | StructType | MapType
DataType = ScalarType | DecimalType | ListType | StructType | MapType

# catalog name -> DuckDB's name. The first column is what ducklake_column.column_type stores.
_SCALARS: Final[dict[str, str]] = {
    "boolean": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "int128": "HUGEINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "uint128": "UHUGEINT",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "date": "DATE",
    "time": "TIME",
    "timetz": "TIME WITH TIME ZONE",
    "timestamp": "TIMESTAMP",
    "timestamp_s": "TIMESTAMP_S",
    "timestamp_ms": "TIMESTAMP_MS",
    "timestamp_ns": "TIMESTAMP_NS",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "interval": "INTERVAL",
    "varchar": "VARCHAR",
    "blob": "BLOB",
    "uuid": "UUID",
    "json": "JSON",
    "variant": "VARIANT",
    "geometry": "GEOMETRY",
}

# Names that readers accept beyond the ones that are written.
_CATALOG_ALIASES: Final = {"timestamp_us": "timestamp", "text": "varchar"}

_SQL_ALIASES: Final[dict[str, str]] = {
    **{sql: name for name, sql in _SCALARS.items()},
    "BOOL": "boolean",
    "LOGICAL": "boolean",
    "INT1": "int8",
    "INT2": "int16",
    "INT16": "int16",
    "SHORT": "int16",
    "INT": "int32",
    "INT4": "int32",
    "INT32": "int32",
    "SIGNED": "int32",
    "INT8": "int64",
    "INT64": "int64",
    "LONG": "int64",
    "INT128": "int128",
    "UINT8": "uint8",
    "UINT16": "uint16",
    "UINT32": "uint32",
    "UINT64": "uint64",
    "UINT128": "uint128",
    "REAL": "float32",
    "FLOAT4": "float32",
    "FLOAT32": "float32",
    "FLOAT8": "float64",
    "FLOAT64": "float64",
    "TIMETZ": "timetz",
    "TIMESTAMPTZ": "timestamptz",
    "DATETIME": "timestamp",
    "TIMESTAMP_US": "timestamp",
    "TIMESTAMP WITHOUT TIME ZONE": "timestamp",
    "TIME WITHOUT TIME ZONE": "time",
    "STRING": "varchar",
    "TEXT": "varchar",
    "CHAR": "varchar",
    "BPCHAR": "varchar",
    "NVARCHAR": "varchar",
    "BYTEA": "blob",
    "BINARY": "blob",
    "VARBINARY": "blob",
    "GUID": "uuid",
}

UNSIGNED_BITS: Final = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64, "uint128": 128}
SIGNED_BITS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "int128": 128}

_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")


# Each value of a row asks for the type of its column.
@remembered("types by name", entries=1024)
def parse_type(text: str) -> ScalarType | DecimalType:
    """Read a catalog type name. Nested types have rows of their own and no text.

    >>> parse_type("decimal(10,2)")
    DecimalType(precision=10, scale=2)
    """
    name = text.strip().lower()
    name = _CATALOG_ALIASES.get(name, name)
    if match := _DECIMAL.fullmatch(name):
        return DecimalType(int(match[1]), int(match[2]))
    if name not in _SCALARS:
        raise NotSupported(
            f'The column type "{text}" is not a type of DuckLake 1.0.',
            hint="the lake may have been written by a newer DuckDB.",
        )
    return ScalarType(name)


def format_type(kind: DataType) -> str:
    """The text of ducklake_column.column_type.

    >>> format_type(ListType(ScalarType("int32")))
    'list'
    """
    match kind:
        case ScalarType(name):
            return name
        case DecimalType(precision, scale):
            return f"decimal({precision},{scale})"
        case ListType():
            return "list"
        case StructType():
            return "struct"
        case MapType():
            return "map"


def format_sql_type(kind: DataType) -> str:
    """DuckDB's spelling, as DESCRIBE shows it.

    >>> format_sql_type(MapType(ScalarType("varchar"), ListType(ScalarType("int8"))))
    'MAP(VARCHAR, TINYINT[])'
    """
    match kind:
        case ScalarType(name):
            return _SCALARS[name]
        case DecimalType(precision, scale):
            return f"DECIMAL({precision},{scale})"
        case ListType(element):
            return f"{format_sql_type(element)}[]"
        case MapType(key, value):
            return f"MAP({format_sql_type(key)}, {format_sql_type(value)})"
        case StructType(fields):
            inner = ", ".join(f"{quote_field(f.name)} {format_sql_type(f.type)}" for f in fields)
            return f"STRUCT({inner})"


def quote_field(name: str) -> str:
    """Quote a struct field's name the way DuckDB's own rendering does.

    >>> quote_field("a"), quote_field("a b"), quote_field("for")
    ('a', '"a b"', '"for"')
    """
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name.lower() not in KEYWORDS:
        return name
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


_TOKEN = re.compile(r'\s*("(?:[^"]|"")*"|[A-Za-z_][A-Za-z0-9_]*|\d+|[(),\[\]])')


def parse_sql_type(text: str) -> DataType:
    """Read DuckDB's spelling of a type.

    >>> parse_sql_type('STRUCT(a INT, "b c" DECIMAL(4,1)[])').fields[1].name
    'b c'
    """
    tokens: list[str] = []
    position = 0
    while position < len(text.rstrip()):
        match = _TOKEN.match(text, position)
        if match is None:
            raise InvalidInput(f"Cannot read the type {text!r}: unexpected {text[position:]!r}.")
        tokens.append(match[1])
        position = match.end()
    parser = _SqlTypeParser(text, tokens)
    kind = parser.parse()
    parser.expect_end()
    return kind


class _SqlTypeParser:
    """Recursive descent over the tokens of one type."""

    def __init__(self, text: str, tokens: list[str]) -> None:
        self.text = text
        self.tokens = tokens
        self.position = 0

    def parse(self) -> DataType:
        kind = self._base()
        while self._accept("["):
            if not self._accept("]"):
                raise NotSupported(
                    f"The type {self.text} is a fixed-size array, which DuckLake does not have.",
                    hint="use a list: the same type without the number in the brackets.",
                )
            kind = ListType(kind)
        return kind

    def expect_end(self) -> None:
        if self.position < len(self.tokens):
            raise self._error()

    def _error(self) -> InvalidInput:
        return InvalidInput(f"Cannot read the type {self.text!r}.")

    def _peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        if not token:
            raise self._error()
        self.position += 1
        return token

    def _accept(self, token: str) -> bool:
        if self._peek().upper() == token:
            self.position += 1
            return True
        return False

    def _expect(self, token: str) -> None:
        if not self._accept(token):
            raise self._error()

    def _base(self) -> DataType:
        word = self._next().upper()
        if word in ("STRUCT", "ROW"):
            return StructType(tuple(self._fields()))
        if word == "MAP":
            self._expect("(")
            key = self.parse()
            self._expect(",")
            value = self.parse()
            self._expect(")")
            return MapType(key, value)
        if word in ("DECIMAL", "NUMERIC", "DEC"):
            return self._decimal()
        if word in ("ENUM", "UNION", "BIT", "BITSTRING"):
            raise NotSupported(
                f"The type {self.text} is not a type of DuckLake.",
                hint="cast to VARCHAR, or see the list of types in the documentation.",
            )
        return self._scalar(word)

    def _scalar(self, word: str) -> DataType:
        if word in ("TIME", "TIMESTAMP") and self._peek().upper() in ("WITH", "WITHOUT"):
            word = " ".join([word, *(self._next().upper() for _ in range(3))])
        elif word in ("TIMESTAMP", "DATETIME") and self._accept("("):
            return self._timestamp()
        elif word in ("VARCHAR", "CHAR", "TEXT", "STRING", "BPCHAR") and self._accept("("):
            self._next()  # a length is accepted and has no meaning, as in DuckDB
            self._expect(")")
        if word not in _SQL_ALIASES:
            raise InvalidInput(f'There is no type "{word}" (in {self.text!r}).')
        return ScalarType(_SQL_ALIASES[word])

    def _timestamp(self) -> ScalarType:
        """By the digits behind the second, of which DuckDB takes as many as it has a type for."""
        digits = self._next()
        self._expect(")")
        if not digits.isdigit() or int(digits) > 9:
            raise InvalidInput(
                f"TIMESTAMP({digits}) is not possible.",
                hint="a timestamp has 0 to 9 digits behind the second.",
            )
        ends = {0: "timestamp_s", 3: "timestamp_ms", 6: "timestamp", 9: "timestamp_ns"}
        return ScalarType(next(name for most, name in ends.items() if int(digits) <= most))

    def _decimal(self) -> DecimalType:
        precision, scale = 18, 3
        if self._accept("("):
            precision, scale = int(self._next()), 0
            if self._accept(","):
                scale = int(self._next())
            self._expect(")")
        if not (1 <= precision <= 38 and 0 <= scale <= precision):
            raise InvalidInput(
                f"DECIMAL({precision},{scale}) is not possible.",
                hint="a decimal has 1 to 38 digits, and no more behind the point than in all.",
            )
        return DecimalType(precision, scale)

    def _fields(self) -> Iterator[StructField]:
        self._expect("(")
        while True:
            name = self._next()
            if name.startswith('"'):
                name = name[1:-1].replace('""', '"')
            yield StructField(name, self.parse())
            if not self._accept(","):
                break
        self._expect(")")

"""Column definitions, defaults, and the keys of PARTITIONED BY and SORTED BY."""

from __future__ import annotations

from typing import NoReturn

from sqlglot import exp

from ducklake_spark.binder.formatting import format_expression
from ducklake_spark.errors import InvalidInput, NotSupported
from ducklake_spark.model.names import quote_identifier
from ducklake_spark.model.schema import Default
from ducklake_spark.model.types import DataType
from ducklake_spark.sql import statements as st
from ducklake_spark.sql.default_text import default_of
from ducklake_spark.sql.reader import Reader

_TABLE_CONSTRAINTS = ("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN")
_NO_KEYS = "PRIMARY KEY, UNIQUE, CHECK and FOREIGN KEY constraints are not supported in DuckLake"


def parse_column_list(reader: Reader) -> tuple[st.ColumnDefinition, ...]:
    """``(name type [constraints], …)``."""
    reader.expect("(")
    columns = []
    while not reader.accept(")"):
        if reader.word.split(" ")[0] in _TABLE_CONSTRAINTS and not _is_column_name(reader):
            _refuse_keys()
        columns.append(parse_column(reader, reader.name()))
        if not reader.accept(","):
            reader.expect(")")
            break
    return tuple(columns)


def _is_column_name(reader: Reader) -> bool:
    """``check INTEGER`` has a column of that name; ``CHECK (…)`` is a constraint."""
    return reader.following_word not in ("(", "KEY", "") and reader.word != "CONSTRAINT"


def _refuse_keys() -> NoReturn:
    raise NotSupported(
        f"{_NO_KEYS}: no index exists that could hold them.",
        hint="leave the constraint out; NOT NULL and DEFAULT are supported.",
    )


def parse_column(reader: Reader, name: str) -> st.ColumnDefinition:
    """The rest of a column definition, after its name."""
    if reader.word in ("GENERATED", "AS"):
        raise _generated(name)
    kind = reader.type()
    not_null = False
    default: Default | None = None
    while word := reader.accept_any(*_COLUMN_CONSTRAINTS):
        match word:
            case "NOT":
                reader.expect("NULL")
                not_null = True
            case "DEFAULT":
                default = parse_default(reader, kind)
            case "NULL":
                not_null = False
            case _:
                _refuse_constraint(reader, name, word)
    return st.ColumnDefinition(name, kind, not_null, default)


_COLUMN_CONSTRAINTS = (
    "NOT", "NULL", "DEFAULT", "PRIMARY", "PRIMARY KEY", "UNIQUE", "CHECK", "REFERENCES",
    "CONSTRAINT", "COLLATE", "USING", "GENERATED", "AS", "COMMENT",
)  # fmt: skip


def _refuse_constraint(reader: Reader, name: str, word: str) -> NoReturn:
    if word in ("GENERATED", "AS"):
        raise _generated(name)
    if word == "COLLATE":
        raise NotSupported(
            f'The column "{name}" cannot have a collation: DuckLake does not store collations.',
            hint="use lower() or strip_accents() where the values are compared.",
        )
    if word == "COMMENT":
        raise NotSupported(
            f'The column "{name}" cannot be given a comment here.', hint="use COMMENT ON COLUMN."
        )
    if word == "USING":
        raise NotSupported(
            f'The column "{name}" cannot have a compression of its own in DuckLake.',
            hint="set the option parquet_compression for the lake, schema or table.",
        )
    _refuse_keys()


def _generated(name: str) -> NotSupported:
    return NotSupported(
        f'The column "{name}" cannot be generated: DuckLake does not support generated columns.',
        hint="compute it in a view.",
    )


def parse_default(reader: Reader, kind: DataType | None) -> Default | None:
    """The expression after DEFAULT."""
    start = reader.mark()
    tree = reader.operand()
    return default_of(tree, reader.duckdb_since(start, tree), kind)


def parse_partition_keys(reader: Reader) -> tuple[st.PartitionKey, ...]:
    """``(column, year(column), bucket(n, column), …)``."""
    reader.expect("(")
    keys = [_partition_key(reader)]
    while reader.accept(","):
        keys.append(_partition_key(reader))
    reader.expect(")")
    return tuple(keys)


def _partition_key(reader: Reader) -> st.PartitionKey:
    start = reader.mark()
    parts = reader.parts()
    name = parts[-1]
    if not reader.accept("("):
        return st.PartitionKey("identity", _unqualified(parts))
    arguments: list[tuple[str, ...] | int | str] = []
    while not reader.accept(")"):
        arguments.append(_partition_argument(reader))
        if not reader.accept(","):
            reader.expect(")")
            break
    text = reader.text_since(start)
    function = name.lower()
    match arguments:
        case [tuple() as column] if function != "bucket":
            return st.PartitionKey(function, _unqualified(column))
        case [int() as number, tuple() as column] if function == "bucket":
            return st.PartitionKey(function, _unqualified(column), number)
        case [str(), tuple()] if function == "bucket":
            raise InvalidInput(f"Bucket count must be an integer, not that of {text}.")
        case [tuple(), tuple()] if function == "bucket":
            raise InvalidInput(f"Bucket count must be a constant integer, got {text}.")
    shape = "bucket(bucket_count, column)" if function == "bucket" else f"{function}(column)"
    raise InvalidInput(
        f"Expected {shape}, but got {text}.",
        hint="keys are a column, year(c), month(c), day(c), hour(c) or bucket(n, c).",
    )


def _partition_argument(reader: Reader) -> tuple[str, ...] | int | str:
    """A number, the name of a column or, which is none of them, a string."""
    sign = -1 if reader.accept("-") else 1
    if reader.word.isdigit():
        return sign * int(reader.advance().text)
    if reader.at_string:
        text = reader.string()
        return int(text) if text.isdigit() else text
    return reader.parts()


def _unqualified(parts: tuple[str, ...]) -> str:
    if len(parts) > 1:
        raise InvalidInput(
            f"Unexpected qualified column reference {'.'.join(parts)} - only unqualified columns "
            "are supported."
        )
    return parts[0]


def parse_sort_keys(reader: Reader) -> tuple[st.SortKey, ...]:
    """``(expression [ASC | DESC] [NULLS FIRST | LAST], …)``."""
    reader.expect("(")
    keys = [_sort_key(reader)]
    while reader.accept(","):
        keys.append(_sort_key(reader))
    reader.expect(")")
    return tuple(keys)


def _sort_key(reader: Reader) -> st.SortKey:
    start = reader.mark()
    expression = reader.expression()
    text = format_expression(_key_text(reader, start, expression))
    descending = reader.accept_any("ASC", "DESC") == "DESC"
    places_nulls = reader.accept("NULLS")
    nulls_first = places_nulls and reader.accept_any("FIRST", "LAST") == "FIRST"
    return st.SortKey(expression, text, descending, nulls_first, places_nulls)


def _key_text(reader: Reader, start: int, expression: exp.Expr) -> str:
    """A column by itself may have a name that DuckDB keeps for itself."""
    if isinstance(expression, exp.Column) and len(expression.parts) == 1:
        return quote_identifier(expression.name)
    return reader.duckdb_since(start, expression)

"""What the catalog stores for the DEFAULT of a column."""

from __future__ import annotations

from sqlglot import exp

from ducklake_spark.binder.formatting import format_expression
from ducklake_spark.errors import NotSupported
from ducklake_spark.model.schema import Default
from ducklake_spark.model.types import DataType, DecimalType, ScalarType


def default_of(tree: exp.Expr, text: str, kind: DataType | None) -> Default | None:
    """What the catalog stores for DEFAULT `tree`; `text` is the same in DuckDB's SQL.

    Numbers and strings are literals, kept as bare text; everything else is an expression, TRUE and
    casts of constants included: the reference stores them so. NULL is no default.
    """
    if isinstance(tree, exp.Null):
        return None
    if kind is not None and not isinstance(kind, (ScalarType, DecimalType)):
        raise NotSupported(
            f"A default value cannot be {text} here: DuckLake stores no defaults for lists, "
            "structs and maps.",
            hint="leave the default out, or give the column a type that is not nested.",
        )
    literal = _literal_text(tree.unnest())
    if literal is not None:
        return Default(literal)
    return Default(format_expression(text), kind="expression")


def _literal_text(tree: exp.Expr) -> str | None:
    if isinstance(tree, exp.ByteString):
        return str(tree.this)
    if isinstance(tree, exp.Literal):
        text = str(tree.this)
        if not tree.is_string and "e" in text.lower():
            return repr(float(text))
        return text
    if isinstance(tree, exp.Neg):
        inner = tree.this.unnest()
        if isinstance(inner, exp.Literal) and not inner.is_string:
            return f"-{_literal_text(inner)}"
    return None

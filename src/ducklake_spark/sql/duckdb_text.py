"""Expressions as the catalog stores them: DuckDB's SQL, the way DuckDB itself writes it again.

Defaults, sort keys and macros are stored as text that DuckDB must be able to run. The text is read
with every function kept under the name that was typed, because sqlglot's own names are not always
DuckDB's.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.generators.duckdb import DuckDBGenerator
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import TokenType

from ducklake_spark.errors import DuckLakeError, NotSupported
from ducklake_spark.model.schema import Default
from ducklake_spark.model.types import (
    DataType,
    DecimalType,
    ScalarType,
    format_sql_type,
    parse_sql_type,
)
from ducklake_spark.sql.dialect import DuckLake

# Functions whose arguments have a syntax of their own.
_SPECIAL_SYNTAX = ("CAST", "TRY_CAST", "EXTRACT", "SUBSTRING", "TRIM", "POSITION", "OVERLAY")


def _terms(tree: exp.Connector) -> list[exp.Expr]:
    """What one chain of AND or of OR joins, however it was put in parentheses."""
    found: list[exp.Expr] = []
    rest: list[exp.Expr] = [tree]
    while rest:
        node = rest.pop().unnest()
        if type(node) is type(tree):
            rest += [node.args["expression"], node.this]
        else:
            found.append(node)
    return found


class Caret(exp.Expression, exp.Binary):
    """``a ^ b``: a power, but DuckDB keeps the sign that was typed."""


_OWN = (exp.Anonymous, exp.Mod, exp.Pow, exp.Boolean, exp.IntDiv, exp.DPipe, exp.Div)


class DuckDBText(DuckLake):
    """DuckDB's dialect with functions left as they are named."""

    class Parser(DuckLake.Parser):
        """Reads each call as a name and its arguments."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: parse
            for name, parse in DuckDBParser.FUNCTION_PARSERS.items()
            if name in _SPECIAL_SYNTAX
        }
        NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: parse
            for name, parse in DuckDBParser.NO_PAREN_FUNCTION_PARSERS.items()
            if name in ("CASE", "MAP", "NEXT", "ANY")
        }
        NO_PAREN_FUNCTIONS: ClassVar[dict[TokenType, Any]] = {
            kind: partial(exp.var, kind.name.lower()) for kind in DuckDBParser.NO_PAREN_FUNCTIONS
        }
        EXPONENT: ClassVar[dict[TokenType, type[exp.Expr]]] = {
            TokenType.CARET: Caret,
            TokenType.DSTAR: exp.Pow,
        }

    class Generator(DuckDBGenerator):
        """Writes operators in parentheses, as DuckDB does."""

        TRANSFORMS: ClassVar[dict[type[exp.Expr], Any]] = {
            **{k: v for k, v in DuckDBGenerator.TRANSFORMS.items() if k not in _OWN},
            Caret: lambda self, tree: self.binary(tree, "^"),
        }

        def binary(self, expression: exp.Binary, op: str) -> str:
            """``(a + b)``, and ``((a + b) + c)``."""
            if type(expression.this) is type(expression) and not isinstance(expression, exp.Is):
                left, right = self.sql(expression, "this"), self.sql(expression, "expression")
                return f"({left} {op} {right})"
            return f"({super().binary(expression, op)})"

        def neg_sql(self, expression: exp.Neg) -> str:
            """``-1``, and ``-(a)`` of anything but a number."""
            inner = expression.this.unnest()
            shown = self.sql(inner)
            return f"-{shown}" if isinstance(inner, exp.Literal) else f"-({shown})"

        def in_sql(self, expression: exp.In) -> str:
            """``(a IN (1, 2))``."""
            return f"({super().in_sql(expression)})"

        def between_sql(self, expression: exp.Between) -> str:
            """``(a BETWEEN 1 AND 2)``."""
            return f"({super().between_sql(expression)})"

        def and_sql(self, expression: exp.And, stack: list[str | exp.Expr] | None = None) -> str:
            """``(a AND b AND c)``."""
            return f"({' AND '.join(map(self.sql, _terms(expression)))})"

        def or_sql(self, expression: exp.Or, stack: list[str | exp.Expr] | None = None) -> str:
            """``(a OR b OR c)``."""
            return f"({' OR '.join(map(self.sql, _terms(expression)))})"

        def paren_sql(self, expression: exp.Paren) -> str:
            """Parentheses are written where an operator needs them, so given ones go."""
            return self.sql(expression, "this")

        def intdiv_sql(self, expression: exp.IntDiv) -> str:
            """``(a // b)``."""
            return self.binary(expression, "//")

        def div_sql(self, expression: exp.Div) -> str:
            """``(a / b)``."""
            return self.binary(expression, "/")

        def dpipe_sql(self, expression: exp.DPipe) -> str:
            """``(a || b)``."""
            return self.binary(expression, "||")

        def mod_sql(self, expression: exp.Mod) -> str:
            """``(a % b)``."""
            return self.binary(expression, "%")

        def datatype_sql(self, expression: exp.DataType) -> str:
            """DuckDB's full name of a type."""
            written = super().datatype_sql(expression)
            try:
                return format_sql_type(parse_sql_type(written))
            except DuckLakeError:
                return written

        def pow_sql(self, expression: exp.Pow) -> str:
            """``(a ** b)``."""
            return self.binary(expression, "**")

        def boolean_sql(self, expression: exp.Boolean) -> str:
            """DuckDB reads TRUE as the cast of a letter."""
            return f"CAST('{'t' if expression.this else 'f'}' AS BOOLEAN)"

        def anonymous_sql(self, expression: exp.Anonymous) -> str:
            """A call, its name in small letters."""
            name = expression.this if isinstance(expression.this, str) else expression.name
            lowered = "COALESCE" if name.lower() == "coalesce" else name.lower()
            return f"{lowered}({self.expressions(expression, flat=True)})"

        def interval_sql(self, expression: exp.Interval) -> str:
            """``CAST('1 day' AS INTERVAL)``."""
            amount = expression.this
            if isinstance(amount, exp.Literal) and amount.is_string:
                unit = expression.args.get("unit")
                text = f"{amount.this} {unit.name.lower()}" if unit else str(amount.this)
                return f"CAST('{text}' AS INTERVAL)"
            return super().interval_sql(expression)


def format_expression(text: str) -> str:
    """The expression `text` (DuckDB's dialect) as DuckDB writes it.

    >>> format_expression("1+2"), format_expression("NOW()")
    ('(1 + 2)', 'now()')
    """
    tree = DuckDBText().parse_into(exp.Condition, text)[0]
    if tree is None:
        raise NotSupported(f"Cannot store the expression {text}.")
    return tree.sql(dialect=DuckDBText)


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

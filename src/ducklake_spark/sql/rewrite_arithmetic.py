"""Division, remainder, concatenation and dates with ``+`` and ``-``."""

from __future__ import annotations

from sqlglot import exp

from ducklake_spark.sql.rewrite_casts import FLOATS, DType, is_list, known_type
from ducklake_spark.sql.trees import call, cast, number, replace_each, text

_FRACTIONS = FLOATS | {DType.DECIMAL}


def rewrite_arithmetic(root: exp.Expr) -> exp.Expr:
    """``/`` divides as floats, ``//`` and ``%`` by zero are NULL, dates and intervals are added."""
    replace_each(root, exp.Interval, _interval)
    replace_each(root, (exp.Add, exp.Sub), _date_arithmetic)
    replace_each(root, exp.Div, _div)
    replace_each(root, exp.IntDiv, _int_div)
    replace_each(root, exp.DPipe, _concatenation)
    return replace_each(root, exp.Mod, _mod)


def _operand(tree: exp.Expr) -> exp.Expr:
    return exp.Paren(this=tree) if isinstance(tree, exp.Binary) else tree


def _div(tree: exp.Expr) -> exp.Expr | None:
    """Floating-point division with infinities: Spark's own raises on a zero."""
    if isinstance(tree.this, exp.Interval):
        return None
    left, right = cast(tree.this, "DOUBLE"), cast(tree.expression, "DOUBLE")
    if _nonzero(tree.expression):
        return _divide(left, right)
    # x/0 is inf, -inf or nan by the sign of x; NULL stays NULL.
    special = exp.Case(
        ifs=[
            exp.If(this=exp.GT(this=left.copy(), expression=number(0)), true=_double("Infinity")),
            exp.If(this=exp.LT(this=left.copy(), expression=number(0)), true=_double("-Infinity")),
            exp.If(this=exp.EQ(this=left.copy(), expression=number(0)), true=_double("NaN")),
        ],
        default=left.copy(),
    )
    zero = exp.EQ(this=right.copy(), expression=number(0))
    return exp.Case(ifs=[exp.If(this=zero, true=special)], default=_divide(left, right))


def _divide(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Div(this=left, expression=right, typed=False, safe=False))


def _nonzero(tree: exp.Expr) -> bool:
    inner = tree.unnest()
    if isinstance(inner, exp.Neg):
        inner = inner.this
    return isinstance(inner, exp.Literal) and not inner.is_string and float(inner.this) != 0


def _double(value: str) -> exp.Expr:
    return cast(text(value), "DOUBLE")


def _int_div(tree: exp.Expr) -> exp.Expr | None:
    """NULL on zero; on fractions ``//`` is the plain division in DuckDB."""
    right = _or_null(tree.expression)
    if known_type(tree.this) in _FRACTIONS or known_type(tree.expression) in _FRACTIONS:
        return _divide(cast(tree.this, "DOUBLE"), cast(right, "DOUBLE"))
    return exp.Paren(this=exp.IntDiv(this=_operand(tree.this), expression=right))


def _mod(tree: exp.Expr) -> exp.Expr | None:
    return exp.Mod(this=tree.this, expression=_or_null(tree.expression))


def _or_null(tree: exp.Expr) -> exp.Expr:
    if _nonzero(tree):
        return _operand(tree)
    return call("nullif", tree, number(0))


def _concatenation(tree: exp.Expr) -> exp.Expr | None:
    """``||`` is NULL when either side is; Spark's concat() is so too, for strings and lists."""
    sides = [tree.this, tree.expression]
    if any(is_list(side) for side in sides):
        return call("concat", *sides)
    return call("concat", *(s if s.is_string else cast(s, "VARCHAR") for s in sides)) if any(
        known_type(s) is DType.BOOLEAN for s in sides
    ) else None  # fmt: skip


def _interval(tree: exp.Expr) -> exp.Expr | None:
    """``INTERVAL (n) DAY`` with a computed number becomes ``n * INTERVAL '1' DAY``."""
    amount = tree.this
    if amount is None or isinstance(amount, exp.Literal):
        return None
    one = exp.Interval(this=text("1"), unit=tree.args.get("unit"))
    return exp.Paren(this=exp.Mul(this=exp.Paren(this=amount.unnest()), expression=one))


def _date_arithmetic(tree: exp.Expr) -> exp.Expr | None:
    """A date and an interval give a moment; a date less a date gives days."""
    left, right = tree.this, tree.expression
    if isinstance(tree, exp.Sub) and _is_date(left) and _is_date(right):
        return cast(call("datediff", left, right), "BIGINT")
    if _is_date(left) and _is_interval(right):
        tree.set("this", cast(left, "TIMESTAMP"))
    elif _is_date(right) and _is_interval(left):
        tree.set("expression", cast(right, "TIMESTAMP"))
    return None


def _is_date(tree: exp.Expr) -> bool:
    return known_type(tree) is DType.DATE


def _is_interval(tree: exp.Expr) -> bool:
    inner = tree.unnest()
    return isinstance(inner, exp.Interval) or (
        isinstance(inner, exp.Mul) and isinstance(inner.expression, exp.Interval)
    )

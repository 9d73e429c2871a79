"""Functions on strings and numbers, and patterns."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from ducklake_spark.errors import NotSupported
from ducklake_spark.model.types import format_sql_type, parse_sql_type
from ducklake_spark.sql.dialect import DuckLake
from ducklake_spark.sql.rewrite_casts import DType, is_list, known_type
from ducklake_spark.sql.trees import call, cast, number, text

_FLAGS = frozenset("cgilmnpsx")


def _length(tree: exp.Expr) -> exp.Expr | None:
    """The length of a string or of a list."""
    if is_list(tree.this) or known_type(tree.this) is DType.MAP:
        return cast(call("size", tree.this), "BIGINT")
    return None


def _log(tree: exp.Expr) -> exp.Expr | None:
    """log(x) has base 10."""
    return None if tree.args.get("expression") is not None else call("log10", tree.this)


def _side(tree: exp.Expr) -> exp.Expr | None:
    """A negative count leaves out that many characters at the other end."""
    count = tree.expression
    if _natural(count):
        return None
    size = call("char_length", tree.this.copy())
    rest = exp.Add(this=size, expression=exp.Paren(this=count.copy()))
    negative = exp.LT(this=count.copy(), expression=number(0))
    shown = exp.If(this=negative, true=call("greatest", rest, number(0)), false=count)
    return call("left" if isinstance(tree, exp.Left) else "right", tree.this, shown)


def _natural(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Literal) and not tree.is_string


def _like(tree: exp.Expr) -> exp.Expr | None:
    r"""Without ESCAPE a backslash is an ordinary character in DuckDB, and an escape in Spark."""
    if isinstance(tree.parent, exp.Escape):
        return None
    pattern = tree.expression
    if isinstance(pattern, exp.Literal):
        if "\\" in str(pattern.this):
            tree.set("expression", text(str(pattern.this).replace("\\", "\\\\")))
        return None
    return exp.Escape(this=tree.copy(), expression=text("\x01"))


def _full_match(tree: exp.Expr) -> exp.Expr | None:
    """The pattern has to match the whole text."""
    pattern = _flagged(tree.expression, tree.args.get("options") or tree.args.get("flag"))
    if isinstance(pattern, exp.Literal):
        anchored: exp.Expr = text(f"^(?:{pattern.this})\\z")
    else:
        anchored = call("concat", text("^(?:"), pattern, text(")\\z"))
    return call("regexp_like", tree.this, anchored)


def _matches(tree: exp.Expr) -> exp.Expr | None:
    return call("regexp_like", tree.this, _flagged(tree.expression, tree.args.get("flag")))


def _flagged(pattern: exp.Expr, flags: exp.Expr | None) -> exp.Expr:
    """Put DuckDB's options in front of the pattern."""
    if flags is None:
        return pattern
    letters = str(flags.this) if isinstance(flags, exp.Literal) else "?"
    if not set(letters) <= _FLAGS:
        raise NotSupported(f"The regular expression options {flags.sql()} are not supported.")
    wanted = "".join(sorted({"i": "i", "s": "s", "m": "m", "n": "m", "p": "m"}[c]
                            for c in letters if c in "ismnp"))  # fmt: skip
    if not wanted:
        return pattern
    if isinstance(pattern, exp.Literal):
        return text(f"(?{wanted}){pattern.this}")
    return call("concat", text(f"(?{wanted})"), pattern)


def _replace(tree: exp.Expr) -> exp.Expr | None:
    r"""One match is replaced, all with the option g; ``\1`` names a group."""
    replacement = tree.args.get("replacement") or text("")
    if not isinstance(replacement, exp.Literal):
        raise NotSupported("regexp_replace() with a computed replacement is not supported.")
    new = _java_replacement(str(replacement.this))
    flags = tree.args.get("modifiers")
    pattern = _flagged(tree.expression, flags)
    if flags is not None and "g" in str(flags.this):
        return call("regexp_replace", tree.this, pattern, text(new))
    if not isinstance(pattern, exp.Literal):
        raise NotSupported(
            "regexp_replace() of the first match only needs a pattern that is written out.",
            hint="add the option 'g' to replace all matches.",
        )
    # All behind the first match is matched too and put back, so that no second match is left.
    groups = _groups(str(pattern.this))
    rest = text(f"(?:{pattern.this})((?s:.*))\\z")
    return call("regexp_replace", tree.this, rest, text(f"{new}${groups + 1}"))


def _java_replacement(replacement: str) -> str:
    quoted = replacement.replace("$", "\\$")
    return re.sub(r"\\(\d)", r"$\1", quoted)


def _groups(pattern: str) -> int:
    try:
        return re.compile(pattern).groups
    except re.error:
        raise NotSupported(f"The regular expression {pattern!r} cannot be analysed.") from None


def _glob(tree: exp.Expr) -> exp.Expr | None:
    """``*`` and ``?`` and ``[…]`` as a regular expression."""
    if not isinstance(tree.expression, exp.Literal):
        raise NotSupported("GLOB needs a pattern that is written out.")
    pieces = {"*": ".*", "?": ".", "[": "[", "]": "]", "-": "-", "!": "^"}
    pattern = "".join(pieces.get(c) or re.escape(c) for c in str(tree.expression.this))
    return call("regexp_like", tree.this, text(f"^(?s:{pattern})\\z"))


def _typeof(tree: exp.Expr) -> exp.Expr | None:
    """DuckDB's name of the type, where it is known."""
    kind = tree.this.type
    inner = tree.this.unnest()
    if isinstance(inner, exp.Literal) and not inner.is_string and "." in str(inner.this):
        digits = str(inner.this).replace(".", "")
        return text(f"DECIMAL({len(digits)},{len(str(inner.this).split('.')[1])})")
    if (
        known_type(tree.this) is None
        or kind is None
        or (kind.this is DType.DECIMAL and not kind.expressions)
    ):
        raise NotSupported(
            f"Cannot tell the type of {tree.this.sql(dialect=DuckLake)} without running the query.",
            hint="use DESCRIBE, or typeof() of a column or cast.",
        )
    return text(format_sql_type(parse_sql_type(kind.sql(dialect=DuckLake))))


def _byte_string(tree: exp.Expr) -> exp.Expr | None:
    return text(str(tree.this))


def _trunc(tree: exp.Expr) -> exp.Expr | None:
    """The part before the point."""
    value = tree.this
    negative = exp.LT(this=value.copy(), expression=number(0))
    return exp.If(this=negative, true=call("ceil", value.copy()), false=call("floor", value))


def _split_part(tree: exp.Expr) -> exp.Expr | None:
    return call("split_part", tree.this, tree.args["delimiter"], tree.args["part_index"])


def _gcd_unsupported(*_: exp.Expr) -> exp.Expr:
    raise NotSupported("gcd() and lcm() are not supported: Spark has no such function.")


def _divide(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.IntDiv(this=left, expression=call("nullif", right, number(0))))


BY_KIND: dict[type[exp.Expr], Callable[[exp.Expr], exp.Expr | None]] = {
    exp.Length: _length,
    exp.Log: _log,
    exp.Left: _side,
    exp.Right: _side,
    exp.Like: _like,
    exp.ILike: _like,
    exp.RegexpFullMatch: _full_match,
    exp.SimilarTo: _full_match,
    exp.RegexpLike: _matches,
    exp.RegexpReplace: _replace,
    exp.Glob: _glob,
    exp.Typeof: _typeof,
    exp.ByteString: _byte_string,
    exp.Trunc: _trunc,
    exp.SplitPart: _split_part,
}

BY_NAME: dict[str, Callable[..., exp.Expr]] = {
    "strlen": lambda x: cast(call("octet_length", x), "BIGINT"),
    "suffix": lambda x, y: call("endswith", x, y),
    "prefix": lambda x, y: call("startswith", x, y),
    "regexp_split_to_array": lambda x, y: call("split", x, y),
    "gcd": _gcd_unsupported,
    "lcm": _gcd_unsupported,
    "divide": _divide,
    "add": lambda x, y: exp.Paren(this=exp.Add(this=x, expression=y)),
    "subtract": lambda x, y: exp.Paren(this=exp.Sub(this=x, expression=y)),
    "multiply": lambda x, y: exp.Paren(this=exp.Mul(this=x, expression=y)),
    "ord": lambda x: call("ascii", x),
    "unicode": lambda x: call("ascii", x),
    "uuidv4": lambda: call("uuid"),
    "isinf": lambda x: exp.In(this=x, expressions=[cast(text("Infinity"), "DOUBLE"),
                                                   cast(text("-Infinity"), "DOUBLE")]),
    "strip_accents": lambda x: call("translate", x, text(_ACCENTED), text(_PLAIN)),
}  # fmt: skip

_ACCENTED = "ÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÑÒÓÔÕÖÙÚÛÜÝàáâãäåçèéêëìíîïñòóôõöùúûüýÿ"
_PLAIN = "AAAAAACEEEEIIIINOOOOOUUUUYaaaaaaceeeeiiiinooooouuuuyy"

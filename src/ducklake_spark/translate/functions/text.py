"""Functions of text. Letters are not folded here: DuckDB and Spark know other tables for that."""

from __future__ import annotations

from typing import Final

from ducklake_spark.binder.expressions import Constant
from ducklake_spark.translate.fragments import Fragment, joined, literal_text, sql
from ducklake_spark.translate.functions.templates import (
    BINARY,
    TEXT,
    first_of,
    has_types,
    number_of,
    on,
    text_of,
)
from ducklake_spark.translate.rules import Call, Rule, Rules

# What Unicode calls a space separator: DuckDB trims all of them, Spark only the first.
_SPACES: Final = "\x20\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u202f\u205f\u3000"
_BIGINTS: Final = frozenset({"BIGINT"})
_LONGEST: Final = 2**31 - 1


def substring(call: Call) -> Fragment | None:
    """``substring`` from a constant place at the front, of a constant length."""
    kinds = (TEXT, _BIGINTS, _BIGINTS)[: len(call.arguments)]
    start, length = number_of(call, 1), number_of(call, 2)
    if not has_types(call, *kinds) or start is None or not 0 < start <= _LONGEST:
        return None
    if len(kinds) == 2:
        return sql(f"substring({{0}}, {start})", *call.arguments)
    if length is None or not 0 <= length <= _LONGEST:
        return None
    return sql(f"substring({{0}}, {start}, {length})", *call.arguments)


def character(call: Call) -> Fragment | None:
    """The character at a constant place of a text."""
    place = number_of(call, 1)
    if not has_types(call, TEXT, _BIGINTS) or place is None or not 0 < place <= _LONGEST:
        return None
    return sql(f"substring({{0}}, {place}, 1)", *call.arguments)


def text_slice(call: Call) -> Fragment | None:
    """A text from one constant place to another."""
    first, last = number_of(call, 1), number_of(call, 2)
    if not has_types(call, TEXT, _BIGINTS, _BIGINTS) or first is None or last is None:
        return None
    if not 0 < first <= last <= _LONGEST:
        return None
    return sql(f"substring({{0}}, {first}, {last - first + 1})", *call.arguments)


def _end_of_text(name: str) -> Rule:
    """left() and right() of a constant length."""

    def rule(call: Call) -> Fragment | None:
        length = number_of(call, 1)
        fits = has_types(call, TEXT, _BIGINTS) and length is not None and 0 <= length <= _LONGEST
        return sql(f"{name}({{0}}, {length})", *call.arguments) if fits else None

    return rule


def _padded(name: str) -> Rule:
    """lpad() and rpad() with constants."""

    def rule(call: Call) -> Fragment | None:
        length = number_of(call, 1)
        if not has_types(call, TEXT, {"INTEGER"}, TEXT) or not text_of(call, 2):
            return None
        fits = length is not None and 0 <= length < _LONGEST
        return sql(f"{name}({{0}}, {length}, {{2}})", *call.arguments) if fits else None

    return rule


def _trimmed(side: str) -> Rule:
    """trim() of spaces, or of the characters of a constant."""

    def rule(call: Call) -> Fragment | None:
        if has_types(call, TEXT):
            return sql(f"trim({side} {literal_text(_SPACES)} FROM {{0}})", *call.arguments)
        if not has_types(call, TEXT, TEXT) or not text_of(call, 1):
            return None
        return sql(f"trim({side} {{1}} FROM {{0}})", *call.arguments)

    return rule


def repeated(call: Call) -> Fragment | None:
    """repeat() of a text, a constant number of times."""
    times = number_of(call, 1)
    fits = has_types(call, TEXT, _BIGINTS) and times is not None and 0 <= times <= _LONGEST
    return sql(f"repeat({{0}}, {times})", *call.arguments) if fits else None


def concat(call: Call) -> Fragment | None:
    """``concat`` of texts, in which NULL is nothing."""
    if not _are_texts(call):
        return None
    return sql("concat_ws('', {})", joined(", ", call.arguments))


def concat_with(call: Call) -> Fragment | None:
    """concat_ws() of texts."""
    if not _are_texts(call) or len(call.arguments) < 2:
        return None
    return sql("concat_ws({})", joined(", ", call.arguments))


def split(call: Call) -> Fragment | None:
    """string_split() at a constant text."""
    separator = text_of(call, 1)
    if not has_types(call, TEXT, TEXT) or not separator or "\\E" in separator:
        return None
    pattern = literal_text(f"\\Q{separator}\\E")
    return sql(f"split({{0}}, {pattern}, -1)", *call.arguments)


def find(call: Call) -> Fragment | None:
    """The place of one text in another."""
    return on("CAST(instr({}, {}) AS BIGINT)", TEXT, TEXT)(call)


def translate(call: Call) -> Fragment | None:
    """``translate`` by constants in which no character is twice."""
    old, new = text_of(call, 1), text_of(call, 2)
    if not has_types(call, TEXT, TEXT, TEXT) or old is None or new is None:
        return None
    return sql("translate({}, {}, {})", *call.arguments) if len(set(old)) == len(old) else None


def _are_texts(call: Call) -> bool:
    known = all(not _is_null(each) for each in call.nodes)
    return bool(call.arguments) and set(call.ids()) == {"VARCHAR"} and known


def _is_null(node: object) -> bool:
    return isinstance(node, Constant) and node.value is None


_HASHED: Final = "CAST({} AS BINARY)"

RULES: Final[Rules] = {
    "substring": substring,
    "left": _end_of_text("left"),
    "right": _end_of_text("right"),
    "lpad": _padded("lpad"),
    "rpad": _padded("rpad"),
    "trim": _trimmed("BOTH"),
    "ltrim": _trimmed("LEADING"),
    "rtrim": _trimmed("TRAILING"),
    "repeat": repeated,
    "concat": concat,
    "||": first_of(on("concat({}, {})", TEXT, TEXT), on("concat({}, {})", BINARY, BINARY)),
    "concat_ws": concat_with,
    "string_split": split,
    "instr": find,
    "translate": translate,
    "strlen": on("CAST(octet_length({}) AS BIGINT)", TEXT),
    "octet_length": on("CAST(octet_length({}) AS BIGINT)", BINARY),
    "bit_length": on("CAST(bit_length({}) AS BIGINT)", TEXT),
    "replace": on("replace({}, {}, {})", TEXT, TEXT, TEXT),
    "^@": on("startswith({}, {})", TEXT, TEXT),
    "prefix": on("startswith({}, {})", TEXT, TEXT),
    "suffix": on("endswith({}, {})", TEXT, TEXT),
    "ascii": on("ascii({})", TEXT),
    "unicode": on("if({0} = '', -1, ascii({0}))", TEXT),
    "md5": first_of(on(f"md5({_HASHED})", TEXT), on("md5({})", BINARY)),
    "sha1": first_of(on(f"sha1({_HASHED})", TEXT), on("sha1({})", BINARY)),
    "sha256": first_of(on(f"sha2({_HASHED}, 256)", TEXT), on("sha2({}, 256)", BINARY)),
    "hex": on("hex({})", TEXT | BINARY | {"BIGINT"}),
    "bin": on("bin({})", _BIGINTS),
    "to_base64": on(r"replace(base64({}), '\r\n', '')", BINARY),
    "encode": on("CAST({} AS BINARY)", TEXT),
}

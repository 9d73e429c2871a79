"""The expressions of the matrix: every overload of DuckDB that has a rule, in several ways."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import Final

import duckdb

from ducklake_spark.translate.functions import SCALARS
from support.function_matrix import KINDS, column_of

_OPERATOR: Final = re.compile(r"\W+")
_CONSTANTS: Final[dict[str, tuple[str, ...]]] = {
    "TINYINT": ("0", "2", "-1", "127"),
    "SMALLINT": ("0", "2", "-1", "32767"),
    "INTEGER": ("0", "1", "3", "-1", "2147483647"),
    "BIGINT": ("0", "1", "2", "5", "-2", "400", "9223372036854775807"),
    "DOUBLE": ("0", "2", "-2.5", "'nan'", "'inf'"),
    "FLOAT": ("0", "2", "-2.5"),
    "DECIMAL": ("0", "2", "-2.5"),
    "VARCHAR": ("''", "'a'", "'ab'", "'%b%'", "'é'", "'\\'", "'a_'", "','", "' '", "NULL"),
    "DATE": ("'2024-02-29'", "'0001-01-01'"),
    "TIMESTAMP": ("'2024-02-29 12:34:56.789'", "'1500-01-01'"),
    "INTERVAL": (
        *("'1 day'", "'-1 month'", "'1 year 2 months 3 days 4 hours'", "'36 hours'", "'1 us'"),
        *("'0 days'", "'100 years'", "'90 minutes'", "'-25:00:00.5'"),
    ),
}
_PARTS: Final = (
    *("'year'", "'quarter'", "'month'", "'week'", "'day'", "'hour'", "'minute'", "'second'"),
    *("'dow'", "'doy'", "'isodow'", "'isoyear'", "'YEARS'", "'m'", "'decade'", "'epoch'", "'ms'"),
    *("'mons'", "'century'", "'julian'"),
)
_PATTERNS: Final = (
    *("a", "^a", "a$", "^abc$", "b.", ".*", "a|b", "^(a|b)", "[a-c]+", "[^a-c]", "(a)(b)", "(a)?b"),
    *(r"\d+", r"\s", r"\S+", r"\w+", "a{2}", "a{1,2}", "x{0,3}", ".+", "é", "[é😀]", "^.*b", "b*"),
    *(
        "(?:ab)+",
        r"^https?://(?:www\.)?([^/]+)/.*$",
        "(a*)",
        "a.c",
        "^$",
        "$",
        "[ab]?c",
        "(a+)(b*)",
    ),
    *(
        "(b|bc)c?",
        ".",
        r"\.",
        "[.]",
        "[-a]",
        "[a-]",
        "a*?b",
        ".*?c",
        "(^a)|b",
        r"\$",
        r"\\",
        "(?i)a",
    ),
)
_REPLACEMENTS: Final = ("'<\\0>'", "'$x\\1'", "'\\\\'", "''")
_LIKES: Final = (
    *("'a%'", "'%b%'", "'_'", "'%'", "''", r"'a\%'", r"'a~\_%'", "'%é%'", "'ab_cd'", "'__'"),
    *(
        r"'%\'",
        "'%😀%'",
        "'.*'",
        "'[a]'",
        "'$1%'",
        "'a%c'",
        "'%a%b%'",
        "'HELLO%'",
        "'%É%'",
        "'%σ'",
        "NULL",
    ),
)
_ESCAPED_LIKES: Final = ("'a!%'", "'!%%'", "'a!_b'", "'!!'", "'a!b'", "'a'", "'%!'")
_FORMATS: Final = (
    *("'%Y-%m-%d %H:%M:%S'", "'%Y'", "'%j|%B|%b|%A|%a|%%'", "'it''s {%d}'", "'%y'", "'%H'", "''"),
)
_NUMBERS: Final = ("0", "1", "2", "3", "5", "100", "400", "-1", "2147483647", "3000000000")
_SPECIAL: Final[dict[tuple[str, int], tuple[str, ...]]] = {
    **{(name, 0): _PARTS for name in ("date_part", "date_trunc", "date_diff")},
    **{(name, 1): tuple(f"'{p}'" for p in _PATTERNS) for name in SCALARS if "regexp" in name},
    ("regexp_replace", 2): _REPLACEMENTS,
    ("regexp_replace", 3): ("'g'", "'i'", "''"),
    ("regexp_extract", 2): ("0", "1", "2"),
    **{(name, 1): _LIKES for name in ("~~", "!~~", "~~*", "!~~*")},
    **{(name, 1): _ESCAPED_LIKES for name in ("like_escape", "not_like_escape")},
    **{(name, 2): ("'!'",) for name in ("like_escape", "not_like_escape")},
    **{(name, 1): _NUMBERS for name in ("left", "right", "substring", "lpad", "rpad", "round")},
    **{(name, 3): ("'i'", "''") for name in ("regexp_extract", "regexp_extract_all")},
    **{(name, 2): ("'i'", "''") for name in ("regexp_matches", "regexp_full_match")},
    **{("list_slice", place): ("0", "1", "2", "-1", "2147483647", "NULL") for place in (1, 2, 3)},
    ("repeat", 1): _NUMBERS[:7],
    ("substring", 2): ("0", "1", "2", "-1", "100", "2147483647"),
    **{(name, 2): ("'xy'", "'é'", "''") for name in ("lpad", "rpad", "translate", "replace")},
    **{("strftime", place): _FORMATS for place in (0, 1)},
    ("translate", 1): ("'a'", "'ab'", "'é😀'", "'aa'", "''"),
}
_MOST: Final = 60  # expressions with several constants
_TAKES_ANYTHING: Final = {
    **dict.fromkeys(("concat", "concat_ws", "||"), ("VARCHAR", "INTEGER")),
    "cardinality": tuple(kind for kind in KINDS if kind.startswith("MAP")),
    "list_slice": ("VARCHAR", "INTEGER[]", "VARCHAR[]"),
}
_ELEMENTS: Final = {
    "INTEGER[]": "INTEGER",
    "VARCHAR[]": "VARCHAR",
    "DOUBLE[]": "DOUBLE",
}
_MAPS: Final = {"MAP(VARCHAR, INTEGER)": "VARCHAR", "MAP(INTEGER, VARCHAR)": "INTEGER"}
_OTHERS: Final = (
    "struct_pack(x := a_2, y := b_19)",
    'struct_pack("it\'s {}" := a_2)',
    "[a_2, b_2, c_2]",
    "[[a_2], [b_2]]",
    "concat(a_19, 'x', b_19, c_19)",
    "a_21 + INTERVAL 3 DAY",
    "a_22 - INTERVAL '90' MINUTE",
    "a_22 + INTERVAL (2) MONTH",
    "a_2 / 4",
    "3 / b_2",
    "a_2 * 1.5",
    "a_11 * b_12 * c_11",
    "a_2 % 7",
    "greatest(a_2, b_2, c_2)",
    "least(a_19, b_19, 'm')",
    "a_19[2]",
    "a_19[2:3]",
    "a_23[2]",
    "a_23[2:3]",
)
_STRUCT: Final = "STRUCT(a INTEGER, b VARCHAR)"


def overloads() -> Iterator[tuple[str, tuple[str, ...]]]:
    """The functions with a rule and the types of their parameters, without other names."""
    rows = duckdb.execute(
        "SELECT DISTINCT function_name, parameter_types FROM duckdb_functions()"
        " WHERE function_type = 'scalar' AND alias_of IS NULL ORDER BY ALL"
    ).fetchall()
    yield from ((name, tuple(types)) for name, types in rows if name in SCALARS)


def texts_of_all() -> list[str]:
    """The expressions of all overloads and of what duckdb_functions() does not describe."""
    found = (text for overload in overloads() for text in texts_of(*overload))
    return list(dict.fromkeys((*found, *_OTHERS)))


def texts_of(name: str, parameters: tuple[str, ...]) -> Iterator[str]:
    """Expressions of one overload: columns, and constants at each place and behind the first."""
    for kinds in _kinds_of(name, parameters):
        columns = [column_of(k, n) if k in KINDS else None for n, k in enumerate(kinds)]
        choices = [_constants(name, n, k) for n, k in enumerate(kinds)]
        if columns and None not in columns:
            yield _call(name, [c for c in columns if c])
        yield from _with_constants(name, columns, choices)


def _with_constants(
    name: str, columns: list[str | None], choices: list[tuple[str, ...]]
) -> Iterator[str]:
    size = len(columns)
    for place in range(size) if size > 1 else ():
        others = columns[:place] + columns[place + 1 :]
        if None not in others:
            for constant in choices[place]:
                found = [*columns[:place], constant, *columns[place + 1 :]]
                yield _call(name, [each for each in found if each])
    if size > 2 and columns[0]:
        combined = list(product(*choices[1:]))
        for constants in combined[:: 1 + len(combined) // _MOST]:
            yield _call(name, [columns[0], *constants])
    elif size > 2:
        yield from (_call(name, [c, *(e for e in columns[1:] if e)]) for c in choices[0])


def _constants(name: str, place: int, kind: str) -> tuple[str, ...]:
    found = _SPECIAL.get((name, place))
    if found is None:
        found = _CONSTANTS.get("DECIMAL" if kind.startswith("DECIMAL") else kind, ())
    if name == "list_slice":
        return tuple(f"CAST({each} AS BIGINT)" for each in found)
    return tuple(f"CAST({each} AS {kind})" if each != "NULL" else each for each in found)


def _call(name: str, arguments: list[str]) -> str:
    if not _OPERATOR.fullmatch(name):
        return f'"{name}"({", ".join(arguments)})'
    if len(arguments) == 1:
        return f"{name}({arguments[0]})"
    return f"{arguments[0]} {name} {arguments[1]}"


def _kinds_of(name: str, parameters: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Types of the matrix for the types of an overload."""
    if "DECIMAL" in parameters:
        yield from _kinds_of_decimals(parameters)
    elif any("MAP(" in p for p in parameters):
        for kind, key in _MAPS.items():
            yield tuple(kind if "MAP(" in p else key for p in parameters)
    elif any(p.endswith("[]") for p in parameters):
        for kind, element in _ELEMENTS.items():
            named = {"T[]": kind, "ANY[]": kind, "T": element}
            yield tuple(named.get(p, p) for p in parameters)
    elif {"T", "ANY"} & set(parameters):
        once = parameters == ("ANY",) and name != "cardinality"
        for kind in _TAKES_ANYTHING.get(name, KINDS):
            yield tuple(kind if p in ("T", "ANY") else p for p in parameters) * (1 + once)
    else:
        yield tuple(_STRUCT if p == "STRUCT" else p for p in parameters)


def _kinds_of_decimals(parameters: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    kinds = [each for each in KINDS if each.startswith("DECIMAL")]
    for kind in kinds:
        yield tuple(kind if p == "DECIMAL" else p for p in parameters)
    if parameters == ("DECIMAL", "DECIMAL"):
        yield kinds[0], kinds[1]
        yield kinds[2], kinds[6]

"""Interesting values of each type, and how the tables of DuckDB and Spark hold them."""

from __future__ import annotations

from typing import Final

_NUMBERS: Final = {
    "TINYINT": (8, True, "TINYINT"),
    "SMALLINT": (16, True, "SMALLINT"),
    "INTEGER": (32, True, "INT"),
    "BIGINT": (64, True, "BIGINT"),
    "UTINYINT": (8, False, "SMALLINT"),
    "USMALLINT": (16, False, "INT"),
    "UINTEGER": (32, False, "BIGINT"),
    "UBIGINT": (64, False, "DECIMAL(20,0)"),
}


def _integers(bits: int, *, is_signed: bool) -> list[str]:
    top = 2 ** (bits - is_signed) - 1
    bottom = -top - 1 if is_signed else 0
    near = (-100, -7, -3, -2, -1, 0, 1, 2, 3, 5, 7, 8, 10, 31, 32, 33, 63, 100)
    edges = (bottom, bottom + 1, top - 1, top, top // 2, top // 2 + 1)
    return [str(each) for each in sorted({*near, *edges}) if bottom <= each <= top]


_FLOATS: Final = (
    *("0.0", "-0.0", "1.0", "-1.0", "2.0", "3.0", "0.1", "-2.5", "2.5", "1.5", "0.5", "-0.5"),
    *("7.0", "1e10", "-1e10", "123456.789", "3.4028234e38", "1e-40", "'nan'", "'inf'", "'-inf'"),
    *("9007199254740993", "1e-300", "1.7976931348623157e308", "-1.7976931348623157e308", "0.3"),
)
_TEXTS: Final = (
    *("", "a", "abc", "abcabc", "ABC", "Hello World", "  spaced out  ", " ", "\t tab \n", "a%b"),
    *("a_b", "a\\b", "\\", "%", "_", "ab\ncd", "é", "e\u0301", "Straße", "ÉCOLE", "😀", "a😀b😀"),
    *("\u3000wide\u3000", "\xa0nbsp\xa0", "日本語テキスト", "x" * 300, "a,b,,c", ",", "1", "-12.5"),
    *("İı", "ΑΣ", "👨\u200d👩\u200d👧", "\u1680o\u2003", "aaa", "ab", "b", "$1\\1", "[a]"),
)
_DATES: Final = (
    *("1970-01-01", "2000-02-29", "2024-02-29", "2023-02-28", "2024-12-31", "2025-01-01"),
    *("2021-01-03", "2021-01-04", "1582-10-04", "1582-10-15", "1500-02-28", "1400-03-01"),
    *("0001-01-01", "9999-12-31", "1900-02-28", "1969-12-31", "2024-03-31", "2024-10-27"),
    *("1999-05-05", "2020-08-31", "infinity", "-infinity", "0044-03-15 (BC)", "12345-06-07"),
)
_TIMES: Final = (
    *("1970-01-01 00:00:00", "2000-02-29 23:59:59.999999", "2024-02-29 12:34:56.789012"),
    *("1969-12-31 23:59:59.5", "1582-10-04 01:02:03", "1582-10-15 04:05:06", "0001-01-01 00:00:00"),
    *("9999-12-31 23:59:59.999999", "2024-03-31 02:30:00", "2024-10-27 02:30:00"),
    *("2024-01-31 10:00:00", "1500-02-28 13:00:01.5", "2021-01-03 00:00:00.000001"),
    *("1900-01-01 05:06:07.008", "1999-12-31 23:59:00", "2038-01-19 03:14:08"),
    *("2024-03-31 03:00:00", "infinity", "-infinity", "0044-03-15 (BC) 12:00:00"),
    *("12345-06-07 08:09:10.111213", "1960-05-05 23:00:00"),
)


def _quoted(values: tuple[str, ...] | list[str]) -> list[str]:
    return ["'" + each.replace("'", "''") + "'" for each in values]


def _decimals(width: int, scale: int) -> list[str]:
    top = "9" * (width - scale) + ("." + "9" * scale if scale else "")
    small = "0." + "0" * (scale - 1) + "1" if scale else "1"
    half = "0.5" if scale else "5"
    some = ("0", "1", "-1", "2.5", "-2.5", "1.45", "7", "9.99", "-0.05", "3", half, small)
    fits = [each for each in some if width - scale > 0 or abs(float(each)) < 1]
    digits = "12345678901234567890123456789012345678"[:width]
    mixed = digits[: width - scale] + ("." + digits[width - scale :] if scale else "")
    return [*fits, top, "-" + top, mixed, "-" + mixed]


DECIMALS: Final = ((4, 1), (9, 2), (18, 4), (18, 0), (38, 2), (38, 10), (15, 2))

VALUES: Final[dict[str, list[str]]] = {
    **{name: _integers(bits, is_signed=signed) for name, (bits, signed, _) in _NUMBERS.items()},
    "HUGEINT": [
        *("0", "1", "-1", "2", "3", "-7", "10", "9223372036854775808", "-9223372036854775809"),
        *("99999999999999999999999999999999999999", "-99999999999999999999999999999999999999"),
        *("10000000000000000000", "-12345678901234567890123456789012345678"),
    ],
    "FLOAT": [each for each in _quoted([f.strip("'") for f in _FLOATS]) if "e308" not in each],
    "DOUBLE": _quoted([each.strip("'") for each in _FLOATS]),
    **{f"DECIMAL({w},{s})": _quoted(_decimals(w, s)) for w, s in DECIMALS},
    "BOOLEAN": ["true", "false"],
    "VARCHAR": [*_quoted(_TEXTS), "concat('c', chr(0), 'd')"],
    "BLOB": [r"''", r"'a'", r"'\x00\xFF'", r"'abc'", r"'\xC3\xA9'", "'" + "b" * 200 + "'"],
    "DATE": _quoted(_DATES),
    "TIMESTAMP": _quoted(_TIMES),
    "INTEGER[]": ["[]", "[1]", "[1,2,3]", "[NULL]", "[3,NULL,1]", "[1,1,2]", "[-1,2147483647]"],
    "VARCHAR[]": ["[]", "['a']", "['a','b',NULL]", "['']", "['é','😀']"],
    "DOUBLE[]": ["[]", "[1.5]", "['nan'::DOUBLE, 0.0]", "[-0.0, NULL]"],
    "MAP(VARCHAR, INTEGER)": ["MAP {}", "MAP {'a': 1}", "MAP {'a': NULL, 'b': 2, '': 3}"],
    "MAP(INTEGER, VARCHAR)": ["MAP {}", "MAP {1: 'x'}", "MAP {2: NULL, 3: '', -1: 'é'}"],
    "STRUCT(a INTEGER, b VARCHAR)": ["{'a': 1, 'b': 'x'}", "{'a': NULL, 'b': NULL}"],
    "TIMESTAMP WITH TIME ZONE": _quoted(_TIMES),
}
"""Texts of DuckDB; NULL is added to each."""

CARRIERS: Final[dict[str, str]] = {
    **{name: carrier for name, (_, _, carrier) in _NUMBERS.items()},
    **{name: name for name in VALUES if name.startswith("DECIMAL")},
    "HUGEINT": "DECIMAL(38,0)",
    "UHUGEINT": "DECIMAL(38,0)",
    "FLOAT": "FLOAT",
    "DOUBLE": "DOUBLE",
    "BOOLEAN": "BOOLEAN",
    "VARCHAR": "STRING",
    "BLOB": "BINARY",
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP_NTZ",
    "INTEGER[]": "ARRAY<INT>",
    "VARCHAR[]": "ARRAY<STRING>",
    "DOUBLE[]": "ARRAY<DOUBLE>",
    "MAP(VARCHAR, INTEGER)": "MAP<STRING, INT>",
    "MAP(INTEGER, VARCHAR)": "MAP<INT, STRING>",
    "STRUCT(a INTEGER, b VARCHAR)": "STRUCT<a: INT, b: STRING>",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
}
"""The types of Spark that hold them."""

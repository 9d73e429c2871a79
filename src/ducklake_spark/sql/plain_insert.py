"""INSERT … VALUES of plain constants, read without the parser.

When rows come one by one, reading them would take as long as all else that is done in Python. Only
the simplest form is read here, and what it becomes is what the parser makes of it; all other texts
are left to the parser, mistakes included.
"""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from ducklake_spark.sql import statements as st
from ducklake_spark.sql.dialect import DuckLake

_BLANK: Final = r"[ \t\r\n]"
_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_START: Final = re.compile(
    rf"{_BLANK}*INSERT{_BLANK}+INTO{_BLANK}+(?P<table>{_NAME}(?:\.{_NAME}){{0,2}})"
    rf"(?:{_BLANK}+|{_BLANK}*\((?P<columns>[A-Za-z0-9_, \t\r\n]*)\){_BLANK}*)VALUES{_BLANK}*\(",
    re.IGNORECASE | re.ASCII,
)
_COLUMN: Final = re.compile(rf"{_BLANK}*({_NAME}){_BLANK}*", re.ASCII)
_CELL: Final = re.compile(
    rf"{_BLANK}*(?:(?P<sign>-?)(?P<number>[0-9]+(?:\.[0-9]+)?)"
    rf"|'(?P<text>[^']*(?:''[^']*)*)'|(?P<word>NULL|TRUE|FALSE)){_BLANK}*(?P<after>[,)])",
    re.IGNORECASE | re.ASCII,
)
_NEXT_ROW: Final = re.compile(rf"{_BLANK}*,{_BLANK}*\(")
_END: Final = re.compile(rf"{_BLANK}*;?{_BLANK}*")
# Words that mean something, alone or as the first of several: they may be names, or not.
_WORDS: Final = frozenset(word.split(" ")[0].upper() for word in DuckLake.Tokenizer.KEYWORDS) | {
    *("AS", "BY", "DEFAULT", "INTO", "OR", "OVERWRITE", "TABLE", "VALUES")
}


def parse_plain_insert(text: str) -> st.Insert | None:
    """The statement, or None if the text is of any other form."""
    start = _START.match(text)
    if start is None:
        return None
    table = tuple(start["table"].split("."))
    columns = _names(start["columns"])
    if columns == () or not _WORDS.isdisjoint(word.upper() for word in (*table, *(columns or ()))):
        return None
    rows, at = [], start.end()
    while (row := _read_row(text, at)) is not None:
        cells, at = row
        rows.append(exp.Tuple(expressions=cells))
        following = _NEXT_ROW.match(text, at)
        if following is None:
            complete = _END.fullmatch(text, at) is not None
            return st.Insert(table, exp.Values(expressions=rows), columns) if complete else None
        at = following.end()
    return None


def _names(text: str | None) -> tuple[str, ...] | None:
    """The names of a column list, None without one; an empty tuple for what is none."""
    if text is None:
        return None
    found = [_COLUMN.fullmatch(part) for part in text.split(",")]
    return tuple(match[1] for match in found if match) if all(found) else ()


def _read_row(text: str, at: int) -> tuple[list[exp.Expr], int] | None:
    """The cells from a place behind an opening parenthesis on, and the place behind the closing."""
    cells: list[exp.Expr] = []
    while match := _CELL.match(text, at):
        sign, number, string, word, after = match.groups()
        if number is not None:
            cell: exp.Expr = exp.Literal(this=number, is_string=False)
            cells.append(exp.Neg(this=cell) if sign else cell)
        elif string is not None:
            cells.append(exp.Literal(this=string.replace("''", "'"), is_string=True))
        else:
            name = word.upper()
            cells.append(exp.Null() if name == "NULL" else exp.Boolean(this=name == "TRUE"))
        at = match.end()
        if after == ")":
            return cells, at
    return None

"""Makes docs/reference/functions.md: `python -m support.function_reference` writes it."""

from __future__ import annotations

import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import duckdb

from ducklake_spark.binder.types import SIGNED, UNSIGNED
from ducklake_spark.translate import engine_text
from ducklake_spark.translate.functions import ALIASES
from support.function_cases import overloads, texts_of
from support.function_matrix import Matrix

PAGE: Final = Path(__file__).parents[2] / "docs" / "reference" / "functions.md"
_REASONS: Final = {
    **dict.fromkeys(("nextval", "currval"), "sequences are no part of a lake"),
    **dict.fromkeys(("setseed", "write_log", "sleep_ms"), "changes the place where it runs"),
    "parse_duckdb_log_message": "reads DuckDB's own log",
    "getenv": "asks the place where it runs",
}
_ABOUT_HERE: Final = "is about DuckDB's own connection, plan or storage"
_UNCARRIED: Final = (
    *("GEOMETRY", "BIGNUM", "VARIANT", "AGGREGATE_STATE", "TYPE", "UNION", "INVALID", "TIME_NS"),
)
_ORDER: Final = (*SIGNED, *UNSIGNED, "FLOAT", "DOUBLE", "DECIMAL", "VARCHAR", "BLOB", "DATE")
_HEAD: Final = """\
# Functions

A query in DuckDB's dialect is bound by DuckDB itself: names, overloads, implicit casts and types
are DuckDB's. What a function answers is, too. There are three ways, and no other:

- **Spark computes it** where its answer is proven to be DuckDB's in value, type and error. The
  proof is a test: every overload below runs over tables of values (NULL, empty, extremes, NaN,
  infinities, all of Unicode, dates before 1582 and after 9999) in both engines.
- **DuckDB computes it inside Spark's tasks**, batch by batch: exact, since it is DuckDB. `EXPLAIN`
  shows such a call as `duck_<name>_…`. Rows go to a Python worker and back: measured on two cores
  that is 1.0 to 1.7 million rows a second for a function of text, 1.3 times (`levenshtein`) to 3.2
  times (`list_sort`) the time of a function of Spark, and 160 to 210 MB for a worker.
- **It is refused by name** with NotSupported.

What reads no row is computed once by DuckDB, when the query is planned.

This page is made from the registry and from `duckdb_functions()` of DuckDB {version}; a test holds
it. Of {overloads} overloads (other names counted) Spark computes {native}, DuckDB in tasks
{engine}, and {refused} are refused.

## Computed by Spark

*Constants*: Spark computes it where all arguments but the first (of a function of dates: the part)
are constants of a form that is known to be equal, such as a place from the front, a pattern without
repeated groups, an interval. Otherwise DuckDB computes it. Functions of TIMESTAMP WITH TIME ZONE
are Spark's where the session's zone is UTC: of some zones the two know different histories.

| Function | Other names | Of |
|---|---|---|
"""


_TAIL: Final = """\

## Refused

Also overloads of other functions of such types.

| Functions | Why |
|---|---|
{refused}
## Computed by DuckDB in tasks

All others, and those above with other arguments:

{engine}
"""
Overload = tuple[str, tuple[str, ...]]


def page() -> str:
    """The text of the page."""
    native, with_columns = _native()
    ways = _ways(set(native))
    counts = Counter(way if way in ("native", "engine") else "refused" for way in ways.values())
    rows = "".join(
        f"| {_code([name])} | {_code(_others(name))} | {of} |\n"
        for name, of in _described(native, with_columns).items()
    )
    head = _HEAD.format(version=duckdb.__version__, overloads=len(ways), **counts)
    return head + rows + _rest(ways)


def _native() -> tuple[list[Overload], set[str]]:
    """The overloads that Spark computes for some arguments, and functions that need no constant."""
    matrix = Matrix()
    found: list[Overload] = [("error", ("VARCHAR",)), ("struct_pack", ())]
    with_columns = {"error", "struct_pack"}
    for name, parameters in overloads():
        texts = {case.text for case in matrix.cases(list(texts_of(name, parameters)))}
        found += [(name, parameters)] if texts else []
        with_columns |= {name for text in texts if "CAST(" not in text}
    return found, with_columns


def _ways(native: set[Overload]) -> dict[Overload, str]:
    """How each overload is computed: `native`, `engine`, or the reason why it is not."""
    rows = duckdb.execute(
        "SELECT DISTINCT function_name, parameter_types, return_type, coalesce(alias_of, '')"
        " FROM duckdb_functions() WHERE function_type = 'scalar' ORDER BY ALL"
    ).fetchall()
    return {
        (name, tuple(types)): _way(name, tuple(types), returned, alias, native)
        for name, types, returned, alias in rows
    }


def _way(
    name: str, types: tuple[str, ...], returned: str, alias: str, native: set[Overload]
) -> str:
    if (ALIASES.get(name, alias or name), types) in native:
        return "native"
    if name.startswith("__internal"):
        return "only DuckDB's optimizer writes it"
    if name in engine_text._REFUSED:
        return _REASONS.get(name, _ABOUT_HERE)
    told = " ".join((*types, returned))
    found = [kind for kind in _UNCARRIED if kind in told]
    return f"values of type {found[0]} have no carrier in Spark" if found else "engine"


def _described(native: list[Overload], with_columns: set[str]) -> dict[str, str]:
    """What each function is computed of."""
    kinds: dict[str, set[str]] = defaultdict(set)
    for name, parameters in native:
        kinds[name].add(_shown(parameters))
    return {
        name: ", ".join(sorted(found, key=_place)) + ("" if name in with_columns else "; constants")
        for name, found in sorted(kinds.items())
    }


def _place(kind: str) -> tuple[int, str]:
    return (_ORDER.index(kind) if kind in _ORDER else len(_ORDER), kind)


def _shown(parameters: tuple[str, ...]) -> str:
    """What the overload is of: its first parameter, after the name of a part."""
    known = {"T": "anything", "ANY": "anything", "T[]": "lists", "ANY[]": "lists"}
    if not parameters:
        return "anything"
    is_part = parameters[0] == "VARCHAR" and parameters[-1].startswith(("DATE", "TIMESTAMP"))
    first = parameters[int(is_part)]
    return known.get(first, "maps" if "MAP(" in first else first)


def _others(name: str) -> list[str]:
    return sorted(alias for alias, known in ALIASES.items() if known == name)


def _rest(ways: Mapping[Overload, str]) -> str:
    """What is refused and what DuckDB computes, by name."""
    native = {name for (name, _), way in ways.items() if way == "native"}
    engine = {name for (name, _), way in ways.items() if way == "engine"} - native
    refused: dict[str, set[str]] = defaultdict(set)
    for (name, _), way in ways.items():
        if way not in ("native", "engine") and name not in native | engine:
            refused[way].add(name)
    rows = "".join(
        f"| {_code(_shortened(names))} | {why} |\n" for why, names in sorted(refused.items())
    )
    return _TAIL.format(refused=rows, engine=_wrapped(_shortened(engine)))


def _shortened(names: Iterable[str]) -> list[str]:
    """The names, with one for the families that there are a hundred of."""
    families = ("__internal_compress", "__internal_decompress", "icu_collate_")
    found = {
        next((f"{family}*" for family in families if name.startswith(family)), name)
        for name in names
    }
    return sorted(found)


def _wrapped(names: list[str]) -> str:
    text = ", ".join(f"`{name}`" for name in names)
    return "\n".join(textwrap.wrap(text, 100, break_long_words=False, break_on_hyphens=False))


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name.replace('|', chr(92) + '|')}`" for name in names)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

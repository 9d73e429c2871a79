"""Types of columns, and values of them as SQL that the lake and plain DuckDB read alike."""

from __future__ import annotations

import random
from typing import Any

NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
WIDER = {
    "TINYINT": ("SMALLINT", "BIGINT"),
    "SMALLINT": ("INTEGER", "BIGINT"),
    "INTEGER": ("BIGINT",),
    "UTINYINT": ("USMALLINT", "UINTEGER"),
    "FLOAT": ("DOUBLE",),
}
SCALARS = (
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "FLOAT", "DOUBLE"),
    *("DECIMAL(8,2)", "VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMPTZ", "BLOB", "UUID"),
)
NESTED = (
    "INTEGER[]",
    "MAP(VARCHAR, INTEGER)",
    "STRUCT(a INTEGER, b VARCHAR)",
    "STRUCT(p STRUCT(x SMALLINT, y VARCHAR), q INTEGER[])",
    "STRUCT(k INTEGER, l VARCHAR)[]",
)
WORDS = ("", "a", "b c", "it's", "é", "NULL", "{x}", "10", "a/b", "Z" * 200, "a%b=c")
# Inside of other values the extension writes text on SQLite that it cannot read back.
TAME_WORDS = ("a", "bc", "d10", "é")


def literal(rng: random.Random, kind: Any, *, inside: bool = False) -> str:
    """A value of a DuckDB type as SQL; one in six is NULL."""
    if rng.random() < 1 / 6:
        return "NULL"
    match kind.id:
        case "list":
            items = [literal(rng, kind.child, inside=True) for _ in range(rng.randint(0, 3))]
            return f"CAST([{', '.join(items)}] AS {kind})"
        case "map":
            key, value = (child for _, child in kind.children)
            names = rng.sample(TAME_WORDS, rng.randint(0, 2))
            pairs = [f"'{name}': {literal(rng, value, inside=True)}" for name in names]
            return f"CAST(MAP {{{', '.join(pairs)}}} AS MAP({key}, {value}))"
        case "struct":
            fields = [f"'{n}': {literal(rng, c, inside=True)}" for n, c in kind.children]
            return f"CAST({{{', '.join(fields)}}} AS {kind})"
    return _scalar(rng, str(kind), inside)


def _scalar(rng: random.Random, kind: str, inside: bool) -> str:
    if kind in NUMBERS:
        return str(rng.randint(0 if kind.startswith("U") else -50, 50))
    if kind in ("FLOAT", "DOUBLE"):
        special = ("nan", "inf", "-inf") if not inside else ()
        if special and rng.random() < 0.06:
            return f"CAST('{rng.choice(special)}' AS {kind})"
        return f"CAST({rng.randint(-400, 400) / 4} AS {kind})"
    if kind.startswith("DECIMAL"):
        return f"CAST({rng.randint(-9999, 9999) / 100} AS {kind})"
    match kind:
        case "BOOLEAN":
            return rng.choice(("true", "false"))
        case "DATE":
            return f"DATE '20{rng.randint(19, 22)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}'"
        case "TIMESTAMP" | "TIMESTAMP WITH TIME ZONE":
            word = "TIMESTAMP" if kind == "TIMESTAMP" else "TIMESTAMPTZ"
            zone = "" if kind == "TIMESTAMP" else "+00"
            day = f"202{rng.randint(0, 2)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
            return f"{word} '{day} {rng.randint(0, 23):02}:07:{rng.randint(0, 59):02}.5{zone}'"
        case "BLOB":
            return rng.choice(("'\\x00\\xFF'::BLOB", "'ab'::BLOB", f"'{'xy' * 200}'::BLOB"))
        case "UUID":
            return f"'00000000-0000-4000-8000-{rng.randint(0, 99):012}'::UUID"
    word = rng.choice(TAME_WORDS if inside else WORDS)
    return "'" + word.replace("'", "''") + "'"

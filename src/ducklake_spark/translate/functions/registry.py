"""The themes put together, and the other names of their functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ducklake_spark.translate.fragments import Fragment
from ducklake_spark.translate.functions import (
    arithmetic,
    bits,
    choices,
    date_arithmetic,
    dates,
    letters,
    nested,
    numbers,
    patterns,
    text,
)
from ducklake_spark.translate.functions.templates import first_of
from ducklake_spark.translate.rules import Call, Rule, Rules

_THEMES: Final = (
    *(arithmetic, date_arithmetic, bits, numbers, text, letters, patterns, dates, nested, choices),
)

ALIASES: Final[Mapping[str, str]] = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "//",
    "mod": "%",
    "abs": "@",
    "ceiling": "ceil",
    "substr": "substring",
    "lcase": "lower",
    "ucase": "upper",
    "starts_with": "^@",
    "ends_with": "suffix",
    "strpos": "instr",
    "position": "instr",
    "ord": "unicode",
    "base64": "to_base64",
    "to_hex": "hex",
    "to_binary": "bin",
    "len": "length",
    "char_length": "length",
    "character_length": "length",
    "split": "string_split",
    "str_split": "string_split",
    "string_to_array": "string_split",
    "datepart": "date_part",
    "datetrunc": "date_trunc",
    "datediff": "date_diff",
    "list_pack": "list_value",
    "list_element": "list_extract",
    "array_slice": "list_slice",
    "list_has": "list_contains",
    "array_has": "list_contains",
    "array_contains": "list_contains",
    "list_indexof": "list_position",
    "array_position": "list_position",
    "array_indexof": "list_position",
}
"""Other names of functions, and the names that their rules have."""

# What the binder writes beside the arguments and what says nothing that their types do not say.
_UNDERSTOOD: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("+", "-", "*"), frozenset({"check_overflow", "return_type", "arguments"})),
    "struct_pack": frozenset({"variable_return_type"}),
}


def _collected() -> Rules:
    rules: Rules = {}
    for theme in _THEMES:
        for name, rule in theme.RULES.items():
            rules[name] = first_of(rules[name], rule) if name in rules else rule
    rules = {
        name: _guarded(rule, _UNDERSTOOD.get(name, frozenset())) for name, rule in rules.items()
    }
    return rules | {name: rules[known] for name, known in ALIASES.items()}


def _guarded(rule: Rule, understood: frozenset[str]) -> Rule:
    """The rule for calls with nothing beside their arguments that it does not know."""

    def guarded(call: Call) -> Fragment | None:
        return rule(call) if call.bind_data.keys() <= understood else None

    return guarded


SCALARS: Final[Rules] = _collected()
"""The rules by the names that the binder uses."""

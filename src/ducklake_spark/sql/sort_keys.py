"""Sort keys: expressions over the columns of a table, kept as DuckDB's text."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from ducklake_spark.binder.formatting import columns_of, format_expression
from ducklake_spark.binder.trees import Tree


def columns_of_key(text: str) -> set[str]:
    """The columns that a key names, in small letters.

    >>> sorted(columns_of_key("(b + A)"))
    ['a', 'b']
    """
    return {path[-1].lower() for path in columns_of(text)}


def rename_in_key(text: str, old: str, new: str) -> str:
    """The key after a column got another name.

    >>> rename_in_key("(b + a)", "A", "new name")
    '(b + "new name")'
    """
    return format_expression(text, partial(_rename, old, new))


def _rename(old: str, new: str, columns: Iterable[Tree]) -> None:
    for column in columns:
        path = column["column_names"]
        if len(path) == 1 and path[0].lower() == old.lower():
            column["column_names"] = [new]

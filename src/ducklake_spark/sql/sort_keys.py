"""Sort keys: expressions over the columns of a table, kept as DuckDB's text. Pure."""

from __future__ import annotations

from sqlglot import exp

from ducklake_spark.errors import NotSupported
from ducklake_spark.model.names import quote_if_needed
from ducklake_spark.sql.duckdb_text import DuckDBText


def columns_of_key(text: str) -> set[str]:
    """The columns that a key names, in small letters.

    >>> sorted(columns_of_key("(b + A)"))
    ['a', 'b']
    """
    return {column.name.lower() for column in _parse(text).find_all(exp.Column)}


def rename_in_key(text: str, old: str, new: str) -> str:
    """The key after a column got another name.

    >>> rename_in_key("(b + a)", "A", "new name")
    '(b + "new name")'
    """
    tree = _parse(text)
    for column in tree.find_all(exp.Column):
        if column.name.lower() == old.lower() and not column.table:
            quoted = quote_if_needed(new) != new
            column.set("this", exp.to_identifier(new, quoted=quoted))
    return tree.sql(dialect=DuckDBText)


def _parse(text: str) -> exp.Expr:
    tree = DuckDBText().parse_into(exp.Condition, text)[0]
    if tree is None:
        raise NotSupported(f"Cannot read the sort key {text}.")
    return tree

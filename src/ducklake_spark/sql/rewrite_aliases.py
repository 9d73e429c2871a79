"""``SELECT a + 1 AS b … WHERE b > 2``: DuckDB lets WHERE use the names of the select list."""

from __future__ import annotations

from sqlglot import exp

from ducklake_spark.sql.stars import known_columns


def rewrite_aliases(root: exp.Expr) -> exp.Expr:
    """Put the expression in the place of its name, where no column of the sources has it."""
    for select in list(root.find_all(exp.Select)):
        where = select.args.get("where")
        aliases = {
            item.alias.lower(): item.this
            for item in select.expressions
            if isinstance(item, exp.Alias)
        }
        if where is None or not aliases:
            continue
        columns = known_columns(select)
        if columns is None:
            continue  # a column of the sources would win, and they are not known
        for column in list(where.find_all(exp.Column)):
            name = column.name.lower()
            own = column.parent_select is select and len(column.parts) == 1
            if own and name in aliases and name not in columns:
                column.replace(exp.paren(aliases[name].copy(), copy=False))
    return root

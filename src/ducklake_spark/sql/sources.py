"""Replacing the tables of a query in Spark's dialect by Spark relations, scope by scope."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from ducklake_spark.errors import InvalidInput
from ducklake_spark.sql.literals import constant_or_tree
from ducklake_spark.sql.reader import SPARK_DIALECT
from ducklake_spark.sql.relations import (
    VIRTUAL_COLUMNS,
    At,
    Relation,
    Resolver,
    TableFunctionCall,
    TableReference,
)
from ducklake_spark.sql.stars import RELATION, hide_virtual_columns

_GENERATORS = (exp.GenerateSeries, exp.Unnest, exp.Explode)
# Table functions of Spark itself.
_SPARK_FUNCTIONS = frozenset(
    {
        *("explode", "explode_outer", "inline", "inline_outer", "json_tuple", "posexplode"),
        *("posexplode_outer", "range", "sql_keywords", "stack", "collations"),
    }
)


def spark_text(tree: exp.Expr, resolve: Resolver) -> str:
    """The text of a query with all its tables replaced. Runs on the driver.

    Every table and table function is looked up with `resolve`; `tree` itself is not changed.
    """
    root = exp.Paren(this=tree.copy())
    return str(_replace_sources(root, resolve).this.sql(dialect="spark", identify=True))


def plain_text(expression: exp.Expr) -> str:
    """The text of an expression of Spark's dialect that reads no table."""
    return str(expression.sql(dialect="spark", identify=True))


def _replace_sources(tree: exp.Expr, resolve: Resolver) -> exp.Expr:
    """Point every table and table function of `tree` at a Spark relation, in place.

    Names of CTEs are left alone, in the scope where they hold. Column names lose the schema and
    lake of their table, and ``*`` hides the virtual columns that were added.
    """
    tables = [t for t in _tables(tree, frozenset()) if not _is_spark_function(t)]
    named = [(table, _parts(table)) for table in tables]
    aliases = [table.alias or _free_alias(table, parts) for table, parts in named]
    for (table, parts), alias in zip(named, aliases, strict=True):
        _point_at(table, _resolve(table, parts, alias, resolve), alias)
    lowered = [tuple(part.lower() for part in parts) for _, parts in named]
    _strip_qualifiers(tree, list(zip(lowered, aliases, strict=True)))
    for select in list(tree.find_all(exp.Select)):
        hide_virtual_columns(select)
    return tree


def is_spark(tree: exp.Expr) -> bool:
    """Whether the text was given in Spark's dialect, so that it means what it says there."""
    return any(node.meta.get(SPARK_DIALECT) for node in tree.walk())


def _is_spark_function(table: exp.Table) -> bool:
    if isinstance(table.this, _GENERATORS):
        return True
    is_call = isinstance(table.this, exp.Func) and not table.args.get("db")
    return is_call and _function_name(table.this).lower() in _SPARK_FUNCTIONS


def _tables(node: exp.Expr, ctes: frozenset[str]) -> Iterator[exp.Table]:
    """All tables below `node` that are no CTE where they stand."""
    with_ = node.args.get("with_")
    if isinstance(with_, exp.With):
        for cte in with_.expressions:
            own = frozenset({cte.alias.lower()})
            yield from _tables(cte.this, ctes | own if with_.args.get("recursive") else ctes)
            ctes |= own
    if isinstance(node, exp.Table) and not _is_cte(node, ctes):
        yield node
    for key, child in node.args.items():
        if key == "with_":
            continue
        for item in child if isinstance(child, list) else (child,):
            if isinstance(item, exp.Expr):
                yield from _tables(item, ctes)


def _is_cte(table: exp.Table, ctes: frozenset[str]) -> bool:
    return not table.args.get("db") and table.name.lower() in ctes


def _parts(table: exp.Table) -> tuple[str, ...]:
    return tuple(part.name if not isinstance(part, exp.Func) else _function_name(part)
                 for part in table.parts)  # fmt: skip


def _function_name(call: exp.Func) -> str:
    return call.name if isinstance(call, exp.Anonymous) else call.sql_name().lower()


def _free_alias(table: exp.Table, parts: tuple[str, ...]) -> str:
    """The table's own name; when a neighbour without an alias has the same, all its parts."""
    select = table.find_ancestor(exp.Select, exp.Subquery)
    neighbours = [
        other for other in (_direct_sources(select) if isinstance(select, exp.Select) else ())
        if isinstance(other, exp.Table) and other is not table and not other.alias
        and other.name.lower() == parts[-1].lower()
    ]  # fmt: skip
    return ".".join(parts) if neighbours else parts[-1]


def _direct_sources(select: exp.Select) -> Iterator[exp.Expr]:
    from_ = select.args.get("from_")
    if from_ is not None:
        yield from _with_joins(from_.this)
    for join in select.args.get("joins") or ():
        yield from _with_joins(join.this)


def _with_joins(source: exp.Expr) -> Iterator[exp.Expr]:
    yield source
    for join in source.args.get("joins") or ():
        yield from _with_joins(join.this)


def _resolve(table: exp.Table, parts: tuple[str, ...], alias: str, resolve: Resolver) -> Relation:
    text = exp.Table(**{k: v for k, v in table.args.items() if k in ("this", "db", "catalog")})
    shown = text.sql(dialect="duckdb")
    mentioned = _mentioned(table, alias)
    if isinstance(table.this, exp.Func):
        arguments, named = _arguments(table.this)
        call = TableFunctionCall(parts, arguments, named, shown, mentioned)
        return resolve.table_function(call)
    return resolve.table(TableReference(parts, _at(table), mentioned, shown))


def _arguments(call: exp.Func) -> tuple[tuple[object, ...], dict[str, object]]:
    positional: list[object] = []
    named: dict[str, object] = {}
    values = call.expressions if call.expressions else [
        v for v in call.args.values() if isinstance(v, exp.Expr)
    ]  # fmt: skip
    for value in values:
        if isinstance(value, (exp.Kwarg, exp.PropertyEQ, exp.EQ)) and (
            isinstance(value.this, (exp.Var, exp.Identifier))
            or (isinstance(value.this, exp.Column) and len(value.this.parts) == 1)
        ):
            named[value.this.name.lower()] = constant_or_tree(value.expression)
        else:
            positional.append(constant_or_tree(value))
    return tuple(positional), named


def _at(table: exp.Table) -> At | None:
    version = table.args.get("version")
    if version is not None:
        return _as_of(table, version)
    when = table.args.get("when")
    if when is None:
        return None
    kind = str(when.args.get("kind")).lower()
    if kind not in ("version", "timestamp") or str(when.this).upper() != "AT":
        raise InvalidInput(
            f"Cannot read the table at {when.sql(dialect='duckdb')}.",
            hint="write AT (VERSION => n) or AT (TIMESTAMP => moment).",
        )
    return At("version" if kind == "version" else "timestamp", when.expression)


def _as_of(table: exp.Table, version: exp.Version) -> At:
    """Spark's ``VERSION AS OF n`` and ``TIMESTAMP AS OF moment``."""
    kind = str(version.this).lower()
    if kind not in ("version", "timestamp") or str(version.args.get("kind")).upper() != "AS OF":
        raise InvalidInput(
            f"Cannot read the table {version.sql(dialect='spark')}.",
            hint="write VERSION AS OF n or TIMESTAMP AS OF moment.",
        )
    value = version.expression.copy()
    value.meta[SPARK_DIALECT] = is_spark(table.root())
    return At("version" if kind == "version" else "timestamp", value)


def _mentioned(table: exp.Table, alias: str) -> frozenset[str]:
    """The virtual columns that the table's own scope mentions, by themselves or by its name."""
    scope = table.find_ancestor(exp.Select, exp.Update, exp.Delete, exp.Merge) or table.root()
    return frozenset(
        column.name.lower()
        for column in _columns(scope)
        if column.name.lower() in VIRTUAL_COLUMNS
        and column.table.lower() in ("", alias.lower(), table.name.lower())
    )


def _columns(scope: exp.Expr) -> Iterator[exp.Column]:
    """Columns of a scope and of the subqueries in its expressions, not of derived tables."""
    for node in scope.walk(
        prune=lambda n: isinstance(n, exp.Subquery) and isinstance(n.parent, (exp.From, exp.Join))
    ):
        if isinstance(node, exp.Column):
            yield node


def _point_at(table: exp.Table, relation: Relation, alias: str) -> None:
    written = table.args.get("alias")
    table.set("this", exp.to_identifier(relation.name, quoted=True))
    table.set("db", None)
    table.set("catalog", None)
    table.set("when", None)
    table.set("version", None)
    if not table.alias:
        columns = written.args.get("columns") if written is not None else None
        name = exp.to_identifier(alias, quoted=True)
        table.set("alias", exp.TableAlias(this=name, columns=columns))
    table.meta[RELATION] = relation


def _strip_qualifiers(tree: exp.Expr, names: list[tuple[tuple[str, ...], str]]) -> None:
    """``lake.schema.t.a`` and ``schema.t.a`` become ``alias.a``; other dots are struct fields."""
    for column in tree.find_all(exp.Column):
        qualifier = [part.name.lower() for part in column.parts[:-1]]
        if len(qualifier) < 2:
            continue
        wanted = tuple(qualifier)
        for parts, alias in names:
            if parts[-len(wanted) :] == wanted:
                column.set("table", exp.to_identifier(alias, quoted=True))
                column.set("db", None)
                column.set("catalog", None)
                break

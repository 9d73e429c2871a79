"""Types as far as the text tells them, and casts."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types

from ducklake_spark.model.types import format_sql_type
from ducklake_spark.sql.blob_text import blob_bytes
from ducklake_spark.sql.dialect import DuckLake
from ducklake_spark.sql.nested_text import nested_text
from ducklake_spark.sql.relations import Relation
from ducklake_spark.sql.trees import call, cast, number, replace_each, text

DType = exp.DType
INTEGERS = frozenset(exp.DataType.INTEGER_TYPES)
TEXTS = frozenset(exp.DataType.TEXT_TYPES)
FLOATS = frozenset({DType.FLOAT, DType.DOUBLE})
MOMENTS = frozenset(
    {DType.TIMESTAMP, DType.TIMESTAMPNTZ, DType.TIMESTAMP_S, DType.TIMESTAMP_MS, DType.TIMESTAMPTZ}
)


def annotate(root: exp.Expr) -> exp.Expr:
    """Note the type of every expression that the text, or the columns of a relation, tell."""
    for node in root.walk():
        node.type = None  # what the parser has noted is not ours
    for select in root.find_all(exp.Select):
        _note_columns(select)
    for literal in root.find_all(exp.Literal):
        digits = str(literal.this).lower()
        if not literal.is_string and "." in digits and "e" not in digits:
            literal.type = exp.DataType.build("DECIMAL")
    annotate_types(root, dialect=DuckLake, overwrite_types=False)
    for tree in root.find_all(exp.Cast):
        # A cast has a type by itself, so what is below it has not been looked at.
        annotate_types(tree.this, dialect=DuckLake, overwrite_types=False)
    return root


def _note_columns(select: exp.Select) -> None:
    """Give the columns of a select the types of the relations that it reads directly."""
    tables = [t for t in select.find_all(exp.Table) if t.parent_select is select]
    known = {t.alias_or_name.lower(): t.meta.get("relation") for t in tables}
    for column in select.find_all(exp.Column):
        if column.type is not None or column.parent_select is not select:
            continue
        owners = [
            kind for alias, relation in known.items()
            if column.table.lower() in ("", alias) and (kind := _type_in(relation, column.name))
        ]  # fmt: skip
        if len(owners) == 1:
            column.type = exp.DataType.build(owners[0], dialect="duckdb")


def _type_in(relation: object, name: str) -> str | None:
    if not isinstance(relation, Relation) or not relation.types or not relation.columns:
        return None
    for column, kind in zip(relation.columns, relation.types, strict=True):
        if column.lower() == name.lower():
            return format_sql_type(kind)
    return None


def known_type(tree: exp.Expr) -> exp.DType | None:
    """The noted type, or None."""
    kind = tree.type
    if kind is None or not isinstance(kind.this, DType):
        return None
    return None if kind.this in (DType.UNKNOWN, DType.NULL) else kind.this


def is_list(tree: exp.Expr) -> bool:
    """Whether an expression is known to be a list."""
    return known_type(tree) in (DType.ARRAY, DType.LIST)


def rewrite_casts(root: exp.Expr) -> exp.Expr:
    r"""Casts with DuckDB's results: fractions are rounded, strings become bytes by ``\x``."""
    return replace_each(root, (exp.Cast, exp.TryCast), _cast)


def _cast(tree: exp.Expr) -> exp.Expr | None:
    to = tree.args["to"].this
    inner = tree.this
    if to in INTEGERS:
        return _to_integer(tree, inner)
    if to is DType.DECIMAL and known_type(inner) in FLOATS and tree.args["to"].expressions:
        return _to_decimal(tree, inner)
    if to in TEXTS and known_type(inner) is DType.TIMESTAMPTZ:
        return _moment_text(inner)
    if to in TEXTS and isinstance(inner.type, exp.DataType):
        return nested_text(inner, inner.type)
    if to is DType.VARBINARY and isinstance(inner, exp.Literal) and inner.is_string:
        return call("unhex", text(blob_bytes(str(inner.this)).hex()))
    if to is DType.UUID:
        tree.set("this", call("lower", inner))
    return None


def _to_decimal(tree: exp.Expr, inner: exp.Expr) -> exp.Expr:
    """DuckDB rounds the double times the power of ten; Spark goes by the double's text.

    Beyond 2**53 the product is whole already and Spark's own cast is taken.
    """
    sizes = [int(size.name) for size in tree.args["to"].expressions]
    scale = sizes[1] if len(sizes) > 1 else 0
    power = cast(exp.Literal.number(10**scale), "DOUBLE")
    scaled = call("round", exp.Mul(this=exp.paren(inner.copy()), expression=power), number(0))
    whole = cast(cast(scaled, "BIGINT"), "STRING")
    small = exp.LT(this=call("abs", scaled.copy()), expression=exp.Literal.number(2**53))
    exact = _same_cast(tree, call("concat", whole, text(f"E-{scale}")))
    return exp.Case(ifs=[exp.If(this=small, true=exact)], default=tree.copy())


def _moment_text(inner: exp.Expr) -> exp.Expr:
    """A moment with its offset, which Spark leaves out: ``2024-01-01 10:00:00+02``."""
    offset = call("date_format", inner.copy(), text("xxx"))
    short = call("regexp_replace", offset, text(":00$"), text(""))
    return call("concat", cast(inner.copy(), "STRING"), short)


def _to_integer(tree: exp.Expr, inner: exp.Expr) -> exp.Expr | None:
    kind = known_type(inner)
    if isinstance(inner, exp.Literal) and not inner.is_string and str(inner.this).isdigit():
        return None
    if kind in FLOATS:
        tree.set("this", call("rint", inner))
        return tree
    if kind is DType.DECIMAL:
        tree.set("this", call("round", inner, number(0)))
        return tree
    if kind is not None:
        return None
    return _to_integer_unknown(tree, inner)


def _to_integer_unknown(tree: exp.Expr, inner: exp.Expr) -> exp.Expr:
    """Choose by the type that Spark finds; typeof() is constant, so one branch remains."""
    kind = call("typeof", inner.copy())
    fractional = call("startswith", kind.copy(), text("decimal"))
    whole = call("endswith", kind.copy(), text(",0)"))
    rounded = call("round", cast(inner.copy(), "DECIMAL(38,18)"), number(0))
    nearest = call("rint", cast(inner.copy(), "DOUBLE"))
    return exp.Case(
        ifs=[
            exp.If(this=exp.In(this=kind, expressions=[text("float"), text("double")]),
                   true=_same_cast(tree, nearest)),
            exp.If(this=exp.And(this=fractional, expression=exp.Not(this=whole)),
                   true=_same_cast(tree, rounded)),
        ],
        default=tree.copy(),
    )  # fmt: skip


def _same_cast(tree: exp.Expr, inner: exp.Expr) -> exp.Expr:
    return type(tree)(this=inner, to=tree.args["to"].copy())

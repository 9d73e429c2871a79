"""Spark SQL that raises errors of this package, in DuckDB's words."""

from __future__ import annotations

import json

from ducklake_spark.binder.types import BoundType
from ducklake_spark.errors import MARK, DuckLakeError, InvalidValue
from ducklake_spark.translate.fragments import Fragment, literal_text, sql
from ducklake_spark.translate.types import spark_type


def raising(message: Fragment | str, kind: BoundType) -> Fragment:
    """An expression of a type that raises an InvalidValue when it is reached.

    Args:
        message: Spark SQL of a text.
        kind: what the expression pretends to be.
    """
    parts = f"'class', '{InvalidValue.__name__}', 'message', {{}}"
    told = sql(f"to_json(named_struct({parts}))", message)
    return sql(f"CAST(raise_error(concat('{MARK}', {{}})) AS {spark_type(kind)})", told)


def raise_text(message: str) -> str:
    """The call that raises an InvalidValue with a message that is known."""
    parts = {"class": InvalidValue.__name__, "message": message}
    return f"raise_error({literal_text(MARK + json.dumps(parts))})"


def raising_error(error: DuckLakeError, kind: BoundType) -> Fragment:
    """An expression of a type that raises that very error when it is reached."""
    parts = {"class": type(error).__name__, "message": error.message, "hint": error.hint}
    text = literal_text(MARK + json.dumps(parts))
    return sql(f"CAST(raise_error({{}}) AS {spark_type(kind)})", text)

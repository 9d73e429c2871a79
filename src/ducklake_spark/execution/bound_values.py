"""Values in a query that DuckDB binds: parameters, variables, settings, arguments of functions."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ducklake_spark.binder.edits import replace_parameter
from ducklake_spark.binder.evaluate import evaluator
from ducklake_spark.binder.mirror import Mirror, Typed
from ducklake_spark.binder.names import Names
from ducklake_spark.binder.trees import Tree, call, constant, text_of_expression, walk
from ducklake_spark.errors import InvalidInput, NotSupported
from ducklake_spark.execution.engine_settings import BINDING_SETTINGS
from ducklake_spark.execution.settings import current_setting
from ducklake_spark.sql.variables import MapValue, TypedValue

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection

Params = Sequence[Any] | Mapping[str, Any]
_VARIABLE: Final = "__ducklake_value_"
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


def put_values(con: Connection, names: Names, params: Params | None) -> dict[str, Any]:
    """Put values where parameters and settings are asked for; the variables that hold them.

    A string becomes a literal, which takes the type that its place asks for, as in DuckDB. Other
    values keep their own types.
    """
    settings = [each for each in names.calls if _is_setting(each)]
    # What becomes a literal is no call any more.
    names.calls = [each for each in names.calls if not any(each is one for one in settings)]
    values: dict[str, Any] = {}
    for each in names.parameters:
        _put(each, _parameter(str(each["identifier"]), params), values)
    for each in settings:
        name = each["children"][0]["value"]["value"]
        _put(each, current_setting(con, str(name)), values)
    return values


def variables_of(con: Connection, values: dict[str, Any]) -> dict[str, Any]:
    """What `getvariable` finds: the session's variables and the values of parameters."""
    known = {name: shown(value) for name, value in con.variables.items()}
    return {**known, **values}


def value_of(mirror: Mirror, node: Tree, compute: Callable[[str], Any]) -> Any:
    """The value of an expression without columns, computed by DuckDB. Moments come in UTC.

    `compute` answers the value of one with a query in it.

    Raises:
        NotSupported: it reads columns.
    """
    kinds = {each.get("class") for each in walk(node)}
    if "SUBQUERY" in kinds:
        return compute(text_of_expression(mirror, node))
    if "COLUMN_REF" in kinds:
        raise NotSupported("The argument of a table function is no constant.")
    return constant_value(mirror, f"SELECT {text_of_expression(mirror, node)}").value


def constant_value(mirror: Mirror, query: str) -> TypedValue:
    """The value of a query without tables, computed by DuckDB."""
    evaluate = evaluator(mirror)
    kind, text = evaluate(f"SELECT typeof(v), v::VARCHAR FROM ({query}) AS q(v)")
    if text is None:
        return TypedValue(None, kind, None)
    if kind == "TIMESTAMP WITH TIME ZONE":
        (micros,) = evaluate(f"SELECT epoch_us(v) FROM ({query}) AS q(v)")
        return TypedValue(_moment(micros, text), kind, text)
    (value,) = evaluate(query)
    is_map = kind.startswith("MAP(") and isinstance(value, dict)
    return TypedValue(MapValue(value) if is_map else value, kind, text)


def _moment(micros: int | None, text: str) -> dt.datetime:
    try:
        if micros is not None:  # it is for an infinite one
            return _EPOCH + dt.timedelta(microseconds=micros)
    except OverflowError:
        pass
    raise NotSupported(f"The time {text} is none that Python has: of the years 1 to 9999.")


def _is_setting(node: Tree) -> bool:
    arguments = node.get("children", ())
    is_asked = node["function_name"].lower() == "current_setting" and len(arguments) == 1
    name = (arguments[0].get("value") or {}).get("value") if is_asked else None
    # DuckDB itself knows those that it binds with.
    return isinstance(name, str) and name.lower() not in BINDING_SETTINGS


def _put(node: Tree, value: Any, values: dict[str, Any]) -> None:
    if isinstance(value, str):
        replace_parameter(node, constant(value))
        return
    name = f"{_VARIABLE}{len(values) + 1}"
    values[name] = shown(value)
    replace_parameter(node, call("getvariable", constant(name)))


def shown(value: Any) -> Any:
    """A value as DuckDB's client takes it."""
    match value:
        case TypedValue(inner, kind, text):
            return Typed(shown(inner) if text is None else text, kind)
        case MapValue():
            return {"key": [*map(shown, value)], "value": [*map(shown, value.values())]}
        case dict():
            return {name: shown(item) for name, item in value.items()}
        case list() | tuple():
            return [shown(item) for item in value]
        case _:
            return value


def _parameter(name: str, params: Params | None) -> Any:
    if isinstance(params, Mapping):
        if name in params:
            return params[name]
    elif params is not None and name.isdigit() and 0 < int(name) <= len(params):
        return params[int(name) - 1]
    raise InvalidInput(
        f"The parameter ${name} has no value.",
        hint="give one value for each parameter: params=[…] or params={'name': …}.",
    )


def check_used(params: Params | None, names: Names) -> None:
    """Refuse values that a query has no parameter for."""
    if params is None:
        return
    used = {str(each["identifier"]) for each in names.parameters}
    given = params if isinstance(params, Mapping) else range(1, len(params) + 1)
    for name in given:
        if str(name) not in used:
            raise InvalidInput(
                f"The statement has no parameter ${name}.",
                hint="give as many values as parameters.",
            )

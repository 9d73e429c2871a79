"""Which types a column may be promoted to. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ducklake_spark.errors import InvalidInput
from ducklake_spark.model.types import DataType, ScalarType, format_sql_type

# The documentation's table: every value of the source is a value of the target.
PROMOTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "int8": ("int16", "int32", "int64"),
    "int16": ("int32", "int64"),
    "int32": ("int64",),
    "uint8": ("uint16", "uint32", "uint64"),
    "uint16": ("uint32", "uint64"),
    "uint32": ("uint64",),
    "float32": ("float64",),
}


def check_promotion(source: DataType, target: DataType, label: str) -> None:
    """Refuse a change of type that is no promotion; `label` names the column."""
    allowed = PROMOTIONS.get(source.name, ()) if isinstance(source, ScalarType) else ()
    if isinstance(target, ScalarType) and target.name in allowed:
        return
    targets = ", ".join(format_sql_type(ScalarType(name)) for name in allowed)
    shown = format_sql_type(source)
    raise InvalidInput(
        f"Cannot change the type of {label} from {shown} to {format_sql_type(target)}: only "
        "widening type promotions are allowed.",
        hint=f"{shown} can become {targets}."
        if targets
        else f"{shown} cannot be promoted; add a column of the other type and fill it.",
    )

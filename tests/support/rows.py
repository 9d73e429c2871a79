"""Compare rows of Spark with rows of DuckDB."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from collections.abc import Iterable
from decimal import Decimal
from typing import Any


def normal(value: Any) -> Any:
    """One form for what the two engines call by different Python types."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, float):
        return "nan" if math.isnan(value) else Decimal(repr(value)).normalize()
    if isinstance(value, int | Decimal):
        return Decimal(value).normalize()
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.timezone.utc)
    if isinstance(value, dict):
        # DuckDB gives a struct as a dict, Spark gives a Row; a map is a dict in both.
        return tuple((normal(k), normal(v)) for k, v in value.items())
    if hasattr(value, "asDict"):
        return tuple((normal(k), normal(v)) for k, v in value.asDict().items())
    if isinstance(value, list | tuple):
        return [normal(item) for item in value]
    return value


def sorted_rows(rows: Iterable[Iterable[Any]]) -> list[list[Any]]:
    """Rows in an order that does not depend on the engine."""
    return sorted(([normal(value) for value in row] for row in rows), key=repr)


def same_rows(ours: Iterable[Iterable[Any]], theirs: Iterable[Iterable[Any]]) -> bool:
    """Whether both have the same rows, in any order; shows the difference when they do not."""
    left, right = sorted_rows(ours), sorted_rows(theirs)
    if left == right:
        return True
    only_ours = [row for row in left if row not in right][:5]
    only_theirs = [row for row in right if row not in left][:5]
    print(f"{len(left)} rows here, {len(right)} in DuckDB")
    print(f"only here: {only_ours}\nonly in DuckDB: {only_theirs}")
    return False

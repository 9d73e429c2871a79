"""A call that DuckDB computes inside Spark's tasks, as it travels to them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EngineCall:
    """An expression of DuckDB over columns, registered with Spark as a function.

    Attributes:
        name: Spark's name of the function; it says what is called, and ends in a digest of all that
            the answer depends on.
        query: DuckDB's SELECT over the table ``rows`` with the columns ``a0``, ``a1`` and so on, of
            the carriers' types, and ``row``, their number. It has one column of the carrier's type,
            in the order of the rows.
        result: Spark's type of the answer, as in DDL.
        settings: of DuckDB, with their values.
        is_volatile: whether the answer may be another each time.
    """

    name: str
    query: str
    result: str
    settings: tuple[tuple[str, str], ...]
    is_volatile: bool = False

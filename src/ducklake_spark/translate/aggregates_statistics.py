"""Variances and deviations: both engines update a mean row by row."""

from __future__ import annotations

from typing import Final

from ducklake_spark.binder.types import DOUBLE
from ducklake_spark.translate.aggregates_averages import let
from ducklake_spark.translate.failures import raising
from ducklake_spark.translate.fragments import Fragment, literal_text, sql
from ducklake_spark.translate.rules import AggregateCall, AggregateRule, AggregateRules


def _moment(spark: str, label: str) -> AggregateRule:
    """DuckDB raises an error where the result is no finite number."""

    def rule(call: AggregateCall) -> Fragment | None:
        if call.orders:
            return None
        error = raising(literal_text(f"Out of Range Error: {label} is out of range!"), DOUBLE)
        return let(
            call,
            call.run(f"{spark}({call.distinct}{{}})", call.argument),
            lambda value: sql(
                "CASE WHEN isnan({0}) OR abs({0}) = double('Infinity') THEN {1} ELSE {0} END",
                value,
                error,
            ),
        )

    return rule


RULES: Final[AggregateRules] = {
    **dict.fromkeys(("stddev", "stddev_samp"), _moment("stddev_samp", "STDDEV_SAMP")),
    "stddev_pop": _moment("stddev_pop", "STDDEV_POP"),
    **dict.fromkeys(("variance", "var_samp"), _moment("var_samp", "VARSAMP")),
    "var_pop": _moment("var_pop", "VARPOP"),
}

import pytest
from pyspark.errors import AnalysisException, PySparkException

from ducklake_spark.errors import InvalidInput, InvalidValue, NotNullViolation, SparkFailure
from ducklake_spark.spark.failures import marked_errors, spark_failures

TRACEBACK = "An exception was thrown:\nTraceback (most recent call last):\n  File x\n{}\n"


def test_an_error_of_a_task_comes_out_as_it_was():
    with pytest.raises(Exception, match="ducklake-spark-error") as caught, marked_errors():
        raise InvalidValue('Cannot write "ü"\nto {b}.', hint="do not.")
    text = TRACEBACK.format(f"ducklake_spark.spark.failures.TaskFailure: {caught.value}")
    with pytest.raises(InvalidValue) as arrived, spark_failures("write"):
        raise PySparkException(text)
    assert arrived.value.message == 'Cannot write "ü"\nto {b}.'
    assert arrived.value.hint == "do not."


def test_the_last_line_is_told_when_a_task_fails_for_another_reason():
    with (
        pytest.raises(SparkFailure, match=r"^Cannot write: ValueError: boo$"),
        spark_failures("write"),
    ):
        raise PySparkException(TRACEBACK.format("ValueError: boo"))


def test_a_message_that_was_cut_is_still_a_failure():
    with pytest.raises(SparkFailure), spark_failures("write"):
        raise PySparkException('ducklake-spark-error:{"class": "InvalidV}')


def test_errors_of_our_own_pass_as_they_are():
    with pytest.raises(NotNullViolation), spark_failures("write"):
        raise NotNullViolation("x")


def test_an_error_in_a_plan_that_is_shown_has_not_happened():
    shown = 'raise_error(ducklake-spark-error:{"class": "InvalidValue", "message": "two rows"})'
    with (
        pytest.raises(InvalidInput, match=r"^Cannot run: \[A\] This join is not possible\.$"),
        spark_failures("run"),
    ):
        raise AnalysisException(f"[A] This join is not possible.\nProject [{shown}]")


def test_two_rows_of_a_scalar_subquery_are_told_in_the_words_of_duckdb():
    with (
        pytest.raises(InvalidValue, match=r"^Invalid Input Error: More than one row"),
        spark_failures("run"),
    ):
        raise PySparkException("[SCALAR_SUBQUERY_TOO_MANY_ROWS] More than one. SQLSTATE: 21000")

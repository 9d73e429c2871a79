"""Errors that are told in our words are not printed too, and nothing else is kept quiet."""

from __future__ import annotations

import logging
import threading

from pyspark.logger import PySparkLogger

from ducklake_spark.spark.failures import spark_failures
from support.threads import in_threads

NAME = "SQLQueryContextLogger"


class Heard(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def test_a_logger_is_quiet_for_the_thread_that_tells_the_error_only():
    logger, heard = PySparkLogger.getLogger(NAME), Heard()
    logger.addHandler(heard)
    first_is_in, second_is_in, first_is_out = (threading.Event() for _ in range(3))

    def first() -> None:
        with spark_failures("try"):
            first_is_in.set()
            assert second_is_in.wait(30)
            logger.error("unheard")
        first_is_out.set()
        logger.error("heard from the first")

    def second() -> None:
        assert first_is_in.wait(30)
        with spark_failures("try"):
            second_is_in.set()
            assert first_is_out.wait(30)
            logger.error("unheard")

    try:
        in_threads([first, second], timeout=60)
        logger.error("heard from all")
    finally:
        logger.removeHandler(heard)
    assert heard.texts == ["heard from the first", "heard from all"]

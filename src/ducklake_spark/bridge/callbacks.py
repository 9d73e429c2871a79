"""Calls from the JVM into Python, and what goes wrong in them. Driver."""

from __future__ import annotations

import itertools
import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.java_gateway import ensure_callback_server_started

from ducklake_spark.errors import DuckLakeError, SparkFailure

Answer = Callable[..., Any]
"""Takes the words of a question and the JVM's object that came with it."""

_REMEMBERED: Final = 256


class ErrorsInFlight:
    """Errors that are on their way through the JVM, by their numbers.

    They are let go of when many others have come after them: an exception of the JVM may be looked
    at more than once.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._errors: OrderedDict[int, DuckLakeError] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, error: DuckLakeError) -> int:
        """Remember an error under a new number."""
        with self._lock:
            number = next(self._numbers)
            self._errors[number] = error
            while len(self._errors) > _REMEMBERED:
                self._errors.popitem(last=False)
            return number

    def find(self, number: int) -> DuckLakeError | None:
        """The error of that number, the very object."""
        with self._lock:
            return self._errors.get(number)


in_flight: Final = ErrorsInFlight()


class Guard:
    """Throws errors of Python in the JVM such that they are known again when they come back."""

    def __init__(self, java: Any) -> None:
        self._java = java

    def thrown(self, error: Exception) -> Py4JJavaError:
        """What to raise from a callback."""
        known = error if isinstance(error, DuckLakeError) else _unexpected(error)
        java = self._java.error(in_flight.add(known), str(known))
        return Py4JJavaError(str(known), java)


def _unexpected(error: Exception) -> DuckLakeError:
    failure = SparkFailure(f"Cannot answer Spark: {type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure


class Callback:
    """A function of two arguments for the JVM, a text and an object."""

    def __init__(self, guard: Guard, function: Callable[[str, Any], Any]) -> None:
        self._guard = guard
        self._function = function

    def apply(self, text: str, subject: Any) -> Any:
        """Called by the JVM, in a thread of its own choice."""
        try:
            return self._function(text, subject)
        except Exception as error:
            raise self._guard.thrown(error) from error

    class Java:
        """What Py4J makes of this class in the JVM."""

        implements = ("java.util.function.BiFunction",)


class Answers:
    """Who answers which question of the JVM."""

    def __init__(self) -> None:
        self._known: dict[str, Answer] = {}

    def add(self, name: str, answer: Answer) -> None:
        """From now on, `answer` is asked the questions of that name."""
        self._known[name] = answer

    def give(self, text: str, subject: Any) -> Any:
        """The answer to a question: its name and its words are a JSON list."""
        name, *words = json.loads(text)
        return self._known[name](*words, subject)


def start_callbacks(gateway: Any) -> None:
    """Let the JVM of a gateway call Python."""
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    # Without this a Python error reaches the JVM as the text of a Python traceback.
    gateway.callback_server_parameters.propagate_java_exceptions = True
    for name in ("py4j.clientserver", "py4j.java_gateway"):
        logger = logging.getLogger(name)
        if not any(isinstance(known, _OurErrorsOnly) for known in logger.filters):
            logger.addFilter(_OurErrorsOnly())


class _OurErrorsOnly(logging.Filter):
    """Drops Py4J's log of an error that we hand to the user anyway."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return not (isinstance(error, Py4JJavaError) and isinstance(error.__cause__, Exception))

"""What goes wrong in Spark, as errors of this package. Driver, but for `marked_errors`."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import Column
from pyspark.sql import functions as F

from ducklake_spark import errors
from ducklake_spark.bridge.errors import convert_errors, original_error
from ducklake_spark.errors import (
    MARK,
    TOO_MANY_ROWS,
    CorruptDataFile,
    DuckLakeError,
    InvalidValue,
    MissingDataFile,
    did_you_mean,
)
from ducklake_spark.spark.relation import find_reader

_QUERY_LOGGERS: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_MARKED: Final = re.compile(re.escape(MARK) + r"(\{[^\n]*\})")
# The state is no help to a reader, and the position is one in the text that Spark was given.
_TRAILER: Final = re.compile(r"\s+SQLSTATE: \w{5}(; line \d+ pos \d+)?;?$")
_CONDITION: Final = re.compile(r"\[([A-Z][A-Z_]*(?:\.[A-Z_]+)*)\]")
_SCALAR: Final = "SCALAR_SUBQUERY_TOO_MANY_ROWS"
_NO_FILE_SYSTEM: Final = re.compile(r'No FileSystem for scheme "?(\w+)')
_ADVICE: Final = re.compile(r" (If necessary set \"?spark\.|Use `try_).*?$")


class TaskFailure(Exception):
    """An error of this package on its way from a task to the driver, which sees only its text."""

    def __init__(self, error: DuckLakeError) -> None:
        parts = {"class": type(error).__name__, "message": error.message, "hint": error.hint}
        super().__init__(MARK + json.dumps(parts))


@contextmanager
def marked_errors() -> Iterator[None]:
    """Make errors of this package readable for `spark_failures`. Task."""
    try:
        yield
    except DuckLakeError as error:
        raise TaskFailure(error) from error


def refuse_value(message: Column) -> Column:
    """A Spark expression that raises an InvalidValue, for `spark_failures`. Driver."""
    parts = F.struct(F.lit("InvalidValue").alias("class"), message.alias("message"))
    return F.raise_error(F.concat(F.lit(MARK), F.to_json(parts)))


@contextmanager
def spark_failures(action: str) -> Iterator[None]:
    """Turn exceptions of Spark into errors of this package.

    What a task raised on purpose comes out as it was. A value that a cast or a computation
    refuses is an InvalidValue, with the first line of Spark's own message, and a query that makes
    no sense is an InvalidInput. A data file that is gone or broken is told apart. All else is a
    SparkFailure.

    Args:
        action: what is attempted, such as ``write to table "orders"``.
    """
    with _quiet_loggers():
        try:
            yield
        except (PySparkException, Py4JError) as error:
            if _is_interrupted(error):
                raise KeyboardInterrupt from error
            raise to_ducklake_error(error, action) from error


def _is_interrupted(error: Exception) -> bool:
    """Whether Ctrl-C came while Py4J waited for the JVM: then it fails while it cleans up."""
    if not isinstance(error, Py4JError) or isinstance(error, Py4JJavaError):
        return False
    return isinstance(error.__context__, KeyboardInterrupt)


def translate_errors() -> None:
    """Let a DataFrame of a lake, whoever runs it, raise the errors of this package."""
    convert_errors(_scan_error)


def _scan_error(java: Any) -> DuckLakeError | None:
    """What a task or the JVM's reader of files says, as an error of this package."""
    text = str(java.getMessage() or "")
    if marked := _MARKED.search(text):
        return _unmark(marked[1], "run the query", text)
    told = _CONDITION.match(text)
    if told and told[1] == _SCALAR:
        return InvalidValue(TOO_MANY_ROWS)
    reader = find_reader(text) if told and told[1].startswith("FAILED_READ_FILE") else None
    if told is None or reader is None:
        return None
    cause = java.getCause()
    return _unreadable(f"read {reader}", _first_line(text), told[1], _reason(cause))


@contextmanager
def _quiet_loggers() -> Iterator[None]:
    """Keep PySpark from printing the JVM's stack of an error that is raised and told anyway."""
    # Asked for in PySpark's way: it cannot use a plain logger that has one of these names.
    loggers = [PySparkLogger.getLogger(name) for name in _QUERY_LOGGERS]
    for logger in loggers:
        logger.addFilter(_say_nothing)
    _quiet.depth = getattr(_quiet, "depth", 0) + 1
    try:
        yield
    finally:
        _quiet.depth -= 1


_quiet = threading.local()


def _say_nothing(_: logging.LogRecord) -> bool:
    """Let a record pass unless this very thread tells the error itself."""
    return not getattr(_quiet, "depth", 0)


def to_ducklake_error(error: Exception, action: str) -> DuckLakeError:
    """The error of this package for an exception of Spark."""
    ours = original_error(error)
    if ours is not None:
        return ours
    text = _text(error)
    reason = _first_line(text)
    # Where Spark cannot plan a query it shows the plan, with errors that no row has reached.
    told = reason if isinstance(error, AnalysisException) else text
    if marked := _MARKED.search(told):
        return _unmark(marked[1], action, text)
    if unknown := _NO_FILE_SYSTEM.search(text):
        return _no_file_system(unknown[1], action)
    state, condition = _ask(error, "getSqlState"), _condition(error, text)
    if condition.startswith("UNRESOLVED_COLUMN"):
        return _column_not_found(error, action)
    if condition.startswith("UNRESOLVED_ROUTINE"):
        return _function_not_found(error, action)
    if state.startswith("22"):  # SQL's class of states for data that cannot be computed with
        return InvalidValue(f"Cannot {action}: {_ADVICE.sub('', reason)}")
    if isinstance(error, AnalysisException):
        return errors.InvalidInput(f"Cannot {action}: {reason}")
    if condition == _SCALAR:
        return InvalidValue(TOO_MANY_ROWS)
    if condition.startswith("FAILED_READ_FILE"):
        return _unreadable(action, reason, condition, _cause(error))
    return errors.SparkFailure(f"Cannot {action}: {reason}")


def _no_file_system(scheme: str, action: str) -> DuckLakeError:
    return errors.NotSupported(
        f"Cannot {action}: this Spark has no file system for {scheme}:// paths; object stores are "
        "not supported yet.",
        hint="keep the data path on a local or mounted file system.",
    )


def _unreadable(action: str, reason: str, condition: str, cause: str) -> DuckLakeError:
    if condition == "FAILED_READ_FILE.FILE_NOT_EXIST":
        return MissingDataFile(f"Cannot {action}: {reason}", hint="restore the file.")
    hint = "files of a lake never change; restore the original file."
    return CorruptDataFile(f"Cannot {action}: {reason}{cause}", hint=hint)


def _column_not_found(error: Exception, action: str) -> DuckLakeError:
    told: dict[str, str] = getattr(error, "getMessageParameters", dict)() or {}
    name = _dotted(told.get("objectName", ""))
    proposals = [_dotted(text) for text in str(told.get("proposal", "")).split(", ")]
    bare = {text.rpartition(".")[2]: text for text in proposals}
    near = did_you_mean(name, proposals) or did_you_mean(name.rpartition(".")[2], bare)
    missing = f'Referenced column "{name}" not found in FROM clause'
    return errors.ColumnNotFound(f"Cannot {action}: {missing}.", hint=near)


def _function_not_found(error: Exception, action: str) -> DuckLakeError:
    told: dict[str, str] = getattr(error, "getMessageParameters", dict)() or {}
    name = _dotted(told.get("routineName", "")).lower()
    missing = f"Scalar Function with name {name} does not exist!"
    return errors.FunctionNotFound(f"Cannot {action}: {missing}")


def _dotted(name: str) -> str:
    """A quoted name of Spark without its quotes: ```o`.`id``` is ``o.id``."""
    return str(name).strip("`").replace("`.`", ".")


def _unmark(marked: str, action: str, text: str) -> DuckLakeError:
    try:
        parts = json.loads(marked)
        kind = getattr(errors, parts["class"])
    except (ValueError, KeyError, AttributeError):  # the text was cut on its way
        return errors.SparkFailure(f"Cannot {action}: {_first_line(text)}")
    built: DuckLakeError = kind(parts["message"], hint=parts.get("hint"))
    return built


def _text(error: Exception) -> str:
    """What Spark says, without the JVM's stack that comes with errors PySpark has no class for."""
    if isinstance(error, Py4JJavaError):
        return str(error.java_exception.getMessage() or error.java_exception.toString())
    return str(error)


def _condition(error: Exception, text: str) -> str:
    told = _CONDITION.search(text)
    return _ask(error, "getCondition") or (told[1] if told else "")


def _cause(error: Exception) -> str:
    """Why the JVM could not read a file."""
    return _reason(error.java_exception.getCause()) if isinstance(error, Py4JJavaError) else ""


def _reason(cause: Any) -> str:
    lines = str(cause.getMessage()).splitlines() if cause is not None else []
    return f" ({lines[0]})" if lines else ""


def _ask(error: Exception, method: str) -> str:
    answer = getattr(error, method, lambda: None)()
    return answer if isinstance(answer, str) else ""


def _first_line(text: str) -> str:
    """The line that says what happened: of a Python traceback that is the last one."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    if not lines:
        return "Spark gave no reason."
    told = lines[-1] if "Traceback (most recent call last)" in text else lines[0]
    return _TRAILER.sub("", told.strip())

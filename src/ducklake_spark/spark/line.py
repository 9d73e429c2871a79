"""The line on which a task gets its rows from Spark. Task."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

from ducklake_spark.errors import SparkFailure


def whole_input(batches: Iterable[Any]) -> Iterator[Any]:
    """The batches, and an error at their end if Spark has closed the line: some may be missing.

    PySpark takes a closed line for the end of the rows. A task that was cancelled would complete
    files of which nobody knows.
    """
    yield from batches
    if is_closed():
        raise SparkFailure("The task was cancelled.")


def is_closed() -> bool:
    """Whether Spark waits no longer for what this task gives."""
    stream = _input_stream()
    if stream is None:
        return False
    try:
        with socket.socket(fileno=os.dup(stream.fileno())) as line:
            return not line.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:  # it is open, and there is nothing to read
        return False
    except ConnectionError:
        return True
    except OSError:  # no socket: nobody can tell
        return False


def _input_stream() -> Any:
    """What the worker's `main` reads from: PySpark hands it to nobody."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "main" and hasattr(frame.f_locals.get("infile"), "fileno"):
            return frame.f_locals["infile"]
        frame = frame.f_back
    return None

"""Work done by several threads at once, which fails instead of hanging."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any


def in_threads(work: Iterable[Callable[[], Any]], *, timeout: float = 120) -> list[Any]:
    """Start all at once, each in a thread of its own; their results, or the first error.

    The threads end with the process: a deadlock fails the test and does not keep the others.
    """
    calls = list(work)
    results: list[Any] = [None] * len(calls)
    errors: list[BaseException] = []
    start = threading.Barrier(len(calls))

    def run(index: int) -> None:
        try:
            start.wait(timeout)
            results[index] = calls[index]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(len(calls))]
    end = time.monotonic() + timeout
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    if errors:
        raise errors[0]
    assert not any(thread.is_alive() for thread in threads), "the threads wait for each other"
    return results


def in_another_thread(work: Callable[[], Any], *, timeout: float = 120) -> Any:
    """The result of one call in a new thread, or its error."""
    return in_threads([work], timeout=timeout)[0]

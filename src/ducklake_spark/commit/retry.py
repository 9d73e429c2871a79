"""How often and how patiently a commit that lost a race is tried again."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The extension's settings ducklake_max_retry_count, _retry_wait_ms and _retry_backoff."""

    max_retry_count: int = 10
    wait_ms: float = 100
    backoff: float = 1.5

    def attempts(self) -> Iterator[int]:
        """Count the attempts, waiting before each but the first."""
        for attempt in range(self.max_retry_count + 1):
            if attempt:
                # The jitter keeps writers that collided once from colliding in step for ever.
                jitter = random.uniform(0.5, 1.0)  # noqa: S311 - no secret depends on it
                time.sleep(self.wait_ms / 1000 * jitter * self.backoff ** (attempt - 1))
            yield attempt

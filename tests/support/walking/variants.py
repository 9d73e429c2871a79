"""In which ways a walk runs: as it is, with thresholds so low that all is large, without caches."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ducklake_spark import caching
from ducklake_spark.limits import Limits, lowered

VARIANTS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "usual": nullcontext,
    "tiny": lambda: lowered(Limits.tiny()),
    "uncached": caching.off,
}

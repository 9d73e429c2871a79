"""Reading a serialised node field by field: what is left unread is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from ducklake_spark.errors import NotSupported

_T = TypeVar("_T")
_REQUIRED: Final = object()


class Fields:
    """The fields of one serialised node.

    DuckDB leaves out what has its default value. A field that nobody takes may hold a meaning that
    the translation would lose: `end` refuses it.
    """

    def __init__(self, node: Mapping[str, Any], what: str) -> None:
        self.what = what
        self._left = dict(node)

    def take(self, name: str, default: Any = _REQUIRED) -> Any:
        """The value of a field, or what it means that there is none."""
        found = self._left.pop(name, default)
        if found is _REQUIRED:
            raise self.refusal(f"it has no {name}")
        return found

    def optional(self, name: str, read: Callable[[Any], _T]) -> _T | None:
        """A field that may be missing, read."""
        found = self._left.pop(name, None)
        return None if found is None else read(found)

    def several(self, name: str, read: Callable[[Any], _T]) -> tuple[_T, ...]:
        """A list that may be missing, each item read."""
        return tuple(read(item) for item in self._left.pop(name, ()))

    def skip(self, *names: str) -> Fields:
        """Leave out fields without a meaning for the answer."""
        for name in names:
            self._left.pop(name, None)
        return self

    def end(self) -> None:
        """Refuse fields that nobody took; empty ones say nothing."""
        for name, value in self._left.items():
            if value not in ([], {}, "", None, False):
                raise self.refusal(f"its {name} is not understood")

    def refusal(self, reason: str) -> NotSupported:
        """The error for something in this node."""
        return NotSupported(f"Cannot translate {self.what} of the query's plan: {reason}.")

"""What is kept to be used again: every cache is declared here, bounded, locked and can be off.

A cache holds answers that can be computed again. It is keyed by all that an answer depends on, so
that a key says the same for as long as the cache lives; docs/caches.md lists them all. With
``DUCKLAKE_SPARK_CACHES=off``, or inside ``with caching.off():``, nothing is found and nothing is
kept.

    >>> squares = declare("doctest", key="a number", depends_on="it", seen_by="process",
    ...     emptied="never", entries=2)
    >>> cache = squares.make()
    >>> [cache.find(number, lambda: number**2) for number in (3, 4, 5)], cache.keys()
    ([9, 16, 25], [4, 5])
    >>> with off():
    ...     cache.get(5)
    >>> cache.get(5)
    >>> forget(squares)
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Any, Final, Generic, Literal, ParamSpec, TypeVar

Scope = Literal["process", "connection", "lake", "statement"]
Bound = int | Callable[[], int]
"""A number, or what tells it when something is kept: a limit may change."""

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")
_Params = ParamSpec("_Params")
_SETTING: Final = "DUCKLAKE_SPARK_CACHES"


@dataclass(frozen=True)
class CacheKind:
    """What is said of a cache, once for all that are made of it.

    Attributes:
        name: no other has it.
        key: what it is asked by.
        depends_on: all that an answer depends on.
        seen_by: who shares one of them.
        emptied: when entries go, besides the bound.
        entries: how many are kept; the one that was not used for longest goes first.
        most_bytes: how much all of them may be, for those whose values are measured.
        size_of: measures a value.
    """

    name: str
    key: str
    depends_on: str
    seen_by: Scope
    emptied: str
    entries: Bound
    most_bytes: Bound | None = None
    size_of: Callable[[Any], int] | None = None

    def make(self) -> Cache[Any, Any]:
        """A new, empty cache."""
        return Cache(self)


_kinds: dict[str, CacheKind] = {}
_is_on = os.environ.get(_SETTING, "on").strip().lower() not in ("off", "0", "false", "no")
_generation = 0


def declare(
    name: str,
    *,
    key: str,
    depends_on: str,
    seen_by: Scope,
    emptied: str,
    entries: Bound,
    most_bytes: Bound | None = None,
    size_of: Callable[[Any], int] | None = None,
) -> CacheKind:
    """Register a kind of cache; see `CacheKind`."""
    if name in _kinds:
        raise ValueError(f'There are two caches "{name}".')
    kind = CacheKind(name, key, depends_on, seen_by, emptied, entries, most_bytes, size_of)
    _kinds[name] = kind
    return kind


def forget(kind: CacheKind) -> None:
    """Take a kind out of the register again, for tests."""
    del _kinds[kind.name]


def all_kinds() -> list[CacheKind]:
    """Those of the modules that are loaded, by name."""
    return sorted(_kinds.values(), key=lambda kind: kind.name)


def is_on() -> bool:
    """Whether caches are in use."""
    return _is_on


def switch_off() -> None:
    """From now on every answer is computed; what was kept is never used again."""
    _switch(on=False)


def switch_on() -> None:
    """Use caches, which start empty."""
    _switch(on=True)


@contextmanager
def off() -> Iterator[None]:
    """No caches for a while, in the whole process."""
    before = _is_on
    switch_off()
    try:
        yield
    finally:
        _switch(on=before)


def _switch(*, on: bool) -> None:
    global _is_on, _generation  # noqa: PLW0603 - one setting of the process
    _generation += 1
    _is_on = on


class Cache(Generic[_Key, _Value]):
    """Entries by key, the ones used last kept. Threads may share it."""

    def __init__(self, kind: CacheKind) -> None:
        self.kind = kind
        self._entries: OrderedDict[_Key, _Value] = OrderedDict()
        self._lock = threading.Lock()
        self._generation = _generation

    def get(self, key: _Key) -> _Value | None:
        """What is kept for the key; None if there is nothing."""
        if not _is_on:
            return None
        with self._lock:
            found = self._current().get(key)
            if found is not None:
                self._entries.move_to_end(key)
            return found

    def put(self, key: _Key, value: _Value) -> None:
        """Keep a value, which is not None, instead of what there was."""
        if not _is_on:
            return
        with self._lock:
            entries = self._current()
            entries[key] = value
            entries.move_to_end(key)
            self._shrink()

    def find(self, key: _Key, make: Callable[[], _Value]) -> _Value:
        """What is kept for the key, or what is made for it now; threads may make it twice."""
        found = self.get(key)
        if found is None:
            found = make()
            self.put(key, found)
        return found

    def drop(self, key: _Key) -> None:
        """Keep nothing for the key."""
        with self._lock:
            self._entries.pop(key, None)

    def clear(self) -> None:
        """Keep nothing at all."""
        with self._lock:
            self._entries.clear()

    def keys(self) -> list[_Key]:
        """What there is something for, the one used last at the end."""
        with self._lock:
            return list(self._current()) if _is_on else []

    def __len__(self) -> int:
        return len(self.keys())

    def __contains__(self, key: object) -> bool:
        with self._lock:
            return _is_on and key in self._current()

    def _current(self) -> OrderedDict[_Key, _Value]:
        if self._generation != _generation:
            self._entries.clear()
            self._generation = _generation
        return self._entries

    def _shrink(self) -> None:
        kind, entries = self.kind, self._entries
        most = number_of(kind.entries)
        while len(entries) > most:
            entries.popitem(last=False)
        if kind.most_bytes is not None and kind.size_of is not None:
            room = number_of(kind.most_bytes)
            while entries and sum(map(kind.size_of, entries.values())) > room:
                entries.popitem(last=False)


def number_of(bound: Bound) -> int:
    """The bound as it is now."""
    return bound if isinstance(bound, int) else bound()


def remembered(
    name: str, *, entries: int, depends_on: str = "its arguments alone"
) -> Callable[[Callable[_Params, _Value]], Callable[_Params, _Value]]:
    """Keep the answers of a function that gives the same for the same arguments, always.

    The interpreter's own cache does it, which is locked and many times as fast as `Cache`.
    """
    declare(
        name,
        key="the arguments",
        depends_on=depends_on,
        seen_by="process",
        emptied="never",
        entries=entries,
    )

    def decorate(function: Callable[_Params, _Value]) -> Callable[_Params, _Value]:
        kept: Any = lru_cache(maxsize=entries)(function)

        @wraps(function)
        def call(*args: _Params.args, **kwargs: _Params.kwargs) -> _Value:
            used: Callable[_Params, _Value] = kept if _is_on else function
            return used(*args, **kwargs)

        return call

    return decorate

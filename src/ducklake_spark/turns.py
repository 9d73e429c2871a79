"""One statement at a time: what makes a connection safe among threads."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, ParamSpec, TypeVar

from ducklake_spark.errors import InvalidInput

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
_MARK: Final = "_out_of_turn"


class TakesTurns:
    """Objects whose public methods run one at a time, and not at all once they are closed.

    A method waits until those that other threads have called return. Methods that subclasses add
    wait too, without a word of theirs, unless they are `out_of_turn`. Properties do not, nor do
    context managers, which would keep others waiting for all that stands inside of them: they
    take `turn` where they must.

    Spark asks for files in threads of its own while a method waits for Spark: what it calls must
    not wait here.
    """

    def __init__(self) -> None:
        self.turn = threading.RLock()  # the same thread may call a method from within another
        self._closed = False

    def __init_subclass__(cls, **words: Any) -> None:
        super().__init_subclass__(**words)
        for name, member in list(vars(cls).items()):
            if not name.startswith("_") and _waits(member):
                setattr(cls, name, _in_turn(member))

    def check_open(self) -> None:
        """Refuse what is asked after the end."""
        if self._closed:
            raise InvalidInput("The connection is closed.", hint="open a new one with connect().")


def out_of_turn(method: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """Mark a method that waits for nobody, and is called after the end too."""
    setattr(method, _MARK, True)
    return method


def _waits(member: object) -> bool:
    if not isinstance(member, FunctionType) or hasattr(member, _MARK):
        return False
    return not inspect.isgeneratorfunction(inspect.unwrap(member))  # a context manager is one


def _in_turn(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: TakesTurns, *args: Any, **words: Any) -> Any:
        with self.turn:
            self.check_open()
            return method(self, *args, **words)

    return call

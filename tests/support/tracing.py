"""Do something at a certain statement that a session sends to its catalog."""

from __future__ import annotations

from collections.abc import Callable


class Before(list[str]):
    """A trace of statements: just before one of them is sent, something else happens.

    Args:
        number: which statement, from one on.
        happen: what others do then.
    """

    def __init__(self, number: int, happen: Callable[[], object]) -> None:
        super().__init__()
        self.number, self.happen = number, happen

    def append(self, statement: str) -> None:
        """Note a statement."""
        super().append(statement)
        if len(self) == self.number:
            self.happen()

"""Files of a scan that are fetched from the catalog when somebody asks for them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from ducklake_spark.model.entities import DataFile


class Listing(Sequence[DataFile]):
    """The files of a branch of a large table: how many and how large they are is known.

    A scan asks its chooser for the files of a filter and keeps those that the branch `holds`, so
    that nobody but a query without a filter has all of them in hand.
    """

    def __init__(
        self,
        count: int,
        size: int,
        *,
        holds: Callable[[DataFile], bool],
        load: Callable[[], Sequence[DataFile]],
    ) -> None:
        self._count = count
        self.size = size
        self.holds = holds
        self._load = load

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[DataFile]:
        return (file for file in self._load() if self.holds(file))

    @overload
    def __getitem__(self, index: int) -> DataFile: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[DataFile]: ...
    def __getitem__(self, index: Any) -> Any:
        return list(self)[index]

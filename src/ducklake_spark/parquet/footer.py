"""The footer of a Parquet file as it is written: Thrift's compact protocol, read into dicts.

pyarrow shows columns, not the tree of groups above them, nor codecs and flags by their exact
names. A struct becomes a dict from field number to value; numbers and names stand in the Parquet
format's own definition. Driver.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Final

from ducklake_spark.errors import CorruptDataFile
from ducklake_spark.parquet.storage import open_file

_MAGIC: Final = b"PAR1"
_TAIL: Final = 8
Fields = dict[int, Any]


@dataclass(frozen=True, slots=True)
class Footer:
    """What the end of a Parquet file says."""

    path: str
    file_size: int
    size: int  # of the footer itself, in bytes
    fields: Fields


def read_footer(path: str) -> Footer:
    """Read the footer of one file."""
    with open_file(path) as file:
        file_size = file.size()
        tail = file.read_at(_TAIL, max(file_size - _TAIL, 0))
        if len(tail) < _TAIL or tail[4:] != _MAGIC:
            raise CorruptDataFile(f'"{path}" is no Parquet file: its last bytes are not PAR1.')
        size = int.from_bytes(tail[:4], "little")
        if size > file_size - _TAIL:
            raise CorruptDataFile(f'"{path}" is no whole Parquet file: its footer is cut off.')
        data = file.read_at(size, file_size - _TAIL - size)
    try:
        return Footer(path, file_size, size, _Compact(data).struct())
    except (IndexError, struct.error, ValueError) as error:
        raise CorruptDataFile(f'The footer of "{path}" cannot be read: {error}.') from error


class _Compact:
    """Reads Thrift's compact protocol."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self) -> Fields:
        fields: Fields = {}
        number = 0
        while (head := self._byte()) != 0:
            delta, kind = head >> 4, head & 15
            number = number + delta if delta else self._signed()
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind)
        return fields

    def _value(self, kind: int) -> Any:
        match kind:
            case 1 | 2:  # a boolean in a list
                return self._byte() == 1
            case 3:
                return self._byte()
            case 4 | 5 | 6:
                return self._signed()
            case 7:
                return struct.unpack("<d", self._take(8))[0]
            case 8:
                return self._take(self._unsigned())
            case 9 | 10:
                return self._list()
            case 11:
                return self._map()
            case 12:
                return self.struct()
            case _:
                raise ValueError(f"unknown type {kind}")

    def _list(self) -> list[Any]:
        head = self._byte()
        size, kind = head >> 4, head & 15
        return [self._value(kind) for _ in range(self._unsigned() if size == 15 else size)]

    def _map(self) -> dict[Any, Any]:
        size = self._unsigned()
        if not size:
            return {}
        kinds = self._byte()
        return {self._value(kinds >> 4): self._value(kinds & 15) for _ in range(size)}

    def _signed(self) -> int:
        number = self._unsigned()
        return (number >> 1) ^ -(number & 1)

    def _unsigned(self) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _take(self, size: int) -> bytes:
        if self._at + size > len(self._data):
            raise IndexError("it ends too early")
        self._at += size
        return self._data[self._at - size : self._at]

"""When two name mappings say the same. Pure."""

from __future__ import annotations

from typing import Any

from ducklake_spark.model.entities import NameMapping


def mapping_key(entries: tuple[NameMapping, ...]) -> frozenset[Any]:
    """The same for mappings that differ only in the order of columns.

    >>> a, b = NameMapping("a", 1, False), NameMapping("b", 2, False)
    >>> mapping_key((a, b)) == mapping_key((b, a)), mapping_key((a,)) == mapping_key((b,))
    (True, False)
    """
    return frozenset(
        (e.source_name, e.target_field_id, e.is_partition, mapping_key(e.children)) for e in entries
    )

"""What the catalog knows about files that may exclude them: bounds and partitions. Driver.

All of it comes by one statement, whose rows are of several kinds: the first column says which.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ducklake_spark.caching import Cache, declare
from ducklake_spark.catalog_db.connection import Database, Statement
from ducklake_spark.limits import limits
from ducklake_spark.model.entities import PartitionField, PartitionSpec
from ducklake_spark.plan.prune import FileStats

_STATS: Final = 1
_VALUE: Final = 2
_SPEC: Final = 3


@dataclass(frozen=True)
class FileFacts:
    """Statistics and partitions of files, as far as they have been loaded.

    Attributes:
        stats: by file id and column id.
        partition_values: by file id, in the order of the keys.
        specs: every partition spec that the table ever had, by id.
        columns: the columns whose statistics are here.
    """

    stats: Mapping[int, Mapping[int, FileStats]] = field(default_factory=dict)
    partition_values: Mapping[int, tuple[str | None, ...]] = field(default_factory=dict)
    specs: Mapping[int, PartitionSpec] = field(default_factory=dict)
    columns: frozenset[int] = frozenset()

    def joined(self, other: FileFacts) -> FileFacts:
        """Together with those of other columns of the same files."""
        both = {*self.stats, *other.stats}
        return FileFacts(
            {i: {**self.stats.get(i, {}), **other.stats.get(i, {})} for i in both},
            {**self.partition_values, **other.partition_values},
            {**self.specs, **other.specs},
            self.columns | other.columns,
        )

    @property
    def size(self) -> int:
        """About how many bytes it has in memory."""
        return 200 * len(self.stats) * len(self.columns)


_FACTS: Final = declare(
    "statistics of files",
    key="none: an entry says which columns it is of, and those that it lacks are loaded",
    depends_on="the list of files that it belongs to: what is said of a file never changes",
    seen_by="lake",
    emptied="with what is remembered of the table, or with the frame",
    entries=1,
    most_bytes=lambda: 40 * limits().remembered_bounds,
    size_of=lambda facts: facts.size,
)


class KnownFacts:
    """What questions about one list of files have learnt of them.

    Args:
        given: what is known beforehand.
    """

    def __init__(self, given: FileFacts | None = None) -> None:
        self._given = given or FileFacts()
        self._kept: Cache[None, FileFacts] = _FACTS.make()

    def find(self, columns: Iterable[int], load: Callable[[set[int]], FileFacts]) -> FileFacts:
        """The facts of these columns at least; `load` is asked for those that are missing."""
        known = self._kept.get(None) or self._given
        missing = set(columns) - known.columns
        if not missing:
            return known
        loaded = load(missing)
        found = known.joined(loaded) if known.columns else loaded
        self._kept.put(None, found)
        return found


def load_file_facts(
    db: Database,
    table_id: int,
    column_ids: Iterable[int],
    file_ids: Sequence[int] | None = None,
    *,
    with_partitions: bool = True,
) -> FileFacts:
    """Statistics of some columns, and the partitions; of all files of a table or of some."""
    columns = tuple(sorted(column_ids))
    among = None
    # Databases limit the number of parameters.
    if file_ids is not None and 0 < len(file_ids) <= limits().ids_per_query:
        among = Statement(", ".join("?" for _ in file_ids), tuple(file_ids))
    queries = facts_queries(db, table_id, columns, among, with_partitions=with_partitions)
    if not queries:
        return FileFacts()
    sql = " UNION ALL ".join(query.sql for query in queries)
    found = db.fetch(sql, tuple(value for query in queries for value in query.params))
    return read_facts(db, found, columns)


def facts_queries(
    db: Database,
    table_id: int,
    column_ids: Sequence[int],
    among: Statement | None,
    *,
    source: Statement | None = None,
    with_partitions: bool = True,
) -> list[Statement]:
    """Queries of thirteen columns, of the types of a kind and of `files.DATA_COLUMNS`.

    Args:
        db: the metadata database.
        table_id: whose files.
        column_ids: whose statistics are wanted.
        among: what stands in the parentheses of IN, to keep the facts of some files only.
        source: what follows FROM for the statistics that are wanted, if they are at hand.
        with_partitions: whether files may be divided.
    """
    only = f" AND data_file_id IN ({among.sql})" if among else ""
    ids = among.params if among else ()
    queries = []
    if column_ids:
        marks = ", ".join("?" for _ in column_ids)
        stats = source or Statement(
            f"{db.table('ducklake_file_column_stats')} "
            f"WHERE table_id = ? AND column_id IN ({marks}){only}",
            (table_id, *column_ids, *ids),
        )
        queries.append(
            Statement(
                f"SELECT {_STATS}, data_file_id, min_value, contains_nan, column_id, value_count, "
                f"null_count, NULL, NULL, NULL, NULL, NULL, max_value FROM {stats.sql}",
                stats.params,
            )
        )
    if not with_partitions:
        return queries
    return [
        *queries,
        Statement(
            f"SELECT {_VALUE}, data_file_id, partition_value, NULL, partition_key_index, "
            "NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL "
            f"FROM {db.table('ducklake_file_partition_value')} WHERE table_id = ?{only}",
            (table_id, *ids),
        ),
        Statement(
            f"SELECT {_SPEC}, partition_id, transform, NULL, partition_key_index, column_id, "
            "NULL, NULL, NULL, NULL, NULL, NULL, NULL "
            f"FROM {db.table('ducklake_partition_column')} WHERE table_id = ?",
            (table_id,),
        ),
    ]


def read_facts(db: Database, rows: Iterable[Any], columns: Iterable[int]) -> FileFacts:
    """The facts in the fetched rows, of which those of other kinds are ignored."""
    stats: dict[int, dict[int, FileStats]] = defaultdict(dict)
    values: dict[int, dict[int, str | None]] = defaultdict(dict)
    fields: dict[int, dict[int, PartitionField]] = defaultdict(dict)
    for kind, number, text, flag, first, second, third, *rest in rows:
        if kind == _STATS:
            nan = None if flag is None else db.decode("boolean", flag)
            found = FileStats(second, third, text, rest[-1], nan)
            stats[number][first] = found
        elif kind == _VALUE:
            values[number][first] = text
        elif kind == _SPEC:
            fields[number][first] = PartitionField(second, text)
    return FileFacts(
        dict(stats),
        {i: _in_order(parts) for i, parts in values.items()},
        {i: PartitionSpec(i, _in_order(keys)) for i, keys in fields.items()},
        frozenset(columns),
    )


def _in_order(parts: dict[int, Any]) -> tuple[Any, ...]:
    return tuple(parts[index] for index in sorted(parts))

"""Hold a data file and what hides rows of it against what the catalog claims. Task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from ducklake_spark.errors import DataFileError, DuckLakeError, MissingDataFile
from ducklake_spark.model.findings import DeleteClaim, FileClaim, FileVerdict, Finding, Severity
from ducklake_spark.parquet.decode import field_id
from ducklake_spark.parquet.storage import open_file
from ducklake_spark.parquet.verify_deletes import read_delete_file
from ducklake_spark.parquet.verify_values import LeafCheck, PartitionCheck, find_nodes

ROW_ID: Final = 2147483540
SNAPSHOT_ID: Final = 2147483539
_INTERNAL: Final = frozenset({ROW_ID, SNAPSHOT_ID})
T = TypeVar("T")


def verify_file(claim: FileClaim) -> FileVerdict:
    """Read the whole file, and its delete files, once."""
    inspection = _Inspection(claim)
    hidden = inspection.read_deletes()
    row_ids = inspection.read(
        claim.path,
        claim.file_size_bytes,
        claim.footer_size,
        partial(inspection.read_rows, hidden=hidden),
    )
    return FileVerdict(tuple(inspection.findings), claim.table_id, claim.path, row_ids)


@dataclass
class _Inspection:
    claim: FileClaim
    findings: list[Finding] = field(default_factory=list)

    def report(
        self, check: str, detail: str, path: str | None = None, severity: Severity = "error"
    ) -> None:
        where = path or self.claim.path
        self.findings.append(Finding(severity, check, self.claim.table, where, detail))

    def read(
        self, path: str, size: int | None, footer_size: int | None, use: Callable[[Any], T]
    ) -> T | None:
        """What `use` makes of the Parquet file; None when it cannot be read, which is reported."""
        try:
            with open_file(path) as source:
                self._check_size(path, source, size, footer_size)
                source.seek(0)
                return use(pq.ParquetFile(source))
        except MissingDataFile as error:
            self.report("file-missing", error.message, path)
        except (DuckLakeError, pa.ArrowException, OSError) as error:
            self.report("file-unreadable", str(error).partition("\n")[0], path)
        return None

    def _check_size(self, path: str, source: Any, size: int | None, footer: int | None) -> None:
        found = source.size()
        if size is not None and found != size:
            self.report("file-size", f"it has {found} bytes, the catalog says {size}.", path)
        if footer is None or found < 12:
            return
        source.seek(found - 8)
        tail = source.read(8)
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] == b"PAR1" and length != footer:
            self.report("footer-size", f"it is {length}, the catalog says {footer}.", path)

    # --- deletes ---------------------------------------------------------------------------------

    def read_deletes(self) -> set[int] | None:
        """The positions that the newest snapshot does not see; None when they are not known."""
        claim = self.claim
        hidden: set[int] | None = set()
        for delete in claim.deletes:
            found = self._read_delete(delete)
            if delete.live:
                hidden = None if found is None or hidden is None else hidden | found
        self._check_inlined(hidden or set())
        return None if hidden is None else hidden | set(claim.inlined_deletes)

    def _read_delete(self, delete: DeleteClaim) -> set[int] | None:
        def report(check: str, detail: str) -> None:
            self.report(check, detail, delete.path)

        def use(file: Any) -> set[int] | None:
            return read_delete_file(file, delete, self.claim, report)

        if delete.format.lower() == "parquet":
            return self.read(delete.path, delete.file_size_bytes, delete.footer_size, use)
        try:  # a deletion vector: only its size is looked at
            with open_file(delete.path) as source:
                self._check_size(delete.path, source, delete.file_size_bytes, None)
        except DataFileError as error:
            self.report("file-missing", error.message, delete.path)
        return None

    def _check_inlined(self, in_file: set[int]) -> None:
        claim = self.claim
        beyond = [p for p in claim.inlined_deletes if not 0 <= p < claim.record_count]
        if beyond:
            self.report(
                "delete-positions",
                f"the metadata database deletes position {beyond[0]}, the file has "
                f"{claim.record_count} rows.",
            )
        twice = in_file.intersection(claim.inlined_deletes)
        if twice:
            self.report(
                "delete-twice",
                f"position {min(twice)} is deleted by a delete file and in the metadata database.",
            )

    # --- rows ------------------------------------------------------------------------------------

    def read_rows(self, file: Any, hidden: set[int] | None) -> tuple[tuple[int, int], ...] | None:
        claim = self.claim
        if file.metadata.num_rows != claim.record_count:
            self.report(
                "record-count",
                f"it has {file.metadata.num_rows} rows, the catalog says {claim.record_count}.",
            )
        fields = list(file.schema_arrow)
        self._check_field_ids(fields)
        places = {field_id(f): i for i, f in enumerate(fields) if field_id(f) in _INTERNAL}
        if claim.row_id_start is None and ROW_ID not in places:
            self.report("row-ids", "its rows have no ids: neither a first one nor a column.")
        if claim.partial_max is not None and SNAPSHOT_ID not in places:
            self.report("snapshot-ids", "it is of several snapshots, and lacks their column.")
        embedded = self._read_values(file, fields, places)
        return self._live_ids(embedded if ROW_ID in places else None, hidden)

    def _read_values(
        self, file: Any, fields: list[Any], places: dict[int | None, int]
    ) -> list[int | None]:
        """Check statistics, partitions and snapshot ids; returns the embedded row ids."""
        claim = self.claim
        nodes = find_nodes(fields, by_name=claim.mapped)
        checks: list[LeafCheck | PartitionCheck] = [LeafCheck(x, nodes) for x in claim.leaves]
        checks += [PartitionCheck(part, nodes) for part in claim.partitions]
        embedded: list[int | None] = []
        wrong_snapshot: int | None = None
        for batch in file.iter_batches(batch_size=claim.batch_rows):
            for check in checks:
                check.add(batch)
            if ROW_ID in places:
                embedded += batch.column(places[ROW_ID]).to_pylist()
            if SNAPSHOT_ID in places and claim.partial_max is not None:
                ids = batch.column(places[SNAPSHOT_ID]).to_pylist()
                outside = (s for s in ids if s is None or not self._in_span(s))
                wrong_snapshot = next(outside, wrong_snapshot)
        for check in checks:
            for name, detail in check.problems(live=claim.live):
                self.report(name, detail)
        if wrong_snapshot is not None:
            self.report(
                "snapshot-ids",
                f"a row is of snapshot {wrong_snapshot}, the catalog says "
                f"{claim.begin_snapshot} to {claim.partial_max}.",
            )
        return embedded

    def _in_span(self, snapshot_id: int) -> bool:
        last = self.claim.partial_max
        return self.claim.begin_snapshot <= snapshot_id <= (snapshot_id if last is None else last)

    def _check_field_ids(self, fields: list[Any]) -> None:
        claim = self.claim
        if claim.mapped:
            return
        ids = [field_id(f) for f in fields]
        for one, number in zip(fields, ids, strict=True):
            if number is None:
                self.report("field-ids", f'the column "{one.name}" has no field id.')
            elif number not in claim.column_ids and number not in _INTERNAL:
                self.report(
                    "field-ids", f'the column "{one.name}" has id {number}, the table has no such.'
                )
            elif ids.count(number) > 1:
                self.report("field-ids", f"the id {number} stands at several columns.")
        opaque = {leaf.column_id for leaf in claim.leaves if leaf.type_name == "variant"}
        for node in find_nodes(fields, by_name=False).every:
            if node.steps and node.number is None and node.top_id not in opaque:
                self.report("field-ids", f'a part of the column "{node.names[0]}" has no field id.')
                return

    def _live_ids(
        self, embedded: list[int | None] | None, hidden: set[int] | None
    ) -> tuple[tuple[int, int], ...] | None:
        """Runs of the ids of the rows that the newest snapshot sees."""
        claim = self.claim
        if embedded is None and claim.row_id_start is not None:
            first, behind = claim.row_id_start, claim.row_id_start + claim.record_count
            self._check_next(behind - 1)
            if hidden is None:
                return None
            return _without(first, behind, {first + p for p in hidden}) if claim.live else ()
        if embedded is None:
            return None
        known = [number for number in embedded if number is not None]
        if len(known) < len(embedded):
            self.report("row-ids", "a row has no id.")
        if known:
            self._check_next(max(known))
        if not claim.live:
            return ()
        if hidden is None:
            return None
        live = sorted(n for p, n in enumerate(embedded) if n is not None and p not in hidden)
        twice = next((a for a, b in pairwise(live) if a == b), None)
        if twice is not None:
            self.report("row-ids", f"two of its rows have the id {twice}.")
        return tuple(_runs(sorted(set(live))))

    def _check_next(self, highest: int) -> None:
        following = self.claim.next_row_id
        if following is not None and highest >= following:
            self.report(
                "row-ids", f"a row has the id {highest}, the table will give {following} again."
            )


def _without(first: int, behind: int, holes: set[int]) -> tuple[tuple[int, int], ...]:
    """The runs of a range that has holes."""
    runs, start = [], first
    for hole in sorted(holes):
        if first <= hole < behind:
            if hole > start:
                runs.append((start, hole))
            start = hole + 1
    if start < behind:
        runs.append((start, behind))
    return tuple(runs)


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Ascending numbers as runs.

    >>> list(_runs([1, 2, 5]))
    [(1, 3), (5, 6)]
    """
    start = end = None
    for number in numbers:
        if start is None or end is None or number != end:
            if start is not None and end is not None:
                yield start, end
            start = number
        end = number + 1
    if start is not None and end is not None:
        yield start, end

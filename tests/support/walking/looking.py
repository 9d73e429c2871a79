"""What must be true of a lake after each step of a walk, whoever looks."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from support.rows import normal
from support.walking.draw_rows import NESTED_IDS, compare

if TYPE_CHECKING:
    from support.walking.engines import Engines
    from support.walking.plain import Plain, Shape


class Difference(AssertionError):
    """Somebody saw something else than plain DuckDB.

    Attributes:
        check: which comparison failed, and for whom; the same in a shorter history.
    """

    def __init__(self, check: str, detail: str) -> None:
        super().__init__(f"{check}: {detail}")
        self.check = check


class Looker:
    """Compares what engines show with plain DuckDB. `only` is the one check that is wanted."""

    def __init__(self, plain: Plain, engines: Engines, *, only: str = "") -> None:
        self.plain = plain
        self.engines = engines
        self.only = only
        self.row_ids: dict[tuple[int, int, int], int] = {}  # table, key, since when -> row id
        self.reads = 0

    def wanted(self, check: str) -> bool:
        """Whether a comparison is to be made."""
        return not self.only or check == self.only

    def _ask(self, check: str, who: str, text: str) -> list[tuple[Any, ...]]:
        """The rows of a query; that it fails is a difference too."""
        self.reads += 1
        try:
            return self.engines.query(who, text)
        except Exception as error:
            raise Difference(check, f"{text}\n  {type(error).__name__}: {error}") from error

    def rows(self, who: str, table: str, version: int, *, newest: bool = False) -> None:
        """All rows of a table at a version, with their ids and their count."""
        check = f"{who} reads rows"
        if not self.wanted(check):
            return
        shape = self.plain.versions[version].shapes[table]
        names = ", ".join(name for name, _ in shape.columns)
        source = table if newest else f"{table} AT (VERSION => {version})"
        where = f"{table} at version {version}{' (the newest)' if newest else ''}"
        found = self._ask(check, who, f"SELECT rowid, {names} FROM {source}")
        kept = self.plain.sql(f"SELECT {names} FROM {self.plain.name_at(version, table)}")
        same(check, where, counted(row[1:] for row in found), counted(kept), shape)
        self._same_ids(who, where, shape, version, [(row[1], row[0]) for row in found])

    def _same_ids(
        self, who: str, where: str, shape: Shape, version: int, found: Sequence[tuple[int, int]]
    ) -> None:
        """A row has the same id for all engines and at all times, and no other row has it."""
        births = self.plain.versions[version].births[shape.number]
        if len({row_id for _, row_id in found}) != len(found):
            raise Difference(f"{who} reads rows", f"{where}: two rows have one row id: {found}")
        for key, row_id in found:
            known = self.row_ids.setdefault((shape.number, key, births[key]), row_id)
            if known != row_id:
                detail = f"{where}: the row id of {key} was {known} and is {row_id}"
                raise Difference(f"{who} reads rows", detail)

    def totals(self, who: str, table: str, version: int, rng: random.Random) -> None:
        """Counts and bounds of the rows that a filter finds: statistics exclude nothing else."""
        shape = self.plain.versions[version].shapes[table]
        kinds = dict(zip(*zip(*shape.columns, strict=True), strict=True))
        flat = [c for c in self._columns(version, table) if c[1].id not in NESTED_IDS]
        name, _ = rng.choice(flat)
        where = rng.choice(["true", "id < 30", compare(rng, *rng.choice(flat))])
        check = f"{who} filters and counts"
        if not self.wanted(check):
            return
        bounds = "" if kinds[name] == "BOOLEAN" else f", min({name}), max({name})"
        text = f"SELECT count(*), count({name}){bounds} FROM {{}} WHERE {where}"
        found = self._ask(check, who, text.format(f"{table} AT (VERSION => {version})"))
        kept = self.plain.sql(text.format(self.plain.name_at(version, table)))
        same(
            check, text.format(f"{table} AT (VERSION => {version})"), counted(found), counted(kept)
        )
        ((count,),) = self._ask(
            check, who, f"SELECT count(*) FROM {table} AT (VERSION => {version})"
        )
        ((wanted,),) = self.plain.sql(f"SELECT count(*) FROM {self.plain.name_at(version, table)}")
        if count != wanted:
            raise Difference(check, f"count(*) of {table} at {version}: {count}, not {wanted}")

    def _columns(self, version: int, table: str) -> list[tuple[str, Any]]:
        found = self.plain.con.table(self.plain.name_at(version, table))
        return list(zip(found.columns, found.types, strict=True))

    def view(self, who: str) -> None:
        """The rows of the view."""
        check = f"{who} reads the view"
        if not self.wanted(check):
            return
        if self.plain.sql("FROM duckdb_views() WHERE view_name = 'v' AND schema_name = 'main'"):
            found, kept = self._ask(check, who, "SELECT * FROM v"), self.plain.sql("FROM v")
            same(check, "v", counted(found), counted(kept))

    def feed(self, who: str, table: str, start: int, end: int) -> None:
        """The feed of a table tells what the steps did."""
        check = f"{who} reads the feed"
        if not self.wanted(check):
            return
        shape = self.plain.versions[end].shapes[table]
        names = ", ".join(name for name, _ in shape.columns)
        found = self._ask(
            check,
            who,
            f"SELECT snapshot_id, change_type, rowid, {names} FROM "
            f"ducklake_table_changes('lake', 'main', '{table}', {start}, {end})",
        )
        kept = self.plain.feed(table, start, end)
        where = f"{table} from {start} to {end}"
        same(check, where, counted((*r[:2], *r[3:]) for r in found), counted(kept), shape)
        place = [name for name, _ in shape.columns].index("id") + 3
        for row in found:
            version = self.plain.versions.get(row[0] - ("pre" in row[1] or row[1] == "delete"))
            born = version and version.births.get(shape.number, {}).get(row[place])
            known = self.row_ids.get((shape.number, row[place], born), row[2])
            if born is not None and known != row[2]:
                raise Difference(check, f"{where}: {row[:4]}, but the row id is {known}")

    def half_feed(self, who: str, table: str, start: int, end: int, which: str) -> None:
        """What came or what went."""
        check = f"{who} reads {which}"
        if not self.wanted(check):
            return
        shape = self.plain.versions[end].shapes[table]
        names = ", ".join(name for name, _ in shape.columns)
        found = self._ask(
            check, who, f"SELECT {names} FROM lake.table_{which}('{table}', {start}, {end})"
        )
        kinds = (
            ("insert", "update_postimage")
            if which == "insertions"
            else ("delete", "update_preimage")
        )
        kept = [row[2:] for row in self.plain.feed(table, start, end) if row[1] in kinds]
        same(check, f"{table} from {start} to {end}", counted(found), counted(kept), shape)

    def expired(self, who: str, table: str, version: int) -> None:
        """A snapshot that was forgotten is refused, and nothing else is shown in its place."""
        check = f"{who} reads an expired version"
        if not self.wanted(check):
            return
        try:
            found = self.engines.query(who, f"SELECT * FROM {table} AT (VERSION => {version})")
        except Exception as error:
            if "napshot" not in str(error):
                raise Difference(check, f"version {version}: {error}") from error
            return
        raise Difference(check, f"version {version} shows {found}")


def counted(rows: Iterable[Sequence[Any]]) -> Counter[str]:
    """Rows in any order, in a form that both engines share."""
    return Counter(repr([_unordered(normal(value)) for value in row]) for row in rows)


def _unordered(value: Any) -> Any:
    """What PySpark leaves open: the order of a map's entries, and the zone of its moments."""
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)  # all sessions are in UTC
    if isinstance(value, tuple):
        return tuple(sorted(((k, _unordered(v)) for k, v in value), key=repr))
    return [_unordered(item) for item in value] if isinstance(value, list) else value


def same(
    check: str, where: str, found: Counter[str], wanted: Counter[str], shape: Shape | None = None
) -> None:
    """Raise a `Difference` that shows some of the rows that are too many or missing."""
    if found == wanted:
        return
    extra, missing = list((found - wanted).elements()), list((wanted - found).elements())
    parts = [f"{where}: {found.total()} rows, expected {wanted.total()}"]
    if shape is not None:
        parts.append(f"columns {shape.columns}")
    parts += [f"too many ({len(extra)}): {', '.join(extra[:4])}"] if extra else []
    parts += [f"missing ({len(missing)}): {', '.join(missing[:4])}"] if missing else []
    raise Difference(check, "\n  ".join(parts))

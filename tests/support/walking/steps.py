"""The steps of a walk are values: any of them can be taken again without the others."""

from __future__ import annotations

from dataclasses import dataclass

OURS = ("a", "b")  # two connections of ours


@dataclass(frozen=True)
class Statement:
    """One statement, as the lake runs it and as plain DuckDB does.

    Attributes:
        text: for the lake. ``{versions}`` stands for snapshots that are chosen when it runs.
        plain: for plain DuckDB; None if it is the same. What changes no rows has a query here that
            fails where the statement makes no sense any more.
        table: whose rows or columns it changes.
        updates: a condition on the rows of the table that an UPDATE or MERGE updates.
        alters: what follows ALTER TABLE and the name, where columns change.
        call: "append" or "overwrite": `text` is a query then, whose rows are given to that method.
    """

    text: str
    plain: str | None = None
    table: str = ""
    updates: str = ""
    alters: str = ""
    call: str = ""

    @property
    def in_plain(self) -> str:
        """The text for plain DuckDB."""
        return self.text if self.plain is None else self.plain

    def __str__(self) -> str:
        if self.call:
            return f'con.{self.call}("{self.table}", con.sql("""{self.text}"""))'
        return f"{self.text};"


@dataclass(frozen=True)
class Step:
    """What one engine does: a statement, or a transaction that ends with COMMIT or ROLLBACK.

    Attributes:
        number: its place in the walk it was drawn for, and the seed of what is looked at then.
        actor: "a", "b" or "duckdb".
        kind: what drew it.
        statements: in their order.
        ending: of the transaction; empty if there is none.
        parts: which of the snapshots are expired, as parts of the list of all of them.
    """

    number: int
    actor: str
    kind: str
    statements: tuple[Statement, ...]
    ending: str = ""
    parts: tuple[float, ...] = ()

    def __str__(self) -> str:
        texts = [str(statement) for statement in self.statements]
        if self.ending:
            texts = ["BEGIN;", *texts, f"{self.ending};"]
        return "\n".join([f"-- {self.number} {self.actor}: {self.kind}", *texts])

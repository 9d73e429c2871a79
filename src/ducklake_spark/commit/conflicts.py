"""Which changes of others a transaction cannot live with: the matrix as data. Pure; driver.

A transaction that others overtook may still commit if what they did does not touch what it did.
`CONFLICTS` says for each thing that I do (a row) what another must not have done to the same object
(a column), and how that is called. The rules are those of the reference, and stricter where it lets
two commits through that together lose a delete: see `STRICTER`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from ducklake_spark.commit.change_log import Kind, LoggedChange, parse_changes
from ducklake_spark.errors import TransactionConflict

Phrases = Mapping[Kind, str]

_COMPACTED: Final = {
    Kind.MERGE_ADJACENT: "compacted it",
    Kind.REWRITE_DELETE: "compacted it",
    Kind.COMPACTED_TABLE: "compacted it",
}
_INSERTED: Final = {
    Kind.INSERTED_INTO_TABLE: "inserted into it",
    Kind.INLINED_INSERT: "inserted into it",
}
_CHANGED: Final = {Kind.DROPPED_TABLE: "dropped it", Kind.ALTERED_TABLE: "altered it"}
_INSERT: Final = _CHANGED | {
    Kind.DELETED_FROM_TABLE: "deleted from it",
    Kind.INLINED_DELETE: "deleted inlined data from it",
}
_COMPACT: Final = _COMPACTED | {
    Kind.DROPPED_TABLE: "dropped it",
    Kind.DELETED_FROM_TABLE: "deleted from it",
}

CONFLICTS: Final[Mapping[Kind, Phrases]] = {
    # what I do -> what another has done to the same object -> how it is called
    Kind.DROPPED_SCHEMA: {Kind.DROPPED_SCHEMA: "dropped it already"},
    Kind.DROPPED_TABLE: {Kind.DROPPED_TABLE: "dropped it already"},
    Kind.DROPPED_VIEW: {Kind.DROPPED_VIEW: "dropped it already"},
    Kind.DROPPED_SCALAR_MACRO: {Kind.DROPPED_SCALAR_MACRO: "dropped it already"},
    Kind.DROPPED_TABLE_MACRO: {Kind.DROPPED_TABLE_MACRO: "dropped it already"},
    Kind.INSERTED_INTO_TABLE: _INSERT,
    Kind.INLINED_INSERT: _INSERT,
    Kind.DELETED_FROM_TABLE: _CHANGED | _COMPACTED | _INSERTED,
    Kind.INLINED_DELETE: _CHANGED
    | _INSERTED
    | {
        Kind.INLINED_DELETE: "deleted from it",
        Kind.INLINE_FLUSH: "flushed the inlined data",
    },
    Kind.INLINE_FLUSH: {
        Kind.DROPPED_TABLE: "dropped it",
        Kind.INLINED_DELETE: "deleted from it",
        Kind.INLINE_FLUSH: "flushed it",
    },
    Kind.MERGE_ADJACENT: _COMPACT,
    Kind.REWRITE_DELETE: _COMPACT,
    Kind.ALTERED_TABLE: _CHANGED,
    Kind.ALTERED_VIEW: {Kind.ALTERED_VIEW: "altered it"},
}

STRICTER: Final[Mapping[Kind, Phrases]] = {
    # An inlined delete names a file by its id, which compaction takes away.
    Kind.INLINED_DELETE: _COMPACTED | {Kind.DELETED_FROM_TABLE: "deleted from it"},
    Kind.MERGE_ADJACENT: {Kind.INLINED_DELETE: "deleted from it"},
    Kind.REWRITE_DELETE: {Kind.INLINED_DELETE: "deleted from it"},
    # A row deleted both in a delete file and inside the catalog would be counted twice.
    Kind.DELETED_FROM_TABLE: {Kind.INLINED_DELETE: "deleted from it"},
    # The documentation forbids it, the extension does not check it.
    Kind.ALTERED_VIEW: {Kind.DROPPED_VIEW: "dropped it"},
}

_NOT_TO_RENAME: Final = _CHANGED | {Kind.DROPPED_VIEW: "dropped it"}

_ACTIONS: Final[Mapping[Kind, str]] = {
    Kind.DROPPED_SCHEMA: "drop schema",
    Kind.DROPPED_TABLE: "drop table",
    Kind.DROPPED_VIEW: "drop view",
    Kind.DROPPED_SCALAR_MACRO: "drop macro",
    Kind.DROPPED_TABLE_MACRO: "drop macro",
    Kind.INSERTED_INTO_TABLE: "insert into table",
    Kind.INLINED_INSERT: "insert into table",
    Kind.DELETED_FROM_TABLE: "delete from table",
    Kind.INLINED_DELETE: "delete from table",
    Kind.INLINE_FLUSH: "flush inline data",
    Kind.MERGE_ADJACENT: "compact table",
    Kind.REWRITE_DELETE: "compact table",
    Kind.ALTERED_TABLE: "alter table",
    Kind.ALTERED_VIEW: "alter view",
}

# Objects of one family share their names within a schema.
_FAMILIES: Final[Mapping[Kind, tuple[str, frozenset[Kind]]]] = {
    Kind.CREATED_TABLE: ("table", frozenset({Kind.CREATED_TABLE, Kind.CREATED_VIEW})),
    Kind.CREATED_VIEW: ("view", frozenset({Kind.CREATED_TABLE, Kind.CREATED_VIEW})),
    Kind.CREATED_SCALAR_MACRO: ("macro", frozenset({Kind.CREATED_SCALAR_MACRO})),
    Kind.CREATED_TABLE_MACRO: ("macro", frozenset({Kind.CREATED_TABLE_MACRO})),
}


@dataclass(frozen=True, slots=True)
class Intent:
    """What a transaction is about to do, as far as others can stand in its way.

    Args:
        changes: as they would be logged, with the ids of objects that exist already. Objects that
            the transaction itself makes have no id yet: leave changes to them out.
        names: what the objects of `changes` are called, by kind and id, for the message.
        schema_ids: ids of the schemas, by name, in which `changes` creates something.
        schema_names: names of the schemas, by id, that `changes` drops.
        delete_files: ids of the data files from which rows are deleted, or that are dropped.
        renamed: ids of tables and views that get a new name, which the log calls a creation. The
            reference would bring one back that another has dropped.
        not_null: ids of tables with a column that takes no NULLs from now on: rows that another
            has added meanwhile were not looked at.
    """

    changes: tuple[LoggedChange, ...]
    names: Mapping[int, str] = field(default_factory=dict)
    schema_ids: Mapping[str, int] = field(default_factory=dict)
    schema_names: Mapping[int, str] = field(default_factory=dict)
    delete_files: frozenset[int] = frozenset()
    renamed: frozenset[int] = frozenset()
    not_null: frozenset[int] = frozenset()


def check_conflicts(
    mine: Intent,
    theirs: str | Iterable[LoggedChange],
    *,
    deleted_files: AbstractSet[int] | None = None,
) -> None:
    """Raise TransactionConflict if others have done what `mine` cannot live with.

    Args:
        mine: what this transaction does.
        theirs: what others committed since it began; the text of their change logs, joined by
            commas, or what `parse_changes` made of it.
        deleted_files: the data files that others deleted from or dropped since. None when not
            known: then two deletes from one table conflict.
    """
    others = parse_changes(theirs) if isinstance(theirs, str) else list(theirs)
    if not others:
        return
    for change in mine.changes:
        reason = next(_reasons(change, mine, others), None)
        if reason is not None:
            raise _conflict(_describe(change, mine), reason)
    _check_renames(mine, others)
    _check_not_null(mine, others)
    _check_files(mine, others, deleted_files)


def phrase(mine: Kind, theirs: Kind) -> str | None:
    """What another has done, in the words of the message, if it conflicts on the same object.

    >>> phrase(Kind.INSERTED_INTO_TABLE, Kind.DROPPED_TABLE)
    'dropped it'
    """
    return CONFLICTS.get(mine, {}).get(theirs) or STRICTER.get(mine, {}).get(theirs)


def _reasons(change: LoggedChange, mine: Intent, others: list[LoggedChange]) -> Iterator[str]:
    for other in others:
        if isinstance(change.target, int):
            found = phrase(change.kind, other.kind) if change.target == other.target else None
            found = found or _filled_schema(change, mine, other)
        elif change.kind is Kind.CREATED_SCHEMA:
            found = _same_schema(change.target, other)
        else:
            found = _same_place(change.kind, change.target, mine, other)
        if found:
            yield found


def _filled_schema(change: LoggedChange, mine: Intent, other: LoggedChange) -> str | None:
    """A schema that I drop must be empty: another may have created something in it."""
    if change.kind is not Kind.DROPPED_SCHEMA or other.kind not in _FAMILIES:
        return None
    if not isinstance(change.target, int) or not isinstance(other.target, tuple):
        return None
    name = mine.schema_names.get(change.target)
    if name is None or _fold(name) != _fold(other.target[0]):
        return None
    return "created an entry in this schema"


def _same_schema(target: tuple[str, ...], other: LoggedChange) -> str | None:
    if other.kind is Kind.CREATED_SCHEMA and _folded(other.target) == _folded(target):
        return "created a schema with this name already"
    return None


def _same_place(
    kind: Kind, target: tuple[str, ...], mine: Intent, other: LoggedChange
) -> str | None:
    if other.kind is Kind.DROPPED_SCHEMA:
        ids = {_fold(name): schema_id for name, schema_id in mine.schema_ids.items()}
        return "dropped this schema" if ids.get(_fold(target[0])) == other.target else None
    _, family = _FAMILIES[kind]
    if other.kind in family and _folded(other.target) == _folded(target):
        return f"created a {_FAMILIES[other.kind][0]} with this name already"
    return None


def _check_renames(mine: Intent, others: list[LoggedChange]) -> None:
    """A name for what is gone would bring it back.

    A table also gets a new place for small inserts with its name, of the columns that it had.
    """
    for other in others:
        if other.target in mine.renamed and other.kind in _NOT_TO_RENAME:
            name = mine.names.get(int(str(other.target)))
            shown = f" ({name})" if name else ""
            raise _conflict(
                f'rename with index "{other.target}"{shown}', _NOT_TO_RENAME[other.kind]
            )


def _check_not_null(mine: Intent, others: list[LoggedChange]) -> None:
    """The reference lets both commit, and then has NULLs where none may be."""
    for other in others:
        if other.kind in _INSERTED and other.target in mine.not_null:
            altered = LoggedChange(Kind.ALTERED_TABLE, other.target)
            raise _conflict(_describe(altered, mine), _INSERTED[other.kind])


def _check_files(
    mine: Intent, others: list[LoggedChange], deleted_files: AbstractSet[int] | None
) -> None:
    """Two deletes from one table may stand together if they touch different files."""
    tables = {c.target for c in mine.changes if c.kind is Kind.DELETED_FROM_TABLE}
    shared = [o for o in others if o.kind is Kind.DELETED_FROM_TABLE and o.target in tables]
    if not shared:
        return
    both = None if deleted_files is None else sorted(mine.delete_files & deleted_files)
    if both is None:
        mine_here = LoggedChange(Kind.DELETED_FROM_TABLE, shared[0].target)
        raise _conflict(_describe(mine_here, mine), "deleted from it")
    if both:
        raise _conflict(f'delete from file with index "{both[0]}"', "deleted from it")


def _describe(change: LoggedChange, mine: Intent) -> str:
    if isinstance(change.target, int):
        index = f'{_ACTIONS[change.kind]} with index "{change.target}"'
        name = mine.names.get(change.target) or mine.schema_names.get(change.target)
        return f"{index} ({name})" if name else index
    if change.kind is Kind.CREATED_SCHEMA:
        return f'create schema with name "{change.target[0]}"'
    what, _ = _FAMILIES[change.kind]
    return f'create {what} "{change.target[1]}" in schema "{change.target[0]}"'


def _conflict(action: str, reason: str) -> TransactionConflict:
    return TransactionConflict(
        f"Transaction conflict - attempting to {action} - but another transaction has {reason}.",
        hint="start a new transaction and do the work again on what is there now.",
    )


def _fold(name: str) -> str:
    return name.lower()


def _folded(target: int | tuple[str, ...]) -> tuple[str, ...]:
    return () if isinstance(target, int) else tuple(map(_fold, target))

"""The clauses of a MERGE, with every name in them resolved. Pure; driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from ducklake_spark.errors import ColumnMismatch, ColumnNotFound, InvalidInput, NotSupported
from ducklake_spark.execution.change_rows import assigned
from ducklake_spark.model.entities import TableEntry
from ducklake_spark.model.names import quote_identifier
from ducklake_spark.sql import statements as st
from ducklake_spark.sql.composed import verbatim, verbatim_text
from ducklake_spark.sql.reader import WRITTEN, Written
from ducklake_spark.sql.relations import VIRTUAL_COLUMNS
from ducklake_spark.sql.values import DEFAULT, is_default

_WORDS = {
    "matched": "WHEN MATCHED",
    "not_matched": "WHEN NOT MATCHED",
    "not_matched_by_source": "WHEN NOT MATCHED BY SOURCE",
}


@dataclass(frozen=True)
class Names:
    """What names in the clauses may mean.

    Attributes:
        target: the name that the target's columns are qualified with.
        source: that of the source's columns.
        columns: the source's columns, in order.
        joined: columns that USING makes one of both, in lower case.
        source_parts: the whole name of a source that is a table without an alias.
    """

    table: TableEntry
    target: str
    source: str
    columns: tuple[str, ...]
    joined: frozenset[str] = frozenset()
    source_parts: tuple[str, ...] = ()

    def source_columns(self) -> list[exp.Column]:
        """All columns of the source."""
        return [exp.column(name, table=self.source, quoted=True) for name in self.columns]


@dataclass(frozen=True)
class Arm:
    """One clause.

    Attributes:
        number: its place among the clauses.
        condition: what stands for it in a query, its columns qualified; so are the values.
        values: for an UPDATE what the columns are set to, for an INSERT what is given for them, by
            column id: a tree or `DEFAULT`. All others keep their value, or take their default.
        message: of an ERROR.
    """

    number: int
    when: str
    action: st.MergeAction
    condition: exp.Expr | None
    values: Mapping[int, Any]
    message: exp.Expr | None = None

    @property
    def updates(self) -> bool:
        """Whether it gives rows other values."""
        return isinstance(self.action, st.MergeUpdate)

    @property
    def inserts(self) -> bool:
        """Whether it adds rows."""
        return isinstance(self.action, st.MergeInsert)

    @property
    def deletes(self) -> bool:
        """Whether it takes rows away."""
        return isinstance(self.action, st.MergeDelete)

    @property
    def fails(self) -> bool:
        """Whether a row that reaches it is an error."""
        return isinstance(self.action, st.MergeError)

    @property
    def words(self) -> str:
        """How the clause begins, for messages."""
        return _WORDS[self.when]


def resolve_arms(clauses: Iterable[st.MergeClause], names: Names) -> list[Arm]:
    """The clauses of a statement over these tables.

    Raises:
        InvalidInput: an action that makes no sense there, or a clause that no row can reach.
        ColumnNotFound: a name of the table that has no row then.
    """
    arms = list(_resolve(clauses, names))
    final: set[str] = set()
    for arm in arms:
        if arm.when in final:
            raise InvalidInput(
                f"No row can reach a further clause {arm.words}: the one before it has no "
                "condition.",
                hint="put the clause without a condition last.",
            )
        if arm.condition is None:
            final.add(arm.when)
    return arms


def _resolve(clauses: Iterable[st.MergeClause], names: Names) -> Iterator[Arm]:
    for number, clause in enumerate(clauses):
        _check_action(clause)
        values = _values(clause.action, names)
        message = clause.action.message if isinstance(clause.action, st.MergeError) else None
        yield Arm(
            number,
            clause.when,
            clause.action,
            qualified(clause.condition, clause.when, names),
            {
                column_id: value if value is DEFAULT else qualified(value, clause.when, names)
                for column_id, value in values.items()
            },
            qualified(message, clause.when, names),
        )


def _check_action(clause: st.MergeClause) -> None:
    changes = isinstance(clause.action, st.MergeUpdate | st.MergeDelete)
    if clause.when == "not_matched" and changes:
        raise InvalidInput(
            "WHEN NOT MATCHED cannot UPDATE or DELETE: the table has no such row.",
            hint="use WHEN MATCHED or WHEN NOT MATCHED BY SOURCE.",
        )
    if clause.when != "not_matched" and isinstance(clause.action, st.MergeInsert):
        raise InvalidInput(
            f"{_WORDS[clause.when]} cannot INSERT: the table has the row already.",
            hint="use WHEN NOT MATCHED.",
        )


def _values(action: st.MergeAction, names: Names) -> dict[int, Any]:
    match action:
        case st.MergeUpdate(None, by_name):
            return _whole_row(names, by_name=by_name)
        case st.MergeUpdate(assignments):
            return assigned(_unqualified(assignments or (), names), names.table)
        case st.MergeInsert(default_values=True):
            return {}
        case st.MergeInsert(columns, None, by_name):
            return _whole_row(names, columns, by_name=by_name)
        case st.MergeInsert(columns, values):
            return _paired(names.table, columns, values or ())
        case _:
            return {}


def _whole_row(
    names: Names, columns: tuple[str, ...] | None = None, *, by_name: bool
) -> dict[int, Any]:
    """The columns of the source as those of the table, by name or by place."""
    chosen = names.columns if by_name else columns
    return _paired(names.table, chosen, names.source_columns())


def _paired(
    table: TableEntry, columns: tuple[str, ...] | None, values: Iterable[exp.Expr]
) -> dict[int, Any]:
    if columns is None:
        targets = list(table.schema.columns)
    else:
        targets = [table.schema.get(name, table=table.name) for name in columns]
    given = list(values)
    if len(given) != len(targets):
        raise ColumnMismatch(
            f'Table "{table.name}" has {len(targets)} columns to fill, but {len(given)} values '
            "were given.",
            hint="name the columns, or match them by name: UPDATE BY NAME, INSERT BY NAME.",
        )
    if len({column.column_id for column in targets}) != len(targets):
        raise InvalidInput(f'A column of table "{table.name}" is given twice.')
    return {
        column.column_id: DEFAULT if is_default(value) else value
        for column, value in zip(targets, given, strict=True)
    }


def _unqualified(assignments: tuple[st.Assignment, ...], names: Names) -> tuple[st.Assignment, ...]:
    """``SET t.a = 1`` is ``SET a = 1``."""
    known = (names.target.lower(), names.table.name.lower())
    return tuple(
        st.Assignment(each.column[1:], each.value)
        if len(each.column) == 2
        and each.column[0].lower() in known
        and names.table.schema.find(each.column[0]) is None
        else each
        for each in assignments
    )


def qualified(tree: exp.Expr | None, when: str, names: Names) -> exp.Expr | None:
    """What stands for a tree in a query of ours, with its columns as in `qualified_tree`."""
    if tree is None or WRITTEN not in tree.meta:
        return qualified_tree(tree, when, names)
    edits = [edit for column in _own_columns(tree) if (edit := _edit(column, when, names))]
    if not edits:
        return verbatim(tree)
    written: Written = tree.meta[WRITTEN]
    text, end = "", written.start
    for start, kept, prefix in sorted(edits):
        text += written.sql[end:start] + prefix
        end = kept
    return verbatim_text(text + written.sql[end : written.end], tree.meta)


def qualified_tree(tree: exp.Expr | None, when: str, names: Names) -> exp.Expr | None:
    """The tree with the table before each column that only one table can mean here.

    In a clause about rows that only one of the tables has, names are that one's alone. Names
    inside of subqueries are left to who reads them.
    """
    if tree is None:
        return None
    root = exp.Paren(this=tree.copy())
    for column in _own_columns(root):
        shortened = _shortened(column, names)
        owner = _owner([part.name.lower() for part in shortened], when, names)
        parts = [part.copy() for part in shortened]
        if owner is not None:
            parts.insert(0, exp.to_identifier(owner, quoted=True))
        new = exp.Column(**dict(zip(("this", "table", "db", "catalog"), reversed(parts))))  # noqa: B905
        column.replace(new)
    found: exp.Expr = root.this
    return found


def _own_columns(tree: exp.Expr) -> list[exp.Column]:
    return [each for each in tree.find_all(exp.Column) if each.find_ancestor(exp.Select) is None]


def _edit(column: exp.Column, when: str, names: Names) -> tuple[int, int, str] | None:
    """What changes in the text: from where to where something goes, and what comes in its place."""
    shortened = _shortened(column, names)
    owner = _owner([part.name.lower() for part in shortened], when, names)
    if owner is None and len(shortened) == len(column.parts):
        return None
    start, kept = (part.meta.get("start") for part in (column.parts[0], shortened[0]))
    if start is None or kept is None:
        raise NotSupported(
            f"The name {column.sql(dialect='duckdb')} cannot be read in a clause of MERGE.",
            hint="write the name of its table before it.",
        )
    return start, kept, "" if owner is None else f"{quote_identifier(owner)}."


def _shortened(column: exp.Column, names: Names) -> list[exp.Expr]:
    """``lake.schema.s.a`` and ``schema.s.a`` are ``s.a``."""
    parts: list[exp.Expr] = list(column.parts)
    qualifier = tuple(part.name.lower() for part in parts[:-1])
    whole = tuple(part.lower() for part in names.source_parts)
    is_whole = len(qualifier) > 1 and whole[-len(qualifier) :] == qualifier
    return parts[-2:] if is_whole else parts


def _owner(parts: list[str], when: str, names: Names) -> str | None:
    """The table that has to be written before a name; None if the name can stay as it is."""
    own = {name.lower() for name in names.table.schema.names} | VIRTUAL_COLUMNS
    others = {name.lower() for name in names.columns}
    absent = {"not_matched": names.target, "not_matched_by_source": names.source}.get(when)
    if len(parts) > 1 and parts[0] in (names.target.lower(), names.source.lower()):
        if absent is not None and parts[0] == absent.lower():
            raise _missing(parts, when)
        return None
    if when == "not_matched":
        found = names.source if parts[0] in others else None
    elif when == "not_matched_by_source" or parts[0] in names.joined:
        found = names.target if parts[0] in own else None
    else:
        return None
    if found is None and len(parts) == 1:
        raise _missing(parts, when)
    return found


def _missing(parts: list[str], when: str) -> ColumnNotFound:
    side = "source" if when == "not_matched" else "target"
    return ColumnNotFound(
        f'Referenced column "{".".join(parts)}" not found in {_WORDS[when]}: only columns of the '
        f"{side} have a value there."
    )

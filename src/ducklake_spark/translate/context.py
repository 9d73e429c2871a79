"""What the translation of one query knows while it walks through the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from ducklake_spark.binder.expressions import Expression, refs_of
from ducklake_spark.binder.operators import Get, Plan
from ducklake_spark.translate.expressions import Expressions
from ducklake_spark.translate.fragments import Fragment, fragment_of
from ducklake_spark.translate.relations import (
    Cell,
    Mark,
    NotPullable,
    Relation,
    is_plain,
    wrapped,
)


@dataclass(frozen=True, slots=True)
class Definition:
    """A common table expression of the text."""

    name: str
    text: Fragment
    is_recursive: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """What `DelimGet` stands for below a join with a correlated subquery.

    Attributes:
        join: its number.
        domain: the common table expression with the distinct keys; None while they are symbolic.
    """

    join: int
    domain: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a recursion that holds its rows in arrays, while it is translated.

    Attributes:
        last: the item with the arrays.
        seen: the rows of all steps before, as an item of FROM.
    """

    last: str
    seen: str


@dataclass(slots=True)
class Context:
    """The state of one translation."""

    expressions: Expressions
    table: Callable[[Get], str]
    operator: Callable[[Plan, Context], Relation]
    definitions: list[Definition] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=list)
    ctes: dict[int, str] = field(default_factory=dict)
    steps: dict[int, Step] = field(default_factory=dict)
    count: int = 0

    def relation(self, plan: Plan) -> Relation:
        """The rows of an operator."""
        return self.operator(plan, self)

    def rows(self, plan: Plan) -> Relation:
        """The rows of an operator, all of which are there.

        Raises:
            NotPullable: some may be missing for a row of the query around.
        """
        found = self.relation(plan)
        if found.is_optional:
            raise NotPullable("an operator over rows that may be missing")
        return found

    def number(self) -> int:
        """A number that nothing else in the text has."""
        self.count += 1
        return self.count

    def item(self) -> str:
        """A name for an item of FROM."""
        return f"q{self.number()}"

    def wrapped(self, relation: Relation) -> Relation:
        """The relation as one item of FROM."""
        return wrapped(relation, self.item())

    def unordered(self, relation: Relation) -> Relation:
        """The relation without its order, ready for WHERE or for a join."""
        found = self.wrapped(relation) if relation.limit else relation
        return replace(found, order=())

    def ready(self, relation: Relation) -> Relation:
        """The relation without its order, and with columns that may be written many times."""
        found = self.unordered(relation)
        return found if found.is_plain else self.wrapped(found)

    def readable(self, relation: Relation, nodes: Iterable[Expression]) -> Relation:
        """The relation without its order, in which what the expressions read is plain."""
        found = self.unordered(relation)
        if found.is_plain:
            return found
        used = {index for node in nodes for index in refs_of(node)}
        plain = all(is_plain(found.columns[index]) for index in used)
        return found if plain else self.wrapped(found)

    def movable(self, relation: Relation) -> Relation:
        """The relation without its order, ready to be joined: its marks may stay marks."""
        found = self.unordered(relation)
        return found if found.is_movable else self.wrapped(found)

    def scalar(self, node: Expression, columns: Sequence[Cell]) -> Fragment:
        """Spark SQL of an expression over columns."""
        values = [cell.value if isinstance(cell, Mark) else cell for cell in columns]
        return self.expressions.scalar(node, values)

    @contextmanager
    def scope(self, scope: Scope) -> Iterator[None]:
        """Translate what is inside under a join with a correlated subquery."""
        self.scopes.append(scope)
        try:
            yield
        finally:
            self.scopes.pop()

    def reads_step(self, text: Fragment | None) -> bool:
        """Whether a piece of text reads the rows of a recursive step.

        They are columns of the query around a step: a subquery in an expression there is one query
        too deep for Spark to find them.
        """
        pieces = () if text is None else text.pieces
        marks = [f"inline({step.last}." for step in self.steps.values()]
        return any(mark in p for p in pieces if isinstance(p, str) for mark in marks)

    def shared(self, name: str, text: Fragment) -> str:
        """What stands in FROM for rows that are read more than once: a common table expression.

        Where they are those of a recursive step, which are not known in front of the query, it is
        the text itself.
        """
        if self.reads_step(text):
            return f"({text})"
        self.define(name, text)
        return name

    def define(self, name: str, text: Fragment, *, is_recursive: bool = False) -> None:
        """Add a common table expression."""
        self.definitions.append(Definition(name, text, is_recursive))


def with_definitions(definitions: Sequence[Definition], body: Fragment) -> Fragment:
    """A query with its common table expressions in front."""
    if not definitions:
        return body
    word = "WITH RECURSIVE " if any(each.is_recursive for each in definitions) else "WITH "
    parts: list[Fragment | str] = []
    for each in definitions:
        parts += [", " if parts else word, each.name, " AS (", each.text, ")"]
    return fragment_of((*parts, " ", body))

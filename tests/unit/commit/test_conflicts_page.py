"""The page about conflicts shows the matrix that the code has."""

from __future__ import annotations

from pathlib import Path

from ducklake_spark.commit.change_log import Kind
from ducklake_spark.commit.conflicts import CONFLICTS, STRICTER, phrase

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "conflicts.md"
TABLES = {
    "Tables": (
        (
            Kind.INSERTED_INTO_TABLE,
            Kind.INLINED_INSERT,
            Kind.DELETED_FROM_TABLE,
            Kind.INLINED_DELETE,
            Kind.INLINE_FLUSH,
            Kind.MERGE_ADJACENT,
            Kind.REWRITE_DELETE,
            Kind.ALTERED_TABLE,
            Kind.DROPPED_TABLE,
        ),
    ),
    "Views, macros and schemas": (
        (Kind.ALTERED_VIEW, Kind.DROPPED_VIEW),
        (Kind.DROPPED_SCALAR_MACRO,),
        (Kind.DROPPED_TABLE_MACRO,),
        (Kind.DROPPED_SCHEMA,),
    ),
}


def cell(mine: Kind, theirs: Kind) -> str:
    if theirs in STRICTER.get(mine, {}):
        return "**X***"
    if mine is theirs is Kind.DELETED_FROM_TABLE:
        return "file"
    return "**X**" if phrase(mine, theirs) else "·"


def matrix(groups: tuple[tuple[Kind, ...], ...]) -> str:
    """A table of Markdown: mine downwards, theirs across; kinds of other objects never meet."""
    kinds = [kind for group in groups for kind in group]
    lines = ["| mine \\ theirs | " + " | ".join(f"`{kind.value}`" for kind in kinds) + " |"]
    lines.append("|---" * (len(kinds) + 1) + "|")
    for group in groups:
        for mine in group:
            cells = (cell(mine, theirs) if theirs in group else "" for theirs in kinds)
            lines.append(f"| `{mine.value}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def test_the_page_shows_the_matrix_of_the_code():
    text = PAGE.read_text(encoding="utf-8")
    for title, groups in TABLES.items():
        assert f"## {title}\n\n{matrix(groups)}\n" in text, f"should be:\n{matrix(groups)}"


def test_the_page_has_every_kind_of_change_that_can_conflict():
    shown = {kind for groups in TABLES.values() for group in groups for kind in group}
    old = {Kind.COMPACTED_TABLE}  # of old lakes only; the page says so
    assert set(CONFLICTS) | set(STRICTER) <= shown
    assert {theirs for row in (*CONFLICTS.values(), *STRICTER.values()) for theirs in row} <= (
        shown | old
    )

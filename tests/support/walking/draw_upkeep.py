"""Steps that change no row: options and maintenance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.walking.steps import Statement

if TYPE_CHECKING:
    from support.walking.draw import Drawer

_NOTHING = "SELECT 1"


def limit(draw: Drawer) -> list[Statement]:
    """How many rows stay in the catalog."""
    draw.must_be_ours()  # "options"
    count = draw.random.choice([0, 3, 10, 10, 50])
    if draw.random.random() < 0.5:
        table = draw.table()
        text = f"CALL lake.set_option('data_inlining_row_limit', {count}, table_name => '{table}')"
        return [Statement(text, f"SELECT id FROM {table} LIMIT 0", table)]
    return [Statement(f"CALL lake.set_option('data_inlining_row_limit', {count})", _NOTHING)]


def flush(draw: Drawer) -> list[Statement]:
    """Move what the catalog holds to files."""
    if draw.taken & {"rewrite", "checkpoint"}:  # "flush after rewrite"
        draw.must_be_ours()
    return [Statement("CALL ducklake_flush_inlined_data('lake')", _NOTHING)]


def merge(draw: Drawer) -> list[Statement]:
    """Make one file of several."""
    if draw.renumbers:  # "merge renumbers"
        draw.must_be_ours()
    return [Statement("CALL ducklake_merge_adjacent_files('lake')", _NOTHING)]


def rewrite(draw: Drawer) -> list[Statement]:
    """Write files again without their deleted rows."""
    part = draw.random.choice([0.01, 0.3, 0.9])
    text = f"CALL ducklake_rewrite_data_files('lake', delete_threshold => {part})"
    return [Statement(text, _NOTHING)]


def checkpoint(draw: Drawer) -> list[Statement]:
    """All of the maintenance."""
    if draw.renumbers or draw.taken & {"rewrite", "checkpoint"}:
        draw.must_be_ours()
    return [Statement("CHECKPOINT lake", _NOTHING)]


def expire(draw: Drawer) -> list[Statement]:
    """Forget some snapshots."""
    draw.parts = tuple(
        round(draw.random.random() ** 2, 3) for _ in range(draw.random.randint(1, 6))
    )
    text = "CALL ducklake_expire_snapshots('lake', versions => {versions})"
    return [Statement(text, _NOTHING)]


def cleanup(draw: Drawer) -> list[Statement]:
    """Remove files that nobody needs."""
    name = draw.random.choice(["cleanup_old_files", "delete_orphaned_files"])
    return [Statement(f"CALL ducklake_{name}('lake', cleanup_all => true)", _NOTHING)]

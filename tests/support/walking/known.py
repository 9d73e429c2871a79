"""Where the extension is known to be wrong or to mean something else, and what a walk does there.

One list: nothing is passed over elsewhere. A fault of ours has no place here.
"""

from __future__ import annotations

from collections.abc import Collection

# What a step of a kind leaves behind that the extension cannot live with later.
KNOWN: dict[str, str] = {
    "types left out": (
        "The extension stores HUGEINT as DOUBLE, drops the offset of TIMETZ and refuses negative "
        "intervals; TIME and TIMESTAMP_NS are text in Spark. No walk draws them."
    ),
    "tame text inside": (
        "The extension writes text and dates inside of inlined nested values on SQLite and "
        "PostgreSQL that it cannot read back. Walks use plain words and numbers there."
    ),
    "merge renumbers": (
        "Its merge counts row ids anew where files hold updated or sorted rows. We merge then."
    ),
    "flush after rewrite": (
        "Its flush gives files that a rewrite has ended a second delete file. We flush then."
    ),
    "adds then updates": (
        "Rows that a transaction adds and updates get row ids from 10^18 on. Its transactions "
        "update first, and merge once."
    ),
    "options": "Its set_option can end the process (a segmentation fault). We set options.",
    "one merge action": "Its MERGE takes one UPDATE or DELETE.",
    "defaults": "Its ADD COLUMN takes numbers and text as a default, and no expressions.",
    "old bounds": (
        "A session of it keeps the bounds of a column's old type until rows are written. It gets a "
        "new session after SET DATA TYPE."
    ),
    "old places": (
        "A session of it remembers at which places it saw inlined rows of old snapshots, and does "
        "not notice when another flushes them. It gets a new session after our maintenance."
    ),
    "its deletes among others": (
        "It overlooks that others compacted the files of its inlined deletes, or deleted rows of "
        "them in files. Among writers at once it adds rows to the table that all change, and does "
        "the rest in a table of its own."
    ),
    "its snapshot times": (
        "A snapshot of it has the time at which its transaction began, which may be before that of "
        "a snapshot which overtook it. check() warns of it."
    ),
    "its feed": (
        "Its feed is wrong for rewritten, merged and flushed files and for transactions that touch "
        "a row twice. It is compared for the snapshot that one statement has just made, in lakes "
        "that nobody has compacted."
    ),
}

# The steps whose feed the extension tells right, in lakes that were never compacted.
TOLD_RIGHT = ("small_insert", "large_insert", "append", "delete", "update", "merge_into")
COMPACTING = ("merge", "rewrite", "checkpoint", "flush")


def extension_tells(kind: str, taken: Collection[str]) -> bool:
    """Whether the extension's feed of the snapshot that such a step made can be relied on."""
    return kind in (*TOLD_RIGHT, "truncate") and not any(k in taken for k in COMPACTING)


def wants_new_session(kind: str, actor: str, texts: Collection[str]) -> bool:
    """Whether a session of the extension would be wrong after such a step."""
    if any("SET DATA TYPE" in text for text in texts):
        return True
    return actor != "duckdb" and kind in (*COMPACTING, "expire", "cleanup")

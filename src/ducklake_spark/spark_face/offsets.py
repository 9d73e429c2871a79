"""How far a stream has read a table. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ducklake_spark.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Position:
    """All changes of a table up to a snapshot have been read.

    Attributes:
        table_id: of the table, which a new one of the same name has not.
        snapshot: the last one that was read.
        whole: whether the batch that ends here is the table as it was then, not its changes.
        since: the first snapshot of the batch that ends here, where it is the stream's first.
    """

    table_id: int
    snapshot: int
    whole: bool = False
    since: int | None = None


def format_position(position: Position) -> str:
    """The text that a checkpoint keeps; the same position has the same text."""
    told: dict[str, int | bool] = {"table": position.table_id, "snapshot": position.snapshot}
    if position.whole:
        told["whole"] = True
    if position.since is not None:
        told["since"] = position.since
    return json.dumps(told)


def parse_position(text: str) -> Position:
    """Read what `format_position` wrote."""
    try:
        told = json.loads(text)
        return Position(
            int(told["table"]), int(told["snapshot"]), bool(told.get("whole")), told.get("since")
        )
    except (ValueError, KeyError, TypeError):
        raise InvalidInput(
            f"The checkpoint says {text!r}, which is no position in a table of a lake.",
            hint="it belongs to another source: use a new checkpointLocation.",
        ) from None

"""What the options of a reader or a writer of the format ``ducklake`` say.

Pure: the source that runs without a JVM understands the same words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ducklake_spark.errors import InvalidInput, UnknownOption, did_you_mean
from ducklake_spark.model.names import split_name

_OPTION: Final = "option."
_PLACE: Final = ("lake", "catalog", "table", "path")
TIME_TRAVEL: Final = {
    "snapshot": "snapshot",
    "versionasof": "snapshot",
    "timestamp": "timestamp",
    "timestampasof": "timestamp",
}
"""What may be said of the version to read, by the one word that we use for it."""
FEED: Final = {
    "readchangefeed": "readchangefeed",
    "readchangedata": "readchangefeed",
    "startingsnapshot": "startingsnapshot",
    "startingversion": "startingsnapshot",
    "startingtimestamp": "startingtimestamp",
    "endingsnapshot": "endingsnapshot",
    "endingversion": "endingsnapshot",
    "endingtimestamp": "endingtimestamp",
}
STREAM: Final = {name: name for name in ("maxfilespertrigger", "maxrowspertrigger")} | {
    "failondataloss": "failondataloss"
}
WRITE: Final = {name: name for name in ("mergeschema", "overwriteschema", "replacewhere")} | {
    "partitionoverwritemode": "partitionoverwritemode",
    "__partition_columns": "partitionby",
}
SINK: Final = {"checkpointlocation": "checkpointlocation", "queryname": "queryname"}
_SPELLED: Final = (
    *("lake", "catalog", "table", "snapshot", "timestamp", "versionAsOf", "timestampAsOf"),
    *("readChangeFeed", "startingSnapshot", "startingTimestamp", "endingSnapshot"),
    *("endingTimestamp", "maxFilesPerTrigger", "maxRowsPerTrigger", "failOnDataLoss"),
    *("mergeSchema", "overwriteSchema", "replaceWhere", "partitionOverwriteMode"),
)
_ALL: Final = {**TIME_TRAVEL, **FEED, **STREAM, **WRITE, **SINK}


@dataclass(frozen=True)
class Asked:
    """A table of a lake, and what is wanted of it.

    Attributes:
        lake: where its catalog is, or None.
        catalog: the name under which Spark knows the lake, or None.
        table: schema and name.
        attach: the options of ATTACH that were given.
        said: everything else, by its name in lower case.
    """

    lake: str | None
    catalog: str | None
    table: tuple[str, str]
    attach: Mapping[str, Any]
    said: Mapping[str, str]

    def says(self, name: str) -> bool:
        """Whether an option that is true or false is true."""
        text = self.said.get(name, "false").lower()
        if text not in ("true", "false"):
            raise InvalidInput(f'The option "{name}" is "{text}".', hint="it is true or false.")
        return text == "true"

    def number(self, name: str, *, least: int = 0) -> int | None:
        """The value of an option that is a number, or None."""
        text = self.said.get(name)
        if text is None:
            return None
        if not text.strip().isdigit() or int(text) < least:
            raise InvalidInput(
                f'The option "{name}" is "{text}".', hint=f"it is a number from {least} on."
            )
        return int(text)

    def refuse_others(self, action: str, *known: Mapping[str, str]) -> None:
        """Refuse what means nothing for this action: it would be passed over in silence."""
        allowed = {name for group in known for name in group.values()}
        for name in self.said:
            if name not in allowed:
                raise InvalidInput(f'The option "{name}" means nothing to {action}.')


def parse_options(options: Mapping[str, str]) -> Asked:
    """Read the options of a reader or a writer; names are the same in any case of letters."""
    given = {name.lower(): value for name, value in options.items()}
    if "provider" in given:  # of a table of Spark's own catalog, which keeps options like this
        kept = {name: value for name, value in given.items() if name.startswith(_OPTION)}
        given = {name.removeprefix(_OPTION): value for name, value in kept.items()}
    lake, catalog, table, path = (given.pop(name, None) for name in _PLACE)
    text = table or path
    if text is None:
        raise InvalidInput(
            "No table was named.", hint='.load("main.orders"), or .option("table", "main.orders").'
        )
    if table is not None and path is not None and table != path:
        raise InvalidInput(f'Two tables were named: "{table}" and "{path}".', hint="name one.")
    parts = tuple(split_name(text))
    if len(parts) == 3 and lake is None and catalog in (None, parts[0]):
        catalog, parts = parts[0], parts[1:]
    if len(parts) > 2:
        raise InvalidInput(f'"{text}" has too many parts.', hint="name it schema.table.")
    _check_place(lake, catalog, text)
    said = {_ALL[name]: value for name, value in given.items() if name in _ALL}
    attach = {name: value for name, value in given.items() if name not in _ALL}
    if attach and lake is None:
        name = next(iter(attach))
        raise UnknownOption(
            f'There is no option "{name}".', hint=did_you_mean(name, list(_SPELLED))
        )
    schema = parts[0] if len(parts) == 2 else "main"
    return Asked(lake, catalog, (schema, parts[-1]), attach, said)


def _check_place(lake: str | None, catalog: str | None, table: str) -> None:
    if lake is not None and catalog is not None:
        raise InvalidInput(
            f'Two lakes were named for table "{table}": lake="{lake}" and catalog="{catalog}".',
            hint="give lake (where it is) or catalog (what Spark calls it).",
        )
    if lake is None and catalog is None:
        raise InvalidInput(
            f'No lake was named for table "{table}".',
            hint='.option("lake", "ducklake:shop.ducklake").',
        )

"""Relations over files that Python chooses: Spark's optimizer asks, the JVM reads. Driver."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol
from weakref import WeakValueDictionary

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from ducklake_spark.bridge.half import bridge_of, java_session


@dataclass(frozen=True)
class Question:
    """What Spark asks when it plans a scan.

    Attributes:
        ordinal: how often this relation was asked, with this question.
        filters: the pushed filters, as the children of one Catalyst expression, in its JSON.
        sets: the values of each InSet in them, as a JSON list, in the order of the tree.
        constants: filters on the constants of files, in the same form; they must be applied.
        constants_sql: these as text.
        time_zone: in which Catalyst renders TIMESTAMP literals.
        settings: values of the settings that were asked for, "" where one is not set.
    """

    ordinal: int
    filters: str
    sets: Sequence[str]
    constants: str
    constants_sql: str
    time_zone: str
    settings: Mapping[str, str]


FileRow = tuple[Any, ...]
"""The URI of a file, its length, and its constants."""


class FileSource(Protocol):
    """Answers for the files of a relation."""

    def list_files(self, question: Question) -> Sequence[FileRow]:
        """The files that the filters cannot exclude."""
        ...

    def list_paths(self) -> Sequence[str]:
        """The URIs of all files."""
        ...


@dataclass(frozen=True)
class Estimate:
    """What the optimizer may expect.

    Attributes:
        name: of the relation in EXPLAIN.
        rows: how many there are; None if nobody knows.
        columns: for a column its `distinct`, `min`, `max`, `nulls`, `width`, as far as known.
    """

    name: str
    rows: int | None
    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class RelationFacts:
    """What Spark has to know of a relation beforehand.

    Attributes:
        label: names it in plans.
        schema: columns in the files.
        constants: BIGINT columns whose values come with each file.
        size: bytes of all files.
        file_format: which of Spark's formats reads the files.
        options: those of the format.
        settings: names of session settings whose values the source wants to see.
        estimate: what the optimizer is told.
    """

    label: str
    schema: StructType
    constants: StructType
    size: int
    file_format: Literal["parquet", "binaryfile"]
    options: Mapping[str, str]
    settings: Sequence[str]
    estimate: Estimate | None = None


_numbers = itertools.count(1)
_sources: WeakValueDictionary[int, FileSource] = WeakValueDictionary()


def native_relation(spark: SparkSession, source: FileSource, facts: RelationFacts) -> DataFrame:
    """The rows of the files that `source` chooses: columns of the schema, then constants."""
    bridge, number = bridge_of(spark), next(_numbers)
    _sources[number] = source  # lives as long as the JVM's relation, which holds the callback
    told = {
        "number": number,
        "label": facts.label,
        "schema": facts.schema.json(),
        "constants": facts.constants.json(),
        "size": facts.size,
        "format": facts.file_format,
        "options": dict(facts.options),
        "settings": list(facts.settings),
        "table": None if facts.estimate is None else asdict(facts.estimate),
    }
    callback = bridge.callback(_answering(source))
    return DataFrame(bridge.java.relation(java_session(spark), callback, json.dumps(told)), spark)


def _answering(source: FileSource) -> Any:
    def answer(name: str, text: str) -> str:
        if name == "paths":
            return json.dumps(list(source.list_paths()))
        told = json.loads(text)
        sets = [json.dumps(values) for values in told.pop("sets")]
        return json.dumps(source.list_files(Question(sets=sets, **told)))

    return answer


def scans_of(frame: DataFrame) -> list[tuple[FileSource, int]]:
    """Each scan in a frame's physical plan: its source, and which question was its last.

    Scans inside subqueries, cached frames and adaptive plans count too.
    """
    told = json.loads(bridge_of(frame.sparkSession).java.scans(frame._jdf))
    found = ((_sources.get(number), ordinal) for number, ordinal in told)
    return [(source, ordinal) for source, ordinal in found if source is not None]


def living_sources() -> list[FileSource]:
    """The sources of all relations that the JVM may still read."""
    return list(_sources.values())

"""Native relations: Spark asks which files a filter leaves, and the JVM reads them. Driver."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from ducklake_spark.bridge.relation import (
    Estimate,
    FileRow,
    Question,
    RelationFacts,
    living_sources,
    native_relation,
    scans_of,
)
from ducklake_spark.errors import CorruptDataFile, InvalidInput, MissingDataFile, NotSupported
from ducklake_spark.model.entities import DataFile
from ducklake_spark.model.predicate import And, Constant, Predicate
from ducklake_spark.spark.filters import FilterColumn, parse_filters, parse_null_checks

REQUIRED_CONF: Final = {
    "spark.sql.parquet.fieldId.read.enabled": (
        "columns would be matched by name, which gives wrong rows after a rename"
    ),
    "spark.sql.parquet.enableVectorizedReader": (
        "columns added later would lose their default values"
    ),
    "spark.sql.parquet.enableNestedColumnVectorizedReader": (
        "columns added later would lose their default values"
    ),
}

# Settings of the session that would change or lose values are overruled for each relation.
_READ_OPTIONS: Final = {
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    "mergeSchema": "false",
}

# Parquet's filter by dictionaries compares bits: it takes -0.0 for another number than 0.0, and
# leaves out row groups whose dictionary has one of them and not the other.
_WITHOUT_DICTIONARIES: Final = {"parquet.filter.dictionary.enabled": "false"}
_FLOATS: Final = re.compile(r'"(?:float|double)"')

_REPORTS: Final = 16
_SCHEME: Final = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:/")


class FileChooser(Protocol):
    """Which files of a scan may hold a row that passes; never leaves out one that does.

    A chooser may have a `last` with a mapping `excluded`, which says how many files each reason
    excluded the last time; reports show it.
    """

    def __call__(self, predicate: Predicate) -> Sequence[DataFile]:
        """Choose files for `predicate`; what is `Unknown` in it excludes nothing."""
        ...


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of a relation, with the constants that all its rows show."""

    path: str
    size: int
    constants: tuple[int | None, ...]


class MappedFiles(Sequence[ListedFile]):
    """Files of the catalog as a relation lists them, made when somebody asks."""

    def __init__(self, files: Sequence[DataFile], listed: Callable[[DataFile], ListedFile]) -> None:
        self._files = files
        self._listed = listed

    def __len__(self) -> int:
        return len(self._files)

    def __iter__(self) -> Iterator[ListedFile]:
        return map(self._listed, self._files)

    def __getitem__(self, index: Any) -> Any:
        return list(self)[index]


@dataclass(frozen=True, slots=True)
class Choice:
    """The files that a predicate leaves of a relation's, and why others were excluded."""

    files: Sequence[ListedFile]
    excluded: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScanReport:
    """What one relation chose the last time Spark asked it for its files."""

    label: str
    predicate: Predicate
    files_total: int
    bytes_total: int
    files_chosen: int
    bytes_chosen: int
    excluded: Mapping[str, int] = field(default_factory=dict)

    def explain(self) -> str:
        """One line for EXPLAIN."""
        reasons = ", ".join(f"{count} by {reason}" for reason, count in self.excluded.items())
        return (
            f"{self.label}: {self.files_chosen} of {self.files_total} files, "
            f"{self.bytes_chosen} of {self.bytes_total} bytes"
            + (f" (excluded: {reasons})" if reasons else "")
        )


@dataclass(frozen=True)
class RelationSource:
    """What a relation reads: the shape of its rows and where its files come from.

    Args:
        label: names the relation in reports and error messages.
        schema: columns in the files, with `parquet.field.id` metadata where ids decide.
        constants: BIGINT columns whose values come with each file.
        files: all files of the relation.
        size: bytes of all files, where they are known without the files.
        estimate: what the optimizer is told.
        choose: the files that may matter for a predicate; a subset of `files`.
        columns: what filters on columns of `schema` mean to the catalog, by name.
        file_format: which of Spark's formats reads the files.
    """

    label: str
    schema: StructType
    constants: StructType
    files: Sequence[ListedFile]
    choose: Callable[[Predicate], Choice] | None = None
    columns: Mapping[str, FilterColumn] = field(default_factory=dict)
    file_format: Literal["parquet", "binaryfile"] = "parquet"
    size: int | None = None
    estimate: Estimate | None = None


def build_relation(spark: SparkSession, source: RelationSource) -> DataFrame:
    """The rows of `source` as a DataFrame: columns of its schema, then its constants.

    No file is touched before Spark plans the query's execution.
    """
    files = LakeFiles(source)
    has_floats = _FLOATS.search(source.schema.json()) is not None
    facts = RelationFacts(
        label=source.label,
        schema=source.schema,
        constants=source.constants,
        size=files.size,
        file_format=source.file_format,
        options={**_READ_OPTIONS, **(_WITHOUT_DICTIONARIES if has_floats else {})},
        settings=tuple(REQUIRED_CONF),
        estimate=source.estimate,
    )
    return native_relation(spark, files, facts)


def explain_scans(frame: DataFrame) -> list[ScanReport]:
    """Which files each scan of a query would read. Chooses them; runs nothing."""
    return [
        files.reports[ordinal]
        for files, ordinal in scans_of(frame)
        if isinstance(files, LakeFiles) and ordinal in files.reports
    ]


def find_reader(text: str) -> str | None:
    """What is read from a file that an error message names; None if it is not a lake's.

    Spark can only complain about files that it was given.
    """
    for files in living_sources():
        if not isinstance(files, LakeFiles):
            continue
        if any(file_uri(file.path) in text for file in files.listed):
            return files.source.label
    return None


class LakeFiles:
    """The files of a relation, chosen each time that Spark plans a scan of it.

    Attributes:
        size: bytes of all files, from which Spark decides what to broadcast.
        listed: the files that Spark was given the last time.
        reports: what was chosen for the last questions.
    """

    def __init__(self, source: RelationSource) -> None:
        self.source = source
        self.reports: dict[int, ScanReport] = {}
        self.listed: Sequence[ListedFile] = ()
        known = source.size
        self.size = sum(file.size for file in source.files) if known is None else known

    def list_files(self, question: Question) -> Sequence[FileRow]:
        """The files that the filters cannot exclude."""
        check_conf(question.settings)
        predicate = self._predicate(question)
        choice = self._choose(predicate)
        chosen = self._without_null_constants(choice.files, question)
        self._note(question, self._describe(predicate, chosen, choice.excluded))
        check_files(chosen, self.source.label)
        self.listed = chosen
        return [(file_uri(file.path), file.size, *file.constants) for file in chosen]

    def _note(self, question: Question, report: ScanReport) -> None:
        self.reports[question.ordinal] = report
        while len(self.reports) > _REPORTS:
            self.reports.pop(next(iter(self.reports)), None)

    def list_paths(self) -> Sequence[str]:
        """All paths, for DataFrame.inputFiles()."""
        return [file_uri(file.path) for file in self.source.files]

    def _predicate(self, question: Question) -> Predicate:
        if self.source.choose is None:
            return Constant(True)
        parts = parse_filters(
            question.filters,
            self.source.columns,
            sets=question.sets,
            time_zone=question.time_zone,
        )
        return And(parts) if parts else Constant(True)

    def _choose(self, predicate: Predicate) -> Choice:
        choose = self.source.choose
        return Choice(self.source.files) if choose is None else choose(predicate)

    def _without_null_constants(
        self, files: Sequence[ListedFile], question: Question
    ) -> Sequence[ListedFile]:
        # Spark drops filters on constants from the query and trusts this answer to be exact.
        for name in parse_null_checks(question.constants):
            if name not in self.source.constants.names:
                raise NotSupported(
                    f"Cannot read {self.source.label}: Spark asks to apply "
                    f"{question.constants_sql} to the list of files, which is not possible.",
                    hint="this is a fault of ducklake-spark; please report the query.",
                )
            ordinal = self.source.constants.names.index(name)
            files = [file for file in files if file.constants[ordinal] is not None]
        return files

    def _describe(
        self, predicate: Predicate, chosen: Sequence[ListedFile], excluded: Mapping[str, int]
    ) -> ScanReport:
        return ScanReport(
            label=self.source.label,
            predicate=predicate,
            files_total=len(self.source.files),
            bytes_total=self.size,
            files_chosen=len(chosen),
            bytes_chosen=sum(file.size for file in chosen),
            excluded=excluded,
        )


def check_conf(settings: Mapping[str, str]) -> None:
    """Raise when a session setting that the scan depends on is off."""
    for key, reason in REQUIRED_CONF.items():
        if settings.get(key, "").lower() != "true":
            raise InvalidInput(
                f"Cannot read the lake: {key} is off in this Spark session, and {reason}.",
                hint=f'spark.conf.set("{key}", "true")',
            )


def local_path(path: str) -> Path | None:
    """The path in the local file system, or None for one in an object store.

    >>> local_path("s3://bucket/x.parquet") is None
    True
    """
    if path.startswith("file:"):
        return Path("/" + path.removeprefix("file:").lstrip("/"))
    return None if _SCHEME.match(path) else Path(path).absolute()


def file_uri(path: str) -> str:
    """The text from which Hadoop makes its Path: with a scheme, nothing escaped.

    >>> file_uri("/a b/c#d=%20.parquet")
    'file:///a b/c#d=%20.parquet'
    """
    local = local_path(path)
    return path if local is None else f"file://{local.as_posix()}"


def check_files(files: Sequence[ListedFile], label: str) -> None:
    """Raise when a local file is gone or is not as long as the catalog says."""
    for file in files:
        local = local_path(file.path)
        if local is None:
            continue
        try:
            size = local.stat().st_size
        except OSError as error:
            raise MissingDataFile(
                f'Cannot read {label}: the file "{file.path}" is not there ({error.strerror}).',
                hint="it may have been cleaned up after its snapshot expired; read a newer "
                "snapshot, or restore the file.",
            ) from error
        if size != file.size:
            raise CorruptDataFile(
                f'Cannot read {label}: the file "{file.path}" has {size} bytes, '
                f"but the catalog says {file.size}.",
                hint="files of a lake never change; restore the original file.",
            )

"""Native relations: Spark's optimizer asks Python for the files, the JVM reads them.

Runs on the driver. This module and `jvm` are the only ones that know Spark's internals.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Protocol
from weakref import WeakValueDictionary

from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from ducklake_spark.errors import CorruptDataFile, MissingDataFile, NotSupported
from ducklake_spark.model.entities import DataFile
from ducklake_spark.model.predicate import And, Constant, Predicate
from ducklake_spark.spark.filters import FilterColumn, find_sets, parse_filters, parse_null_checks
from ducklake_spark.spark.jvm import (
    Jvm,
    check_conf,
    frame_of,
    guarded,
    java_type,
    jvm_of,
    scala_object,
)

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

_FORMATS: Final = {"parquet": "ParquetFileFormat", "binaryfile": "BinaryFileFormat"}

_SCHEME: Final = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:/")
_BLOCK_SIZE: Final = 1 << 27


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


def build_relation(spark: SparkSession, source: RelationSource) -> DataFrame:
    """The rows of `source` as a DataFrame: columns of its schema, then its constants.

    No file is touched before Spark plans the query's execution.
    """
    jvm = jvm_of(spark)
    datasources = jvm.datasources
    relation = datasources.HadoopFsRelation(
        LakeFileIndex(spark, jvm, source),
        java_type(spark, source.constants),
        java_type(spark, source.schema),
        jvm.none,
        getattr(getattr(datasources, source.file_format), _FORMATS[source.file_format])(),
        jvm.scala_map(_READ_OPTIONS),
        spark._jsparkSession,
    )
    plan = scala_object(datasources, "LogicalRelation").apply(relation, False)
    return frame_of(spark, plan)


def explain_scans(frame: DataFrame) -> list[ScanReport]:
    """Which files each scan of a query would read. Chooses them; runs nothing.

    Scans inside subqueries, cached frames and adaptive plans count too.
    """
    jvm = jvm_of(frame.sparkSession)
    reports: list[ScanReport] = []
    pending = [frame._jdf.queryExecution().executedPlan()]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if (identity := jvm.root.System.identityHashCode(node)) in seen:
            continue
        seen.add(identity)
        index = _index_of(node)
        if index is not None:
            node.selectedPartitions()
            reports += [index.report] if index.report is not None else []
        pending += [*jvm.items(node.children()), *jvm.items(node.subqueries()), *_inside(node)]
    return reports


def find_reader(text: str) -> str | None:
    """What is read from a file that an error message names; None if it is not a lake's.

    Spark can only complain about files that it was given.
    """
    for index in list(_indexes.values()):
        if any(file_uri(file.path) in text for file in index.listed):
            return index.source.label
    return None


def _index_of(node: Any) -> LakeFileIndex | None:
    if node.getClass().getSimpleName() != "FileSourceScanExec":
        return None
    location = node.relation().location()
    return _indexes.get(location.hashCode()) if _is_proxy(location) else None


def _is_proxy(value: Any) -> bool:
    return isinstance(value, JavaObject) and "$Proxy" in value.getClass().getName()


def _inside(node: Any) -> list[Any]:
    """Plans that a node hides from `children`."""
    match node.getClass().getSimpleName():
        case "AdaptiveSparkPlanExec":
            return [node.initialPlan()]
        case "InMemoryTableScanExec":
            return [node.relation().cachedPlan()]
        case "SubqueryAdaptiveBroadcastExec" | "SubqueryExec" | "SubqueryBroadcastExec":
            return [node.child()]
        case name if name.endswith("QueryStageExec"):
            return [node.plan()]
        case _:
            return []


# The JVM gives back a handle of its proxy, not the Python object: found again by its hash code.
_indexes: WeakValueDictionary[int, LakeFileIndex] = WeakValueDictionary()
_ordinals = itertools.count(1)


class LakeFileIndex:
    """Spark's FileIndex, answered by Python.

    Every method Spark may call must exist, those of java.lang.Object and those that only newer
    Sparks have included: Py4J knows no default methods.
    """

    def __init__(self, spark: SparkSession, jvm: Jvm, source: RelationSource) -> None:
        self.spark = spark
        self.jvm = jvm
        self.source = source
        self.report: ScanReport | None = None
        self._ordinal = next(_ordinals) & 0x7FFFFFFF
        _indexes[self._ordinal] = self
        self._partition_schema = java_type(spark, source.constants)
        self.listed: Sequence[ListedFile] = ()
        known = source.size
        self._size = sum(file.size for file in source.files) if known is None else known

    @guarded
    def listFiles(self, partition_filters: Any, data_filters: Any) -> Any:  # noqa: N802
        """The files that the filters cannot exclude, one directory each."""
        check_conf(self.spark, REQUIRED_CONF)
        predicate = self._predicate(data_filters)
        choice = self._choose(predicate)
        chosen = self._without_null_constants(choice.files, partition_filters)
        self.report = self._describe(predicate, chosen, choice.excluded)
        check_files(chosen, self.source.label)
        self.listed = chosen
        return self._directories(chosen)

    def _predicate(self, data_filters: Any) -> Predicate:
        if self.source.choose is None:
            return Constant(True)
        expression, text = self.jvm.as_one(data_filters)
        parts = parse_filters(
            text,
            self.source.columns,
            sets=[self.jvm.set_values(expression, path) for path in find_sets(text)],
            time_zone=self.jvm.session_time_zone() if '"timestamp"' in text else "UTC",
        )
        return And(parts) if parts else Constant(True)

    def _choose(self, predicate: Predicate) -> Choice:
        choose = self.source.choose
        return Choice(self.source.files) if choose is None else choose(predicate)

    def _without_null_constants(
        self, files: Sequence[ListedFile], partition_filters: Any
    ) -> Sequence[ListedFile]:
        # Spark drops filters on constants from the query and trusts this answer to be exact.
        expression, text = self.jvm.as_one(partition_filters)
        for name in parse_null_checks(text):
            if name not in self.source.constants.names:
                raise NotSupported(
                    f"Cannot read {self.source.label}: Spark asks to apply "
                    f"{expression.sql()} to the list of files, which is not possible.",
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
            bytes_total=self._size,
            files_chosen=len(chosen),
            bytes_chosen=sum(file.size for file in chosen),
            excluded=excluded,
        )

    def _directories(self, files: Sequence[ListedFile]) -> Any:
        return self.jvm.directories(json.dumps([_directory(file) for file in files]))

    @guarded
    def inputFiles(self) -> Any:  # noqa: N802
        """All paths, for DataFrame.inputFiles()."""
        paths = [file_uri(file.path) for file in self.source.files]
        array = self.jvm.gateway.new_array(self.jvm.root.java.lang.String, len(paths))
        for ordinal, path in enumerate(paths):
            array[ordinal] = path
        return array

    @guarded
    def rootPaths(self) -> Any:  # noqa: N802
        """None: nothing is ever listed below a root."""
        return self.jvm.nil

    def refresh(self) -> None:
        """Nothing to do: a relation shows its snapshot for ever."""

    def sizeInBytes(self) -> int:  # noqa: N802
        """Bytes of all files, from which Spark decides what to broadcast."""
        return self._size

    def partitionSchema(self) -> Any:  # noqa: N802
        """The constants of a file."""
        return self._partition_schema

    def isTimeTravel(self) -> bool:  # noqa: N802
        """Asked by newer Sparks; names the scan node only."""
        return False

    def metadataOpsTimeNs(self) -> Any:  # noqa: N802
        """A metric that is not kept."""
        return self.jvm.none

    def strictFileListing(self) -> bool:  # noqa: N802
        """Asked by newer Sparks: the list is always exact."""
        return True

    def hashCode(self) -> int:  # noqa: N802
        """Of java.lang.Object."""
        return self._ordinal

    def equals(self, other: Any) -> bool:
        """Of java.lang.Object."""
        return _is_proxy(other) and bool(other.hashCode() == self._ordinal)

    def toString(self) -> str:  # noqa: N802
        """Shown as the location in EXPLAIN."""
        return f"DuckLake {self.source.label}"

    class Java:
        """What Py4J makes of this class in the JVM."""

        implements = ("org.apache.spark.sql.execution.datasources.FileIndex",)


def _directory(file: ListedFile) -> dict[str, Any]:
    status = {"path": file_uri(file.path), "length": file.size, "blocksize": _BLOCK_SIZE}
    return {
        "values": {"values": list(file.constants)},
        "files": [{"fileStatus": status, "metadata": {}}],
    }


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

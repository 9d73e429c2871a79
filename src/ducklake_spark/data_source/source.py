"""The data source that Spark creates in a Python worker."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from ducklake_spark.data_source.opened import open_asked, spark_schema
from ducklake_spark.data_source.reader import LakeReader, refuse_feed
from ducklake_spark.data_source.stream import LakeStreamReader
from ducklake_spark.data_source.writer import LakeWriter
from ducklake_spark.errors import NotSupported


class LakeDataSource(DataSource):
    """A table of a lake, by the options of the format ``ducklake``."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._given = dict(options.items())

    @classmethod
    def name(cls) -> str:
        """What users give to `format`."""
        return "ducklake"

    def schema(self) -> StructType:
        """The columns of the table."""
        with open_asked(self._given) as opened:
            refuse_feed(opened)
            return spark_schema(opened.version().table.schema)

    def reader(self, schema: StructType) -> LakeReader:
        """Reads the table."""
        return LakeReader(self._given)

    def writer(self, schema: StructType, overwrite: bool) -> LakeWriter:
        """Writes the table."""
        return LakeWriter(self._given, schema, overwrite=overwrite)

    def streamReader(self, schema: StructType) -> LakeStreamReader:  # noqa: N802 (Spark's name)
        """Follows the table."""
        return LakeStreamReader(self._given)

    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:  # noqa: N802
        """Refused: a batch could be written twice, because the query's id is not told here."""
        raise NotSupported(
            "Cannot write a stream to a lake in this session: its JVM knows nothing of lakes.",
            hint="ducklake_spark.install(spark), in a session that is not Spark Connect; or write "
            "each batch with foreachBatch.",
        )

"""How rows travel to Python tasks: in batches that Spark does not measure after each row. Driver.

Spark ends a batch when it has so many rows or so many bytes. For the latter it asks every column
for its size after each row, which takes longer than moving the row. Where rows cannot be large,
the number of rows alone keeps batches small enough.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    MapType,
    StringType,
    StructType,
    VariantType,
)

from ducklake_spark.bridge.frames import with_settings
from ducklake_spark.limits import limits

_BYTES: Final = "spark.sql.execution.arrow.maxBytesPerBatch"
_ROWS: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_UNLIMITED: Final = "2147483647"
_OPEN_ENDED: Final = (ArrayType, BinaryType, MapType, StructType, VariantType)


def in_plain_batches(rows: DataFrame, sent: StructType) -> DataFrame:
    """The same rows, computed with batches by number if the columns that are sent allow it.

    Settings of the session stay as they are, for it and for others; a limit that somebody has
    chosen holds.
    """
    kinds = [field.dataType for field in sent.fields]
    conf = rows.sparkSession.conf
    is_chosen = conf.get(_BYTES, None) is not None
    if is_chosen or any(isinstance(kind, _OPEN_ENDED) for kind in kinds):
        return rows
    settings = {_BYTES: _UNLIMITED}
    if any(map(_is_text, kinds)):
        chosen = int(conf.get(_ROWS) or 0)
        # Texts would have to be of a megabyte each to make too large a batch.
        most = limits().text_batch_rows
        settings[_ROWS] = str(min(chosen, most) if chosen > 0 else most)
    return with_settings(rows, settings)


def _is_text(kind: DataType) -> bool:
    return isinstance(kind, StringType)

from __future__ import annotations

import pytest

from ducklake_spark.data_source.pieces import refuse_local_times
from ducklake_spark.errors import NotSupported
from ducklake_spark.model.schema import Column


def test_moments_that_files_keep_without_a_zone_are_refused():
    at, stored = Column(1, "at", "timestamptz"), Column(1, "at", "timestamp")
    with pytest.raises(NotSupported, match='column "at" became TIMESTAMPTZ'):
        refuse_local_times("t", at, stored)
    with pytest.raises(NotSupported, match='column "at" became TIMESTAMPTZ'):
        refuse_local_times(
            "t", Column(2, "s", "struct", (at,)), Column(2, "s", "struct", (stored,))
        )


def test_moments_with_a_zone_and_other_columns_are_read():
    for kind in ("timestamptz", "timestamp", "int64"):
        refuse_local_times("t", Column(1, "c", kind), Column(1, "c", kind))

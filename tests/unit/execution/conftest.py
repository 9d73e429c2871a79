"""A connection to a lake in SQLite; nothing here starts Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import ducklake_spark
from ducklake_spark.connection import Connection


def no_spark(*_args):
    raise AssertionError("this statement must not need Spark")


@pytest.fixture
def con(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    monkeypatch.setattr("ducklake_spark.connection.use_session", no_spark)
    uri = f"ducklake:sqlite:{tmp_path / 'lake.sqlite'}"
    with ducklake_spark.connect(uri, alias="lake", data_path=f"{tmp_path}/data/") as connection:
        yield connection

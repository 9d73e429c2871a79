"""Who takes part in a walk: two connections of ours and DuckDB, on one lake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ducklake_spark
from support.oracle import Oracle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from support.lakes import LakeLocation
    from support.walking.steps import Statement, Step


class Engines:
    """Sessions that live as long as they can: a DuckDB file is open on one side at a time."""

    def __init__(self, spark: SparkSession | None, location: LakeLocation) -> None:
        self.spark = spark
        self.location = location
        self.alone = location.kind == "duckdb"
        self._ours: dict[str, ducklake_spark.Connection] = {}
        self._oracle: Oracle | None = None

    def ours(self, name: str) -> ducklake_spark.Connection:
        """A connection of ours: "a" and "b" last, "fresh" is a new one in a new session."""
        if self.alone:
            self.forget_duckdb()
        if name == "fresh":
            self._close(name)
        if name not in self._ours:
            self._ours[name] = self.connect(new_session=name == "fresh")
        return self._ours[name]

    def connect(self, *, new_session: bool = False) -> ducklake_spark.Connection:
        """A further connection of ours, which whoever asks for it closes."""
        assert self.spark is not None, "this walk is without us"
        return ducklake_spark.connect(
            self.location.uri,
            spark=self.spark.newSession() if new_session else self.spark,
            alias="lake",
            data_path=self.location.data_path,
        )

    @property
    def oracle(self) -> Oracle:
        """The session of DuckDB."""
        if self.alone:
            for name in list(self._ours):
                self._close(name)
        if self._oracle is None:
            self._oracle = Oracle(self.location)
        return self._oracle

    def is_open(self, name: str) -> bool:
        """Whether this engine can be asked without closing others."""
        if not self.alone:
            return True
        return (self._oracle is not None) == (name == "duckdb")

    def query(self, name: str, text: str) -> list[tuple[Any, ...]]:
        """Rows of a query."""
        if name == "duckdb":
            return self.oracle.sql(text)
        return [tuple(row) for row in self.ours(name).sql(text).collect()]

    def newest(self, name: str) -> int:
        """The number of the newest snapshot."""
        if name == "duckdb":
            return int(self.oracle.sql("SELECT id FROM lake.current_snapshot()")[0][0])
        return self.ours(name).current_lake().latest().snapshot_id

    def take(self, step: Step, versions: list[int]) -> None:
        """Run the statements of a step; a transaction that fails is rolled back."""
        session: Any = self.oracle if step.actor == "duckdb" else self.ours(step.actor)
        if step.ending:
            session.sql("BEGIN")
        try:
            for statement in step.statements:
                self._run(session, statement, versions)
        except BaseException:
            if step.ending:
                session.sql("ROLLBACK")
            raise
        if step.ending:
            session.sql(step.ending)

    def _run(self, session: Any, statement: Statement, versions: list[int]) -> None:
        text = statement.text.replace("{versions}", str(versions))
        if statement.call == "append":
            session.append(statement.table, session.sql(text))
        elif statement.call == "overwrite":
            session.overwrite(statement.table, session.sql(text))
        else:
            session.sql(text)

    def forget_duckdb(self) -> None:
        """End the session of DuckDB; the next use opens another."""
        if self._oracle is not None:
            oracle, self._oracle = self._oracle, None
            oracle.close()

    def _close(self, name: str) -> None:
        con = self._ours.pop(name, None)
        if con is not None:
            con.close()

    def close(self) -> None:
        """End all sessions."""
        for name in list(self._ours):
            self._close(name)
        self.forget_duckdb()

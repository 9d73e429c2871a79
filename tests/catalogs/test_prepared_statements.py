"""PostgreSQL forgets no statement that its driver believes to be prepared."""

from __future__ import annotations

import pytest

from ducklake_spark.errors import DuckLakeError

NOTE = "INSERT INTO noted VALUES (?)"


@pytest.mark.parametrize("catalog_kind", ["postgres"], indirect=True)
def test_a_statement_of_a_batch_that_failed_can_be_run_again(location):
    """What stands behind an error in a batch is not prepared, however often it failed before."""
    with location.database(create=False) as db:
        db.execute("CREATE TABLE taken (id BIGINT PRIMARY KEY)")
        db.execute("CREATE TABLE noted (id BIGINT)")
        db.execute("INSERT INTO taken VALUES (1)")
        for number in range(12):
            with pytest.raises(DuckLakeError), db.transaction():
                db.execute("INSERT INTO taken VALUES (1)")
                db.execute(NOTE, (number,))
            with db.transaction():
                db.execute(NOTE, (number,))
        assert db.fetch("SELECT count(*) FROM noted") == [(12,)]

"""DDL, each statement a commit: columns are added, renamed, promoted and dropped in turn.

Both sides speak SQL on the same kind of catalog; neither starts Spark.
"""

from __future__ import annotations

from harness import OURS, Bench
from lakes import address

TABLE = "CREATE TABLE t (id INTEGER, name VARCHAR, amount DECIMAL(10,2))"


def run(bench: Bench) -> None:
    """SQLite, a DuckDB file and PostgreSQL."""
    for kind in ("sqlite", "duckdb", "postgres"):
        server = bench.postgres_server() if kind == "postgres" else None
        folder = bench.place(kind)
        ours = address(kind, folder, "ours", server).ours()
        theirs = address(kind, folder, "theirs", server).extension()
        for make in (ours.sql, theirs.execute):
            make(TABLE)
        bench.each(
            f"ALTER TABLE, {kind}",
            {
                OURS: lambda number, con=ours: con.sql(change(number)),
                "extension": lambda number, con=theirs: con.execute(change(number)),
            },
            bench.size.statements if kind == "sqlite" else min(bench.size.statements, 60),
            warm=8,
        )
        ours.close()
        theirs.close()


def change(number: int) -> str:
    """A statement of a round of four, after which the table is as wide as before."""
    column, step = divmod(number, 4)
    return (
        f"ALTER TABLE t ADD COLUMN c{column} INTEGER DEFAULT {column}",
        f"ALTER TABLE t RENAME c{column} TO d{column}",
        f"ALTER TABLE t ALTER d{column} SET DATA TYPE BIGINT",
        f"ALTER TABLE t DROP COLUMN d{column}",
    )[step]

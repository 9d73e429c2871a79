"""The SQL face: DuckDB's dialect parsed by sqlglot, decided here, executed by Spark."""

"""Text in DuckDB's dialect to bound plans: DuckDB binds on a mirror of empty tables."""

"""What tests share: places for lakes, the real DuckDB, servers and sessions."""

"""DuckLake's statements, read token by token: one module for each group of statements."""

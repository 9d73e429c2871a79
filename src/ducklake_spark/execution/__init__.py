"""Run statements: each one calls an operation; queries become DataFrames of Spark."""

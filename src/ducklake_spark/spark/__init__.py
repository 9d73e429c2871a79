"""Run: all that knows Spark."""

"""The DuckLake lakehouse format on Apache Spark."""

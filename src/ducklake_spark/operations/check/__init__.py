"""Verify a lake from its catalog to its bytes: small pure checks, and one Spark job for files."""

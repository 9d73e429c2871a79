"""Bound plans to one Spark text: operators, expressions, functions."""

"""The Spark face: what Spark asks about lakes that it knows by name. Driver."""

"""Read the lake's state from its metadata database."""

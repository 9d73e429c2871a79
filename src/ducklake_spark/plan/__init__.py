"""Decide, purely: what a scan reads and what a write is split into."""

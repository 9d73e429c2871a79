"""Record a transaction: conflict check, ids, rows, one snapshot."""

"""How to talk to the metadata database: drivers and their differences stand here alone."""

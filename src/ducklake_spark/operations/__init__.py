"""The verbs of a lake, one file each: load, plan, run, stage."""

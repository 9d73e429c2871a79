"""The workloads, one module each, with a function `run` that takes a bench."""

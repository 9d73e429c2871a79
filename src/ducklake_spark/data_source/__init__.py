"""The format ``ducklake`` in Python workers, for sessions whose JVM knows nothing of lakes.

Everything here runs in a process that Spark starts: one beside the driver plans and commits, tasks
read and write. Each opens the catalog itself; there is no DataFrame and no JVM to ask.
"""

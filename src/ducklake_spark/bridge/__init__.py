"""The one adapter to Spark's private parts: a Java half that Spark compiles, and a Python half.

`java/ducklake` holds small classes that the Janino inside Spark's own jars compiles against the
Spark that runs. They ask Python through one callback. Nothing outside of this package touches the
JVM or a private attribute of PySpark.
"""

"""The Java half: compiled by the Janino that Spark brings, or taken from the jar of the wheel.

Driver. Executors need none of these classes.
"""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from ducklake_spark.errors import InvalidInput, NotSupported

SETTING: Final = "spark.ducklake.bridge"
"""`compile` makes the classes at the first use; `jar` takes those that the wheel ships."""

PACKAGE: Final = "ducklake"
VERSION: Final = "1"
"""What the Java half says about itself: other classes on the class path are refused."""

_JAVA_VERSION: Final = 8


def load_bridge(spark: SparkSession, gateway: Any) -> Any:
    """The JVM's `ducklake.Bridge`; its classes are made visible to Spark if they are not yet."""
    loader = gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader()
    found = _find_class(loader)
    if found is None:
        _add_to(loader, _jar_for(spark, gateway, loader), gateway)
        found = loader.loadClass(f"{PACKAGE}.Bridge")
    made = _instance_of(found, gateway)
    if str(made.version()) != VERSION:
        raise NotSupported(
            f"Cannot use this Spark session: its class path has version {made.version()} of the "
            f"classes of ducklake-spark, and this is version {VERSION}.",
            hint="take the other jar of ducklake-spark off spark.jars.",
        )
    return made


def source_files(*, views: bool) -> dict[str, str]:
    """The text of each Java file, by its name; `views` for Sparks with views in catalogs."""
    folder = files("ducklake_spark.bridge") / "java"
    folders = [folder / PACKAGE, *([folder / "views"] if views else [])]
    found = sorted((each for f in folders for each in f.iterdir()), key=lambda each: each.name)
    return {each.name: each.read_text("utf-8") for each in found if each.name.endswith(".java")}


def shipped_jar() -> Path:
    """Where the jar of the wheel is, if it has one."""
    return Path(str(files("ducklake_spark.bridge"))) / "ducklake.jar"


def compile_source(gateway: Any, loader: Any, sources: Mapping[str, str]) -> dict[str, bytes]:
    """Compile Java against the classes that `loader` knows: bytes by the name of the class file."""
    janino = gateway.jvm.org.codehaus.janino
    resources = gateway.jvm.org.codehaus.commons.compiler.util.resource
    units = gateway.new_array(resources.Resource, len(sources))
    for ordinal, (name, text) in enumerate(sources.items()):
        units[ordinal] = resources.StringResource(f"{PACKAGE}/{name}", text)
    compiler, made = janino.Compiler(), resources.MapResourceCreator()
    compiler.setIClassLoader(janino.ClassLoaderIClassLoader(loader))
    compiler.setSourceVersion(_JAVA_VERSION)
    compiler.setTargetVersion(_JAVA_VERSION)
    compiler.setClassFileFinder(resources.ResourceFinder.EMPTY_RESOURCE_FINDER)
    compiler.setClassFileCreator(made)
    compiler.compile(units)
    classes = made.getMap()
    return {str(name): bytes(classes[name]) for name in classes.keySet()}


def _has_views(loader: Any) -> bool:
    """Whether catalogs of this Spark can hold views, which came with 4.2."""
    return _find_class(loader, "org.apache.spark.sql.connector.catalog.RelationCatalog") is not None


def _find_class(loader: Any, name: str = f"{PACKAGE}.Bridge") -> Any | None:
    try:
        return loader.loadClass(name)
    except Py4JJavaError:  # ClassNotFoundException
        return None


def _jar_for(spark: SparkSession, gateway: Any, loader: Any) -> Path:
    way = spark.conf.get(SETTING, "compile")
    if way == "jar":
        if not shipped_jar().exists():
            raise NotSupported(
                f'Cannot use "{shipped_jar()}", as {SETTING} asks for: there is no such file.',
                hint="install the wheel, or make the jar with make jar.",
            )
        return shipped_jar()
    if way != "compile":
        raise InvalidInput(f'{SETTING} is "{way}".', hint='it is "compile" or "jar".')
    return _write_jar(_compiled(spark, gateway, loader), gateway)


def _compiled(spark: SparkSession, gateway: Any, loader: Any) -> dict[str, bytes]:
    try:
        return compile_source(gateway, loader, source_files(views=_has_views(loader)))
    except Py4JJavaError as error:
        raise unknown_spark(spark, _first_line(error.java_exception)) from error
    except (Py4JError, TypeError) as error:  # no Janino: a package is not a class
        raise unknown_spark(spark, "it has no Janino 3.1 or newer") from error


def unknown_spark(spark: SparkSession, reason: str) -> NotSupported:
    """The one sentence for a Spark on which the bridge does not stand."""
    return NotSupported(
        f"Cannot use lakes on Spark {spark.version}: {reason}.",
        hint="Spark 4.0 to 4.3 are known to work; where compiling at run time is forbidden, "
        f"set {SETTING} to jar.",
    )


def _write_jar(classes: Mapping[str, bytes], gateway: Any) -> Path:
    with tempfile.NamedTemporaryFile(
        prefix="ducklake-bridge-", suffix=".jar", delete=False
    ) as file:
        with zipfile.ZipFile(file, "w") as jar:
            for name, content in classes.items():
                jar.writestr(name, content)
        path = Path(file.name)
    gateway.jvm.java.io.File(str(path)).deleteOnExit()  # the JVM may ask for a class at any time
    return path


def _add_to(loader: Any, jar: Path, gateway: Any) -> None:
    try:
        loader.addURL(gateway.jvm.java.io.File(str(jar)).toURI().toURL())
    except Py4JError as error:
        raise NotSupported(
            "Cannot add the classes of ducklake-spark to this Spark session: its class loader "
            "takes none.",
            hint=f'start Spark with spark.jars="{shipped_jar()}".',
        ) from error


def _instance_of(found: Any, gateway: Any) -> Any:
    kinds = gateway.new_array(gateway.jvm.java.lang.Class, 0)
    values = gateway.new_array(gateway.jvm.java.lang.Object, 0)
    return found.getConstructor(kinds).newInstance(values)


def _first_line(java: Any) -> str:
    return str(java.toString()).splitlines()[0]

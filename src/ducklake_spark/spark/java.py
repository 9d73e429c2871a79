"""Why Spark cannot start: Java is missing, too old, or has ended. Driver."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from ducklake_spark.errors import SparkFailure

_OLDEST_JAVA: Final = 17


def without_java() -> SparkFailure:
    """The error for a Java that is missing or too old, which Spark tells apart for nobody."""
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    needs = f"Cannot start Spark: it needs Java {_OLDEST_JAVA} or newer"
    hint = (
        f"install Java {_OLDEST_JAVA} or newer (on Debian and Ubuntu: apt install "
        "openjdk-17-jre-headless), and set JAVA_HOME to it."
    )
    if java is None or not Path(java).is_file():
        where = f'at JAVA_HOME, which is "{home}"' if home else "on the PATH or at JAVA_HOME"
        return SparkFailure(f"{needs}, and there is none {where}.", hint=hint)
    found = _java_version(java)
    if found is not None and found < _OLDEST_JAVA:
        return SparkFailure(f'{needs}, and "{java}" is Java {found}.', hint=hint)
    return SparkFailure(
        f'Cannot start Spark: the Java process of "{java}" ended before it could be reached.',
        hint="what it has printed says why; it may have too little memory.",
    )


def _java_version(java: str) -> int | None:
    """The number that Java goes by: 8 for 1.8."""
    try:
        told = subprocess.run(  # noqa: S603 - what Spark has just tried to run
            [java, "-version"], check=False, capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    return int(found[1]) if found else None

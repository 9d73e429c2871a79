"""Small disks that can be full, and folders that cannot be written."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: str, *, owner: int = 0) -> Iterator[Path]:
    """A file system of so many bytes, such as "2m", at a folder that is made for it."""
    folder.mkdir()
    options = f"size={size},uid={owner},gid={owner},mode=0700"
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    mounted = subprocess.run(command, check=False, capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"NOT TESTED: no file system can be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path, *, but: int = 0) -> Path:
    """Take all space of a disk but so many bytes; the file to remove is returned."""
    state = os.statvfs(disk)
    filler = disk / "filler"
    filler.write_bytes(b"x" * (state.f_bavail * state.f_bsize - but))
    return filler


@contextmanager
def small_files(limit: int) -> Iterator[None]:
    """No file that this process writes may grow beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

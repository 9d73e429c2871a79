"""Caches: bounded, locked, off by one setting, all of them listed."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ducklake_spark import caching
from ducklake_spark.limits import Limits, lowered

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "ducklake_spark"
PAGE = ROOT / "docs" / "caches.md"
MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts): path
    for path in sorted(SOURCE.rglob("*.py"))
    if path.stem != "__init__"
}

# Not caches: docs/caches.md says what they are.
MUTABLE = {
    ("caching", "_kinds"),
    ("bridge.half", "_bridges"),
    ("bridge.half", "_starters"),
    ("bridge.relation", "_sources"),
    ("spark_face.opened", "_opened"),
    ("bridge.callbacks", "in_flight"),
    ("spark.failures", "_quiet"),
    ("spark.session", "_started"),
    ("spark_face.registry", "registry"),
}
# Parts of values that never change, and the handles of one gateway to the JVM.
PARTS = {
    *("catalog.columns", "model.schema", "operations.check.facts", "operations.compact"),
    *("plan.changes", "plan.history", "result", "bridge.half"),
}


@pytest.fixture
def make():
    made = []

    def declare(**bounds):
        texts = dict.fromkeys(("key", "depends_on", "emptied"), "test")
        kind = caching.declare(f"test {len(made)}", seen_by="process", **texts, **bounds)
        made.append(kind)
        return kind.make()

    yield declare
    for kind in made:
        caching.forget(kind)


def test_the_one_not_used_for_longest_goes_first(make):
    cache = make(entries=2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert cache.keys() == ["a", "c"]
    assert cache.get("b") is None


def test_values_together_stay_within_their_bytes(make):
    cache = make(entries=10, most_bytes=10, size_of=len)
    for text in ("aaaa", "bbbb", "cccc"):
        cache.put(text[0], text)
    assert cache.keys() == ["b", "c"]
    cache.put("d", "d" * 11)
    assert cache.keys() == []


def test_a_bound_may_change_while_the_cache_is_in_use(make):
    bound = [3]
    cache = make(entries=lambda: bound[0])
    for number in range(5):
        cache.put(number, number)
    assert cache.keys() == [2, 3, 4]
    bound[0] = 1
    cache.put(5, 5)
    assert cache.keys() == [5]


def test_off_nothing_is_found_or_kept_and_what_there_was_is_never_used_again(make):
    cache = make(entries=10)
    cache.put("a", 1)
    calls = []
    with caching.off():
        assert not caching.is_on()
        assert cache.get("a") is None
        assert "a" not in cache
        assert len(cache) == 0
        for _ in range(2):
            assert cache.find("a", lambda: calls.append(1) or 2) == 2
    assert len(calls) == 2
    assert caching.is_on()
    assert cache.get("a") is None
    cache.put("a", 3)
    assert cache.get("a") == 3


def test_a_function_is_computed_again_when_caches_are_off():
    calls = []

    @caching.remembered("test function", entries=2)
    def double(number):
        calls.append(number)
        return 2 * number

    try:
        assert [double(1), double(1), double(2)] == [2, 2, 4]
        assert calls == [1, 2]
        with caching.off():
            assert [double(1), double(1)] == [2, 2]
        assert calls == [1, 2, 1, 1]
        assert double(1) == 2
        assert calls == [1, 2, 1, 1]
    finally:
        caching.forget(next(k for k in caching.all_kinds() if k.name == "test function"))


@pytest.mark.parametrize(("value", "expected"), [("off", False), ("OFF", False), ("on", True)])
def test_the_environment_switches_caches_off(value, expected):
    script = "from ducklake_spark import caching; print(caching.is_on())"
    env = {**os.environ, "DUCKLAKE_SPARK_CACHES": value, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    assert done.stdout.strip() == str(expected)


def test_threads_share_a_cache(make):
    cache = make(entries=8)
    start = threading.Barrier(4)

    def work(seed):
        start.wait()
        for step in range(5000):
            key = (seed * 7 + step) % 20
            assert cache.find(key, lambda key=key: key + 1) == key + 1
            if step % 97 == 0:
                cache.clear()
            assert len(cache) <= 8

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


def test_a_name_is_taken_once(make):
    kind = make(entries=1).kind
    with pytest.raises(ValueError, match=f'two caches "{kind.name}"'):
        caching.declare(kind.name, key="", depends_on="", seen_by="lake", emptied="", entries=1)


def page_rows():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith("| `")]


def row_of(kind):
    bound = caching.number_of(kind.entries)
    text = f"{bound:,}"
    if kind.most_bytes is not None:
        text += f"; {caching.number_of(kind.most_bytes) // 1_000_000:,} MB"
    cells = (f"`{kind.name}`", kind.key, kind.depends_on, kind.seen_by, text, kind.emptied)
    return f"| {' | '.join(cells)} |"


def test_the_page_lists_every_cache_as_it_is():
    for module in MODULES:
        importlib.import_module(f"ducklake_spark.{module}")
    with lowered(Limits()):
        assert page_rows() == [row_of(kind) for kind in caching.all_kinds()]


def trees():
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def functools_names(tree):
    """What a module takes from functools."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "functools":
            yield from (alias.name for alias in node.names)
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "functools"
        ):
            yield node.attr


def empty_containers(tree):
    """Names that a module binds to a container with nothing in it: what can only grow."""
    for node in tree.body:
        value = getattr(node, "value", None)
        if not isinstance(node, ast.Assign | ast.AnnAssign) or value is None:
            continue
        called = isinstance(value, ast.Call) and not value.args and not value.keywords
        made = ast.unparse(value.func).split(".")[-1] if called else ""
        growing = {"dict", "set", "list", "OrderedDict", "defaultdict", "Counter", "deque"}
        weak = {"WeakValueDictionary", "WeakKeyDictionary", "WeakSet"}
        if ast.unparse(value) in ("{}", "[]") or made in growing | weak:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = map(ast.unparse, targets)
            yield from (name for name in names if not name.isupper())  # those are constants


def objects_that_keep(tree):
    """Names that a module binds to an object which may change, of a class of its own."""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in tree.body:
        value = getattr(node, "value", None)
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(value, ast.Call):
            continue
        made = classes.get(ast.unparse(value.func))
        if ast.unparse(value.func) == "threading.local" or (made and has_state(made)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from map(ast.unparse, targets)


def has_state(made):
    """Whether objects of a class have attributes that may change."""
    words = " ".join(map(ast.unparse, made.decorator_list))
    methods = {node.name for node in made.body if isinstance(node, ast.FunctionDef)}
    return "frozen=True" not in words and ("dataclass" in words or "__init__" in methods)


def test_nothing_is_kept_outside_of_declared_caches():
    kept = {
        (name, taken)
        for name, tree in trees().items()
        for taken in functools_names(tree)
        if taken in ("cache", "lru_cache") and name != "caching"
    }
    assert kept == set()
    growing = {
        (name, found)
        for name, tree in trees().items()
        for found in (*empty_containers(tree), *objects_that_keep(tree))
    }
    assert growing == MUTABLE
    ordered = {
        name
        for name, tree in trees().items()
        if any(isinstance(n, ast.Name) and n.id == "OrderedDict" for n in ast.walk(tree))
    }
    assert ordered == {"caching", "bridge.callbacks", "spark_face.opened"}


def test_parts_that_are_computed_once_belong_to_values_that_do_not_change():
    found = {name for name, tree in trees().items() if "cached_property" in functools_names(tree)}
    assert found == PARTS

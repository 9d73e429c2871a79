"""Holds the shape of the code: who imports whom, what runs inside tasks, how large things get."""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = "ducklake_spark"
SOURCE = Path(__file__).parents[2] / "src" / PACKAGE

# package or module -> the parts of this project and the third parties that it may import. The
# longest key that fits a module counts. The same table stands in docs/architecture.md.
EVERYWHERE = ("errors", "limits", "caching")  # on the driver
LAYERS: dict[str, tuple[set[str], set[str]]] = {
    "errors": (set(), set()),
    "turns": ({"errors"}, set()),
    "limits": (set(), set()),
    "caching": (set(), set()),
    "model": ({"errors", "caching"}, set()),
    "options": ({"errors", "model"}, set()),
    "plan": ({"errors", "model"}, set()),
    "catalog_db": ({*EVERYWHERE, "model"}, {"duckdb", "psycopg", "pymysql"}),
    "duckdb_file": ({*EVERYWHERE, "model"}, {"duckdb"}),
    "catalog": ({*EVERYWHERE, "model", "plan", "catalog_db"}, set()),
    "parquet": ({"errors", "caching", "model", "plan"}, {"pyarrow"}),
    "bridge": ({*EVERYWHERE}, {"pyspark", "py4j"}),
    "spark": (
        {*EVERYWHERE, "model", "plan", "parquet", "bridge"},
        {"pyspark", "py4j", "pyarrow", "duckdb"},
    ),
    "commit": ({*EVERYWHERE, "model", "catalog", "catalog_db"}, set()),
    "lake": ({*EVERYWHERE, "model", "catalog", "catalog_db", "parquet", "commit"}, set()),
    "result": ({"errors", "model", "spark"}, {"pyspark"}),
    "operations": (
        {
            *EVERYWHERE,
            *("model", "options", "plan", "catalog", "catalog_db", "parquet", "bridge"),
            *("spark", "commit", "lake", "duckdb_file"),
        },
        {"pyspark", "pyarrow"},
    ),
    "sql": ({"errors", "caching", "model", "binder"}, {"sqlglot"}),
    "binder": ({*EVERYWHERE, "model"}, {"duckdb"}),
    "translate": ({*EVERYWHERE, "model", "binder"}, set()),
    "execution": (
        {
            *EVERYWHERE,
            *("model", "options", "commit", "bridge", "spark", "operations", "lake", "result"),
            *("sql", "binder", "translate", "duckdb_file"),
        },
        {"pyspark", "sqlglot"},
    ),
}
# The faces stand on top and may import everything below them.
FACES = {"", "connection", "maintenance", "session", "spark_face", "data_source"}

DRIVERS = {"duckdb", "psycopg", "pymysql"}
TASK_SIDE = ("model", "plan", "parquet")


def module_name(path: Path) -> str:
    """`model/types.py` -> `model.types`, `model/__init__.py` -> `model`."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def layer_of(module: str) -> str | None:
    """The key of LAYERS that rules `module`, None for a face."""
    if module.split(".", maxsplit=1)[0] in FACES:
        return None
    fitting = [key for key in LAYERS if module == key or module.startswith(key + ".")]
    assert fitting, f"{module} has no row in LAYERS: decide what it may import"
    return max(fitting, key=len)


def imported_names(tree: ast.AST) -> set[str]:
    """Every module name that running `tree` may import, with the name taken from it."""
    names: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute here"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            names |= imported_names(node)
    return names


def own_part(name: str) -> str | None:
    """`ducklake_spark.model.types.X` -> `model`; None for a module of somebody else."""
    head, _, rest = name.partition(".")
    return rest.split(".")[0] if head == PACKAGE else None


def third_party(names: set[str]) -> set[str]:
    tops = {name.split(".")[0] for name in names}
    return tops - set(sys.stdlib_module_names) - {PACKAGE}


def functions(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def line_count(module: str) -> int:
    return len(MODULES[module].read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("module", [m for m in MODULES if layer_of(m)])
def test_a_module_imports_only_what_its_layer_may(module):
    layer = layer_of(module)
    assert layer is not None
    own, outside = LAYERS[layer]
    names = imported_names(TREES[module])
    parts = {part for name in names if (part := own_part(name)) is not None}
    assert parts <= own | {layer}
    assert third_party(names) <= outside


def test_the_import_table_has_no_cycle():
    def below(layer: str, seen: tuple[str, ...]) -> None:
        assert layer not in seen, " -> ".join((*seen, layer))
        for lower in LAYERS[layer][0]:
            below(lower, (*seen, layer))

    for layer in LAYERS:
        below(layer, ())


@pytest.mark.parametrize("module", [m for m in MODULES if m.split(".")[0] == "catalog_db"])
def test_database_drivers_are_imported_inside_functions(module):
    at_import = [n for n in TREES[module].body if isinstance(n, ast.Import | ast.ImportFrom)]
    names = imported_names(ast.Module(body=list(at_import), type_ignores=[]))
    assert not third_party(names) & DRIVERS


def test_task_side_modules_load_neither_spark_nor_drivers():
    modules = [f"{PACKAGE}.{m}" for m in MODULES if m.split(".")[0] in TASK_SIDE]
    assert modules
    script = f"""
import importlib, sys
{PACKAGE} = type(sys)({PACKAGE!r})          # not the faces: a task imports what it needs
{PACKAGE}.__path__ = [{str(SOURCE)!r}]
sys.modules[{PACKAGE!r}] = {PACKAGE}
for name in {modules!r}:
    importlib.import_module(name)
heavy = {{"pyspark", "py4j", "sqlglot", *{sorted(DRIVERS)!r}}} & set(sys.modules)
sys.exit(f"loaded in a task: {{sorted(heavy)}}" if heavy else 0)
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# The package's own __init__ loads its names lazily: tasks import it, and need none of them.
@pytest.mark.parametrize(
    "module", [m for m, path in MODULES.items() if m and path.stem == "__init__"]
)
def test_package_init_holds_a_docstring_and_re_exports_only(module):
    for node in TREES[module].body:
        assert isinstance(node, ast.Expr | ast.Import | ast.ImportFrom | ast.Assign), ast.dump(node)
        if isinstance(node, ast.Assign):
            names = {ast.unparse(target) for target in node.targets}
            assert names <= {"__all__", "__version__"}


@pytest.mark.parametrize("module", MODULES)
def test_a_module_and_its_functions_stay_within_budget(module):
    assert line_count(module) <= 500
    long = {
        f.name: f.end_lineno - f.lineno + 1
        for f in functions(TREES[module])
        if f.end_lineno is not None and f.end_lineno - f.lineno + 1 > 60
    }
    assert not long


def test_the_median_module_is_small():
    sizes = [line_count(m) for m, path in MODULES.items() if path.stem != "__init__"]
    assert statistics.median(sizes) <= 160


@pytest.mark.parametrize("module", MODULES)
def test_a_module_says_what_it_is_for(module):
    assert ast.get_docstring(TREES[module])


@pytest.mark.parametrize("module", MODULES)
def test_classes_are_named_for_things_of_the_lake(module):
    vague = ("Manager", "Helper", "Handler", "Util", "Utils", "Impl")
    names = [n.name for n in ast.walk(TREES[module]) if isinstance(n, ast.ClassDef)]
    assert not [name for name in names if name.endswith(vague)]


def test_only_the_bridge_touches_the_private_parts_of_spark():
    private = re.compile(r"\._(jvm|jdf|jsc|jc|jsparkSession|gateway|active_spark_context)\b")
    for name, path in MODULES.items():
        if not name.startswith("bridge"):
            assert private.search(path.read_text(encoding="utf-8")) is None, name
